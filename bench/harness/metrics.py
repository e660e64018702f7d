"""Ranking metrics (any@k, MRR, nDCG) and a paired significance test.

Above it stand the benches that measure recall (`mnemic.bench.quality.locomo`); below it stands NumPy. A ranking is a
sequence of names, best first, without repeats (`distinct` makes one); what answers the question is a set of such names.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["any_at", "distinct", "ndcg_at", "paired_test", "reciprocal_rank"]

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


def paired_test(
    candidate: NDArray[np.float64], baseline: NDArray[np.float64], *, seed: int, rounds: int = 10_000
) -> tuple[float, float]:
    """Test a difference that was measured on the same questions, two-sided, by permutation of the signs.

    The sign of each question's difference is flipped at random (Fisher's randomization test; M. Smucker et al., "A
    comparison of statistical significance tests for information retrieval evaluation", 2007). Questions are taken for
    independent: those of one conversation are not quite, so a gain should also hold in each conversation.

    Args:
        candidate: ``(n,) float64``, a score for each question.
        baseline: ``(n,) float64``, of the same questions in the same order.
        seed: of the generator.
        rounds: how many permutations.

    Returns:
        The mean of the candidate's score less the baseline's, and how often chance does as much: never below
        ``1 / (rounds + 1)``.

    Raises:
        ValueError: the two differ in shape, or hold nothing.
    """
    if candidate.ndim != 1 or candidate.shape != baseline.shape or not len(candidate):
        raise ValueError(f"scores of shapes {candidate.shape} and {baseline.shape} cannot be paired")
    difference = candidate - baseline
    mean, rng = float(difference.mean()), np.random.default_rng(seed)
    flipped = (float(difference @ (rng.integers(0, 2, len(difference)) * 2.0 - 1.0)) for _ in range(rounds))
    as_large = sum(abs(one) / len(difference) >= abs(mean) - 1e-12 for one in flipped)
    return mean, (as_large + 1) / (rounds + 1)
