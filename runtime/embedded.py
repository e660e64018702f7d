"""The embedded engine: every actor in this process, a thread and a mailbox each, by pykka.

pykka's mailboxes are unbounded, so a place counts what waits and refuses more than its capacity; an actor's messages to
itself always pass. What has expired is answered without being handled. Restarts are the supervisor's: the engine only
makes a new instance when it is told to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import pykka

from mnemic.actors.contract import Actor, Clock, Context
from mnemic.actors.errors import ActorFailed, ActorStopped, DeadlineExceeded, InboxFull, MnemicError, Quarantined
from mnemic.actors.messages import Envelope

__all__ = ["EmbeddedEngine", "Overseer", "Reply"]

_STOP_TIMEOUT_S = 30.0


class Overseer(Protocol):
    """What an engine tells the supervisor, and what it asks of it."""

    def context(self, actor: str, envelope: Envelope) -> Context:
        """What the actor is given with this message."""
        ...

    def failed(self, actor: str, envelope: Envelope, error: Exception) -> None:
        """The actor raised what is no answer."""
        ...

    def undelivered(self, actor: str, envelope: Envelope, error: MnemicError) -> None:
        """A message that nobody waits for was not handled."""
        ...


class Reply:
    """An answer that is on its way."""

    def __init__(self, future: pykka.Future[Any], actor: str, message: str, timeout_s: float) -> None:
        self._future = future
        self._actor = actor
        self._message = message
        self._timeout_s = timeout_s

    def get(self) -> Any:
        """Wait for it.

        Raises: what the actor answered with; `DeadlineExceeded`; `ActorStopped`.
        """
        try:
            return self._future.get(timeout=self._timeout_s)
        except pykka.Timeout:
            raise DeadlineExceeded(actor=self._actor, message=self._message, timeout_s=self._timeout_s) from None
        except pykka.ActorDeadError:
            raise ActorStopped(actor=self._actor, message=self._message) from None


class EmbeddedEngine:
    """Places actors in threads of this process."""

    name = "embedded"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: dict[str, _Place] = {}

    def start(self, name: str, factory: Callable[[], Actor], capacity: int, overseer: Overseer) -> None:
        """Make the actor and its thread. What the factory raises is raised here, and nothing is started."""
        self._places[name] = _Place(name, factory, capacity, overseer, self._clock)

    def send(self, name: str, envelope: Envelope, *, timeout_s: float, own: bool = False) -> Reply:
        """Put a message into an actor's mailbox; `own` messages, of an actor to itself, pass a full one.

        Raises:
            InboxFull, ActorStopped: it was not put there.
        """
        return self._places[name].send(envelope, timeout_s, own)

    def restart(self, name: str, delay_s: float) -> None:
        """Make the actor anew before its next message, after a rest."""
        self._places[name].restart(delay_s)

    def quarantine(self, name: str, error: Quarantined) -> None:
        """Answer all its messages with this error."""
        self._places[name].quarantine(error)

    def waiting(self, name: str) -> int:
        """How many messages wait in its mailbox."""
        return self._places[name].waiting

    def stop(self, name: str) -> None:
        """Let the actor finish what is in its mailbox, answer what comes later with `ActorStopped`, end its thread."""
        self._places[name].stop()


class _Place:
    """One actor's thread, gate and current instance."""

    def __init__(
        self, name: str, factory: Callable[[], Actor], capacity: int, overseer: Overseer, clock: Clock
    ) -> None:
        self._name = name
        self._factory = factory
        self._capacity = capacity
        self._overseer = overseer
        self._clock = clock
        self._actor: Actor | None = factory()
        self._rest_s = 0.0
        self._set_aside: Quarantined | None = None
        self._gate = threading.Lock()
        self.waiting = 0
        self._stopping = threading.Event()
        self._thread = _Thread.start(self)

    def send(self, envelope: Envelope, timeout_s: float, own: bool) -> Reply:
        message = type(envelope.message).__name__
        with self._gate:
            if self._stopping.is_set():
                raise ActorStopped(actor=self._name, message=message)
            if self.waiting >= self._capacity and not own:
                raise InboxFull(actor=self._name, capacity=self._capacity)
            try:
                future = self._thread.ask(envelope, block=False)
            except pykka.ActorDeadError:
                raise ActorStopped(actor=self._name, message=message) from None
            self.waiting += 1
        return Reply(future, self._name, message, timeout_s)

    def receive(self, envelope: Envelope) -> Any:
        """Handle one message, in the actor's thread."""
        with self._gate:
            self.waiting -= 1
        try:
            return self._handle(envelope)
        except MnemicError as error:
            if envelope.deadline is None:
                self._overseer.undelivered(self._name, envelope, error)
            raise

    def _handle(self, envelope: Envelope) -> Any:
        message = type(envelope.message).__name__
        if self._set_aside is not None:
            raise self._set_aside
        if envelope.deadline is not None and self._clock.monotonic_s() > envelope.deadline:
            raise DeadlineExceeded(actor=self._name, message=message, timeout_s=0.0)
        try:
            if self._actor is None:
                self._stopping.wait(self._rest_s)
                self._actor = self._factory()
            return self._actor.handle(envelope.message, self._overseer.context(self._name, envelope))
        except MnemicError:
            raise
        except Exception as error:  # whatever an actor raises is the supervisor's to judge: logged and counted there
            self._overseer.failed(self._name, envelope, error)
            raise ActorFailed(actor=self._name, message=message, cause=type(error).__name__) from error

    def restart(self, delay_s: float) -> None:
        self._close_actor()
        self._rest_s = delay_s

    def quarantine(self, error: Quarantined) -> None:
        self._close_actor()
        self._set_aside = error

    def stop(self) -> None:
        with self._gate:
            self._stopping.set()
        self._thread.stop(block=True, timeout=_STOP_TIMEOUT_S)
        self._close_actor()

    def _close_actor(self) -> None:
        actor, self._actor = self._actor, None
        close = getattr(actor, "close", None)
        if close is not None:
            close()


class _Thread(pykka.ThreadingActor):
    use_daemon_thread = True  # a process that is told to end does not wait for a thread that hangs

    def __init__(self, place: _Place) -> None:
        super().__init__()
        self._place = place

    def on_receive(self, message: Any) -> Any:
        return self._place.receive(message)
