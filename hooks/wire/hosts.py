"""Table of the assistants that Mnemic can be installed in: what each wires where, and which of them this machine has.

What a host reads, and where, its own documentation says; it is cited beside each entry.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.hooks.read.own_text import remove_block
from mnemic.hooks.wire.commands import ASSISTANTS, Wiring
from mnemic.hooks.wire.edits import Default, Edit, FileEdits, Item, Member, read_settings
from mnemic.hooks.wire.host import INSTRUCTIONS, READ_ONLY_TOOLS, Host, OffSwitch, Place, hook_edits
from mnemic.hooks.wire.settings_formats import value_at
from mnemic.runtime.files.programs import find_program


def _server(table: str, assistant: str, wiring: Wiring, **more: Any) -> Member:
    """The entry of the MCP server in a table of servers, as a command with arguments."""
    command, *arguments = wiring.mcp_argv(assistant)
    return Member((table, "mnemic"), {**more, "command": command, "args": arguments})


# --- Claude Code -----------------------------------------------------------------------------------------------------
# * Hooks, their events, `timeout` in seconds, exit codes: https://code.claude.com/docs/en/hooks
# * Where settings are, `disableAllHooks`, `CLAUDE_CONFIG_DIR`: https://code.claude.com/docs/en/settings
# * MCP at user scope, what `claude mcp add --scope user` writes, `${VAR}`: https://code.claude.com/docs/en/mcp
# * `permissions.allow`, and how a server's tools are named in it: https://code.claude.com/docs/en/permissions
# * `~/.claude/CLAUDE.md`: https://code.claude.com/docs/en/memory
#
# Its shell is bash, zsh or sh. `async` hooks are not used: Claude Code would not wait for them when it ends, and one
# that keeps a record takes milliseconds. `SessionEnd` gets the longest timeout that one of its hooks asks for, else
# 1.5 s. A settings file with comments is not read (seen with 2.1.197). Tools of the memory that only read are allowed;
# it asks before the others. Plugins: `enabledPlugins`, https://code.claude.com/docs/en/settings

_CLAUDE_EVENTS = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "tool": "PostToolUse",
    "tool-failed": "PostToolUseFailure",
    "subagent": "SubagentStop",
    "compaction": "PreCompact",
    "compacted": "PostCompact",
    "reply": "Stop",
    "session-end": "SessionEnd",
}


def _claude_files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    beside = folder if wiring.environment.get("CLAUDE_CONFIG_DIR") else wiring.user_home
    hooks = hook_edits("claude-code", _CLAUDE_EVENTS, wiring, type="command")
    allowed = [Item(("permissions", "allow"), f"mcp__mnemic__{tool}") for tool in READ_ONLY_TOOLS]
    server = _server("mcpServers", "claude-code", wiring, type="stdio")
    return [
        FileEdits(path=folder / "settings.json", format="json", edits=(*hooks, *allowed)),
        FileEdits(path=beside / ".claude.json", format="json", edits=(server,)),
        FileEdits(path=folder / "CLAUDE.md", format="block", text=INSTRUCTIONS),
    ]


def _claude_plugin_enabled(folder: Path) -> bool:
    enabled = value_at(read_settings(folder / "settings.json", "json"), ("enabledPlugins",))
    named = enabled.items() if isinstance(enabled, dict) else ()
    return any(name.startswith("mnemic@") and value is not False for name, value in named)


_CLAUDE_CODE = Host(
    name="claude-code",
    title="Claude Code",
    program="claude",
    tested="2.1.197",
    place=Place("CLAUDE_CONFIG_DIR", ".claude"),
    events=_CLAUDE_EVENTS,
    files=_claude_files,
    transcripts=("projects/**/*.jsonl",),
    off_switches=(OffSwitch("settings.json", "json", ("disableAllHooks",), True),),
    plugin_enabled=_claude_plugin_enabled,
)

# --- Codex -----------------------------------------------------------------------------------------------------------
# * Hooks, their events, `timeout` in seconds, trust: https://developers.openai.com/codex/hooks
# * `CODEX_HOME`, `[features] hooks`, `[mcp_servers]`: https://developers.openai.com/codex/config-reference
# * MCP servers, `default_tools_approval_mode`: https://developers.openai.com/codex/mcp
# * `AGENTS.md`, and `AGENTS.override.md` in its stead: https://developers.openai.com/codex/guides/agents-md
#
# Commands run as `$SHELL -lc COMMAND`. `SessionEnd` gets 1 s unless it asks for more, and at most 3 s; whoever asks
# for more is warned of at every start. A hook that was not trusted, or was edited since, does not run, and nothing says
# so: `mnemic.hooks.wire.codex_trust` sees to that. There is no event of its own for a failed call; `PostToolUse` tells
# what it does, and the transcript has the rest. How calls of the memory's tools are approved is left as it is: Codex
# lets those pass by themselves that say that they only read, and asks before the others. `notify` is left alone too.

_CODEX_EVENTS = {event: name for event, name in _CLAUDE_EVENTS.items() if event != "tool-failed"}


def _codex_files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    hooks = hook_edits("codex", _CODEX_EVENTS, wiring, end_s=3, type="command")
    instead = folder / "AGENTS.override.md"
    told = instead if instead.is_file() and instead.stat().st_size else folder / "AGENTS.md"
    return [
        FileEdits(path=folder / "hooks.json", format="json", edits=tuple(hooks)),
        FileEdits(path=folder / "config.toml", format="toml", edits=(_server("mcp_servers", "codex", wiring),)),
        FileEdits(path=told, format="block", text=INSTRUCTIONS),
    ]


_CODEX = Host(
    name="codex",
    title="Codex",
    program="codex",
    tested="0.169.0",
    place=Place("CODEX_HOME", ".codex"),
    events=_CODEX_EVENTS,
    files=_codex_files,
    transcripts=tuple(
        f"{folder}/**/{name}" for folder in ("sessions", "archived_sessions") for name in ("*.jsonl", "*.jsonl.zst")
    ),
    off_switches=tuple(
        OffSwitch("config.toml", "toml", ("features", name), False) for name in ("hooks", "codex_hooks")
    ),
)

# --- Gemini CLI ------------------------------------------------------------------------------------------------------
# * Hooks, their events, `timeout` in milliseconds, `name`: https://geminicli.com/docs/hooks/reference
# * `settings.json`, `hooksConfig`, `context.fileName`, `GEMINI_CLI_HOME`, `$VAR` in any string:
#   https://geminicli.com/docs/reference/configuration
# * MCP servers: https://geminicli.com/docs/tools/mcp-server
# * Policies, `~/.gemini/policies/*.toml`: https://geminicli.com/docs/reference/policy-engine
# * `~/.gemini/GEMINI.md`: https://geminicli.com/docs/cli/gemini-md
#
# Comments are read, a comma after the last entry is not. Commands run in bash; what they say on standard error counts
# as an answer where they print none. `PreCompress` is not wired: it comes before every call of the model (seen with
# 0.61.0), each a process for nothing; the transcript has what was compressed. Tools that failed are reported by
# `AfterTool`. `trust` is not set, which would let every tool of the memory pass: a policy lets those pass that only
# read, without which a session without a terminal would not even be offered them.

_GEMINI_POLICY = f"""\
# Mnemic's tools that only read are called without asking each time. Written by `mnemic hooks install`.
[[rule]]
mcpName = "mnemic"
toolName = [{", ".join(f'"{tool}"' for tool in READ_ONLY_TOOLS)}]
decision = "allow"
priority = 100
"""
_POLICY = f"{len(READ_ONLY_TOOLS)} reading tools allowed"
_GEMINI_EVENTS = {
    "session-start": "SessionStart",
    "prompt": "BeforeAgent",
    "tool": "AfterTool",
    "reply": "AfterAgent",
    "session-end": "SessionEnd",
}


def _gemini_files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    settings = folder / "settings.json"
    hooks = hook_edits("gemini-cli", _GEMINI_EVENTS, wiring, units_per_s=1000, name="mnemic", type="command")
    edits: tuple[Edit, ...] = (*hooks, _server("mcpServers", "gemini-cli", wiring))
    return [
        FileEdits(path=settings, format="jsonc", edits=edits),
        FileEdits(path=folder / "policies" / "mnemic.toml", format="whole", text=_GEMINI_POLICY, label=_POLICY),
        FileEdits(path=folder / _gemini_context_file(settings), format="block", text=INSTRUCTIONS),
    ]


def _gemini_context_file(settings: Path) -> str:
    """The name of the instructions file, which the user may have changed."""
    named = value_at(read_settings(settings, "jsonc"), ("context", "fileName"))
    first = named[0] if isinstance(named, list) and named else named
    plain = isinstance(first, str) and first not in ("", ".", "..") and "/" not in first and "$" not in first
    return str(first) if plain else "GEMINI.md"


_GEMINI_CLI = Host(
    name="gemini-cli",
    title="Gemini CLI",
    program="gemini",
    tested="0.61.0",
    place=Place("GEMINI_CLI_HOME", "", ".gemini"),
    events=_GEMINI_EVENTS,
    files=_gemini_files,
    transcripts=("tmp/*/chats/**/*.jsonl", "tmp/*/chats/**/session-*.json"),
    off_switches=(
        OffSwitch("settings.json", "jsonc", ("hooksConfig", "enabled"), False),
        OffSwitch("settings.json", "jsonc", ("hooksConfig", "disabled"), "mnemic"),
    ),
)

# --- Cursor ----------------------------------------------------------------------------------------------------------
# * Hooks, their events, `version`, `timeout` in seconds: https://cursor.com/docs/agent/hooks
# * MCP servers, `${env:NAME}` and the like: https://cursor.com/docs/context/mcp
# * User rules, which are kept in Cursor's own settings: https://cursor.com/docs/context/rules
#
# Its documentation was read; the program itself does not run without its window. The reply is `afterAgentResponse`,
# which carries the text; `stop` does not. A hook that prints nothing has no say.

_CURSOR_EVENTS = {
    "session-start": "sessionStart",
    "prompt": "beforeSubmitPrompt",
    "tool": "postToolUse",
    "tool-failed": "postToolUseFailure",
    "subagent": "subagentStop",
    "compaction": "preCompact",
    "reply": "afterAgentResponse",
    "session-end": "sessionEnd",
}


def _cursor_files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    version = Default(("version",), 1, needed_by=("hooks",))
    hooks = hook_edits("cursor", _CURSOR_EVENTS, wiring, grouped=False)
    server = _server("mcpServers", "cursor", wiring)
    return [
        FileEdits(path=folder / "hooks.json", format="json", edits=(version, *hooks)),
        FileEdits(path=folder / "mcp.json", format="json", edits=(server,)),
    ]


def _cursor_notes(wiring: Wiring, folder: Path) -> list[str]:
    told = " ".join(INSTRUCTIONS.partition("\n\n")[2].split())
    return [f"Cursor has no file for a user's own rules; if you like, add this one in its settings (Rules): {told}"]


_CURSOR = Host(
    name="cursor",
    title="Cursor",
    program="cursor",
    place=Place("", ".cursor"),
    events=_CURSOR_EVENTS,
    files=_cursor_files,
    notes=_cursor_notes,
)

# --- OpenCode --------------------------------------------------------------------------------------------------------
# * Plugins, and the folder they are found in: https://opencode.ai/docs/plugins
# * `opencode.json` or `opencode.jsonc`, comments, `{env:NAME}` and `{file:path}`: https://opencode.ai/docs/config
# * MCP servers: https://opencode.ai/docs/mcp-servers
# * `AGENTS.md`, and `~/.claude/CLAUDE.md` where it is missing: https://opencode.ai/docs/rules
#
# The plugin starts the hook's executable by itself, without a shell, and is silent where it is gone. OpenCode 2 reads
# the same files and translates what is written for 1: https://opencode.ai/v2/docs/build/plugins/migrate-v1

_SCHEMA = "https://opencode.ai/config.json"  # where it is missing, OpenCode writes it into the file itself
_PLUGIN = Path(__file__).parents[1] / "hosts" / "opencode_plugin.js"
_PLUGIN_CONSTANT = re.compile(r"^const (?:HOOK|GIVEN) = (.+)$", re.MULTILINE)


def _opencode_files(wiring: Wiring, folder: Path) -> list[FileEdits]:
    server = {"type": "local", "command": wiring.mcp_argv("opencode"), "enabled": True}
    edits = (Default(("$schema",), _SCHEMA), Member(("mcp", "mnemic"), server))
    names = ("opencode.jsonc", "opencode.json", "config.json")
    settings = next((folder / name for name in names if (folder / name).exists()), folder / "opencode.json")
    executable, _, _, *given = wiring.hook_argv("opencode", "prompt")
    plugin = _PLUGIN.read_text("utf-8").replace("@HOOK@", json.dumps(executable)).replace("@ARGS@", json.dumps(given))
    files = [
        FileEdits(path=folder / "plugins" / "mnemic.js", format="whole", text=plugin, label="a plugin"),
        FileEdits(path=settings, format="json5-commas", edits=edits),
    ]
    if not _uses_claude_md(wiring, folder):
        files.append(FileEdits(path=folder / "AGENTS.md", format="block", text=INSTRUCTIONS))
    return files


def plugin_command(text: str, event: str = "prompt") -> list[str] | None:
    """What OpenCode's installed plugin runs at an event, word by word; ``None`` where it is no plugin of Mnemic's."""
    try:
        executable, given = (json.loads(one) for one in _PLUGIN_CONSTANT.findall(text))
    except ValueError:  # other constants, or another number of them
        return None
    if not isinstance(executable, str) or not isinstance(given, list):
        return None
    asks = ["--ask"] if event == "session-start" else []
    return [executable, "opencode", event, *asks, *(str(one) for one in given if one not in ("--ask", "--updates"))]


def _claude_md(wiring: Wiring) -> Path:
    return wiring.user_home / ".claude" / "CLAUDE.md"


def _uses_claude_md(wiring: Wiring, folder: Path) -> bool:
    """Whether OpenCode goes by the user's ``CLAUDE.md``, which an ``AGENTS.md`` would hide from it."""
    if (folder / "AGENTS.md").exists():
        return False
    try:
        return bool(remove_block(_claude_md(wiring).read_text("utf-8", "replace")).strip())
    except OSError:
        return False


def _opencode_notes(wiring: Wiring, folder: Path) -> list[str]:
    if not _uses_claude_md(wiring, folder):
        return []
    told = f"OpenCode has no AGENTS.md and reads {_claude_md(wiring)}, which one would hide"
    return [f"{told}; so no instructions are added for it"]


_OPENCODE = Host(
    name="opencode",
    title="OpenCode",
    program="opencode",
    tested="1.18.33",
    place=Place("XDG_CONFIG_HOME", ".config", "opencode"),
    events={event: event for event in _CLAUDE_EVENTS},
    files=_opencode_files,
    transcripts=("opencode*.db",),
    transcripts_place=Place("XDG_DATA_HOME", ".local/share", "opencode"),
    notes=_opencode_notes,
)

# ---------------------------------------------------------------------------------------------------------------------

HOSTS: dict[str, Host] = {host.name: host for host in (_CLAUDE_CODE, _CODEX, _GEMINI_CLI, _CURSOR, _OPENCODE)}
"""By name."""


def named_hosts(names: Sequence[str]) -> list[Host]:
    """The hosts of these names; every one for ``all``.

    Raises:
        InvalidValue: there is no such host.
    """
    unknown = next((name for name in names if name not in (*ASSISTANTS, "all")), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, ASSISTANTS, n=1)
        raise InvalidValue(
            name="the assistant",
            value=unknown,
            why=f"no assistant is known by that name{f' (did you mean {near[0]}?)' if near else ''}",
            expected=f"one of {', '.join(ASSISTANTS)}, or all",
        )
    return [host for name, host in HOSTS.items() if name in names or "all" in names]


def select_hosts(names: Sequence[str], environment: Mapping[str, str]) -> tuple[list[Host], dict[str, str]]:
    """The hosts that are meant: those named, or for ``all`` those that are here; and why others were left out.

    Raises:
        InvalidValue: there is no such host.
    """
    hosts = named_hosts(names)
    absent = {host.name: why for host in hosts if (why := absence_reason(host, environment)) and host.name not in names}
    return [host for host in hosts if host.name not in absent], absent


def absence_reason(host: Host, environment: Mapping[str, str]) -> str:
    """Why a host seems not to be here; empty where it is."""
    folder = host.folder(environment)
    if folder.is_dir() or find_program(host.program, environment):
        return ""
    return f"there is no {_short(folder, environment)}, and no {host.program} in $PATH"


def _short(folder: Path, environment: Mapping[str, str]) -> str:
    home = Path(environment["HOME"])
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
