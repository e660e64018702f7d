"""Which of several statements holds: a product over newer rivals, by the probability that two fill the same slot.

A slot is an attribute of something that has one value at a time ("where Nadia works"). No clusters and no thresholds:
each newer statement takes from an older one as probably as it is of the same slot and asserts something. What holds now
is what none has taken from; what held before is what was taken from last. Above stands
`mnemic.actors.recall.ranking.validity`; docs/decisions/0019-what-holds-now.md says what was tried, and against what it
was judged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_CHARS = 100
"""Characters; what is longer is about much, so that little of it is taken back by another text: it is no rival, and has
none. Of LoCoMo's long turns, said one after the other about one matter, each would take from the one before."""
_SHORTEST_CHARS = 10
COEFFICIENTS = (0.30, 3.43, 6.31, -1.54)
"""Of a logistic regression on pairs of texts: bias, and weights of the cosine, its square and the logarithm
of the longer text's length. The facts bench fits them anew (docs/benches.md), which another encoder asks for."""


def pair_features(
    cosines: NDArray[np.floating[Any]], lengths: NDArray[np.integer[Any]]
) -> tuple[Floats, Floats, Floats]:
    """What the probability of a shared slot follows from, ``(m, m)`` each, in the order of `COEFFICIENTS`."""
    cosine = np.nan_to_num(cosines.astype(np.float64))
    length = np.log(np.maximum(lengths, _SHORTEST_CHARS).astype(np.float64))
    return cosine, cosine**2, np.maximum(length[:, None], length[None, :])


def same_slot(cosines: NDArray[np.floating[Any]], lengths: NDArray[np.integer[Any]]) -> Floats:
    """How probably two statements fill the same slot, ``(m, m)``, 0 to 1; 0 with itself.

    Two that are as near in meaning are less probably of one slot the longer they are; with a text of more than
    `MAX_CHARS` characters none is.

    Args:
        cosines: ``(m, m)``: of each with each; NaN where one has no vector, and then they are taken for unlike.
        lengths: ``(m,)``: characters.
    """
    bias, *weights = COEFFICIENTS
    features = pair_features(cosines, lengths)
    same: Floats = 1.0 / (1.0 + np.exp(-bias - sum(one * each for one, each in zip(weights, features, strict=True))))
    same[np.maximum(lengths[:, None], lengths[None, :]) > MAX_CHARS] = 0.0
    np.fill_diagonal(same, 0.0)
    return same


def still_holds(same: Floats, asserted: Floats, said_at: NDArray[np.int64], until: float = math.inf) -> Floats:
    """How probably nothing newer has taken the place of each statement, ``(m,)``.

    Args:
        same: ``(m, m)``: how probably two fill the same slot.
        asserted: ``(m,)``: how probably each asserts what it says.
        said_at: ``(m,)``: when; what was said at the same time takes no place.
        until: what was said at this time or later takes no place either: what is asked for is what held before it.
    """
    newer = (said_at[None, :] > said_at[:, None]) & (said_at[None, :] < until)
    kept: Floats = np.where(newer, 1.0 - same * asserted[None, :], 1.0).prod(axis=1)
    return kept


def held_last(same: Floats, asserted: Floats, said_at: NDArray[np.int64]) -> Floats:
    """How probably each statement is the last one of its slot that does not hold any more, ``(m,)``."""
    gone = 1.0 - still_holds(same, asserted, said_at)
    return gone * still_holds(same, asserted * gone, said_at)
