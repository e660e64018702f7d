"""How near records are to what is asked for, by their hypervectors; and which of them count for an answer.

What fills the roles of a record is known exactly, by tables. Hypervectors tell what has no name: how near the meaning
that a record holds is to a text. The likeness of two of them has noise, which follows from how many pairs a record has
(`mnemic.hd.evidence`), and what is no more than noise is none.

Pure: arrays in, arrays out. Above: `mnemic.hd.records`, for whole sets, and whoever holds the records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.evidence import estimate_similarity

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_NOISE_SIGMAS = 2.0
"""Standard errors under which a likeness is none."""
TEMPERATURE = 0.05
"""How fast records count less the farther they are from the nearest; about the standard error of a likeness."""
_EQUAL = 6
"""Decimal places up to which scores are compared."""
_LAST, _SHARE = 64, 25
"""At most so many of a sample are the last ones, and one in so many: a confidence may lean to them by 4 % at most."""


class RecordVectors(NamedTuple):
    """Records, `n` of them."""

    codes: NDArray[np.uint64]
    """``(n, w) uint64``: their hypervectors."""
    pairs: NDArray[np.int64]
    """``(n,) int64``: how many pairs each has."""

    @property
    def dimensions(self) -> int:
        """Bits of a record."""
        return 64 * int(self.codes.shape[1])

    def distances(self, places: Rows, queries: NDArray[np.uint64], algebra: Algebra) -> NDArray[np.int32]:
        """The distances of some records from queries ``(q, w) uint64``: ``(m, q) int32``."""
        if not len(queries):
            return np.zeros((len(places), 0), np.int32)
        if 2 * len(places) > len(self.codes):  # to compare all is faster than to copy most of them
            return algebra.distances(self.codes, queries)[places]
        return algebra.distances(self.codes[places], queries)


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


def meaning_scores(codes: RecordVectors, places: Rows, near_pairs: NDArray[np.uint64], algebra: Algebra) -> Floats:
    """The cosines that the hypervectors of some records show to embeddings, ``(m, g)``, 0 to 1.

    The likeness of two projections is one of angles, so its sine is the cosine of the embeddings.

    Args:
        places: ``(m,) int64``: the records.
        near_pairs: ``(g, w) uint64``: the projected embeddings, bound to their roles.
    """
    distances = codes.distances(places, near_pairs, algebra)
    alike, error = estimate_similarity(distances, codes.pairs[places], codes.dimensions)
    return np.asarray(np.sin(np.where(alike > _NOISE_SIGMAS * error[:, None], np.minimum(alike, 1.0), 0.0) * np.pi / 2))


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
