"""Installs Mnemic in Codex: hooks in hooks.json, MCP server in config.toml, text in AGENTS.md.

* Hooks, their events, ``timeout`` in seconds, trust: https://developers.openai.com/codex/hooks
* ``CODEX_HOME``, ``[features] hooks``, ``[mcp_servers]``: https://developers.openai.com/codex/config-reference
* MCP servers, ``default_tools_approval_mode``: https://developers.openai.com/codex/mcp
* ``AGENTS.md``, and ``AGENTS.override.md`` in its stead: https://developers.openai.com/codex/guides/agents-md

Commands run as ``$SHELL -lc COMMAND``. ``SessionEnd`` gets 1 s unless it asks for more, and at most 3 s; whoever asks
for more is warned of at every start. A hook that was not trusted, or was edited since, does not run, and nothing says
so: `mnemic.hooks.hosts.codex.trust` sees to that. There is no event for a failed call of its own; `PostToolUse` reports
what it does, and the transcript has the rest.

How calls of the memory's tools are approved is left as it is: Codex lets those pass by themselves that say that they
only read, and asks before the others, which is what a user expects. ``notify`` is left alone too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, Member
from mnemic.hooks.wire.host import FOLDER, INSTRUCTIONS, SESSION, HookRegistration, Host, OffSwitch, Place, hook_edits

__all__ = ["CODEX", "with_trusted_hooks"]

_EVENTS = (
    HookRegistration("SessionStart", "session-start", 5, "always"),
    HookRegistration("UserPromptSubmit", "prompt", 5, "opted"),
    HookRegistration("PostToolUse", "tool", 10),
    HookRegistration("SubagentStop", "subagent", 10),
    HookRegistration("PreCompact", "compaction", 10),
    HookRegistration("PostCompact", "compacted", 10),
    HookRegistration("Stop", "reply", 10),
    HookRegistration("SessionEnd", "session-end", 3),
)


def _files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    command, *arguments = wiring.mcp_argv()
    server = Member(("mcp_servers", "mnemic"), {"command": command, "args": arguments})
    hooks = hook_edits("codex", _EVENTS, wiring, grouped=True, type="command")
    instead = folder / "AGENTS.override.md"
    told = instead if instead.is_file() and instead.stat().st_size else folder / "AGENTS.md"
    return [
        FileEdits(path=folder / "hooks.json", format="json", edits=tuple(hooks)),
        FileEdits(path=folder / "config.toml", format="toml", edits=(server,)),
        FileEdits(path=told, format="block", text=INSTRUCTIONS),
    ]


def with_trusted_hooks(files: list[FileEdits], trusted: Mapping[str, str]) -> list[FileEdits]:
    """The same files with hooks marked as trusted: by the key that Codex gives each, and the hash of what it runs."""
    marks = tuple(Member(("hooks", "state", key), {"trusted_hash": found}) for key, found in trusted.items())
    return [
        msgspec.structs.replace(file, edits=(*file.edits, *marks)) if file.format == "toml" else file for file in files
    ]


CODEX = Host(
    name="codex",
    title="Codex",
    program="codex",
    place=Place("CODEX_HOME", ".codex"),
    events=_EVENTS,
    files=_files,
    transcripts=("sessions/**/*.jsonl", "archived_sessions/**/*.jsonl"),
    trial={
        "session_id": SESSION,
        "turn_id": "check",
        "transcript_path": None,
        "cwd": FOLDER,
        "hook_event_name": "UserPromptSubmit",
        "model": "",
        "permission_mode": "default",
        "prompt": "",
    },
    off_switches=tuple(
        OffSwitch("config.toml", "toml", ("features", name), False) for name in ("hooks", "codex_hooks")
    ),
)
"""How Codex is wired."""
