"""Idleness: when background consolidation starts or stops, and when the process exits.

A night begins once nobody has wanted anything for a while and ends with whoever wants something. It goes on, under one
name, until it says that it is finished or its time is used up. A finished one is the last until somebody asks for
something again: a second one would have nothing new to work on.

Pure functions decide, and `SleepScheduler` carries their instructions out. Requests are told to it by the threads that
make them, and time by a thread of its own, or by a test that moves a clock. That thread asks for the night's work and
waits for it; whoever wakes the night does so from his own thread.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mnemic.actors.kernel.contract import Clock, Setting
from mnemic.actors.kernel.errors import DamagedStore, DeadlineExceeded, MnemicError
from mnemic.actors.sleep.messages import NightReport, Preempt, Sleep
from mnemic.actors.store.messages import Checkpoint, Count
from mnemic.runtime.engine.engine import PendingReply, safe_cause
from mnemic.runtime.engine.router import Router

_log = logging.getLogger("mnemic.nights")
_COUNT_S = 60.0
_CHECKPOINT_AFTER_S = 5.0
_CHECKPOINT_S = 60.0
_STEP_GRACE_S = 60.0  # a step that is begun may end, and what it asks for with it
_NEXT_SLICE_S = 0.01  # a night that does something goes on at once

SETTINGS = (
    Setting("runtime.sleep_after_s", 300.0, "seconds", "Nobody wants anything for so long: consolidate.", 0.1),
    Setting("runtime.sleep_budget_s", 60.0, "seconds", "One night lasts at most so long.", 0.1),
    Setting(
        "runtime.idle_exit_s",
        900.0,
        "seconds",
        "Nobody wants anything for so long: close the mind; leave, if started on demand.",
        0.1,
    ),
)
"""The knobs of idleness."""


class IdlePolicy(msgspec.Struct, frozen=True):
    """When to sleep, and when to leave."""

    sleep_after_s: float = 300.0
    """Nobody wants anything for so long: the next night may begin."""
    sleep_budget_s: float = 60.0
    """How long one night may last."""
    idle_exit_s: float = 900.0
    """Nobody wants anything for so long: the process may leave."""


def idle_policy_from(settings: Mapping[str, Any]) -> IdlePolicy:
    """The idle policy that settings name."""
    return IdlePolicy(**{name: settings[f"runtime.{name}"] for name in IdlePolicy.__struct_fields__})


class IdleState(msgspec.Struct, frozen=True):
    """Who wants something, and what became of the nights."""

    quiet_since_s: float
    """Monotonic time at which somebody last wanted or got something."""
    open_requests: int = 0
    """Requests that are not answered yet."""
    requests: int = 0
    """All of them since the start."""
    active_run: str = ""
    """Name of the night that is on."""
    run_deadline_s: float = 0.0
    """Monotonic time at which its budget is used up."""
    not_before_s: float = 0.0
    """Monotonic time before which no other begins."""
    slept: bool = False
    """Whether a night has finished since somebody last wanted something."""
    checkpointed: bool = False
    """Whether the store was asked for a checkpoint since then, and since the last night."""


class StartSleep(msgspec.Struct, frozen=True):
    """Instruction: ask for a night's work, or for more of it, within what is left of its time."""

    run: str
    budget_s: float


class StopSleep(msgspec.Struct, frozen=True):
    """Instruction: have a night end after the step it is in."""

    run: str


class ExitProcess(msgspec.Struct, frozen=True):
    """Instruction: the process may end. Given at every tick until it does, or somebody wants something."""


Instruction = StartSleep | StopSleep | ExitProcess
Decision = tuple[IdleState, tuple[Instruction, ...]]


def on_request(state: IdleState, now_s: float) -> Decision:
    """Somebody wants something: it goes before any night."""
    awake = IdleState(
        quiet_since_s=max(now_s, state.quiet_since_s),
        open_requests=state.open_requests + 1,
        requests=state.requests + 1,
    )
    return awake, (StopSleep(state.active_run),) if state.active_run else ()


def on_answer(state: IdleState, now_s: float) -> IdleState:
    """Somebody got it, or gave up: it is quiet from now on, unless others still wait."""
    return msgspec.structs.replace(
        state, quiet_since_s=max(now_s, state.quiet_since_s), open_requests=max(0, state.open_requests - 1)
    )


def on_tick(state: IdleState, now_s: float, policy: IdlePolicy, *, busy: bool, run: str) -> Decision:
    """Time has passed.

    Args:
        busy: whether actors still work on what was wanted: no night begins and nobody leaves meanwhile.
        run: the name of a night that would begin now; empty where none can.
    """
    if state.active_run:
        if now_s < state.run_deadline_s:
            return state, (StartSleep(state.active_run, state.run_deadline_s - now_s),)
        return _end_run(state, now_s + policy.sleep_after_s), (StopSleep(state.active_run),)
    if should_sleep(state, now_s, policy, busy=busy) and run:
        ends_s = now_s + policy.sleep_budget_s
        return msgspec.structs.replace(state, active_run=run, run_deadline_s=ends_s), (
            StartSleep(run, policy.sleep_budget_s),
        )
    leaves = not busy and idle_s(state, now_s) >= policy.idle_exit_s
    return state, (ExitProcess(),) if leaves else ()


def should_sleep(state: IdleState, now_s: float, policy: IdlePolicy, *, busy: bool) -> bool:
    """Whether a night is to begin now."""
    waits = busy or state.open_requests or state.active_run or state.slept or now_s < state.not_before_s
    return not waits and idle_s(state, now_s) >= policy.sleep_after_s


def should_checkpoint(state: IdleState, now_s: float, *, busy: bool) -> bool:
    """Whether the store's write-ahead log is to be taken over now: for a while nobody has wanted or done anything."""
    waits = busy or state.open_requests or state.active_run or state.checkpointed
    return not waits and idle_s(state, now_s) >= _CHECKPOINT_AFTER_S


def on_sleep_report(
    state: IdleState, run: str, now_s: float, policy: IdlePolicy, *, finished: bool | None
) -> IdleState:
    """A night has said how far it is.

    Args:
        finished: whether nothing is left to do; ``None`` where it failed, which ends it.
    """
    if run != state.active_run:  # it was woken meanwhile, and says so late
        return state
    if finished is None:
        return _end_run(state, now_s + policy.sleep_after_s)
    return _end_run(msgspec.structs.replace(state, slept=True), 0.0) if finished else state


def postpone_sleep(state: IdleState, now_s: float, policy: IdlePolicy) -> IdleState:
    """A night could not begin: try again as late as after one that failed."""
    return msgspec.structs.replace(state, not_before_s=now_s + policy.sleep_after_s)


def idle_s(state: IdleState, now_s: float) -> float:
    """For how long nobody has wanted anything."""
    return 0.0 if state.open_requests else max(0.0, now_s - state.quiet_since_s)


def sleep_run_name(seed: bytes, seq: int) -> str:
    """The name of the night that works on the log up to `seq`.

    The same mind with the same log has the same night: what one that was cut short has written is known by its keys.
    """
    return f"night-{seq}-{hashlib.sha256(seed + seq.to_bytes(8, 'big')).hexdigest()[:8]}"


def sleep_run_seed(seed: bytes, run: str) -> bytes:
    """What chance depends on in a night, 32 bytes."""
    return hashlib.sha256(b"\0".join((seed, run.encode()))).digest()


def _end_run(state: IdleState, not_before_s: float) -> IdleState:
    return msgspec.structs.replace(
        state, active_run="", run_deadline_s=0.0, not_before_s=not_before_s, checkpointed=False
    )


class SleepScheduler:
    """One actor system's  Any thread may tell it what happens; one at a time may tick."""

    def __init__(self, router: Router, busy: Callable[[], bool], clock: Clock, seed: bytes, policy: IdlePolicy) -> None:
        """Begin an idle spell.

        Args:
            busy: tells whether an actor works, or has something to do.
            seed: the mind's seed.
        """
        self._router = router
        self._busy = busy
        self._clock = clock
        self._seed = seed
        self._policy = policy
        self._gate = threading.RLock()  # over the state, and over the order of what is sent because of it
        self._state = IdleState(quiet_since_s=clock.monotonic_s())
        self._ticking = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_idle_exit: Callable[[], None] | None = None
        self._goes_on = False  # whether the night that is on does something at each request
        self._woken = ""  # name of the last night that was told to end
        self.last_report: NightReport | None = None
        """What the last night did, or does so far."""
        self.log_damage: DamagedStore | None = None
        """Why the store keeps nothing new since the last checkpoint that was asked for; ``None`` where it does."""

    @property
    def idle_s(self) -> float:
        """For how long nobody has wanted anything."""
        return idle_s(self._state, self._clock.monotonic_s())

    @property
    def requests(self) -> int:
        """How many times somebody did."""
        return self._state.requests

    def request_started(self) -> None:
        """Somebody wants something: a night that is on is told to end, before anything else is sent."""
        with self._gate:
            self._state, instructions = on_request(self._state, self._clock.monotonic_s())
            self._carry_out(instructions)

    def request_ended(self) -> None:
        """Somebody got it, or gave up."""
        with self._gate:
            self._state = on_answer(self._state, self._clock.monotonic_s())

    def is_woken(self, message: Any) -> bool:
        """Whether a message asks for the work of a night that was told to end: no more of it is to be taken up."""
        return isinstance(message, Sleep) and message.run == self._woken

    def start_ticking(self, tick_s: float, on_idle_exit: Callable[[], None] | None) -> None:
        """Tick in a thread of its own until the end."""
        self._on_idle_exit = on_idle_exit
        self._thread = threading.Thread(target=self._run_ticks, args=(tick_s,), name="mnemic-watch", daemon=True)
        self._thread.start()

    def stop_ticking(self) -> None:
        """Have the thread end after what it does."""
        self._ended.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread's end, unless it is the one that calls."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def tick(self) -> None:
        """Look at the clock, do what is due, and wait for a night's step where one is."""
        with self._ticking:
            busy = self._busy()
            self._checkpoint_if_due(busy)
            run = self._next_run(busy)
            with self._gate:
                now_s = self._clock.monotonic_s()
                self._state, instructions = on_tick(self._state, now_s, self._policy, busy=busy, run=run)
                begun = self._carry_out(instructions)
            if begun is not None:
                self._wait_report(*begun)
        if ExitProcess() in instructions and self._on_idle_exit is not None:
            self._on_idle_exit()

    def _checkpoint_if_due(self, busy: bool) -> None:
        """Have the store make a checkpoint, once in an idle spell, and wait for it."""
        with self._gate:
            if not should_checkpoint(self._state, self._clock.monotonic_s(), busy=busy):
                return
            self._state = msgspec.structs.replace(self._state, checkpointed=True)
        if not self._router.has_route(Checkpoint):  # somebody's own Store need not take it
            return
        try:
            self._router.send(Checkpoint(), _CHECKPOINT_S, trace=self._router.new_id("t")).get()
            self.log_damage = None
        except MnemicError as error:  # what was committed stands in the log as before
            self.log_damage = error if isinstance(error, DamagedStore) else None
            _log.warning("the store's log was not taken over: %s", error.code, extra={"code": error.code})

    def _next_run(self, busy: bool) -> str:
        """The name of the night that is due; empty where none is, where nobody sleeps, or where it cannot be named."""
        if not self._router.has_route(Sleep):
            return ""
        with self._gate:
            now_s = self._clock.monotonic_s()
            if not should_sleep(self._state, now_s, self._policy, busy=busy):
                return ""
        try:
            counts = self._router.send(Count(), _COUNT_S, trace=self._router.new_id("t")).get()
        except MnemicError as error:
            _log.warning("no night can begin: %s", error.code, extra={"code": error.code})
            with self._gate:
                self._state = postpone_sleep(self._state, self._clock.monotonic_s(), self._policy)
            return ""
        return sleep_run_name(self._seed, counts.seq)

    def _carry_out(self, instructions: tuple[Instruction, ...]) -> tuple[str, PendingReply] | None:
        """Send what is to be sent; returns a night whose step is on its way, and where its answer will be."""
        for instruction in instructions:
            if isinstance(instruction, StopSleep):
                self._woken = instruction.run
                self._router.tell(Preempt(run=instruction.run), trace=instruction.run)
            elif isinstance(instruction, StartSleep):
                run, budget_s = instruction.run, instruction.budget_s
                self._woken = "" if self._woken == run else self._woken  # it goes on under its name
                message = Sleep(run=run, seed=sleep_run_seed(self._seed, run), budget_s=budget_s)
                try:
                    return run, self._router.send(message, budget_s + _STEP_GRACE_S, trace=run)
                except MnemicError as error:
                    self._record_outcome(run, None, error.code)
        return None

    def _wait_report(self, run: str, reply: PendingReply) -> None:
        """Wait for what a night has to report."""
        try:
            report = reply.get()
        except MnemicError as error:
            if isinstance(error, DeadlineExceeded):  # it may go on all the same
                self._router.tell(Preempt(run=run), trace=run)
            self._record_outcome(run, None, error.code)
            return
        if isinstance(report, NightReport):
            before = self.last_report
            known = before.changes if before is not None and before.run == run else 0
            self._goes_on = report.behind > 0 or report.changes > known
            self.last_report = report
            self._record_outcome(run, report.finished, "ok")
        else:
            self._record_outcome(run, None, "no_report")

    def _record_outcome(self, run: str, finished: bool | None, code: str) -> None:
        with self._gate:
            self._state = on_sleep_report(self._state, run, self._clock.monotonic_s(), self._policy, finished=finished)
        if finished is not False:  # and not at each while of it
            level = logging.WARNING if finished is None else logging.INFO
            _log.log(level, "night %s: %s", run, code, extra={"trace": run, "code": code})

    def _run_ticks(self, tick_s: float) -> None:
        while not self._ended.wait(_NEXT_SLICE_S if self._state.active_run and self._goes_on else tick_s):
            try:
                self.tick()
            except Exception as error:  # whatever the process's own callback raises: the watch must go on
                _log.error("the watch failed: %s", safe_cause(error))
