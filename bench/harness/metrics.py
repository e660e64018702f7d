"""How good a ranking is, by the names that are gold in it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np

Name = TypeVar("Name", bound=Hashable)


def distinct(names: Iterable[Name]) -> list[Name]:
    """Each name once, where it first occurs: hits ranked by turn become sessions in the order of their first hit."""
    return list(dict.fromkeys(names))


def any_at(ranking: Sequence[Name], gold: Collection[Name], k: int) -> float:
    """1.0 if one of the first `k` names is gold, else 0.0."""
    return float(any(name in gold for name in ranking[:k]))


def reciprocal_rank(ranking: Sequence[Name], gold: Collection[Name]) -> float:
    """1 / the place of the first gold name, counted from 1; 0.0 where the ranking holds none."""
    for place, name in enumerate(ranking, start=1):
        if name in gold:
            return 1.0 / place
    return 0.0


def ndcg_at(ranking: Sequence[Name], gold: Collection[Name], k: int) -> float:
    """Normalised discounted cumulative gain over the first `k` names, each gold one worth 1.

    The ideal is the true one: all that is gold, at the top (at most `k`), whether the ranking found it or not.
    Source: K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002).

    Raises:
        ValueError: nothing is gold, so that there is no ideal.
    """
    if not gold:
        raise ValueError("a question without gold has no ideal ranking")
    gain = sum(1.0 / np.log2(place + 1) for place, name in enumerate(ranking[:k], start=1) if name in gold)
    ideal = sum(1.0 / np.log2(place + 1) for place in range(1, min(k, len(gold)) + 1))
    return float(gain / ideal)
