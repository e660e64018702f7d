"""The interface of an actor engine: start actors, deliver messages, restart and quarantine them.

Above it stands the supervisor, which decides; below it are `mnemic.runtime.engine.embedded` (threads of this process)
and `mnemic.runtime.engine.ray.engine` (processes, here or on other machines). One contract suite runs against both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder

if TYPE_CHECKING:
    pass

import logging
from concurrent.futures import Future
from typing import Any, Protocol

import msgspec

from mnemic.actors.protocol.contract import Actor, Context, raise_location
from mnemic.actors.protocol.errors import DeadlineExceeded, MnemicError, Quarantined
from mnemic.actors.protocol.messages import Envelope

__all__ = [
    "ANYWHERE",
    "Engine",
    "EngineFactory",
    "InstanceDied",
    "PendingReply",
    "Placement",
    "RemoteFailure",
    "SupervisorPort",
    "error_kind",
    "error_location",
    "redacted_line",
    "safe_cause",
]


class Placement(msgspec.Struct, frozen=True):
    """What an actor wants of the machine it runs on; an engine without a choice takes no notice."""

    gpus: float = 0.0
    """So much of a GPU, where the machine has one."""
    pinned: bool = False
    """Whether it must run where the home's files are."""
    background: bool = False
    """Whether nobody waits for it: a process of its own then yields the cores to whoever is asked."""


ANYWHERE = Placement()
"""No wishes."""


class InstanceDied(Exception):
    """An instance went, with its process, while it handled a message: whether it did so nobody knows."""


class RemoteFailure(Exception):
    """What an actor raised in another process, without its text, which may quote a memory and stays there."""

    def __init__(self, kind: str, place: str, error: BaseException | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        """Name of its class."""
        self.location = place
        """Where in the code, such as ``handle (embedder.py:12)``."""
        self.error = error
        """The thing itself, where it was raised in making the actor and could cross."""


def error_kind(error: BaseException) -> str:
    """Name of a failure's class, in whatever process it was raised."""
    return error.kind if isinstance(error, RemoteFailure) else type(error).__name__


def error_location(error: BaseException) -> str:
    """Where in the code a failure was raised, such as ``handle (embedder.py:12)``; empty where it never was."""
    return error.location if isinstance(error, RemoteFailure) else raise_location(error)


def safe_cause(error: BaseException) -> str:
    """A failure as a kind of error and a place in the code: its own text may quote a memory."""
    kind, place = error_kind(error), error_location(error)
    return f"{kind} at {place}" if place else kind


def redacted_line(record: logging.LogRecord) -> str:
    """What a library logged, as a place in its code and a kind of error: its own words may quote a memory."""
    error = record.exc_info[1] if record.exc_info else None
    cause = "it says no more here" if error is None else safe_cause(error)
    return f"{record.name} at {record.funcName} ({record.filename}:{record.lineno}): {cause}"


class SupervisorPort(Protocol):
    """What an engine tells the supervisor, and what it asks of it, in the actor's thread. Only `context` may raise."""

    def make_context(self, actor: str, envelope: Envelope) -> Context:
        """What the actor is given with this message."""
        ...

    def handled(self, actor: str, envelope: Envelope, took_s: float, error: MnemicError | None) -> None:
        """The actor is done with a message, which took so long; `error` is what it answered with, if it did."""
        ...

    def failed(self, actor: str, envelope: Envelope, error: BaseException) -> None:
        """The actor raised what is no answer, or its process died (`InstanceDied`)."""
        ...

    def close_failed(self, actor: str, error: Exception) -> None:
        """An instance that was to go raised when it was closed; it is gone all the same."""
        ...

    def undelivered(self, actor: str, envelope: Envelope, error: MnemicError) -> None:
        """A message that nobody waits for was not handled."""
        ...


class PendingReply:
    """An answer that is on its way."""

    def __init__(self, answer: Future[Any], actor: str, message: str, timeout_s: float) -> None:
        self._answer = answer
        self._actor = actor
        self._message = message
        self._timeout_s = max(0.0, timeout_s)

    def get(self) -> Any:
        """Wait for it. Whoever stops waiting, for whatever reason, takes back a message that was not begun.

        Raises: what the actor answered with; `DeadlineExceeded`; `ActorStopped`.
        """
        try:
            return self._answer.result(self._timeout_s)
        except TimeoutError:  # no actor's own: that would have come as `ActorFailed`
            raise DeadlineExceeded(actor=self._actor, message=self._message, timeout_s=self._timeout_s) from None
        finally:
            self._answer.cancel()


class Engine(Protocol):
    """Places actors. Messages of one sender to one actor are handled in the order they were sent, one at a time."""

    name: str
    """``embedded`` or ``ray``."""

    def start(
        self,
        name: str,
        factory: Callable[[], Actor],
        capacity: int,
        overseer: SupervisorPort,
        placement: Placement = ANYWHERE,
    ) -> None:
        """Make the actor. What the factory raises is raised here, and nothing is started."""
        ...

    def send(self, name: str, envelope: Envelope, *, timeout_s: float, own: bool = False) -> PendingReply:
        """Put a message into an actor's mailbox; `own` messages, of an actor to itself, pass a full one.

        Raises:
            InboxFull, ActorStopped: it was not put there.
        """
        ...

    def restart(self, name: str, delay_s: float) -> None:
        """Make the actor anew before its next message, after a rest."""
        ...

    def quarantine(self, name: str, error: Quarantined) -> None:
        """Answer all its messages with this error."""
        ...

    def end_quarantine(self, name: str) -> None:
        """End a quarantine: the actor is made anew before its next message."""
        ...

    def mailbox_size(self, name: str) -> int:
        """How many messages wait in its mailbox."""
        ...

    def stop(self, name: str) -> None:
        """Let the actor finish what is in its mailbox, answer what comes later with `ActorStopped`, and end it.

        One that does not finish in time is left behind, and all who wait for it get `ActorStopped` too.
        """
        ...

    def close(self) -> None:
        """Let go of what the engine itself holds, once its actors are stopped."""
        ...


EngineFactory = Callable[[MindFolder, Keys], Engine]
"""Makes the engine on which one mind's actors run."""
