"""A supervisor has its actor system sleep and wakes it: every instruction of idleness is carried out, in order, and
ends.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import DamagedStore, DiskFull, StoreBusy
from mnemic.actors.sleep.messages import NightReport, Preempt, Sleep
from mnemic.actors.store.messages import Checkpoint, Checkpointed, Count, Counts
from mnemic.runtime.engine.engine import EmbeddedEngine
from mnemic.runtime.engine.idleness import IdlePolicy, sleep_run_name, sleep_run_seed
from mnemic.runtime.engine.supervisor import ActorSpec, Supervisor
from tests.clocks import ManualClock
from tests.harness import ActorHarness
from tests.waiting import BOUND_S, until

SEED = b"seed"
SECRET = "the tea is in the blue tin"


class Do(msgspec.Struct, frozen=True):
    """Somebody wants this done."""

    work: Callable[[Context], Any]


class Worker:
    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Do,)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def handle(self, message: Any, context: Context) -> Any:
        return message.work(context)


class Counter:
    """Counts as a retriever does: gives the log's number that it was told, or raises."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Count,)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def __init__(self, log: list[Any]) -> None:
        self._log = log

    def handle(self, message: Any, context: Context) -> Counts:
        if isinstance(self._log[-1], Exception):
            raise self._log[-1]
        nothing = dict.fromkeys(
            ("memories", "sessions", "text_bytes", "kept_bytes", "embedded", "pending", "partly"), 0
        )
        return Counts(seq=self._log[-1], scopes=(), kinds={}, **nothing)


class Keeper:
    """Stands for the Store: writes down what it was told."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Checkpoint,)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def __init__(self, told: list[Any], full: Callable[[], bool]) -> None:
        self._told = told
        self._full = full

    def handle(self, message: Any, context: Context) -> Checkpointed:
        if self._full():
            raise DiskFull(path="store.db")
        self._told.append(message)
        return Checkpointed(complete=True)


class Sleeper:
    """Answers `Sleep` as a test wants, and writes down what it was told."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Sleep, Preempt)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def __init__(self, told: list[Any], answer: Callable[[Sleep, Context], Any]) -> None:
        self._told = told
        self._answer = answer

    def handle(self, message: Any, context: Context) -> Any:
        self._told.append(message)
        return self._answer(message, context) if isinstance(message, Sleep) else None


def finished(message: Sleep, context: Context) -> NightReport:
    return NightReport(run=message.run, steps=("looked",), changes=0, finished=True)


def unfinished(message: Sleep, context: Context) -> NightReport:
    return NightReport(run=message.run, steps=("looked",), changes=1, finished=False)


class Bedroom:
    """A small actor system that sleeps."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000_000)
        self.log: list[Any] = [7]
        self.told: list[Any] = []
        self.kept: list[Any] = []
        self.full = False
        self.answer: Callable[[Sleep, Context], Any] = finished
        self.supervisor = Supervisor(
            EmbeddedEngine(self.clock, stop_timeout_s=BOUND_S),
            [
                ActorSpec("worker", Worker, Worker),
                ActorSpec("counter", Counter, lambda: Counter(self.log)),
                ActorSpec("keeper", Keeper, lambda: Keeper(self.kept, lambda: self.full)),
                ActorSpec("sleeper", Sleeper, lambda: Sleeper(self.told, lambda *given: self.answer(*given))),
            ],
            clock=self.clock,
            seed=SEED,
            run="run",
            idle_policy=IdlePolicy(sleep_after_s=300.0, sleep_budget_s=60.0, idle_exit_s=900.0),
        )

    def pass_time(self, seconds: float) -> list[Any]:
        """Let time pass, look at the clock once, and give what the sleeper was told because of it."""
        self.clock.advance(seconds)
        known = len(self.told)
        self.supervisor._nights.tick()
        return self.told[known:]

    def want(self) -> None:
        """Have somebody want something."""
        self.supervisor.ask(Do(lambda context: None))

    def runs(self) -> list[str]:
        return [f"{type(one).__name__} {one.run}" for one in self.told]


@pytest.fixture
def bedroom() -> Iterator[Bedroom]:
    before = set(threading.enumerate())
    bedroom = Bedroom()
    yield bedroom
    bedroom.supervisor.stop()
    assert set(threading.enumerate()) <= before


def test_the_store_takes_its_log_over_soon_after_the_last_wish_and_once(bedroom: Bedroom) -> None:
    bedroom.want()
    bedroom.pass_time(4.0)
    assert bedroom.kept == []
    for _ in range(3):
        bedroom.pass_time(1.0)
    assert bedroom.kept == [Checkpoint()]
    bedroom.want()
    bedroom.pass_time(6.0)
    assert bedroom.kept == [Checkpoint(), Checkpoint()]


def test_a_checkpoint_that_fails_is_logged_and_keeps_no_night_from_beginning(
    bedroom: Bedroom, caplog: pytest.LogCaptureFixture
) -> None:
    bedroom.full = True
    bedroom.pass_time(300.0)
    assert "not taken over: disk_full" in caplog.text
    assert bedroom.runs() == [f"Sleep {sleep_run_name(SEED, 7)}"]


def test_that_the_stores_log_is_damaged_is_reported_until_a_checkpoint_succeeds(
    bedroom: Bedroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(keeper: Keeper, message: Any, context: Context) -> Checkpointed:
        raise DamagedStore(path="store.db", why="a test says so", remedy="Do this")

    assert bedroom.supervisor.report().log_damage == ""
    with monkeypatch.context() as patched:
        patched.setattr(Keeper, "handle", damaged)
        bedroom.want()
        bedroom.pass_time(6.0)
    assert "a test says so. Do this" in bedroom.supervisor.report().log_damage
    bedroom.want()
    bedroom.pass_time(6.0)
    assert bedroom.supervisor.report().log_damage == ""


def test_a_actor_system_that_nobody_wants_anything_of_sleeps_with_the_name_and_the_seed_of_its_log(
    bedroom: Bedroom,
) -> None:
    assert bedroom.pass_time(299) == []
    (asked,) = bedroom.pass_time(1)
    run = sleep_run_name(SEED, 7)
    assert asked == Sleep(run=run, seed=sleep_run_seed(SEED, run), budget_s=60.0)
    assert bedroom.supervisor.report().night == NightReport(run=run, steps=("looked",), changes=0, finished=True)


def test_after_a_finished_night_nobody_sleeps_until_something_is_wanted(bedroom: Bedroom) -> None:
    bedroom.pass_time(300)
    assert bedroom.pass_time(300) == []
    bedroom.want()
    assert bedroom.pass_time(299) == []
    assert len(bedroom.pass_time(1)) == 1


def test_looks_at_how_things_are_keep_nobody_awake_and_are_no_requests(bedroom: Bedroom) -> None:
    bedroom.clock.advance(299)
    bedroom.supervisor.ask(Count(), idle=True)
    report = bedroom.supervisor.report()
    assert (report.idle_s, report.requests, report.night) == (299.0, 0, None)
    assert len(bedroom.pass_time(1)) == 1


def test_what_is_told_is_wanted_too(bedroom: Bedroom) -> None:
    bedroom.clock.advance(200)
    bedroom.supervisor.tell(Do(lambda context: None))
    report = bedroom.supervisor.report()
    assert (report.idle_s, report.requests) == (0.0, 1)
    bedroom.want()  # so that the first is done
    assert bedroom.pass_time(200) == []
    assert len(bedroom.pass_time(100)) == 1


def test_a_long_request_is_no_idleness(bedroom: Bedroom) -> None:
    def work(context: Context) -> None:
        bedroom.pass_time(5000)

    bedroom.supervisor.ask(Do(work), timeout_s=BOUND_S)
    assert bedroom.told == []
    assert bedroom.supervisor.report().idle_s == 0.0


def test_while_an_actor_is_at_work_in_the_background_nobody_sleeps_or_leaves(bedroom: Bedroom) -> None:
    begun, go_on = threading.Event(), threading.Event()
    left: list[int] = []
    bedroom.supervisor.start_ticking(BOUND_S, lambda: left.append(1))
    bedroom.supervisor.tell(Do(lambda context: (begun.set(), go_on.wait(BOUND_S))))
    assert begun.wait(BOUND_S)
    assert bedroom.pass_time(5000) == []
    assert left == []
    go_on.set()
    until(lambda: bedroom.supervisor.report().actors[0].handled == 1)
    assert len(bedroom.pass_time(0)) == 1
    assert bedroom.pass_time(0) == []
    assert left == [1]


def test_an_unfinished_night_goes_on_under_its_name_and_ends_with_its_time(bedroom: Bedroom) -> None:
    bedroom.answer = unfinished
    bedroom.pass_time(300)
    bedroom.log.append(8)
    bedroom.pass_time(20)
    bedroom.pass_time(40)
    run, later = sleep_run_name(SEED, 7), sleep_run_name(SEED, 8)
    assert [one.budget_s for one in bedroom.told if isinstance(one, Sleep)] == [60.0, 40.0]
    until(lambda: len(bedroom.told) == 3)
    assert bedroom.runs() == [f"Sleep {run}", f"Sleep {run}", f"Preempt {run}"]
    assert bedroom.pass_time(299) == []
    bedroom.pass_time(1)
    assert bedroom.runs()[3:] == [f"Sleep {later}"]


def test_whoever_wants_something_ends_the_night_and_is_served_by_the_others_meanwhile(bedroom: Bedroom) -> None:
    asleep, woken = threading.Event(), threading.Event()
    is_over: list[bool] = []

    def long(message: Sleep, context: Context) -> NightReport:
        is_over.append(context.cancelled())
        asleep.set()
        assert woken.wait(BOUND_S)
        is_over.append(context.cancelled())
        return unfinished(message, context)

    bedroom.answer = long
    with ThreadPoolExecutor(1) as pool:
        night = pool.submit(bedroom.pass_time, 300)
        assert asleep.wait(BOUND_S)
        bedroom.want()  # answered while the sleeper is in the middle of its step
        woken.set()
        night.result(BOUND_S)
    run = sleep_run_name(SEED, 7)
    until(lambda: len(bedroom.told) == 2)
    assert bedroom.runs() == [f"Sleep {run}", f"Preempt {run}"]
    assert bedroom.pass_time(100) == []
    bedroom.want()
    assert bedroom.runs() == [f"Sleep {run}", f"Preempt {run}"]
    assert is_over == [False, True], "it is seen within the step"
    bedroom.pass_time(300)
    assert bedroom.runs()[2:] == [f"Sleep {run}"], "and it goes on later under its name"
    assert is_over == [False, True, False, False]


@pytest.mark.parametrize("answer", ["a failure", "an error", "no report"])
def test_a_night_that_goes_wrong_is_said_and_tried_again_after_another_spell(
    bedroom: Bedroom, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong(message: Sleep, context: Context) -> Any:
        if answer == "a failure":
            raise ValueError(SECRET)
        if answer == "an error":
            raise StoreBusy(path="/there", waited_s=1.0)
        return SECRET

    bedroom.answer = wrong
    bedroom.pass_time(300)
    assert sleep_run_name(SEED, 7) in caplog.text
    assert SECRET not in caplog.text
    bedroom.answer = finished
    assert bedroom.pass_time(299) == []
    assert len(bedroom.pass_time(1)) == 1
    assert bedroom.supervisor.report().night is not None


def test_a_night_that_does_not_answer_in_time_is_woken(bedroom: Bedroom) -> None:
    asleep, go_on = threading.Event(), threading.Event()

    def late(message: Sleep, context: Context) -> NightReport:
        asleep.set()
        assert go_on.wait(BOUND_S)
        return finished(message, context)

    bedroom.answer = late
    real = bedroom.supervisor._router.send

    def impatient(message: Any, timeout_s: float, **options: Any) -> Any:
        reply = real(message, timeout_s, **options)
        if isinstance(message, Sleep):
            assert timeout_s > message.budget_s
            assert asleep.wait(BOUND_S)
            reply._timeout_s = 0.0
        return reply

    bedroom.supervisor._router.send = impatient  # type: ignore[method-assign]
    bedroom.pass_time(300)
    go_on.set()
    until(lambda: len(bedroom.told) == 2)
    assert isinstance(bedroom.told[1], Preempt)
    assert bedroom.supervisor.report().night is None


def test_where_the_log_cannot_be_asked_no_night_begins_and_it_is_tried_again(
    bedroom: Bedroom, caplog: pytest.LogCaptureFixture
) -> None:
    bedroom.log.append(StoreBusy(path="/there", waited_s=1.0))
    assert bedroom.pass_time(300) == []
    assert "no night can begin: store_busy" in caplog.text
    bedroom.log.append(9)
    assert bedroom.pass_time(299) == []
    (asked,) = bedroom.pass_time(1)
    assert asked.run == sleep_run_name(SEED, 9)


def test_where_nobody_consolidates_nobody_is_asked_to_and_the_process_leaves_all_the_same() -> None:
    clock = ManualClock(0)
    supervisor = Supervisor(
        EmbeddedEngine(clock, stop_timeout_s=BOUND_S),
        [ActorSpec("worker", Worker, Worker)],
        clock=clock,
        seed=SEED,
        run="run",
    )
    left: list[int] = []
    supervisor.start_ticking(BOUND_S, lambda: left.append(1))
    clock.advance(5000)
    supervisor._nights.tick()
    assert left == [1]
    assert supervisor.report().dead_letters == 0
    supervisor.stop()


def test_the_watch_ticks_by_itself_and_the_process_may_stop_everything_from_its_own_call(bedroom: Bedroom) -> None:
    left = threading.Event()

    def leave() -> None:
        bedroom.supervisor.stop()
        left.set()

    bedroom.supervisor.start_ticking(0.001, leave)
    bedroom.clock.advance(900)
    assert left.wait(BOUND_S)
    assert [type(one) for one in bedroom.told] == [Sleep]


def test_a_call_that_raises_does_not_end_the_watch(bedroom: Bedroom, caplog: pytest.LogCaptureFixture) -> None:
    calls = threading.Semaphore(0)

    def leave() -> None:
        calls.release()
        raise OSError(SECRET)

    bedroom.supervisor.start_ticking(0.001, leave)
    for _ in range(2):
        bedroom.clock.advance(900)
        assert calls.acquire(timeout=BOUND_S)
        bedroom.want()
    until(lambda: caplog.text.count("the watch failed: OSError at leave") >= 2)
    assert SECRET not in caplog.text


def test_a_stop_in_the_middle_of_a_night_tells_it_and_waits_for_its_step(bedroom: Bedroom) -> None:
    asleep, cancelled = threading.Event(), threading.Event()

    def long(message: Sleep, context: Context) -> NightReport:
        asleep.set()
        until(context.cancelled)
        cancelled.set()
        return unfinished(message, context)

    bedroom.answer = long
    bedroom.supervisor.start_ticking(0.001)
    bedroom.clock.advance(300)
    assert asleep.wait(BOUND_S)
    bedroom.supervisor.stop()
    assert cancelled.is_set()


def test_a_night_is_logged_by_its_name_and_what_became_of_it(
    bedroom: Bedroom, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mnemic")
    bedroom.pass_time(300)
    run = sleep_run_name(SEED, 7)
    said = [record for record in caplog.records if getattr(record, "trace", "") == run]
    assert [(record.name, record.getMessage()) for record in said] == [
        ("mnemic.supervisor", "sleeper handled Sleep: ok"),
        ("mnemic.nights", f"night {run}: ok"),
    ]


def test_the_default_consolidator_is_reached_from_the_idleness_of_a_real_mind(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        kept = actor_system.keep("the otter sleeps")
        assert kept.created
        actor_system.embed()
        until(lambda: not actor_system.supervisor.is_busy())
        actor_system.clock.advance(300)
        seq = actor_system.supervisor.ask(Count(), idle=True).seq
        while (report := actor_system.supervisor.report()).night is None or not report.night.finished:
            actor_system.supervisor._nights.tick()
        assert report.night.run == sleep_run_name(actor_system.keys.seed, seq)
        assert report.night.steps == ("fingerprints", "communities")
        assert {one.state for one in report.night.stages} == {"done"}
        handled = {one.actor: one.handled for one in report.actors}["consolidator"]
        seq = actor_system.supervisor.ask(Count(), idle=True).seq
        actor_system.clock.advance(300)
        actor_system.supervisor._nights.tick()
        assert {one.actor: one.handled for one in actor_system.supervisor.report().actors}["consolidator"] == handled
        assert actor_system.supervisor.ask(Count(), idle=True).seq == seq
