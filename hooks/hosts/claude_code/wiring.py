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

from pathlib import Path

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, Item, Member
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

__all__ = ["CLAUDE_CODE"]

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


def _files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    beside = folder if wiring.environment.get("CLAUDE_CONFIG_DIR") else wiring.user_home
    chars = "$"  # in the MCP entry; hooks only know names of their own
    command, *arguments = wiring.mcp_argv(chars)
    server = Member(("mcpServers", "mnemic"), {"type": "stdio", "command": command, "args": arguments})
    hooks = hook_edits("claude-code", _EVENTS, wiring, grouped=True, type="command")
    allowed = [Item(("permissions", "allow"), f"mcp__mnemic__{tool}") for tool in READ_ONLY_TOOLS]
    return [
        FileEdits(path=folder / "settings.json", format="json", edits=(*hooks, *allowed)),
        FileEdits(path=beside / ".claude.json", format="json", edits=(server,), substitution_chars=chars),
        FileEdits(path=folder / "CLAUDE.md", format="block", text=INSTRUCTIONS),
    ]


CLAUDE_CODE = Host(
    name="claude-code",
    title="Claude Code",
    program="claude",
    place=Place("CLAUDE_CONFIG_DIR", ".claude"),
    events=_EVENTS,
    files=_files,
    transcripts=("projects/**/*.jsonl",),
    trial={
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": FOLDER,
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "",
    },
    off_switches=(OffSwitch("settings.json", "json", ("disableAllHooks",), True),),
)
"""How Claude Code is wired."""
