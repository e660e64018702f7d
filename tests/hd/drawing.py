"""Hypervectors that the tests of their algebra draw."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Words = NDArray[np.uint64]

SHIFTS = st.integers(-1000, 1000) | st.sampled_from([0, 64, -64, 10_240, 2**63, -(2**70)])
NO_TORCHHD = "torchhd is the reference; install mnemic[torch] for this test"


def random(seed: int, *shape: int) -> Words:
    return np.random.default_rng(seed).integers(0, 2**64, shape, np.uint64)


@st.composite
def hypervectors(draw: st.DrawFn, most: int = 20, others: int = 1) -> tuple[Words, ...]:
    """0 to `most` hypervectors ``(n, w)`` and `others` single ones ``(w,)``, of 1 to 20 words.

    Of random words; or of very few different ones, all-zero and all-one among them, so that there are ties.
    """
    rows, words = draw(st.integers(0, most)), draw(st.integers(1, 20))
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = values.integers(0, 2**64, (rows + others, words), np.uint64)
    kind = draw(st.sampled_from(["random", "few", "zero"]))
    if kind == "few":
        table[:] = np.array([0, 2**64 - 1, 5], np.uint64)[values.integers(0, 3, (rows + others, 1))]
    elif kind == "zero":
        table[:] = 0
    return table[:rows], *table[rows:]
