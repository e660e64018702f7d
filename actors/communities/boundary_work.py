"""Finding the communities of the next boundary, in steps: neighbours, edges, topics and their parts, who is who.

`mnemic.actors.communities.communities` asks for step after step and has the Store keep what comes of the last one;
`mnemic.actors.communities.graph_state` holds the graph between them.

The first time, and whenever the graph has doubled since, the resolution is chosen anew
(`mnemic.algorithms.graph.resolution`) and communities are found from nothing; else those of the boundary before are
brought up to date, at the cost of what changed. Parts are communities of a topic's own edges, at a higher resolution.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mnemic.actors.communities.graph_state import GraphState, Ints, Partition
from mnemic.actors.protocol.changes import EncoderName
from mnemic.actors.protocol.community_changes import CommunityRow, LineageEvent, SetCommunities
from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import ModelError, RuntimeFault
from mnemic.actors.protocol.graph_snapshot import BoundaryRow
from mnemic.actors.protocol.messages import DescribeEncoder
from mnemic.actors.protocol.snapshot import Snapshot, SnapshotSource
from mnemic.algorithms.graph.backends import BACKENDS, BackendMissing, Detector, detector
from mnemic.algorithms.graph.mosaic import NativeCodeMissing, carried_labels
from mnemic.algorithms.graph.neighbours import background_floor
from mnemic.algorithms.graph.regroup import Regrouped, carried, moved_nodes, regroup
from mnemic.algorithms.graph.resolution import choose_resolution

_FEW = 64  # nodes: of fewer, they are chosen anew each time
_GROWTH = 2  # once there are so many times as many nodes, resolution and floor are chosen anew
_PART_DENSITY = 4.0  # of parts: times the resolution of topics
_STEP_PRODUCTS = 3_000_000  # pairs of memories compared by one step: 50 ms or less
_TOPIC, _PART = 0, 1


class _Before(NamedTuple):
    """What was so at the boundary before the one that is under way."""

    rows: Ints
    """``(n,)``, ascending: the nodes."""
    members: Partition
    """Where each of them belonged."""
    scopes: Ints
    """``(n,)``: number of the scope of each."""


def detector_from_settings(settings: Mapping[str, Any]) -> Detector | str:
    """Who finds communities; or why nobody can, in a sentence."""
    found = detector(settings["communities.backend"])
    ends = np.array([0]), np.array([1])
    try:
        found.detect(np.arange(2, dtype=np.uint64), *ends, np.ones(1), resolution=1.0, seed=0)  # its package is loaded
    except (NativeCodeMissing, BackendMissing) as error:
        return f"communities: {error}"
    return found


class BoundaryWork:
    """What is under way."""

    def __init__(self, source: SnapshotSource, detector: Detector | str, seed: bytes) -> None:
        """Begin with nothing under way.

        Args:
            detector: who finds communities; or why nobody can.
            seed: the mind's.
        """
        self._source = source
        self._detector = None if isinstance(detector, str) else detector
        self._missing = detector if isinstance(detector, str) else ""
        self._seed = int.from_bytes(hashlib.sha256(b"communities" + seed).digest()[:8], "little")
        self._state: GraphState | None = None
        self._before: _Before | None = None
        self.why_not = ""
        """Why nothing can be done now, in one sentence; empty where something can."""
        self.retry()

    def retry(self) -> None:
        """Look again whether something can be done."""
        self.why_not = self._missing

    def step(self, context: Context) -> SetCommunities | None:
        """Take a step towards the next boundary; the last one gives what is to be kept."""
        if self.why_not or context.cancelled():
            return None
        named = None
        if self._before is None:
            with self._source.snapshot() as snapshot:
                if not snapshot.open_boundaries():
                    self._state = None  # of a large mind it is 60 MB
                    return None
            named = _embedding_encoder(context)  # no snapshot is held meanwhile: a model may have to be loaded
        with self._source.snapshot() as snapshot:
            last = snapshot.last_done_boundary()
            done = 0 if last is None else last.number
            waiting = snapshot.boundaries(done)
            state, before = self._state, self._before
            if state is not None and (state.generation, state.boundary) != (snapshot.generation, done):
                self._state = self._before = None  # made anew meanwhile, or another process was faster
                return None  # the next step asks first who embeds
            if not waiting:
                return None
            if state is None or before is None:
                self._begin(snapshot, waiting[0], named)
                return None
            if state.lists.update(max(1, _STEP_PRODUCTS // max(1, len(state.nodes.row)))):
                return None
            found = self._finish(snapshot, waiting[0], state, before)
        self._before = None
        return found

    def _begin(self, snapshot: Snapshot, boundary: BoundaryRow, encoder: EncoderName | None) -> None:
        """Take up what a boundary has changed.

        Args:
            encoder: who embeds; ``None`` where nobody does, and vectors that are there are all there will be.
        """
        changes = snapshot.boundary_changes(boundary.number)
        if encoder is not None:
            waits = snapshot.pending_embeddings(encoder, 0, False, 1)
            if waits and waits[0].row <= int(changes.row.max(initial=0)):
                self.why_not = "communities: what came since is not found by its meaning yet, which goes first"
                return
        elif encoders := snapshot.encoders():
            encoder = encoders[-1]
        state = self._state
        if state is None or state.encoder != encoder:
            state = GraphState.load(snapshot, encoder)
        if state.graph is None and self._updates(state):
            state.build(state.joined(snapshot, snapshot.boundaries(state.boundary - 1)[0]))
        self._state, self._before = state, _Before(state.nodes.row, state.members, state.nodes.scope)
        state.advance(snapshot, changes)

    def _updates(self, state: GraphState) -> bool:
        """Whether communities are brought up to date, and not found from nothing."""
        return self._detector is not None and self._detector.name == BACKENDS[0] and not _is_due_anew(state)

    def _finish(self, snapshot: Snapshot, boundary: BoundaryRow, state: GraphState, before: _Before) -> SetCommunities:
        rows = state.nodes.row
        labels, touched = self._topic_labels(snapshot, boundary, state, before.rows)
        topics = regroup(rows, labels, before.rows, before.members.topics, state.next_number)
        labels = self._part_labels(state, topics.numbers, touched, before)
        parts = regroup(rows, labels, before.rows, before.members.parts, topics.next_number)
        state.members, state.next_number = Partition(topics.numbers, parts.numbers), parts.next_number
        state.boundary = boundary.number
        return _describe(state, before, topics, parts)

    def _topic_labels(
        self, snapshot: Snapshot, boundary: BoundaryRow, state: GraphState, rows_before: Ints
    ) -> tuple[Ints, Ints]:
        """A label for each node, and the rows of nodes whose edges changed."""
        assert self._detector is not None
        rows, anew = state.nodes.row, _is_due_anew(state)
        if self._updates(state):
            graph, changed = state.change(state.joined(snapshot, boundary), rows_before)
            known = np.where(state.members.topics > 0, state.members.topics, -1)
            previous = carried_labels(rows.astype(np.uint64), known, graph.keys)
            labels = graph.update(previous, changed, state.resolution, self._seed)
            return labels[np.argsort(graph.keys)], changed.astype(np.int64)
        if anew:
            lists = state.lists
            state.floor = background_floor(lists.codes, lists.scales, lists.groups, np.random.default_rng(self._seed))
        edges = state.edges = state.joined(snapshot, boundary)
        if self._detector.name == BACKENDS[0]:  # others are not brought up to date, and need no native code
            state.build(edges)
        one, other = np.searchsorted(rows, edges.sources), np.searchsorted(rows, edges.targets)
        detect = partial(self._detector.detect, rows.astype(np.uint64), one, other, edges.weights, seed=self._seed)
        if not anew:
            return detect(resolution=state.resolution), rows
        chosen = choose_resolution(
            lambda resolution: detect(resolution=resolution), len(rows), one, other, edges.weights
        )
        state.resolution, state.chosen_at = chosen.resolution, len(rows)
        return chosen.labels, rows

    def _part_labels(self, state: GraphState, topics: Ints, touched: Ints, before: _Before) -> Ints:
        """A label for each node by the part of its topic; -1 where the topic is of one piece, or the node alone.

        Only topics of which a member or an edge has changed are taken apart again.
        """
        assert self._detector is not None
        assert state.edges is not None
        rows, edges = state.nodes.row, state.edges
        moved = np.concatenate([touched, moved_nodes(rows, topics, before.rows, before.members.topics)])
        changed = np.union1d(carried(rows, topics, moved), carried(before.rows, before.members.topics, moved))
        anew = np.isin(topics, changed[changed > 0])
        labels = np.where(anew | (state.members.parts == 0), -1, state.members.parts)
        inside = np.flatnonzero(anew)
        one, other = np.searchsorted(rows, edges.sources), np.searchsorted(rows, edges.targets)
        kept = anew[one] & anew[other] & (topics[one] == topics[other])
        place = np.cumsum(anew) - 1
        found = self._detector.detect(
            rows[inside].astype(np.uint64),
            place[one[kept]],
            place[other[kept]],
            edges.weights[kept],
            resolution=_PART_DENSITY * state.resolution,
            seed=self._seed,
        )
        sizes = np.bincount(topics[inside], minlength=1)
        whole = np.bincount(found, minlength=1)[found] == sizes[topics[inside]]
        labels[inside] = np.where(whole, -1, found + state.next_number + len(rows))  # no number of a part that stays
        return labels


def _is_due_anew(state: GraphState) -> bool:
    """Whether resolution and floor are to be chosen, for the first time or because the graph has outgrown them."""
    nodes = len(state.nodes.row)
    return nodes < _FEW or nodes >= _GROWTH * state.chosen_at


def _embedding_encoder(context: Context) -> EncoderName | None:
    """Who embeds, if anybody can."""
    try:
        return context.ask(DescribeEncoder()).encoder
    except (ModelError, RuntimeFault):
        return None


def _describe(state: GraphState, before: _Before, topics: Regrouped, parts: Regrouped) -> SetCommunities:
    """What is to be kept of a boundary: what has changed since the one before."""
    rows = state.nodes.row
    moved = np.union1d(
        moved_nodes(rows, topics.numbers, before.rows, before.members.topics),
        moved_nodes(rows, parts.numbers, before.rows, before.members.parts),
    )
    old = {one.id: one for one in _community_rows(before.rows, before.scopes, before.members)}
    new = _community_rows(rows, state.nodes.scope, state.members)
    near = state.lists.take_changed()
    at = np.searchsorted(state.lists.rows, near)
    return SetCommunities(
        generation=state.generation,
        boundary=state.boundary,
        encoder=state.stamp,
        resolution=state.resolution,
        floor=state.floor,
        chosen_at=state.chosen_at,
        neighbour_rows=near.astype("<i8").tobytes(),
        neighbours=state.lists.neighbours[at].astype("<i8").tobytes(),
        cosines=state.lists.cosines[at].astype("<f4").tobytes(),
        rows=moved.astype("<i8").tobytes(),
        topics=carried(rows, topics.numbers, moved).astype("<i8").tobytes(),
        parts=carried(rows, parts.numbers, moved).astype("<i8").tobytes(),
        communities=tuple(one for one in new if old.get(one.id) != one),
        ended=(*topics.ended.tolist(), *parts.ended.tolist()),
        events=tuple(
            LineageEvent(kind=one.kind, community=one.id, others=one.others) for one in (*topics.events, *parts.events)
        ),
    )


def _community_rows(rows: Ints, scopes: Ints, members: Partition) -> list[CommunityRow]:
    found = []
    for level, numbers in ((_TOPIC, members.topics), (_PART, members.parts)):
        every, first, sizes = np.unique(numbers, return_index=True, return_counts=True)
        parents = members.topics[first] if level == _PART else np.zeros(len(every), np.int64)
        found += [
            CommunityRow(id=number, level=level, parent=parent, scope=scope, size=size)
            for number, parent, scope, size in zip(
                every.tolist(), parents.tolist(), scopes[first].tolist(), sizes.tolist(), strict=True
            )
            if number > 0
        ]
    return found
