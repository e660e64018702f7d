"""Describes one assistant for installation: its folder, events, files, notes, and the transcripts that it has kept."""

from __future__ import annotations

import json
import os
import stat
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mnemic.hooks.read.names import looks_like_session, matches
from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, Format, Hook, read_settings
from mnemic.hooks.wire.settings_formats import value_at
from mnemic.runtime.serve.mcp.orders import ORDERS

INSTRUCTIONS = f"""\
## Memory

{textwrap.fill(f"What was said and done in earlier sessions is remembered by Mnemic. {ORDERS}", 120)}
"""
"""What a host's instructions file says of the memory."""

_SHORT_S, _LONG_S = 5, 10  # after which a host ends a hook that somebody waits for, and any other
READ_ONLY_TOOLS = ("memory_recall", "memory_shape", "memory_get", "memory_facts", "memory_status")
"""Tools of the MCP server that only read: a user who wires it wants them called without being asked each time."""


class Place(msgspec.Struct, frozen=True):
    """A folder that a variable may move."""

    variable: str
    """The variable; empty where there is none."""
    otherwise: str
    """Where it is without the variable, below the user's own folder."""
    inside: str = ""
    """What is added to either."""

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Where it is."""
        named = environment.get(self.variable)
        if named and self.variable.startswith("XDG_") and not os.path.isabs(named):  # as that specification has it
            named = None
        return (Path(named).absolute() if named else Path(environment["HOME"]) / self.otherwise) / self.inside


class OffSwitch(msgspec.Struct, frozen=True):
    """A setting of a host's own that keeps hooks from running."""

    file: str
    """The file it is in, below the host's folder."""
    format: Format
    """What that is."""
    path: tuple[str, ...]
    """Names on the way to it."""
    value: bool | str
    """What it says then, or what is in the list that it is."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """An assistant: how it is wired."""

    name: str
    """As the command line names it."""
    title: str
    """As its users know it."""
    program: str
    """The command that starts it."""
    place: Place
    """Where its user-wide configuration is."""
    tested: str = ""
    """The version of it that the tests run; empty where they run none."""
    events: Mapping[str, str]
    """The events that are wired: as the hook's command line calls them, and as the host does."""
    files: Callable[[Wiring, Path], list[FileEdits]]
    """All that is to stand in its files, by its folder."""
    transcripts: tuple[str, ...] = ()
    """Patterns of the transcripts it keeps."""
    transcripts_place: Place | None = None
    """Where they are, if not in its folder."""
    off_switches: tuple[OffSwitch, ...] = ()
    """Its own settings that keep all hooks from running."""
    notes: Callable[[Wiring, Path], list[str]] = lambda wiring, folder: []
    """What its user has to know besides."""
    plugin_enabled: Callable[[Path], bool] = lambda folder: False
    """Whether the plugin that `mnemic.hooks.wire.exports` makes for it is enabled, by its folder."""

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Where its user-wide configuration is."""
        return self.place.folder(environment)

    def file_edits(self, wiring: Wiring) -> list[FileEdits]:
        """All that is to stand in its files."""
        return self.files(wiring, self.folder(wiring.environment))

    def has_plugin(self, environment: Mapping[str, str]) -> bool:
        """Whether Mnemic's plugin is enabled in it for its user, which does what an install would."""
        return self.plugin_enabled(self.folder(environment))

    def blocked_reason(self, environment: Mapping[str, str]) -> str:
        """Why its own settings keep all hooks from running; empty where they don't."""
        for switch in self.off_switches:
            path = self.folder(environment) / switch.file
            held = value_at(read_settings(path, switch.format), switch.path)
            if held is switch.value or (isinstance(held, list) and switch.value in held):
                return f"{path} says {json.dumps(switch.value)} in {'.'.join(switch.path)}"
        return ""


CONFIG_VARIABLES = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""Variables that say where hosts have their configuration."""


def hook_edits(
    host: str,
    events: Mapping[str, str],
    wiring: Wiring,
    *,
    grouped: bool = True,
    units_per_s: int = 1,
    end_s: int = _SHORT_S,
    **more: Any,
) -> list[Hook]:
    """The hooks of a host whose configuration lists commands by event.

    Args:
        grouped: whether each command stands in a group.
        units_per_s: the host's unit of a timeout.
        end_s: how long the hook at a session's end may take.
        more: what its handlers hold besides command and timeout.
    """
    timeouts_s = {"session-start": _SHORT_S, "prompt": _SHORT_S, "session-end": end_s}
    edits = []
    for event, name in events.items():
        command = wiring.hook_command(host, event)
        timeout = timeouts_s.get(event, _LONG_S) * units_per_s
        edits.append(Hook(("hooks", name), {**more, "command": command, "timeout": timeout}, grouped))
    return edits


_BYTES_PER_S = 600_000.0  # 300 turns a second are found by their meaning, and a turn of a transcript is about 2 kB long


class HostTranscripts(msgspec.Struct, frozen=True, kw_only=True):
    """What one host has kept."""

    assistant: str
    """The host."""
    paths: tuple[tuple[str, str], ...]
    """Each transcript and its format, the newest first."""
    size_bytes: int
    """How long they are together."""
    since: int
    """When the oldest was written to last, microseconds."""
    until: int
    """When the newest was."""

    @property
    def minutes(self) -> float:
        """About how long taking them in takes."""
        return self.size_bytes / _BYTES_PER_S / 60


def existing_transcripts(hosts: Iterable[Host], environment: Mapping[str, str]) -> list[HostTranscripts]:
    """What each host has kept; a host that keeps none that can be read is not named."""
    found = []
    for host in hosts:
        seen = [((str(path), host.name), *state) for path, state, is_read in _kept(host, environment) if is_read]
        if seen:
            newest = sorted(seen, key=lambda one: -one[1])
            since, until = (round(newest[place][1] * 1e6) for place in (-1, 0))
            size_bytes = sum(size for _, _, size in seen)
            paths = tuple(one for one, _, _ in newest)
            found.append(
                HostTranscripts(assistant=host.name, paths=paths, size_bytes=size_bytes, since=since, until=until)
            )
    return found


def unread_sessions(hosts: Iterable[Host], environment: Mapping[str, str]) -> dict[str, list[str]]:
    """What lies beside each host's transcripts, looks like a session, and is read by nothing: paths, sorted."""
    found = {
        host.name: sorted(str(path) for path, _, is_read in _kept(host, environment) if not is_read) for host in hosts
    }
    return {name: paths for name, paths in found.items() if paths}


def _kept(host: Host, environment: Mapping[str, str]) -> Iterator[tuple[Path, tuple[float, int], bool]]:
    """A host's transcripts, and what looks like one: the file, its time and length, and whether it is read."""
    names: dict[str, list[str]] = {}
    for pattern in host.transcripts:
        below, _, name = pattern.rpartition("/")
        names.setdefault(below, []).append(name)
    for below, patterns in names.items():
        for path in (host.transcripts_place or host.place).folder(environment).glob(f"{below}/*" if below else "*"):
            is_read = matches(path.name, patterns)
            if (is_read or looks_like_session(path.name)) and (state := _modified_and_size(path)) is not None:
                yield path, state, is_read


def _modified_and_size(path: Path) -> tuple[float, int] | None:
    """When a file was last written to, and how long it is; ``None`` where it is none, or went meanwhile."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return (seen.st_mtime, seen.st_size) if stat.S_ISREG(seen.st_mode) else None
