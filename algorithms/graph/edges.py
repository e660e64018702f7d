"""Table of the kinds of edges between memories (meaning, session, target …), what makes edges of each, and their sum.

Memories are known by their row numbers. An edge joins two of one group, which is a scope: every function here takes the
rows that are there, ascending, and the group of each, and drops what would join rows of two groups or a row that is not
there. Edges have no direction; they come with ``source < target``, sorted, each pair once, with a strength above 0 and
at most 1. Results are equal on all machines. Meaning's edges are those of `mnemic.algorithms.graph.neighbours`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]

MOST_TARGETS = 4
"""How many targets of a memory are looked at: its first ones."""
MOST_TOGETHER = 10
"""How many rows of one delivery count as given together: its first ones, which are its best."""
_DOUBTED = 2
"""So many times together count for half."""
MOST_RECALLED = 16
"""How many edges by recalls a memory has."""


EDGE_WEIGHTS: Mapping[str, float] = {
    "meaning": 1.0,  # each is among the nearest of the other by meaning
    "session": 0.5,  # they stand next to each other in a session
    "target": 0.3,  # one is the memory before the other that touched the same target
    "recalled": 0.5,  # recalls gave them together
    "supersedes": 1.0,  # one replaces the other
}
"""The kinds, and what the strengths of each are multiplied with."""


class Edges(NamedTuple):
    """Edges of one kind, or of all together; by source, then by target."""

    sources: Ints
    """``(m,)``: the lower row of each."""
    targets: Ints
    """``(m,)``: the higher one."""
    strengths: Doubles
    """``(m,)``: above 0; of one kind at most 1."""


def session_edges(rows: Ints, groups: NDArray[np.int32], sessions: Ints, order: Ints) -> Edges:
    """Join the memories of a session that follow each other, of those in one group; strength 1.

    Args:
        rows: ``(n,)``, ascending.
        groups: ``(n,)``; negative: the row is not there.
        sessions: ``(n,)``, the number of each one's session; negative: it is in none.
        order: ``(n,)``, its place in the session; what ties comes by row.

    Raises:
        ValueError: The shapes disagree, or the rows do not ascend.
    """
    _check_rows(rows, groups, sessions, order)
    there = np.flatnonzero((groups >= 0) & (sessions >= 0))
    line = there[np.lexsort((rows[there], order[there], sessions[there], groups[there]))]
    before, after = line[:-1], line[1:]
    follows = (groups[before] == groups[after]) & (sessions[before] == sessions[after])
    return _within(rows, groups, rows[before[follows]], rows[after[follows]])


def target_edges(rows: Ints, groups: NDArray[np.int32], targets: Sequence[Sequence[str]]) -> Edges:
    """Join each memory with the one before it in its group that has the same target, for each target.

    A memory has its first `MOST_TARGETS` different targets, so at most twice as many edges. Strength: how many targets
    the two have an edge by, divided by the number of targets that the one has that has more.

    Args:
        rows: ``(n,)``, ascending.
        groups: ``(n,)``; negative: the row is not there.
        targets: of each row, files or what else a tool call was about.

    Raises:
        ValueError: The shapes disagree, or the rows do not ascend.
    """
    _check_rows(rows, groups)
    if len(targets) != len(rows):
        raise ValueError(f"there are {len(rows)} rows, and targets of {len(targets)}")
    last: dict[tuple[int, str], int] = {}
    sizes, shared = np.zeros(len(rows), np.int64), Counter[tuple[int, int]]()
    for at, (group, named) in enumerate(zip(groups.tolist(), targets, strict=True)):
        if group < 0:
            continue
        own = list(dict.fromkeys(named))[:MOST_TARGETS]
        sizes[at] = len(own)
        for target in own:
            before = last.get((group, target))
            if before is not None:
                shared[before, at] += 1
            last[group, target] = at
    pairs = np.array(list(shared), np.int64).reshape(-1, 2)
    counts = np.array(list(shared.values()), np.float64)
    return _within(rows, groups, rows[pairs[:, 0]], rows[pairs[:, 1]], counts / sizes[pairs].max(axis=1, initial=1))


def recalled_edges(deliveries: Iterable[Sequence[int]], rows: Ints, groups: NDArray[np.int32]) -> Edges:
    """Join memories that were given together: times together by the geometric mean of the times each was given.

    Times `n / (n + 2)` of the `n` times together, since one recall gives much that does not belong together: a third
    where two were given once, and never the one without the other; towards 1 the more often they are. Of one delivery
    the first `MOST_TOGETHER` rows count. An edge is kept where it is among the `MOST_RECALLED` strongest of both its
    ends (of equal ones those to the lower row).

    Args:
        deliveries: the rows of each, the best first; rows that are not there join nothing.
        rows: ``(n,)``, ascending.
        groups: ``(n,)``; negative: the row is not there.

    Raises:
        ValueError: The shapes disagree, or the rows do not ascend.
    """
    _check_rows(rows, groups)
    times, together = Counter[int](), Counter[tuple[int, int]]()
    for delivery in deliveries:
        given = sorted(set(delivery[:MOST_TOGETHER]))
        times.update(given)
        together.update(combinations(given, 2))
    pairs = np.array(list(together), np.int64).reshape(-1, 2)
    counts = np.array(list(together.values()), np.float64)
    each = np.array([times[one] * times[other] for one, other in together], np.float64)
    strengths = counts / np.sqrt(each) * (counts / (counts + _DOUBTED))
    found = _within(rows, groups, pairs[:, 0], pairs[:, 1], strengths)
    kept = _strongest_of_both(found.sources, found.targets, found.strengths, MOST_RECALLED)
    return Edges(found.sources[kept], found.targets[kept], found.strengths[kept])


def supersedes_edges(old: Ints, new: Ints, rows: Ints, groups: NDArray[np.int32]) -> Edges:
    """Join memories with those that replace them, ``(m,)`` each; strength 1.

    Args:
        rows: ``(n,)``, ascending.
        groups: ``(n,)``; negative: the row is not there.

    Raises:
        ValueError: The shapes disagree, or the rows do not ascend.
    """
    _check_rows(rows, groups)
    if old.shape != new.shape or old.ndim != 1:
        raise ValueError(f"what is replaced {old.shape} and what replaces it {new.shape} are not pairs")
    return _within(rows, groups, old, new)


def combine(
    kinds: Mapping[str, tuple[Ints, Ints, Doubles]], rows: Ints, groups: NDArray[np.int32], most: int = 64
) -> Edges:
    """Add up the edges of all kinds: for each pair the sum of weight times strength, by `EDGE_WEIGHTS`.

    An edge stays where it is among the `most` heaviest of both its ends (of equal ones those to the lower row), so no
    memory has more than `most`; a memory all of whose neighbours have enough heavier edges may lose all of its own.

    Args:
        kinds: edges of each kind, in any order and direction; of a pair that stands twice in a kind the strengths add
            up, and loops are dropped.
        rows: ``(n,)``, ascending.
        groups: ``(n,)``; negative: the row is not there.
        most: 1 or more.

    Raises:
        ValueError: The shapes disagree, or the rows do not ascend.
    """
    _check_rows(rows, groups)
    parts = []
    for name, weight in EDGE_WEIGHTS.items():
        if name in kinds:
            sources, targets, strengths = kinds[name]
            parts.append(_within(rows, groups, sources, targets, weight * strengths))
    sources = np.concatenate([np.empty(0, np.int64), *(edges.sources for edges in parts)])
    targets = np.concatenate([np.empty(0, np.int64), *(edges.targets for edges in parts)])
    values = np.concatenate([np.empty(0), *(edges.strengths for edges in parts)])
    sources, targets, starts, order = _pairs(sources, targets)
    summed = np.add.reduceat(values[order], starts) if len(starts) else values
    kept = _strongest_of_both(sources, targets, summed, most)
    return Edges(sources[kept], targets[kept], summed[kept])


def _within(rows: Ints, groups: NDArray[np.int32], one: Ints, other: Ints, strengths: Doubles | None = None) -> Edges:
    """Put edges in order, without loops and what joins rows of two groups or one that is not there; 1 by default."""
    at_one, at_other = _groups_of(rows, groups, one), _groups_of(rows, groups, other)
    kept = (at_one >= 0) & (at_one == at_other) & (one != other)
    sources, targets, starts, order = _pairs(np.minimum(one, other)[kept], np.maximum(one, other)[kept])
    if strengths is None or not len(starts):
        return Edges(sources, targets, np.ones(len(sources)))
    return Edges(sources, targets, np.add.reduceat(strengths[kept][order], starts))


def _groups_of(rows: Ints, groups: NDArray[np.int32], wanted: Ints) -> NDArray[np.int32]:
    """The group of each row, negative where it is not there."""
    if not len(rows):
        return np.full(len(wanted), -1, np.int32)
    at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return np.where(rows[at] == wanted, groups[at], np.int32(-1))


def _pairs(sources: Ints, targets: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The different pairs in order, where each begins in the sorted ones, and what sorts them (stable)."""
    order = np.lexsort((targets, sources))
    sources, targets = sources[order], targets[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    starts = np.flatnonzero(first)
    return sources[starts], targets[starts], starts, order


def _strongest_of_both(sources: Ints, targets: Ints, strengths: Doubles, most: int) -> NDArray[np.bool_]:
    """Which edges are among the strongest of both their ends, of equal ones those to the lower row."""
    ends, others = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    order = np.lexsort((others, -np.concatenate([strengths, strengths]), ends))
    sorted_ends = ends[order]
    kept = np.empty(len(order), np.bool_)
    kept[order] = np.arange(len(order)) - np.searchsorted(sorted_ends, sorted_ends) < most
    return kept[: len(sources)] & kept[len(sources) :]


def _check_rows(rows: Ints, *beside: NDArray[np.integer]) -> None:
    if rows.ndim != 1 or any(array.shape != rows.shape for array in beside):
        raise ValueError(f"rows {rows.shape} and {[array.shape for array in beside]} beside them differ in shape")
    if (rows[1:] <= rows[:-1]).any():
        raise ValueError("the rows do not ascend")
