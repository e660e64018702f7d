"""Wires Gemini CLI: hooks and the MCP server in ``settings.json``, a policy, a block in ``GEMINI.md``.

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
from mnemic.hooks.wire.edits import Block, FileEdits, Member, Whole, json_in, transcripts_below
from mnemic.hooks.wire.host import INSTRUCTIONS, READING, HookEvent, Host, hooks_of

__all__ = ["GEMINI_CLI"]

_SUBSTITUTED = "$"
_NAME = "mnemic"
_POLICY = f"""\
# Mnemic's tools that only read are called without asking each time. Written by `mnemic hooks install`.
[[rule]]
mcpName = "mnemic"
toolName = [{", ".join(f'"{tool}"' for tool in READING)}]
decision = "allow"
priority = 100
"""
_EVENTS = (
    HookEvent("SessionStart", "session-start", 5_000, "always"),
    HookEvent("BeforeAgent", "prompt", 5_000, "opted"),
    HookEvent("AfterTool", "tool", 10_000),
    HookEvent("AfterAgent", "reply", 10_000),
    HookEvent("SessionEnd", "session-end", 5_000),
)


def _folder(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("GEMINI_CLI_HOME") or environment["HOME"]).absolute() / ".gemini"


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    command, *arguments = wiring.mcp_words(_SUBSTITUTED)
    server = Member(("mcpServers", "mnemic"), {"command": command, "args": arguments})
    hooks = hooks_of("gemini-cli", _EVENTS, wiring, grouped=True, substituted=_SUBSTITUTED, name=_NAME, type="command")
    settings = FileEdits(
        path=folder / "settings.json", format="jsonc", edits=(*hooks, server), substituted=_SUBSTITUTED
    )
    told = FileEdits(path=folder / _context_file(settings.path), format="text", edits=(Block(INSTRUCTIONS),))
    policy = FileEdits(path=folder / "policies" / "mnemic.toml", format="whole", edits=(Whole(_POLICY, shared=True),))
    return [settings, policy, told]


def _context_file(settings: Path) -> str:
    """The name of the instructions file, which the user may have changed."""
    context = json_in(settings, "jsonc").get("context")
    named = context.get("fileName") if isinstance(context, dict) else None
    first = named[0] if isinstance(named, list) and named else named
    plain = isinstance(first, str) and first not in ("", ".", "..") and "/" not in first and "$" not in first
    return str(first) if plain else "GEMINI.md"


def _transcripts(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    return transcripts_below(_folder(environment) / "tmp", "*/chats/**/*.jsonl", "gemini-cli")


def _trial(session: str, folder: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": "",
        "cwd": folder,
        "hook_event_name": "BeforeAgent",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "prompt": "",
    }


def _blocked(environment: Mapping[str, str]) -> str:
    path = _folder(environment) / "settings.json"
    switches = json_in(path, "jsonc").get("hooksConfig")
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
    files=_files,
    events=_EVENTS,
    transcripts=_transcripts,
    trial=_trial,
    blocked=_blocked,
)
"""How Gemini CLI is wired."""
