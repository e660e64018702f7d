"""Structural queries: which records have what is asked for, and what fills the roles that are not known.

A pattern is some pairs of role and filler. *Exact* ones are in a record or are not; how probable each is follows from
its distance alone (`mnemic.hd.evidence`). *Near* ones are the better matched the more alike the record's filler is.
Where the fillers are known, the record's own is decoded, and how near that one is counts (`mnemic.hd.evidence`).
Where there are many records, a quarter of the bits is compared first: what falls six standard errors short of what a
record that has the pair would show is not looked at again, which loses about one in a billion.

Pure: arrays in, arrays out. Above: `mnemic.hd.records`, for whole sets, and whoever holds the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.evidence import Graded, agreements, likeness, log_ratios, nearness, one_of, presence

__all__ = ["MOST", "Asked", "Codes", "Filled", "Matches", "fill", "find", "kernel", "likenesses", "spread"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Judge = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Says of some records, ``(m,) int64``, how near each is to something that others know better, ``(m,)``, 0 to 1."""

MOST = 4096
"""At most so many records are compared whole, and so many matches found."""
_STAGED = 8192
"""From so many records on, a part of the bits is compared first."""
_ERRORS = 6.0
"""Standard errors by which a record may fall short."""
_CHANCE = 0.01
"""In so many questions something far may be taken for near."""
_NOISE = 2.0
"""Standard errors under which a likeness is none."""
TEMPERATURE = 0.05
"""How fast records count less the farther they are from the nearest; about the standard error of a likeness."""
_GRADED = 1024
"""At most so many matches are found where something is near whose fillers are known."""
_UNLIKELY = 1e-6
"""How near a record is that less probably has all that is exact is not looked at."""
_ALIKE, _EQUAL = 2, 6
"""Decimal places up to which scores are compared where they have noise, and where they rank."""
_LAST, _SHARE = 64, 25
"""At most so many of a sample are the last ones, and one in so many: a confidence may lean to them by 4 % at most."""
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
        if not len(queries):
            return np.zeros((len(places), 0), np.int32)
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
    graded: tuple[Graded, ...] = ()
    """The near pairs whose fillers are known."""


class Matches(NamedTuple):
    """Records that may match, `m` of them, the best first; of equals the one that was kept last."""

    place: Places
    """``(m,) int64``: which of the records."""
    probability: Floats
    """``(m,)``: that the record has all exact pairs, and the fillers by which it is near."""
    nearness: Floats
    """``(m,)``: the product of how near it is to each near pair, 0 to 1; 1 where there are none."""
    shares: Floats
    """``(m, e + g)``: of each pair alone, its probability or its nearness; where a judge was asked, ``(m, e + g + 1)``,
    what he said."""


class Filled(NamedTuple):
    """What may fill a role of some records."""

    candidate: Places
    """``(c,) int64``: which of the candidates; those that are not here fill it in none of the records."""
    probability: Floats
    """``(m, c)``: that it is in the record."""


def find(
    codes: Codes, places: Places, asked: Asked, algebra: Algebra, most: int = MOST, judge: Judge | None = None
) -> Matches:
    """Find the records that match.

    Where more than `most` match equally, those are a sample: the last ones, and others evenly spaced. Where fillers of
    near pairs are known, no more are found than can be compared with them.

    Args:
        places: ``(v,) int64``, ascending: the records that are looked through; no other is even touched much.
        most: at most so many are found.
        judge: asked about those that may have the exact pairs, where something is near that no pair tells.
    """
    queries = np.concatenate([asked.exact, asked.near])
    judged, looked, exact = None, len(places), len(asked.exact)
    digits = _ALIKE if judge is None else _EQUAL
    if len(places) > max(_STAGED, most):
        places, judged = _promising(codes, places, asked, queries, algebra, most, judge)
    elif judge is not None:
        judged = judge(places)
    distances = codes.distances(places, queries, algebra)
    shares = _shares(distances, codes.pairs[places], codes.dimensions, asked, _noise(looked))
    if judged is not None:
        shares = np.concatenate([shares, judged[:, None]], axis=1)
    sure = np.ones(len(places))
    if asked.graded:
        likely = np.flatnonzero(shares[:, :exact].prod(axis=1) > _UNLIKELY)
        likely = likely[_best(shares[likely].prod(axis=1), min(most, _GRADED), digits)]
        places, shares = places[likely], shares[likely]
        sure, whole, pairs = np.ones(len(places)), codes.whole(places), codes.pairs[places]
        for one in asked.graded:
            shares[:, exact + one.column], certain = nearness(whole, pairs, one, algebra)
            sure *= certain
    found = _best(shares.prod(axis=1), most, digits)
    order = found[_best_first(places[found], shares[found])]
    places, shares = places[order], shares[order]
    return Matches(places, shares[:, :exact].prod(axis=1) * sure[order], shares[:, exact:].prod(axis=1), shares)


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
    if np.count_nonzero(possible) * len(places) > _WORK:  # a quarter of the bits says little of long records
        which = np.flatnonzero(possible)
        measured = algebra.distances(candidates[which], codes.whole(looked))
        possible[which] = (measured <= _farthest(codes.pairs[looked], codes.dimensions)).any(axis=1)
    if proposed is not None:
        possible[proposed] = True
    which = np.flatnonzero(possible & (priors > 0))
    distances = algebra.distances(candidates[which], codes.whole(places)).T
    ratios = log_ratios(distances, codes.pairs[places], codes.dimensions)
    judged = presence(ratios, priors[which]) if many else one_of(ratios, priors[which])
    return Filled(which, judged)


def likenesses(codes: Codes, places: Places, asked: Asked, algebra: Algebra) -> Floats:
    """Of each pair alone how probable it is in some records, or how near they are to it: ``(m, e + g)``."""
    queries = np.concatenate([asked.exact, asked.near])
    return _shares(codes.distances(places, queries, algebra), codes.pairs[places], codes.dimensions, asked)


def kernel(matches: Matches, temperature: float = TEMPERATURE) -> Floats:
    """The probability of each match that it is meant: what it has all of, less as others are nearer than it.

    With nothing near in the pattern, it is `Matches.probability`.
    """
    likely = matches.probability > 0.5
    best = matches.nearness[likely].max(initial=0.0) or matches.nearness.max(initial=0.0)
    return np.asarray(
        matches.probability * np.exp(np.minimum(0.0, matches.nearness - best) / temperature) * (matches.nearness > 0)
    )


def spread(places: Places, most: int, last: int = _LAST) -> Places:
    """At most so many of some places: the last ones, and others evenly spaced; ascending."""
    if len(places) <= most:
        return places
    even = np.linspace(0, len(places) - 1, most - min(last, most)).round().astype(np.int64)
    return places[np.union1d(even, np.arange(len(places) - min(last, most), len(places)))]


def _best_first(places: Places, shares: Floats) -> NDArray[np.int64]:
    """The order of records: those first that match best; of equals the one that was kept last."""
    return np.lexsort((-places, -np.round(shares.prod(axis=1), _EQUAL)))


def _best(scores: Floats, most: int, digits: int) -> NDArray[np.int64]:
    """Which are the best, ascending, `most` at most; of more that are equal the last ones, and others evenly spaced.

    Args:
        digits: decimal places; what is beyond them is no difference.
    """
    if len(scores) <= most:
        return np.arange(len(scores))
    scores = np.round(scores, digits)
    least = np.partition(scores, -most)[-most]
    better, last = np.flatnonzero(scores > least), min(_LAST, most // _SHARE)
    return np.union1d(better, spread(np.flatnonzero(scores == least), most - len(better), last))


def _promising(
    codes: Codes,
    places: Places,
    asked: Asked,
    queries: NDArray[np.uint64],
    algebra: Algebra,
    most: int,
    judge: Judge | None,
) -> tuple[Places, Floats | None]:
    """Those that may match, by the first bits alone, and what the judge says of them."""
    first = codes.head.shape[1]
    if not len(queries):
        heads = np.zeros((len(places), 0), np.int32)
    elif 2 * len(places) > len(codes.head):  # comparing all is faster than copying most of them
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
    judged = None if judge is None else judge(places)
    if len(places) <= most:
        return places, judged
    rough = _shares(heads, codes.pairs[places], 64 * first, asked).prod(axis=1)
    if judged is None:
        return places[_best(rough, most, _ALIKE)], None
    best = _best(rough * judged, most, _EQUAL)
    return places[best], judged[best]


def _farthest(pairs: NDArray[np.int64], dimensions: int) -> NDArray[np.int32]:
    """The distance that hardly any record exceeds that has a pair, ``(n,) int32``."""
    agrees = agreements(np.arange(int(pairs.max(initial=0)) + 1))
    table = dimensions * (1 - agrees) + _ERRORS * np.sqrt(dimensions * agrees * (1 - agrees))
    return table.astype(np.int32)[pairs]


def _noise(looked: int) -> float:
    """Standard errors that no record surpasses by chance, of so many: in one question of a hundred at most.

    The tail of the normal law beyond z is less than exp(-z^2 / 2).
    """
    return math.sqrt(2 * math.log(max(1, looked) / _CHANCE))


def _shares(
    distances: NDArray[np.int32],
    pairs: NDArray[np.int64],
    dimensions: int,
    asked: Asked,
    noise: float = _NOISE,
) -> Floats:
    """Of each pair alone how probable it is, or how near.

    How near a filler is that is known is decoded later: until then all records that may have the very one are the same.

    Args:
        noise: standard errors under which a likeness is none where it is not one of angles. Unrelated texts are a
            little alike, and unrelated days are not.
    """
    exact = len(asked.exact)
    if not distances.shape[1]:
        return np.zeros(distances.shape)
    present = presence(log_ratios(distances[:, :exact], pairs, dimensions), asked.priors)
    alike, error = likeness(distances[:, exact:], pairs, dimensions)
    graded = np.isin(np.arange(alike.shape[1]), [one.column for one in asked.graded])
    alike = np.where(graded & (alike > 1 - _NOISE * error[:, None]), 1.0, np.minimum(alike, 1.0))
    least = np.where(asked.angular | graded, _NOISE, noise)
    alike = np.where(alike > least * error[:, None], alike, 0.0)
    alike = np.where(asked.angular, np.sin(alike * (math.pi / 2)), alike)
    return np.concatenate([present, alike], axis=1)
