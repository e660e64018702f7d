"""Folds the hits of a recall that say the same: the best stands for them, and names the others.

Below `mnemic.actors.recall.recaller`; which texts say the same is `mnemic.algorithms.text.near_duplicates`. Memories
are folded only where they are of one scope, kind, speaker, branch and outcome, where nothing or the same replaces them,
and where they replace nothing or the same: what was corrected never hides behind its correction, nor the other way
round.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.kernel.times import DAY_US, day_of
from mnemic.actors.recall.messages import Memory, SameMemory
from mnemic.algorithms.text.near_duplicates import fingerprint

MOST_FOLDED = 1000
"""So many of the best are compared; behind a thousand that say the same, what says something else is not found."""
_LEAST_COSINE = 0.75
"""Of two texts that say the same: of the labelled ones none is below .80. It saves reading those that surely do not."""
_MOST_KNOWN = 20_000  # memories, some 300 bytes each; then it begins anew


def said_alike(memory: Memory) -> tuple[Hashable, ...]:
    """What is equal of memories of one scope that say the same."""
    said_on = day_of(memory.recorded_at if memory.said_at is None else memory.said_at, memory.utc_offset_min)
    who = (memory.kind, memory.role, memory.speaker, memory.tool, memory.outcome, memory.files, memory.branch)
    return fingerprint(memory.text, said_on), who


class Copies(NamedTuple):
    """What nights found of `n` memories that say the same."""

    group: NDArray[np.int64]
    """``(n,)``: the group of each; -1 of one that is in none, or not known yet."""
    surplus: NDArray[np.bool_]
    """``(n,)``: those that are not ranked, since others of their group are."""


class Folding:
    """Folds candidates; what memories say is kept as recalls come upon them."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index
        self._generation = -1
        self._known: dict[int, Hashable] = {}

    def fold(
        self, order: NDArray[np.int64], snapshot: Snapshot, as_of: int | None, copies: Copies, *, by_day: bool
    ) -> Iterator[tuple[int, list[int]]]:
        """Go through candidates, each with those after it that say the same; these do not come again.

        Args:
            order: ``(m,)``: positions of memories, best first; those behind the first `MOST_FOLDED` are not compared.
            snapshot: which the index is as of.
            as_of: corrections made later are unknown.
            copies: what is known to say the same; what is not ranked is named with the first one that is.
            by_day: whether what was said on another day is another matter, since it was asked what was when.
        """
        columns, compared = self._index.columns, order[:MOST_FOLDED]
        vectors = self._index.first_vectors(compared)
        group, any_surplus = copies.group[compared], copies.surplus.any()
        waits, days = np.ones(len(compared), np.bool_), columns.local_at[compared] // DAY_US if by_day else None
        for place in range(len(compared)):
            if not waits[place]:
                continue
            waits[place] = False
            may = waits & ~(vectors @ vectors[place] < _LEAST_COSINE)  # and where one has no vector
            for column in (columns.scope[compared], columns.kind[compared], *(() if days is None else (days,))):
                may &= column == column[place]
            own = int(group[place])
            known = waits & (group == own) if own >= 0 else np.zeros(len(waits), np.bool_)
            suspects = np.flatnonzero(may & ~known)
            said, *others = self._said(order[[place, *suspects]], snapshot, as_of) if len(suspects) else [None]
            known[suspects[[other == said for other in others]]] = True
            same = np.flatnonzero(known)
            waits[same] = False
            alike = order[same].tolist()
            if any_surplus:
                alike += np.flatnonzero(copies.surplus & np.isin(copies.group, group[[place, *same]])).tolist()
            yield int(order[place]), alike
        yield from ((int(position), []) for position in order[MOST_FOLDED:])

    def name(self, positions: Sequence[int], snapshot: Snapshot) -> list[SameMemory]:
        """Name memories that say the same as a hit."""
        rows, said_at = (
            column[list(positions)].tolist() for column in (self._index.columns.row, self._index.columns.said_at)
        )
        return [SameMemory(id=id, said_at=at) for id, at in zip(snapshot.ids_of(rows), said_at, strict=True)]

    def _said(self, positions: NDArray[np.int64], snapshot: Snapshot, as_of: int | None) -> list[Hashable]:
        """Of each memory what has to be equal of those that say the same, but for scope and kind."""
        if snapshot.generation != self._generation or len(self._known) > _MOST_KNOWN:
            self._generation, self._known = snapshot.generation, {}
        rows = self._index.columns.row[positions].tolist()
        unknown = [row for row in rows if row not in self._known]
        for row, memory in zip(unknown, snapshot.load_memories(unknown), strict=True):
            self._known[row] = said_alike(memory)
        return [
            (self._known[row], self._index.replacement(row, as_of), *self._index.replaced(row, as_of)) for row in rows
        ]
