"""Actor engines: what starts actors, delivers messages to them, makes them anew and quarantines them.

Above them stands the supervisor, which decides. `EmbeddedEngine` runs actors in threads of this process,
`mnemic.runtime.engine.ray.engine` in processes of their own, here or on other machines; one contract suite runs against
both. Each actor has a mailbox in this process: a bounded queue, a thread and the actor's current instance.

A mailbox refuses more than its capacity; an actor's messages to itself always pass. Restart, quarantine and stop are
no messages and wait behind none. What has expired, or what nobody waits for any more, is taken out and not handled.
Restarts are the supervisor's: a mailbox only makes a new instance when it is told to. A message whose instance died
with its process is given once more, before all others, to the next one: writes carry keys, so that twice is once. Who
still waits when the mailbox is stopped is answered.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import ExitStack
from typing import Any, ClassVar, Protocol

import msgspec
import numpy.ma  # noqa: F401 -- `numpy.unique` loads it on first use, and where two threads do at once, one recurses

from mnemic.actors.kernel.contract import Actor, Clock, Context, raise_location
from mnemic.actors.kernel.errors import ActorFailed, ActorStopped, DeadlineExceeded, InboxFull, MnemicError, Quarantined
from mnemic.actors.kernel.message import Envelope
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder

_MAX_DELIVERIES = 2  # of one message, where instances die of it

_log = logging.getLogger("mnemic.engine")

SWITCH_S = 0.0005
"""So often threads hand over in a process that serves a home: at Python's own 5 ms a recall that finds a night on waits
that long each time that it wants the interpreter."""


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
        """The thing itself, where it is one of Python's own, was raised in making the actor and could cross."""

    def __reduce__(self) -> Any:
        return type(self), (self.kind, self.location, self.error)


def error_kind(error: BaseException) -> str:
    """Name of a failure's class, in whatever process it was raised; of a process that died, also what it died of."""
    if isinstance(error, InstanceDied) and error.args:
        return f"{type(error).__name__}: {error}"  # the engine's own words, which quote nothing
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

    def handled(self, actor: str, envelope: Envelope, took_s: float, error: MnemicError | None) -> None:
        """The actor is done with a message, which took so long; `error` is what it answered with, if it did."""

    def failed(self, actor: str, envelope: Envelope, error: BaseException) -> None:
        """The actor raised what is no answer, or its process died (`InstanceDied`)."""

    def close_failed(self, actor: str, error: Exception) -> None:
        """An instance that was to go raised when it was closed; it is gone all the same."""

    def undelivered(self, actor: str, envelope: Envelope, error: MnemicError) -> None:
        """A message that nobody waits for was not handled."""


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


class Instance(Protocol):
    """What a mailbox makes and hands its messages: an actor, or a proxy of one; it may have a ``close``."""

    def handle(self, message: Any, context: Context) -> Any:
        """See `mnemic.actors.kernel.contract.Actor.handle`; raises `InstanceDied` where its process is gone."""


class Engine(ABC):
    """Places actors. Messages of one sender to one actor are handled in the order they were sent, one at a time."""

    name: ClassVar[str]
    """``embedded`` or ``ray``."""

    def __init__(
        self, clock: Clock, *, stop_timeout_s: float = 30.0, on_close: Callable[[], None] = lambda: None
    ) -> None:
        """Make an engine.

        Args:
            stop_timeout_s: how long an actor may take to finish its mailbox when it is stopped.
            on_close: called when the engine is closed.
        """
        self._clock = clock
        self._stop_timeout_s = stop_timeout_s
        self._on_close = on_close
        self._mailboxes: dict[str, _Mailbox] = {}

    @abstractmethod
    def start(
        self,
        name: str,
        factory: Callable[[], Actor],
        capacity: int,
        overseer: SupervisorPort,
        placement: Placement = ANYWHERE,
    ) -> None:
        """Make the actor. What the factory raises is raised here, and nothing is started."""

    def send(self, name: str, envelope: Envelope, *, timeout_s: float, own: bool = False) -> PendingReply:
        """Put a message into an actor's mailbox; `own` messages, of an actor to itself, pass a full one.

        Raises:
            InboxFull, ActorStopped: it was not put there.
        """
        mailbox = self._mailboxes.get(name)
        if mailbox is None:
            raise ActorStopped(actor=name, message=type(envelope.message).__name__)
        return mailbox.enqueue(envelope, timeout_s, own)

    def restart(self, name: str, delay_s: float) -> None:
        """Make the actor anew before its next message, after a rest."""
        self._mailboxes[name].renew(delay_s, None)

    def quarantine(self, name: str, error: Quarantined) -> None:
        """Answer all its messages with this error."""
        self._mailboxes[name].renew(0.0, error)

    def end_quarantine(self, name: str) -> None:
        """End a quarantine: the actor is made anew before its next message."""
        self._mailboxes[name].renew(0.0, None)

    def is_idle(self) -> bool:
        """Say whether no actor handles a message and none waits for one: nothing happens until somebody sends one."""
        mailboxes = tuple(self._mailboxes.values())
        with ExitStack() as held:  # all at once: what one actor is done with, another may have got by then
            for mailbox in mailboxes:
                held.enter_context(mailbox.held())
            return all(mailbox.is_idle for mailbox in mailboxes)

    def mailbox_size(self, name: str) -> int:
        """How many messages wait in its mailbox."""
        return self._mailboxes[name].size

    def stop(self, name: str) -> None:
        """Let the actor finish what is in its mailbox, answer what comes later with `ActorStopped`, and end it.

        One that does not finish in time is left behind, and all who wait for it get `ActorStopped` too.
        """
        self._mailboxes[name].stop(self._stop_timeout_s)

    def close(self) -> None:
        """Let go of what the engine itself holds, once its actors are stopped."""
        self._on_close()

    def _add_mailbox(self, name: str, factory: Callable[[], Instance], capacity: int, overseer: SupervisorPort) -> None:
        self._mailboxes[name] = _Mailbox(name, factory, capacity, overseer, self._clock)


class EmbeddedEngine(Engine):
    """Places actors in threads of this process."""

    name = "embedded"

    def start(
        self,
        name: str,
        factory: Callable[[], Actor],
        capacity: int,
        overseer: SupervisorPort,
        placement: Placement = ANYWHERE,
    ) -> None:
        """Make the actor and its thread."""
        self._add_mailbox(name, factory, capacity, overseer)


EngineFactory = Callable[[MindFolder, Keys], Engine]
"""Makes the engine on which one mind's actors run."""


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
        self._handling = False  # from the moment it is taken out, until its answer is there
        self._stopping = threading.Event()
        # A process that is told to end does not wait for a thread that hangs.
        self._thread = threading.Thread(target=self._run, name=f"mnemic-{name}", daemon=True)
        self._thread.start()

    @property
    def size(self) -> int:
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        return not self._queue and not self._handling

    def held(self) -> threading.Condition:
        """What nothing is put in or taken out under."""
        return self._changed

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

    def renew(self, delay_s: float, quarantine: Quarantined | None) -> None:
        """Have the instance go before the next message, and a new one made after a rest, unless it is quarantined."""
        self._restart_delay_s = delay_s
        self._quarantine_error = quarantine
        self._stale = True

    def stop(self, timeout_s: float) -> None:
        with self._changed:
            self._stopping.set()
            self._changed.notify()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _log.error("%s did not stop within %g s", self._name, timeout_s)
            self._reject_all()

    def _run(self) -> None:
        """Handle and answer one message after the other until the mailbox is stopped and empty."""
        while (letter := self._take()) is not None:
            self._process(letter)
            self._handling = False
            del letter  # what was answered is held no longer
            self._current = None
        self._close_actor()

    def _take(self) -> _QueuedMessage | None:
        with self._changed:
            while not self._queue and not self._stopping.is_set():
                self._changed.wait()
            self._current = self._queue.popleft() if self._queue else None
            self._handling = self._current is not None
            return self._current

    def _process(self, letter: _QueuedMessage) -> None:
        if not letter.answer.set_running_or_notify_cancel():
            return  # nobody waits for it any more
        try:
            try:
                answer = self._handle(letter.envelope)
            finally:
                self._handling = False
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
        quarantined = self._quarantine_error  # read once: `end_quarantine` may come at any moment
        if quarantined is not None:
            raise Quarantined(**quarantined.operands)
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
