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
from pathlib import Path

from mnemic.hooks.read.own_text import remove_block
from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import Default, FileEdits, Member
from mnemic.hooks.wire.host import FOLDER, INSTRUCTIONS, SESSION, HookRegistration, Host, Place

__all__ = ["OPENCODE", "plugin_command"]

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


def _files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    chars = "{"
    server = {"type": "local", "command": wiring.mcp_argv(chars), "enabled": True}
    edits = (Default(("$schema",), _SCHEMA), Member(("mcp", "mnemic"), server))
    names = ("opencode.jsonc", "opencode.json", "config.json")
    settings = next((folder / name for name in names if (folder / name).exists()), folder / "opencode.json")
    files = [
        FileEdits(path=folder / "plugins" / "mnemic.js", format="whole", text=_plugin(wiring)),
        FileEdits(path=settings, format="json5-commas", edits=edits, substitution_chars=chars),
    ]
    if not _uses_claude_md(wiring, folder):
        files.append(FileEdits(path=folder / "AGENTS.md", format="block", text=INSTRUCTIONS))
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


def _uses_claude_md(wiring: Wiring, folder: Path) -> bool:
    """Whether OpenCode goes by the user's ``CLAUDE.md``, which an ``AGENTS.md`` would hide from it."""
    if (folder / "AGENTS.md").exists():
        return False
    try:
        return bool(remove_block(_claude_md(wiring).read_text("utf-8", "replace")).strip())
    except OSError:
        return False


def _claude_md(wiring: Wiring) -> Path:
    return wiring.user_home / ".claude" / "CLAUDE.md"


def _notes(wiring: Wiring, folder: Path) -> list[str]:
    if not _uses_claude_md(wiring, folder):
        return []
    told = f"OpenCode has no AGENTS.md and reads {_claude_md(wiring)}, which one would hide"
    return [f"{told}; so no instructions are added for it"]


OPENCODE = Host(
    name="opencode",
    title="OpenCode",
    program="opencode",
    place=Place("XDG_CONFIG_HOME", ".config", "opencode"),
    events=_EVENTS,
    files=_files,
    transcripts=("opencode.db",),
    transcripts_place=Place("XDG_DATA_HOME", ".local/share", "opencode"),
    trial={"session_id": SESSION, "cwd": FOLDER, "hook_event_name": "prompt", "message": {"id": ""}, "parts": []},
    notes=_notes,
)
"""How OpenCode is wired."""
