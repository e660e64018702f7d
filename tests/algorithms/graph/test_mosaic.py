"""Communities are those known of small graphs, and obey the laws of Leiden whatever the graph and whatever changes."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph import mosaic
from mnemic.algorithms.graph.mosaic import CommunityGraph, NativeCodeMissing, carried_labels
from mnemic.algorithms.retrieval.scan import NATIVE
from tests import oracle

needs_native = pytest.mark.skipif(not NATIVE, reason="the native extension is not built")

KARATE = """
1: 2 3 4 5 6 7 8 9 11 12 13 14 18 20 22 32; 2: 3 4 8 14 18 20 22 31; 3: 4 8 9 10 14 28 29 33; 4: 8 13 14; 5: 7 11;
6: 7 11 17; 7: 17; 9: 31 33 34; 10: 34; 14: 34; 15: 33 34; 16: 33 34; 19: 33 34; 20: 34; 21: 33 34; 23: 33 34;
24: 26 28 30 33 34; 25: 26 28 32; 26: 32; 27: 30 34; 28: 34; 29: 32 34; 30: 33 34; 31: 33 34; 32: 33 34; 33: 34
"""
"""The karate club of Zachary 1977: of each member the later ones that he met outside it."""


class Edges(NamedTuple):
    """A graph as arrays; the keys are shuffled against the positions."""

    keys: NDArray[np.uint64]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def matrix(self) -> NDArray[np.float64]:
        return oracle.adjacency(len(self.keys), *self[1:])


def edges(nodes: int, pairs: list[tuple[int, int]], weights: list[float] | None = None) -> Edges:
    keys = np.random.default_rng(nodes).permutation(nodes).astype(np.uint64) * np.uint64(2**58 - 27)
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return Edges(
        keys, ends[:, 0], ends[:, 1], np.ones(len(pairs)) if weights is None else np.array(weights, np.float64)
    )


def karate() -> Edges:
    rows = [row.split(":") for row in KARATE.split(";")]
    return edges(34, [(int(one) - 1, int(other) - 1) for one, others in rows for other in others.split()])


def cliques(count: int, size: int, *, ring: bool) -> Edges:
    """Cliques, each of them joined to the next by one edge if in a ring."""
    inside = [(first + b, first + a) for first in range(0, count * size, size) for a in range(size) for b in range(a)]
    between = [(clique * size, (clique + 1) % count * size + 1) for clique in range(count)] if ring else []
    return edges(count * size, inside + between)


@st.composite
def graphs(draw: st.DrawFn, most: int = 16) -> Edges:
    """Any small graph: parallel edges, loops and edges of weight 0 among them."""
    nodes = draw(st.integers(0, most))
    end = st.integers(0, max(nodes - 1, 0))
    pairs = draw(st.lists(st.tuples(end, end), max_size=3 * nodes))
    weight = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.01, 3))
    return edges(nodes, pairs, draw(st.lists(weight, min_size=len(pairs), max_size=len(pairs))))


resolutions = st.one_of(st.just(0.0), st.floats(0.01, 2))
seeds = st.integers(0, 2**64 - 1)


def same_partition(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


def planted(random: np.random.Generator, communities: int, size: int) -> tuple[Edges, list[int]]:
    """Communities in which two pairs of three have an edge, and as many edges as nodes anywhere."""
    nodes = communities * size
    homes = [node // size for node in range(nodes)]
    pairs = [(a, b) for a in range(nodes) for b in range(a) if homes[a] == homes[b] and random.random() < 0.65]
    pairs += [(int(a), int(b)) for a, b in random.integers(0, nodes, (nodes, 2))]
    return edges(nodes, pairs, random.uniform(0.3, 1, len(pairs)).tolist()), homes


@needs_native
@pytest.mark.parametrize(("resolution", "best"), [(0.05, 54.4), (0.1, 43.1), (0.2, 30.6)])
def test_the_karate_club_falls_into_the_best_communities_that_are_known(resolution: float, best: float) -> None:
    graph = CommunityGraph(*karate())
    assert (graph.nodes, graph.edges) == (34, 78)
    found = [graph.quality(graph.detect(resolution, seed), resolution) for seed in range(10)]
    assert max(found) == pytest.approx(best)  # the best of 200 runs of leidenalg 0.12
    assert min(found) > 0.97 * best


@needs_native
@pytest.mark.parametrize(
    ("seed", "communities"), [(1, "aaaabccadebfgahhcijklmnoppqorqdphh"), (2, "aaaabccadebfgahicjklmnopqqrpsrdqdd")]
)
def test_a_seed_gives_the_same_labels_on_every_machine(seed: int, communities: str) -> None:
    whole = karate()
    graph = CommunityGraph(np.arange(34, dtype=np.uint64) * np.uint64(2**58 - 27), *whole[1:])
    assert "".join(chr(ord("a") + label) for label in graph.detect(0.5, seed).tolist()) == communities


@needs_native
@pytest.mark.parametrize("ring", [False, True])
def test_cliques_are_communities_alone_and_in_a_ring(ring: bool) -> None:
    whole = cliques(12, 5, ring=ring)
    graph, expected = CommunityGraph(*whole), np.arange(60) // 5
    for seed in range(5):
        assert same_partition(graph.detect(0.5, seed), expected)
        assert same_partition(graph.detect(0.0, seed), np.zeros(60, np.int64) if ring else expected)
    assert graph.quality(expected, 0.5) == pytest.approx(60)


@needs_native
@given(graphs(), resolutions, seeds)
def test_communities_are_connected_and_none_gains_by_a_move_or_a_merger(
    whole: Edges, resolution: float, seed: int
) -> None:
    graph, matrix = CommunityGraph(*whole), whole.matrix
    labels = graph.detect(resolution, seed, iterations=1000)
    assert labels.dtype == np.int64
    assert oracle.connected_parts(matrix, labels) == len(set(labels.tolist()))
    best = oracle.potts_quality(matrix, labels, resolution)
    assert graph.quality(labels, resolution) == pytest.approx(best, abs=1e-6)
    assert best >= np.trace(matrix) - 1e-6  # all alone
    for node in range(graph.nodes):
        for to in {*labels.tolist(), graph.nodes}:
            moved = np.where(np.arange(graph.nodes) == node, to, labels)
            merged = np.where(labels == labels[node], to, labels)
            for other in (moved, merged):
                assert oracle.potts_quality(matrix, other, resolution) <= best + 1e-6


@needs_native
@given(graphs(), resolutions, seeds, st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_edges_makes_no_difference(
    whole: Edges, resolution: float, seed: int, random: Random
) -> None:
    labels = CommunityGraph(*whole).detect(resolution, seed)
    assert CommunityGraph(*whole).detect(resolution, seed).tolist() == labels.tolist()
    generator = np.random.default_rng(random.getrandbits(32))
    nodes, order = generator.permutation(len(whole.keys)), generator.permutation(len(whole.weights))
    places = np.argsort(nodes)
    ends = np.stack([places[whole.sources], places[whole.targets]])[:, order]
    generator.shuffle(ends, axis=0)
    other = CommunityGraph(whole.keys[nodes], ends[0], ends[1], whole.weights[order])
    assert other.detect(resolution, seed).tolist() == labels[nodes].tolist()
    smallest = [whole.keys[labels == label].min() for label in range(len(set(labels.tolist())))]
    assert smallest == sorted(smallest)


@needs_native
@given(graphs(), graphs(), resolutions, seeds, st.data())
def test_an_update_is_connected_no_worse_and_the_same_wherever_it_is_made(
    whole: Edges, more: Edges, resolution: float, seed: int, data: st.DataObject
) -> None:
    graph = CommunityGraph(*whole)
    before, labels = graph.keys, graph.detect(resolution, seed)
    gone = data.draw(st.lists(st.sampled_from(before.tolist()), max_size=4) if len(before) else st.just([]))
    left = graph.remove_nodes(np.array(gone, np.uint64))
    assert not set(left.tolist()) & set(gone)
    graph.add_nodes(np.arange(1, 4, dtype=np.uint64))
    keys = graph.keys
    fitting = np.maximum(more.sources, more.targets) < len(keys)
    ends = keys[more.sources[fitting]], keys[more.targets[fitting]]
    changed = np.concatenate([left, graph.set_edges(*ends, more.weights[fitting])])
    previous = carried_labels(before, labels, keys)
    found = graph.update(previous, changed, resolution, seed)
    again = graph.update(np.where(previous < 0, -7, 100 - previous), changed[::-1], resolution, seed)
    assert again.tolist() == found.tolist()
    assert graph.quality(found, resolution) >= graph.quality(previous, resolution)

    rows = {key: row for row, key in enumerate(before.tolist())}
    matrix = np.zeros((len(keys), len(keys)))
    old = whole.matrix
    for i, one in enumerate(keys.tolist()):
        for j, other in enumerate(keys.tolist()):
            if one in rows and other in rows:
                matrix[i, j] = old[rows[one], rows[other]]
    for i, j, weight in zip(more.sources[fitting], more.targets[fitting], more.weights[fitting], strict=True):
        matrix[i, j] = matrix[j, i] = weight
    assert graph.edges == np.count_nonzero(np.triu(matrix))
    assert oracle.connected_parts(matrix, found) == len(set(found.tolist()))
    one, other = np.nonzero(np.triu(matrix))
    rebuilt = CommunityGraph(keys[::-1], len(keys) - 1 - one, len(keys) - 1 - other, matrix[one, other])
    assert rebuilt.update(previous[::-1], changed, resolution, seed).tolist() == found[::-1].tolist()


@needs_native
@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_after_a_hundred_boundaries_the_quality_is_that_of_a_run_from_nothing(seed: int) -> None:
    random = np.random.default_rng(seed)
    whole, homes = planted(random, communities=10, size=12)
    graph, resolution = CommunityGraph(*whole), 0.2
    labels, home_of = graph.detect(resolution, 0), dict(zip(whole.keys.tolist(), homes, strict=True))
    for boundary in range(100):
        before = graph.keys
        changed = [graph.remove_nodes(random.choice(before, 2, replace=False))]
        new = np.array([2 * boundary, 2 * boundary + 1], np.uint64) + np.uint64(2**63)
        home_of.update({key: int(random.integers(0, 10)) for key in new.tolist()})
        graph.add_nodes(new)
        keys = graph.keys
        for key in new:
            near = [other for other in keys.tolist() if home_of[other] == home_of[int(key)] and random.random() < 0.65]
            ends = np.r_[np.array(near, np.uint64), random.choice(keys, 2)]
            changed.append(graph.set_edges(np.full(len(ends), key), ends, random.uniform(0.3, 1, len(ends))))
        ends = random.choice(keys, (2, 4))
        changed.append(graph.set_edges(ends[0], ends[1], random.choice([0.0, 0.5], 4)))
        previous = carried_labels(before, labels, keys)
        labels = graph.update(previous, np.concatenate(changed), resolution, boundary)
    fresh = [graph.quality(graph.detect(resolution, seed), resolution) for seed in range(3)]
    assert graph.quality(labels, resolution) >= 0.99 * max(fresh)


@needs_native
def test_there_may_be_no_node_or_one_and_loops_and_parallel_edges_count_inside() -> None:
    for nodes in (0, 1):
        lone = CommunityGraph(*edges(nodes, []))
        for labels in (lone.detect(1, 0), lone.update(np.full(nodes, -1), lone.keys, 1, 0)):
            assert labels.tolist() == [0] * nodes
        assert lone.quality(lone.detect(1, 0), 1) == 0
    graph = CommunityGraph(*edges(4, [(0, 1), (1, 0), (2, 2), (1, 3)], [0.25, 0.5, 2.0, 0.0]))
    assert graph.edges == 2
    assert same_partition(graph.detect(0.7, 0), np.array([0, 0, 1, 2]))
    assert same_partition(graph.detect(0.8, 0), np.arange(4))
    assert graph.quality(np.array([5, 5, 9, 9]), 0.5) == pytest.approx(1.75)


@needs_native
def test_what_changed_is_told_and_rows_keep_their_order() -> None:
    graph = CommunityGraph(np.array([9, 5, 7, 3], np.uint64), *cliques(1, 4, ring=False)[1:])

    def key(*keys: int) -> NDArray[np.uint64]:
        return np.array(keys, np.uint64)

    assert graph.set_edges(key(9, 7, 3), key(5, 3, 3), np.array([1.0, 0.5, 0.0])).tolist() == [3, 7]
    assert graph.set_edges(key(9, 9), key(5, 5), np.array([0.0, 1.0])).tolist() == [5, 9]
    assert graph.remove_nodes(key(9, 7, 9)).tolist() == [3, 5]
    graph.add_nodes(key(9, 4))
    assert (graph.keys.tolist(), graph.edges) == ([5, 3, 9, 4], 1)


@needs_native
@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), 2.0**31])
def test_a_weight_that_is_none_is_refused_with_its_edge(weight: float) -> None:
    whole = edges(3, [(0, 1), (2, 1)], [1.0, weight])
    with pytest.raises(ValueError, match=r"edge 1 \(2, 1\)"):
        CommunityGraph(*whole)
    graph = CommunityGraph(*whole._replace(weights=np.ones(2)))
    keys = graph.keys
    with pytest.raises(ValueError, match=rf"edge 1 \({keys[0]}, {keys[2]}\)"):
        graph.set_edges(keys[[0, 0]], keys[[1, 2]], np.array([0.0, weight]))
    assert graph.edges == 2


@needs_native
def test_ends_keys_labels_and_resolutions_that_are_none_are_refused() -> None:
    whole = edges(3, [(0, 1)])
    for end in (-1, 3):
        with pytest.raises(ValueError, match=rf"edge 0 \(0, {end}\)"):
            CommunityGraph(*whole._replace(targets=np.array([end])))
    with pytest.raises(ValueError, match="node 4 is there twice"):
        CommunityGraph(*whole._replace(keys=np.array([4, 4, 5], np.uint64)))
    with pytest.raises(ValueError, match="were to be"):
        CommunityGraph(*whole._replace(weights=np.ones(2)))
    with pytest.raises(TypeError):
        CommunityGraph(*whole._replace(weights=np.ones(1, np.float32)))  # type: ignore[arg-type]
    graph, stranger = CommunityGraph(*whole), np.array([77], np.uint64)
    with pytest.raises(ValueError, match="no node 77"):
        graph.remove_nodes(stranger)
    with pytest.raises(ValueError, match="edge 0"):
        graph.set_edges(stranger, graph.keys[:1], np.ones(1))
    with pytest.raises(ValueError, match="twice"):
        graph.add_nodes(graph.keys[:1])
    for resolution in (-0.1, float("nan"), float("inf"), 2.0**15):
        with pytest.raises(ValueError, match="resolution"):
            graph.detect(resolution, 0)
    with pytest.raises(ValueError, match="were to be"):
        graph.update(np.zeros(2, np.int64), stranger, 1, 0)
    assert graph.update(np.zeros(3, np.int64), stranger, 0.1, 0).tolist() == [0, 0, 0]


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_labels_are_carried_to_the_nodes_that_are_left(old: set[int], new: set[int]) -> None:
    before, after = np.array(list(old), np.uint64)[::-1], np.array(list(new), np.uint64)
    carried = carried_labels(before, before.astype(np.int64) * 3, after)
    assert carried.tolist() == [3 * key if key in old else -1 for key in after.tolist()]


def test_without_native_code_one_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mosaic, "NATIVE", False)
    with pytest.raises(NativeCodeMissing, match="native code"):
        CommunityGraph(*edges(1, []))
