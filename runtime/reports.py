"""What a supervisor shows of itself: to whoever asks how things are, and to whoever counts as they happen.

Above stand the supervisor, which fills them in, its client in another process, and `mnemic.runtime.metrics`.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from mnemic.actors.messages import NightReport

__all__ = ["ActorHealth", "ActorState", "DeadLetter", "Observer", "SocietyReport", "Unobserved"]

ActorState = Literal["running", "resting", "quarantined"]


class ActorHealth(msgspec.Struct, frozen=True):
    """What `doctor` shows of an actor."""

    actor: str
    """Its name."""
    waiting: int
    """Messages in its mailbox."""
    failures: int
    """Since the start of the process."""
    cause: str
    """The last failure: a kind of error and a place in the code."""
    quarantined: bool
    """Whether it was set aside."""
    state: ActorState = "running"
    """``resting``: it failed, and is made anew before its next message."""
    handled: int = 0
    """Messages it is done with since the start of the process, however they ended."""
    kind: str = ""
    """Its class, as ``module:Class``."""


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that nobody waited for and nobody handled: what is shown of it, which is nothing of its content."""

    actor: str
    """Whom it was for; ``-`` where nobody takes it."""
    message: str
    """Its type."""
    trace: str
    """What set it off."""
    reason: str
    """Code of the error."""
    id: str = ""
    """The message's own."""
    replayable: bool = False
    """Whether it can be sent again: it has somebody to go to, and there was room to keep it whole."""


class SocietyReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a society is."""

    engine: str
    """Where its actors run."""
    actors: list[ActorHealth]
    """How each of them is, in the order in which they were started."""
    dead_letters: int
    """Messages that could not be delivered since the process started; one that comes back counts again."""
    last_dead_letters: list[DeadLetter]
    """The last of those that still are, oldest first."""
    night: NightReport | None
    """What the last night did, or does so far."""
    idle_s: float
    """For how long nobody has wanted anything."""
    requests: int
    """How many times somebody did, since the process started."""


class Observer(Protocol):
    """Who counts what happens. It is told in the threads where it happens, and raises nothing."""

    def handled(self, actor: str, message: str, outcome: str, took_s: float) -> None:
        """An actor is done with a message: ``ok``, the code of the error it answered with, or ``failure``."""
        ...

    def restarted(self, actor: str) -> None:
        """An actor failed and is to be made anew."""
        ...

    def buried(self, actor: str, message: str, reason: str) -> None:
        """A message could not be delivered."""
        ...


class Unobserved:
    """Counts nothing."""

    def handled(self, actor: str, message: str, outcome: str, took_s: float) -> None:
        """See `Observer.handled`."""

    def restarted(self, actor: str) -> None:
        """See `Observer.restarted`."""

    def buried(self, actor: str, message: str, reason: str) -> None:
        """See `Observer.buried`."""
