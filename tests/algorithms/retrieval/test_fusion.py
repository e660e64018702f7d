"""Signals keep their scales and add up; ranks are of what is visible alone; a second look stands above the first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.fusion import SignalScores, fuse, rank

values = st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6))


@given(st.lists(st.tuples(values, values, st.booleans()), max_size=20), st.floats(0, 4), st.floats(0, 4))
def test_the_shares_are_the_weighted_scores_and_add_up(
    drawn: list[tuple[float, float, bool]], one: float, other: float
) -> None:
    first, second = (np.array([row[column] for row in drawn], np.float64) for column in (0, 1))
    visible = np.array([row[2] for row in drawn], bool)
    fused = fuse([SignalScores("a", first, one), SignalScores("b", second, other)], visible)
    rows = np.flatnonzero(visible)
    shares = fused.contributions(rows)
    assert list(shares) == ["a", "b"]
    np.testing.assert_allclose(shares["a"], np.nan_to_num(one * first[rows]))
    np.testing.assert_allclose(fused.scores[rows], shares["a"] + shares["b"])
    assert not fused.scores[~visible].any()


def test_what_others_score_changes_no_score() -> None:
    """A weak best match stays weak: no signal is stretched over what happens to be there."""
    alone = fuse([SignalScores("lexical", np.array([0.1]))], np.ones(1, bool))
    beside = fuse([SignalScores("lexical", np.array([0.1, 0.9]))], np.ones(2, bool))
    assert alone.scores[0] == beside.scores[0] == 0.1


def test_no_signals_give_nothing() -> None:
    assert fuse([], np.ones(3, bool)).scores.tolist() == [0.0, 0.0, 0.0]


def test_what_cannot_be_fused_is_refused() -> None:
    visible = np.ones(1, bool)
    with pytest.raises(ValueError, match="two signals are called 'dense'"):
        fuse([SignalScores("dense", np.zeros(1)), SignalScores("dense", np.zeros(1))], visible)
    for weight in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="weight"):
            fuse([SignalScores("dense", np.zeros(1), weight)], visible)
    with pytest.raises(ValueError, match="shape"):
        fuse([SignalScores("dense", np.zeros(2))], visible)
    with pytest.raises(ValueError, match="infinite"):
        fuse([SignalScores("dense", np.array([np.inf]))], visible)
    assert fuse([SignalScores("dense", np.array([np.inf]))], ~visible).scores.tolist() == [0.0]


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=12),
    st.lists(st.floats(-10, 10), min_size=1, max_size=12),
)
def test_a_second_look_stands_above_all_others_whose_order_stays(first: list[float], again: list[float]) -> None:
    scores = np.array(first)
    count = min(len(first), len(again))
    best = np.argsort(-scores, kind="stable")[:count]
    everything = np.ones(len(first), bool)
    fused = fuse([SignalScores("a", scores / 2), SignalScores("b", scores / 2)], everything)
    before = fused.scores.copy()
    fused.replace(best, {"a": np.array(again[:count])})
    shares = fused.contributions(np.arange(len(first)))
    np.testing.assert_allclose(fused.scores, shares["a"] + shares["b"], atol=1e-12)
    np.testing.assert_allclose(shares["a"][best], again[:count])
    others = np.setdiff1d(np.arange(len(first)), best)
    if len(others):
        assert fused.scores[best].min() >= fused.scores[others].max() - 1e-9
        assert (np.diff(fused.scores[others[np.argsort(before[others], kind="stable")]]) >= -1e-9).all()


def test_what_is_not_visible_changes_nothing_of_a_second_look() -> None:
    for hidden in ([], [0.0], [9.0]):
        scores = np.array([-0.1, -0.2, -0.3, *hidden])
        visible = np.array([True, True, True, *(False for _ in hidden)])
        fused = fuse([SignalScores("a", scores)], visible)
        fused.replace(np.array([0, 1]), {"a": np.array([-0.1, -0.25])})
        assert fused.scores.tolist() == [-0.1, -0.25, -0.3, *(0.0 for _ in hidden)]


EARLIEST = int(np.iinfo(np.int64).min)
LATEST = int(np.iinfo(np.int64).max)
entries = st.lists(
    st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from([EARLIEST, -1, 0, 1, LATEST])), max_size=15
)


@given(entries, st.integers(0, 20))
def test_ranking_is_by_score_then_newest_then_row(drawn: list[tuple[int, bool, int]], limit: int) -> None:
    scores = np.array([score for score, _, _ in drawn], np.float64)
    visible = np.array([shown for _, shown, _ in drawn], bool)
    times = np.array([time for _, _, time in drawn], np.int64)
    expected = sorted(np.flatnonzero(visible).tolist(), key=lambda row: (-drawn[row][0], -drawn[row][2], row))
    assert rank(scores, visible, times, limit).tolist() == expected[:limit]


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        rank(np.zeros(1), np.ones(1, bool), np.zeros(1, np.int64), -1)
