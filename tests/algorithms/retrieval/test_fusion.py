"""Standardised signals keep their order, say nothing where there is nothing to say, and add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.retrieval.fusion import SignalScores, fuse, min_max_scale, rank

values = st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6))
rows = st.lists(st.tuples(values, st.booleans()), max_size=20)


def columns(drawn: list[tuple[float, bool]]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    return np.array([score for score, _ in drawn], np.float64), np.array([shown for _, shown in drawn], bool)


@given(rows, st.sampled_from([None, 0.0, -1.0]))
def test_standard_scores_lie_within_0_and_1_in_the_order_they_had(
    drawn: list[tuple[float, bool]], floor: float | None
) -> None:
    scores, visible = columns(drawn)
    standard = min_max_scale(scores, visible, floor=floor)
    assert standard.shape == scores.shape
    assert standard.dtype == np.float64
    assert ((standard >= 0) & (standard <= 1)).all()
    said = visible & ~np.isnan(scores)
    assert not standard[~said].any()
    ordered = standard[said][np.argsort(scores[said], kind="stable")]
    assert (np.diff(ordered) >= 0).all()
    assert not standard.any() or standard.max() == 1.0


@given(rows, st.floats(0.125, 8), st.integers(-1000, 1000))
def test_without_a_floor_unit_and_origin_do_not_matter(
    drawn: list[tuple[float, bool]], unit: float, origin: int
) -> None:
    scores, visible = columns([(round(score) if score == score else score, shown) for score, shown in drawn])
    said = scores[visible & ~np.isnan(scores)]
    if len(said) and np.ptp(said) < 10:  # so near to alike, the origin decides whether they are
        scores = scores * 0
    np.testing.assert_allclose(
        min_max_scale(scores * unit + origin, visible), min_max_scale(scores, visible), atol=1e-6
    )


@given(rows)
def test_what_is_not_visible_changes_no_standard_score(drawn: list[tuple[float, bool]]) -> None:
    scores, visible = columns(drawn)
    alone = min_max_scale(scores[visible], np.ones(int(visible.sum()), bool))
    np.testing.assert_array_equal(min_max_scale(scores, visible)[visible], alone)


def test_a_signal_that_tells_nothing_apart_says_nothing() -> None:
    visible = np.ones(3, bool)
    assert not min_max_scale(np.full(3, 0.7), visible).any()
    assert not min_max_scale(np.float32(0.7) + np.array([0, 1, 2], np.float32) * np.float32(6e-8), visible).any()
    assert not min_max_scale(np.zeros(3), visible, floor=0.0).any()
    assert not min_max_scale(np.array([0.7]), np.ones(1, bool)).any()
    assert not min_max_scale(np.full(3, np.nan), visible).any()
    assert min_max_scale(np.zeros(0), np.zeros(0, bool)).shape == (0,)


def test_with_a_floor_the_only_match_counts_in_full() -> None:
    assert min_max_scale(np.array([2.5]), np.ones(1, bool), floor=0.0).tolist() == [1.0]
    assert min_max_scale(np.array([2.5, 2.5]), np.ones(2, bool), floor=0.0).tolist() == [1.0, 1.0]


def test_with_a_ceiling_a_weak_best_match_stays_weak_and_what_is_above_it_counts_as_it() -> None:
    visible = np.ones(3, bool)
    assert min_max_scale(np.array([0.0, 0.1, 0.2]), visible, floor=0.0, ceiling=1.0).tolist() == [0.0, 0.1, 0.2]
    assert min_max_scale(np.array([-1.0, 1.0, 7.0]), visible, floor=0.0, ceiling=2.0).tolist() == [0.0, 0.5, 1.0]
    assert not min_max_scale(np.zeros(3), visible, floor=0.0, ceiling=1.0).any()
    fused = fuse(
        [SignalScores("structural", np.array([0.0, 0.5, np.nan]), floor=0.0, ceiling=1.0, weight=1.5)], visible
    )
    assert fused.scores.tolist() == [0.0, 0.75, 0.0]


def test_a_missing_score_is_zero_and_outside_the_range() -> None:
    standard = min_max_scale(np.array([np.nan, 0.4, 0.6, 0.8]), np.ones(4, bool))
    np.testing.assert_allclose(standard, [0.0, 0.0, 0.5, 1.0])


def test_an_infinite_score_is_refused_only_where_it_is_visible() -> None:
    scores = np.array([np.inf, 1.0, 2.0])
    with pytest.raises(ValueError, match="infinite"):
        min_max_scale(scores, np.ones(3, bool))
    assert min_max_scale(scores, np.array([False, True, True])).tolist() == [0.0, 0.0, 1.0]


def test_shapes_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        min_max_scale(np.zeros(2), np.ones(3, bool))


@given(
    st.integers(0, 12).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(values, min_size=n, max_size=n), max_size=4),
            st.lists(st.booleans(), min_size=n, max_size=n),
        )
    )
)
def test_shares_add_up_to_the_score(drawn: tuple[list[list[float]], list[bool]]) -> None:
    scores, shown = drawn
    visible = np.array(shown, bool)
    signals = [
        SignalScores(str(place), np.array(one, np.float64), weight=place / 2) for place, one in enumerate(scores)
    ]
    fused = fuse(signals, visible)
    assert list(fused.contributions) == [signal.name for signal in signals]
    total = sum(fused.contributions.values(), np.zeros(len(visible)))
    np.testing.assert_array_equal(fused.scores, total)
    assert not fused.scores[~visible].any()
    assert (fused.scores <= sum(signal.weight for signal in signals) + 1e-9).all()


def test_fusion_outvotes_one_signal_with_two() -> None:
    visible = np.ones(3, bool)
    fused = fuse(
        [
            SignalScores("dense", np.array([0.9, 0.6, 0.1], np.float32)),
            SignalScores("lexical", np.array([0.0, 8.0, 0.0]), floor=0.0),
        ],
        visible,
    )
    assert rank(fused.scores, visible, np.zeros(3, np.int64), 3).tolist() == [1, 0, 2]
    assert fused.contributions["lexical"].tolist() == [0.0, 1.0, 0.0]


def test_signals_of_one_name_or_negative_weight_are_refused() -> None:
    visible = np.ones(1, bool)
    with pytest.raises(ValueError, match="two signals"):
        fuse([SignalScores("dense", np.zeros(1)), SignalScores("dense", np.zeros(1))], visible)
    for weight in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="weight"):
            fuse([SignalScores("dense", np.zeros(1), weight=weight)], visible)


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
