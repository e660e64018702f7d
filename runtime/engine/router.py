"""Message router: finds the actor for a message type, wraps it in an envelope, keeps undeliverable ones.

Above it stands the supervisor; below are the engine, which carries envelopes, and the dead letters.

Dead letters: messages that were told and not handled, kept in memory so that they can be sent again.

Bounded twice, by number and by size: what there is no room for is no longer kept whole, then no longer shown, and
always counted. The content of a letter leaves here only to be sent again.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import InvalidValue, MnemicError
from mnemic.actors.protocol.messages import Envelope
from mnemic.runtime.engine.engine import Engine, PendingReply
from mnemic.runtime.engine.reports import DeadLetter, Observer

__all__ = ["TRACE_PREFIX", "DeadLetters", "Router", "estimate_size_bytes", "log_fields"]


class DeadLetters:
    """All dead letters of one process. Any thread may use it."""

    def __init__(self, most: int = 256, most_bytes: int = 64 << 20, most_shown: int = 1024) -> None:
        """Make room.

        Args:
            most: so many letters are kept whole, the last ones.
            most_bytes: those are together at most so large, by estimate.
            most_shown: of so many it is known what they were.
        """
        self._most = most
        self._most_bytes = most_bytes
        self._most_shown = most_shown
        self._gate = threading.Lock()
        self._numbers = itertools.count()
        self._letters: dict[int, DeadLetter] = {}  # in the order in which they came
        self._whole: dict[int, tuple[Envelope, int]] = {}  # with the size of each; those of `_dead_letters` or fewer
        self._bytes = 0
        self._count = 0

    @property
    def count(self) -> int:
        """All that ever came."""
        return self._count

    def add(self, actor: str | None, envelope: Envelope, reason: str) -> DeadLetter:
        """Keep a message for the actor that did not handle it; one that nobody takes is not kept whole."""
        letter = DeadLetter(
            actor=actor or "-",
            message=type(envelope.message).__name__,
            trace=envelope.trace,
            reason=reason,
            id=envelope.id,
            replayable=actor is not None,
        )
        size = estimate_size_bytes(envelope.message) if actor is not None else 0
        with self._gate:
            self._count += 1
            number = next(self._numbers)
            self._letters[number] = letter
            if actor is not None and size <= self._most_bytes:
                self._whole[number] = (envelope, size)
                self._bytes += size
            while len(self._whole) > self._most or self._bytes > self._most_bytes:
                self._drop(next(iter(self._whole)))
            while len(self._letters) > self._most_shown:
                oldest = next(iter(self._letters))
                self._drop(oldest)
                del self._letters[oldest]
            return self._summary(number)

    def summaries(self) -> tuple[DeadLetter, ...]:
        """What is known of the last ones, oldest first."""
        with self._gate:
            return tuple(self._summary(number) for number in self._letters)

    def take_replayable(self) -> list[tuple[str, Envelope]]:
        """Hand out those that can be sent again, oldest first, with the actors they are for: they are dead no more."""
        with self._gate:
            taken = [(self._letters.pop(number).actor, envelope) for number, (envelope, _) in self._whole.items()]
            self._whole.clear()
            self._bytes = 0
            return taken

    def _drop(self, number: int) -> None:
        _, size = self._whole.pop(number, (None, 0))
        self._bytes -= size

    def _summary(self, number: int) -> DeadLetter:
        letter = self._letters[number]
        return letter if number in self._whole else msgspec.structs.replace(letter, replayable=False)


def estimate_size_bytes(value: Any) -> int:
    """About how much memory a message holds, bytes: what its fields reach is counted once."""
    total = 0
    seen: set[int] = set()
    left = [value]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        total += max(
            sys.getsizeof(one), getattr(one, "nbytes", 0)
        )  # an array's view owns no data and holds it all the same
        if isinstance(one, msgspec.Struct):
            left.extend(getattr(one, name) for name in one.__struct_fields__)
        elif isinstance(one, Mapping):
            left.extend(one.keys())
            left.extend(one.values())
        elif isinstance(one, tuple | list | set | frozenset):
            left.extend(one)
    return total


_log = logging.getLogger("mnemic.post")

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
        """Send a message to all who take it; what cannot be delivered is a dead letter."""
        takers = self._routes.get(type(message), [])
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
