"""What holds among several statements."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from mnemic.algorithms.knowledge.rivals import MAX_CHARS, held_last, same_slot, still_holds

_SIZES = st.integers(0, 6)


def _pairs(size: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    drawn = np.random.default_rng(seed)
    same = drawn.random((size, size))
    same = (same + same.T) / 2
    np.fill_diagonal(same, 0.0)
    return same, drawn.random(size), drawn.integers(0, 4, size)


def test_nearer_statements_more_probably_fill_one_slot_and_longer_ones_less() -> None:
    cosines = np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.2], [0.5, 0.2, 1.0]])
    short = same_slot(cosines, np.array([40, 40, 40]))
    assert short[0, 1] > 0.9 > short[0, 2] > short[1, 2]
    longer = same_slot(cosines, np.array([80, 40, 40]))
    assert 0 < longer[0, 1] < short[0, 1]
    assert longer[1, 2] == short[1, 2]


def test_a_long_text_has_no_rivals_and_is_none() -> None:
    cosines = np.full((3, 3), 0.95)
    same = same_slot(cosines, np.array([MAX_CHARS, MAX_CHARS + 1, 40]))
    assert not same[1].any()
    assert not same[:, 1].any()
    assert same[0, 2] > 0.5


def test_what_has_no_vector_is_taken_for_unlike() -> None:
    same = same_slot(np.array([[1.0, np.nan], [np.nan, np.nan]]), np.array([40, 40]))
    assert_allclose(same, same_slot(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([40, 40])))


@given(_SIZES, st.integers(0, 9))
def test_likeness_is_mutual_and_of_no_statement_with_itself(size: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(size, 4))
    same = same_slot(vectors @ vectors.T, drawn.integers(0, 2 * MAX_CHARS, size))
    assert_allclose(same, same.T)
    assert not same.diagonal().any()
    assert ((same >= 0) & (same <= 1)).all()


def test_a_newer_value_takes_the_place_of_an_older_one_and_not_the_other_way() -> None:
    same = np.array([[0.0, 0.8], [0.8, 0.0]])
    assert_allclose(still_holds(same, np.array([1.0, 0.5]), np.array([1, 2])), [1 - 0.8 * 0.5, 1.0])


def test_what_was_said_later_than_the_time_asked_for_takes_no_place() -> None:
    same = np.array([[0.0, 0.8], [0.8, 0.0]])
    assert_allclose(still_holds(same, np.ones(2), np.array([1, 2]), 2), [1.0, 1.0])


def test_of_three_values_the_middle_one_held_last() -> None:
    same = 0.9 * (1 - np.eye(3))
    held = held_last(same, np.ones(3), np.array([1, 2, 3]))
    assert held.argmax() == 1
    assert held[2] == 0


@given(_SIZES, st.integers(0, 99))
def test_they_are_probabilities_and_what_is_newest_holds(size: int, seed: int) -> None:
    same, asserted, said_at = _pairs(size, seed)
    holds, last = still_holds(same, asserted, said_at), held_last(same, asserted, said_at)
    for found in (holds, last):
        assert ((found >= 0) & (found <= 1)).all()
    if size:
        assert_allclose(holds[said_at == said_at.max()], 1.0)
        assert not last[said_at == said_at.max()].any()
    assert (still_holds(same, asserted, said_at, 2) >= holds - 1e-12).all()
