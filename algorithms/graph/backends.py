"""Detectors of communities by name: our own, and those of the packages that it is held to.

Above it stand tests, benches and whoever is to compare; below it stand `mnemic.algorithms.graph.mosaic` and, each where
it is asked for, igraph, leidenalg and networkx, which come with the extra ``research``. One contract holds for all
(tests/contract/communities_contract.py): the same input is refused in the same words, parallel edges add up, an edge of
weight 0 is none, every node has a label, one without edges is alone, and the same graph and seed give the same labels
in whatever order nodes and edges were given, for each detector gets them by key.

``mosaic``, ``leidenalg`` and ``igraph`` run the Leiden algorithm on the constant Potts model, with the resolution as
the density that communities exceed; their answers differ within what the algorithm leaves to chance.
``networkx-louvain`` has no such model: it maximises modularity, whose resolution is a factor around 1, and its
communities need not be connected.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.graph.mosaic import ITERATIONS, CommunityGraph

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class BackendMissing(RuntimeError):
    """A detector was asked for whose package is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"The package {package} is not installed; it comes with pip install 'mnemic[research]'.")


class _Graph(NamedTuple):
    """Nodes by ascending key; each pair once, in order, without loops and zeros."""

    keys: Keys
    sources: Ints
    targets: Ints
    weights: Floats


@dataclass(frozen=True, slots=True)
class Detector:
    """One way to find communities; `detector` makes it."""

    name: str
    iterations: int | None
    _find: Callable[[_Graph, float, int, int | None], Ints]

    def detect(self, keys: Keys, sources: Ints, targets: Ints, weights: Floats, resolution: float, seed: int) -> Ints:
        """Find communities.

        Args:
            keys: ``(n,) uint64``, distinct.
            sources: ``(m,) int64``, the position in `keys` of one end of each edge.
            targets: ``(m,) int64``, that of the other. Loops are left out: they tie no two nodes.
            weights: ``(m,) float64``, 0 or more.
            resolution: more than 0; see the module for what it is of.
            seed: 0 or more; those of other packages take its last 31 bits.

        Returns:
            ``(n,) int64`` labels, from 0, numbered by the smallest key of each community.

        Raises:
            ValueError: a key is twice, lengths differ, the resolution is not above 0 and finite, or an edge, which is
                named, has an end that is no position or a weight that is negative or not finite.
            BackendMissing: the package is not installed.
            NativeCodeMissing: ``mosaic`` was not built.
        """
        if not 0 < resolution < np.inf:
            raise ValueError(f"the resolution is {resolution}; it must be finite and above 0")
        graph, order = _canonical(keys, sources, targets, weights)
        if not len(graph.weights):
            found = np.arange(len(keys))
        else:
            found = np.asarray(self._find(graph, resolution, seed, self.iterations), np.int64)
        labels = np.empty(len(keys), np.int64)
        labels[order] = _by_first_node(found)
        return labels


def detector(name: str, iterations: int | None = None) -> Detector:
    """The detector of a name.

    Args:
        name: one of `BACKENDS`.
        iterations: passes of Leiden at most; ``None`` for as many as change something (of ``mosaic``, for its own
            bound). ``networkx-louvain`` does as many as change something whatever is said.

    Raises:
        KeyError: there is none of that name.
        ValueError: there are less than one iterations.
    """
    if iterations is not None and iterations < 1:
        raise ValueError(f"{iterations} iterations find nothing; ask for one or more")
    return Detector(name, iterations, _FIND[name])


def _canonical(keys: Keys, sources: Ints, targets: Ints, weights: Floats) -> tuple[_Graph, Ints]:
    """The graph as every detector gets it, and the positions of `keys` by ascending key."""
    if not len(sources) == len(targets) == len(weights):
        raise ValueError(f"there are {len(sources)} sources, {len(targets)} targets and {len(weights)} weights")
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    if twice := ascending[1:][ascending[1:] == ascending[:-1]].tolist():
        raise ValueError(f"the key {twice[0]} is there twice")
    ends = np.stack([sources, targets])
    outside = (ends.min(0) < 0) | (ends.max(0) >= len(keys))
    bad = outside | ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        edge = int(np.argmax(bad))
        why = f"there are {len(keys)} nodes" if outside[edge] else f"its weight is {weights[edge]}"
        raise ValueError(f"edge {edge}, from {sources[edge]} to {targets[edge]}, cannot be used: {why}")
    kept = (weights > 0) & (sources != targets)
    place = np.empty(len(keys), np.int64)
    place[order] = np.arange(len(keys))
    low, high = np.sort(place[ends[:, kept]], axis=0)
    codes = low * len(keys) + high
    # By pair and weight, so that the sum of parallel edges is the same in any order.
    by_pair = np.lexsort((weights[kept], codes))
    pairs, of = np.unique(codes[by_pair], return_inverse=True)
    sums = np.bincount(of, weights[kept][by_pair], len(pairs)).astype(np.float64)
    one, other = np.divmod(pairs, max(1, len(keys)))
    return _Graph(ascending, one, other, sums), order


def _by_first_node(labels: Ints) -> Ints:
    """The same partition, its labels numbered by the first node of each."""
    _, first, of = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[of]


def _mosaic(graph: _Graph, resolution: float, seed: int, iterations: int | None) -> Ints:
    return CommunityGraph(*graph).detect(resolution, seed, iterations=iterations or ITERATIONS)


def _leidenalg(graph: _Graph, resolution: float, seed: int, iterations: int | None) -> Ints:
    try:
        import leidenalg
    except ModuleNotFoundError as error:
        raise BackendMissing("leidenalg") from error
    found = leidenalg.find_partition(
        _igraph_graph(_igraph_module(), graph),
        leidenalg.CPMVertexPartition,
        weights=graph.weights.tolist(),
        resolution_parameter=resolution,
        n_iterations=iterations or -1,
        seed=_seed(seed),
    )
    return np.array(found.membership)


def _igraph(graph: _Graph, resolution: float, seed: int, iterations: int | None) -> Ints:
    igraph = _igraph_module()
    # The generator is the whole package's; afterwards it is Python's own again, as igraph has it from the start.
    igraph.set_random_number_generator(random.Random(_seed(seed)))
    try:
        found = _igraph_graph(igraph, graph).community_leiden(
            objective_function="CPM",
            weights=graph.weights.tolist(),
            resolution=resolution,
            n_iterations=iterations or -1,
        )
    finally:
        igraph.set_random_number_generator(random)
    return np.array(found.membership)


def _networkx_louvain(graph: _Graph, resolution: float, seed: int, iterations: int | None) -> Ints:
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise BackendMissing("networkx") from error
    made = networkx.Graph()
    made.add_nodes_from(range(len(graph.keys)))
    made.add_weighted_edges_from(
        zip(graph.sources.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True)
    )
    found = networkx.community.louvain_communities(made, resolution=resolution, seed=_seed(seed))
    labels = np.empty(len(graph.keys), np.int64)
    for label, members in enumerate(found):
        labels[list(members)] = label
    return labels


def _igraph_module() -> ModuleType:
    try:
        import igraph
    except ModuleNotFoundError as error:
        raise BackendMissing("igraph") from error
    module: ModuleType = igraph
    return module


def _igraph_graph(igraph: ModuleType, graph: _Graph) -> Any:
    return igraph.Graph(len(graph.keys), np.stack([graph.sources, graph.targets], 1).tolist())


def _seed(seed: int) -> int:
    return seed & 0x7FFFFFFF


_FIND = {
    "mosaic": _mosaic,
    "leidenalg": _leidenalg,
    "igraph": _igraph,
    "networkx-louvain": _networkx_louvain,
}
BACKENDS = tuple(_FIND)
"""The names that `detector` knows."""
