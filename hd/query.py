"""Structural search: which records match a pattern of role-filler pairs, and what fills unknown roles.

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
from mnemic.hd.evidence import (
    KnownFillers,
    bit_agreements,
    decode_nearness,
    estimate_similarity,
    exclusive_posterior,
    log_likelihood_ratios,
    membership_posterior,
)

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
ExternalScorer = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Says of some records, ``(m,) int64``, how near each is to something that others know better, ``(m,)``, 0 to 1."""

MAX_MATCHES = 4096
"""At most so many records are compared whole, and so many matches found."""
_PREFILTER_ROWS = 8192
"""From so many records on, a part of the bits is compared first."""
_PREFILTER_SIGMAS = 6.0
"""Standard errors by which a record may fall short."""
_FALSE_ALARM_RATE = 0.01
"""In so many questions something far may be taken for near."""
_NOISE_SIGMAS = 2.0
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
_MAX_COMPARISONS = 400_000
"""Pairs of a record and a candidate that are compared for one answer; a millisecond or two."""


class RecordVectors(NamedTuple):
    """Records, `n` of them, their bits in two parts so that the first can be compared alone."""

    head: NDArray[np.uint64]
    """``(n, h) uint64``."""
    tail: NDArray[np.uint64]
    """``(n, w - h) uint64``."""
    pairs: NDArray[np.int64]
    """``(n,) int64``: how many pairs each has."""

    @classmethod
    def from_vectors(cls, vectors: NDArray[np.uint64], pairs: NDArray[np.int64]) -> Self:
        """Part hypervectors ``(n, w) uint64`` after a quarter of their words."""
        first = max(1, vectors.shape[1] // 4)
        return cls(np.ascontiguousarray(vectors[:, :first]), np.ascontiguousarray(vectors[:, first:]), pairs)

    @property
    def dimensions(self) -> int:
        """Bits of a record."""
        return 64 * int(self.head.shape[1] + self.tail.shape[1])

    def join(self, places: Rows) -> NDArray[np.uint64]:
        """The hypervectors of some records, ``(m, w) uint64``."""
        return np.concatenate([self.head[places], self.tail[places]], axis=1)

    def distances(self, places: Rows, queries: NDArray[np.uint64], algebra: Algebra) -> NDArray[np.int32]:
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


class StructuralQuery(NamedTuple):
    """What is known of the records sought."""

    exact_pairs: NDArray[np.uint64]
    """``(e, w) uint64``: pairs that they have, bound."""
    priors: Floats
    """``(e,)``: how many records have each, as a share of all."""
    near_pairs: NDArray[np.uint64]
    """``(g, w) uint64``: pairs that they have nearly, bound."""
    angular: NDArray[np.bool_]
    """``(g,)``: of which the likeness is of angles, so that its sine is the cosine of the embeddings."""
    known_fillers: tuple[KnownFillers, ...] = ()
    """The near pairs whose fillers are known."""


class Matches(NamedTuple):
    """Records that may match, `m` of them, the best first; of equals the one that was kept last."""

    row: Rows
    """``(m,) int64``: which of the records."""
    probability: Floats
    """``(m,)``: that the record has all exact pairs, and the fillers by which it is near."""
    nearness: Floats
    """``(m,)``: the product of how near it is to each near pair, 0 to 1; 1 where there are none."""
    pair_scores: Floats
    """``(m, e + g)``: of each pair alone, its probability or its nearness; where a judge was asked, ``(m, e + g + 1)``,
    what he said."""


class FillerProbabilities(NamedTuple):
    """What may fill a role of some records."""

    candidate: Rows
    """``(c,) int64``: which of the candidates; those that are not here fill it in none of the records."""
    probability: Floats
    """``(m, c)``: that it is in the record."""


def find_matches(
    codes: RecordVectors,
    places: Rows,
    asked: StructuralQuery,
    algebra: Algebra,
    most: int = MAX_MATCHES,
    judge: ExternalScorer | None = None,
) -> Matches:
    """Find the records that match.

    Where more than `most` match equally, those are a sample: the last ones, and others evenly spaced. Where fillers of
    near pairs are known, no more are found than can be compared with them.

    Args:
        places: ``(v,) int64``, ascending: the records that are looked through; no other is even touched much.
        most: at most so many are found.
        judge: asked about those that may have the exact pairs, where something is near that no pair tells.
    """
    queries = np.concatenate([asked.exact_pairs, asked.near_pairs])
    judged, looked, exact = None, len(places), len(asked.exact_pairs)
    digits = _ALIKE if judge is None else _EQUAL
    if len(places) > max(_PREFILTER_ROWS, most):
        places, judged = _prefilter(codes, places, asked, queries, algebra, most, judge)
    elif judge is not None:
        judged = judge(places)
    distances = codes.distances(places, queries, algebra)
    shares = _score_distances(distances, codes.pairs[places], codes.dimensions, asked, _noise(looked))
    if judged is not None:
        shares = np.concatenate([shares, judged[:, None]], axis=1)
    sure = np.ones(len(places))
    if asked.known_fillers:
        likely = np.flatnonzero(shares[:, :exact].prod(axis=1) > _UNLIKELY)
        likely = likely[_best(shares[likely].prod(axis=1), min(most, _GRADED), digits)]
        places, shares = places[likely], shares[likely]
        sure, whole, pairs = np.ones(len(places)), codes.join(places), codes.pairs[places]
        for one in asked.known_fillers:
            shares[:, exact + one.column], certain = decode_nearness(whole, pairs, one, algebra)
            sure *= certain
    found = _best(shares.prod(axis=1), most, digits)
    order = found[_best_first(places[found], shares[found])]
    places, shares = places[order], shares[order]
    return Matches(places, shares[:, :exact].prod(axis=1) * sure[order], shares[:, exact:].prod(axis=1), shares)


def decode_fillers(
    codes: RecordVectors,
    places: Rows,
    candidates: NDArray[np.uint64],
    priors: Floats,
    many: bool,
    algebra: Algebra,
    proposed: Rows | None = None,
) -> FillerProbabilities:
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
        return FillerProbabilities(np.zeros(0, np.int64), np.zeros((len(places), 0)))
    heads = np.ascontiguousarray(candidates[:, :first])
    looked = places[: max(8, _MAX_COMPARISONS // count)]
    measured = algebra.distances(heads, codes.head[looked])
    possible = np.asarray((measured <= _farthest(codes.pairs[looked], 64 * first)).any(axis=1), np.bool_)
    if np.count_nonzero(possible) * len(places) > _MAX_COMPARISONS:  # a quarter of the bits says little of long records
        which = np.flatnonzero(possible)
        measured = algebra.distances(candidates[which], codes.join(looked))
        possible[which] = (measured <= _farthest(codes.pairs[looked], codes.dimensions)).any(axis=1)
    if proposed is not None:
        possible[proposed] = True
    which = np.flatnonzero(possible & (priors > 0))
    distances = algebra.distances(candidates[which], codes.join(places)).T
    ratios = log_likelihood_ratios(distances, codes.pairs[places], codes.dimensions)
    judged = membership_posterior(ratios, priors[which]) if many else exclusive_posterior(ratios, priors[which])
    return FillerProbabilities(which, judged)


def score_pairs(codes: RecordVectors, places: Rows, asked: StructuralQuery, algebra: Algebra) -> Floats:
    """Of each pair alone how probable it is in some records, or how near they are to it: ``(m, e + g)``."""
    queries = np.concatenate([asked.exact_pairs, asked.near_pairs])
    return _score_distances(codes.distances(places, queries, algebra), codes.pairs[places], codes.dimensions, asked)


def match_weights(matches: Matches, temperature: float = TEMPERATURE) -> Floats:
    """The probability of each match that it is meant: what it has all of, less as others are nearer than it.

    With nothing near in the pattern, it is `Matches.probability`.
    """
    likely = matches.probability > 0.5
    best = matches.nearness[likely].max(initial=0.0) or matches.nearness.max(initial=0.0)
    return np.asarray(
        matches.probability * np.exp(np.minimum(0.0, matches.nearness - best) / temperature) * (matches.nearness > 0)
    )


def sample_rows(places: Rows, most: int, last: int = _LAST) -> Rows:
    """At most so many of some places: the last ones, and others evenly spaced; ascending."""
    if len(places) <= most:
        return places
    even = np.linspace(0, len(places) - 1, most - min(last, most)).round().astype(np.int64)
    return places[np.union1d(even, np.arange(len(places) - min(last, most), len(places)))]


def _best_first(places: Rows, shares: Floats) -> NDArray[np.int64]:
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
    return np.union1d(better, sample_rows(np.flatnonzero(scores == least), most - len(better), last))


def _prefilter(
    codes: RecordVectors,
    places: Rows,
    asked: StructuralQuery,
    queries: NDArray[np.uint64],
    algebra: Algebra,
    most: int,
    judge: ExternalScorer | None,
) -> tuple[Rows, Floats | None]:
    """Those that may match, by the first bits alone, and what the judge says of them."""
    first = codes.head.shape[1]
    if not len(queries):
        heads = np.zeros((len(places), 0), np.int32)
    elif 2 * len(places) > len(codes.head):  # comparing all is faster than copying most of them
        heads = algebra.distances(codes.head, np.ascontiguousarray(queries[:, :first]))
        heads = heads if len(places) == len(codes.head) else heads[places]
    else:
        heads = algebra.distances(codes.head[places], np.ascontiguousarray(queries[:, :first]))
    exact = len(asked.exact_pairs)
    if exact:
        limits = _farthest(codes.pairs[places], 64 * first)
        may = heads[:, 0] <= limits
        for column in range(1, exact):  # thrice as fast as `all` along the short axis
            may &= heads[:, column] <= limits
        places, heads = places[may], heads[may]
    judged = None if judge is None else judge(places)
    if len(places) <= most:
        return places, judged
    rough = _score_distances(heads, codes.pairs[places], 64 * first, asked).prod(axis=1)
    if judged is None:
        return places[_best(rough, most, _ALIKE)], None
    best = _best(rough * judged, most, _EQUAL)
    return places[best], judged[best]


def _farthest(pairs: NDArray[np.int64], dimensions: int) -> NDArray[np.int32]:
    """The distance that hardly any record exceeds that has a pair, ``(n,) int32``."""
    agrees = bit_agreements(np.arange(int(pairs.max(initial=0)) + 1))
    table = dimensions * (1 - agrees) + _PREFILTER_SIGMAS * np.sqrt(dimensions * agrees * (1 - agrees))
    return table.astype(np.int32)[pairs]


def _noise(looked: int) -> float:
    """Standard errors that no record surpasses by chance, of so many: in one question of a hundred at most.

    The tail of the normal law beyond z is less than exp(-z^2 / 2).
    """
    return math.sqrt(2 * math.log(max(1, looked) / _FALSE_ALARM_RATE))


def _score_distances(
    distances: NDArray[np.int32],
    pairs: NDArray[np.int64],
    dimensions: int,
    asked: StructuralQuery,
    noise: float = _NOISE_SIGMAS,
) -> Floats:
    """Of each pair alone how probable it is, or how near.

    How near a filler is that is known is decoded later: until then all records that may have the very one are the same.

    Args:
        noise: standard errors under which a likeness is none where it is not one of angles. Unrelated texts are a
            little alike, and unrelated days are not.
    """
    exact = len(asked.exact_pairs)
    if not distances.shape[1]:
        return np.zeros(distances.shape)
    present = membership_posterior(log_likelihood_ratios(distances[:, :exact], pairs, dimensions), asked.priors)
    alike, error = estimate_similarity(distances[:, exact:], pairs, dimensions)
    graded = np.isin(np.arange(alike.shape[1]), [one.column for one in asked.known_fillers])
    alike = np.where(graded & (alike > 1 - _NOISE_SIGMAS * error[:, None]), 1.0, np.minimum(alike, 1.0))
    least = np.where(asked.angular | graded, _NOISE_SIGMAS, noise)
    alike = np.where(alike > least * error[:, None], alike, 0.0)
    alike = np.where(asked.angular, np.sin(alike * (math.pi / 2)), alike)
    return np.concatenate([present, alike], axis=1)
