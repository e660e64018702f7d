"""The supervisor: starts the actors on an engine, routes messages by their type, restarts what fails.

Above it stand the faces (command line, Python, MCP), which only ever `ask` and `tell` here.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mnemic.actors.contract import CONTRACT, Actor, Clock, Context
from mnemic.actors.errors import InvalidValue, MnemicError, Quarantined
from mnemic.actors.messages import Envelope
from mnemic.runtime.engine import Engine, Placement, Reply
from mnemic.runtime.supervision import Health, Policy, Quarantine, on_failure

__all__ = ["ActorHealth", "ActorSpec", "DeadLetter", "Supervisor"]

_log = logging.getLogger("mnemic.supervisor")
_DEAD_LETTERS_KEPT = 256

Progress = Callable[[int, int | None], None]


class ActorSpec(msgspec.Struct, frozen=True):
    """One actor to start."""

    name: str
    """Its name, by which health and logs speak of it."""
    kind: type[Actor]
    """Its class."""
    make: Callable[[], Actor]
    """Makes an instance, at start and after each failure."""
    capacity: int = 256
    """How many messages may wait for it."""
    placement: Placement = Placement()
    """What it wants of the machine it runs on."""


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that nobody waited for and nobody handled; its content is not kept here."""

    actor: str
    """Whom it was for; ``-`` where nobody takes it."""
    message: str
    """Its type."""
    trace: str
    """What set it off."""
    reason: str
    """Code of the error."""


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
    """Whether it was set aside."""


class Supervisor:
    """Runs a society of actors on an engine."""

    def __init__(
        self,
        engine: Engine,
        specs: Sequence[ActorSpec],
        *,
        clock: Clock,
        seed: bytes,
        run: str,
        policy: Policy | None = None,
    ) -> None:
        """Check the actors and start them, in order.

        Args:
            seed: the mind's seed; what actors draw by chance depends on it.
            run: a name that no other run of a process has; traces start with it.

        Raises:
            InvalidValue: an actor keeps another contract, or two have one name. Nothing was started.
            Exception: what making an actor raised. Those started before are stopped.
        """
        self._engine = engine
        self._clock = clock
        self._seed = seed
        self._run = run
        self._policy = policy or Policy()
        self._numbers = itertools.count(1)
        self._health = {spec.name: Health() for spec in specs}
        self._routes: dict[type, list[str]] = {}
        self._listeners: dict[str, Progress] = {}
        self._stopping = threading.Event()
        self._counting = threading.Lock()  # over the dead letters
        self._dead_letters: deque[DeadLetter] = deque(maxlen=_DEAD_LETTERS_KEPT)
        self._dead_letter_count = 0
        self._started: list[str] = []
        if len(self._health) < len(specs):
            names = [spec.name for spec in specs]
            raise InvalidValue(name="actors", value=names, why="two have one name", expected="a name for each")
        for spec in specs:
            if spec.kind.contract != CONTRACT:
                raise InvalidValue(
                    name=f"actor {spec.name}",
                    value=spec.kind.__name__,
                    why=f"it keeps contract {spec.kind.contract}",
                    expected=f"an actor of contract {CONTRACT}",
                )
            for message in spec.kind.takes:
                self._routes.setdefault(message, []).append(spec.name)
        try:
            for spec in specs:
                engine.start(spec.name, spec.make, spec.capacity, self, spec.placement)
                self._started.append(spec.name)
        except BaseException:
            self.stop()
            raise

    # --- what faces call ---------------------------------------------------------------------------------------------

    def ask(self, message: Any, timeout_s: float = 60.0, progress: Progress | None = None) -> Any:
        """Send a message to the actor that takes it and wait for its answer.

        Args:
            progress: told, in the actor's thread, how far the work is; one that raises is told no more.

        Raises: the error of `mnemic.errors` that the actor answers with, or that says why there is no answer;
            `InvalidValue` where no actor or more than one takes the message.
        """
        trace = self._name("t")
        if progress is not None:
            self._listeners[trace] = progress
        try:
            return self._send(message, timeout_s, trace=trace, now=self._clock.now_us()).get()
        finally:
            self._listeners.pop(trace, None)

    def tell(self, message: Any) -> None:
        """Send a message to all actors that take it."""
        self._tell(message, trace=self._name("t"), now=self._clock.now_us(), sender=None)

    def health(self) -> list[ActorHealth]:
        """How each actor is."""
        return [
            ActorHealth(name, self._engine.waiting(name), health.failures, health.cause, health.quarantined)
            for name, health in self._health.items()
            if name in self._started
        ]

    @property
    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """The last messages that could not be delivered."""
        with self._counting:
            return tuple(self._dead_letters)

    @property
    def dead_letter_count(self) -> int:
        """All of them since the start."""
        return self._dead_letter_count

    def stop(self) -> None:
        """Stop the actors, the last started first; each finishes its mailbox, and everyone who waits is answered."""
        self._stopping.set()
        while self._started:
            self._engine.stop(self._started.pop())

    # --- what the engine calls ---------------------------------------------------------------------------------------

    def context(self, actor: str, envelope: Envelope) -> Context:
        """What an actor is given with a message."""

        def ask(message: Any, timeout_s: float) -> Any:
            if envelope.deadline is not None:
                timeout_s = min(timeout_s, envelope.deadline - self._clock.monotonic_s())
            return self._send(message, timeout_s, trace=envelope.trace, now=envelope.now).get()

        def progress(done: int, total: int | None) -> None:
            listener = self._listeners.get(envelope.trace)
            if listener is None:
                return
            try:
                listener(done, total)
            except Exception as error:  # a face's display is no reason for an actor to fail: said, and told no more
                self._listeners.pop(envelope.trace, None)
                _log.error("progress of trace %s is shown no more: %s", envelope.trace, _cause(error))

        kind = type(envelope.message).__name__
        return Context(
            trace=envelope.trace,
            now=envelope.now,
            clock=self._clock,
            seed=hashlib.sha256(b"\0".join((self._seed, actor.encode(), kind.encode()))).digest(),
            ask=ask,
            tell=lambda message: self._tell(message, trace=envelope.trace, now=envelope.now, sender=actor),
            progress=progress,
            cancelled=self._stopping.is_set,
        )

    def handled(self, actor: str, envelope: Envelope, took_s: float, error: MnemicError | None) -> None:
        """An actor is done with a message."""

    def failed(self, actor: str, envelope: Envelope, error: BaseException) -> None:
        """An actor failed: decide, and carry the decision out."""
        cause = _cause(error)
        self._health[actor], instruction = on_failure(
            self._health[actor], self._clock.monotonic_s(), cause, self._policy
        )
        _log.error(
            "%s failed on %s: %s (trace %s) -> %s",
            actor,
            type(envelope.message).__name__,
            cause,
            envelope.trace,
            instruction,
        )
        if isinstance(instruction, Quarantine):
            failures = self._health[actor].failures
            self._engine.quarantine(actor, Quarantined(actor=actor, failures=failures, cause=cause))
        else:
            self._engine.restart(actor, instruction.delay_s)

    def unclosed(self, actor: str, error: Exception) -> None:
        """An actor's old instance could not be closed: it is a failure to show, and there is nothing to decide."""
        health = self._health[actor]
        cause = _cause(error)
        self._health[actor] = msgspec.structs.replace(health, failures=health.failures + 1, cause=cause)
        _log.error("%s could not be closed: %s", actor, cause)

    def undelivered(self, actor: str, envelope: Envelope, error: MnemicError) -> None:
        """Keep what is known of a message that was told and not handled."""
        self._bury(actor, type(envelope.message).__name__, envelope.trace, error.code)

    # --- routing -----------------------------------------------------------------------------------------------------

    def _send(self, message: Any, timeout_s: float, *, trace: str, now: int) -> Reply:
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

    def _tell(self, message: Any, *, trace: str, now: int, sender: str | None) -> None:
        kind = type(message).__name__
        takers = self._routes.get(type(message), [])
        if not takers:
            self._bury("-", kind, trace, "no_taker")
        for taker in takers:
            try:
                self._engine.send(taker, self._envelope(message, trace, now, None), timeout_s=0.0, own=sender == taker)
            except MnemicError as error:
                self._bury(taker, kind, trace, error.code)

    def _envelope(self, message: Any, trace: str, now: int, deadline: float | None) -> Envelope:
        return Envelope(id=self._name("m"), trace=trace, now=now, deadline=deadline, message=message)

    def _name(self, kind: str) -> str:
        return f"{self._run}-{kind}{next(self._numbers)}"

    def _bury(self, actor: str, message: str, trace: str, reason: str) -> None:
        with self._counting:
            self._dead_letter_count += 1
            self._dead_letters.append(DeadLetter(actor, message, trace, reason))
        _log.warning("undelivered: %s for %s (%s, trace %s)", message, actor, reason, trace)


def _cause(error: BaseException) -> str:
    """A failure as a kind of error and a place in the code: its own text may quote a memory."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return type(error).__name__
    code, line = frames[-1][0].f_code, frames[-1][1]
    return f"{type(error).__name__} at {code.co_name} ({code.co_filename.rsplit('/', 1)[-1]}:{line})"
