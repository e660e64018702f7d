"""The assignment is the best there is, held to all permutations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.graph.assignment import MOST_SCORE, assign


@st.composite
def scores(draw: st.DrawFn) -> np.ndarray:
    rows = draw(st.integers(0, 5))
    columns = draw(st.integers(rows, 6))
    value = st.one_of(st.integers(0, 3), st.integers(0, MOST_SCORE))
    return np.array(draw(st.lists(value, min_size=rows * columns, max_size=rows * columns)), np.int64).reshape(
        rows, columns
    )


@given(scores())
def test_no_other_choice_of_distinct_columns_scores_more(drawn: np.ndarray) -> None:
    rows, columns = drawn.shape
    chosen = assign(drawn)
    assert (chosen.shape, len(set(chosen.tolist()))) == ((rows,), rows)
    best = max(sum(int(drawn[row, at]) for row, at in enumerate(one)) for one in permutations(range(columns), rows))
    assert int(drawn[np.arange(rows), chosen].sum()) == best


def test_of_equal_columns_the_lowest_is_taken() -> None:
    assert assign(np.full((3, 5), 7, np.int64)).tolist() == [0, 1, 2]


def test_a_large_matrix_is_solved_to_its_planted_optimum() -> None:
    rng = np.random.default_rng(3)
    planted = rng.permutation(200)
    drawn = rng.integers(0, 1000, (200, 200))
    drawn[np.arange(200), planted] += 1000
    assert assign(drawn).tolist() == planted.tolist()


def test_what_is_no_assignment_problem_is_refused() -> None:
    with pytest.raises(ValueError, match="2 rows cannot have a column each of 1"):
        assign(np.zeros((2, 1), np.int64))
    for wrong in (-1, MOST_SCORE + 1):
        with pytest.raises(ValueError, match="scores are from 0 to"):
            assign(np.array([[wrong]], np.int64))
