"""Which records match a question best, and which of them count for an answer.

Pure: arrays in, arrays out. Above: `mnemic.hd.records`, for whole sets, and whoever holds the records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

TEMPERATURE = 0.05
"""How fast records count less the farther they are from the nearest; about the standard error of a likeness."""
_EQUAL = 6
"""Decimal places up to which scores are compared."""
_LAST, _SHARE = 64, 25
"""At most so many of a sample are the last ones, and one in so many: a confidence may lean to them by 4 % at most."""


class Matches(NamedTuple):
    """Records that match, `m` of them, the best first; of equals the one that was kept last."""

    row: Rows
    """``(m,) int64``: which of the records."""
    nearness: Floats
    """``(m,)``: the product of how near it is to all that is near, 0 to 1; 1 where nothing is asked for by nearness."""
    shares: Floats
    """``(m, r)``: how near it is to each that was asked for, 0 to 1; 1 to what is exact."""


def best_matches(places: Rows, shares: Floats, most: int) -> Matches:
    """Those of some records that match best.

    Where more than `most` match equally, those are a sample: the last ones, and others evenly spaced.

    Args:
        places: ``(n,) int64``, ascending: the records.
        shares: ``(n, r)``: how near each is to each that was asked for.
    """
    nearness = shares.prod(axis=1)
    found = _best(nearness, most)
    order = found[np.lexsort((-places[found], -np.round(nearness[found], _EQUAL)))]
    return Matches(places[order], nearness[order], shares[order])


def match_weights(matches: Matches, temperature: float = TEMPERATURE) -> Floats:
    """The probability of each match that it is meant, ``(m,)``: less as others are nearer than it."""
    best = matches.nearness.max(initial=0.0)
    return np.asarray(np.exp(np.minimum(0.0, matches.nearness - best) / temperature) * (matches.nearness > 0))


def sample_rows(places: Rows, most: int, last: int = _LAST) -> Rows:
    """At most so many of some places: the last ones, and others evenly spaced; ascending."""
    if len(places) <= most:
        return places
    even = np.linspace(0, len(places) - 1, most - min(last, most)).round().astype(np.int64)
    return places[np.union1d(even, np.arange(len(places) - min(last, most), len(places)))]


def _best(scores: Floats, most: int) -> NDArray[np.int64]:
    """Which are the best, ascending, `most` at most; of more that are equal the last ones, and others evenly spaced."""
    if len(scores) <= most:
        return np.arange(len(scores))
    scores = np.round(scores, _EQUAL)
    least = np.partition(scores, -most)[-most]
    better, last = np.flatnonzero(scores > least), min(_LAST, most // _SHARE)
    return np.union1d(better, sample_rows(np.flatnonzero(scores == least), most - len(better), last))
