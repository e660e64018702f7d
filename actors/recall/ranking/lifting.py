"""Lifts what stands for another memory above it: corrections, and what facts surely replaced.

Part of `mnemic.actors.recall.recaller`. Scores, ``(n,)``, and which memories speak, ``(n,)``, are changed in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.recall.ranking.answers import Remedy
from mnemic.actors.recall.ranking.replaced import Replacements

_CORRECTION_MARGIN = 1e-3  # a correction stands this much above what it replaces

_MOST_TURNS = 8  # chains that change so often between corrections and facts end there

Floats = NDArray[np.floating[Any]]


def lift_all(
    index: RecallIndex,
    kept: Replacements,
    as_of: int | None,
    scores: Floats,
    scored: NDArray[np.bool_],
    visible: NDArray[np.bool_],
    until: float,
    *,
    successors: bool,
    now: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lift what stands for others until each stands above all that it stands for; corrections have the last say.

    Args:
        until: see `lift_corrections`.
        successors: whether what facts replaced counts as well.
        now: see `lift_successors`.

    Returns the positions of all that were lifted, and of those among them that stand for what facts replaced.
    """
    lifted = [lift_corrections(index, as_of, scores, scored, until)]
    standing = lifted[0][:0]
    for turn in range(_MOST_TURNS if successors else 0):
        before = scores.copy()
        found = lift_successors(index, kept, scores, scored, visible, now=now, named_first=not turn)
        standing = np.union1d(standing, found)
        lifted += [found, lift_corrections(index, as_of, scores, scored, until)]
        if np.array_equal(before, scores):
            break
    return np.unique(np.concatenate(lifted)), standing


def lift_predecessors(
    index: RecallIndex, kept: Replacements, scores: Floats, scored: NDArray[np.bool_], visible: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Lift what was surely replaced above what stands for it, where what held before is asked for.

    What the question names goes first, and of a chain the last that was replaced. Returns the positions of the lifted.
    """
    rows, lifted = index.columns.row, set[int]()
    for one in sorted(kept.successions, key=lambda each: each.at):
        older, newer = np.searchsorted(rows, (one.older, one.successor)).tolist()
        if newer < len(rows) and rows[newer] == one.successor and visible[older] and (scored[newer] or one.is_named):
            best = np.where(scored, scores, -np.inf).max() if one.is_named else scores[newer]
            if scores[older] < best:
                scores[older] = best + _CORRECTION_MARGIN
            scored[older] = True
            lifted.add(older)
    return np.array(sorted(lifted), np.int64)


def lift_remedies(
    remedies: Sequence[Remedy], evidence: Floats, scores: Floats, scored: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Lift what worked above what reported the failure or was tried before; returns the positions of the lifted.

    It is about the same failure, in other words: where it surely worked, it has in common with the question what the
    report has.

    Args:
        evidence: ``(n,)``: the scores without what a report and a failed try lost.
    """
    lifted = set[int]()
    for one in remedies:
        least = max(scores[one.report], (evidence if one.is_sure else scores)[one.report]) + _CORRECTION_MARGIN
        if scored[one.report] and (scores[one.worked] < least or not scored[one.worked]):
            scores[one.worked], scored[one.worked] = max(scores[one.worked], least), True
            lifted.add(one.worked)
    return np.array(sorted(lifted), np.int64)


def lift_corrections(
    index: RecallIndex, as_of: int | None, scores: Floats, scored: NDArray[np.bool_], until: float = math.inf
) -> NDArray[np.int64]:
    """Lift each correction above what it replaces, and have it speak; returns the positions of those lifted.

    What is not looked through passes a lift on: who corrects a correction stands above both.

    Args:
        until: world time, microseconds: what was said at this time or later lifts nothing, since what held before it is
            asked for.
    """
    old, new = index.superseded(as_of)
    early = index.columns.said_at[new] < until
    old, new = old[early], new[early]
    lifted = [new[:0]]
    rising = np.arange(len(old))
    for _ in range(len(old)):  # no chain is longer
        least = scores[old[rising]] + _CORRECTION_MARGIN
        above = scored[old[rising]] & (scores[new[rising]] < least)
        rising, least = rising[above], least[above]
        if not len(rising):
            break
        lifted.append(new[rising])
        np.maximum.at(scores, lifted[-1], least)
        scored[lifted[-1]] = True
        at = np.minimum(np.searchsorted(old, lifted[-1]), len(old) - 1)
        rising = at[old[at] == lifted[-1]]  # what replaces those, in their turn
    return np.unique(np.concatenate(lifted))


def lift_successors(
    index: RecallIndex,
    kept: Replacements,
    scores: Floats,
    scored: NDArray[np.bool_],
    visible: NDArray[np.bool_],
    *,
    now: bool = False,
    named_first: bool = True,
) -> NDArray[np.int64]:
    """Lift what stands for a memory right above it; returns the positions of those lifted.

    Args:
        now: whether what holds now is asked for: then the newer of two that contradict each other stands above, and
            what stands for all that the question names stands first.
        named_first: whether that goes first, and not only above what it replaced.
    """
    rows, lifted = index.columns.row, set[int]()
    ordered = sorted([*kept.successions, *(kept.likely if now else ())], key=lambda each: each.at)
    first = int(np.argmax(np.where(scored, scores, -np.inf))) if ordered else -1
    best = scores[first] if ordered else 0.0
    for turn in range(len(ordered)):  # a successor's successor stands above both, and no chain is longer
        moved = False
        for one in ordered:
            older, newer = np.searchsorted(rows, (one.older, one.successor)).tolist()
            if newer < len(rows) and rows[newer] == one.successor and visible[newer] and scored[older]:
                is_first = now and named_first and one.is_named and not turn
                least = (best if is_first and newer != first else scores[older]) + _CORRECTION_MARGIN
                if scores[newer] < least or not scored[newer]:
                    scores[newer], scored[newer], moved = max(scores[newer], least), True, True
                lifted.add(newer)
        if not moved:
            break
    return np.array(sorted(lifted), np.int64)
