"""Communities of a weighted graph that changes (Leiden on the constant Potts model), and personalised PageRank.

Below it stands the native extension, which alone can do this; above it whoever keeps a graph of memories. A node is
known by a 64-bit key. Arrays with one value for each node, labels above all, are in the order in which the nodes were
added (`CommunityGraph.keys`); a removed node leaves no gap in it.

A result follows from the graph, the seed and, for an update, the labels before: not from the order in which nodes and
edges were given, nor from the machine. To that end weights are whole multiples of 2^-32 inside (one above 0 is at
least that), and resolutions of 2^-48.

The quality of labels is the sum over all communities of ``e - resolution * n * (n - 1) / 2``: `e` the weight inside,
loops included, and `n` the number of nodes (Traag, Van Dooren, Nesterov 2011, Physical Review E 84:016114). So two
communities are better as one where the mean weight over all pairs between them is above the resolution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.retrieval.scan import NATIVE

ITERATIONS = 10
"""Passes at most; most graphs are left unchanged by an earlier one."""
DAMPING = 0.85
EPSILON = 1e-5
"""Of 100,000 nodes with 15 edges each this finds 49 or 50 of the 50 nearest to 10 seeds, in 2 ms; 1e-4 finds 47."""

Keys = NDArray[np.uint64]
Labels = NDArray[np.int64]
Weights = NDArray[np.float64]


class NativeCodeMissing(RuntimeError):
    """Communities were asked for where Mnemic was built without its native code."""

    def __init__(self) -> None:
        super().__init__("Communities need Mnemic's native code, which was not built: install it where cargo is.")


class CommunityGraph:
    """An undirected graph with weights; any number of threads may read it while none changes it."""

    def __init__(self, keys: Keys, sources: NDArray[np.int64], targets: NDArray[np.int64], weights: Weights) -> None:
        """Make a graph.

        Parallel edges are one with the sum of their weights, a loop is a node's own weight, and an edge of weight 0 is
        none.

        Args:
            keys: ``(n,) uint64``, distinct.
            sources: ``(m,) int64``, the position in `keys` of one end of each edge.
            targets: ``(m,) int64``, that of the other.
            weights: ``(m,) float64``, 0 or more; 2^29 at most all together.

        Raises:
            NativeCodeMissing: It was not built.
            TypeError: An array has another dtype or number of dimensions.
            ValueError: A key is there twice, lengths differ, or an edge, which is named, has an end that is no position
                or a weight that is negative, not finite or too large.
        """
        if not NATIVE:
            raise NativeCodeMissing
        from mnemic._native import Graph  # here, since it is absent where there was no cargo

        self._graph = Graph(
            np.ascontiguousarray(keys),
            np.ascontiguousarray(sources),
            np.ascontiguousarray(targets),
            np.ascontiguousarray(weights),
        )

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self._graph.nodes

    @property
    def edges(self) -> int:
        """How many edges there are, loops included."""
        return self._graph.edges

    @property
    def keys(self) -> Keys:
        """``(n,) uint64``, in the order in which the nodes were added."""
        return self._graph.keys()

    def add_nodes(self, keys: Keys) -> None:
        """Add nodes, ``(k,) uint64``, without edges.

        Raises:
            ValueError: One is there already, or twice. Nothing is added.
        """
        self._graph.add_nodes(np.ascontiguousarray(keys))

    def remove_nodes(self, keys: Keys) -> Keys:
        """Remove nodes, ``(k,) uint64``, with their edges; one named twice is meant once.

        Returns:
            The keys of the nodes left that had an edge to one of them, ascending: they belong to what `update` is told
            has changed.

        Raises:
            ValueError: One is no node. Nothing is removed.
        """
        return self._graph.remove_nodes(np.ascontiguousarray(keys))

    def set_edges(self, sources: Keys, targets: Keys, weights: Weights) -> Keys:
        """Set the weights of edges, known by the keys of their ends; 0 removes one. Of one set twice the last counts.

        Args:
            sources: ``(m,) uint64``.
            targets: ``(m,) uint64``.
            weights: ``(m,) float64``, 0 or more; 2^29 at most all together and with those there are.

        Returns:
            The keys of the ends of those edges whose weight is another now, ascending, for `update`.

        Raises:
            ValueError: As for a new graph. Nothing is set.
        """
        ends = np.ascontiguousarray(sources), np.ascontiguousarray(targets)
        return self._graph.set_edges(*ends, np.ascontiguousarray(weights))

    def detect(self, resolution: float, seed: int, *, iterations: int = ITERATIONS) -> Labels:
        """Find communities from nothing, by Leiden (Traag, Waltman, Van Eck 2019, Scientific Reports 9:5233).

        Each community is connected; a node without edges is one of its own. The partition is good, not the best there
        is: that is NP-hard to find.

        Args:
            resolution: of the constant Potts model, 0 to 2^14.
            seed: 0 to 2^64 - 1, gives the order in which nodes are worked through.
            iterations: passes at most, fewer where one changes nothing.

        Returns:
            ``(n,) int64`` labels, from 0, numbered by the smallest key of each community: equal partitions have equal
            labels.

        Raises:
            OverflowError: The seed is out of its range, or `iterations` is negative.
            ValueError: The resolution is out of its range.
        """
        return self._graph.detect(resolution, seed, iterations)

    def update(
        self, previous: Labels, changed: Keys, resolution: float, seed: int, *, iterations: int = ITERATIONS
    ) -> Labels:
        """Bring communities up to date after the graph has changed, at the cost of what changed.

        Nodes that changed are moved, then the neighbours of what moved, and so on; the communities of these are taken
        apart and put together again, and only these. Where the communities before were connected and `changed` names
        all that changed, the new ones are connected; the quality is never below that of `previous`.

        Args:
            previous: ``(n,) int64``, the labels before, of the nodes there are now (`carried_labels`), and of each new
                node a negative one.
            changed: ``(k,) uint64``, what `set_edges` and `remove_nodes` returned since, in any order, keys of nodes
                removed since included. New nodes need not be named.
            resolution, seed, iterations: as for `detect`.

        Returns:
            Labels as `detect` gives them.

        Raises:
            ValueError: There are not as many labels as nodes, or the resolution is out of its range.
        """
        labels, keys = np.ascontiguousarray(previous), np.ascontiguousarray(changed)
        return self._graph.update(labels, keys, resolution, seed, iterations)

    def quality(self, labels: Labels, resolution: float) -> float:
        """The quality of ``(n,) int64`` labels, where a negative one is a community of its own; see the module.

        Raises:
            ValueError: As for `update`.
        """
        return self._graph.quality(np.ascontiguousarray(labels), resolution)

    def pagerank(
        self, seeds: Keys, weights: Weights, damping: float = DAMPING, epsilon: float = EPSILON
    ) -> tuple[Keys, Weights]:
        """Where a random walk from some seeds ends, by forward push (Andersen, Chung, Lang 2006, FOCS).

        The walk begins at a seed, by the seeds' weights, and at each step goes on over an edge, by the edges' weights,
        or ends. A node without edges it never leaves.

        Args:
            seeds: ``(k,) uint64`` keys; one named twice has both weights.
            weights: ``(k,) float64``, 0 or more, not all 0.
            damping: how probably the walk goes on, 0 to below 1.
            epsilon: at least 1e-12: each probability is less than the exact one by at most this times the node's degree
                (the weights of its edges, a loop's once), and never more.

        Returns:
            Keys and probabilities, ``(r,)`` each, the most probable first, then the smaller key; all other nodes have
            0. The same digits in whatever order the graph was made.

        Raises:
            ValueError: The lengths differ, a seed is no node, or a number is out of its range.
        """
        return self._graph.pagerank(np.ascontiguousarray(seeds), np.ascontiguousarray(weights), damping, epsilon)


def carried_labels(before: Keys, labels: Labels, after: Keys) -> Labels:
    """Carry labels over to the nodes of later on: -1 for a node that is new.

    Args:
        before: ``(n,) uint64`` keys, distinct.
        labels: ``(n,) int64``, of each its label.
        after: ``(m,) uint64``, the keys of later on.

    Returns:
        ``(m,) int64``.
    """
    order = np.argsort(before)
    at = np.searchsorted(before, after, sorter=order)
    known = at < len(before)
    rows = order[at[known]]
    carried = np.full(len(after), -1, np.int64)
    carried[known] = np.where(before[rows] == after[known], labels[rows], -1)
    return carried
