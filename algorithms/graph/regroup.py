"""What communities become at a boundary: labels of nodes as numbers that live on, and what changed by it.

Above it stands whoever keeps communities; below it stands `mnemic.algorithms.graph.identity`, which tells who is who.
Here a community has two members at least: a node alone belongs nowhere, whose number is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.graph.identity import Event, match

Ints = NDArray[np.int64]


class Regrouped(NamedTuple):
    """Communities after a boundary."""

    numbers: Ints
    """``(n,) int64``: the number of each node's community; 0 for none."""
    next_number: int
    """The least number that no community ever had."""
    ended: Ints
    """``(m,) int64``: numbers of those that are no more, ascending."""
    events: tuple[Event, ...]
    """What became of communities, those that go on as they were left out."""


def regroup(rows: Ints, labels: Ints, rows_before: Ints, numbers_before: Ints, next_number: int) -> Regrouped:
    """Number the communities of some labels, each as the one before that it is.

    Args:
        rows: ``(n,)``, ascending: the nodes.
        labels: ``(n,)``: those of equal labels are together; a negative one is alone.
        rows_before: ``(m,)``, ascending: the nodes at the boundary before.
        numbers_before: ``(m,)``: the number of each one's community; 0 for none.
        next_number: the least number that no community ever had, from 1.
    """
    before = {number: members for number, members in _groups(rows_before, numbers_before) if number > 0}
    after = [members for label, members in _groups(rows, labels) if label >= 0 and len(members) > 1]
    matched = match(before, after, next_id=next_number)
    numbers = np.zeros(len(rows), np.int64)
    if after:
        numbers[np.searchsorted(rows, np.concatenate(after))] = np.repeat(matched.ids, [len(one) for one in after])
    ended = np.setdiff1d(np.array(list(before), np.int64), matched.ids)
    events = tuple(one for one in matched.events if one.kind != "continued")
    return Regrouped(numbers, matched.next_id, ended, events)


def moved_nodes(rows: Ints, numbers: Ints, rows_before: Ints, numbers_before: Ints) -> Ints:
    """Nodes of any of two boundaries that belong elsewhere at the second, ascending."""
    every = np.union1d(rows, rows_before)
    moved = carried(rows, numbers, every) != carried(rows_before, numbers_before, every)
    return np.compress(moved, every)


def carried(rows: Ints, values: Ints, wanted: Ints) -> Ints:
    """Values of rows, ascending, as those of other rows; 0 of a row that has none."""
    if not len(rows):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return np.where(rows[at] == wanted, values[at], 0)


def _groups(rows: Ints, labels: Ints) -> list[tuple[int, Ints]]:
    """Each label with its rows, ascending."""
    if not len(rows):
        return []
    order = np.argsort(labels, kind="stable")
    found, first = np.unique(labels[order], return_index=True)
    return list(zip(found.tolist(), np.split(rows[order], first[1:]), strict=True))
