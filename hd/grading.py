"""Grading: how near a record's filler is to the one asked for, where it is known which fillers there are.

How alike a record is to the pair asked for has noise, so that of two records of one day one would seem the nearer. But
the fillers of a role are told apart far better than that: neighbours share but some of their bits. So the record's own
is decoded, and how near that one is to the one asked for is how near the record is. All records of a filler are then
equally near. Given up: roles of which a record has several fillers. There a neighbour of a filler cannot be told from a
second one.

Pure: arrays in, arrays out. Below `mnemic.hd.query`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.evidence import log_ratios, one_of

__all__ = ["TEMPERATURE", "Graded", "nearness"]

Floats = NDArray[np.float64]

TEMPERATURE = 0.01
"""How fast records count less the farther they are from the nearest: a day beyond the nearest counts 1/50 as much; of
days some weeks off, those of a few days more still count."""
_COMPARED = 200_000
"""Pairs of a record and a filler that are compared for how near the record is; a few milliseconds."""
_FAR = 0.05
"""What is less near than this is not near at all: a day a year and a half off."""


class Graded(NamedTuple):
    """The fillers that records may have in the role of a near pair, `c` of them; no record has two of them."""

    column: int
    """Which of the near pairs."""
    bound: NDArray[np.uint64]
    """``(c, w) uint64``: the fillers, bound to the role."""
    priors: Floats
    """``(c,)``: how many records have each, as a share of all."""
    alike: Floats
    """``(c,)``: how near each is to the one asked for, 0 to 1."""


def nearness(
    records: NDArray[np.uint64], pairs: NDArray[np.int64], fillers: Graded, algebra: Algebra
) -> tuple[Floats, Floats]:
    """How near the filler that each record has is to the one asked for, ``(m,)``, 0 to 1; 0 where it has none.

    Where there are too many fillers to compare all with all, those are compared that are nearest to the one asked for.

    Args:
        records: ``(m, w) uint64``.
        pairs: ``(m,) int64``: how many pairs each has.

    Returns:
        That, and the probability that the record has that filler, ``(m,)``; 1 where it is not near.
    """
    near, sure = np.zeros(len(records)), np.ones(len(records))
    having = np.flatnonzero(fillers.priors > 0)
    if not len(records) or not len(having):
        return near, sure
    which = having[np.argsort(-fillers.alike[having], kind="stable")[: max(1, _COMPARED // len(records))]]
    ratios = log_ratios(algebra.distances(fillers.bound[which], records).T, pairs, 64 * records.shape[1])
    judged = one_of(ratios, fillers.priors[which])
    own = judged.argmax(axis=1)
    probable = judged[np.arange(len(records)), own]
    has = (probable > 1 - judged.sum(axis=1)) & (fillers.alike[which][own] > _FAR)
    near[has], sure[has] = fillers.alike[which][own[has]], probable[has]
    return near, sure
