"""Graphs with known communities, and how far two partitions of the same nodes agree.

The communities bench stands above. Agreement is counted here in a few lines each, so that no package that measures it
has to be installed; tests hold both to their definitions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LFR = {"tau1": 3, "tau2": 1.5, "average_degree": 20, "max_degree": 50, "min_community": 20, "max_community": 100}
"""What networkx's generator is told, with the usual exponents of degrees and sizes."""
_INSIDE = 0.7  # of the planted edges
_SMALLEST, _LARGEST = 20, 200  # planted communities


class Labelled(NamedTuple):
    """An undirected graph, and the community that each node was planted in."""

    sources: Ints
    """``(m,) int64``"""
    targets: Ints
    """``(m,) int64``"""
    weights: Floats
    """``(m,) float64``, above 0."""
    labels: Ints
    """``(n,) int64``"""

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.labels)

    @property
    def mixing(self) -> float:
        """The share of edges between communities."""
        return float((self.labels[self.sources] != self.labels[self.targets]).mean())


def normalised_mutual_information(one: Ints, other: Ints) -> float:
    """Mutual information over the mean of both entropies, from 0 to 1; 1 where both are one community.

    Source: L. Danon, A. Díaz-Guilera, J. Duch and A. Arenas, "Comparing community structure identification" (2005).

    Args:
        one: ``(n,)`` labels, of any numbers; n is 1 or more.
        other: ``(n,)``.
    """
    entropies = [_entropy(np.unique(labels, return_counts=True)[1]) for labels in (one, other)]
    both = _entropy(_shared(one, other))
    return 2 * (sum(entropies) - both) / sum(entropies) if any(entropies) else 1.0


def adjusted_rand_index(one: Ints, other: Ints) -> float:
    """The share of pairs that both partitions treat alike, less what chance gives; at most 1, 0 by chance.

    Source: L. Hubert and P. Arabie, "Comparing partitions" (1985).

    Args:
        one: ``(n,)`` labels, of any numbers; n is 1 or more.
        other: ``(n,)``.
    """
    together = _pairs(_shared(one, other))
    apart = [_pairs(np.unique(labels, return_counts=True)[1]) for labels in (one, other)]
    all_pairs = _pairs(np.array([len(one)]))
    expected = apart[0] * apart[1] / all_pairs if all_pairs else 0.0
    most = sum(apart) / 2
    return (together - expected) / (most - expected) if most != expected else 1.0


def lfr_graph(nodes: int, mixing: float, seed: int) -> Labelled:
    """A graph after A. Lancichinetti, S. Fortunato and F. Radicchi (2008), as networkx draws it, less a surplus.

    Its generator draws the outer edges of each node and leaves it those that others draw to it besides, so that there
    are about twice as many as `mixing` says. As many of them, drawn by the seed, are taken away as are too many.

    Args:
        mixing: the share of edges between communities, above 0 and below 1.

    Raises:
        ModuleNotFoundError: networkx is not installed.
        ValueError: networkx found no such graph from this seed.
    """
    import networkx

    try:
        made = networkx.LFR_benchmark_graph(nodes, mu=mixing, seed=seed, **LFR)
    except networkx.ExceededMaxIterations as error:
        raise ValueError(f"networkx found no graph of {nodes} nodes, mixing {mixing}, from seed {seed}") from error
    labels = np.empty(nodes, np.int64)
    for label, members in enumerate({frozenset(made.nodes[node]["community"]) for node in made}):
        labels[list(members)] = label
    ends = np.array(made.edges, np.int64).reshape(-1, 2)
    ends = ends[ends[:, 0] != ends[:, 1]]
    outer = np.flatnonzero(labels[ends[:, 0]] != labels[ends[:, 1]])
    wanted = round((len(ends) - len(outer)) * mixing / (1 - mixing))
    surplus = np.random.default_rng(seed).permutation(outer)[wanted:]
    ends = np.delete(ends, surplus, 0)
    return Labelled(ends[:, 0].copy(), ends[:, 1].copy(), np.ones(len(ends)), labels)


class PlantedGraph:
    """A weighted graph with communities of uneven sizes, which more nodes and edges are drawn for."""

    def __init__(self, nodes: int, edges: int, seed: int) -> None:
        """Draw it: about so many edges, for those drawn twice are one; weights are from 0.2 to 1."""
        self._rng = np.random.default_rng(seed)
        sizes = np.exp(self._rng.uniform(np.log(_SMALLEST), np.log(_LARGEST), nodes // _SMALLEST + 1)).astype(int)
        self._labels = np.repeat(np.arange(len(sizes)), sizes)[:nodes]
        sources, targets, weights = self.draw(np.arange(nodes), edges)
        self.graph = Labelled(sources, targets, weights, self._labels)

    def add_nodes(self, count: int) -> Ints:
        """The positions of more nodes, each of some community that is there."""
        first = len(self._labels)
        self._labels = np.concatenate([self._labels, self._rng.choice(self._labels, count)])
        return np.arange(first, first + count)

    def draw(self, nodes: Ints, edges: int) -> tuple[Ints, Ints, Floats]:
        """Draw edges from some nodes to any: both ends and the weights of about so many, each pair once."""
        order = np.argsort(self._labels, kind="stable")
        counts = np.bincount(self._labels)
        starts = np.cumsum(counts) - counts
        sources = self._rng.choice(nodes, edges)
        own = self._labels[sources]
        fellows = order[starts[own] + (self._rng.random(edges) * counts[own]).astype(np.int64)]
        inside = self._rng.random(edges) < _INSIDE
        targets = np.where(inside, fellows, self._rng.integers(0, len(self._labels), edges))
        low, high = np.minimum(sources, targets), np.maximum(sources, targets)
        codes = np.unique((low * len(self._labels) + high)[low < high])
        one, other = np.divmod(codes, len(self._labels))
        return one, other, self._rng.uniform(0.2, 1.0, len(codes))


def _shared(one: Ints, other: Ints) -> Ints:
    """How many nodes each pair of communities shares, where it shares any."""
    return np.unique(np.stack([one, other]), axis=1, return_counts=True)[1]


def _entropy(counts: Ints) -> float:
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _pairs(counts: Ints) -> float:
    return float((counts * (counts - 1) / 2).sum())
