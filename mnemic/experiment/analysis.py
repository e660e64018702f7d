"""What came of a run: means with their intervals over the nights, differences to the base arm, and what moved.

The unit is a question: of a question that several seeds ask the mean over these counts. Differences are paired, with a
bootstrapped interval and a randomization test, and adjusted for how many of them there are (Holm).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from mnemic.bench.harness.statistics import holm, mean_interval, paired_test
from mnemic.experiment.jobs import ArmResult
from mnemic.experiment.run import Outcome

MOST_MOVED = 40
"""Of each arm, so many questions are told that moved most."""


class Point(msgspec.Struct, frozen=True):
    """A mean after some nights."""

    arm: str
    measure: str
    nights: int
    questions: int
    mean: float
    low: float
    """2.5 % of the bootstrapped means are lower."""
    high: float


class Difference(msgspec.Struct, frozen=True):
    """An arm's mean less the base arm's, over the questions that both were asked after the last nights."""

    arm: str
    base: str
    measure: str
    nights: int
    questions: int
    base_mean: float
    mean: float
    difference: float
    low: float
    high: float
    p: float
    """How often chance does as much, two-sided."""
    p_adjusted: float
    """The same, for so many comparisons (Holm)."""


class Moved(msgspec.Struct, frozen=True):
    """A question that an arm answers otherwise than the base arm."""

    arm: str
    seed: int
    question: str
    """Its id."""
    change: float
    """Of the first measure."""
    base_rank: int | None
    """Where the first memory that answers stands by the base arm, from 1; ``None`` if not among those kept."""
    rank: int | None
    """Where it stands by this arm."""
    base_first: str
    """Id of the base arm's first hit; empty for none."""
    first: str
    """Id of this arm's."""
    rose: tuple[str, ...]
    """Ids of memories that stand higher than by the base arm, the best first."""
    fell: tuple[str, ...]
    """Ids of those that stand lower, or no more."""


class Cost(msgspec.Struct, frozen=True):
    """What an arm took, over its seeds."""

    arm: str
    runs: int
    night_s: float
    """Mean time of a night, of the machine's; 0 where there are none."""
    took_s: float
    """Mean time of the whole life."""
    peak_mib: float
    """The most memory of its process."""
    store_mib: float
    """Mean size of its mind in the end."""


def points_of(outcome: Outcome, *, always: bool = False) -> list[Point]:
    """The mean of each measure after each number of nights, by arm.

    Args:
        always: over those questions alone that were asked whenever any was: else a line would join different ones.
    """
    found = []
    for arm in outcome.manifest.spec.arms:
        for measure in outcome.manifest.spec.measures:
            asked = {nights: _by_seed(outcome.of(arm.name), measure, nights) for nights in _nights_of(outcome)}
            common = set.intersection(*(set(of) for of in asked.values() if of)) if any(asked.values()) else set()
            for nights, of in asked.items():
                values = list(_means({key: of[key] for key in of if key in common or not always}).values())
                if values:
                    low, high = mean_interval(values)
                    mean = float(np.mean(values))
                    found.append(Point(arm.name, measure, nights, len(values), mean, low, high))
    return found


def differences_of(outcome: Outcome) -> list[Difference]:
    """Each arm less the base arm, by every measure, after the last nights."""
    spec, nights = outcome.manifest.spec, _nights_of(outcome)
    found = []
    for arm in [one.name for one in spec.arms if one.name != spec.base_arm]:
        for measure in spec.measures:
            last = nights[-1] if nights else 0
            one, base = (_by_seed(outcome.of(name), measure, last) for name in (arm, spec.base_arm))
            difference = paired_difference(one, base)
            if difference is not None:
                found.append(Difference(arm, spec.base_arm, measure, last, *difference, 1.0))
    adjusted = holm([one.p for one in found])
    return [msgspec.structs.replace(one, p_adjusted=p) for one, p in zip(found, adjusted, strict=True)]


def paired_difference(
    one: Mapping[tuple[str, int], float], base: Mapping[tuple[str, int], float]
) -> tuple[int, float, float, float, float, float, float] | None:
    """How many questions both were asked, the base's mean, the other's, their difference with its interval, and p;
    ``None`` where there are none.

    Args:
        one, base: by question and seed; of a question the seeds count that both have.
    """
    both = sorted(one.keys() & base.keys())
    if not both:
        return None
    mine, theirs = (np.array(list(_means({key: of[key] for key in both}).values())) for of in (one, base))
    low, high = mean_interval(mine - theirs)
    difference, p = paired_test(mine, theirs, seed=1)
    return len(mine), float(theirs.mean()), float(mine.mean()), difference, low, high, p


def moved_questions(outcome: Outcome, gold: Mapping[str, frozenset[str]]) -> list[Moved]:
    """What each arm answers otherwise than the base arm after the last nights, what changed most first.

    Args:
        gold: of each question, by its id, what answers it.
    """
    spec, nights = outcome.manifest.spec, _nights_of(outcome)
    found: list[Moved] = []
    base = {result.seed: _last(result, nights) for result in outcome.of(spec.base_arm)}
    for arm in [one.name for one in spec.arms if one.name != spec.base_arm]:
        moved = []
        for result in outcome.of(arm):
            for question, (measured, hits) in _last(result, nights).items():
                before = base.get(result.seed, {}).get(question)
                if before is None or before[1] == hits:
                    continue
                change = measured.get(spec.measures[0], 0.0) - before[0].get(spec.measures[0], 0.0)
                ranks = {id: place for place, id in enumerate(before[1])}
                rose = [id for place, id in enumerate(hits) if id not in ranks or ranks[id] > place]
                fell = [id for place, id in enumerate(before[1]) if id not in hits or hits.index(id) > place]
                answers = gold.get(question, frozenset())
                moved.append(
                    Moved(
                        arm=arm,
                        seed=result.seed,
                        question=question,
                        change=change,
                        base_rank=_rank(before[1], answers),
                        rank=_rank(hits, answers),
                        base_first=before[1][0] if before[1] else "",
                        first=hits[0] if hits else "",
                        rose=tuple(rose),
                        fell=tuple(fell),
                    )
                )
        found += sorted(moved, key=lambda one: (-abs(one.change), one.question, one.seed))[:MOST_MOVED]
    return found


def costs_of(outcome: Outcome) -> list[Cost]:
    """What each arm took."""
    found = []
    for arm in outcome.manifest.spec.arms:
        results = outcome.of(arm.name)
        if results:
            nights = [night.took_s for one in results for night in one.nights]
            found.append(
                Cost(
                    arm=arm.name,
                    runs=len(results),
                    night_s=float(np.mean(nights)) if nights else 0.0,
                    took_s=float(np.mean([one.took_s for one in results])),
                    peak_mib=max(one.peak_mib for one in results),
                    store_mib=float(np.mean([one.store_bytes for one in results])) / 2**20,
                )
            )
    return found


def last_answers(outcome: Outcome, arm: str, measure: str) -> dict[tuple[str, int], float]:
    """Of each question and seed what an arm's answer after the last nights measures."""
    nights = _nights_of(outcome)
    return _by_seed(outcome.of(arm), measure, nights[-1]) if nights else {}


def _by_seed(results: Sequence[ArmResult], measure: str, nights: int) -> dict[tuple[str, int], float]:
    return {
        (answer.question, result.seed): answer.measured[measure]
        for result in results
        for answer in result.answers
        if answer.nights == nights and measure in answer.measured
    }


def _means(by_seed: Mapping[tuple[str, int], float]) -> dict[str, float]:
    """Of each question the mean over its seeds."""
    found: dict[str, list[float]] = defaultdict(list)
    for (question, _), value in by_seed.items():
        found[question].append(value)
    return {question: float(np.mean(values)) for question, values in found.items()}


def _nights_of(outcome: Outcome) -> list[int]:
    return sorted({answer.nights for result in outcome.results for answer in result.answers})


def _last(result: ArmResult, nights: Sequence[int]) -> dict[str, tuple[Mapping[str, float], tuple[str, ...]]]:
    return {one.question: (one.measured, one.hits) for one in result.answers if one.nights == nights[-1]}


def _rank(hits: Sequence[str], gold: frozenset[str]) -> int | None:
    return next((place for place, id in enumerate(hits, 1) if id in gold), None)
