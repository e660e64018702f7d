"""Fuses several ranking signals into one score: a weighted sum, each on an absolute scale of its own.

Above it stand `mnemic.actors.recall.recaller` and `mnemic.actors.shape.about`, which compute the signals; below it
stands NumPy alone. No signal is divided by the best of this recall: stretched over its own range, a weak match of one
common word counts as much as a perfect one, and buries meaning. So the unit of words is the share of what the question
says that a memory says too, and that of meaning the cosine itself; docs/decisions/0002-fusion.md has what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class SignalScores:
    """What one way of looking says about every memory."""

    name: str
    """What its share is called in an explanation, such as ``dense``."""
    scores: Floats
    """``(n,)``, more is better, on a scale that holds for every question; NaN where it says nothing, which counts 0."""
    weight: float = 1.0
    """What its scores are multiplied by, 0 or more."""


class FusedScores:
    """The sum, and what it is the sum of."""

    def __init__(self, scores: Floats, signals: Sequence[SignalScores], visible: NDArray[np.bool_]) -> None:
        self.scores = scores
        """``(n,)``; 0 where not visible."""
        self._signals, self._visible = signals, visible
        self._replaced: tuple[NDArray[np.int64], Mapping[str, Floats]] = (np.empty(0, np.int64), {})
        self._lost = 0.0

    def contributions(self, rows: NDArray[np.int64]) -> dict[str, Floats]:
        """For each signal what it adds to the scores of some visible rows, ``(m,)``, in the order given."""
        replaced, others = self._replaced
        same, of = np.nonzero(rows[:, None] == replaced)
        found: dict[str, Floats] = {}
        for number, signal in enumerate(self._signals):
            share = signal.weight * signal.scores[rows].astype(np.float64)
            share[np.isnan(share)] = 0.0
            if not number and self._lost:
                share -= self._lost
                share[same] += self._lost
            if signal.name in others:
                share[same] = others[signal.name][of]
            found[signal.name] = share
        return found

    def replace(self, rows: NDArray[np.int64], contributions: Mapping[str, Floats]) -> None:
        """Put other contributions of some signals in the place of those of the best rows, ``(m,)`` each; once.

        The other visible rows stay below these: where one would not, all of theirs lose as much of the first signal.
        """
        shares = self.contributions(rows) | dict(contributions)
        self._replaced = rows, contributions
        others = self._visible.copy()
        others[rows] = False
        self.scores[rows] = sum(shares.values())
        highest = np.where(others, self.scores, -np.inf).max(initial=-np.inf)
        self._lost = max(0.0, float(highest - self.scores[rows].min(initial=np.inf)))
        if self._lost:
            self.scores[others] -= self._lost


def fuse(signals: Sequence[SignalScores], visible: NDArray[np.bool_]) -> FusedScores:
    """Add up the signals, each times its weight. No signals give 0 everywhere.

    Args:
        visible: ``(n,) bool``: the memories that are ranked.

    Raises:
        ValueError: two signals share a name, a weight is negative, the shapes differ, or a visible score is infinite.
    """
    total = np.zeros(len(visible), np.float64)
    for number, signal in enumerate(signals):
        if any(one.name == signal.name for one in signals[:number]):
            raise ValueError(f"two signals are called {signal.name!r}")
        if not signal.weight >= 0:
            raise ValueError(f"the weight of {signal.name!r} is {signal.weight}; it must be 0 or more")
        if signal.scores.shape != visible.shape:
            raise ValueError(f"{signal.name!r} has the shape {signal.scores.shape}, visible {visible.shape}")
        share = signal.weight * signal.scores
        if not np.isfinite(share.sum()):  # else no score is infinite or NaN, as a rule
            share = np.where(visible & ~np.isnan(share), share, 0.0)
            if not np.isfinite(share).all():
                raise ValueError(f"a visible score of {signal.name!r} is infinite")
        total += share
    total[~visible] = 0.0
    return FusedScores(total, signals, visible)


def rank(scores: Floats, visible: NDArray[np.bool_], times: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Name the best visible rows, best first; of equal ones the newest first, then the lower row.

    Args:
        scores: ``(n,)``, finite.
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
    if limit == 0:
        return np.empty(0, np.int64)
    rows = np.flatnonzero(visible)
    if limit < len(rows):
        # the least score that may stay; whatever ties with it stays for the sort to settle
        shown = np.where(visible, scores, -np.inf)
        least = np.partition(shown, len(shown) - limit)[len(shown) - limit]
        rows = np.flatnonzero(visible & (shown >= least))
    order = np.lexsort((rows, ~times[rows], -scores[rows]))  # ~ falls as time grows, and the least int64 has one
    return rows[order][:limit]
