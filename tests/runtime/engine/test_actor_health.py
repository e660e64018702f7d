"""What becomes of an actor that fails: a delay that doubles, then quarantine until it is released, by the policy."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mnemic.runtime.engine.actor_health import (
    FailureHistory,
    Quarantine,
    Restart,
    RestartPolicy,
    on_failure,
    on_release,
)

POLICY = RestartPolicy(failures=5, window_s=60.0, first_delay_s=0.05, longest_delay_s=0.3, jitter=0.5)


def test_delays_double_up_to_the_longest_and_the_last_failure_in_the_window_means_quarantine() -> None:
    health = FailureHistory()
    instructions = []
    for number in range(5):
        health, instruction = on_failure(health, float(number), f"cause {number}", POLICY, 0.0)
        instructions.append(instruction)
    assert instructions[:4] == [Restart(0.05), Restart(0.1), Restart(0.2), Restart(0.3)]
    assert instructions[4] == Quarantine("cause 4")
    assert (health.failures, health.cause, health.quarantined) == (5, "cause 4", True)


def test_chance_shortens_every_delay_the_longest_too() -> None:
    crowded = FailureHistory(failed_at_s=(0.0,) * 3)
    assert on_failure(FailureHistory(), 0.0, "a", POLICY, 0.5)[1] == Restart(0.05 * 0.75)
    assert on_failure(crowded, 0.0, "a", POLICY, 0.5)[1] == Restart(0.3 * 0.75)


def test_a_failure_that_left_the_window_counts_no_more_for_the_delay_and_still_in_the_total() -> None:
    health, _ = on_failure(FailureHistory(), 0.0, "a", POLICY, 0.0)
    inside, instruction = on_failure(health, 60.0, "b", POLICY, 0.0)
    assert instruction == Restart(0.1)
    outside, instruction = on_failure(health, 60.001, "b", POLICY, 0.0)
    assert instruction == Restart(0.05)
    assert (inside.failures, outside.failures) == (2, 2)
    assert (len(inside.failed_at_s), len(outside.failed_at_s)) == (2, 1)


def test_a_policy_of_one_failure_means_quarantine_at_once() -> None:
    assert on_failure(FailureHistory(), 0.0, "a", RestartPolicy(failures=1), 0.0)[1] == Quarantine("a")


def test_whoever_is_quarantined_stays_so_and_whoever_is_released_starts_over_with_his_total() -> None:
    health = FailureHistory(quarantined=True, failures=5, cause="a")
    after, instruction = on_failure(health, 1e6, "b", POLICY, 0.0)
    assert after.quarantined
    assert instruction == Quarantine("b")
    released = on_release(after)
    assert released == FailureHistory(failures=6, cause="b")
    assert on_failure(released, 1e6, "c", POLICY, 0.0)[1] == Restart(0.05)


@pytest.mark.parametrize("failures", [1200, 5000])
def test_no_number_of_failures_overflows_the_delay(failures: int) -> None:
    health = FailureHistory(failed_at_s=(0.0,) * (failures - 2))
    _, instruction = on_failure(health, 0.0, "a", RestartPolicy(failures=failures), 0.0)
    assert instruction == Restart(5.0)


class Failing(RuleBasedStateMachine):
    """Any actor's life of failures and releases against a model that keeps every time."""

    @initialize(
        failures=st.integers(1, 6),
        window_s=st.sampled_from([1.0, 10.0]),
        longest_s=st.sampled_from([0.0, 0.2, 5.0]),
        jitter=st.sampled_from([0.0, 0.25, 1.0]),
    )
    def begin(self, failures: int, window_s: float, longest_s: float, jitter: float) -> None:
        self.policy = RestartPolicy(failures=failures, window_s=window_s, longest_delay_s=longest_s, jitter=jitter)
        self.health = FailureHistory()
        self.total = 0
        self.times: list[float] = []  # since the last release
        self.now = 0.0
        self.quarantined = False

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 9.0, 10.5]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(cause=st.text(max_size=3), draw=st.floats(0.0, 1.0, exclude_max=True))
    def fail(self, cause: str, draw: float) -> None:
        self.times.append(self.now)
        self.total += 1
        recent = sum(self.now - time <= self.policy.window_s for time in self.times)
        self.quarantined = self.quarantined or recent >= self.policy.failures
        self.health, instruction = on_failure(self.health, self.now, cause, self.policy, draw)
        if self.quarantined:
            assert instruction == Quarantine(cause)
        else:
            assert isinstance(instruction, Restart)
            whole = min(self.policy.longest_delay_s, 0.05 * 2 ** (recent - 1))
            assert whole * (1 - self.policy.jitter) <= instruction.delay_s <= whole <= self.policy.longest_delay_s
            _, same = on_failure(self.before, self.now, cause, self.policy, draw)
            assert same == instruction
        assert self.health.cause == cause

    @rule()
    def release(self) -> None:
        self.health = on_release(self.health)
        self.times, self.quarantined = [], False

    @invariant()
    def health_tells_the_truth(self) -> None:
        self.before = self.health
        assert self.health.failures == self.total
        assert self.health.quarantined == self.quarantined
        assert len(self.health.failed_at_s) <= len(self.times)


TestFailing = Failing.TestCase
