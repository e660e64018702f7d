"""The resolution that is chosen finds what was planted, on any scale of weights and in any order of nodes and edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph.mosaic import CommunityGraph
from mnemic.algorithms.graph.resolution import GRID, REFINEMENTS, Chosen, choose_resolution
from mnemic.algorithms.retrieval.scan import NATIVE

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
native = pytest.mark.skipif(not NATIVE, reason="native code is not built")


def components(nodes: int, sources: Ints, targets: Ints, weights: Floats) -> Callable[[float], Ints]:
    """A detector without chance: the components of the pairs that weigh more than the resolution."""

    def detect(resolution: float) -> Ints:
        labels = np.arange(nodes)
        for one, other, weight in zip(sources, targets, weights, strict=True):
            if weight > resolution:
                labels[labels == labels[one]] = labels[other]
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)

    return detect


def mosaic(keys: NDArray[np.uint64], sources: Ints, targets: Ints, weights: Floats) -> Callable[[float], Ints]:
    graph = CommunityGraph(keys, sources, targets, weights)
    return lambda resolution: graph.detect(resolution, 1)


def planted(seed: int, sizes: list[int], inside: float, between: float) -> tuple[int, Ints, Ints, Ints]:
    """The number of nodes, both ends of each edge, and the community of each node."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    one, other = np.triu_indices(len(of), 1)
    there = rng.random(len(one)) < np.where(of[one] == of[other], inside, between)
    return len(of), one[there], other[there], of


def same_partition(one: Ints, other: Ints) -> bool:
    pairs = {(a, b) for a, b in zip(one.tolist(), other.tolist(), strict=True)}
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@native
@pytest.mark.parametrize(
    ("sizes", "inside", "between"),
    [([20] * 8, 0.5, 0.02), ([100] * 3, 0.2, 0.02), ([10] * 30, 0.9, 0.01), ([15, 20, 30, 45, 60], 0.6, 0.03)],
)
def test_what_was_planted_is_found_with_equal_weights_and_with_uneven_ones(
    sizes: list[int], inside: float, between: float
) -> None:
    nodes, sources, targets, of = planted(1, sizes, inside, between)
    for weights in (np.ones(len(sources)), np.random.default_rng(2).lognormal(0, 0.3, len(sources))):
        detect = mosaic(np.arange(nodes, dtype=np.uint64), sources, targets, weights)
        chosen = choose_resolution(detect, nodes, sources, targets, weights)
        assert same_partition(chosen.labels, of)
        assert len(chosen.profile) <= GRID + 2 * REFINEMENTS


@native
def test_cliques_on_a_ring_are_kept_apart_however_many_there_are() -> None:
    """Modularity would merge neighbours: its resolution limit."""
    cliques, size = 60, 5
    one, other = np.triu_indices(size, 1)
    sources = np.concatenate([one + size * at for at in range(cliques)] + [np.arange(cliques) * size])
    targets = np.concatenate(
        [other + size * at for at in range(cliques)] + [(np.arange(cliques) + 1) % cliques * size + 1]
    )
    nodes, weights = cliques * size, np.ones(len(sources))
    detect = mosaic(np.arange(nodes, dtype=np.uint64), sources, targets, weights)
    assert choose_resolution(detect, nodes, sources, targets, weights).labels.max() + 1 == cliques


@native
@pytest.mark.parametrize("seed", range(3))
def test_no_partition_of_noise_saves_anything(seed: int) -> None:
    nodes, sources, targets, _ = planted(seed, [150], 0.1, 0.0)
    weights = np.random.default_rng(seed).lognormal(0, 1, len(sources))
    detect = mosaic(np.arange(nodes, dtype=np.uint64), sources, targets, weights)
    chosen = choose_resolution(detect, nodes, sources, targets, weights)
    assert max(one.saved_nats for one in chosen.profile) <= 0
    assert min(one.saved_nats for one in chosen.profile) < -50


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Ints, Ints, Floats]:
    nodes = draw(st.integers(0, 12))
    ends = st.integers(0, max(0, nodes - 1))
    edge = st.tuples(ends, ends, st.sampled_from([0.0, 0.25, 0.3, 1.0, 7.5]))
    edges = draw(st.lists(edge, max_size=30 if nodes else 0))
    sources, targets, weights = zip(*edges, strict=True) if edges else ((), (), ())
    return nodes, np.array(sources, np.int64), np.array(targets, np.int64), np.array(weights, np.float64)


def told(chosen: Chosen) -> list[Any]:
    return [chosen.resolution, *(one[:2] + one[3:] for one in chosen.profile)]


@native
@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_edges_and_the_direction_of_edges_change_nothing(
    graph: tuple[int, Ints, Ints, Floats], random: Any
) -> None:
    nodes, sources, targets, weights = graph
    keys = np.arange(nodes, dtype=np.uint64) * np.uint64(977)
    order = np.array(random.sample(range(nodes), nodes), np.int64)
    place = np.argsort(order)
    edges = np.array(random.sample(range(len(sources)), len(sources)), np.int64)
    ends = place[targets[edges]], place[sources[edges]]
    plain = choose_resolution(mosaic(keys, sources, targets, weights), nodes, sources, targets, weights)
    other = choose_resolution(mosaic(keys[order], *ends, weights[edges]), nodes, *ends, weights[edges])
    assert told(plain) == told(other)
    assert same_partition(plain.labels[order], other.labels)
    for one, again in zip(plain.profile, other.profile, strict=True):
        assert one.quality == pytest.approx(again.quality, abs=1e-9)


@given(graphs(), st.integers(-20, 20))
def test_the_scale_of_weights_scales_the_resolution_alone(graph: tuple[int, Ints, Ints, Floats], exponent: int) -> None:
    nodes, sources, targets, weights = graph
    scale = 2.0**exponent
    plain = choose_resolution(components(*graph), *graph)
    scaled = choose_resolution(
        components(nodes, sources, targets, weights * scale), nodes, sources, targets, weights * scale
    )
    if (weights[sources != targets] > 0).any():
        assert scaled.resolution == pytest.approx(plain.resolution * scale)
    assert [one.saved_nats for one in scaled.profile] == [one.saved_nats for one in plain.profile]
    assert scaled.labels.tolist() == plain.labels.tolist()


@given(graphs())
def test_the_profile_says_what_the_partition_saves_and_is_worth(graph: tuple[int, Ints, Ints, Floats]) -> None:
    """Held to the definition, pair by pair."""
    nodes, sources, targets, weights = graph
    chosen = choose_resolution(components(*graph), *graph)
    assert chosen.resolution in {one.resolution for one in chosen.profile}
    (tried,) = (one for one in chosen.profile if one.resolution == chosen.resolution)
    assert tried.saved_nats == max(one.saved_nats for one in chosen.profile)
    assert tried.communities == len(set(chosen.labels.tolist()))
    labels = chosen.labels
    pairs = {(one, other): 0.0 for other in range(nodes) for one in range(other)}
    loops = 0.0
    for one, other, weight in zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True):
        if one == other:
            loops += weight
        else:
            pairs[min(one, other), max(one, other)] += weight
    blocks: dict[int, list[float]] = {}
    for (one, other), weight in pairs.items():
        blocks.setdefault(int(labels[one]) if labels[one] == labels[other] else -1, []).append(weight)
    quality = loops + sum(
        weight - tried.resolution for label, inside in blocks.items() if label >= 0 for weight in inside
    )
    assert tried.quality == pytest.approx(quality, abs=1e-9)
    total = sum(pairs.values())
    saved = -math.log(math.factorial(nodes))
    saved += sum(math.log(math.factorial(int(size))) for size in np.bincount(labels, minlength=1))
    if total:
        mean, unit = total / len(pairs), sum(weight**2 for weight in pairs.values()) / total
        saved += sum(
            sum(block) / unit * math.log(sum(block) / len(block) / mean) for block in blocks.values() if sum(block)
        )
    assert tried.saved_nats == pytest.approx(saved, abs=1e-9)


def test_a_graph_without_pairs_has_one_resolution() -> None:
    nothing, none = np.empty(0, np.int64), np.empty(0)
    for nodes in (0, 1, 3):
        chosen = choose_resolution(lambda _, nodes=nodes: np.arange(nodes), nodes, nothing, nothing, none)  # type: ignore[misc]
        assert (chosen.resolution, chosen.labels.tolist()) == (1.0, list(range(nodes)))
        assert [(one.communities, one.quality) for one in chosen.profile] == [(nodes, 0.0)]
