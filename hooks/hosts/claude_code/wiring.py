"""Wires Claude Code: hooks in ``settings.json``, the MCP server in ``.claude.json``, a block in ``CLAUDE.md``.

* Hooks, their events, ``timeout`` in seconds, exit codes: https://code.claude.com/docs/en/hooks
* Where settings are, ``disableAllHooks``, ``CLAUDE_CONFIG_DIR``: https://code.claude.com/docs/en/settings
* MCP at user scope, what ``claude mcp add --scope user`` writes, ``${VAR}``: https://code.claude.com/docs/en/mcp
* ``permissions.allow``, and how a server's tools are named in it: https://code.claude.com/docs/en/permissions
* ``~/.claude/CLAUDE.md``: https://code.claude.com/docs/en/memory

Its shell is bash, zsh or sh. ``async`` hooks are not used: Claude Code would not wait for them when it ends, and one
that keeps a record takes milliseconds. ``SessionEnd`` gets the longest timeout that one of its hooks asks for, else
1.5 s. A settings file with comments is not read (seen with 2.1.197). Tools of the memory that only read are allowed;
it asks before the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import Block, FileEdits, Listed, Member, folder_of, json_in, transcripts_below
from mnemic.hooks.wire.host import INSTRUCTIONS, READING, HookEvent, Host, hooks_of

__all__ = ["CLAUDE_CODE"]

_SUBSTITUTED = "$"  # in the MCP entry; hooks only know names of their own
_EVENTS = (
    HookEvent("SessionStart", "session-start", 5, "always"),
    HookEvent("UserPromptSubmit", "prompt", 5, "opted"),
    HookEvent("PostToolUse", "tool", 10),
    HookEvent("PostToolUseFailure", "tool-failed", 10),
    HookEvent("SubagentStop", "subagent", 10),
    HookEvent("PreCompact", "compaction", 10),
    HookEvent("PostCompact", "compacted", 10),
    HookEvent("Stop", "reply", 10),
    HookEvent("SessionEnd", "session-end", 5),
)


def _folder(environment: Mapping[str, str]) -> Path:
    return folder_of(environment, "CLAUDE_CONFIG_DIR", ".claude")


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    beside = folder if wiring.environment.get("CLAUDE_CONFIG_DIR") else wiring.user
    command, *arguments = wiring.mcp_words(_SUBSTITUTED)
    server = {"type": "stdio", "command": command, "args": arguments}
    hooks = hooks_of("claude-code", _EVENTS, wiring, grouped=True, type="command")
    allowed = [Listed(("permissions", "allow"), f"mcp__mnemic__{tool}") for tool in READING]
    return [
        FileEdits(path=folder / "settings.json", format="json", edits=(*hooks, *allowed)),
        FileEdits(
            path=beside / ".claude.json",
            format="json",
            edits=(Member(("mcpServers", "mnemic"), server),),
            substituted=_SUBSTITUTED,
        ),
        FileEdits(path=folder / "CLAUDE.md", format="text", edits=(Block(INSTRUCTIONS),)),
    ]


def _transcripts(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    return transcripts_below(_folder(environment) / "projects", "**/*.jsonl", "claude-code")


def _trial(session: str, folder: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": "",
        "cwd": folder,
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "",
    }


def _blocked(environment: Mapping[str, str]) -> str:
    path = _folder(environment) / "settings.json"
    return f"{path} says disableAllHooks" if json_in(path, "json").get("disableAllHooks") is True else ""


CLAUDE_CODE = Host(
    name="claude-code",
    title="Claude Code",
    program="claude",
    folder=_folder,
    files=_files,
    events=_EVENTS,
    transcripts=_transcripts,
    trial=_trial,
    blocked=_blocked,
)
"""How Claude Code is wired."""
