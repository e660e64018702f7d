"""Installs Mnemic in Gemini CLI: hooks and MCP server in settings.json, a policy, text in GEMINI.md.

* Hooks, their events, ``timeout`` in milliseconds, ``name``: https://geminicli.com/docs/hooks/reference
* ``settings.json``, ``hooksConfig``, ``context.fileName``, ``GEMINI_CLI_HOME``, ``$VAR`` in any string:
  https://geminicli.com/docs/reference/configuration
* MCP servers: https://geminicli.com/docs/tools/mcp-server
* Policies, ``~/.gemini/policies/*.toml``: https://geminicli.com/docs/reference/policy-engine
* ``~/.gemini/GEMINI.md``: https://geminicli.com/docs/cli/gemini-md

Comments are read, a comma after the last entry is not. Commands run in bash; what they say on standard error counts as
an answer where they print none. ``PreCompress`` is not wired: it comes before every call of the model (seen with
0.61.0), each a process for nothing; the transcript has what was compressed. Tools that failed are reported by
``AfterTool``. ``trust`` is not set, which would let every tool of the memory pass: a policy lets those pass that only
read, without which a session without a terminal would not even be offered them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, JsonMember, MarkedBlock, WholeFile, glob_transcripts, read_json
from mnemic.hooks.wire.host import INSTRUCTIONS, READ_ONLY_TOOLS, HookRegistration, Host, hook_entries

__all__ = ["GEMINI_CLI"]

_SUBSTITUTION_CHARS = "$"
_NAME = "mnemic"
_POLICY = f"""\
# Mnemic's tools that only read are called without asking each time. Written by `mnemic hooks install`.
[[rule]]
mcpName = "mnemic"
toolName = [{", ".join(f'"{tool}"' for tool in READ_ONLY_TOOLS)}]
decision = "allow"
priority = 100
"""
_EVENTS = (
    HookRegistration("SessionStart", "session-start", 5_000, "always"),
    HookRegistration("BeforeAgent", "prompt", 5_000, "opted"),
    HookRegistration("AfterTool", "tool", 10_000),
    HookRegistration("AfterAgent", "reply", 10_000),
    HookRegistration("SessionEnd", "session-end", 5_000),
)


def _folder(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("GEMINI_CLI_HOME") or environment["HOME"]).absolute() / ".gemini"


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    command, *arguments = wiring.mcp_argv(_SUBSTITUTION_CHARS)
    server = JsonMember(("mcpServers", "mnemic"), {"command": command, "args": arguments})
    hooks = hook_entries(
        "gemini-cli", _EVENTS, wiring, grouped=True, substituted=_SUBSTITUTION_CHARS, name=_NAME, type="command"
    )
    settings = FileEdits(
        path=folder / "settings.json", format="jsonc", edits=(*hooks, server), substitution_chars=_SUBSTITUTION_CHARS
    )
    told = FileEdits(path=folder / _context_file(settings.path), format="text", edits=(MarkedBlock(INSTRUCTIONS),))
    policy = FileEdits(
        path=folder / "policies" / "mnemic.toml", format="whole", edits=(WholeFile(_POLICY, same_for_all_homes=True),)
    )
    return [settings, policy, told]


def _context_file(settings: Path) -> str:
    """The name of the instructions file, which the user may have changed."""
    context = read_json(settings, "jsonc").get("context")
    named = context.get("fileName") if isinstance(context, dict) else None
    first = named[0] if isinstance(named, list) and named else named
    plain = isinstance(first, str) and first not in ("", ".", "..") and "/" not in first and "$" not in first
    return str(first) if plain else "GEMINI.md"


def _transcripts(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    return glob_transcripts(_folder(environment) / "tmp", "*/chats/**/*.jsonl", "gemini-cli")


def _trial_payload(session: str, folder: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": "",
        "cwd": folder,
        "hook_event_name": "BeforeAgent",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "prompt": "",
    }


def _blocked_reason(environment: Mapping[str, str]) -> str:
    path = _folder(environment) / "settings.json"
    switches = read_json(path, "jsonc").get("hooksConfig")
    if not isinstance(switches, dict):
        return ""
    if switches.get("enabled") is False:
        return f"{path} switches them off (hooksConfig.enabled)"
    disabled = switches.get("disabled")
    named = isinstance(disabled, list) and _NAME in disabled
    return f"{path} names {_NAME} in hooksConfig.disabled" if named else ""


GEMINI_CLI = Host(
    name="gemini-cli",
    title="Gemini CLI",
    program="gemini",
    folder=_folder,
    file_edits=_files,
    events=_EVENTS,
    transcripts=_transcripts,
    trial_payload=_trial_payload,
    blocked_reason=_blocked_reason,
)
"""How Gemini CLI is wired."""
