"""Bundles the prototypes of communities, and places new memories by them: two kinds of small background step.

A topic's prototype is the majority bundle of its members' episode hypervectors (Kanerva 2009, "Hyperdimensional
computing"): it is nearer to each member than chance allows. Beside it the mean of its members' vectors is kept. Between
two boundaries a new memory is placed in the topic of its scope whose mean is nearest to its vector, which agrees more
often with where the next boundary puts it (docs/decisions/0026-what-hypervectors-are-for.md); without a model, in the
one whose prototype is nearest. `mnemic.actors.shape.binder` takes the steps when nothing waits to be bound, and has the
Store carry out what is decided here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.communities.changes import PlaceMembers, SetPrototypes
from mnemic.actors.communities.queries import MemberCodes, PrototypeBlock
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.changes import EncoderName
from mnemic.hd.algebra import Algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.space import Space

MOST_CODES = 4096
"""Member codes that one step bundles, at most. A larger topic's prototype is that of so many, evenly drawn."""
_TOPICS = 256  # of topics that one step bundles: of two members each, they take as long as one of many
_PLACED = 64  # memories that one step places: beside 5,000 prototypes that compares 400 MB
_LEAST_BUNDLED = 2  # a bundle of one would be that memory


class ScopeTopics(NamedTuple):
    """The topics of a scope that have prototypes, `p` of them."""

    numbers: NDArray[np.int64]
    """``(p,) int64``, ascending."""
    codes: NDArray[np.uint64]
    """``(p, w) uint64``: their prototypes."""
    means: NDArray[np.float32]
    """``(p, d) float32``: the means of their members' vectors, of unit length; zeros where there is none."""


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
        self._prototypes: dict[int, ScopeTopics] = {}  # by scope

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

    def step(self, snapshot: Snapshot, space: Space, stamp: str, encoder: EncoderName | None) -> PrototypeStep | None:
        """What to do next; ``None`` where nothing is.

        Args:
            space: the space that memories are bound in; of its model nothing is asked.
            stamp: its stamp, as it is kept.
            encoder: whose vectors memories are placed by; ``None`` without a model.
        """
        stale = snapshot.stale_prototypes(_TOPICS)
        if stale:
            self._known = None  # they are read again once these are kept
            return self._bundle(stale, snapshot, space, stamp, encoder)
        if (snapshot.generation, stamp) != self._known:
            self._hold(snapshot, stamp)
        return self._place(snapshot, encoder)

    def _hold(self, snapshot: Snapshot, stamp: str) -> None:
        """Take over the prototypes as they are; where a scope has some that had none, its memories are looked at."""
        found, before = snapshot.prototypes(), self._prototypes.keys()
        self._prototypes = _by_scope(found)
        if self._prototypes.keys() - before or self._known is not None:
            self._after = 0
        self._known = snapshot.generation, stamp

    def _bundle(
        self, stale: list[int], snapshot: Snapshot, space: Space, stamp: str, encoder: EncoderName | None
    ) -> PrototypeStep:
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
            means=_means([one.row for one in members], snapshot, encoder).astype("<f4", copy=False).tobytes(),
        )
        return PrototypeStep(change, len(communities))

    def _place(self, snapshot: Snapshot, encoder: EncoderName | None) -> PrototypeStep | None:
        if self._after is None:
            return None
        found = snapshot.unplaced(self._after, _PLACED)
        if not len(found.row):
            self._after = None
            return None
        self._after = int(found.row[-1])
        vectors = _vectors(found.row, snapshot, encoder)
        topics = nearest_topics(found, vectors, self._prototypes, self._algebra)
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
    memories: MemberCodes, vectors: NDArray[np.float32], topics: dict[int, ScopeTopics], algebra: Algebra
) -> NDArray[np.int64]:
    """The topic of its own scope that each memory is nearest to, ``(n,) int64``.

    By the cosine to the means, where it and any topic has a vector, else by Hamming distance to the prototypes. Of
    topics that are as near it is the lower number; 0 where the scope has none.

    Args:
        vectors: ``(n, d) float32``: of each memory, zeros where it has none.
        topics: by scope.
    """
    found = np.zeros(len(memories.row), np.int64)
    for scope in np.unique(memories.scope).tolist():
        if scope not in topics:
            continue
        numbers, codes, means = topics[scope]
        own = np.flatnonzero(memories.scope == scope)
        found[own] = numbers[algebra.distances(codes, memories.codes[own]).argmin(axis=0)]
        if means.shape[1] == vectors.shape[1] and means.any():
            meant = own[vectors[own].any(axis=1)]
            cosines = means @ vectors[meant].T
            cosines[np.flatnonzero(~means.any(axis=1))] = -np.inf
            found[meant] = numbers[cosines.argmax(axis=0)]
    return found


def _vectors(rows: NDArray[np.int64], snapshot: Snapshot, encoder: EncoderName | None) -> NDArray[np.float32]:
    """The vectors of some memories, of unit length, ``(n, d) float32``; zeros of one that has none."""
    if encoder is None or not len(rows):
        return np.empty((len(rows), 0), np.float32)
    having, vectors = snapshot.mean_vectors(encoder, rows)
    found = np.zeros((len(rows), vectors.shape[1]), np.float32)
    at = {row: place for place, row in enumerate(having.tolist())}
    for place, row in enumerate(rows.tolist()):
        if row in at:
            found[place] = vectors[at[row]]
    return found


def _means(members: list[NDArray[np.int64]], snapshot: Snapshot, encoder: EncoderName | None) -> NDArray[np.float32]:
    """Of each community the mean of its members' vectors, of unit length, ``(g, d) float32``; zeros without any."""
    vectors = _vectors(np.concatenate([*members, np.empty(0, np.int64)]), snapshot, encoder)
    ends = np.cumsum([len(one) for one in members])
    means = np.array(
        [vectors[end - len(one) : end].sum(axis=0, dtype=np.float64) for one, end in zip(members, ends, strict=True)]
    ).reshape(len(members), vectors.shape[1])
    lengths = np.sqrt((means * means).sum(axis=1, keepdims=True))
    return (means / np.where(lengths == 0, 1.0, lengths)).astype(np.float32)


def _by_scope(found: PrototypeBlock) -> dict[int, ScopeTopics]:
    return {
        scope: ScopeTopics(*(one[found.scope == scope] for one in (found.topic, found.codes, found.means)))
        for scope in np.unique(found.scope).tolist()
    }
