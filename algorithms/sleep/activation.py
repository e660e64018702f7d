"""Base-level activation: how probably a memory is wanted again, from when it was of use.

Each use adds, and counts less the longer ago it was, by a power of its age; of old uses the number and the time of the
first stand for the times (Petrov's approximation), so that what is kept of a memory does not grow. Nothing here goes by
a clock: ages are counted back from a time that is given.

Sources: J. Anderson and L. Schooler, "Reflections of the environment in memory" (1991); A. Petrov, "Computationally
efficient approximation of the base-level learning equation in ACT-R" (2006), equation 6 (hybrid).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DAY_US = 86_400_000_000
"""The unit of ages, microseconds; what is younger counts as old as that, so that one busy hour is not all."""
HALF_LIKELY_DAYS = 30.0
"""A memory that was of use once, so many days ago, is wanted with a probability of a half."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def base_level(uses: Ints, first_at: Ints, recent: Ints, at: int, decay: float) -> Floats:
    """``ln(sum of age ** -decay)`` of each memory's uses until a time, ``(n,)``; minus infinity where there was none.

    Args:
        uses: ``(n,)``: how often each was of use, ever.
        first_at: ``(n,)``: when first, microseconds.
        recent: ``(n, k)``: when last, the newest first, microseconds; -1 where there are no so many.
        at: the time, microseconds. Of uses whose times are not kept those before it are taken to lie evenly between the
            first and the oldest kept.
        decay: above 0, below 1; ACT-R's own is 0.5.
    """
    known = recent >= 0
    seen = known & (recent <= at)
    ages = np.where(seen, _age(recent, at), 1.0)
    total = np.where(seen, ages**-decay, 0.0).sum(axis=1)
    older = (uses - known.sum(axis=1)).astype(np.float64)
    oldest = np.where(known, recent, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    span = np.maximum(oldest - first_at, 1)
    older *= np.where(oldest <= at, 1.0, np.clip((at - first_at) / span, 0.0, 1.0))
    longest, least = _age(first_at, at), _age(np.minimum(oldest, at), at)
    between = np.maximum(longest - least, 1e-9)  # the mean of age ** -decay over these ages
    mean = (longest ** (1.0 - decay) - least ** (1.0 - decay)) / ((1.0 - decay) * between)
    middle = (longest + least) / 2.0  # over a short span, the difference above cancels to noise of more than 1e-8
    mean = np.where(longest - least < 1e-4, middle**-decay, mean)
    total += np.where(older > 0.0, older * mean, 0.0)
    with np.errstate(divide="ignore"):
        found: Floats = np.log(total)
    return found


def _age(times: Ints, at: int) -> Floats:
    """In days, one at the least."""
    aged: Floats = np.maximum((at - times) / DAY_US, 1.0)
    return aged


def wanted_again(level: Floats, decay: float) -> Floats:
    """How probably each is wanted again, 0 to 1, ``(n,)``: a logistic curve over its activation (noise 1)."""
    middle = -decay * np.log(HALF_LIKELY_DAYS)
    with np.errstate(over="ignore"):
        found: Floats = 1.0 / (1.0 + np.exp(middle - level))
    return found


def summarise(times: Sequence[int], most: int) -> tuple[int, int, tuple[int, ...]]:
    """Of the times of uses how many, the first, and the newest `most`, the newest first."""
    ordered = sorted(times)
    return len(ordered), ordered[0], tuple(ordered[: -most - 1 : -1])
