"""Message router: finds the actor for a message type, wraps it in an envelope, keeps undeliverable ones.

Above it stands the supervisor; below is the engine, which carries envelopes.

Dead letters are messages that were told and not handled, kept in memory so that they can be sent again: a bounded
number, each of a bounded size. All are counted. The content of one leaves here only to be sent again.
"""

from __future__ import annotations

import itertools
import logging
import pickle
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import msgspec

from mnemic.actors.kernel.background import WorkOn
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import InvalidValue, MnemicError
from mnemic.actors.kernel.message import Envelope
from mnemic.runtime.engine.engine import Engine, PendingReply
from mnemic.runtime.engine.reports import DeadLetter, Observer

_MAX_DEAD_LETTERS = 256  # the last ones are kept
_MAX_LETTER_BYTES = 256 << 10  # of one that is kept whole, pickled


class DeadLetters:
    """The last dead letters of one process, and how many there ever were. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._letters: deque[tuple[DeadLetter, Envelope]] = deque(maxlen=_MAX_DEAD_LETTERS)
        self.count = 0
        """All that ever came."""

    def add(self, actor: str | None, envelope: Envelope, reason: str) -> DeadLetter:
        """Keep a message for the actor that did not handle it; one that nobody takes is only shown, as is a large one.

        Returns what is shown of it.
        """
        letter = DeadLetter(
            actor=actor or "-",
            message=type(envelope.message).__name__,
            trace=envelope.trace,
            reason=reason,
            id=envelope.id,
            replayable=actor is not None and _is_small(envelope.message),
        )
        kept = envelope if letter.replayable else msgspec.structs.replace(envelope, message=None)
        with self._lock:
            self.count += 1
            self._letters.append((letter, kept))
        return letter

    def summaries(self) -> tuple[DeadLetter, ...]:
        """What is known of the last ones, oldest first."""
        with self._lock:
            return tuple(letter for letter, _ in self._letters)

    def take_replayable(self) -> list[tuple[str, Envelope]]:
        """Hand out those that can be sent again, oldest first, with the actors they are for: they are dead no more."""
        with self._lock:
            taken = [(letter.actor, envelope) for letter, envelope in self._letters if letter.replayable]
            left = [one for one in self._letters if not one[0].replayable]
            self._letters.clear()
            self._letters.extend(left)
            return taken


def _is_small(message: Any) -> bool:
    """Whether a message may be kept whole; one that breaks the contract and does not pickle is not measured."""
    try:
        return len(pickle.dumps(message, pickle.HIGHEST_PROTOCOL)) <= _MAX_LETTER_BYTES
    except Exception:  # whatever a stranger's class does when it is pickled
        return True


_log = logging.getLogger("mnemic.router")

TRACE_PREFIX: ContextVar[str] = ContextVar("ORIGIN", default="")
"""What the traces start with that are made in this context: the request's name, and a dot."""


class Router:
    """Carries the messages of one actor system. Any thread may use it."""

    def __init__(
        self, engine: Engine, routes: Mapping[type, Sequence[str]], clock: Clock, run: str, observer: Observer
    ) -> None:
        """Know who takes what.

        Args:
            run: names of messages and traces start with it.
        """
        self._engine = engine
        self._routes = routes
        self._clock = clock
        self._run = run
        self._observer = observer
        self._numbers = itertools.count(1)
        self.dead_letters = DeadLetters()
        """What was told and not handled."""

    def new_id(self, kind: str) -> str:
        """A name that nothing else has, in this run of a process or another."""
        return f"{self._run}-{kind}{next(self._numbers)}"

    def new_trace(self) -> str:
        """A trace of its own for one question; where a face has a request, that one's name comes first."""
        return f"{TRACE_PREFIX.get()}{self.new_id('t')}"

    def has_route(self, kind: type) -> bool:
        """Whether anybody takes messages of a type."""
        return kind in self._routes

    def send(self, message: Any, timeout_s: float, *, trace: str, now: int | None = None) -> PendingReply:
        """Send a message to the one actor that takes it; it is not handled after its time.

        Args:
            now: world time of the request, microseconds; the clock's where absent.

        Raises:
            InvalidValue: no actor takes it, or more than one.
            InboxFull, ActorStopped: it cannot be delivered.
        """
        takers = self._routes.get(type(message), [])
        if len(takers) != 1:
            raise InvalidValue(
                name="message",
                value=type(message).__name__,
                why=f"{len(takers)} actors take it",
                expected="one that a single actor takes",
            )
        timeout_s = max(0.0, timeout_s)
        deadline = self._clock.monotonic_s() + timeout_s
        return self._engine.send(takers[0], self._envelope(message, trace, now, deadline), timeout_s=timeout_s)

    def tell(self, message: Any, *, trace: str, now: int | None = None, sender: str | None = None) -> None:
        """Send a message to all who take it, a `WorkOn` to its sender; what cannot be delivered is a dead letter."""
        takers = self._routes.get(type(message), [])
        if isinstance(message, WorkOn):
            takers = [one for one in takers if one == sender]
        if not takers:
            self.add_dead_letter(None, self._envelope(message, trace, now, None), "no_taker")
        for taker in takers:
            self._deliver(taker, self._envelope(message, trace, now, None), own=sender == taker)

    def add_dead_letter(self, actor: str | None, envelope: Envelope, reason: str) -> None:
        """Keep a message for the actor that did not handle it, ``None`` where nobody takes it."""
        letter = self.dead_letters.add(actor, envelope, reason)
        self._observer.dead_lettered(letter.actor, letter.message, reason)
        extra = log_fields(letter.actor, envelope, reason)
        _log.warning("undelivered: %s for %s (%s)", letter.message, letter.actor, reason, extra=extra)

    def replay_dead_letters(self) -> int:
        """Send the dead letters again, as they were; returns how many found their way into a mailbox."""
        return sum(self._deliver(actor, envelope) for actor, envelope in self.dead_letters.take_replayable())

    def _deliver(self, actor: str, envelope: Envelope, own: bool = False) -> bool:
        try:
            self._engine.send(actor, envelope, timeout_s=0.0, own=own)
        except MnemicError as error:
            self.add_dead_letter(actor, envelope, error.code)
            return False
        return True

    def _envelope(self, message: Any, trace: str, now: int | None, deadline: float | None) -> Envelope:
        now = self._clock.now_us() if now is None else now
        return Envelope(id=self.new_id("m"), trace=trace, now=now, deadline=deadline, message=message)


def log_fields(actor: str, envelope: Envelope, code: str) -> dict[str, Any]:
    """What a line of the log says of a message, beside its sentence; see `mnemic.runtime.logs`."""
    return {
        "actor": actor,
        "trace": envelope.trace,
        "message_id": envelope.id,
        "message_type": type(envelope.message).__name__,
        "code": code,
    }
