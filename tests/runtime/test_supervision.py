"""What becomes of an actor that fails: a delay that doubles, then quarantine, exactly as the policy says."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mnemic.runtime.supervision import Health, Policy, Quarantine, Restart, on_failure

POLICY = Policy(failures=5, window_s=60.0, first_delay_s=0.05, longest_delay_s=0.3)


def test_delays_double_up_to_the_longest_and_the_last_failure_in_the_window_means_quarantine() -> None:
    health = Health()
    instructions = []
    for number in range(5):
        health, instruction = on_failure(health, float(number), f"cause {number}", POLICY)
        instructions.append(instruction)
    assert instructions[:4] == [Restart(0.05), Restart(0.1), Restart(0.2), Restart(0.3)]
    assert instructions[4] == Quarantine("cause 4")
    assert (health.failures, health.cause, health.quarantined) == (5, "cause 4", True)


def test_a_failure_that_left_the_window_counts_no_more_for_the_delay_and_still_in_the_total() -> None:
    health, _ = on_failure(Health(), 0.0, "a", POLICY)
    inside, instruction = on_failure(health, 60.0, "b", POLICY)
    assert instruction == Restart(0.1)
    outside, instruction = on_failure(health, 60.001, "b", POLICY)
    assert instruction == Restart(0.05)
    assert (inside.failures, outside.failures) == (2, 2)
    assert (len(inside.failed_at_s), len(outside.failed_at_s)) == (2, 1)


def test_a_policy_of_one_failure_means_quarantine_at_once() -> None:
    assert on_failure(Health(), 0.0, "a", Policy(failures=1))[1] == Quarantine("a")


def test_whoever_is_set_aside_stays_so() -> None:
    health = Health(quarantined=True, failures=5, cause="a")
    after, instruction = on_failure(health, 1e6, "b", POLICY)
    assert after.quarantined
    assert instruction == Quarantine("b")


@pytest.mark.parametrize("failures", [1200, 5000])
def test_no_number_of_failures_overflows_the_delay(failures: int) -> None:
    health = Health(failed_at_s=(0.0,) * (failures - 2))
    _, instruction = on_failure(health, 0.0, "a", Policy(failures=failures))
    assert instruction == Restart(5.0)


class Failing(RuleBasedStateMachine):
    """Any actor's life of failures against a model that keeps every time."""

    @initialize(
        failures=st.integers(1, 6), window_s=st.sampled_from([1.0, 10.0]), longest_s=st.sampled_from([0.0, 0.2, 5.0])
    )
    def begin(self, failures: int, window_s: float, longest_s: float) -> None:
        self.policy = Policy(failures=failures, window_s=window_s, longest_delay_s=longest_s)
        self.health = Health()
        self.times: list[float] = []
        self.now = 0.0
        self.set_aside = False

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 9.0, 10.5]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(cause=st.text(max_size=3))
    def fail(self, cause: str) -> None:
        self.times.append(self.now)
        recent = sum(self.now - time <= self.policy.window_s for time in self.times)
        self.set_aside = self.set_aside or recent >= self.policy.failures
        self.health, instruction = on_failure(self.health, self.now, cause, self.policy)
        if self.set_aside:
            assert instruction == Quarantine(cause)
        else:
            assert instruction == Restart(min(self.policy.longest_delay_s, 0.05 * 2 ** (recent - 1)))
        assert self.health.cause == cause

    @invariant()
    def health_tells_the_truth(self) -> None:
        assert self.health.failures == len(self.times)
        assert self.health.quarantined == self.set_aside
        assert len(self.health.failed_at_s) <= len(self.times)


TestFailing = Failing.TestCase
