"""A figure's interval holds its value, its ratio is of the same runs, and figures of several runs become one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.bench.harness.figures import OURS, Figure, finished, interval_of, mean_figure, ratio_of, value_of

ABOUT = {"part": "quality", "what": "set: MRR", "unit": "share"}
SCORES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30)


def timed(of: str, *values: float, **fields: Any) -> Figure:
    return Figure(part="latency", what="find", of=of, unit="ms", better="less", values=values, **fields)


def test_a_value_is_the_median_of_its_runs_and_what_was_not_measured_has_none() -> None:
    assert value_of(timed(OURS, 3.0, 1.0, 2.0)) == 2.0
    assert value_of(timed(OURS)) is None
    assert interval_of(timed(OURS, 3.0, 1.0, 2.0)) == (1.0, 3.0)
    assert interval_of(timed(OURS, 3.0)) is None, "a single run has no spread"
    assert interval_of(mean_figure([0.5], of=OURS, **ABOUT)) is None


@given(SCORES)
def test_a_mean_lies_in_its_interval(scores: list[float]) -> None:
    figure = mean_figure(scores, of=OURS, **ABOUT)
    assert (value_of(figure), figure.n) == (pytest.approx(sum(scores) / len(scores)), len(scores))
    found = interval_of(figure)
    if found is not None:
        assert min(scores) <= found[0] <= found[1] <= max(scores)


def test_questions_are_drawn_by_conversation_where_there_are_enough_of_these() -> None:
    scores = [0.0] * 10 + [1.0] * 10
    alone = interval_of(mean_figure(scores, of=OURS, **ABOUT))
    few = interval_of(mean_figure(scores, ["a"] * 10 + ["b"] * 10, of=OURS, **ABOUT))
    wide = interval_of(mean_figure(scores, [str(n // 4) for n in range(20)], of=OURS, **ABOUT))
    assert alone is not None
    assert wide is not None
    assert few == alone
    assert wide[0] < alone[0] < alone[1] < wide[1]


@given(SCORES)
def test_what_is_as_good_has_a_ratio_of_1_beyond_doubt(scores: list[float]) -> None:
    figure = mean_figure(scores, of=OURS, **ABOUT)
    assert ratio_of(figure, figure) == ((1.0, 1.0, 1.0) if any(scores) else None)


def test_a_ratio_of_means_is_by_question_and_one_of_runs_by_run() -> None:
    half = ratio_of(mean_figure([0.5, 0.25, 0.5], of=OURS, **ABOUT), mean_figure([1.0, 0.5, 1.0], of="b", **ABOUT))
    assert half == pytest.approx((0.5, 0.5, 0.5)), "each question has it, so there is no doubt"
    assert ratio_of(timed(OURS, 1.0, 2.0, 30.0), timed("b", 2.0, 4.0, 10.0)) == (0.5, 0.5, 3.0)
    assert ratio_of(timed(OURS), timed("b", 1.0)) is None
    assert ratio_of(timed(OURS, 1.0), timed("b", 0.0)) is None


def test_runs_become_one_figure_each_with_its_ratio_to_ours() -> None:
    runs = [timed(OURS, 2.0), timed("b", 1.0), timed("c"), timed(OURS, 4.0), timed("b", 4.0), timed("c")]
    ours, b, c = finished(runs, "abc", "a machine")
    assert (ours.values, ours.interval, ours.ratio) == ((2.0, 4.0), (2.0, 4.0), None)
    assert (b.values, b.ratio) == ((1.0, 4.0), (1.5, 1.0, 2.0))
    assert (c.values, c.ratio, c.commit, c.machine) == ((), None, "abc", "a machine")
    assert b.name == "latency: find, ms, b"


def test_an_interval_that_a_bench_tells_itself_is_kept() -> None:
    (one,) = finished([timed(OURS, 2.0, interval=(1.5, 2.5))], "abc", "a machine")
    assert one.interval == (1.5, 2.5)
