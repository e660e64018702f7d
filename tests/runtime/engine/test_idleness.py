"""An actor system sleeps when nobody wants anything, once until somebody does, and its process leaves after a while."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mnemic.runtime.engine.idleness import (
    SETTINGS,
    ExitProcess,
    IdlePolicy,
    IdleState,
    Instruction,
    StartSleep,
    StopSleep,
    idle_policy_from,
    idle_s,
    on_answer,
    on_request,
    on_sleep_report,
    on_tick,
    postpone_sleep,
    should_checkpoint,
    should_sleep,
    sleep_run_name,
    sleep_run_seed,
)
from mnemic.runtime.engine.settings import Settings

IDLE_POLICY = IdlePolicy(sleep_after_s=300.0, sleep_budget_s=60.0, idle_exit_s=900.0)
START = IdleState(quiet_since_s=0.0)


def tick(
    state: IdleState, now_s: float, *, busy: bool = False, run: str = "n"
) -> tuple[IdleState, tuple[Instruction, ...]]:
    return on_tick(state, now_s, IDLE_POLICY, busy=busy, run=run)


def report(state: IdleState, run: str, now_s: float, finished: bool | None) -> IdleState:
    return on_sleep_report(state, run, now_s, IDLE_POLICY, finished=finished)


def test_a_night_begins_once_nobody_has_wanted_anything_for_long_enough() -> None:
    assert tick(START, 299.9) == (START, ())
    state, instructions = tick(START, 300.0)
    assert instructions == (StartSleep("n", 60.0),)
    assert state.active_run == "n"


def test_an_open_request_keeps_everybody_awake_however_long_it_takes_and_the_spell_begins_with_its_answer() -> None:
    state, _ = on_request(START, 10.0)
    assert tick(state, 5000.0) == (state, ())
    assert idle_s(state, 5000.0) == 0.0
    state = on_answer(state, 5000.0)
    assert tick(state, 5299.0)[1] == ()
    assert tick(state, 5300.0)[1] == (StartSleep("n", 60.0),)


def test_of_two_requests_the_last_answer_begins_the_spell() -> None:
    state, _ = on_request(on_request(START, 1.0)[0], 2.0)
    state = on_answer(state, 3.0)
    assert tick(state, 4000.0)[1] == ()
    assert idle_s(on_answer(state, 4.0), 10.0) == 6.0


def test_a_request_ends_the_night_once_and_goes_before_it() -> None:
    state, _ = tick(START, 300.0)
    state, instructions = on_request(state, 310.0)
    assert instructions == (StopSleep("n"),)
    assert on_request(state, 310.0)[1] == ()


def test_a_night_that_is_not_finished_goes_on_under_its_name_until_its_time_is_used_up() -> None:
    state, _ = tick(START, 300.0)
    state = report(state, "n", 310.0, finished=False)
    state, instructions = tick(state, 311.0, run="another")
    assert instructions == (StartSleep("n", 49.0),)
    state, instructions = tick(report(state, "n", 359.0, finished=False), 360.0)
    assert instructions == (StopSleep("n"),)
    assert tick(state, 659.0, run="m")[1] == ()
    assert tick(state, 660.0, run="m")[1] == (StartSleep("m", 60.0),)


def test_after_a_finished_night_none_begins_until_somebody_wants_something() -> None:
    state, _ = tick(START, 300.0)
    state = report(state, "n", 301.0, finished=True)
    assert not should_sleep(state, 1e9, IDLE_POLICY, busy=False)
    state = on_answer(on_request(state, 2000.0)[0], 2000.0)
    assert tick(state, 2300.0)[1] == (StartSleep("n", 60.0),)


def test_a_night_that_failed_or_could_not_begin_is_tried_again_only_after_another_spell() -> None:
    for state in (report(tick(START, 300.0)[0], "n", 310.0, None), postpone_sleep(START, 310.0, IDLE_POLICY)):
        assert tick(state, 609.0)[1] == ()
        assert tick(state, 610.0)[1] == (StartSleep("n", 60.0),)


def test_what_a_night_says_after_it_was_woken_counts_no_more() -> None:
    state, _ = on_request(tick(START, 300.0)[0], 310.0)
    assert report(state, "n", 311.0, finished=True) == state


def test_the_process_may_leave_until_somebody_wants_something_and_not_while_there_is_work() -> None:
    rested = msgspec.structs.replace(START, slept=True)
    assert tick(rested, 899.0)[1] == ()
    assert tick(rested, 900.0, busy=True)[1] == ()
    for now_s in (900.0, 901.0):
        assert tick(rested, now_s) == (rested, (ExitProcess(),))
    state = on_answer(on_request(rested, 5000.0)[0], 5000.0)
    assert tick(state, 5899.0, run="")[1] == ()
    assert tick(state, 5900.0, run="")[1] == (ExitProcess(),)


def test_a_process_that_stays_goes_on_with_what_its_nights_left_over() -> None:
    state = report(tick(START, 300.0)[0], "n", 359.0, finished=None)
    assert tick(state, 658.0)[1] == ()
    assert tick(postpone_sleep(START, 800.0, IDLE_POLICY), 901.0)[1] == (ExitProcess(),)
    assert tick(postpone_sleep(START, 800.0, IDLE_POLICY), 1100.0)[1] == (StartSleep("n", 60.0),)


def test_where_no_night_can_be_named_none_begins() -> None:
    assert tick(START, 300.0, run="") == (START, ())


def test_busy_actors_delay_the_night() -> None:
    assert tick(START, 400.0, busy=True) == (START, ())
    assert tick(START, 401.0)[1] == (StartSleep("n", 60.0),)


def test_the_log_is_taken_over_once_in_an_idle_spell_and_again_after_a_night() -> None:
    assert not should_checkpoint(START, 4.9, busy=False)
    assert should_checkpoint(START, 5.0, busy=False)
    assert not should_checkpoint(START, 5.0, busy=True)
    done = msgspec.structs.replace(START, checkpointed=True)
    assert not should_checkpoint(done, 100.0, busy=False)
    wanted, _ = on_request(done, 100.0)
    assert not should_checkpoint(wanted, 200.0, busy=False)
    assert should_checkpoint(on_answer(wanted, 200.0), 205.0, busy=False)
    night, _ = tick(done, 300.0)
    assert not should_checkpoint(msgspec.structs.replace(night, checkpointed=False), 310.0, busy=False)
    assert should_checkpoint(report(night, "n", 320.0, finished=True), 320.0, busy=False)


def test_the_idle_policy_is_what_the_settings_say() -> None:
    assert idle_policy_from(Settings().values()) == IdlePolicy()
    assert {setting.name for setting in SETTINGS} == {f"runtime.{name}" for name in IdlePolicy.__struct_fields__}
    changed = Settings({"runtime.sleep_after_s": 1.0, "runtime.sleep_budget_s": 2.0, "runtime.idle_exit_s": 3.0})
    assert idle_policy_from(changed.values()) == IdlePolicy(1.0, 2.0, 3.0)


@given(seed=st.binary(min_size=1), other=st.binary(min_size=1), seq=st.integers(0, 2**62))
def test_a_night_follows_from_the_minds_seed_and_its_log_alone(seed: bytes, other: bytes, seq: int) -> None:
    name = sleep_run_name(seed, seq)
    assert name == sleep_run_name(seed, seq) != sleep_run_name(seed, seq + 1)
    assert (
        sleep_run_seed(seed, name) == sleep_run_seed(seed, name) != sleep_run_seed(seed, sleep_run_name(seed, seq + 1))
    )
    assert len(sleep_run_seed(seed, name)) == 32
    if seed != other:
        assert name != sleep_run_name(other, seq)
        assert sleep_run_seed(seed, name) != sleep_run_seed(other, name)


class Living(RuleBasedStateMachine):
    """Requests, answers, reports and time in any order, against a model that keeps what happened."""

    @initialize(after_s=st.sampled_from([1.0, 5.0]), exit_s=st.sampled_from([0.5, 5.0, 20.0]))
    def begin(self, after_s: float, exit_s: float) -> None:
        self.idle_policy = IdlePolicy(sleep_after_s=after_s, sleep_budget_s=2.0, idle_exit_s=exit_s)
        self.state = IdleState(quiet_since_s=0.0)
        self.now = 0.0
        self.open = 0
        self.requests = 0
        self.touched = 0.0
        self.night = ""
        self.began = 0.0
        self.ended: float | None = None  # when the last night ended unfinished
        self.finished = False
        self.nights = 0

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 3.0, 30.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def request(self) -> None:
        self.state, instructions = on_request(self.state, self.now)
        assert instructions == ((StopSleep(self.night),) if self.night else ())
        self.open += 1
        self.requests += 1
        self.touched = self.now
        self.night, self.finished, self.ended = "", False, None

    @precondition(lambda self: self.open)
    @rule()
    def answer(self) -> None:
        self.state = on_answer(self.state, self.now)
        self.open -= 1
        self.touched = self.now

    @rule(finished=st.sampled_from([True, False, None]), late=st.booleans())
    def hear(self, finished: bool | None, late: bool) -> None:
        run = "an older night" if late else self.night
        if not run:
            return
        self.state = on_sleep_report(self.state, run, self.now, self.idle_policy, finished=finished)
        if not late and finished is not False:
            self.night, self.finished = "", bool(finished)
            self.ended = None if finished else self.now

    @rule(busy=st.booleans(), named=st.booleans())
    def tick(self, busy: bool, named: bool) -> None:
        run = f"night {self.nights}" if named else ""
        self.state, instructions = on_tick(self.state, self.now, self.idle_policy, busy=busy, run=run)
        quiet_s = self.now - self.touched
        for instruction in instructions:
            if instruction == ExitProcess():
                assert not self.open
                assert not self.night
                assert not busy
                assert quiet_s >= self.idle_policy.idle_exit_s
            elif isinstance(instruction, StartSleep):
                assert not self.open
                assert 0 < instruction.budget_s <= self.idle_policy.sleep_budget_s
                if self.night:
                    assert instruction.run == self.night
                    assert instruction.budget_s == self.began + self.idle_policy.sleep_budget_s - self.now
                else:
                    assert not busy
                    assert not self.finished
                    assert quiet_s >= self.idle_policy.sleep_after_s
                    assert self.ended is None or self.now - self.ended >= self.idle_policy.sleep_after_s
                    self.night, self.began = instruction.run, self.now
                    self.nights += 1
            else:
                assert instruction == StopSleep(self.night)
                assert self.now >= self.began + self.idle_policy.sleep_budget_s
                self.night, self.ended = "", self.now
        assert len(instructions) <= 1

    @invariant()
    def the_state_tells_the_truth(self) -> None:
        if hasattr(self, "state"):
            assert (self.state.open_requests, self.state.requests, self.state.active_run) == (
                self.open,
                self.requests,
                self.night,
            )
            assert self.state.quiet_since_s == self.touched


TestLiving = Living.TestCase


@pytest.mark.parametrize("open_requests", [0, 1])
def test_more_answers_than_requests_do_no_harm(open_requests: int) -> None:
    state = msgspec.structs.replace(START, open_requests=open_requests)
    assert on_answer(on_answer(state, 1.0), 2.0).open_requests == 0
