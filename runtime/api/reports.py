"""Result types of the longer verbs, capture and status, and what the verbs need from above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from mnemic.actors.protocol.messages import Counts
from mnemic.runtime.engine.reports import ActorSystemReport

if TYPE_CHECKING:  # whoever only captures need not load it
    from mnemic.runtime.api.capture_status import CaptureStatus

__all__ = ["CaptureReport", "HostPorts", "Status", "unbound_warning"]


@dataclass(frozen=True, slots=True)
class HostPorts:
    """The readers of the hosts' files, handed in when the parts are put together."""

    find_transcripts: Callable[[str], Sequence[str]]
    """The transcripts in a file or folder."""
    hook_reply: Callable[..., bytes]
    """What a hook prints, as its host takes it; see `mnemic.hooks.read.hook_reply.hook_reply`."""


class CaptureReport(msgspec.Struct, kw_only=True):
    """What a capture did."""

    new: int = 0
    """Memories kept now for the first time; found by their words from then on."""
    known: int = 0
    """Events that had been captured before."""
    differing: int = 0
    """Of those, events whose id was kept before with another text; the first text stands."""
    malformed: int = 0
    """Lines that could not be read."""
    malformed_lines: list[tuple[str, int, str]]
    """The first of them: file, line, reason."""
    elsewhere: int = 0
    """Of the known, events that are in another scope than the one asked for; they stay there."""
    retired: int = 0
    """Of the known, events whose memories were forgotten; they stay so."""
    erased: int = 0
    """Events whose memories were erased; they are not kept again."""
    left_out: int = 0
    """Events of projects or kinds of session that the settings leave out."""
    files: int = 0
    """Transcripts read to their end."""
    failed: list[tuple[str, str]]
    """Transcripts that could not be read, and why."""
    scopes: list[str]
    """Scopes that got new memories."""
    embedded: int = 0
    """Memories of the mind that are found by their meaning too."""
    pending: int = 0
    """Memories that are not, yet."""
    partly: int = 0
    """Memories of which only the first part is found by meaning."""
    meaning_error: str | None = None
    """Why there is no meaning, where the model cannot be used."""
    bound: int = 0
    """Memories of the mind that are found by their shape too."""
    unbound: int = 0
    """Memories that wait for it."""
    unread: int = 0
    """Memories that have no shape, or one without facts or roles of your own, since reading or binding them failed."""
    shape_error: str | None = None
    """Why they do, where nothing could be bound."""


class Status(msgspec.Struct, kw_only=True):
    """What there is, and how it is."""

    home: str
    """The home's folder."""
    mind: str
    """The mind's name."""
    version: str
    """Version of Mnemic."""
    counts: Counts
    """What is there."""
    use: dict[str, Any]
    """Memories, bytes and tokens given to assistants, by project and by week; see `mnemic.runtime.api.views`."""
    store_bytes: int
    """The store's files on disk."""
    encoder: str | None
    """Which code and weights embed, where the model can be used."""
    instructions: str | None
    """The instruction set that native code uses; ``None`` where NumPy computes."""
    paused: dict[str, Any] | None = None
    """The pause that holds: `since` and `until` when, and `told` in a sentence; ``None`` where none does."""
    capture: CaptureStatus
    """What hooks kept: what waits, and what became of it."""
    actor_system: ActorSystemReport
    """How the actors are, and where they run."""
    process: dict[str, Any] | None
    """What the home's process says of itself; ``None`` where the command worked alone."""
    degraded: list[str]
    """What is missing, and what that means, a sentence each."""


def unbound_warning(number: int) -> str:
    """What is said where something of so many memories could not be bound."""
    return (
        f"{number} {'memory has' if number == 1 else 'memories have'} no facts, no roles of your own, or no shape at"
        " all, since what reads them failed (mnemic.log or serve.log in the home says why); once it is mended,"
        " `mnemic doctor --repair` binds them again"
    )
