"""In-memory index of what fills the roles of records, and of their hypervectors, kept in step with the log.

What fills them is loaded at the first question about shapes, six bytes a pair, with where each filler is; hypervectors,
1,280 bytes a record, at the first question that needs them. Both follow the log from then on.
What is bound anew has higher numbers: of a memory whose episode came again, all records of before are dead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.windows import GrowableArray
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.log.queries import Columns
from mnemic.actors.shape.queries import MOST_SHIFT, CodeBlock, NamedFiller, RecordBlock, SpaceRow
from mnemic.algorithms.retrieval.inverted_index import make_inverted_index
from mnemic.algorithms.retrieval.term_codes import CODE_BYTES
from mnemic.hd.algebra import Algebra, default_algebra
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.letters import SpellingEncoder
from mnemic.hd.roles import ROLES, TIERS, Tier
from mnemic.hd.space import Space

_EMPTY = np.empty(0, np.int64)
_WORD = re.compile(r"[^\W\d_]{3,}")


class FillerTable(NamedTuple):
    """The fillers of a role, `c` of them, the most frequent first; those that differ by their case alone are one."""

    names: list[str]
    """The fillers."""
    numbers: list[tuple[int, ...]]
    """What they are known by."""
    count_by_lowercase: dict[str, int]
    """How many memories have each, by its name in lower case."""


class TierRecords:
    """The records of one tier: what fills their roles, and their hypervectors once these were asked for.

    Some of them may be dead.
    """

    def __init__(self, words: int) -> None:
        self._number, self._row, self._place, self._ends = (GrowableArray(_EMPTY) for _ in range(4))
        self._terms = GrowableArray(np.empty(0, np.uint32))
        self._postings = make_inverted_index()
        self._codes = GrowableArray(np.empty((0, words), np.uint64))
        self._alive = GrowableArray(np.empty(0, np.bool_))
        self.last = self.last_coded = self._count = 0

    def append(self, block: RecordBlock, columns: Columns) -> None:
        """Take in what was bound since; the memories of it are all among the columns."""
        for growing, more in (
            (self._number, block.number),
            (self._row, block.row),
            (self._place, np.searchsorted(columns.row, block.row)),
            (self._ends, block.ends + len(self._terms.view())),
            (self._terms, block.terms),
            (self._alive, np.ones(len(block.row), np.bool_)),
        ):
            growing.append(more)
        self._add_postings(block.row, block.ends, block.terms)
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
            which, terms = self.terms_of(kept)
            self._terms = GrowableArray(terms)
            self._codes.select(kept[kept < len(self._codes.view())])
            for growing in (self._number, self._row, self._place, self._ends, self._alive):
                growing.select(kept)
            self._ends.view()[:] = np.cumsum(np.bincount(which, minlength=len(kept)))
            self._postings = make_inverted_index()
            self._add_postings(self.row, self._ends.view(), terms)

    def visible(self, memories: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Which records are of the memories looked through, ``(v,) int64``, ascending."""
        return np.flatnonzero(memories[self._place.view()] & self._alive.view())

    def having(self, terms: Sequence[int]) -> NDArray[np.int64]:
        """Which records have any of some terms, ``(m,) int64``, ascending; dead ones are among them."""
        return np.asarray(self._postings.postings(terms)[0], np.int64)

    def among(self, places: NDArray[np.int64], memories: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Those of some records that are alive and of the memories looked through."""
        return np.asarray(places[memories[self._place.view()[places]] & self._alive.view()[places]], np.int64)

    def terms_of(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The terms of some records one after another, and of which of the records each is, from 0: ``(t,)`` each."""
        ends = self._ends.view()
        starts = np.where(places > 0, ends[places - 1], 0)
        sizes = ends[places] - starts
        which = np.repeat(np.arange(len(places)), sizes)
        inside = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return which, self._terms.view()[starts[which] + inside]

    def attach(self, block: CodeBlock) -> None:
        """Take in the hypervectors of what was taken in since the last time; those that were replaced have none."""
        first = len(self._codes.view())
        numbers = self._number.view()[first:]
        codes = np.zeros((len(numbers), block.codes.shape[1]), np.uint64)
        codes[np.searchsorted(numbers, block.number)] = block.codes
        self._codes.append(codes)
        self.last_coded = self.last

    def _add_postings(self, rows: NDArray[np.int64], ends: NDArray[np.int64], terms: NDArray[np.uint32]) -> None:
        """Index terms, each once."""
        codes = np.zeros((len(terms), CODE_BYTES), np.uint8)
        codes[:, :4] = terms.astype("<u4").view(np.uint8).reshape(-1, 4)
        codes[:, -1] = 1
        self._postings.append(rows, CODE_BYTES * ends, codes.tobytes())

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
    def codes(self) -> NDArray[np.uint64]:
        """The hypervectors of all that were attached, ``(n, w) uint64``; not copies."""
        return np.asarray(self._codes.view(), np.uint64)


class ShapeIndex:
    """Follows the log: after `sync`, everything here is as of that snapshot."""

    def __init__(self, seed: bytes, algebra: Algebra | None = None) -> None:
        self._seed = seed
        self.algebra: Algebra = algebra or default_algebra()
        self._row: SpaceRow | None = None
        self._generation = self._seq = -1
        self._items: dict[tuple[str, frozenset[int] | None], FillerTable] = {}
        self._spelling: SpellingEncoder | None = None
        self._spelt: dict[str, tuple[dict[str, int], GrowableArray]] = {}
        self._vocabulary: dict[str, int] = {}
        self._words: dict[int, NDArray[np.int64]] = {}
        self._roles: list[str] = []
        self._role_of = GrowableArray(np.empty(0, np.uint16))
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
        """Bring everything but hypervectors up to a snapshot; those are loaded by `vectors`.

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
        came: dict[Tier, RecordBlock] = {}
        for done, tier in enumerate(TIERS, 1):
            if self.encoders is not None:
                came[tier] = snapshot.records(tier, self.records[tier].last)
            loaded(done, len(TIERS))
        new = any(len(block.number) for block in came.values())
        if new:
            self._append_blocks(came, columns)
            self._append_roles(*snapshot.filler_roles(len(self._role_of.view()) - 1))
        if new or (pending, retired) != (self.pending, self._retired):  # nothing else changes who has which filler
            self._items.clear()
        self.pending, self._retired = pending, retired
        self._seq, self._generation = snapshot.seq, snapshot.generation

    def vectors(self, tier: Tier, snapshot: Snapshot) -> NDArray[np.uint64]:
        """The hypervectors of all records of a tier, ``(n, w) uint64``, as of a snapshot that was followed."""
        records = self.records[tier]
        if records.last_coded < records.last:
            records.attach(snapshot.codes(tier, records.last_coded))
        return records.codes

    def spelt_like(self, role: str, names: list[str], name: str) -> NDArray[np.float64]:
        """How alike some fillers of a role are spelt to a name, ``(c,)``, 0 to 1; their codes are made once."""
        assert self.encoders is not None
        if self._spelling is None:
            self._spelling = SpellingEncoder(self.encoders.space, self.algebra)
        known, codes = self._spelt.setdefault(
            role, ({}, GrowableArray(np.empty((0, self.encoders.space.words), np.uint64)))
        )
        new = [one for one in names if one not in known]
        if new:
            known.update({one: len(known) + place for place, one in enumerate(new)})
            codes.append(self._spelling.encode(new))
        return self._spelling.similarities(codes.view()[[known[one] for one in names]], name)

    def words_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The words of some names, each once, as numbers, ``(u,) int64``."""
        found = {word for name in names for word in _WORD.findall(name.lower())}
        return np.array(sorted(self._vocabulary.setdefault(one, len(self._vocabulary)) for one in found), np.int64)

    def words_of_fillers(self, numbers: Sequence[int], snapshot: Snapshot) -> list[NDArray[np.int64]]:
        """`words_of` each of some fillers; a filler of a number never changes, so that each is read once."""
        new = [one for one in numbers if one not in self._words]
        if new:
            self._words.update({one.number: self.words_of([one.name]) for one in snapshot.named_fillers(new)})
        return [self._words.get(one, _EMPTY) for one in numbers]

    def role_of(self, number: int) -> str:
        """The role of a filler."""
        return self._roles[int(self._role_of.view()[number])]

    def of_role(self, role: str, terms: NDArray[np.uint32], shift: int = 0) -> NDArray[np.bool_]:
        """Which terms say what fills a role, of a step so many steps before it; ``(t,) bool``."""
        if role not in self._roles:
            return np.zeros(len(terms), np.bool_)
        own = terms % (MOST_SHIFT + 1) == shift
        return np.asarray(own & (self._role_of.view()[terms // (MOST_SHIFT + 1)] == self._roles.index(role)))

    def items(self, role: str, snapshot: Snapshot, within: frozenset[int] | None = None) -> FillerTable:
        """The fillers of a role, as of a snapshot that was followed; of a role of meaning there are none.

        Args:
            within: numbers of the scopes whose memories count; ``None`` for all.
        """
        if (role, within) not in self._items:
            found = merge_case(snapshot.fillers(role, within))
            self._items[role, within] = FillerTable(
                [name for name, _, _ in found],
                [numbers for _, numbers, _ in found],
                {name.lower(): count for name, _, count in found},
            )
        return self._items[role, within]

    def _reset(self, row: SpaceRow | None) -> None:
        self._row, self.encoders = row, None
        self._items.clear()
        self._spelling, self._spelt = None, {}
        self._roles, self._role_of = [], GrowableArray(np.empty(0, np.uint16))
        self._words.clear()
        space = None if row is None else _space(row, self._seed)
        if space is not None:
            self.encoders = RecordEncoder(space)
        self.records = {tier: TierRecords(space.words if space else 0) for tier in TIERS}

    def _append_blocks(self, came: dict[Tier, RecordBlock], columns: Columns) -> None:
        again, first = (
            np.unique(came["episode"].row),
            min(int(block.number[0]) for block in came.values() if len(block.row)),
        )
        for tier in TIERS:
            records = self.records[tier]
            if records.last:
                records.mark_dead(again, first)
            records.append(came[tier], columns)

    def _append_roles(self, numbers: NDArray[np.int64], roles: list[str]) -> None:
        """Note which roles fillers are of. A number that no filler has any more is of no role that is asked for."""
        if not len(numbers):
            return
        self._roles += sorted({*roles} - {*self._roles})
        known = {name: place for place, name in enumerate(self._roles)}
        first = len(self._role_of.view())
        more = np.full(int(numbers[-1]) + 1 - first, np.iinfo(np.uint16).max, np.uint16)
        more[numbers - first] = [known[role] for role in roles]
        self._role_of.append(more)


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


def merge_case(fillers: Sequence[NamedFiller]) -> list[tuple[str, tuple[int, ...], int]]:
    """Fillers that differ by their case alone as one, in their most frequent case, with their numbers and how many
    memories have them; the most frequent first.
    """
    merged: dict[str, list[NamedFiller]] = {}
    for one in fillers:
        merged.setdefault(one.name.lower(), []).append(one)
    found = [
        (same[0].name, tuple(one.number for one in same), sum(one.memories for one in same)) for same in merged.values()
    ]
    return sorted(found, key=lambda one: (-one[2], one[0]))
