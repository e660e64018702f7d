"""How many pairs a hypervector can hold: decoding accuracy in theory and in simulation.

A record bundles K pairs of role and filler. A role is unbound, and what comes out is compared with an item memory of M
fillers: right is where the nearest one is the filler that was bound. The same holds where the order of things takes
the place of roles: the i-th is permuted i times. Above stand `mnemic.bench.speed.hd_bench` and its drawing; below it
the algebra and the codebooks that memories are bound with.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.evidence import bit_agreement
from mnemic.hd.space import Space

__all__ = [
    "Order",
    "closed_form_capacity",
    "count_correct",
    "exact_accuracy",
    "gaussian_accuracy",
    "information_bits",
    "most_pairs",
    "tail_probability",
]

Order = Literal["roles", "places"]
"""What tells the pairs of a record apart: a role that each is bound with, or its place, by which it is permuted."""
_REACH = 9.0  # standard deviations that the integral goes through on either side
_STEPS = 4001
_SELDOM = 1e-3
_LEAST = 1e-9


def exact_accuracy(dimensions: int, pairs: int, codebook: int) -> float:
    """How often the right filler is the nearest: the sum over all distances it may have, by the binomial law.

    Bits are independent of each other, and so are the distances of the wrong fillers. Of fillers that are equally
    near, the one that comes first is taken, which is the right one as often as any other.
    """
    wrong = _binomial(dimensions, 0.5)
    below = np.cumsum(wrong)
    below /= below[-1]
    nearer = np.concatenate([[0.0], below[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = (below**codebook - nearer**codebook) / (codebook * wrong)
    seldom = ((below + nearer) / 2) ** (codebook - 1)  # the same, to where the difference above drowns in rounding
    wins = np.where(codebook * wrong < _SELDOM, seldom, shared)
    return min(1.0, float(_binomial(dimensions, bit_agreement(pairs)) @ wins))


def gaussian_accuracy(dimensions: int, pairs: int, codebook: int) -> float:
    """The same as the integral of Frady, Kleyko and Sommer 2018, "A theory of sequence indexing and working memory in
    recurrent neural networks": distances are taken to be normal, and never equal.
    """
    right = bit_agreement(pairs)
    near, far = math.sqrt(right * (1 - right)), 0.5
    at = np.linspace(-_REACH, _REACH, _STEPS)
    density = np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    beyond = (at * near + (right - 0.5) * math.sqrt(dimensions)) / far
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in beyond])
    return float((density * below ** (codebook - 1)).sum() * (at[1] - at[0]))


def closed_form_capacity(dimensions: int, codebook: int, wrong: float = 0.01) -> float:
    """About how many pairs a record holds where `wrong` of the decoded fillers are: their high-fidelity limit, for BSC.

    The chance that one wrong filler is nearer is ``Q(s / sqrt 2)``, with the signal to noise ``s² = 2 D / (pi K)`` of
    a bundle of bits; ``wrong = (M - 1) Q(s / sqrt 2)``, with ``Q(x) = exp(-x² / 2) / (x sqrt(2 pi))``, is solved for
    ``s²``. As if no two wrong ones were ever nearer at once, so that it stays below `most_pairs`, by about a tenth.
    """
    squared = 4.0
    for _ in range(100):
        squared = 4 * max(0.25, math.log((codebook - 1) / wrong) - 0.5 * math.log(math.pi * squared))
    return 2 * dimensions / (math.pi * squared)


def most_pairs(dimensions: int, codebook: int, right: float = 0.99) -> int:
    """How many pairs a record may have at most for `right` of its fillers to be decoded rightly, by
    `exact_accuracy`.
    """
    low, high = 1, 2
    while exact_accuracy(dimensions, high, codebook) >= right:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact_accuracy(dimensions, middle, codebook) >= right else (low, middle)
    return low


def information_bits(right: float, codebook: int) -> float:
    """Bits that are known of a filler that is decoded rightly so often, and wrongly to any other alike."""
    wrong = 1.0 - right
    known = right * math.log2(right * codebook) if right > 0 else 0.0
    return known + (wrong * math.log2(wrong * codebook / (codebook - 1)) if wrong > 0 else 0.0)


def count_correct(space: Space, algebra: Algebra, order: Order, pairs: int, codebook: int, decodes: int) -> int:
    """How many of `decodes` fillers come out right, of as many records of `pairs` as it takes.

    All is drawn from the space's seed, which decides what comes out.
    """
    records = -(-decodes // pairs)
    chosen = _chance(space, "chosen", order, pairs, codebook).integers(0, codebook, (records, pairs))
    names = np.array([draw_hypervector(space, "bench role", str(number)) for number in range(pairs)])
    items = _items(space, codebook)
    if order == "roles":
        bound = algebra.bind(items[chosen.reshape(-1)], np.tile(names, (records, 1)))
    else:
        moved = [algebra.permute(items[chosen[:, place]], place) for place in range(pairs)]
        bound = np.stack(moved, axis=1).reshape(records * pairs, -1)
    ties = np.array([draw_hypervector(space, "bench tie", f"{order} {pairs} {number}") for number in range(records)])
    bundles = algebra.bundle_groups(bound, np.arange(0, records * pairs + 1, pairs, dtype=np.int64), ties)
    if order == "roles":
        asked = algebra.bind(np.repeat(bundles, pairs, axis=0), np.tile(names, (records, 1)))
    else:
        turned = [algebra.permute(bundles, -place) for place in range(pairs)]
        asked = np.stack(turned, axis=1).reshape(records * pairs, -1)
    found, _ = algebra.cleanup(items, np.ascontiguousarray(asked[:decodes]), 1)
    return int((found[:, 0] == chosen.reshape(-1)[:decodes]).sum())


def tail_probability(hits: int, decodes: int, right: float) -> float:
    """How probable it is to count `hits` or what is further from `right`, on the side that it is on: 0 to 1."""
    law = _binomial(decodes, min(max(right, _LEAST), 1 - _LEAST))
    return float(min(law[: hits + 1].sum(), law[hits:].sum()))


@lru_cache(maxsize=4)
def _items(space: Space, codebook: int) -> NDArray[np.uint64]:
    return np.array([draw_hypervector(space, "bench filler", str(number)) for number in range(codebook)])


def _chance(space: Space, *about: object) -> np.random.Generator:
    drawn = draw_hypervector(space, "bench chance", " ".join(map(str, about)))
    return np.random.default_rng(drawn[:4].tolist())


def _binomial(count: int, chance: float) -> NDArray[np.float64]:
    """How probable each number from 0 to `count` is, ``(count + 1,) float64``."""
    if chance >= 1.0:
        return np.append(np.zeros(count), 1.0)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    of = np.arange(count + 1)
    ways = logs[-1] - logs - logs[::-1]
    law: NDArray[np.float64] = np.exp(ways + of * math.log(chance) + (count - of) * math.log1p(-chance))
    return law
