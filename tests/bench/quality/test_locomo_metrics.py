"""The metrics equal their definitions on rankings worked out by hand, and the test finds what is there and no more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.bench.quality.locomo import any_at, distinct, ndcg_at, paired_test, reciprocal_rank

RANKING = ["a", "b", "c", "d"]


def test_sessions_stand_where_their_first_hit_stands() -> None:
    assert distinct(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]
    assert distinct([]) == []


def test_any_at_looks_at_the_first_k() -> None:
    assert any_at(RANKING, {"c"}, 3) == 1.0
    assert any_at(RANKING, {"c"}, 2) == 0.0
    assert any_at([], {"c"}, 5) == 0.0


def test_reciprocal_rank_is_of_the_first_gold_name() -> None:
    assert reciprocal_rank(RANKING, {"d", "b"}) == 0.5
    assert reciprocal_rank(RANKING, {"z"}) == 0.0


def test_the_ideal_gain_counts_gold_that_was_not_found() -> None:
    assert ndcg_at(RANKING, {"a"}, 10) == 1.0
    assert ndcg_at(RANKING, {"b"}, 10) == pytest.approx(1 / math.log2(3))
    both = 1 + 1 / math.log2(3)
    assert ndcg_at(RANKING, {"a", "z"}, 10) == pytest.approx(1 / both)
    assert ndcg_at(RANKING, {"a", "c"}, 2) == pytest.approx(1 / both)
    assert ndcg_at(RANKING, {"a", "b", "c"}, 2) == pytest.approx(1.0)


def test_a_question_without_gold_has_no_gain() -> None:
    with pytest.raises(ValueError, match="gold"):
        ndcg_at(RANKING, set(), 10)


@given(st.permutations(list(range(8))), st.sets(st.integers(0, 9), min_size=1), st.integers(1, 10))
def test_every_metric_lies_within_0_and_1(ranking: list[int], gold: set[int], k: int) -> None:
    for value in (any_at(ranking, gold, k), reciprocal_rank(ranking, gold), ndcg_at(ranking, gold, k)):
        assert 0.0 <= value <= 1.0 + 1e-12


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
