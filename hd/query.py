"""Structural queries: which records have what is asked for, and what fills the roles that are not known.

A pattern is some pairs of role and filler. *Exact* ones are in a record or are not; how probable each is follows from
its distance alone (`mnemic.hd.evidence`). *Near* ones are the better matched the more alike the record's filler is.
Where there are many records, a quarter of the bits is compared first: what falls six standard errors short of what a
record that has the pair would show is not looked at again, which loses about one in a billion.

Pure: arrays in, arrays out. Above: `mnemic.hd.prototypes`, for whole sets, and whoever holds the records.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.evidence import agreements, counting_weights, likeness, log_ratios, one_of, presence

__all__ = ["MOST", "Asked", "Codes", "Filled", "Matches", "fill", "find", "kernel", "pooled", "spread"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST = 4096
"""At most so many records are compared whole, and so many matches found."""
_STAGED = 8192
"""From so many records on, a part of the bits is compared first."""
_ERRORS = 6.0
"""Standard errors by which a record may fall short."""
_NOISE = 2.0
"""Standard errors under which a likeness is none."""
_TEMPERATURE = 0.05
"""How fast records count less the farther they are from the nearest; about the standard error of a likeness."""
_WORK = 400_000
"""Pairs of a record and a candidate that are compared for one answer; a millisecond or two."""


class Codes(NamedTuple):
    """Records, `n` of them, their bits in two parts so that the first can be compared alone."""

    head: NDArray[np.uint64]
    """``(n, h) uint64``."""
    tail: NDArray[np.uint64]
    """``(n, w - h) uint64``."""
    pairs: NDArray[np.int64]
    """``(n,) int64``: how many pairs each has."""

    @classmethod
    def of(cls, vectors: NDArray[np.uint64], pairs: NDArray[np.int64]) -> Self:
        """Part hypervectors ``(n, w) uint64`` after a quarter of their words."""
        first = max(1, vectors.shape[1] // 4)
        return cls(np.ascontiguousarray(vectors[:, :first]), np.ascontiguousarray(vectors[:, first:]), pairs)

    @property
    def dimensions(self) -> int:
        """Bits of a record."""
        return 64 * int(self.head.shape[1] + self.tail.shape[1])

    def whole(self, places: Places) -> NDArray[np.uint64]:
        """The hypervectors of some records, ``(m, w) uint64``."""
        return np.concatenate([self.head[places], self.tail[places]], axis=1)

    def distances(self, places: Places, queries: NDArray[np.uint64], algebra: Algebra) -> NDArray[np.int32]:
        """The distances of some records from queries ``(q, w) uint64``: ``(m, q) int32``."""
        first = self.head.shape[1]
        heads, tails = (np.ascontiguousarray(part) for part in (queries[:, :first], queries[:, first:]))
        if 2 * len(places) > len(self.head):  # to compare all is faster than to copy most of them
            near = algebra.distances(self.head, heads)[places]
            return near + algebra.distances(self.tail, tails)[places] if tails.shape[1] else near
        near = algebra.distances(self.head[places], heads)
        return near + algebra.distances(self.tail[places], tails) if tails.shape[1] else near


class Asked(NamedTuple):
    """What is known of the records sought."""

    exact: NDArray[np.uint64]
    """``(e, w) uint64``: pairs that they have, bound."""
    priors: Floats
    """``(e,)``: how many records have each, as a share of all."""
    near: NDArray[np.uint64]
    """``(g, w) uint64``: pairs that they have nearly, bound."""
    angular: NDArray[np.bool_]
    """``(g,)``: of which the likeness is of angles, so that its sine is the cosine of the embeddings."""


class Matches(NamedTuple):
    """Records that may match, `m` of them, the best first; of equals the one that was kept last."""

    place: Places
    """``(m,) int64``: which of the records."""
    probability: Floats
    """``(m,)``: that the record has all exact pairs."""
    nearness: Floats
    """``(m,)``: the product of how near it is to each near pair, 0 to 1; 1 where there are none."""
    shares: Floats
    """``(m, e + g)``: of each pair alone, its probability or its nearness."""


class Filled(NamedTuple):
    """What may fill a role of some records."""

    candidate: Places
    """``(c,) int64``: which of the candidates; those that are not here fill it in none of the records."""
    probability: Floats
    """``(m, c)``: that it is in the record."""


def find(codes: Codes, places: Places, asked: Asked, algebra: Algebra, most: int = MOST) -> Matches:
    """Find the records that match.

    Where more than `most` match equally, those are a sample: the last ones, and others evenly spaced.

    Args:
        places: ``(v,) int64``, ascending: the records that are looked through; no other is even touched much.
        most: at most so many are found.
    """
    queries = np.concatenate([asked.exact, asked.near])
    if len(places) > max(_STAGED, most):
        places = _promising(codes, places, asked, queries, algebra, most)
    distances = codes.distances(places, queries, algebra)
    shares = _shares(distances, codes.pairs[places], codes.dimensions, asked)
    exact = len(asked.exact)
    probability, nearness = shares[:, :exact].prod(axis=1), shares[:, exact:].prod(axis=1)
    order = np.lexsort((-places, -np.round(probability * nearness, 6)))[:most]
    return Matches(places[order], probability[order], nearness[order], shares[order])


def fill(
    codes: Codes,
    places: Places,
    candidates: NDArray[np.uint64],
    priors: Floats,
    many: bool,
    algebra: Algebra,
    proposed: Places | None = None,
) -> Filled:
    """Say how probable each candidate is to fill a role of each record.

    Args:
        places: ``(m,) int64``: the records, the best first. Where there are too many candidates to compare all with
            all, only those are compared that could be in one of the first records, and those that are proposed.
        candidates: ``(c, w) uint64``: fillers bound to the role.
        priors: ``(c,)``: how many records have each, as a share of all.
        many: whether a record may have several of them.
        proposed: more candidates that are compared in any case.
    """
    count, first = len(candidates), codes.head.shape[1]
    if not count or not len(places):
        return Filled(np.zeros(0, np.int64), np.zeros((len(places), 0)))
    heads = np.ascontiguousarray(candidates[:, :first])
    looked = places[: max(8, _WORK // count)]
    measured = algebra.distances(heads, codes.head[looked])
    possible = np.asarray((measured <= _farthest(codes.pairs[looked], 64 * first)).any(axis=1), np.bool_)
    if proposed is not None:
        possible[proposed] = True
    which = np.flatnonzero(possible & (priors > 0))
    distances = algebra.distances(candidates[which], codes.whole(places)).T
    ratios = log_ratios(distances, codes.pairs[places], codes.dimensions)
    judged = presence(ratios, priors[which]) if many else one_of(ratios, priors[which])
    return Filled(which, judged)


def kernel(matches: Matches) -> Floats:
    """The probability of each match that it is meant: what it has all of, less as others are nearer than it.

    With nothing near in the pattern, it is `Matches.probability`.
    """
    likely = matches.probability > 0.5
    best = matches.nearness[likely].max(initial=0.0) or matches.nearness.max(initial=0.0)
    return np.asarray(
        matches.probability * np.exp(np.minimum(0.0, matches.nearness - best) / _TEMPERATURE) * (matches.nearness > 0)
    )


def pooled(meant: Floats, filled: Filled) -> Floats:
    """The probability of each candidate to fill the role of a record that is meant, ``(c,)``.

    Args:
        meant: ``(m,)``: of each record, that it is meant.
    """
    return np.asarray(counting_weights(meant) @ filled.probability)


def spread(places: Places, most: int, last: int = 64) -> Places:
    """At most so many of some places: the last ones, and others evenly spaced; ascending."""
    if len(places) <= most:
        return places
    even = np.linspace(0, len(places) - 1, most - min(last, most)).round().astype(np.int64)
    return places[np.union1d(even, np.arange(len(places) - min(last, most), len(places)))]


def _promising(
    codes: Codes, places: Places, asked: Asked, queries: NDArray[np.uint64], algebra: Algebra, most: int
) -> Places:
    """Those that may match, by the first bits alone."""
    first = codes.head.shape[1]
    # Comparing all is faster than copying most of them.
    if 2 * len(places) > len(codes.head):
        heads = algebra.distances(codes.head, np.ascontiguousarray(queries[:, :first]))
        heads = heads if len(places) == len(codes.head) else heads[places]
    else:
        heads = algebra.distances(codes.head[places], np.ascontiguousarray(queries[:, :first]))
    exact = len(asked.exact)
    if exact:
        limits = _farthest(codes.pairs[places], 64 * first)
        may = heads[:, 0] <= limits
        for column in range(1, exact):  # thrice as fast as `all` along the short axis
            may &= heads[:, column] <= limits
        places, heads = places[may], heads[may]
    if len(places) <= most or not len(asked.near):
        return spread(places, most)
    shares = _shares(heads, codes.pairs[places], 64 * first, asked)
    rough = shares.prod(axis=1)
    return np.sort(places[np.argpartition(-rough, most)[:most]])


def _farthest(pairs: NDArray[np.int64], dimensions: int) -> NDArray[np.int32]:
    """The distance that hardly any record exceeds that has a pair, ``(n,) int32``."""
    agrees = agreements(np.arange(int(pairs.max(initial=0)) + 1))
    table = dimensions * (1 - agrees) + _ERRORS * np.sqrt(dimensions * agrees * (1 - agrees))
    return table.astype(np.int32)[pairs]


def _shares(distances: NDArray[np.int32], pairs: NDArray[np.int64], dimensions: int, asked: Asked) -> Floats:
    exact = len(asked.exact)
    present = presence(log_ratios(distances[:, :exact], pairs, dimensions), asked.priors)
    alike, error = likeness(distances[:, exact:], pairs, dimensions)
    alike = np.where(alike > _NOISE * error[:, None], np.minimum(alike, 1.0), 0.0)
    alike = np.where(asked.angular, np.sin(alike * (math.pi / 2)), alike)
    return np.concatenate([present, alike], axis=1)
