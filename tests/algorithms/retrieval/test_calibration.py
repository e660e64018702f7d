"""A probability grows with the evidence, lies between 0 and 1, and its log-odds are a line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.calibration import FULL, MEANING, WORDS, Calibration

curves = st.sampled_from([FULL, MEANING, WORDS])


@given(curves, st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_more_evidence_is_never_less_probable(curve: Calibration, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= curve.probability(low) <= curve.probability(high) <= 1


@given(curves, st.floats(-2, 5))
def test_the_log_odds_are_a_line(curve: Calibration, evidence: float) -> None:
    probability = curve.probability(evidence)
    assert math.log(probability / (1 - probability)) == pytest.approx(curve.slope * evidence + curve.intercept)


@given(curves, st.floats(-2, 5), st.floats(0, 1), st.floats(0, 1))
def test_the_more_of_a_question_is_unknown_the_less_probable_is_all(
    curve: Calibration, evidence: float, one: float, other: float
) -> None:
    less, more = sorted((one, other))
    assert curve.with_unknown(0) == curve
    assert curve.with_unknown(more).probability(evidence) <= curve.with_unknown(less).probability(evidence)


def test_without_evidence_hardly_anything_answers() -> None:
    assert max(curve.probability(0) for curve in (FULL, MEANING, WORDS)) < 0.03
