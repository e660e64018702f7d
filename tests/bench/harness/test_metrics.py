"""The metrics equal their definitions on rankings worked out by hand, and keep their bounds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.bench.harness.metrics import any_at, distinct, ndcg_at, reciprocal_rank

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


@given(st.permutations(list(range(8))), st.sets(st.integers(0, 7), min_size=1), st.integers(1, 8))
def test_no_metric_falls_where_a_gold_name_rises(ranking: list[int], gold: set[int], k: int) -> None:
    last = max(place for place, name in enumerate(ranking) if name in gold)
    risen = [ranking[last], *ranking[:last], *ranking[last + 1 :]]
    assert any_at(risen, gold, k) >= any_at(ranking, gold, k)
    assert reciprocal_rank(risen, gold) >= reciprocal_rank(ranking, gold)
    assert ndcg_at(risen, gold, 8) >= ndcg_at(ranking, gold, 8) - 1e-12


@given(st.permutations(list(range(8))), st.sets(st.integers(0, 9), min_size=1), st.integers(1, 10))
def test_no_metric_goes_by_what_things_are_called(ranking: list[int], gold: set[int], k: int) -> None:
    named, golden = [f"m{one}" for one in ranking], {f"m{one}" for one in gold}
    assert any_at(named, golden, k) == any_at(ranking, gold, k)
    assert reciprocal_rank(named, golden) == reciprocal_rank(ranking, gold)
    assert ndcg_at(named, golden, k) == ndcg_at(ranking, gold, k)


@pytest.fixture(scope="module")
def ranx() -> Any:
    """A second implementation, interpreted: to compile it takes a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        return pytest.importorskip("ranx", reason="a second implementation, ranx, comes with mnemic[bench]")


@pytest.mark.filterwarnings("ignore")  # of what the other one imports
@given(st.permutations([f"m{one}" for one in range(8)]), st.sets(st.integers(0, 9), min_size=1), st.integers(1, 10))
def test_every_metric_is_what_another_implementation_makes_of_it(
    ranx: Any, ranking: list[str], gold: set[int], k: int
) -> None:
    golden = {f"m{one}" for one in gold}
    judged = ranx.Qrels({"q": dict.fromkeys(golden, 1)})
    ranked = ranx.Run({"q": {name: 1.0 / place for place, name in enumerate(ranking, 1)}})
    told = ranx.evaluate(judged, ranked, [f"hit_rate@{k}", "mrr", f"ndcg@{k}"])
    assert any_at(ranking, golden, k) == pytest.approx(told[f"hit_rate@{k}"])
    assert reciprocal_rank(ranking, golden) == pytest.approx(told["mrr"])
    assert ndcg_at(ranking, golden, k) == pytest.approx(told[f"ndcg@{k}"])
