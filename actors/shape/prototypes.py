"""Bundles the prototypes of communities, and places new memories by them: two kinds of small background step.

A topic's prototype is the majority bundle of its members' episode hypervectors (Kanerva 2009, "Hyperdimensional
computing"): it is nearer to each member than chance allows. Between two boundaries a new memory is placed in the topic
of its scope whose prototype is nearest. `mnemic.actors.shape.binder` takes the steps when nothing waits to be bound,
and has the Store carry out what is decided here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.communities.changes import PlaceMembers, SetPrototypes
from mnemic.actors.protocol.communities.snapshot import MemberCodes, PrototypeBlock
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.hd.algebra import Algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.space import Space

MOST_CODES = 4096
"""Member codes that one step bundles, at most. A larger topic's prototype is that of so many, evenly drawn."""
_TOPICS = 256  # of topics that one step bundles: of two members each, they take as long as one of many
_PLACED = 64  # memories that one step places: beside 5,000 prototypes that compares 400 MB
_LEAST_BUNDLED = 2  # a bundle of one would be that memory


class PrototypeStep(NamedTuple):
    """What a step asks the Store for."""

    change: SetPrototypes | PlaceMembers
    """The change."""
    done: int
    """Prototypes or memories that it does."""


class PrototypeWork:
    """What is left to do for communities, as far as this Binder knows. Not for use by two threads at once.

    No counters of bits are kept between bundlings: 1,000 hypervectors are bundled in less than a millisecond, and the
    counters of a community would take 40 KB. Nor is it kept in the store how far placing has come: `_after` is, and a
    new instance looks through all rows once.
    """

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra
        self._after: int | None = 0  # rows after this one may have to be placed; None: no row has
        self._known: tuple[int, str] | None = None  # generation and space of the prototypes that are held
        self._prototypes: dict[int, tuple[NDArray[np.int64], NDArray[np.uint64]]] = {}  # by scope: topics, codes

    def communities_changed(self) -> None:
        """Communities were found anew: prototypes are others, and what was placed may not be any more."""
        self._after, self._known = 0, None

    def rows_bound(self, first: int) -> None:
        """Memories from a row on were bound: whatever changes where one may be placed has it bound again."""
        self._after = first - 1 if self._after is None else min(self._after, first - 1)

    def pending(self, snapshot: Snapshot) -> int:
        """How many prototypes are to be bundled, and memories to be placed."""
        unplaced = 0 if self._after is None else snapshot.unplaced_count(self._after)
        return snapshot.stale_prototype_count() + unplaced

    def step(self, snapshot: Snapshot, space: Space, stamp: str) -> PrototypeStep | None:
        """What to do next; ``None`` where nothing is.

        Args:
            space: the space that memories are bound in; of its model nothing is asked.
            stamp: its stamp, as it is kept.
        """
        stale = snapshot.stale_prototypes(_TOPICS)
        if stale:
            self._known = None  # they are read again once these are kept
            return self._bundle(stale, snapshot, space, stamp)
        if (snapshot.generation, stamp) != self._known:
            self._hold(snapshot, stamp)
        return self._place(snapshot)

    def _hold(self, snapshot: Snapshot, stamp: str) -> None:
        """Take over the prototypes as they are; where a scope has some that had none, its memories are looked at."""
        found, before = snapshot.prototypes(), self._prototypes.keys()
        self._prototypes = _by_scope(found)
        if self._prototypes.keys() - before or self._known is not None:
            self._after = 0
        self._known = snapshot.generation, stamp

    def _bundle(self, stale: list[int], snapshot: Snapshot, space: Space, stamp: str) -> PrototypeStep:
        communities: list[int] = []
        members: list[MemberCodes] = []
        left = MOST_CODES
        for topic in stale:
            codes = snapshot.member_codes(topic, MOST_CODES)
            if members and len(codes.row) > left:
                break
            communities.append(topic)
            members.append(codes)
            left -= len(codes.row)
        bundled = tuple(len(one.row) if len(one.row) >= _LEAST_BUNDLED else 0 for one in members)
        kept = [one.codes for one, count in zip(members, bundled, strict=True) if count]
        prototypes = iter(bundle_prototypes(kept, space, self._algebra))
        nothing = np.zeros(space.words, np.uint64)
        codes_of_all = [next(prototypes) if count else nothing for count in bundled]
        change = SetPrototypes(
            generation=snapshot.generation,
            stamp=stamp,
            seq=snapshot.seq,
            communities=tuple(communities),
            bundled=bundled,
            prototypes=np.concatenate(codes_of_all).astype("<u8", copy=False).tobytes(),
        )
        return PrototypeStep(change, len(communities))

    def _place(self, snapshot: Snapshot) -> PrototypeStep | None:
        if self._after is None:
            return None
        found = snapshot.unplaced(self._after, _PLACED)
        if not len(found.row):
            self._after = None
            return None
        self._after = int(found.row[-1])
        topics = nearest_topics(found, self._prototypes, self._algebra)
        near = topics > 0
        change = PlaceMembers(
            generation=snapshot.generation,
            rows=found.row[near].astype("<i8").tobytes(),
            topics=topics[near].astype("<i8").tobytes(),
        )
        return PrototypeStep(change, len(found.row))


def bundle_prototypes(members: list[NDArray[np.uint64]], space: Space, algebra: Algebra) -> NDArray[np.uint64]:
    """Bundle each community's member hypervectors into its prototype, ``(g, space.words) uint64``.

    Where as many members have a bit as have it not, all members bound with each other and permuted decide, as in
    records: by one tie for all, prototypes of few members would look alike. So it depends on the members alone.

    Args:
        members: of each community ``(n, space.words) uint64``, n from 1; the order does not matter.
    """
    if not members:
        return np.empty((0, space.words), np.uint64)
    vectors = np.concatenate(members)
    offsets = np.cumsum([0, *map(len, members)], dtype=np.int64)
    whole = algebra.bind_groups(vectors, offsets)
    ties = algebra.bind(algebra.permute(whole), draw_hypervector(space, "tie", "community"))
    return algebra.bundle_groups(vectors, offsets, ties)


def nearest_topics(
    memories: MemberCodes, prototypes: dict[int, tuple[NDArray[np.int64], NDArray[np.uint64]]], algebra: Algebra
) -> NDArray[np.int64]:
    """The topic of its own scope that each memory is nearest to by Hamming distance, ``(n,) int64``.

    Of topics that are as near it is the lower number; 0 where the scope has none.

    Args:
        prototypes: by scope, numbers of topics ``(p,) int64``, ascending, and their prototypes ``(p, w) uint64``.
    """
    topics = np.zeros(len(memories.row), np.int64)
    for scope in np.unique(memories.scope).tolist():
        if scope in prototypes:
            own = memories.scope == scope
            numbers, codes = prototypes[scope]
            topics[own] = numbers[algebra.distances(codes, memories.codes[own]).argmin(axis=0)]
    return topics


def _by_scope(found: PrototypeBlock) -> dict[int, tuple[NDArray[np.int64], NDArray[np.uint64]]]:
    return {
        scope: (found.topic[found.scope == scope], found.codes[found.scope == scope])
        for scope in np.unique(found.scope).tolist()
    }
