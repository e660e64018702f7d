"""Spaces for tests, and how alike two hypervectors are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.space import Space

SEED = bytes(range(32))
NOISE = 6 / np.sqrt(10_240)
"""Six standard deviations of the similarity of two unrelated hypervectors of the usual size: 0.06."""


def space(embedding: int = 0, dimensions: int = 10_240, **more: object) -> Space:
    """A space of the tests' seed; with a model where embeddings have a length."""
    return Space(
        seed=SEED,
        dimensions=dimensions,
        embedding_dimensions=embedding,
        model="f00d" if embedding else "",
        **more,  # type: ignore[arg-type]
    )


def similarity(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    """1 the same, 0 unrelated, -1 the opposite, of two ``(w,) uint64``."""
    return 1 - 2 * int(np.bitwise_count(one ^ other).sum()) / (64 * len(one))


def similarities(encoders: RecordEncoder, role: str, fillers: Sequence[str]) -> list[float]:
    """How alike each filler of a role is to the first."""
    codes = encoders.encode_fillers(role, fillers)
    return [similarity(code, codes[0]) for code in codes]
