"""What figures are worth: intervals of means, differences measured in pairs, and many of them at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

DRAWS = 1000
"""Of a bootstrap."""


def mean_interval(
    values: ArrayLike, clusters: Sequence[Hashable] | None = None, *, weights: ArrayLike | None = None, seed: int = 1
) -> tuple[float, float]:
    """95 % of the means of values drawn anew with replacement (percentile bootstrap; B. Efron, 1979).

    Args:
        values: ``(n,)``, at least one.
        clusters: what each belongs to: what stands or falls together is drawn together. Each by itself where absent.
        weights: ``(n,)``: what each counts; 1 where absent.
        seed: of the generator.

    Raises:
        ValueError: There is no value, or there are not as many clusters or weights.
    """
    given = np.asarray(values, np.float64)
    counted = np.ones(len(given)) if weights is None else np.asarray(weights, np.float64)
    if given.ndim != 1 or not len(given) or counted.shape != given.shape:
        raise ValueError(f"there is no interval of values of shape {given.shape} and weights of shape {counted.shape}")
    if clusters is not None:
        if len(clusters) != len(given):
            raise ValueError(f"{len(given)} values cannot be in {len(clusters)} clusters")
        numbers: dict[Hashable, int] = {}
        of = np.array([numbers.setdefault(one, len(numbers)) for one in clusters])
    else:
        of = np.arange(len(given))
    sums, sizes = np.bincount(of, given * counted), np.bincount(of, counted)
    drawn = np.random.default_rng(seed).integers(0, len(sums), (DRAWS, len(sums)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), (0.025, 0.975)).tolist()
    return low, high


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """95 % interval of a share that was counted; 0 to 1 where nothing was (E. B. Wilson, 1927).

    Raises:
        ValueError: there are more successes than trials, or fewer than none.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no share")
    if not trials:
        return 0.0, 1.0
    share, z = successes / trials, 1.959964
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * (share * (1 - share) / trials + z * z / (4 * trials**2)) ** 0.5 / (1 + z * z / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


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


def holm(probabilities: Sequence[float]) -> list[float]:
    """Adjust p-values of several comparisons so that any is wrong by chance as seldom as one alone would be.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).

    Returns:
        Of each the adjusted one, in their order, 1 at the most.
    """
    order = sorted(range(len(probabilities)), key=lambda place: probabilities[place])
    adjusted, largest = [0.0] * len(probabilities), 0.0
    for done, place in enumerate(order):
        largest = max(largest, min(1.0, probabilities[place] * (len(probabilities) - done)))
        adjusted[place] = largest
    return adjusted
