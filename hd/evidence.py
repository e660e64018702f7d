"""How much a bundle still shows of each pair in it, and what follows for how alike two fillers are.

A record is the majority of K pairs, so each of its bits agrees with a given one of them a little more often than not:
with probability p(K), where a pair that is not in it agrees in one half (Kanerva 2009, "Hyperdimensional computing",
section on sets; the same p follows from the central binomial coefficient).

Pure: arrays in, arrays out. Below `mnemic.hd.query`.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
    points, widths = leggauss(8)
    edges = [0.0, *(2.0**-power for power in range(9, -1, -1))]
    steps = [(low, high - low) for low, high in pairwise(edges)]
    return (
        np.concatenate([low + step * (points + 1) / 2 for low, step in steps]),
        np.concatenate([step * widths / 2 for _, step in steps]),
    )


TEMPERATURE = 0.01
"""How fast records count less the farther they are from the nearest: a day beyond the nearest counts 1/50 as much; of
days some weeks off, those of a few days more still count."""
MIN_SIMILARITY = 0.05
"""What is less near than this is not near at all: a day a year and a half off."""

WRONG_CUE = 0.1
"""How probable it is, before one looks, that something of what is asked for is wrong."""


def cue_evidence(likeness: Floats, shares: Floats, right: float = 1 - WRONG_CUE) -> Floats:
    """What it tells for a record that it has one of some fillers, where one like it was asked for: ``(c,)`` nats.

    Where what was asked for is wrong, any filler is as likely as by chance. Else a filler is the one meant in
    proportion to its likeness. So the evidence is the log likelihood of the cue given that the record is
    meant, beside that of a record that the cue is wrong of; a record without any such filler has none.

    Args:
        likeness: ``(c,)``: how like the one asked for each is, 0 to 1.
        shares: ``(c,)``: how many records have each, as a share of all; more than 0.
        right: how probable it is that what was asked for is right; less than 1.
    """
    expected = float(likeness @ shares)
    if expected <= 0:
        return np.zeros(len(likeness))
    return np.asarray(np.log1p(right / (1 - right) * likeness / expected), np.float64)
