"""The assignment problem: each row gets a column of its own, so that the sum of their scores is greatest.

`mnemic.algorithms.graph.identity` gives it one component of overlapping communities at a time; below stands NumPy
alone. Whole numbers keep it exact: no sum is rounded, so that equal totals are equal on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
MOST_SCORE = 1 << 40
"""Scores up to this keep all sums of the algorithm inside 64 bits, for up to two million rows."""


def assign(scores: Ints) -> Ints:
    """Choose a column for each row, no column twice.

    The rows enter in their order, each along a shortest augmenting path over reduced costs, whose dual variables prove
    the end result optimal: H. W. Kuhn, "The Hungarian method for the assignment problem" (1955), in the form of
    R. Jonker and A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems"
    (1987). Of equally short paths the one to the lowest column is taken, so equal inputs give equal results; which of
    several optimal assignments that is, is not promised beyond it.

    Args:
        scores: ``(rows, columns) int64``, from 0 to `MOST_SCORE`, no more rows than columns. Takes time in the order of
            ``rows² · columns``.

    Returns:
        ``(rows,) int64``: the column of each row.

    Raises:
        ValueError: there are more rows than columns, or a score is out of range.
    """
    rows, columns = scores.shape
    if rows > columns:
        raise ValueError(f"{rows} rows cannot have a column each of {columns}")
    if scores.size and not 0 <= scores.min() <= scores.max() <= MOST_SCORE:
        raise ValueError(f"scores are from 0 to {MOST_SCORE}; these are from {scores.min()} to {scores.max()}")
    row_prices = np.zeros(rows, np.int64)
    # The last column is no column: it stands for the place of the row that enters.
    column_prices = np.zeros(columns + 1, np.int64)
    row_at = np.full(columns + 1, -1, np.int64)
    for entering in range(rows):
        row_at[columns] = entering
        distance = np.full(columns, np.iinfo(np.int64).max, np.int64)
        came_from = np.full(columns, columns, np.int64)
        reached = np.zeros(columns + 1, bool)
        at = columns
        while row_at[at] >= 0:
            reached[at] = True
            row = row_at[at]
            reduced = -scores[row] - row_prices[row] - column_prices[:columns]
            nearer = ~reached[:columns] & (reduced < distance)
            distance[nearer], came_from[nearer] = reduced[nearer], at
            at = int(np.argmin(np.where(reached[:columns], np.iinfo(np.int64).max, distance)))
            step = distance[at]
            row_prices[row_at[reached]] += step
            column_prices[reached] -= step
            distance[~reached[:columns]] -= step
        while at != columns:
            row_at[at] = row_at[came_from[at]]
            at = came_from[at]
    column_of = np.empty(rows, np.int64)
    taken = np.flatnonzero(row_at[:columns] >= 0)
    column_of[row_at[taken]] = taken
    return column_of
