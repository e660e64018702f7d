"""Wires Cursor: hooks in ``hooks.json``, the MCP server in ``mcp.json``. Its user-wide rules are in no file.

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
from mnemic.hooks.wire.edits import Default, FileEdits, Member
from mnemic.hooks.wire.host import INSTRUCTIONS, HookEvent, Host, hooks_of, nothing_blocks

__all__ = ["CURSOR"]

_SUBSTITUTED = "$"
_EVENTS = (
    HookEvent("sessionStart", "session-start", 5, "always"),
    HookEvent("beforeSubmitPrompt", "prompt", 5, "opted"),
    HookEvent("postToolUse", "tool", 10),
    HookEvent("postToolUseFailure", "tool-failed", 10),
    HookEvent("subagentStop", "subagent", 10),
    HookEvent("preCompact", "compaction", 10),
    HookEvent("afterAgentResponse", "reply", 10),
    HookEvent("sessionEnd", "session-end", 5),
)


def _folder(environment: Mapping[str, str]) -> Path:
    return Path(environment["HOME"]) / ".cursor"


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    command, *arguments = wiring.mcp_words(_SUBSTITUTED)
    server = Member(("mcpServers", "mnemic"), {"command": command, "args": arguments})
    hooks = hooks_of("cursor", _EVENTS, wiring, grouped=False)
    version = Default(("version",), 1, beside=("hooks",))
    return [
        FileEdits(path=folder / "hooks.json", format="json", edits=(version, *hooks)),
        FileEdits(path=folder / "mcp.json", format="json", edits=(server,), substituted=_SUBSTITUTED),
    ]


def _trial(session: str, folder: str) -> dict[str, Any]:
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
    files=_files,
    events=_EVENTS,
    transcripts=lambda environment: [],
    trial=_trial,
    blocked=nothing_blocks,
    notes=_notes,
)
"""How Cursor is wired."""
