"""Base-level activation: the sum of powers of ages, as far as times are kept, and never far from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.sleep.activation import DAY_US, HALF_LIKELY_DAYS, base_level, summarise, wanted_again

NOW = 1000 * DAY_US
TIMES = st.lists(st.integers(0, NOW), min_size=1, max_size=40)
KEPT = 4
DECAYS = st.floats(0.05, 0.95)


def level(times: list[int], at: int = NOW, decay: float = 0.5) -> float:
    """Of one memory."""
    uses, first_at, recent = summarise(times, KEPT)
    padded = np.array([[*recent, *[-1] * (KEPT - len(recent))]])
    return float(base_level(np.array([uses]), np.array([first_at]), padded, at, decay)[0])


def exact(times: list[int], at: int = NOW, decay: float = 0.5) -> float:
    """The sum that the approximation stands for."""
    return math.log(sum(max((at - one) / DAY_US, 1.0) ** -decay for one in times if one <= at))


@given(times=st.lists(st.integers(0, NOW), min_size=1, max_size=KEPT), decay=DECAYS)
def test_as_long_as_all_times_are_kept_it_is_exact(times: list[int], decay: float) -> None:
    assert level(times, decay=decay) == pytest.approx(exact(times, decay=decay))


@given(decay=DECAYS)
def test_uses_that_lie_evenly_are_told_by_their_number(decay: float) -> None:
    for count in (5, 20, 200):
        times = np.linspace(0, NOW, count).astype(int).tolist()
        assert level(times, decay=decay) == pytest.approx(exact(times, decay=decay), abs=0.1)


@example(times=[0, 0, 0, *[86401] * 4], decay=0.75)
@given(times=TIMES, decay=DECAYS)
def test_it_lies_between_all_old_uses_at_once_first_and_last(times: list[int], decay: float) -> None:
    ordered = sorted(times)
    old, recent = ordered[:-KEPT], ordered[-KEPT:]
    least = [ordered[0]] * len(old) + recent
    most = [recent[0]] * len(old) + recent
    assert exact(least, decay=decay) - 1e-7 <= level(times, decay=decay) <= exact(most, decay=decay) + 1e-7


@given(times=TIMES)
def test_a_use_takes_nothing_away(times: list[int]) -> None:
    assert level([*times, NOW]) >= level(times) - 1e-9


@given(times=TIMES)
def test_it_fades_with_time(times: list[int]) -> None:
    assert level(times, NOW + 100 * DAY_US) <= level(times)


def test_of_the_time_before_the_first_use_nothing_is_known() -> None:
    assert level([NOW, NOW - DAY_US], NOW - 2 * DAY_US) == -math.inf
    assert wanted_again(np.array([-math.inf]), 0.5).tolist() == [0.0]
    assert level([0, NOW], NOW - 1) == pytest.approx(exact([0], NOW - 1))


def test_of_uses_whose_times_are_not_kept_a_share_lies_before_an_earlier_time() -> None:
    times = [day * DAY_US for day in range(101)]
    then = 50 * DAY_US
    assert level(times, then) == pytest.approx(exact(times, then), abs=0.15)


def test_a_memory_that_was_of_use_once_is_wanted_by_half_after_a_month() -> None:
    for decay in (0.2, 0.5, 0.9):
        month = level([0], round(HALF_LIKELY_DAYS * DAY_US), decay)
        assert wanted_again(np.array([month]), decay)[0] == pytest.approx(0.5)
    often: Any = wanted_again(np.array([level([NOW] * 50), level([NOW]), level([0])]), 0.5)
    assert often[0] > often[1] > often[2] > 0.0
