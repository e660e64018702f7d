"""Installs Mnemic in Cursor: hooks in hooks.json, MCP server in mcp.json.

* Hooks, their events, ``version``, ``timeout`` in seconds: https://cursor.com/docs/agent/hooks
* MCP servers, ``${env:NAME}`` and the like: https://cursor.com/docs/context/mcp
* User rules, which are kept in Cursor's own settings: https://cursor.com/docs/context/rules

Its documentation was read; the program itself does not run without its window. The reply is ``afterAgentResponse``,
which carries the text; ``stop`` does not. A hook that prints nothing has no say.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, JsonDefault, JsonMember
from mnemic.hooks.wire.host import INSTRUCTIONS, HookRegistration, Host, hook_entries, never_blocked

__all__ = ["CURSOR"]

_SUBSTITUTION_CHARS = "$"
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


def _folder(environment: Mapping[str, str]) -> Path:
    return Path(environment["HOME"]) / ".cursor"


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    command, *arguments = wiring.mcp_argv(_SUBSTITUTION_CHARS)
    server = JsonMember(("mcpServers", "mnemic"), {"command": command, "args": arguments})
    hooks = hook_entries("cursor", _EVENTS, wiring, grouped=False)
    version = JsonDefault(("version",), 1, needed_by=("hooks",))
    return [
        FileEdits(path=folder / "hooks.json", format="json", edits=(version, *hooks)),
        FileEdits(path=folder / "mcp.json", format="json", edits=(server,), substitution_chars=_SUBSTITUTION_CHARS),
    ]


def _trial_payload(session: str, folder: str) -> dict[str, Any]:
    return {
        "conversation_id": session,
        "generation_id": "check",
        "hook_event_name": "beforeSubmitPrompt",
        "workspace_roots": [folder],
        "prompt": "",
        "attachments": [],
    }


def _notes(wiring: Wiring) -> list[str]:
    told = " ".join(INSTRUCTIONS.partition("\n\n")[2].split())
    return [f"Cursor has no file for a user's own rules; if you like, add this one in its settings (Rules): {told}"]


CURSOR = Host(
    name="cursor",
    title="Cursor",
    program="cursor",
    folder=_folder,
    file_edits=_files,
    events=_EVENTS,
    transcripts=lambda environment: [],
    trial_payload=_trial_payload,
    blocked_reason=never_blocked,
    notes=_notes,
)
"""How Cursor is wired."""
