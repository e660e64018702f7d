"""Actor mailboxes: a bounded queue, a thread and the current actor instance, shared by all engines.

A mailbox refuses more than its capacity; an actor's messages to itself always pass. Restart, quarantine and stop are
no messages and wait behind none. What has expired, or what nobody waits for any more, is taken out and not handled.
Restarts are the supervisor's: a mailbox only makes a new instance when it is told to. A message whose instance died
with its process is given once more, before all others, to the next one: writes carry keys, so that twice is once. Who
still waits when the mailbox is stopped is answered.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, Protocol

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
    """What a mailbox makes and hands its messages: an actor, or a proxy of one; it may have a ``close``."""

    def handle(self, message: Any, context: Context) -> Any:
        """See `mnemic.actors.protocol.contract.Actor.handle`; raises `InstanceDied` where its process is gone."""
        ...


class MailboxEngine:
    """All mailboxes of one engine, by the names of their actors."""

    def __init__(self, clock: Clock, stop_timeout_s: float) -> None:
        self._clock = clock
        self._stop_timeout_s = stop_timeout_s
        self._mailboxes: dict[str, _Mailbox] = {}

    def _add_mailbox(self, name: str, factory: Callable[[], Instance], capacity: int, overseer: SupervisorPort) -> None:
        self._mailboxes[name] = _Mailbox(name, factory, capacity, overseer, self._clock)

    def send(self, name: str, envelope: Envelope, *, timeout_s: float, own: bool = False) -> PendingReply:
        """See `mnemic.runtime.engine.engine.Engine.send`."""
        mailbox = self._mailboxes.get(name)
        if mailbox is None:
            raise ActorStopped(actor=name, message=type(envelope.message).__name__)
        return mailbox.enqueue(envelope, timeout_s, own)

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
        self._changed = threading.Condition()  # over the queue, the current message and whether more are taken
        self._queue: deque[_QueuedMessage] = deque()
        self._current: _QueuedMessage | None = None
        self._stopping = threading.Event()
        # A process that is told to end does not wait for a thread that hangs.
        self._thread = threading.Thread(target=self._run, name=f"mnemic-{name}", daemon=True)
        self._thread.start()

    @property
    def size(self) -> int:
        return len(self._queue)

    def enqueue(self, envelope: Envelope, timeout_s: float, own: bool) -> PendingReply:
        letter = _QueuedMessage(envelope)
        message = type(envelope.message).__name__
        with self._changed:
            if self._stopping.is_set():
                raise ActorStopped(actor=self._name, message=message)
            if len(self._queue) >= self._capacity and not own:
                raise InboxFull(actor=self._name, capacity=self._capacity)
            self._queue.append(letter)
            self._changed.notify()
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
        with self._changed:
            self._stopping.set()
            self._changed.notify()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _log.error("%s did not stop within %g s", self._name, timeout_s)
            self._reject_all()

    # --- in the actor's thread ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Handle and answer one message after the other until the mailbox is stopped and empty."""
        while (letter := self._take()) is not None:
            self._process(letter)
            del letter  # what was answered is held no longer
            self._current = None
        self._close_actor()

    def _take(self) -> _QueuedMessage | None:
        with self._changed:
            while not self._queue and not self._stopping.is_set():
                self._changed.wait()
            self._current = self._queue.popleft() if self._queue else None
            return self._current

    def _process(self, letter: _QueuedMessage) -> None:
        if not letter.answer.set_running_or_notify_cancel():
            return  # nobody waits for it any more
        try:
            answer = self._handle(letter.envelope)
        except MnemicError as error:
            self._reject(letter, error)
        else:
            _resolve(letter, lambda: letter.answer.set_result(answer))

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
        with self._changed:
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
