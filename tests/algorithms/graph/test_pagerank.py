"""Forward push keeps its bound against the exact solution, and agrees with networkx."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph.mosaic import CommunityGraph
from mnemic.algorithms.retrieval.scan import NATIVE
from tests import oracle

pytestmark = pytest.mark.skipif(not NATIVE, reason="the native extension is not built")


def random_graph(nodes: int, count: int, seed: int) -> tuple[CommunityGraph, NDArray[np.float64]]:
    """A graph with keys 5, 6, and so on, and its matrix."""
    random = np.random.default_rng(seed)
    sources, targets = random.integers(0, max(nodes, 1), (2, count if nodes else 0))
    weights = random.uniform(0, 2, len(sources)).round(1)
    graph = CommunityGraph(np.arange(5, 5 + nodes, dtype=np.uint64), sources, targets, weights)
    return graph, oracle.adjacency(nodes, sources, targets, weights)


@given(
    st.integers(1, 30),
    st.integers(0, 90),
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 29), st.floats(0.1, 5)), min_size=1, max_size=4),
    st.one_of(st.just(0.0), st.floats(0.1, 0.95)),
    st.sampled_from([1e-1, 1e-3, 1e-6]),
)
def test_a_score_is_below_the_exact_one_by_the_bound_at_most(
    nodes: int, count: int, seed: int, starts: list[tuple[int, float]], damping: float, epsilon: float
) -> None:
    graph, matrix = random_graph(nodes, count, seed)
    start = np.zeros(nodes)
    for node, weight in starts:
        start[node % nodes] += weight
    seeds = np.array([5 + node % nodes for node, _ in starts], np.uint64)
    weights = np.array([weight for _, weight in starts])
    keys, scores = graph.pagerank(seeds, weights, damping, epsilon)
    found = np.zeros(nodes)
    found[keys.astype(np.int64) - 5] = scores
    missing = oracle.pagerank(matrix, start / start.sum(), damping) - found
    assert (missing >= -1e-9).all()
    assert (missing <= epsilon * matrix.sum(axis=1) + 1e-7).all()  # weights are rounded to multiples of 2^-32
    assert len(set(keys.tolist())) == len(keys)
    assert (scores > 0).all()
    ranked = sorted(zip((-scores).tolist(), keys.tolist(), strict=True))
    assert [key for _, key in ranked] == keys.tolist()


@given(st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_the_order_of_nodes_edges_and_seeds_changes_no_digit(nodes: int, seed: int) -> None:
    graph, matrix = random_graph(nodes, 3 * nodes, seed)
    sources, targets = np.nonzero(np.triu(matrix))
    keys = graph.keys[::-1].copy()
    ends = nodes - 1 - targets[::-1], nodes - 1 - sources[::-1]
    graph.set_edges(graph.keys[sources], graph.keys[targets], matrix[sources, targets])
    other = CommunityGraph(keys, *ends, matrix[sources, targets][::-1])
    seeds, weights = graph.keys[:2], np.array([0.3, 0.1])
    (nearest, scores), (same, digits) = graph.pagerank(seeds, weights), other.pagerank(seeds[::-1], weights[::-1])
    assert (nearest.tolist(), scores.tolist()) == (same.tolist(), digits.tolist())


def test_it_agrees_with_networkx() -> None:
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    pytest.importorskip("scipy", reason="networkx ranks pages by scipy, which is not installed")
    graph, matrix = random_graph(60, 300, 1)
    assert matrix.sum(axis=1).all()  # where a walk cannot go on, networkx lets it start again
    reference = networkx.pagerank(
        networkx.from_numpy_array(matrix), alpha=0.85, personalization={3: 1.0, 8: 3.0}, tol=1e-14, max_iter=1000
    )
    keys, scores = graph.pagerank(np.array([8, 13], np.uint64), np.array([0.25, 0.75]), 0.85, 1e-12)
    found = dict(zip(keys.tolist(), scores.tolist(), strict=True))
    for node, score in reference.items():
        assert found[node + 5] == pytest.approx(score, abs=1e-9)


def test_without_a_seed_nothing_is_near_and_a_node_without_edges_keeps_its_walk() -> None:
    graph, _ = random_graph(3, 0, 0)
    assert [part.tolist() for part in graph.pagerank(np.empty(0, np.uint64), np.empty(0))] == [[], []]
    keys, scores = graph.pagerank(np.array([7, 5], np.uint64), np.array([1.0, 3.0]))
    assert (keys.tolist(), scores.tolist()) == ([5, 7], [0.75, 0.25])


def test_seeds_weights_damping_and_epsilon_that_are_none_are_refused() -> None:
    graph, _ = random_graph(3, 9, 0)
    seeds, one = np.array([5], np.uint64), np.ones(1)
    with pytest.raises(ValueError, match="no node 4"):
        graph.pagerank(np.array([4], np.uint64), one)
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="seed 5"):
            graph.pagerank(seeds, np.array([weight]))
    with pytest.raises(ValueError, match="were to be"):
        graph.pagerank(seeds, np.ones(2))
    for damping in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="damping"):
            graph.pagerank(seeds, one, damping)
    for epsilon in (0.0, 1e-13, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="epsilon"):
            graph.pagerank(seeds, one, epsilon=epsilon)
