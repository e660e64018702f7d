"""A test finds what is there and no more, an interval covers as often as it says, and many tests are adjusted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.bench.harness.statistics import holm, mean_interval, paired_test


def test_a_gain_on_most_questions_is_found() -> None:
    rng = np.random.default_rng(3)
    baseline = rng.random(200)
    difference, p = paired_test(baseline + 0.1 + 0.1 * rng.standard_normal(200), baseline, seed=1, rounds=500)
    assert difference == pytest.approx(0.1, abs=0.03)
    assert p == pytest.approx(1 / 501)


def test_chance_alone_is_not_a_gain() -> None:
    rng = np.random.default_rng(3)
    assert paired_test(rng.random(200), rng.random(200), seed=1, rounds=500)[1] > 0.05


def test_equal_rankings_differ_by_nothing() -> None:
    same = np.array([0.5, 1.0, 0.0])
    assert paired_test(same, same, seed=1, rounds=50) == (0.0, 1.0)


def test_the_p_value_is_that_of_all_sign_patterns() -> None:
    """Five questions that all gain 1: of the 32 patterns only all plus and all minus are as large."""
    assert paired_test(np.ones(5), np.zeros(5), seed=1, rounds=20_000)[1] == pytest.approx(2 / 32, abs=0.008)


def test_the_test_is_the_same_for_a_seed_and_mirrors_when_sides_change() -> None:
    rng = np.random.default_rng(5)
    one, other = rng.random(30), rng.random(30)
    difference, p = paired_test(one, other, seed=7, rounds=200)
    assert paired_test(one, other, seed=7, rounds=200) == (difference, p)
    assert paired_test(other, one, seed=7, rounds=200) == (pytest.approx(-difference), p)


def test_scores_of_different_questions_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="paired"):
        paired_test(np.zeros(2), np.zeros(3), seed=1)
    with pytest.raises(ValueError, match="paired"):
        paired_test(np.zeros(0), np.zeros(0), seed=1)


def test_an_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for number in range(200):
        low, high = mean_interval(rng.normal(3.0, 1.0, 60), seed=number)
        covered += low <= 3.0 <= high
    assert 180 <= covered <= 198


def test_what_stands_or_falls_together_tells_less() -> None:
    values = np.repeat(np.random.default_rng(1).normal(0.0, 1.0, 20), 10)
    alone, together = mean_interval(values), mean_interval(values, [n // 10 for n in range(200)])
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_a_weight_counts_as_so_many_values() -> None:
    assert mean_interval([1.0, 0.0], ["a", "b"], weights=[3, 1]) == mean_interval([1.0, 1.0, 1.0, 0.0], list("aaab"))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30))
def test_an_interval_lies_within_the_values_and_does_not_go_by_their_order(values: list[float]) -> None:
    low, high = mean_interval(values)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    turned = mean_interval(values[::-1], list(range(len(values)))[::-1])
    assert turned == mean_interval(values[::-1])


def test_of_nothing_there_is_no_interval() -> None:
    for values, weights in (([], None), ([[1.0]], None), ([1.0], [])):
        with pytest.raises(ValueError, match="no interval"):
            mean_interval(values, weights=weights)
    with pytest.raises(ValueError, match="cannot be in 0 clusters"):
        mean_interval([1.0], [])


def test_several_tests_are_adjusted_as_worked_out_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_an_adjusted_test_is_never_below_its_own_and_keeps_the_order(probabilities: list[float]) -> None:
    adjusted = holm(probabilities)
    assert all(own <= one <= 1.0 for own, one in zip(probabilities, adjusted, strict=True))
    assert all(one <= min(1.0, own * len(adjusted)) for own, one in zip(probabilities, adjusted, strict=True))
    order = sorted(range(len(adjusted)), key=lambda place: probabilities[place])
    assert [adjusted[place] for place in order] == sorted(adjusted)
