"""Fuses several ranking signals into one score by weighted min-max scaling, with each one's share.

Above it stands `mnemic.actors.recall.retriever`, which computes the signals; below it stands NumPy alone. Each signal
is put on the range 0 to 1 over the visible memories and the weighted sum ranks. Why the range and not standard scores
or reciprocal ranks: docs/decisions/0002-fusion.md. In one line: words match few memories, so their standard score grows
with the size of the mind (the best of 33,000 lies 21 deviations out, that of meaning 4.5 at any size) and drowns
meaning; the range does not.

Source: S. Bruch, S. Gai and A. Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023). Given up: how
strong the best match is. It gets 1 in every recall, so scores of different queries cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EQUAL_TOLERANCE = 1e-6
"""Scores within this part of the largest are taken for equal: float32 inner products of one text differ by about 1e-7,
and stretched over the range that would outvote the words."""


@dataclass(frozen=True, slots=True)
class SignalScores:
    """What one way of looking says about every memory."""

    name: str
    """What its share is called in an explanation, such as ``dense``."""
    scores: NDArray[np.float64] | NDArray[np.float32]
    """``(n,)``, more is better; NaN where it says nothing (no embedding yet)."""
    floor: float | None = None
    """The score that means "not at all" (0 for BM25); ``None`` takes the least that is visible (inner products)."""
    ceiling: float | None = None
    """The score that means "wholly", where there is one; ``None`` takes the best that is visible."""
    weight: float = 1.0
    """Its share of the sum, 0 or more."""


@dataclass(frozen=True, slots=True)
class FusedScores:
    """The sum, and what it is the sum of."""

    scores: NDArray[np.float64]
    """``(n,)``, from 0 to the sum of the weights; 0 where not visible."""
    contributions: Mapping[str, NDArray[np.float64]]
    """For each signal ``(n,)``, its weighted standardised score, in the order given; they add up to `scores`."""


def min_max_scale(
    scores: NDArray[np.float64] | NDArray[np.float32],
    visible: NDArray[np.bool_],
    *,
    floor: float | None = None,
    ceiling: float | None = None,
) -> NDArray[np.float64]:
    """Put scores on the range 0 to 1: `floor`, or the least visible score, becomes 0; `ceiling`, or the best one, 1.

    A signal that tells no visible memory from another (all alike up to `EQUAL_TOLERANCE`, or none above the floor)
    becomes 0 everywhere: it has nothing to say. A missing score (NaN) becomes 0 and does not count for the range: a
    memory that is not embedded yet stays in the ranking, with the shares its words earn. With a floor, the one memory
    of a mind that matches gets 1; without, it gets 0. With a ceiling, a weak best match stays weak.

    Args:
        scores: ``(n,)``; infinities are not allowed where visible.
        visible: ``(n,) bool``.
        floor: what becomes 0; a score below it counts as the floor.
        ceiling: what becomes 1; a score above it counts as the ceiling.

    Returns:
        ``(n,) float64`` within 0 to 1, 0 where not visible. Of two visible scores the higher never gets less.

    Raises:
        ValueError: the shapes differ, or a visible score is infinite.
    """
    if scores.ndim != 1 or scores.shape != visible.shape:
        raise ValueError(f"scores has shape {scores.shape}, visible {visible.shape}; both must be (n,)")
    standard = np.zeros(len(scores), np.float64)
    said = visible & ~np.isnan(scores)
    if not said.any():
        return standard
    seen = scores[said].astype(np.float64)
    if not np.isfinite(seen).all():
        raise ValueError("a visible score is infinite")
    low = float(seen.min()) if floor is None else floor
    high = float(seen.max()) if ceiling is None else ceiling
    if high - low > EQUAL_TOLERANCE * max(abs(high), abs(low)):
        standard[said] = np.clip((seen - low) / (high - low), 0.0, 1.0)
    return standard


def fuse(signals: Sequence[SignalScores], visible: NDArray[np.bool_]) -> FusedScores:
    """Add up the standardised signals, each times its weight. No signals give 0 everywhere.

    Raises:
        ValueError: as `min_max_scale`; or two signals share a name, or a weight is negative.
    """
    shares: dict[str, NDArray[np.float64]] = {}
    for signal in signals:
        if signal.name in shares:
            raise ValueError(f"two signals are called {signal.name!r}")
        if not signal.weight >= 0:
            raise ValueError(f"the weight of {signal.name!r} is {signal.weight}; it must be 0 or more")
        shares[signal.name] = signal.weight * min_max_scale(
            signal.scores, visible, floor=signal.floor, ceiling=signal.ceiling
        )
    scores = np.zeros(len(visible), np.float64)
    for share in shares.values():
        scores += share
    return FusedScores(scores, shares)


def rank(
    scores: NDArray[np.float64], visible: NDArray[np.bool_], times: NDArray[np.int64], limit: int
) -> NDArray[np.int64]:
    """Name the best visible rows, best first; of equal ones the newest first, then the lower row.

    Args:
        scores: ``(n,) float64``, finite.
        visible: ``(n,) bool``.
        times: ``(n,) int64``, when each was said.
        limit: the most rows to name, 0 or more.

    Returns:
        ``(m,) int64`` row indices, ``m`` the lesser of `limit` and the number of visible rows. A smaller limit gives
        the beginning of what a larger one gives.

    Raises:
        ValueError: `limit` is negative.
    """
    if limit < 0:
        raise ValueError(f"limit is {limit}")
    rows = np.flatnonzero(visible)
    if limit == 0:
        return rows[:0]
    if limit < len(rows):
        # the least score that may stay; whatever ties with it stays for the sort to settle
        least = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= least]
    order = np.lexsort((rows, ~times[rows], -scores[rows]))  # ~ falls as time grows, and the least int64 has one
    return rows[order][:limit]
