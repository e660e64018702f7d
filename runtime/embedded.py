"""The embedded engine: every actor in this process, a thread and a mailbox each, by pykka.

pykka's mailboxes are unbounded, and it drops what it holds when it stops; so the letters lie in a place of their own,
which refuses more than its capacity and answers everyone, and pykka's mailbox only says that there is one more. An
actor's messages to itself always pass. What has expired, or what nobody waits for any more, is not handled. Restarts
are the supervisor's: the engine only makes a new instance when it is told to.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, Protocol

import pykka

from mnemic.actors.contract import Actor, Clock, Context
from mnemic.actors.errors import ActorFailed, ActorStopped, DeadlineExceeded, InboxFull, MnemicError, Quarantined
from mnemic.actors.messages import Envelope

__all__ = ["EmbeddedEngine", "Overseer", "Reply"]

_log = logging.getLogger("mnemic.engine")


class Overseer(Protocol):
    """What an engine tells the supervisor, and what it asks of it, in the actor's thread. Only `context` may raise."""

    def context(self, actor: str, envelope: Envelope) -> Context:
        """What the actor is given with this message."""
        ...

    def failed(self, actor: str, envelope: Envelope, error: BaseException) -> None:
        """The actor raised what is no answer."""
        ...

    def unclosed(self, actor: str, error: Exception) -> None:
        """An instance that was to go raised when it was closed; it is gone all the same."""
        ...

    def undelivered(self, actor: str, envelope: Envelope, error: MnemicError) -> None:
        """A message that nobody waits for was not handled."""
        ...


class Reply:
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


class EmbeddedEngine:
    """Places actors in threads of this process."""

    name = "embedded"

    def __init__(self, clock: Clock, *, stop_timeout_s: float = 30.0) -> None:
        """Make an engine.

        Args:
            stop_timeout_s: how long an actor may take to finish its mailbox when it is stopped.
        """
        self._clock = clock
        self._stop_timeout_s = stop_timeout_s
        self._places: dict[str, _Place] = {}

    def start(self, name: str, factory: Callable[[], Actor], capacity: int, overseer: Overseer) -> None:
        """Make the actor and its thread. What the factory raises is raised here, and nothing is started."""
        self._places[name] = _Place(name, factory, capacity, overseer, self._clock)

    def send(self, name: str, envelope: Envelope, *, timeout_s: float, own: bool = False) -> Reply:
        """Put a message into an actor's mailbox; `own` messages, of an actor to itself, pass a full one.

        Raises:
            InboxFull, ActorStopped: it was not put there.
        """
        place = self._places.get(name)
        if place is None:
            raise ActorStopped(actor=name, message=type(envelope.message).__name__)
        return place.send(envelope, timeout_s, own)

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
        """Let the actor finish what is in its mailbox, answer what comes later with `ActorStopped`, end its thread.

        One that does not finish in time is left to its thread, and all who wait for it get `ActorStopped` too.
        """
        self._places[name].stop(self._stop_timeout_s)


class _Letter:
    """A message and the place for its answer."""

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.answer: Future[Any] = Future()


class _Place:
    """One actor's thread, mailbox and current instance."""

    def __init__(
        self, name: str, factory: Callable[[], Actor], capacity: int, overseer: Overseer, clock: Clock
    ) -> None:
        self._name = name
        self._factory = factory
        self._capacity = capacity
        self._overseer = overseer
        self._clock = clock
        self._actor: Actor | None = factory()
        self._stale = False  # whether the instance is to go
        self._rest_s = 0.0
        self._set_aside: Quarantined | None = None
        self._gate = threading.Lock()  # over the letters and whether more are taken
        self._letters: deque[_Letter] = deque()
        self._current: _Letter | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._thread = _Thread.start(self)

    @property
    def waiting(self) -> int:
        return len(self._letters)

    def send(self, envelope: Envelope, timeout_s: float, own: bool) -> Reply:
        letter = _Letter(envelope)
        message = type(envelope.message).__name__
        with self._gate:
            if self._stopping.is_set():
                raise ActorStopped(actor=self._name, message=message)
            if len(self._letters) >= self._capacity and not own:
                raise InboxFull(actor=self._name, capacity=self._capacity)
            self._letters.append(letter)
            try:
                self._thread.tell(None)
            except pykka.ActorDeadError:  # somebody else has just stopped all of pykka's actors
                self._letters.pop()
                raise ActorStopped(actor=self._name, message=message) from None
        return Reply(letter.answer, self._name, message, timeout_s)

    def restart(self, delay_s: float) -> None:
        self._rest_s = delay_s
        self._stale = True

    def quarantine(self, error: Quarantined) -> None:
        self._set_aside = error
        self._stale = True

    def stop(self, timeout_s: float) -> None:
        with self._gate:
            if not self._stopping.is_set():
                self._stopping.set()
                self._thread.stop(block=False)
        if self._ended.wait(timeout_s):
            self._worker.join()
        else:
            _log.error("%s did not stop within %g s", self._name, timeout_s)
            self._dismiss()

    # --- in the actor's thread ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._worker = threading.current_thread()

    def receive(self) -> None:
        """Handle one message and answer it; raises nothing."""
        with self._gate:
            if not self._letters:
                return  # `stop` did not wait for it, and has answered it
            letter = self._current = self._letters.popleft()
        if letter.answer.set_running_or_notify_cancel():  # else nobody waits for it any more
            try:
                answer = self._handle(letter.envelope)
            except MnemicError as error:
                self._refuse(letter, error)
            else:
                _settle(letter, lambda: letter.answer.set_result(answer))
        self._current = None

    def end(self) -> None:
        with self._gate:
            self._stopping.set()  # also where somebody else stopped all of pykka's actors
        self._dismiss()
        self._close_actor()
        self._ended.set()

    def _handle(self, envelope: Envelope) -> Any:
        message = type(envelope.message).__name__
        try:
            return self._instance(envelope).handle(envelope.message, self._overseer.context(self._name, envelope))
        except MnemicError:
            raise
        except BaseException as error:  # whatever an actor raises is the supervisor's to judge: logged, counted there
            self._overseer.failed(self._name, envelope, error)
            cause = type(error).__name__
        if self._stale:
            self._close_actor()
        # Raised out here, so that the failure's own text and its frames do not travel with the answer.
        raise ActorFailed(actor=self._name, message=message, cause=cause)

    def _instance(self, envelope: Envelope) -> Actor:
        if self._stale:
            self._close_actor()
        if self._actor is None and self._set_aside is None:
            self._stopping.wait(self._rest_s)
        if self._set_aside is not None:
            raise Quarantined(**self._set_aside.operands)
        if envelope.deadline is not None and self._clock.monotonic_s() > envelope.deadline:
            raise DeadlineExceeded(actor=self._name, message=type(envelope.message).__name__, timeout_s=0.0)
        if self._actor is None:
            self._actor = self._factory()
        return self._actor

    def _close_actor(self) -> None:
        actor, self._actor, self._stale = self._actor, None, False
        close = getattr(actor, "close", None)
        if close is not None:
            try:
                close()
            except Exception as error:  # the new instance must not go without its turn: logged and counted there
                self._overseer.unclosed(self._name, error)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _dismiss(self) -> None:
        """Answer all that is not answered yet."""
        with self._gate:
            left = [letter for letter in (self._current, *self._letters) if letter is not None]
            self._letters.clear()
        for letter in left:
            self._refuse(letter, ActorStopped(actor=self._name, message=type(letter.envelope.message).__name__))

    def _refuse(self, letter: _Letter, error: MnemicError) -> None:
        if _settle(letter, lambda: letter.answer.set_exception(error)) and letter.envelope.deadline is None:
            self._overseer.undelivered(self._name, letter.envelope, error)


def _settle(letter: _Letter, settle: Callable[[], None]) -> bool:
    """Answer a letter, unless it was answered before; returns whether this was the answer."""
    try:
        settle()
    except InvalidStateError:  # the actor and `stop` both came to it, or whoever waited went
        return False
    return True


class _Thread(pykka.ThreadingActor):
    use_daemon_thread = True  # a process that is told to end does not wait for a thread that hangs

    def __init__(self, place: _Place) -> None:
        super().__init__()
        self._place = place

    def on_start(self) -> None:
        self._place.begin()

    def on_receive(self, message: Any) -> None:
        self._place.receive()

    def on_stop(self) -> None:
        self._place.end()
