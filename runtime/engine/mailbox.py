"""Actor mailboxes: a bounded queue, a thread and the current actor instance, shared by all engines.

pykka's mailboxes are unbounded, and it drops what it holds when it stops; so the letters lie in a place of their own,
which refuses more than its capacity and answers everyone, and pykka's mailbox only says that there is one more. An
actor's messages to itself always pass. What has expired, or what nobody waits for any more, is not handled. Restarts
are the supervisor's: a place only makes a new instance when it is told to. A message whose instance died with its
process is given once more, before all others, to the next one: writes carry keys, so that twice is once.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, Protocol

import pykka

from mnemic.actors.protocol.contract import Clock, Context
from mnemic.actors.protocol.errors import (
    ActorFailed,
    ActorStopped,
    DeadlineExceeded,
    InboxFull,
    MnemicError,
    Quarantined,
)
from mnemic.actors.protocol.messages import Envelope
from mnemic.runtime.engine.engine import InstanceDied, PendingReply, SupervisorPort, error_kind

__all__ = ["Instance", "MailboxEngine"]

_MAX_DELIVERIES = 2  # of one message, where instances die of it

_log = logging.getLogger("mnemic.engine")


class Instance(Protocol):
    """What a place makes and hands its messages: an actor, or a proxy of one; it may have a ``close``."""

    def handle(self, message: Any, context: Context) -> Any:
        """See `mnemic.actors.protocol.contract.Actor.handle`; raises `InstanceDied` where its process is gone."""
        ...


class MailboxEngine:
    """All places of one engine, by the names of their actors."""

    def __init__(self, clock: Clock, stop_timeout_s: float) -> None:
        self._clock = clock
        self._stop_timeout_s = stop_timeout_s
        self._mailboxes: dict[str, _Mailbox] = {}

    def _add_mailbox(self, name: str, factory: Callable[[], Instance], capacity: int, overseer: SupervisorPort) -> None:
        self._mailboxes[name] = _Mailbox(name, factory, capacity, overseer, self._clock)

    def send(self, name: str, envelope: Envelope, *, timeout_s: float, own: bool = False) -> PendingReply:
        """See `mnemic.runtime.engine.engine.Engine.send`."""
        place = self._mailboxes.get(name)
        if place is None:
            raise ActorStopped(actor=name, message=type(envelope.message).__name__)
        return place.enqueue(envelope, timeout_s, own)

    def restart(self, name: str, delay_s: float) -> None:
        """See `mnemic.runtime.engine.engine.Engine.restart`."""
        self._mailboxes[name].restart(delay_s)

    def quarantine(self, name: str, error: Quarantined) -> None:
        """See `mnemic.runtime.engine.engine.Engine.quarantine`."""
        self._mailboxes[name].quarantine(error)

    def end_quarantine(self, name: str) -> None:
        """See `mnemic.runtime.engine.engine.Engine.end_quarantine`."""
        self._mailboxes[name].end_quarantine()

    def mailbox_size(self, name: str) -> int:
        """See `mnemic.runtime.engine.engine.Engine.mailbox_size`."""
        return self._mailboxes[name].size

    def stop(self, name: str) -> None:
        """See `mnemic.runtime.engine.engine.Engine.stop`."""
        self._mailboxes[name].stop(self._stop_timeout_s)


class _QueuedMessage:
    """A message and the place for its answer."""

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.answer: Future[Any] = Future()


class _Mailbox:
    """One actor's thread, mailbox and current instance."""

    def __init__(
        self, name: str, factory: Callable[[], Instance], capacity: int, overseer: SupervisorPort, clock: Clock
    ) -> None:
        self._name = name
        self._factory = factory
        self._capacity = capacity
        self._overseer = overseer
        self._clock = clock
        self._actor: Instance | None = factory()
        self._stale = False  # whether the instance is to go
        self._restart_delay_s = 0.0
        self._quarantine_error: Quarantined | None = None
        self._gate = threading.Lock()  # over the letters and whether more are taken
        self._queue: deque[_QueuedMessage] = deque()
        self._current: _QueuedMessage | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._thread = _MailboxThread.start(self)

    @property
    def size(self) -> int:
        return len(self._queue)

    def enqueue(self, envelope: Envelope, timeout_s: float, own: bool) -> PendingReply:
        letter = _QueuedMessage(envelope)
        message = type(envelope.message).__name__
        with self._gate:
            if self._stopping.is_set():
                raise ActorStopped(actor=self._name, message=message)
            if len(self._queue) >= self._capacity and not own:
                raise InboxFull(actor=self._name, capacity=self._capacity)
            self._queue.append(letter)
            try:
                self._thread.tell(None)
            except pykka.ActorDeadError:  # somebody else has just stopped all of pykka's actors
                self._queue.pop()
                raise ActorStopped(actor=self._name, message=message) from None
        return PendingReply(letter.answer, self._name, message, timeout_s)

    def restart(self, delay_s: float) -> None:
        self._restart_delay_s = delay_s
        self._stale = True

    def quarantine(self, error: Quarantined) -> None:
        self._quarantine_error = error
        self._stale = True

    def end_quarantine(self) -> None:
        self._quarantine_error = None
        self._restart_delay_s = 0.0
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
            self._reject_all()

    # --- in the actor's thread ---------------------------------------------------------------------------------------

    def on_thread_start(self) -> None:
        self._worker = threading.current_thread()

    def process_next(self) -> None:
        """Handle one message and answer it; raises nothing."""
        with self._gate:
            if not self._queue:
                return  # `stop` did not wait for it, and has answered it
            letter = self._current = self._queue.popleft()
        if letter.answer.set_running_or_notify_cancel():  # else nobody waits for it any more
            try:
                answer = self._handle(letter.envelope)
            except MnemicError as error:
                self._reject(letter, error)
            else:
                _resolve(letter, lambda: letter.answer.set_result(answer))
        self._current = None

    def on_thread_stop(self) -> None:
        with self._gate:
            self._stopping.set()  # also where somebody else stopped all of pykka's actors
        self._reject_all()
        self._close_actor()
        self._ended.set()

    def _handle(self, envelope: Envelope) -> Any:
        died, deliveries = True, 0
        while died and deliveries < _MAX_DELIVERIES:
            failure, died, answer = self._deliver(envelope)
            deliveries += 1
        if failure is None:
            return answer
        # Raised out here, so that the failure's own text and its frames do not travel with the answer.
        raise ActorFailed(actor=self._name, message=type(envelope.message).__name__, cause=failure)

    def _deliver(self, envelope: Envelope) -> tuple[str | None, bool, Any]:
        """Have the actor handle a message: how it failed, if it did, whether its process died, and its answer."""
        begun = self._clock.monotonic_s()
        answered: MnemicError | None = None
        try:
            answer = self._current_instance(envelope).handle(
                envelope.message, self._overseer.make_context(self._name, envelope)
            )
            return None, False, answer
        except MnemicError as error:
            answered = error
            raise
        except BaseException as error:  # whatever an actor raises is the supervisor's to judge: logged, counted there
            self._overseer.failed(self._name, envelope, error)
            failure, died = error_kind(error), isinstance(error, InstanceDied)
        finally:
            self._overseer.handled(self._name, envelope, self._clock.monotonic_s() - begun, answered)
        if self._stale:
            self._close_actor()
        return failure, died, None

    def _current_instance(self, envelope: Envelope) -> Instance:
        if self._stale:
            self._close_actor()
        if self._actor is None and self._quarantine_error is None:
            self._stopping.wait(self._restart_delay_s)
        set_aside = self._quarantine_error  # read once: `end_quarantine` may come at any moment
        if set_aside is not None:
            raise Quarantined(**set_aside.operands)
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
                self._overseer.close_failed(self._name, error)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _reject_all(self) -> None:
        """Answer all that is not answered yet."""
        with self._gate:
            left = [letter for letter in (self._current, *self._queue) if letter is not None]
            self._queue.clear()
        for letter in left:
            self._reject(letter, ActorStopped(actor=self._name, message=type(letter.envelope.message).__name__))

    def _reject(self, letter: _QueuedMessage, error: MnemicError) -> None:
        if _resolve(letter, lambda: letter.answer.set_exception(error)) and letter.envelope.deadline is None:
            self._overseer.undelivered(self._name, letter.envelope, error)


def _resolve(letter: _QueuedMessage, settle: Callable[[], None]) -> bool:
    """Answer a letter, unless it was answered before; returns whether this was the answer."""
    try:
        settle()
    except InvalidStateError:  # the actor and `stop` both came to it, or whoever waited went
        return False
    return True


class _MailboxThread(pykka.ThreadingActor):
    use_daemon_thread = True  # a process that is told to end does not wait for a thread that hangs

    def __init__(self, place: _Mailbox) -> None:
        super().__init__()
        self._place = place

    def on_start(self) -> None:
        self._place.on_thread_start()

    def on_receive(self, message: Any) -> None:
        self._place.process_next()

    def on_stop(self) -> None:
        self._place.on_thread_stop()
