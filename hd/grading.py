"""Grading: how near a record's filler is to the one asked for, where it is known which fillers there are.

How alike a record is to the pair asked for has noise, so that of two records of one day one would seem the nearer. But
the fillers of a role are told apart far better than that: neighbours share but some of their bits. So the record's own
is decoded, and how alike that one's code is to the one asked for is how near the record is. All records of a filler are
then equally near, but for what is not sure of the decoding. Given up: roles of which a record has several fillers.
There a neighbour of a filler cannot be told from a second one.

Pure: arrays in, arrays out. Below `mnemic.hd.query`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.evidence import log_ratios, one_of

__all__ = ["Graded", "nearness"]

Floats = NDArray[np.float64]

_COMPARED = 200_000
"""Pairs of a record and a filler that are compared for how near the record is; a few milliseconds."""
_ALIKE = 3.0
"""Standard errors within which two fillers are equally near: a day before and a day after."""
_FAR = 0.005
"""What is less near than this is not near: it is left of fillers that a record hardly has."""


class Graded(NamedTuple):
    """The fillers that records may have in the role of a near pair, `c` of them; no record has two of them."""

    column: int
    """Which of the near pairs."""
    bound: NDArray[np.uint64]
    """``(c, w) uint64``: the fillers, bound to the role."""
    priors: Floats
    """``(c,)``: how many records have each, as a share of all."""


def nearness(
    records: NDArray[np.uint64],
    pairs: NDArray[np.int64],
    asked: NDArray[np.uint64],
    fillers: Graded,
    least: float,
    algebra: Algebra,
) -> Floats:
    """How near the filler that each record has is to the one asked for, ``(m,)``, 0 to 1; 0 where it has none.

    Where there are too many fillers to compare all with all, those are compared that are nearest to the one asked for.

    Args:
        records: ``(m, w) uint64``.
        pairs: ``(m,) int64``: how many pairs each has.
        asked: ``(w,) uint64``: the pair asked for, bound.
        least: what is not more alike than this is not near.
    """
    if not len(records):
        return np.zeros(0)
    dimensions = 64 * records.shape[1]
    alike = _levelled(algebra.similarity(fillers.bound, asked), dimensions)
    having = np.flatnonzero(fillers.priors > 0)
    which = having[np.argsort(-alike[having], kind="stable")[: max(1, _COMPARED // len(records))]]
    ratios = log_ratios(algebra.distances(fillers.bound[which], records).T, pairs, dimensions)
    near = one_of(ratios, fillers.priors[which]) @ np.where(alike[which] > least, alike[which], 0.0)
    return np.asarray(np.where(near < _FAR, 0.0, near))


def _levelled(alike: Floats, dimensions: int) -> Floats:
    """Similarities of fillers to one, those that are equal but for chance as one.

    Of two fillers of similarity s, a share of 1 - s of the bits has nothing to do with each other.
    """
    levels = alike.copy()
    top, error = math.inf, 0.0
    for place in np.argsort(-alike, kind="stable").tolist():
        if top - alike[place] > _ALIKE * error:
            top = float(alike[place])
            error = math.sqrt(2 * max(0.0, 1 - top) / dimensions)
        levels[place] = top
    return levels
