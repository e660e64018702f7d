"""Installs Mnemic in OpenCode: a plugin, the MCP server in opencode.json, text in AGENTS.md.

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

from mnemic.hooks.read.own_text import remove_block
from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, JsonDefault, JsonMember, MarkedBlock, WholeFile
from mnemic.hooks.wire.host import INSTRUCTIONS, HookRegistration, Host, never_blocked

__all__ = ["OPENCODE", "plugin_command"]

_SUBSTITUTION_CHARS = "{"
_SCHEMA = "https://opencode.ai/config.json"  # where it is missing, OpenCode writes it into the file itself
_PLUGIN = Path(__file__).with_name("plugin.js")
_PLUGIN_CONSTANT = re.compile(r"^const (?:HOOK|GIVEN) = (.+)$", re.MULTILINE)
_EVENTS = tuple(
    HookRegistration(event, event, 0)
    for event in (
        *("session-start", "prompt", "tool", "tool-failed", "subagent"),
        *("compaction", "compacted", "reply", "session-end"),
    )
)


def _folder(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or Path(environment["HOME"]) / ".config").absolute() / "opencode"


def _files(wiring: Wiring) -> list[FileEdits]:
    folder = _folder(wiring.environment)
    server = {"type": "local", "command": wiring.mcp_argv(_SUBSTITUTION_CHARS), "enabled": True}
    names = ("opencode.jsonc", "opencode.json", "config.json")
    settings = next((folder / name for name in names if (folder / name).exists()), folder / "opencode.json")
    files = [
        FileEdits(path=folder / "plugins" / "mnemic.js", format="whole", edits=(WholeFile(_plugin(wiring)),)),
        FileEdits(
            path=settings,
            format="json5-commas",
            edits=(JsonDefault(("$schema",), _SCHEMA), JsonMember(("mcp", "mnemic"), server)),
            substitution_chars=_SUBSTITUTION_CHARS,
        ),
    ]
    if not _uses_claude_md(wiring):
        files.append(FileEdits(path=folder / "AGENTS.md", format="text", edits=(MarkedBlock(INSTRUCTIONS),)))
    return files


def _plugin(wiring: Wiring) -> str:
    executable, _, _, *given = wiring.hook_argv("opencode", "prompt", ask=False)
    given += ["--ask"] if wiring.recall_prompts else []
    source = _PLUGIN.read_text("utf-8")
    return source.replace("@HOOK@", json.dumps(executable)).replace("@ARGS@", json.dumps(given))


def plugin_command(text: str, event: str = "prompt") -> list[str] | None:
    """What the installed plugin runs at an event, word by word; ``None`` where it is no plugin of Mnemic's."""
    found = _PLUGIN_CONSTANT.findall(text)
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


def _uses_claude_md(wiring: Wiring) -> bool:
    """Whether OpenCode goes by the user's ``CLAUDE.md``, which an ``AGENTS.md`` would hide from it."""
    if (_folder(wiring.environment) / "AGENTS.md").exists():
        return False
    claudes = wiring.user_home / ".claude" / "CLAUDE.md"
    try:
        return bool(remove_block(claudes.read_text("utf-8", "replace")).strip())
    except OSError:
        return False


def _transcripts(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    data = Path(environment.get("XDG_DATA_HOME") or Path(environment["HOME"]) / ".local" / "share")
    database = data / "opencode" / "opencode.db"
    return [(str(database), "opencode")] if database.is_file() else []


def _trial_payload(session: str, folder: str) -> dict[str, Any]:
    return {"session_id": session, "cwd": folder, "hook_event_name": "prompt", "message": {"id": ""}, "parts": []}


def _notes(wiring: Wiring) -> list[str]:
    if not _uses_claude_md(wiring):
        return []
    claudes = wiring.user_home / ".claude" / "CLAUDE.md"
    return [f"OpenCode has no AGENTS.md and reads {claudes}, which one would hide; so no instructions are added for it"]


OPENCODE = Host(
    name="opencode",
    title="OpenCode",
    program="opencode",
    folder=_folder,
    file_edits=_files,
    events=_EVENTS,
    transcripts=_transcripts,
    trial_payload=_trial_payload,
    blocked_reason=never_blocked,
    notes=_notes,
)
"""How OpenCode is wired."""
