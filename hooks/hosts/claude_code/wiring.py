"""Installs Mnemic in Claude Code: hooks in settings.json, MCP server in .claude.json, text in CLAUDE.md.

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
from mnemic.hooks.wire.edits import (
    FileEdits,
    JsonArrayItem,
    JsonMember,
    MarkedBlock,
    glob_transcripts,
    host_folder,
    read_json,
)
from mnemic.hooks.wire.host import INSTRUCTIONS, READ_ONLY_TOOLS, HookRegistration, Host, hook_entries

__all__ = ["CLAUDE_CODE"]

_SUBSTITUTION_CHARS = "$"  # in the MCP entry; hooks only know names of their own
_EVENTS = (
    HookRegistration("SessionStart", "session-start", 5, "always"),
    HookRegistration("UserPromptSubmit", "prompt", 5, "opted"),
    HookRegistration("PostToolUse", "tool", 10),
    HookRegistration("PostToolUseFailure", "tool-failed", 10),
    HookRegistration("SubagentStop", "subagent", 10),
    HookRegistration("PreCompact", "compaction", 10),
    HookRegistration("PostCompact", "compacted", 10),
    HookRegistration("Stop", "reply", 10),
    HookRegistration("SessionEnd", "session-end", 5),
)


def _folder(environment: Mapping[str, str]) -> Path:
    return host_folder(environment, "CLAUDE_CONFIG_DIR", ".claude")


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    beside = folder if wiring.environment.get("CLAUDE_CONFIG_DIR") else wiring.user_home
    command, *arguments = wiring.mcp_argv(_SUBSTITUTION_CHARS)
    server = {"type": "stdio", "command": command, "args": arguments}
    hooks = hook_entries("claude-code", _EVENTS, wiring, grouped=True, type="command")
    allowed = [JsonArrayItem(("permissions", "allow"), f"mcp__mnemic__{tool}") for tool in READ_ONLY_TOOLS]
    return [
        FileEdits(path=folder / "settings.json", format="json", edits=(*hooks, *allowed)),
        FileEdits(
            path=beside / ".claude.json",
            format="json",
            edits=(JsonMember(("mcpServers", "mnemic"), server),),
            substitution_chars=_SUBSTITUTION_CHARS,
        ),
        FileEdits(path=folder / "CLAUDE.md", format="text", edits=(MarkedBlock(INSTRUCTIONS),)),
    ]


def _transcripts(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    return glob_transcripts(_folder(environment) / "projects", "**/*.jsonl", "claude-code")


def _trial_payload(session: str, folder: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": "",
        "cwd": folder,
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "",
    }


def _blocked_reason(environment: Mapping[str, str]) -> str:
    path = _folder(environment) / "settings.json"
    return f"{path} says disableAllHooks" if read_json(path, "json").get("disableAllHooks") is True else ""


CLAUDE_CODE = Host(
    name="claude-code",
    title="Claude Code",
    program="claude",
    folder=_folder,
    file_edits=_files,
    events=_EVENTS,
    transcripts=_transcripts,
    trial_payload=_trial_payload,
    blocked_reason=_blocked_reason,
)
"""How Claude Code is wired."""
