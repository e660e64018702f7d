"""Bayesian decoding: how probable a role-filler pair is in a record, given their Hamming distance.

A record is the majority of K pairs, so each of its bits agrees with a given one of them a little more often than not:
with probability p(K), where a pair that is not in it agrees in one half (Kanerva 2009, "Hyperdimensional computing",
section on sets; the same p follows from the central binomial coefficient). Both numbers of agreeing bits are binomial,
so the distance, K and how frequent the pair is give the probability that it is there, by Bayes' rule. Guarantee: these
probabilities are right as averages where codes are random, and the pairs of a record say nothing about each other.
Given up: what the other pairs, once known, explain of the bits.

How alike a record is to a pair asked for by nearness has noise, so that of two records of one day one would seem the
nearer. But the fillers of a role are told apart far better than that: so the record's own is decoded, and how near that
one is to the one asked for is how near the record is. Given up: roles of which a record has several fillers.

Pure: arrays in, arrays out. Below `mnemic.hd.query`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra

Floats = NDArray[np.float64]

_MIN_ERROR = 1e-9
"""No bit is certain: one that differs must not make it impossible that a record of one pair is that pair."""
_MIN_PROBABILITY = 1e-6
"""Records less likely than this to be meant don't count."""
_MANY = 64.0
"""From so many on, the mean of the reciprocal of a number is the reciprocal of its mean, but for 1.6 percent."""


def bit_agreement(pairs: int) -> float:
    """The probability p(K) that a bit of a bundle is that of a given one of its K members.

    1 for one member, 3/4 for two and three, and 1/2 + 0.4 / sqrt(K) for many; where as many have a bit as have it not,
    it is anyone's. 1/2 for an empty bundle.

    Raises:
        ValueError: `pairs` is negative.
    """
    if pairs < 0:
        raise ValueError(f"a bundle cannot have {pairs} members")
    return float(bit_agreements(np.array([pairs]))[0])


def bit_agreements(pairs: NDArray[np.int64]) -> Floats:
    """`bit_agreement` of each number of pairs, ``(n,) int64`` to ``(n,) float64``.

    That of 2 m and of 2 m + 1 pairs is 1/2 + C(2 m, m) / 2^(2 m + 1), whose second part is a product of m fractions.
    """
    halves = np.arange(1, int(pairs.max(initial=0)) // 2 + 1)
    table = 0.5 + np.cumprod(np.concatenate([[0.5], (2 * halves - 1) / (2 * halves)]))
    return np.where(pairs > 0, table[pairs // 2], 0.5)


def log_likelihood_ratios(distances: NDArray[np.int32], pairs: NDArray[np.int64], dimensions: int) -> Floats:
    """How much more likely each distance is where the pair is in the record than where it is not, as a logarithm.

    Args:
        distances: ``(n, q) int32``: of n records from q pairs.
        pairs: ``(n,) int64``: how many pairs each record has.
        dimensions: bits that were compared.

    Returns:
        ``(n, q) float64``, nats; 0 where the distance says nothing.
    """
    agrees = np.clip(bit_agreements(pairs), 0.5, 1 - _MIN_ERROR)[:, None]
    return np.asarray((dimensions - distances) * np.log(2 * agrees) + distances * np.log(2 * (1 - agrees)), np.float64)


def membership_posterior(ratios: Floats, priors: Floats) -> Floats:
    """The probability that each pair is in each record, whatever else is in it.

    Args:
        ratios: ``(n, q)``, as `log_likelihood_ratios` gives them.
        priors: ``(q,)``: how probable each pair is before one looks; 0 and 1 stay what they are.

    Returns:
        ``(n, q) float64``, 0 to 1.
    """
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.log(priors) - np.log1p(-priors)
        return np.asarray(1 / (1 + np.exp(-(ratios + odds))))


def exclusive_posterior(ratios: Floats, priors: Floats) -> Floats:
    """The probability of each pair of a role that no record has twice: one of them is in it, or none.

    Args:
        ratios: ``(n, q)``, as `log_likelihood_ratios` gives them.
        priors: ``(q,)``; what they lack of 1 together is the probability that the record has none of them. Where they
            add up to more, they are taken as shares of 1.

    Returns:
        ``(n, q) float64``; each row adds up to 1 at most.
    """
    if not ratios.shape[1]:
        return np.zeros(ratios.shape)
    shares = priors / max(1.0, float(priors.sum()))
    with np.errstate(divide="ignore"):
        known = ratios + np.log(shares)
        none = np.log(np.maximum(0.0, 1 - shares.sum()))
    top = np.maximum(known.max(axis=1, keepdims=True), none)
    top = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(known - top)
    total = weights.sum(axis=1, keepdims=True) + np.exp(none - top)
    return np.asarray(weights / np.where(total > 0, total, 1.0))


def estimate_similarity(
    distances: NDArray[np.int32], pairs: NDArray[np.int64], dimensions: int
) -> tuple[Floats, Floats]:
    """How alike the filler that a record has in a role is to the one asked for: 1 the same, 0 unrelated or none there.

    Of fillers whose codes are the more alike the nearer they are; a bundle lessens all likeness by the same factor.

    Args:
        distances: ``(n, q) int32``: of n records from q pairs.
        pairs: ``(n,) int64``: how many pairs each record has.
        dimensions: bits that were compared.

    Returns:
        The estimate, ``(n, q) float64``, which may fall a little outside of -1 to 1, and its standard error ``(n,)``.
    """
    kept = np.maximum(2 * bit_agreements(pairs) - 1, _MIN_ERROR)
    return (1 - 2 * distances / dimensions) / kept[:, None], 1 / (math.sqrt(dimensions) * kept)


def expected_weights(matched: Floats) -> Floats:
    """How much each record counts for what is true of a record that is meant, drawn by chance from all that are.

    The weight of a record is the mean of 1 / N where it is meant itself, N being how many are; and N is uncertain as
    each of them is. So the weights add up to the probability that any is meant: 1 where one surely is.

    Args:
        matched: ``(n,) float64``: the probability of each record that it is meant, independent of the others.

    Returns:
        ``(n,) float64``.
    """
    total = float(matched.sum())
    if total > _MANY:
        return matched / total
    weights = np.zeros(len(matched))
    counted = np.flatnonzero(matched > _MIN_PROBABILITY)
    if not len(counted):
        return weights
    some = matched[counted]
    # E[1/N; r is meant] is m_r times the integral from 0 to 1 of the product over all others of (1 - m u), du.
    points, widths = _quadrature()
    logs = np.log1p(-np.minimum(some, 1.0)[:, None] * points)
    weights[counted] = some * (np.exp(logs.sum(axis=0) - logs) @ widths)
    return weights


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Points and weights of Gauss and Legendre on [0, 1], the denser the nearer to 0, where products of many end."""
    points, widths = np.polynomial.legendre.leggauss(8)
    edges = [0.0, *(2.0**-power for power in range(9, -1, -1))]
    steps = [(low, high - low) for low, high in pairwise(edges)]
    return (
        np.concatenate([low + step * (points + 1) / 2 for low, step in steps]),
        np.concatenate([step * widths / 2 for _, step in steps]),
    )


TEMPERATURE = 0.01
"""How fast records count less the farther they are from the nearest: a day beyond the nearest counts 1/50 as much; of
days some weeks off, those of a few days more still count."""
_MAX_COMPARISONS = 200_000
"""Pairs of a record and a filler that are compared for how near the record is; a few milliseconds."""
_MIN_SIMILARITY = 0.05
"""What is less near than this is not near at all: a day a year and a half off."""


class KnownFillers(NamedTuple):
    """The fillers that records may have in the role of a near pair, `c` of them; no record has two of them."""

    column: int
    """Which of the near pairs."""
    vectors: NDArray[np.uint64]
    """``(c, w) uint64``: the fillers, bound to the role."""
    priors: Floats
    """``(c,)``: how many records have each, as a share of all."""
    similarity: Floats
    """``(c,)``: how near each is to the one asked for, 0 to 1."""


def decode_nearness(
    records: NDArray[np.uint64], pairs: NDArray[np.int64], fillers: KnownFillers, algebra: Algebra
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
    which = having[np.argsort(-fillers.similarity[having], kind="stable")[: max(1, _MAX_COMPARISONS // len(records))]]
    ratios = log_likelihood_ratios(algebra.distances(fillers.vectors[which], records).T, pairs, 64 * records.shape[1])
    judged = exclusive_posterior(ratios, fillers.priors[which])
    own = judged.argmax(axis=1)
    probable = judged[np.arange(len(records)), own]
    has = (probable > 1 - judged.sum(axis=1)) & (fillers.similarity[which][own] > _MIN_SIMILARITY)
    near[has], sure[has] = fillers.similarity[which][own[has]], probable[has]
    return near, sure
