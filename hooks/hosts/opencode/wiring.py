"""Wires OpenCode: a plugin of its own in ``plugins/``, the MCP server in ``opencode.json``, a block in ``AGENTS.md``.

* Plugins, and the folder they are found in: https://opencode.ai/docs/plugins
* ``opencode.json`` or ``opencode.jsonc``, comments, ``{env:NAME}`` and ``{file:path}``: https://opencode.ai/docs/config
* MCP servers: https://opencode.ai/docs/mcp-servers
* ``AGENTS.md``, and ``~/.claude/CLAUDE.md`` where it is missing: https://opencode.ai/docs/rules

The plugin starts the hook's executable by itself, without a shell, and is silent where it is gone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemic.hooks.read.own_text import take_block
from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import Block, Default, FileEdits, Member, Whole
from mnemic.hooks.wire.host import INSTRUCTIONS, HookEvent, Host, nothing_blocks

__all__ = ["OPENCODE", "called_by_plugin"]

_SUBSTITUTED = "{"
_SCHEMA = "https://opencode.ai/config.json"  # where it is missing, OpenCode writes it into the file itself
_PLUGIN = Path(__file__).with_name("plugin.js")
_CALLED = re.compile(r"^const (?:HOOK|GIVEN) = (.+)$", re.MULTILINE)
_EVENTS = tuple(
    HookEvent(event, event, 0)
    for event in (
        *("session-start", "prompt", "tool", "tool-failed", "subagent"),
        *("compaction", "compacted", "reply", "session-end"),
    )
)


def _folder(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or Path(environment["HOME"]) / ".config").absolute() / "opencode"


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    server = {"type": "local", "command": wiring.mcp_words(_SUBSTITUTED), "enabled": True}
    names = ("opencode.jsonc", "opencode.json", "config.json")
    settings = next((folder / name for name in names if (folder / name).exists()), folder / "opencode.json")
    files = [
        FileEdits(path=folder / "plugins" / "mnemic.js", format="whole", edits=(Whole(_plugin(wiring)),)),
        FileEdits(
            path=settings,
            format="json5-commas",
            edits=(Default(("$schema",), _SCHEMA), Member(("mcp", "mnemic"), server)),
            substituted=_SUBSTITUTED,
        ),
    ]
    if not _reads_claudes(wiring):
        files.append(FileEdits(path=folder / "AGENTS.md", format="text", edits=(Block(INSTRUCTIONS),)))
    return files


def _plugin(wiring: Wiring) -> str:
    executable, _, _, *given = wiring.hook_words("opencode", "prompt", ask=False)
    given += ["--ask"] if wiring.recall_prompts else []
    source = _PLUGIN.read_text("utf-8")
    return source.replace("@HOOK@", json.dumps(executable)).replace("@ARGS@", json.dumps(given))


def called_by_plugin(text: str, event: str = "prompt") -> list[str] | None:
    """What the installed plugin runs at an event, word by word; ``None`` where it is no plugin of Mnemic's."""
    found = _CALLED.findall(text)
    if len(found) != 2:
        return None
    try:
        executable, given = (json.loads(one) for one in found)
    except ValueError:
        return None
    if not isinstance(executable, str) or not isinstance(given, list):
        return None
    asks = ["--ask"] if event == "session-start" else []
    return [executable, "opencode", event, *asks, *(str(one) for one in given if one != "--ask")]


def _reads_claudes(wiring: Wiring) -> bool:
    """Whether OpenCode goes by the user's ``CLAUDE.md``, which an ``AGENTS.md`` would hide from it."""
    if (_folder(wiring.environment) / "AGENTS.md").exists():
        return False
    claudes = wiring.user / ".claude" / "CLAUDE.md"
    try:
        return bool(take_block(claudes.read_text("utf-8", "replace")).strip())
    except OSError:
        return False


def _transcripts(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    data = Path(environment.get("XDG_DATA_HOME") or Path(environment["HOME"]) / ".local" / "share")
    database = data / "opencode" / "opencode.db"
    return [(str(database), "opencode")] if database.is_file() else []


def _trial(session: str, folder: str) -> dict[str, Any]:
    return {"session_id": session, "cwd": folder, "hook_event_name": "prompt", "message": {"id": ""}, "parts": []}


def _notes(wiring: Wiring) -> list[str]:
    if not _reads_claudes(wiring):
        return []
    claudes = wiring.user / ".claude" / "CLAUDE.md"
    return [f"OpenCode has no AGENTS.md and reads {claudes}, which one would hide; so no instructions are added for it"]


OPENCODE = Host(
    name="opencode",
    title="OpenCode",
    program="opencode",
    folder=_folder,
    files=_files,
    events=_EVENTS,
    transcripts=_transcripts,
    trial=_trial,
    blocked=nothing_blocks,
    notes=_notes,
)
"""How OpenCode is wired."""
