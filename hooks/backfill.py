"""The transcripts that hosts have kept from before they were wired: found, counted, and how long they will take."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from mnemic.hooks.wiring_host import Host

__all__ = ["Kept", "kept_by"]

_BYTES_S = 600_000.0  # 300 turns a second are found by their meaning, and a turn of a transcript is about 2 kB long


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What one host has kept."""

    assistant: str
    """The host."""
    paths: tuple[tuple[str, str], ...]
    """Each transcript and its format, the newest first."""
    size_bytes: int
    """How long they are together."""

    @property
    def minutes(self) -> float:
        """About how long taking them in takes."""
        return self.size_bytes / _BYTES_S / 60


def kept_by(hosts: Iterable[Host], environment: Mapping[str, str]) -> list[Kept]:
    """What each host has kept; a host that keeps none that can be read is not named."""
    found = []
    for host in hosts:
        seen = [(one, *state) for one in host.transcripts(environment) if (state := _state(one[0])) is not None]
        if seen:
            newest = sorted(seen, key=lambda one: -one[1])
            paths = tuple(one for one, _, _ in newest)
            found.append(Kept(assistant=host.name, paths=paths, size_bytes=sum(size for _, _, size in seen)))
    return found


def _state(path: str) -> tuple[float, int] | None:
    """When a file was last written to, and how long it is; ``None`` where it went meanwhile."""
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_mtime, seen.st_size
