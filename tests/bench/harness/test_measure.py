"""What benches measure with: turns, quantiles, goals, and the verdict over a promise."""

from __future__ import annotations

import pytest

from mnemic.bench.harness.measure import goal, quantiles, take_turns, time_each, verdict


@pytest.mark.parametrize("flaw", [{"lost": ["a text"]}, {"quarantined": 1}, {"check": "page 3"}])
def test_one_flaw_is_enough_to_fail(flaw: dict[str, object]) -> None:
    whole: dict[str, object] = {"lost": [], "quarantined": 0, "check": ""}
    assert verdict(**whole) == {"state": "ok"}
    ((name, what),) = flaw.items()
    assert verdict(**whole | flaw) == {"state": "failed", "why": f"{name}: {what}"}


def test_a_goal_is_met_up_to_itself() -> None:
    assert [goal("ms", measured, 2.0)["met"] for measured in (1.9, 2.0, 2.1)] == [True, True, False]


def test_all_take_their_turn_and_who_is_slow_has_one() -> None:
    done: list[str] = []
    now = 0.0

    def act(name: str, took_s: float) -> None:
        nonlocal now
        done.append(name)
        now += took_s

    tasks = {"quick": lambda: act("quick", 0.001), "slow": lambda: act("slow", 2.0)}
    taken = take_turns(tasks, 3, in_a_row=3, clock=lambda: now, slow_ms=1000)
    assert done == ["quick"] * 3 + ["slow"] * 2 + ["quick"] * 6
    assert {name: [round(each) for each in all_ms] for name, all_ms in taken.items()} == {
        "quick": [1] * 6,
        "slow": [2000],
    }


def test_the_call_that_loads_is_not_timed() -> None:
    given: list[int] = []
    assert len(time_each(given.append, range(3))) == 3
    assert given == [0, 0, 1, 2]
    assert quantiles([1.0, 2.0, 3.0]) == {"p50_ms": 2.0, "p95_ms": pytest.approx(2.9), "n": 3}
