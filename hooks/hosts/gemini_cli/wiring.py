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

from pathlib import Path

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, Member, read_settings
from mnemic.hooks.wire.host import (
    FOLDER,
    INSTRUCTIONS,
    READ_ONLY_TOOLS,
    SESSION,
    HookRegistration,
    Host,
    OffSwitch,
    Place,
    hook_edits,
)
from mnemic.hooks.wire.json_edits import value_at

__all__ = ["GEMINI_CLI"]

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


def _files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    chars = "$"
    command, *arguments = wiring.mcp_argv(chars)
    server = Member(("mcpServers", "mnemic"), {"command": command, "args": arguments})
    hooks = hook_edits("gemini-cli", _EVENTS, wiring, grouped=True, substituted=chars, name=_NAME, type="command")
    settings = folder / "settings.json"
    return [
        FileEdits(path=settings, format="jsonc", edits=(*hooks, server), substitution_chars=chars),
        FileEdits(path=folder / "policies" / "mnemic.toml", format="whole", text=_POLICY),
        FileEdits(path=folder / _context_file(settings), format="block", text=INSTRUCTIONS),
    ]


def _context_file(settings: Path) -> str:
    """The name of the instructions file, which the user may have changed."""
    named = value_at(read_settings(settings, "jsonc"), ("context", "fileName"))
    first = named[0] if isinstance(named, list) and named else named
    plain = isinstance(first, str) and first not in ("", ".", "..") and "/" not in first and "$" not in first
    return str(first) if plain else "GEMINI.md"


GEMINI_CLI = Host(
    name="gemini-cli",
    title="Gemini CLI",
    program="gemini",
    place=Place("GEMINI_CLI_HOME", "", ".gemini"),
    events=_EVENTS,
    files=_files,
    transcripts=("tmp/*/chats/**/*.jsonl",),
    trial={
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": FOLDER,
        "hook_event_name": "BeforeAgent",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "prompt": "",
    },
    off_switches=(
        OffSwitch("settings.json", "jsonc", ("hooksConfig", "enabled"), False),
        OffSwitch("settings.json", "jsonc", ("hooksConfig", "disabled"), _NAME),
    ),
)
"""How Gemini CLI is wired."""
