"""The graph of memories as of one boundary, and who belongs where in it.

It is told the changes of the next boundary and becomes the graph of that one. What it holds follows from the store's
boundaries, vectors and recalls alone: one that is loaded from what was kept at a boundary equals one that got there
step by step, with the same vectors. Nothing joins memories of two scopes: each scope is a graph of its own, with its
own resolution and floor, and one where nothing has changed is not touched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.communities.changes import GraphScale
from mnemic.actors.communities.queries import BoundaryRow, NeighbourRows, Nodes
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.changes import EncoderName
from mnemic.algorithms.graph.edges import (
    Edges,
    combine,
    recalled_edges,
    session_edges,
    supersedes_edges,
    target_edges,
)
from mnemic.algorithms.graph.mosaic import CommunityGraph
from mnemic.algorithms.graph.neighbour_lists import NeighbourLists, mutual_edges
from mnemic.algorithms.graph.neighbours import background_floor
from mnemic.algorithms.graph.regroup import carried
from mnemic.algorithms.retrieval.scan import quantise

NEIGHBOURS = 10
"""So many nearest neighbours of each memory are known; those that know each other are joined."""

Ints = NDArray[np.int64]
_NOTHING: Ints = np.empty(0, np.int64)


class Partition(NamedTuple):
    """Who belongs where, of `n` nodes."""

    topics: Ints
    """``(n,)``: number of the topic; 0 for none."""
    parts: Ints
    """``(n,)``: number of the part of it; 0 for none."""


class ScopeGraph(NamedTuple):
    """The graph of one scope."""

    graph: CommunityGraph
    """The nodes, by their rows, and the edges."""
    edges: Edges
    """The same edges."""


class GraphState:
    """The graph as of a boundary."""

    def __init__(self, generation: int, encoder: EncoderName | None) -> None:
        """Begin before the first boundary.

        Args:
            generation: the store's; rows mean the same for as long as it does not change.
            encoder: whose vectors tell what is near; ``None`` where there are none.
        """
        self.generation, self.encoder = generation, encoder
        self.boundary = 0
        """Number of the boundary."""
        self.scales: dict[int, GraphScale] = {}
        """What communities are found by, of each scope that was looked at; by its number."""
        self.nodes = Nodes(_NOTHING, _NOTHING, _NOTHING)
        """Memories that are there, by row."""
        self.lists = NeighbourLists(0, NEIGHBOURS)
        """The nearest neighbours of those that have a vector."""
        self.members = Partition(_NOTHING, _NOTHING)
        """Where each of the nodes belongs."""
        self.next_number = 1
        """The least number that no community ever had."""
        self.graphs: dict[int, ScopeGraph] = {}
        """Of each scope whose graph was asked for."""

    @property
    def stamp(self) -> str:
        """A name for whose vectors tell what is near."""
        return "" if self.encoder is None else f"{self.encoder.implementation} {self.encoder.model}"

    @classmethod
    def load(cls, snapshot: Snapshot, encoder: EncoderName | None) -> Self:
        """Take up what was kept at the last boundary that is done."""
        state = cls(snapshot.generation, encoder)
        last = snapshot.last_done_boundary()
        if last is None:
            return state
        kept = snapshot.kept_members()
        state.boundary = last.number
        state.nodes = snapshot.nodes_at(last.number)
        state.members = Partition(*(carried(kept.row, one, state.nodes.row) for one in (kept.topic, kept.part)))
        state.next_number = snapshot.next_community_number()
        if last.encoder != state.stamp:  # what was near by another model's vectors says nothing: begin anew
            state._append(snapshot, state.nodes)
            return state
        state.scales = {one.scope: one for one in snapshot.graph_scales()}
        state._restore(snapshot, snapshot.saved_neighbours())
        return state

    def advance(self, snapshot: Snapshot, changes: Nodes) -> None:
        """Take up what came or changed at the next boundary; `lists` is to be updated then."""
        before, stays, there = self.nodes, ~np.isin(self.nodes.row, changes.row), changes.scope > 0
        merged = [np.concatenate([old[stays], new[there]]) for old, new in zip(before, changes, strict=True)]
        order = np.argsort(merged[0])
        self.nodes = Nodes(*(column[order] for column in merged))
        self.members = Partition(*(carried(before.row, one, self.nodes.row) for one in self.members))
        self.lists.remove(changes.row[~there])
        self.lists.move(changes.row[there], changes.scope[there].astype(np.int32))
        new = ~np.isin(self.nodes.row, self.lists.rows)  # of earlier ones those whose vectors came late
        self._append(snapshot, Nodes(*(column[new] for column in self.nodes)))

    def _append(self, snapshot: Snapshot, nodes: Nodes) -> None:
        """Have further nodes in the lists, as far as they have vectors."""
        rows, codes, scales, groups = self._coded(snapshot, nodes)
        if len(rows):
            if not len(self.lists.rows):
                self.lists = NeighbourLists(codes.shape[1], NEIGHBOURS)
            self.lists.append(rows, codes, scales, groups)

    def _restore(self, snapshot: Snapshot, saved: NeighbourRows) -> None:
        """Take up the lists that were saved. What got its vector since is in none yet: `advance` finds it."""
        here = np.isin(self.nodes.row, saved.row)
        rows, codes, scales, groups = self._coded(snapshot, Nodes(*(column[here] for column in self.nodes)))
        if len(rows):
            at = np.searchsorted(saved.row, rows)
            self.lists = NeighbourLists.restore(rows, codes, scales, groups, saved.near[at], saved.cosine[at])

    def _coded(
        self, snapshot: Snapshot, nodes: Nodes
    ) -> tuple[Ints, NDArray[np.int8], NDArray[np.float32], NDArray[np.int32]]:
        """Rows, codes, scales and groups of those nodes that have a vector."""
        if self.encoder is None or not len(nodes.row):
            return _NOTHING, np.empty((0, 0), np.int8), np.empty(0, np.float32), np.empty(0, np.int32)
        rows, vectors = snapshot.mean_vectors(self.encoder, nodes.row)
        return rows, *quantise(vectors), carried(nodes.row, nodes.scope, rows).astype(np.int32)

    def touched(self, snapshot: Snapshot, changes: Nodes, since: int, until: int) -> list[int]:
        """The scopes whose graphs the changes of the next boundary may change, ascending; to be asked before `advance`.

        Args:
            since: number of the transaction of the boundary that is.
            until: that of the next one.
        """
        touched = {*changes.scope.tolist(), *np.setdiff1d(self.nodes.scope, list(self.scales)).tolist()}
        waiting = self.nodes.row[~np.isin(self.nodes.row, self.lists.rows)]
        late = _NOTHING
        if self.encoder is not None and len(waiting):
            late = snapshot.mean_vectors(self.encoder, waiting)[0]
        recalled = [row for delivery in snapshot.given_together(until, since) for row in delivery]
        rows = np.concatenate([changes.row, late, np.array(recalled, np.int64)])
        touched |= set(carried(self.nodes.row, self.nodes.scope, np.unique(rows)).tolist())
        return sorted(touched - {0})

    def rows_of(self, scope: int) -> Ints:
        """Rows of the nodes of a scope, ascending."""
        return np.compress(self.nodes.scope == scope, self.nodes.row)

    def embedded_in(self, scope: int) -> int:
        """How many nodes of a scope have a vector."""
        return int(np.count_nonzero(self.lists.groups == scope))

    def choose_floor(self, scope: int, random: np.random.Generator) -> None:
        """Choose how near memories of a scope have to be; its resolution is to be chosen then."""
        own, lists = self.lists.groups == scope, self.lists
        floor = background_floor(lists.codes[own], lists.scales[own], lists.groups[own], random)
        self.scales[scope] = GraphScale(scope, 0.0, floor, len(self.rows_of(scope)), self.embedded_in(scope))

    def joined(self, snapshot: Snapshot, until: BoundaryRow, scopes: Iterable[int]) -> dict[int, Edges]:
        """All edges of some scopes, whose floors are chosen, as of a boundary whose changes were taken up."""
        given = self._given_within(snapshot.given_together(until.seq))
        return {scope: self._joined(snapshot, scope, given.get(scope, [])) for scope in scopes}

    def _joined(self, snapshot: Snapshot, scope: int, given: list[list[int]]) -> Edges:
        own = self.nodes.scope == scope
        rows, groups = self.nodes.row[own], self.nodes.scope[own].astype(np.int32)
        successors = self.nodes.successor[own]
        sources = snapshot.node_sources(rows)
        replaced = successors > 0
        kinds = {
            "meaning": mutual_edges(self.lists, scope, self.scales[scope].floor),
            "session": session_edges(rows, groups, sources.session, sources.said_at),
            "target": target_edges(rows, groups, sources.targets),
            "recalled": recalled_edges(given, rows, groups),
            "supersedes": supersedes_edges(rows[replaced], successors[replaced], rows, groups),
        }
        return combine(kinds, rows, groups)

    def _given_within(self, deliveries: list[list[int]]) -> Mapping[int, list[list[int]]]:
        """What each recall gave of each scope."""
        within: dict[int, list[list[int]]] = defaultdict(list)
        scope_of = dict(zip(self.nodes.row.tolist(), self.nodes.scope.tolist(), strict=True))
        for delivery in deliveries:
            parts: dict[int, list[int]] = defaultdict(list)
            for row in delivery:
                parts[scope_of.get(row, 0)].append(row)
            for scope, rows in parts.items():
                within[scope].append(rows)
        return within

    def build(self, scope: int, edges: Edges) -> None:
        """Make the graph of a scope from nothing."""
        rows = self.rows_of(scope)
        ends = np.searchsorted(rows, edges.sources), np.searchsorted(rows, edges.targets)
        self.graphs[scope] = ScopeGraph(CommunityGraph(rows.astype(np.uint64), *ends, edges.strengths), edges)

    def change(self, scope: int, edges: Edges) -> tuple[CommunityGraph, Ints, Ints]:
        """Make the graph of a scope at the boundary before that of this one.

        Returns:
            The graph, the rows whose edges changed, and those of nodes that were in it before.
        """
        graph, old = self.graphs[scope]
        rows, rows_before = self.rows_of(scope), graph.keys.astype(np.int64)
        beside_gone = graph.remove_nodes(np.setdiff1d(rows_before, rows).astype(np.uint64))
        graph.add_nodes(np.setdiff1d(rows, rows_before).astype(np.uint64))
        sources, targets, weights = _difference(old, edges, rows)
        changed = graph.set_edges(sources.astype(np.uint64), targets.astype(np.uint64), weights)
        self.graphs[scope] = ScopeGraph(graph, edges)
        return graph, np.union1d(beside_gone, changed).astype(np.int64), rows_before


def _difference(old: Edges, new: Edges, rows: Ints) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """The edges that are to be set to make the new ones of the old ones, but for those of nodes that are gone."""
    width = int(rows.max(initial=0)) + 1
    there = np.isin(old.sources, rows) & np.isin(old.targets, rows)
    before, after = old.sources[there] * width + old.targets[there], new.sources * width + new.targets
    gone = ~np.isin(before, after)
    same = np.zeros(len(after), np.bool_)
    if len(before):
        at = np.minimum(np.searchsorted(before, after), len(before) - 1)
        same = (before[at] == after) & (old.strengths[there][at] == new.strengths)
    keys = np.concatenate([before[gone], after[~same]])
    return keys // width, keys % width, np.concatenate([np.zeros(np.count_nonzero(gone)), new.strengths[~same]])
