"""The supervisor: starts a mind's actors on an engine, routes messages to them, handles their failures.

Above it stand the faces (command line, Python, MCP, HTTP), which only ever `ask` and `tell` here. Below it,
`mnemic.runtime.engine.router` finds who takes a message, `mnemic.runtime.engine.actor_health` decides what becomes of
an actor that fails, and `mnemic.runtime.engine.idleness` has them sleep.
"""

from __future__ import annotations

import hashlib
import logging
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mnemic.actors.kernel.contract import CONTRACT, Actor, Clock, Context
from mnemic.actors.kernel.errors import InvalidValue, MnemicError, Quarantined, RuntimeFault
from mnemic.actors.kernel.message import Envelope
from mnemic.runtime.engine.actor_health import FailureHistory, Quarantine, RestartPolicy, on_failure, on_release
from mnemic.runtime.engine.engine import Engine, Placement, safe_cause
from mnemic.runtime.engine.idleness import IdlePolicy, SleepScheduler
from mnemic.runtime.engine.reports import ActorHealth, ActorSystemReport, Observer, Progress
from mnemic.runtime.engine.router import Router, log_fields
from mnemic.runtime.logs import outcome_level

_log = logging.getLogger("mnemic.supervisor")
_REPORTED_DEAD_LETTERS = 20
_TICKER_JOIN_S = 30.0


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


class _ActorState:
    """What is known of one actor. Its own thread changes all but the history."""

    def __init__(self, kind: type[Actor]) -> None:
        self.kind = f"{kind.__module__}:{kind.__qualname__}"
        self.history = FailureHistory()
        self.handled = 0
        self.resting = False  # whether it has failed, and had no message since
        self.failing = False  # whether the message it has now has failed


class Supervisor:
    """Runs an actor system of actors on an engine."""

    def __init__(
        self,
        engine: Engine,
        specs: Sequence[ActorSpec],
        *,
        clock: Clock,
        seed: bytes,
        run: str,
        policy: RestartPolicy | None = None,
        idle_policy: IdlePolicy | None = None,
        observer: Observer | None = None,
        ask_timeout_s: float = 60.0,
    ) -> None:
        """Check the actors and start them, in order. Once they are, the engine is the supervisor's to close.

        Args:
            seed: the mind's seed; what actors draw by chance depends on it.
            run: a name that no other run of a process has; traces start with it.
            policy: when to give up an actor that fails.
            idle_policy: when to sleep, and when to leave.
            observer: told what happens.
            ask_timeout_s: how long who asks waits for an answer, unless he says.

        Raises:
            InvalidValue: an actor keeps another contract, or two have one name. Nothing was started.
            Exception: what making an actor raised. Those started before are stopped.
        """
        self._engine = engine
        self._clock = clock
        self._seed = seed
        self._observer = observer or Observer()
        self._ask_timeout_s = ask_timeout_s
        self._listeners: dict[str, Progress] = {}
        self._stopping = threading.Event()
        self._ending = threading.Lock()  # over what stops
        self._closed = False
        self._started: list[str] = []
        routes = _routes(specs)
        self._actors = {spec.name: _ActorState(spec.kind) for spec in specs}
        self._policy = policy or RestartPolicy()
        self._random = random.Random(hashlib.sha256(seed + run.encode()).digest())
        # A decision and what is done about it are one: the engine was told last what the history says.
        self._deciding = threading.Lock()
        self._router = Router(engine, routes, clock, run, self._observer)
        self._nights = SleepScheduler(self._router, self.is_busy, clock, seed, idle_policy or IdlePolicy())
        try:
            for spec in specs:
                engine.start(spec.name, spec.make, spec.capacity, self, spec.placement)
                self._started.append(spec.name)
        except BaseException:
            self._stop_actors()
            raise

    def ask(
        self,
        message: Any,
        timeout_s: float | None = None,
        progress: Progress | None = None,
        trace: str | None = None,
        *,
        idle: bool = False,
    ) -> Any:
        """Send a message to the actor that takes it and wait for its answer.

        Args:
            progress: told, in the actor's thread, how far the work is; one that raises is told no more.
            trace: what it is part of; a request that is sent again carries the same one, so that what it writes has
                the same keys. A new one where absent.
            idle: whether it is nobody's wish, such as a look at how things are: no night ends because of it.

        Raises: the error of `mnemic.errors` that the actor answers with, or that says why there is no answer;
            `InvalidValue` where no actor or more than one takes the message.
        """
        trace = trace or self._router.new_trace()
        if progress is not None:
            self._listeners[trace] = progress
        if not idle:
            self._nights.request_started()
        limit_s = self._ask_timeout_s if timeout_s is None else timeout_s
        try:
            return self._router.send(message, limit_s, trace=trace).get()
        except RuntimeFault as error:
            kind = type(message).__name__
            extra = {"trace": trace, "message_type": kind, "code": error.code}
            _log.warning("%s was not answered: %s", kind, error.code, extra=extra)
            raise
        finally:
            if not idle:
                self._nights.request_ended()
            if self._listeners.get(trace) is progress:  # else the same request was sent again, and still waits
                self._listeners.pop(trace, None)

    def tell(self, message: Any, trace: str | None = None) -> None:
        """Send a message to all actors that take it; `trace` as in `ask`."""
        self._nights.request_started()
        self._router.tell(message, trace=trace or self._router.new_trace())
        self._nights.request_ended()

    def release_quarantined(self) -> list[str]:
        """Have all quarantined actors made anew before their next messages; returns their names."""
        with self._deciding:
            released = [name for name, actor in self._actors.items() if actor.history.quarantined]
            for name in released:
                self._actors[name].history = on_release(self._actors[name].history)
                self._engine.end_quarantine(name)
        for actor in released:
            _log.warning("%s was released", actor, extra={"actor": actor})
        return released

    def replay_dead_letters(self) -> int:
        """Send the dead letters again that can be, oldest first, each once; what fails again comes back.

        Returns how many found their way into a mailbox.
        """
        return self._router.replay_dead_letters()

    def report(self) -> ActorSystemReport:
        """How the actor system is; it costs no actor anything."""
        return ActorSystemReport(
            engine=self._engine.name,
            actors=[self._health(name) for name in tuple(self._started)],
            dead_letters=self._router.dead_letters.count,
            last_dead_letters=list(self._router.dead_letters.summaries()[-_REPORTED_DEAD_LETTERS:]),
            night=self._nights.last_report,
            log_damage="" if (damage := self._nights.log_damage) is None else f"{damage} {damage.remedy_text}",
            idle_s=self._nights.idle_s,
            requests=self._nights.requests,
        )

    def is_busy(self) -> bool:
        """Whether an actor works, or has something to do."""
        return not self._engine.is_idle()

    def start_ticking(self, tick_s: float = 1.0, on_idle_exit: Callable[[], None] | None = None) -> None:
        """Look at the clock every so often, in a thread of its own: sleep when it is time.

        Args:
            on_idle_exit: called in that thread when the process may leave: at every look, until somebody wants
                something.
        """
        self._nights.start_ticking(tick_s, on_idle_exit)

    def stop(self) -> None:
        """Stop the actors, the last started first; each finishes its mailbox, and everyone who waits is answered.

        The engine is closed with it. Once stopped, it stays so; any thread may call this, and more than once.
        """
        self._stop_actors()
        with self._ending:
            if not self._closed:
                self._closed = True
                self._engine.close()
        self._nights.join(_TICKER_JOIN_S)  # outside: the watch may itself be about to stop everything

    def _stop_actors(self) -> None:
        self._stopping.set()
        self._nights.stop_ticking()
        with self._ending:
            while self._started:
                self._engine.stop(self._started.pop())

    def make_context(self, actor: str, envelope: Envelope) -> Context:
        """What an actor is given with a message."""
        state = self._actors[actor]
        state.resting = False

        def ask(message: Any, timeout_s: float) -> Any:
            if envelope.deadline is not None:
                timeout_s = min(timeout_s, envelope.deadline - self._clock.monotonic_s())
            return self._router.send(message, timeout_s, trace=envelope.trace, now=envelope.now).get()

        def progress(done: int, total: int | None) -> None:
            listener = self._listeners.get(envelope.trace)
            if listener is None:
                return
            try:
                listener(done, total)
            except Exception as error:  # a face's display is no reason for an actor to fail: said, and told no more
                self._listeners.pop(envelope.trace, None)
                _log.error(
                    "progress is shown no more: %s", safe_cause(error), extra=log_fields(actor, envelope, "display")
                )

        kind = type(envelope.message).__name__
        return Context(
            trace=envelope.trace,
            now=envelope.now,
            clock=self._clock,
            seed=hashlib.sha256(b"\0".join((self._seed, actor.encode(), kind.encode()))).digest(),
            ask=ask,
            tell=lambda message: self._router.tell(message, trace=envelope.trace, now=envelope.now, sender=actor),
            progress=progress,
            cancelled=lambda: self._stopping.is_set() or self._nights.is_woken(envelope.message),
        )

    def handled(self, actor: str, envelope: Envelope, took_s: float, error: MnemicError | None) -> None:
        """An actor is done with a message."""
        state = self._actors[actor]
        outcome = "failure" if state.failing else "ok" if error is None else error.code
        state.handled += 1
        state.failing = False
        kind = type(envelope.message).__name__
        self._observer.handled(actor, kind, outcome, took_s)
        level = outcome_level(outcome, took_s)
        if _log.isEnabledFor(level):
            extra = log_fields(actor, envelope, outcome) | {"took_ms": round(took_s * 1e3, 3)}
            _log.log(level, "%s handled %s: %s", actor, kind, outcome, extra=extra)

    def failed(self, actor: str, envelope: Envelope, error: BaseException) -> None:
        """An actor failed: decide, and carry the decision out."""
        cause = safe_cause(error)
        state = self._actors[actor]
        state.failing = state.resting = True
        with self._deciding:
            now_s, draw = self._clock.monotonic_s(), self._random.random()
            state.history, instruction = on_failure(state.history, now_s, cause, self._policy, draw)
            if isinstance(instruction, Quarantine):
                quarantined = Quarantined(actor=actor, failures=state.history.failures, cause=cause)
                self._engine.quarantine(actor, quarantined)
            else:
                self._engine.restart(actor, instruction.delay_s)
        if not isinstance(instruction, Quarantine):
            self._observer.restarted(actor)
        kind, extra = type(envelope.message).__name__, log_fields(actor, envelope, "failure")
        _log.error("%s failed on %s: %s -> %s", actor, kind, cause, instruction, extra=extra)

    def close_failed(self, actor: str, error: Exception) -> None:
        """An actor's old instance could not be closed: it is a failure to show, and there is nothing to decide."""
        cause = safe_cause(error)
        with self._deciding:
            state = self._actors[actor]
            failures = state.history.failures + 1
            state.history = msgspec.structs.replace(state.history, failures=failures, cause=cause)
        _log.error("%s could not be closed: %s", actor, cause, extra={"actor": actor})

    def undelivered(self, actor: str, envelope: Envelope, error: MnemicError) -> None:
        """Keep a message that was told and not handled."""
        self._router.add_dead_letter(actor, envelope, error.code)

    def _health(self, name: str) -> ActorHealth:
        actor = self._actors[name]
        history = actor.history
        return ActorHealth(
            actor=name,
            waiting=self._engine.mailbox_size(name),
            failures=history.failures,
            cause=history.cause,
            quarantined=history.quarantined,
            state="quarantined" if history.quarantined else "resting" if actor.resting else "running",
            handled=actor.handled,
            kind=actor.kind,
        )


def _routes(specs: Sequence[ActorSpec]) -> dict[type, list[str]]:
    """Who takes what; raises `InvalidValue` where the actors cannot be started together."""
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise InvalidValue(name="actors", value=names, why="two have one name", expected="a name for each")
    routes: dict[type, list[str]] = {}
    for spec in specs:
        if spec.kind.contract != CONTRACT:
            raise InvalidValue(
                name=f"actor {spec.name}",
                value=spec.kind.__name__,
                why=f"it keeps contract {spec.kind.contract}",
                expected=f"an actor of contract {CONTRACT}",
            )
        for message in spec.kind.takes:
            routes.setdefault(message, []).append(spec.name)
    return routes
