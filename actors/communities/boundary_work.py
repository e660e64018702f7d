"""Finding the communities of the next boundary, in steps: neighbours, edges, topics and their parts, who is who.

`mnemic.actors.communities.communities` asks for step after step and has the Store keep what comes of the last one;
`mnemic.actors.communities.graph_state` holds the graph between them.

Each scope is a graph of its own, and only those that something has changed are looked at. The first time, and whenever
a scope has doubled since, its resolution is chosen anew (`mnemic.algorithms.graph.resolution`) and its communities are
found from nothing; else those of the boundary before are brought up to date, at the cost of what changed. Parts are
communities of a topic's own edges, at a higher resolution.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.random import default_rng

from mnemic.actors.communities.changes import CommunityRow, GraphScale, LineageEvent, SetCommunities
from mnemic.actors.communities.graph_state import GraphState, Ints, Partition
from mnemic.actors.communities.queries import BoundaryRow
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ModelError, RuntimeFault
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.messages import DescribeEncoder
from mnemic.algorithms.graph.backends import BACKENDS, BackendMissing, Detector, detector
from mnemic.algorithms.graph.edges import Edges
from mnemic.algorithms.graph.mosaic import NativeCodeMissing, carried_labels
from mnemic.algorithms.graph.regroup import Regrouped, carried, moved_nodes, regroup
from mnemic.algorithms.graph.resolution import choose_resolution

_FEW = 64  # nodes: in a scope of fewer, they are chosen anew each time
_GROWTH = 2  # once it has so many times as many nodes, its resolution and floor are chosen anew
_PART_DENSITY = 4.0  # of parts: times the resolution of topics
_STEP_PRODUCTS = 3_000_000  # pairs of memories compared by one step: 50 ms or less
_STEP_EDGES, _TRIES = 20_000, 16  # edges that communities are found by in one step; how often to choose a resolution
_TOPIC, _PART = 0, 1


class _Before(NamedTuple):
    """What was so at the boundary before the one that is under way."""

    rows: Ints
    """``(n,)``, ascending: the nodes."""
    members: Partition
    """Where each of them belonged."""
    scopes: Ints
    """``(n,)``: number of the scope of each."""
    scales: Mapping[int, GraphScale]
    """What communities of each scope were found by."""
    touched: list[int]
    """Numbers of the scopes that may have changed since, ascending."""


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
        self._finishing: Iterator[SetCommunities | None] | None = None
        self.why_not = self._missing
        """Why nothing can be done now, in one sentence; empty where something can. Only a step changes it."""
        self._retrying = False

    def retry(self) -> None:
        """Have the next step look again whether something can be done."""
        self._retrying = True

    def step(self, context: Context) -> SetCommunities | None:
        """Take a step towards the next boundary; the last one gives what is to be kept."""
        if self._retrying:
            self.why_not, self._retrying = self._missing, False
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
                # made anew meanwhile, or another process was faster
                self._state = self._before = self._finishing = None
                return None  # the next step asks first who embeds
            if not waiting:
                return None
            if state is None or before is None:
                self._begin(snapshot, waiting[0], named)
                return None
            if state.lists.update(max(1, _STEP_PRODUCTS // max(1, len(state.nodes.row)))):
                return None
            if self._finishing is None:
                self._finishing = self._finish(snapshot, waiting[0], state, before)
            found = next(self._finishing)
        if found is not None:
            self._before = self._finishing = None
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
        since = 0 if not state.boundary else snapshot.boundaries(state.boundary - 1)[0].seq
        touched = state.touched(snapshot, changes, since, boundary.seq)
        if self._is_ours:
            old = state.scales
            unknown = [
                scope
                for scope in touched
                if scope not in state.graphs and scope in old and old[scope].chosen_at >= _FEW
            ]
            if unknown:
                as_it_was = snapshot.boundaries(state.boundary - 1)[0]
                for scope, edges in state.joined(snapshot, as_it_was, unknown).items():
                    state.build(scope, edges)
        self._state = state
        scales = {one.scope: one for one in snapshot.graph_scales()}  # another encoder's, too: they are to go
        self._before = _Before(state.nodes.row, state.members, state.nodes.scope, scales, touched)
        state.advance(snapshot, changes)

    @property
    def _is_ours(self) -> bool:
        """Whether communities can be brought up to date, and need not be found from nothing each time."""
        return self._detector is not None and self._detector.name == BACKENDS[0]

    def _finish(
        self, snapshot: Snapshot, boundary: BoundaryRow, state: GraphState, before: _Before
    ) -> Iterator[SetCommunities | None]:
        """Find communities scope by scope, ``None`` after each step; last what is to be kept.

        Args:
            snapshot: read in the first step alone.
        """
        rows = state.nodes.row
        there = [scope for scope in before.touched if len(state.rows_of(scope))]
        for scope in set(before.touched).difference(there):
            state.scales.pop(scope, None)
            state.graphs.pop(scope, None)
        anew = {scope for scope in there if _is_due_anew(state, scope)}
        for scope in sorted(anew):
            state.choose_floor(scope, default_rng(self._seed))
        edges = state.joined(snapshot, boundary, there)
        labels = np.where(state.members.topics > 0, state.members.topics, -1)
        touched, next_label, looked_at = [np.empty(0, np.int64)], state.next_number, 0
        for scope in there:
            if looked_at > _STEP_EDGES:
                looked_at = 0
                yield None
            looked_at += len(edges[scope].sources) * (_TRIES if scope in anew else 1)
            own = np.flatnonzero(state.nodes.scope == scope)
            if scope in anew or not self._is_ours:
                found, changed = self._find(state, scope, edges[scope], scope in anew), rows[own]
            else:
                found, changed = self._update(state, scope, edges[scope], labels[own])
            labels[own] = found + next_label
            next_label += len(own)
            touched.append(changed)
        topics = regroup(rows, labels, before.rows, before.members.topics, state.next_number)
        labels = self._part_labels(state, topics.numbers, np.concatenate(touched), before, edges)
        parts = regroup(rows, labels, before.rows, before.members.parts, topics.next_number)
        state.members, state.next_number = Partition(topics.numbers, parts.numbers), parts.next_number
        state.boundary = boundary.number
        yield _describe(state, before, topics, parts)

    def _update(self, state: GraphState, scope: int, edges: Edges, known: Ints) -> tuple[Ints, Ints]:
        """Bring the topics of a scope up to date.

        Args:
            known: ``(n,)``: the number that each of its nodes had; -1 for none.

        Returns:
            A label for each node, from 0, and the rows of nodes whose edges changed.
        """
        graph, changed, rows_before = state.change(scope, edges)
        rows = state.rows_of(scope)
        known = np.where(np.isin(rows, rows_before), known, -1)  # what came from elsewhere belongs nowhere yet
        previous = carried_labels(rows.astype(np.uint64), known, graph.keys)
        labels = graph.update(previous, changed.astype(np.uint64), state.scales[scope].resolution, self._seed)
        return labels[np.argsort(graph.keys)], changed

    def _find(self, state: GraphState, scope: int, edges: Edges, anew: bool) -> Ints:
        """Find the topics of a scope from nothing: a label for each node, from 0.

        Args:
            anew: whether its resolution is to be chosen.
        """
        assert self._detector is not None
        rows = state.rows_of(scope)
        if self._is_ours:  # others are not brought up to date, and need no native code
            state.build(scope, edges)
        one, other = np.searchsorted(rows, edges.sources), np.searchsorted(rows, edges.targets)
        detect = partial(self._detector.detect, rows.astype(np.uint64), one, other, edges.strengths, seed=self._seed)
        scale = state.scales[scope]
        if not anew:
            return detect(resolution=scale.resolution)
        chosen = choose_resolution(
            lambda resolution: detect(resolution=resolution), len(rows), one, other, edges.strengths
        )
        state.scales[scope] = msgspec.structs.replace(scale, resolution=chosen.resolution)
        return chosen.labels

    def _part_labels(
        self, state: GraphState, topics: Ints, touched: Ints, before: _Before, edges: Mapping[int, Edges]
    ) -> Ints:
        """A label for each node by the part of its topic; -1 where the topic is of one piece, or the node alone.

        Only topics of which a member or an edge has changed are taken apart again.

        Args:
            touched: rows of nodes whose edges changed.
            edges: of each scope that was looked at.
        """
        assert self._detector is not None
        rows = state.nodes.row
        moved = np.concatenate([touched, moved_nodes(rows, topics, before.rows, before.members.topics)])
        changed = np.union1d(carried(rows, topics, moved), carried(before.rows, before.members.topics, moved))
        anew = np.isin(topics, changed[changed > 0])
        labels = np.where(anew | (state.members.parts == 0), -1, state.members.parts)
        sizes = np.bincount(topics, minlength=1)
        next_label = state.next_number + len(rows)  # no number of a part that stays
        for scope, joined in edges.items():
            inside = np.flatnonzero(anew & (state.nodes.scope == scope))
            own = rows[inside]
            if not len(own):
                continue
            kept = np.isin(joined.sources, own) & np.isin(joined.targets, own)
            one, other = np.searchsorted(own, joined.sources[kept]), np.searchsorted(own, joined.targets[kept])
            weights, of = joined.strengths[kept], topics[inside]
            together = of[one] == of[other]
            found = self._detector.detect(
                own.astype(np.uint64),
                one[together],
                other[together],
                weights[together],
                resolution=_PART_DENSITY * state.scales[scope].resolution,
                seed=self._seed,
            )
            whole = np.bincount(found, minlength=1)[found] == sizes[of]
            labels[inside] = np.where(whole, -1, found + next_label)
            next_label += len(own)
        return labels


def _is_due_anew(state: GraphState, scope: int) -> bool:
    """Whether resolution and floor are to be chosen: for the first time, since there are or were few memories, or
    because the scope, or what is known of its meaning, has outgrown them.
    """
    scale, nodes, embedded = state.scales.get(scope), len(state.rows_of(scope)), state.embedded_in(scope)
    if scale is None or min(nodes, scale.chosen_at) < _FEW:
        return True
    return nodes >= _GROWTH * scale.chosen_at or embedded >= _GROWTH * max(1, scale.embedded)


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
        scales=(
            *(one for scope, one in sorted(state.scales.items()) if before.scales.get(scope) != one),
            *(GraphScale(scope, 0.0, 0.0, 0) for scope in sorted(set(before.scales).difference(state.scales))),
        ),
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
