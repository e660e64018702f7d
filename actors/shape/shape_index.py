"""In-memory index of hypervector records and role fillers, kept in step with the log, for structural queries.

It is loaded at the first question about shapes, 1,280 bytes a record and a little, and follows the log from then on.
What is bound anew has higher numbers: of a memory whose episode came again, all records of before are dead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.snapshot import CodeBlock, Columns, Snapshot, SpaceRow
from mnemic.actors.recall.recall_index import GrowableArray
from mnemic.hd.algebra import Algebra, default_algebra
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.query import RecordVectors
from mnemic.hd.roles import ROLES, TIERS, Tier
from mnemic.hd.space import Space

MOST_FILLERS = 16_384
"""Of more fillers of a role the most frequent are compared: each takes as much memory as a record."""
_EMPTY = np.empty(0, np.int64)


class FillerTable(NamedTuple):
    """The item memory of a role, `c` fillers, the most frequent first."""

    names: list[str]
    """The fillers."""
    counts: NDArray[np.int64]
    """``(c,) int64``: how many memories have each."""
    codes: NDArray[np.uint64]
    """``(c, w) uint64``: each bound to the role."""
    count_by_lowercase: dict[str, int]
    """How many memories have each, by its name in lower case; those that are not compared are here too."""

    def count_of(self, filler: str) -> int:
        """How many memories have a filler, in whatever case it is kept: paths keep theirs, and it makes no bit."""
        return self.count_by_lowercase.get(filler.lower(), 0)


class TierRecords:
    """The records of one tier; some of them may be dead."""

    def __init__(self, words: int) -> None:
        first = max(1, words // 4) if words else 0
        self._number, self._row, self._place, self._pairs = (GrowableArray(_EMPTY) for _ in range(4))
        self._head = GrowableArray(np.empty((0, first), np.uint64))
        self._tail = GrowableArray(np.empty((0, words - first), np.uint64))
        self._alive = GrowableArray(np.empty(0, np.bool_))
        self.last = self._count = 0

    def append(self, block: CodeBlock, columns: Columns) -> None:
        """Take in what was bound since; the memories of it are all among the columns."""
        coded = RecordVectors.from_vectors(block.codes, block.pairs)
        for growing, more in (
            (self._number, block.number),
            (self._row, block.row),
            (self._place, np.searchsorted(columns.row, block.row)),
            (self._pairs, block.pairs),
            (self._head, coded.head),
            (self._tail, coded.tail),
            (self._alive, np.ones(len(block.row), np.bool_)),
        ):
            growing.append(more)
        if len(block.number):
            self.last = int(block.number[-1])
            self._count += len(block.number)

    def mark_dead(self, rows: NDArray[np.int64], before: int) -> None:
        """Have the records of some memories be dead that are of lower numbers; where most are, none of them is kept."""
        self._alive.view()[np.isin(self._row.view(), rows) & (self._number.view() < before)] = False
        alive = self._alive.view()
        self._count = int(np.count_nonzero(alive))
        if 2 * self._count < len(alive):
            kept = np.flatnonzero(alive)
            parts = (self._number, self._row, self._place, self._pairs, self._head, self._tail, self._alive)
            for growing in parts:
                growing.select(kept)

    def visible(self, memories: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Which records are of the memories looked through, ``(v,) int64``, ascending."""
        return np.flatnonzero(memories[self._place.view()] & self._alive.view())

    @property
    def alive_count(self) -> int:
        """How many there are that are not dead."""
        return self._count

    @property
    def row(self) -> NDArray[np.int64]:
        """The row of each record's memory."""
        return self._row.view()

    @property
    def position(self) -> NDArray[np.int64]:
        """Where each record's memory stands in the columns."""
        return self._place.view()

    @property
    def codes(self) -> RecordVectors:
        """The records; not copies."""
        return RecordVectors(self._head.view(), self._tail.view(), self._pairs.view())


class ShapeIndex:
    """Follows the log: after `sync`, everything here is as of that snapshot."""

    def __init__(self, seed: bytes, algebra: Algebra | None = None) -> None:
        self._seed = seed
        self.algebra: Algebra = algebra or default_algebra()
        self._row: SpaceRow | None = None
        self._generation = self._seq = -1
        self._items: dict[tuple[str, frozenset[int] | None], FillerTable] = {}
        self._shares: dict[frozenset[int], float] = {}
        self._filler_codes: dict[str, tuple[dict[str, int], GrowableArray]] = {}
        self.records: dict[Tier, TierRecords] = {tier: TierRecords(0) for tier in TIERS}
        """What is bound, by tier."""
        self.encoders: RecordEncoder | None = None
        """The encoders of the newest space; ``None`` where nothing is bound that could be read here."""
        self.pending = self._retired = 0
        """Memories that wait to be bound."""

    @property
    def bound_count(self) -> int:
        """How many memories have their hypervector."""
        return self.records["episode"].alive_count

    @property
    def empty(self) -> bool:
        """Whether it has followed nothing yet: the first time takes long."""
        return self._seq < 0

    def sync(
        self,
        snapshot: Snapshot,
        columns: Columns,
        loaded: Callable[[int, int], None] = lambda *_: None,
        retired: int = 0,
    ) -> None:
        """Bring everything up to a snapshot.

        Args:
            columns: all memories of that snapshot.
            loaded: told how many tiers are there, of how many.
            retired: how many of the memories are retired: their fillers are no longer known then.
        """
        pending = snapshot.pending_binding_count()
        if snapshot.seq == self._seq and snapshot.generation == self._generation:
            self.pending = pending  # what is bound again to the same bits waits no more, and the log says nothing of it
            return
        row = snapshot.space()
        if snapshot.generation != self._generation or row != self._row:
            self._reset(row)
        came: dict[Tier, CodeBlock] = {}
        for done, tier in enumerate(TIERS, 1):
            if self.encoders is not None:
                came[tier] = snapshot.codes(tier, self.records[tier].last)
            loaded(done, len(TIERS))
        new = any(len(block.number) for block in came.values())
        if new:
            self._append_blocks(came, columns)
        if new or (pending, retired) != (self.pending, self._retired):  # nothing else changes who has which filler
            self._items.clear()
            self._shares.clear()
        self.pending, self._retired = pending, retired
        self._seq, self._generation = snapshot.seq, snapshot.generation

    def share(self, snapshot: Snapshot, within: frozenset[int] | None) -> float:
        """How many of the bound memories lie in some scopes, 0 to 1."""
        if within is None:
            return 1.0
        if within not in self._shares:
            self._shares[within] = snapshot.bound_count(within) / max(1, self.bound_count)
        return self._shares[within]

    def items(self, role: str, snapshot: Snapshot, within: frozenset[int] | None = None) -> FillerTable:
        """The item memory of a role, as of a snapshot that was followed; of a role of meaning it is empty.

        Args:
            within: numbers of the scopes whose memories count; ``None`` for all.
        """
        if (role, within) not in self._items:
            found = _merge_case(snapshot.fillers(role, within))
            names = [name for name, _ in found[:MOST_FILLERS]]
            counts = np.array([count for _, count in found[:MOST_FILLERS]], np.int64)
            known = {name.lower(): count for name, count in found}
            self._items[role, within] = FillerTable(names, counts, self._bound(role, names), known)
        return self._items[role, within]

    def _bound(self, role: str, names: list[str]) -> NDArray[np.uint64]:
        """The hypervectors of fillers, each bound to the role; those of before are not made again."""
        assert self.encoders is not None
        nothing = np.empty((0, self.encoders.space.words), np.uint64)
        drawn, vectors = self._filler_codes.setdefault(role, ({}, GrowableArray(nothing)))
        new = [name for name in names if name not in drawn]
        if len(drawn) + len(new) > 2 * MOST_FILLERS:  # most of them nobody has any more
            drawn.clear()
            vectors.select(_EMPTY)
            new = names
        if new:
            drawn.update({name: len(drawn) + place for place, name in enumerate(new)})
            vectors.append(self.algebra.bind(self.encoders.encode_fillers(role, new), self.encoders.role_vector(role)))
        places = np.array([drawn[name] for name in names], np.int64)
        in_order = len(places) == len(drawn) and bool((places == np.arange(len(places))).all())
        return vectors.view() if in_order else vectors.view()[places]

    def _reset(self, row: SpaceRow | None) -> None:
        self._row, self.encoders = row, None
        self._filler_codes.clear()
        self._items.clear()
        self._shares.clear()
        space = None if row is None else _space(row, self._seed)
        if space is not None:
            self.encoders = RecordEncoder(space)
        self.records = {tier: TierRecords(space.words if space else 0) for tier in TIERS}

    def _append_blocks(self, came: dict[Tier, CodeBlock], columns: Columns) -> None:
        again, first = (
            np.unique(came["episode"].row),
            min(int(block.number[0]) for block in came.values() if len(block.row)),
        )
        for tier in TIERS:
            records = self.records[tier]
            if records.last:
                records.mark_dead(again, first)
            records.append(came[tier], columns)


def _space(row: SpaceRow, seed: bytes) -> Space | None:
    """The space of a row; ``None`` where it is of another seed or version, or has roles that are not known here."""
    if any(role not in ROLES for role in row.roles):
        return None
    space = Space(
        seed=seed,
        dimensions=row.dimensions,
        version=row.version,
        roles=row.roles,
        model=row.model,
        embedding_dimensions=row.embedding,
    )
    return space if space.stamp == row.stamp else None


def _merge_case(fillers: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Fillers that differ by their case alone as one, in their most frequent case; the most frequent first."""
    merged: dict[str, tuple[str, int]] = {}
    for name, count in fillers:
        first, before = merged.get(name.lower(), (name, 0))
        merged[name.lower()] = (first, before + count)
    return sorted(merged.values(), key=lambda one: (-one[1], one[0]))
