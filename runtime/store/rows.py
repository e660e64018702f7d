"""Rows of a query: how many are asked for at once, and whole numbers as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 256
"""So many rows one query asks for."""


def int_columns(rows: Sequence[Sequence[Any]], width: int) -> tuple[NDArray[np.int64], ...]:
    """Whole numbers of rows, a column each, contiguous."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    return tuple(np.ascontiguousarray(table[:, column]) for column in range(width))
