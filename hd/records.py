"""Data types: a record is a set of (role, filler, shift) pairs that one hypervector encodes; and prototypes of records.

A prototype is the bundle of a set, each record weighing as much as its strength: what many of them have in common is
near it, and what is most like it is the most typical of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra

Filler = str | NDArray[np.float32]
"""A canonical name, or an embedding of unit length, ``(space.embedding,) float32``."""


class Pair(NamedTuple):
    """One role and what fills it."""

    role: str
    """Its name."""
    filler: Filler
    """What fills it, canonical as the role's encoder has it."""
    shift: int = 0
    """So often it is permuted: of a step, how many steps back."""


Record = tuple[Pair, ...]
"""What one hypervector says; the order does not matter, and no pair is in it twice."""


_MAX_WEIGHT = 16
"""A strength counts as one of so many whole numbers: the strongest so often, the weakest once."""


def prototype(
    vectors: NDArray[np.uint64], strengths: NDArray[np.float64], tie: NDArray[np.uint64], algebra: Algebra
) -> NDArray[np.uint64]:
    """Bundle a set, ``(n, w) uint64`` to ``(w,) uint64``; of an empty one it is the tie.

    Args:
        strengths: ``(n,) float64``, more than 0: how much each counts beside the others.
        tie: ``(w,) uint64``: decides where as much has a bit as has it not.
    """
    top = float(strengths.max(initial=0.0))
    if not len(vectors) or (strengths == top).all():
        return algebra.bundle(vectors, tie)
    weights = np.maximum(1, np.round(_MAX_WEIGHT * strengths / top)).astype(np.int32)
    return algebra.bundle(vectors, tie, weights)


def typicality(common: NDArray[np.uint64], vectors: NDArray[np.uint64], algebra: Algebra) -> NDArray[np.float64]:
    """How alike each record of a set is to its prototype, ``(n,) float64``, 0 to 1."""
    return np.maximum(0.0, algebra.similarity(vectors, common))
