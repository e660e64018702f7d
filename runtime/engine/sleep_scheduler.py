"""Sleep scheduler: runs background consolidation while nobody asks anything, and stops it when somebody does.

Requests are told here by the threads that make them, and time by a thread of its own, or by a test that moves a clock.
That thread asks for the night's work and waits for it; whoever wakes the night does so from his own thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import DeadlineExceeded, MnemicError
from mnemic.actors.protocol.messages import Count, NightReport, Preempt, Sleep
from mnemic.runtime.engine import idleness
from mnemic.runtime.engine.engine import PendingReply, safe_cause
from mnemic.runtime.engine.idleness import ExitProcess, IdlePolicy, IdleState, Instruction, StartSleep, StopSleep
from mnemic.runtime.engine.router import Router

__all__ = ["SleepScheduler"]

_log = logging.getLogger("mnemic.nights")
_COUNT_S = 60.0
_STEP_GRACE_S = 60.0  # a step that is begun may end, and what it asks for with it


class SleepScheduler:
    """One actor system's idleness. Any thread may tell it what happens; one at a time may tick."""

    def __init__(self, post: Router, busy: Callable[[], bool], clock: Clock, seed: bytes, habits: IdlePolicy) -> None:
        """Begin an idle spell.

        Args:
            busy: tells whether an actor works, or has something to do.
            seed: the mind's seed.
        """
        self._post = post
        self._busy = busy
        self._clock = clock
        self._seed = seed
        self._habits = habits
        self._gate = threading.RLock()  # over the state, and over the order of what is sent because of it
        self._state = IdleState(quiet_since_s=clock.monotonic_s())
        self._ticking = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_idle_exit: Callable[[], None] | None = None
        self.last_report: NightReport | None = None
        """What the last night did, or does so far."""

    @property
    def idle_s(self) -> float:
        """For how long nobody has wanted anything."""
        with self._gate:
            return idleness.idle_s(self._state, self._clock.monotonic_s())

    @property
    def requests(self) -> int:
        """How many times somebody did."""
        return self._state.requests

    def request_started(self) -> None:
        """Somebody wants something: a night that is on is told to end, before anything else is sent."""
        with self._gate:
            self._state, instructions = idleness.on_request(self._state, self._clock.monotonic_s())
            self._carry_out(instructions)

    def request_ended(self) -> None:
        """Somebody got it, or gave up."""
        with self._gate:
            self._state = idleness.on_answer(self._state, self._clock.monotonic_s())

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
            run = self._next_run(busy)
            with self._gate:
                now_s = self._clock.monotonic_s()
                self._state, instructions = idleness.on_tick(self._state, now_s, self._habits, busy=busy, run=run)
                begun = self._carry_out(instructions)
            if begun is not None:
                self._wait_report(*begun)
        if ExitProcess() in instructions and self._on_idle_exit is not None:
            self._on_idle_exit()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _next_run(self, busy: bool) -> str:
        """The name of the night that is due; empty where none is, where nobody sleeps, or where it cannot be named."""
        if not self._post.has_route(Sleep):
            return ""
        with self._gate:
            now_s = self._clock.monotonic_s()
            if not idleness.should_sleep(self._state, now_s, self._habits, busy=busy):
                return ""
        try:
            counts = self._post.send(Count(), _COUNT_S, trace=self._post.new_id("t")).get()
        except MnemicError as error:
            _log.warning("no night can begin: %s", error.code, extra={"code": error.code})
            with self._gate:
                self._state = idleness.postpone_sleep(self._state, self._clock.monotonic_s(), self._habits)
            return ""
        return idleness.sleep_run_name(self._seed, counts.seq)

    def _carry_out(self, instructions: tuple[Instruction, ...]) -> tuple[str, PendingReply] | None:
        """Send what is to be sent; returns a night whose step is on its way, and where its answer will be."""
        for instruction in instructions:
            if isinstance(instruction, StopSleep):
                self._preempt(instruction.run)
            elif isinstance(instruction, StartSleep):
                run, budget_s = instruction.run, instruction.budget_s
                message = Sleep(run=run, seed=idleness.sleep_run_seed(self._seed, run), budget_s=budget_s)
                try:
                    return run, self._post.send(message, budget_s + _STEP_GRACE_S, trace=run)
                except MnemicError as error:
                    self._record_outcome(run, None, error.code)
        return None

    def _wait_report(self, run: str, reply: PendingReply) -> None:
        """Wait for what a night has to report."""
        try:
            report = reply.get()
        except DeadlineExceeded as error:  # it may go on all the same
            self._preempt(run)
            self._record_outcome(run, None, error.code)
        except MnemicError as error:
            self._record_outcome(run, None, error.code)
        else:
            if isinstance(report, NightReport):
                self.last_report = report
                self._record_outcome(run, report.finished, "ok")
            else:
                self._record_outcome(run, None, "no_report")

    def _record_outcome(self, run: str, finished: bool | None, code: str) -> None:
        with self._gate:
            self._state = idleness.on_sleep_report(
                self._state, run, self._clock.monotonic_s(), self._habits, finished=finished
            )
        level = logging.WARNING if finished is None else logging.INFO
        _log.log(level, "night %s: %s", run, code, extra={"trace": run, "code": code})

    def _preempt(self, run: str) -> None:
        self._post.tell(Preempt(run=run), trace=run)

    def _run_ticks(self, tick_s: float) -> None:
        while not self._ended.wait(tick_s):
            try:
                self.tick()
            except Exception as error:  # whatever the process's own callback raises: the watch must go on
                _log.error("the watch failed: %s", safe_cause(error))
