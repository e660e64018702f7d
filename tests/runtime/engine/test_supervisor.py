"""The supervisor routes, answers, restarts and quarantines; nothing it keeps or logs quotes what an actor was told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.contract import CONTRACT, Actor, Context, Setting
from mnemic.actors.kernel.errors import (
    ActorFailed,
    ActorStopped,
    DeadlineExceeded,
    InboxFull,
    InvalidValue,
    MnemicError,
    Quarantined,
    StoreBusy,
)
from mnemic.actors.kernel.message import Envelope
from mnemic.runtime.engine.actor_health import RestartPolicy
from mnemic.runtime.engine.engine import EmbeddedEngine
from mnemic.runtime.engine.supervisor import ActorSpec, Supervisor
from tests.clocks import ManualClock
from tests.waiting import BOUND_S, until

SECRET = "the tea is in the blue tin"


class Do(msgspec.Struct, frozen=True):
    """The left actor runs this with its context."""

    work: Callable[[Context], Any]


class DoToo(msgspec.Struct, frozen=True):
    """The right actor runs this."""

    work: Callable[[Context], Any]


class Both(msgspec.Struct, frozen=True):
    """Both actors take it."""


class Nobody(msgspec.Struct, frozen=True):
    """Nobody takes it."""

    text: str = SECRET


class Doer:
    """Does what it is told."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Do, Both)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def __init__(self, closed: Callable[[], None] = lambda: None) -> None:
        self._closed = closed

    def handle(self, message: Any, context: Context) -> Any:
        return None if isinstance(message, Both) else message.work(context)

    def close(self) -> None:
        self._closed()


class OtherDoer(Doer):
    takes = (DoToo, Both)


class OldDoer(Doer):
    contract = CONTRACT + 1


def supervise(clock: ManualClock, specs: Sequence[ActorSpec] | None = None, **options: Any) -> Supervisor:
    if specs is None:
        specs = [ActorSpec("left", Doer, Doer), ActorSpec("right", OtherDoer, OtherDoer)]
    engine = EmbeddedEngine(clock, stop_timeout_s=BOUND_S)
    return Supervisor(engine, specs, clock=clock, **{"seed": b"seed", "run": "run"} | options)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


@pytest.fixture
def supervisor(clock: ManualClock) -> Iterator[Supervisor]:
    before = set(threading.enumerate())
    supervisor = supervise(clock, policy=RestartPolicy(first_delay_s=0.0, longest_delay_s=0.0))
    yield supervisor
    supervisor.stop()
    assert set(threading.enumerate()) <= before


def fail(context: Context) -> None:
    raise ValueError(SECRET)


# --- routing ---------------------------------------------------------------------------------------------------------


def test_a_message_goes_to_whoever_takes_its_type(supervisor: Supervisor) -> None:
    assert supervisor.ask(Do(lambda context: "left")) == "left"
    assert supervisor.ask(DoToo(lambda context: "right")) == "right"
    assert supervisor.ask(Do(lambda context: context.ask(DoToo(lambda inner: inner.trace)) == context.trace))


def test_each_request_has_a_trace_of_its_own_and_the_time_of_the_face(
    supervisor: Supervisor, clock: ManualClock
) -> None:
    seen = [supervisor.ask(Do(lambda context: (context.trace, context.now))) for _ in range(3)]
    assert len({trace for trace, _ in seen}) == 3
    assert {now for _, now in seen} == {1_000_000}

    def later(context: Context) -> tuple[int, int]:
        clock.advance(5)
        return context.now, context.ask(DoToo(lambda inner: inner.now))

    assert supervisor.ask(Do(later)) == (1_000_000, 1_000_000)


def test_what_is_told_reaches_all_who_take_it(supervisor: Supervisor) -> None:
    supervisor.tell(Both())
    supervisor.ask(Do(lambda context: None))
    supervisor.ask(DoToo(lambda context: None))
    assert supervisor.report().dead_letters == 0


def test_what_two_actors_take_cannot_be_asked(supervisor: Supervisor) -> None:
    with pytest.raises(InvalidValue, match="2 actors take it"):
        supervisor.ask(Both())


def test_what_nobody_takes_cannot_be_asked_and_is_a_dead_letter_when_told(supervisor: Supervisor) -> None:
    with pytest.raises(InvalidValue, match="0 actors take it"):
        supervisor.ask(Nobody())
    supervisor.tell(Nobody())
    supervisor.ask(Do(lambda context: context.tell(Nobody())))
    assert supervisor.report().dead_letters == 2
    assert [(one.actor, one.message, one.reason) for one in supervisor.report().last_dead_letters] == [
        ("-", "Nobody", "no_taker")
    ] * 2
    assert len({one.trace for one in supervisor.report().last_dead_letters}) == 2


def test_dead_letters_are_all_counted_and_the_last_ones_kept_whoever_sends_them(supervisor: Supervisor) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: supervisor.tell(Nobody()), range(1100)))
    assert supervisor.report().dead_letters == 1100
    assert len(supervisor.report().last_dead_letters) == 20


def test_a_tell_that_finds_a_full_inbox_is_a_dead_letter_and_an_ask_is_refused(clock: ManualClock) -> None:
    supervisor = supervise(clock, [ActorSpec("left", Doer, Doer, capacity=1)])
    begun, go_on = threading.Event(), threading.Event()
    supervisor.tell(Do(lambda context: (begun.set(), go_on.wait(BOUND_S))))
    assert begun.wait(BOUND_S)
    supervisor.tell(Do(lambda context: None))
    supervisor.tell(Do(lambda context: None))
    assert [one.reason for one in supervisor.report().last_dead_letters] == ["inbox_full"]
    with pytest.raises(InboxFull):
        supervisor.ask(Do(lambda context: None))
    assert [one.waiting for one in supervisor.report().actors] == [1]
    go_on.set()
    supervisor.stop()


# --- starting --------------------------------------------------------------------------------------------------------


def test_an_actor_of_another_contract_is_refused_before_anything_starts(clock: ManualClock) -> None:
    made: list[str] = []
    specs = [ActorSpec("left", Doer, lambda: made.append("left") or Doer()), ActorSpec("old", OldDoer, OldDoer)]  # type: ignore[func-returns-value]
    before = set(threading.enumerate())
    with pytest.raises(InvalidValue, match="contract"):
        supervise(clock, specs)
    assert made == []
    assert set(threading.enumerate()) <= before


def test_two_actors_of_one_name_are_refused(clock: ManualClock) -> None:
    with pytest.raises(InvalidValue, match="two have one name"):
        supervise(clock, [ActorSpec("left", Doer, Doer), ActorSpec("left", OtherDoer, OtherDoer)])


def test_where_one_actor_cannot_be_made_those_before_it_are_stopped_and_closed(clock: ManualClock) -> None:
    closed: list[str] = []

    def broken() -> Actor:
        raise OSError("no")

    before = set(threading.enumerate())
    with pytest.raises(OSError, match="no"):
        supervise(
            clock,
            [ActorSpec("left", Doer, lambda: Doer(lambda: closed.append("left"))), ActorSpec("x", OtherDoer, broken)],
        )
    assert closed == ["left"]
    assert set(threading.enumerate()) <= before


# --- deadlines -------------------------------------------------------------------------------------------------------


def test_deadlines_shrink_on_the_way(supervisor: Supervisor, clock: ManualClock) -> None:
    handled: list[int] = []

    def outer(context: Context) -> str:
        clock.advance(9)
        assert context.ask(DoToo(lambda inner: "in time"), timeout_s=60.0) == "in time"
        clock.advance(2)  # the face has given up by now, whatever the actor would still allow
        with pytest.raises(DeadlineExceeded) as caught:
            context.ask(DoToo(lambda inner: handled.append(1)), timeout_s=60.0)
        return str(caught.value)

    assert "within 0 s" in supervisor.ask(Do(outer), timeout_s=10.0)
    supervisor.ask(DoToo(lambda context: None))
    assert handled == []


def test_what_was_told_has_no_deadline_and_may_ask_for_as_long_as_it_likes(
    supervisor: Supervisor, clock: ManualClock
) -> None:
    answers: list[Any] = []

    def work(context: Context) -> None:
        clock.advance(3600)
        answers.append(context.ask(DoToo(lambda inner: "answer"), timeout_s=BOUND_S))

    supervisor.tell(Do(work))
    supervisor.ask(Do(lambda context: None), timeout_s=7200.0)
    assert answers == ["answer"]


def test_an_actor_that_asks_itself_is_told_so_by_its_deadline(supervisor: Supervisor) -> None:
    with pytest.raises(DeadlineExceeded):
        supervisor.ask(Do(lambda context: context.ask(Do(lambda inner: None), timeout_s=0.01)), timeout_s=BOUND_S)


# --- chance, progress ------------------------------------------------------------------------------------------------


@given(salt=st.binary(max_size=40), seed=st.binary(min_size=1, max_size=8))
def test_chance_depends_on_seed_actor_message_and_salt_and_on_nothing_else(salt: bytes, seed: bytes) -> None:
    def draw(kind: type, seed: bytes, salt: bytes, run: str) -> int:
        clock = ManualClock(len(run))
        supervisor = supervise(clock, seed=seed, run=run)
        try:
            supervisor.ask(kind(lambda context: None))
            return supervisor.ask(kind(lambda context: context.random(salt).getrandbits(64)))
        finally:
            supervisor.stop()

    first = draw(Do, seed, salt, "one")
    assert draw(Do, seed, salt, "another") == first
    others = {draw(DoToo, seed, salt, "one"), draw(Do, seed + b"x", salt, "one"), draw(Do, seed, salt + b"x", "one")}
    assert first not in others
    assert len(others) == 3


def test_progress_reaches_whoever_asked_and_nobody_else(supervisor: Supervisor) -> None:
    shown: list[tuple[int, int | None]] = []

    def work(context: Context) -> str:
        context.progress(1, 3)
        context.ask(DoToo(lambda inner: inner.progress(2, None)))
        return "done"

    assert supervisor.ask(Do(work)) == "done"
    assert supervisor.ask(Do(work), progress=lambda done, total: shown.append((done, total))) == "done"
    assert shown == [(1, 3), (2, None)]


def test_a_display_that_raises_is_told_no_more_and_the_work_goes_on(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []

    def show(done: int, total: int | None) -> None:
        calls.append(done)
        raise BrokenPipeError(SECRET)

    def work(context: Context) -> str:
        for number in range(3):
            context.progress(number, 3)
        return "done"

    assert supervisor.ask(Do(work), progress=show) == "done"
    assert calls == [0]
    assert "BrokenPipeError" in caplog.text
    assert SECRET not in caplog.text
    assert all(one.failures == 0 for one in supervisor.report().actors)


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_failure_is_counted_with_its_place_and_the_actor_is_made_anew(supervisor: Supervisor) -> None:
    with pytest.raises(ActorFailed):
        supervisor.ask(Do(fail))
    assert supervisor.ask(Do(lambda context: "alive")) == "alive"
    left, right = supervisor.report().actors
    assert (left.actor, left.failures, left.quarantined) == ("left", 1, False)
    assert left.cause.startswith("ValueError at fail (test_supervisor.py:")
    assert (right.failures, right.cause) == (0, "")


def test_an_actor_that_keeps_failing_is_quarantined_with_its_reason_and_the_others_go_on(
    supervisor: Supervisor,
) -> None:
    for _ in range(5):
        with pytest.raises(ActorFailed):
            supervisor.ask(Do(fail))
    with pytest.raises(Quarantined, match="left failed 5 times and was set aside: ValueError at fail"):
        supervisor.ask(Do(lambda context: "alive"))
    supervisor.tell(Do(lambda context: "alive"))
    assert supervisor.ask(DoToo(lambda context: "alive")) == "alive"
    assert [one.quarantined for one in supervisor.report().actors] == [True, False]
    supervisor.stop()
    assert [one.reason for one in supervisor.report().last_dead_letters] == ["quarantined"]


def test_an_instance_that_cannot_be_closed_is_counted_and_replaced(clock: ManualClock) -> None:
    def refuse() -> None:
        raise OSError(SECRET)

    supervisor = supervise(
        clock, [ActorSpec("left", Doer, lambda: Doer(refuse))], policy=RestartPolicy(first_delay_s=0.0)
    )
    with pytest.raises(ActorFailed):
        supervisor.ask(Do(fail))
    assert supervisor.ask(Do(lambda context: "alive")) == "alive"
    (left,) = supervisor.report().actors
    assert left.failures == 2
    assert left.cause.startswith("OSError at refuse")
    supervisor.stop()


def test_nothing_that_is_kept_logged_or_answered_quotes_what_a_failure_said(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    errors: list[MnemicError] = []
    for work in (fail, lambda context: context.ask(DoToo(fail)), lambda context: context.tell(DoToo(fail))):
        supervisor.tell(Do(work))
        try:
            supervisor.ask(Do(work))
        except MnemicError as error:
            errors.append(error)
    supervisor.tell(Nobody())
    supervisor.ask(DoToo(lambda context: None))
    assert errors
    spoken = [str(error) + error.remedy_text + repr(error.operands) + repr(error.__context__) for error in errors]
    shown = [repr(supervisor.report()), caplog.text, *spoken]
    assert not any(SECRET in text for text in shown)
    assert "ValueError at fail" in caplog.text


# --- releasing -------------------------------------------------------------------------------------------------------


def quarantine(supervisor: Supervisor, kind: type = Do) -> None:
    for _ in range(5):
        with pytest.raises(ActorFailed):
            supervisor.ask(kind(fail))
    with pytest.raises(Quarantined):
        supervisor.ask(kind(lambda context: None))


def test_who_is_released_is_made_anew_and_starts_over(supervisor: Supervisor) -> None:
    quarantine(supervisor, Do)
    quarantine(supervisor, DoToo)
    assert supervisor.release_quarantined() == ["left", "right"]
    assert supervisor.release_quarantined() == []
    assert supervisor.ask(Do(lambda context: "alive")) == "alive"
    assert supervisor.ask(DoToo(lambda context: "alive")) == "alive"
    assert [(one.failures, one.quarantined, one.state) for one in supervisor.report().actors] == [
        (5, False, "running")
    ] * 2
    for _ in range(4):
        with pytest.raises(ActorFailed):
            supervisor.ask(Do(fail))
    assert supervisor.ask(Do(lambda context: "alive")) == "alive"


# --- replaying -------------------------------------------------------------------------------------------------------


def test_dead_letters_are_sent_again_as_they_were_oldest_first_and_what_fails_again_comes_back(
    supervisor: Supervisor, clock: ManualClock
) -> None:
    mended = False
    handled: list[tuple[int, str, int]] = []

    def work(number: int) -> Callable[[Context], None]:
        def handle(context: Context) -> None:
            if not mended or number == 2:
                raise StoreBusy(path="/there", waited_s=1.0)
            handled.append((number, context.trace, context.now))

        return handle

    for number in range(4):
        supervisor.tell(Do(work(number)), trace=f"trace {number}")
    supervisor.tell(Nobody())
    supervisor.ask(Do(lambda context: None))
    before = supervisor.report().last_dead_letters
    assert [(one.trace, one.reason, one.replayable) for one in before[1:]] == [
        (f"trace {number}", "store_busy", True) for number in range(4)
    ]
    assert (before[0].message, before[0].replayable) == ("Nobody", False)
    clock.advance(100)
    mended = True
    assert supervisor.replay_dead_letters() == 4
    supervisor.ask(Do(lambda context: None))
    assert handled == [(number, f"trace {number}", 1_000_000) for number in (0, 1, 3)]
    assert [(one.message, one.id) for one in supervisor.report().last_dead_letters] == [
        ("Nobody", before[0].id),
        ("Do", before[3].id),
    ]
    assert supervisor.report().dead_letters == 6


def test_what_was_told_to_somebody_quarantined_is_handled_after_release_and_replay(supervisor: Supervisor) -> None:
    handled: list[int] = []
    quarantine(supervisor)
    supervisor.tell(Do(lambda context: handled.append(1)))
    with pytest.raises(Quarantined):
        supervisor.ask(Do(lambda context: None))
    assert supervisor.replay_dead_letters() == 1  # it comes back: nobody has been released
    with pytest.raises(Quarantined):
        supervisor.ask(Do(lambda context: None))
    assert supervisor.release_quarantined() == ["left"]
    assert supervisor.replay_dead_letters() == 1
    supervisor.ask(Do(lambda context: None))
    assert handled == [1]
    assert supervisor.replay_dead_letters() == 0
    assert supervisor.report().last_dead_letters == []


def test_a_replay_into_a_full_inbox_or_a_stopped_actor_system_loses_nothing(clock: ManualClock) -> None:
    supervisor = supervise(clock, [ActorSpec("left", Doer, Doer, capacity=1)])
    begun, go_on = threading.Event(), threading.Event()
    supervisor.tell(Do(lambda context: (begun.set(), go_on.wait(BOUND_S))))
    assert begun.wait(BOUND_S)
    for _ in range(4):
        supervisor.tell(Do(lambda context: None))
    assert len(supervisor.report().last_dead_letters) == 3
    assert supervisor.replay_dead_letters() == 0
    assert [one.reason for one in supervisor.report().last_dead_letters] == ["inbox_full"] * 3
    go_on.set()
    supervisor.stop()
    assert supervisor.replay_dead_letters() == 0
    letters = supervisor.report().last_dead_letters
    assert [(one.reason, one.replayable) for one in letters] == [("actor_stopped", True)] * 3


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_a_request_may_bring_its_trace_and_everything_it_sets_off_shares_it(supervisor: Supervisor) -> None:
    def work(context: Context) -> tuple[str, str]:
        return context.trace, context.ask(DoToo(lambda inner: inner.trace))

    assert supervisor.ask(Do(work), trace="mine") == ("mine", "mine")
    assert supervisor.ask(Do(work), trace="mine") == ("mine", "mine")
    told: list[str] = []
    supervisor.tell(Do(lambda context: told.append(context.trace)), trace="mine too")
    supervisor.ask(Do(lambda context: None))
    assert told == ["mine too"]


def test_a_request_sent_again_while_it_runs_keeps_its_own_progress(supervisor: Supervisor) -> None:
    shown: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def work(context: Context) -> None:
        begun.set()
        assert go_on.wait(BOUND_S)
        context.progress(2, None)

    with ThreadPoolExecutor(1) as pool:
        again = pool.submit(supervisor.ask, Do(work), BOUND_S, lambda done, total: shown.append(done), "the same")
        assert begun.wait(BOUND_S)
        supervisor.ask(DoToo(lambda context: None), trace="the same")
        go_on.set()
        again.result(BOUND_S)
    assert shown == [2]


def test_a_report_says_how_each_actor_is_and_what_it_has_done(supervisor: Supervisor, clock: ManualClock) -> None:
    supervisor.ask(Do(lambda context: context.ask(DoToo(lambda inner: None))))
    with pytest.raises(ActorFailed):
        supervisor.ask(Do(fail))
    clock.advance(7)
    report = supervisor.report()
    assert (report.engine, report.dead_letters, report.requests, report.idle_s) == ("embedded", 0, 2, 7.0)
    left, right = report.actors
    assert (left.actor, left.state, left.handled, left.failures) == ("left", "resting", 2, 1)
    assert (right.actor, right.state, right.handled, right.failures) == ("right", "running", 1, 0)
    supervisor.ask(Do(lambda context: None))
    assert supervisor.report().actors[0].state == "running"
    quarantine(supervisor, DoToo)
    assert supervisor.report().actors[1].state == "quarantined"
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(report)), type=type(report)) == report


class Notes:
    """An observer that writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, ...]] = []

    def handled(self, actor: str, message: str, outcome: str, took_s: float) -> None:
        self.said.append(("handled", actor, message, outcome, f"{took_s:g}"))

    def restarted(self, actor: str) -> None:
        self.said.append(("restarted", actor))

    def dead_lettered(self, actor: str, message: str, reason: str) -> None:
        self.said.append(("buried", actor, message, reason))


def test_an_observer_is_told_what_becomes_of_every_message_and_how_long_it_took(clock: ManualClock) -> None:
    notes = Notes()
    supervisor = supervise(clock, policy=RestartPolicy(failures=2, first_delay_s=0.0), observer=notes)

    def refuse(context: Context) -> None:
        clock.advance(2)
        raise StoreBusy(path="/there", waited_s=1.0)

    with pytest.raises(StoreBusy):
        supervisor.ask(Do(refuse))
    for _ in range(2):
        with pytest.raises(ActorFailed):
            supervisor.ask(Do(fail))
    supervisor.tell(Do(lambda context: None))
    with pytest.raises(Quarantined):
        supervisor.ask(Do(lambda context: None))
    supervisor.stop()
    assert notes.said == [
        ("handled", "left", "Do", "store_busy", "2"),
        ("restarted", "left"),
        ("handled", "left", "Do", "failure", "0"),
        ("handled", "left", "Do", "failure", "0"),
        ("handled", "left", "Do", "quarantined", "0"),
        ("buried", "left", "Do", "quarantined"),
        ("handled", "left", "Do", "quarantined", "0"),
    ]


def test_one_trace_leads_through_the_log_from_the_face_to_the_last_actor_and_what_it_told(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mnemic")

    def work(context: Context) -> None:
        context.ask(DoToo(lambda inner: inner.tell(Both())))
        context.tell(Nobody())

    supervisor.ask(Do(work), trace="the one")
    supervisor.ask(Do(lambda context: None), trace="another")
    supervisor.ask(DoToo(lambda context: None), trace="another")
    said = [
        (record.actor, record.message_type, record.code)  # type: ignore[attr-defined]
        for record in caplog.records
        if getattr(record, "trace", None) == "the one"
    ]
    assert sorted(said) == [
        ("-", "Nobody", "no_taker"),
        ("left", "Both", "ok"),
        ("left", "Do", "ok"),
        ("right", "Both", "ok"),
        ("right", "DoToo", "ok"),
    ]
    assert all(hasattr(one, "took_ms") for one in caplog.records if one.name == "mnemic.supervisor")


def test_a_request_that_the_runtime_could_not_answer_is_logged_with_its_trace(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    supervisor.stop()
    with pytest.raises(ActorStopped):
        supervisor.ask(Do(lambda context: None), trace="the one")
    (record,) = caplog.records
    assert (record.getMessage(), record.trace) == ("Do was not answered: actor_stopped", "the one")  # type: ignore[attr-defined]


# --- stopping --------------------------------------------------------------------------------------------------------


def test_whoever_works_when_everything_stops_sees_it_finishes_and_can_still_ask_those_started_before(
    clock: ManualClock,
) -> None:
    supervisor = supervise(clock, [ActorSpec("right", OtherDoer, OtherDoer), ActorSpec("left", Doer, Doer)])
    begun = threading.Event()

    def work(context: Context) -> str:
        assert not context.cancelled()
        begun.set()
        until(context.cancelled)
        return str(context.ask(DoToo(lambda inner: "kept")))

    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(supervisor.ask, Do(work), BOUND_S)
        assert begun.wait(BOUND_S)
        pool.submit(supervisor.stop).result(BOUND_S)
        assert asked.result(BOUND_S) == "kept"


def test_a_handler_that_asks_an_actor_which_has_stopped_is_answered_and_the_stop_goes_through(
    clock: ManualClock,
) -> None:
    supervisor = supervise(clock)  # left is started first, so right stops first
    begun, go_on = threading.Event(), threading.Event()

    def work(context: Context) -> None:
        begun.set()
        assert go_on.wait(BOUND_S)
        while True:  # until right has stopped
            context.ask(DoToo(lambda inner: None), timeout_s=BOUND_S)

    supervisor.tell(Do(work))
    assert begun.wait(BOUND_S)
    go_on.set()
    supervisor.stop()
    assert [(one.message, one.reason) for one in supervisor.report().last_dead_letters] == [("Do", "actor_stopped")]


def test_a_stop_closes_the_engine_once_whoever_stops_and_however_often(clock: ManualClock) -> None:
    supervisor = supervise(clock)
    closed: list[int] = []
    supervisor._engine.close = lambda: closed.append(1)  # type: ignore[method-assign]
    start = threading.Barrier(4)

    def stop(_: int) -> None:
        start.wait(BOUND_S)
        supervisor.stop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(stop, range(4)))
    supervisor.stop()
    assert closed == [1]


def test_an_engine_whose_actors_could_not_be_started_is_left_to_whoever_made_it(clock: ManualClock) -> None:
    engine = EmbeddedEngine(clock, stop_timeout_s=BOUND_S)
    closed: list[int] = []
    engine.close = lambda: closed.append(1)  # type: ignore[method-assign]

    def broken() -> Actor:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        Supervisor(engine, [ActorSpec("left", Doer, broken)], clock=clock, seed=b"seed", run="run")
    assert closed == []


def test_after_the_stop_everything_is_refused_and_nothing_is_shown_as_running(supervisor: Supervisor) -> None:
    supervisor.stop()
    with pytest.raises(ActorStopped):
        supervisor.ask(Do(lambda context: None))
    supervisor.tell(Do(lambda context: None))
    assert [one.reason for one in supervisor.report().last_dead_letters] == ["actor_stopped"]
    assert supervisor.report().actors == []


# --- decisions and what is done about them ---------------------------------------------------------------------------


class DecisionLog:
    """An engine that writes down what it is told to do with its actors."""

    name = "notes"

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def start(self, name: str, *rest: Any) -> None:
        """Nothing runs."""

    def restart(self, name: str, delay_s: float) -> None:
        self.told.append((name, delay_s))

    def quarantine(self, name: str, error: Quarantined) -> None:
        self.told.append((name, str(error)))

    def end_quarantine(self, name: str) -> None:
        self.told.append((name, "released"))

    def mailbox_size(self, name: str) -> int:
        return 2


def deciding(engine: Any, seed: bytes = b"seed") -> Supervisor:
    specs = [ActorSpec("store", Doer, Doer), ActorSpec("embedder", OtherDoer, OtherDoer)]
    policy = RestartPolicy(failures=3, first_delay_s=1.0, jitter=0.5)
    return Supervisor(engine, specs, clock=ManualClock(0), seed=seed, run="run", policy=policy)


def failure(supervisor: Supervisor, actor: str) -> None:
    supervisor.failed(
        actor, Envelope(id="m", trace="t", now=1, deadline=None, message=Do(lambda context: None)), ValueError()
    )


def delays(seed: bytes) -> list[float]:
    engine = DecisionLog()
    supervisor = deciding(engine, seed)
    for actor in ("store", "embedder", "store"):
        failure(supervisor, actor)
    return [delay for _, delay in engine.told]


def test_the_jitter_follows_from_the_seed_and_actors_that_fail_together_come_back_apart() -> None:
    assert delays(b"one") == delays(b"one") != delays(b"another")
    first, second, _ = delays(b"one")
    assert first != second
    assert all(0.5 < delay <= 1.0 for delay in (first, second))


def test_an_instance_that_cannot_be_closed_is_a_failure_without_a_decision() -> None:
    engine = DecisionLog()
    supervisor = deciding(engine)
    supervisor.close_failed("store", OSError())
    assert (supervisor.report().actors[0].failures, supervisor.report().actors[0].cause) == (1, "OSError")
    assert engine.told == []


def test_however_failures_and_releases_meet_the_engine_was_told_last_what_the_health_says() -> None:
    engine = DecisionLog()
    supervisor = deciding(engine)
    start = threading.Barrier(2)

    def fail() -> None:
        start.wait(BOUND_S)
        for _ in range(200):
            failure(supervisor, "store")

    def release() -> None:
        start.wait(BOUND_S)
        for _ in range(200):
            supervisor.release_quarantined()

    with ThreadPoolExecutor(2) as pool:
        for job in (pool.submit(fail), pool.submit(release)):
            job.result(BOUND_S)
    quarantined = False
    for _, told in engine.told:
        quarantined = isinstance(told, str) and told != "released"
    store = supervisor.report().actors[0]
    assert (store.quarantined, store.failures) == (quarantined, 200)
