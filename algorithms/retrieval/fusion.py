"""Fuses several ranking signals into one score: a weighted sum, each on an absolute scale of its own.

Above it stand `mnemic.actors.recall.retriever` and `mnemic.actors.shape.about`, which compute the signals; below it
stands NumPy alone. No signal is divided by the best of this recall: stretched over its own range, a weak match of one
common word counts as much as a perfect one, and buries meaning. So the unit of words is the share of what the question
says that a memory says too, and that of meaning the cosine itself; docs/decisions/0002-fusion.md has what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SignalScores:
    """What one way of looking says about every memory."""

    name: str
    """What its share is called in an explanation, such as ``dense``."""
    scores: NDArray[np.float64]
    """``(n,)``, more is better, on a scale that holds for every question; NaN where it says nothing, which counts 0."""
    weight: float = 1.0
    """What its scores are multiplied by, 0 or more."""


@dataclass(frozen=True, slots=True)
class FusedScores:
    """The sum, and what it is the sum of."""

    scores: NDArray[np.float64]
    """``(n,)``; 0 where not visible."""
    contributions: Mapping[str, NDArray[np.float64]]
    """For each signal ``(n,)``, its weighted score, in the order given; they add up to `scores`."""

    def replace(
        self,
        rows: NDArray[np.int64],
        visible: NDArray[np.bool_],
        contributions: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Put other contributions of some signals in the place of those of the best rows, ``(m,)`` each.

        The other visible rows stay below these: where one would not, all of theirs lose as much of the first signal.
        """
        for name, share in contributions.items():
            self.contributions[name][rows] = share
        self.scores[rows] = sum(share[rows] for share in self.contributions.values())
        others = visible.copy()
        others[rows] = False
        above = self.scores[others].max(initial=-np.inf) - self.scores[rows].min(initial=np.inf)
        if above > 0:
            for share in (self.scores, next(iter(self.contributions.values()))):
                share[others] -= above


def fuse(signals: Sequence[SignalScores], visible: NDArray[np.bool_]) -> FusedScores:
    """Add up the signals, each times its weight. No signals give 0 everywhere.

    Args:
        visible: ``(n,) bool``: the memories that are ranked.

    Raises:
        ValueError: two signals share a name, a weight is negative, the shapes differ, or a visible score is infinite.
    """
    shares: dict[str, NDArray[np.float64]] = {}
    total = np.zeros(len(visible), np.float64)
    for signal in signals:
        if signal.name in shares:
            raise ValueError(f"two signals are called {signal.name!r}")
        if not signal.weight >= 0:
            raise ValueError(f"the weight of {signal.name!r} is {signal.weight}; it must be 0 or more")
        if signal.scores.shape != visible.shape:
            raise ValueError(f"{signal.name!r} has the shape {signal.scores.shape}, visible {visible.shape}")
        share = np.where(visible & ~np.isnan(signal.scores), signal.weight * signal.scores, 0.0)
        if not np.isfinite(share).all():
            raise ValueError(f"a visible score of {signal.name!r} is infinite")
        shares[signal.name] = share
        total += share
    return FusedScores(total, shares)


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
