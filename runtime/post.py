"""The post: finds who takes a message, puts it into an envelope, and keeps what cannot be delivered.

Above it stands the supervisor; below are the engine, which carries envelopes, and the dead letters.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from mnemic.actors.contract import Clock
from mnemic.actors.errors import InvalidValue, MnemicError
from mnemic.actors.messages import Envelope
from mnemic.runtime.dead_letters import DeadLetters
from mnemic.runtime.engine import Engine, Reply
from mnemic.runtime.reports import Observer

__all__ = ["ORIGIN", "Post", "about"]

_log = logging.getLogger("mnemic.post")

ORIGIN: ContextVar[str] = ContextVar("ORIGIN", default="")
"""What the traces start with that are made in this context: the request's name, and a dot."""


class Post:
    """Carries the messages of one society. Any thread may use it."""

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
        self.dead = DeadLetters()
        """What was told and not handled."""

    def name(self, kind: str) -> str:
        """A name that nothing else has, in this run of a process or another."""
        return f"{self._run}-{kind}{next(self._numbers)}"

    def trace(self) -> str:
        """A trace of its own for one question; where a face has a request, that one's name comes first."""
        return f"{ORIGIN.get()}{self.name('t')}"

    def takes(self, kind: type) -> bool:
        """Whether anybody takes messages of a type."""
        return kind in self._routes

    def send(self, message: Any, timeout_s: float, *, trace: str, now: int | None = None) -> Reply:
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
            self.bury(None, self._envelope(message, trace, now, None), "no_taker")
        for taker in takers:
            self._deliver(taker, self._envelope(message, trace, now, None), own=sender == taker)

    def bury(self, actor: str | None, envelope: Envelope, reason: str) -> None:
        """Keep a message for the actor that did not handle it, ``None`` where nobody takes it."""
        letter = self.dead.bury(actor, envelope, reason)
        self._observer.buried(letter.actor, letter.message, reason)
        extra = about(letter.actor, envelope, reason)
        _log.warning("undelivered: %s for %s (%s)", letter.message, letter.actor, reason, extra=extra)

    def replay(self) -> int:
        """Send the dead letters again, as they were; returns how many found their way into a mailbox."""
        return sum(self._deliver(actor, envelope) for actor, envelope in self.dead.take())

    def _deliver(self, actor: str, envelope: Envelope, own: bool = False) -> bool:
        try:
            self._engine.send(actor, envelope, timeout_s=0.0, own=own)
        except MnemicError as error:
            self.bury(actor, envelope, error.code)
            return False
        return True

    def _envelope(self, message: Any, trace: str, now: int | None, deadline: float | None) -> Envelope:
        now = self._clock.now_us() if now is None else now
        return Envelope(id=self.name("m"), trace=trace, now=now, deadline=deadline, message=message)


def about(actor: str, envelope: Envelope, code: str) -> dict[str, Any]:
    """What a line of the log says of a message, beside its sentence; see `mnemic.runtime.logs`."""
    return {
        "actor": actor,
        "trace": envelope.trace,
        "message_id": envelope.id,
        "message_type": type(envelope.message).__name__,
        "code": code,
    }
