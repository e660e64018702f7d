"""Message types exchanged between the driver and an actor's Ray process, pickled and encrypted.

All of it is pickled and sealed for its direction, so that nothing that was sent one way is taken for an answer.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mnemic.actors.protocol.errors import MnemicError

__all__ = [
    "FROM_WORKER",
    "TO_WORKER",
    "Call",
    "Close",
    "Failure",
    "Kind",
    "LogLine",
    "Make",
    "ProgressReport",
    "Resume",
    "Step",
    "ToldMessage",
]

TO_WORKER = b"to worker"
FROM_WORKER = b"from worker"

Kind = Literal["answer", "ask", "error", "failure", "post"]
"""Of a step: an answer, a question (message and seconds), a `MnemicError`, a `Failure`, or nothing but its post."""


class Make(msgspec.Struct, frozen=True):
    """Make the actor."""

    factory: bytes
    """Makes it; pickled with all that no module has."""
    log_level: int
    """Of what is logged, this and above is worth its way."""
    background: bool
    """Whether the process yields to others."""


class Resume(msgspec.Struct, frozen=True):
    """Go on: with an answer, or the error it ended in, or with neither where none was asked for."""

    answer: Any
    error: MnemicError | None
    cancelled: bool


class Call(msgspec.Struct, frozen=True):
    """Handle a message; the rest is its context."""

    message: Any
    trace: str
    now: int
    seed: bytes
    cancelled: bool
    prefetched: tuple[tuple[Any, Resume], ...]
    """What the actor will ask, and how that ended."""


class Close(msgspec.Struct, frozen=True):
    """Close the actor."""


class ToldMessage(msgspec.Struct, frozen=True):
    """The actor told a message."""

    message: bytes
    """Pickled when it was told: what cannot be is the teller's failure."""


class LogLine(msgspec.Struct, frozen=True):
    """Something in the process logged a line."""

    logger: str
    level: int
    text: str
    fields: dict[str, Any]
    """What it says by name; see `mnemic.runtime.logs.FIELDS`."""


class ProgressReport(msgspec.Struct, frozen=True):
    """The actor reported how far it is."""

    done: int
    total: int | None


class Failure(msgspec.Struct, frozen=True):
    """The actor raised what is no answer. Its text stays where it was raised."""

    kind: str
    """Name of the class."""
    location: str
    """Where in the code."""
    error: BaseException | None = None
    """The thing itself, where the actor could not be made for it and it is one of Python's own."""


class Step(msgspec.Struct, frozen=True):
    """What a crossing comes back with."""

    kind: Kind
    """What it is."""
    value: Any
    """What goes with its kind."""
    outputs: tuple[ToldMessage | LogLine | ProgressReport, ...]
    """What comes before it."""
