"""Installs Mnemic in Cursor: hooks in hooks.json, MCP server in mcp.json.

* Hooks, their events, ``version``, ``timeout`` in seconds: https://cursor.com/docs/agent/hooks
* MCP servers, ``${env:NAME}`` and the like: https://cursor.com/docs/context/mcp
* User rules, which are kept in Cursor's own settings: https://cursor.com/docs/context/rules

Its documentation was read; the program itself does not run without its window. The reply is ``afterAgentResponse``,
which carries the text; ``stop`` does not. A hook that prints nothing has no say.
"""

from __future__ import annotations

from pathlib import Path

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import Default, FileEdits, Member
from mnemic.hooks.wire.host import FOLDER, INSTRUCTIONS, SESSION, HookRegistration, Host, Place, hook_edits

__all__ = ["CURSOR"]

_EVENTS = (
    HookRegistration("sessionStart", "session-start", 5, "always"),
    HookRegistration("beforeSubmitPrompt", "prompt", 5, "opted"),
    HookRegistration("postToolUse", "tool", 10),
    HookRegistration("postToolUseFailure", "tool-failed", 10),
    HookRegistration("subagentStop", "subagent", 10),
    HookRegistration("preCompact", "compaction", 10),
    HookRegistration("afterAgentResponse", "reply", 10),
    HookRegistration("sessionEnd", "session-end", 5),
)


def _files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    chars = "$"
    command, *arguments = wiring.mcp_argv(chars)
    server = Member(("mcpServers", "mnemic"), {"command": command, "args": arguments})
    version = Default(("version",), 1, needed_by=("hooks",))
    hooks = hook_edits("cursor", _EVENTS, wiring, grouped=False)
    return [
        FileEdits(path=folder / "hooks.json", format="json", edits=(version, *hooks)),
        FileEdits(path=folder / "mcp.json", format="json", edits=(server,), substitution_chars=chars),
    ]


def _notes(wiring: Wiring, folder: Path) -> list[str]:
    told = " ".join(INSTRUCTIONS.partition("\n\n")[2].split())
    return [f"Cursor has no file for a user's own rules; if you like, add this one in its settings (Rules): {told}"]


CURSOR = Host(
    name="cursor",
    title="Cursor",
    program="cursor",
    place=Place("", ".cursor"),
    events=_EVENTS,
    files=_files,
    trial={
        "conversation_id": SESSION,
        "generation_id": "check",
        "hook_event_name": "beforeSubmitPrompt",
        "workspace_roots": [FOLDER],
        "prompt": "",
        "attachments": [],
    },
    notes=_notes,
)
"""How Cursor is wired."""
