"""What was tried against a failure is read from the steps after it, and what of that mended it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.steps.fixes import MAX_STEPS, Attempt, DoneStep, attempts

NO_YAML, NO_TIDE = frozenset({"no module named …"}), frozenset({"keyerror"})


def step(told: str, errors: frozenset[str] = frozenset()) -> DoneStep:
    """``action tool outcome``."""
    action, tool, *outcome = told.split()
    return DoneStep(action, "", tool, outcome[0] if outcome else "", errors)


FAILED = step("test pytest failed", NO_YAML)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (["install pip ok", "test pytest ok"], [Attempt(1, True)]),
        (["read cat ok", "install pip ok", "search grep ok", "test pytest ok"], [Attempt(2, True)]),
        (["edit Edit ok", "install pip ok", "test pytest ok"], [Attempt(2, True)]),  # the last that was done
        (["test pytest ok"], [Attempt(1, True)]),  # run in another way
        (["read cat ok", "test pytest ok"], [Attempt(2, True)]),
        (["edit Edit ok"], []),  # nobody looked whether it helped
        (["install pip failed", "test pytest ok"], [Attempt(2, True)]),  # what failed itself mended nothing
        (["lint ruff ok", "edit Edit ok", "test pytest ok", "edit Edit ok"], [Attempt(2, True)]),
        ([], []),
    ],
)
def test_what_was_done_last_before_the_check_ends_well_mended_it(later: list[str], expected: list[Attempt]) -> None:
    assert attempts([FAILED, *map(step, later)]) == expected


def test_what_did_not_help_is_told_before_what_did() -> None:
    later = [step("edit Edit ok"), step("test pytest failed", NO_YAML), step("install pip ok"), step("test pytest ok")]
    assert attempts([FAILED, *later]) == [Attempt(1, False), Attempt(3, True)]


def test_a_failure_is_over_once_the_check_fails_otherwise() -> None:
    assert attempts([FAILED, step("install pip ok"), step("test pytest failed", NO_TIDE)]) == [Attempt(1, True)]
    nothing_said = step("test pytest failed")
    assert attempts([FAILED, step("install pip ok"), nothing_said]) == [Attempt(1, False)]


steps = st.builds(
    DoneStep,
    st.sampled_from(("test", "edit", "read", "install", "run")),
    st.just(""),
    st.sampled_from(("pytest", "Edit", "pip")),
    st.sampled_from(("ok", "failed", "")),
    st.sampled_from((NO_YAML, NO_TIDE, frozenset[str]())),
)


@given(st.lists(steps, max_size=30))
def test_attempts_come_in_order_and_only_the_last_one_worked(later: list[DoneStep]) -> None:
    found = attempts([FAILED, *later])
    places = [one.place for one in found]
    assert places == sorted(set(places))
    assert all(1 <= place <= min(len(later), MAX_STEPS) for place in places)
    assert not any(one.worked for one in found[:-1])
    assert attempts([FAILED, *later[:MAX_STEPS]]) == found
