"""Health reports of actors, the observer interface for metrics, and the port to a mind's actors.

Above stand the supervisor, which fills them in, its client in another process, and `mnemic.runtime.serve.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from mnemic.actors.kernel.message import AnswerT, Request
from mnemic.actors.sleep.messages import NightReport

Progress = Callable[[int, int | None], None]
"""Told, in any thread, how much is done and how much there is."""

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
    """Whether it is quarantined."""
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


class ActorSystemReport(msgspec.Struct, frozen=True, kw_only=True):
    """How an actor system is."""

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
    log_damage: str = ""
    """Why the store keeps nothing new, and what to do; empty where its write-ahead log can be taken over."""


class ActorSystemPort(Protocol):
    """The actors of one mind, wherever they run: `mnemic.runtime.engine.supervisor.Supervisor`, or its client."""

    def ask(
        self,
        message: Request[AnswerT],
        timeout_s: float | None = None,
        progress: Progress | None = None,
        trace: str | None = None,
        *,
        idle: bool = False,
    ) -> AnswerT:
        """Send a message and wait for its answer; an idle one is nobody's wish, and keeps nobody awake."""

    def tell(self, message: Any, trace: str | None = None) -> None:
        """Send a message to all who take it."""

    def report(self) -> ActorSystemReport:
        """How the actors are."""

    def replay_dead_letters(self) -> int:
        """Send dead letters again; returns how many."""

    def release_quarantined(self) -> list[str]:
        """Make quarantined actors anew; returns which."""

    def stop(self) -> None:
        """Let go of them; those of this process end."""


class Observer:
    """Who counts what happens: here, nobody. It is told in the threads where it happens, and raises nothing."""

    def handled(self, actor: str, message: str, outcome: str, took_s: float) -> None:
        """An actor is done with a message: ``ok``, the code of the error it answered with, or ``failure``."""

    def restarted(self, actor: str) -> None:
        """An actor failed and is to be made anew."""

    def dead_lettered(self, actor: str, message: str, reason: str) -> None:
        """A message could not be delivered."""
