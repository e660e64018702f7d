"""Agreement of partitions is what its definition says; drawn graphs have the communities and the mixing they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.bench.quality.communities.partitions import (
    PlantedGraph,
    adjusted_rand_index,
    lfr_graph,
    normalised_mutual_information,
)

Ints = NDArray[np.int64]


@st.composite
def two_partitions(draw: st.DrawFn) -> tuple[Ints, Ints]:
    nodes = draw(st.integers(1, 12))
    label = st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes)
    return np.array(draw(label), np.int64), np.array(draw(label), np.int64)


def probabilities(*labels: Ints) -> dict[tuple[int, ...], float]:
    rows = list(zip(*(one.tolist() for one in labels), strict=True))
    return {row: rows.count(row) / len(rows) for row in rows}


@given(two_partitions())
def test_mutual_information_is_that_of_its_definition(drawn: tuple[Ints, Ints]) -> None:
    one, other = drawn
    both, left, right = probabilities(one, other), probabilities(one), probabilities(other)
    shared = sum(p * math.log(p / left[key[:1]] / right[key[1:]]) for key, p in both.items())
    entropies = [-sum(p * math.log(p) for p in side.values()) for side in (left, right)]
    expected = 2 * shared / sum(entropies) if sum(entropies) else 1.0
    assert normalised_mutual_information(one, other) == pytest.approx(expected, abs=1e-12)


@given(two_partitions())
def test_the_rand_index_counts_pairs_and_takes_off_what_chance_gives(drawn: tuple[Ints, Ints]) -> None:
    one, other = drawn
    pairs = [(a, b) for b in range(len(one)) for a in range(b)]
    both = sum(one[a] == one[b] and other[a] == other[b] for a, b in pairs)
    left, right = (sum(labels[a] == labels[b] for a, b in pairs) for labels in (one, other))
    expected = left * right / len(pairs) if pairs else 0.0
    most = (left + right) / 2
    index = (both - expected) / (most - expected) if most != expected else 1.0
    assert adjusted_rand_index(one, other) == pytest.approx(index)


@given(two_partitions())
def test_both_are_one_for_the_same_partition_under_other_labels_and_symmetric(drawn: tuple[Ints, Ints]) -> None:
    one, other = drawn
    for measure in (normalised_mutual_information, adjusted_rand_index):
        assert measure(one, 7 - one) == pytest.approx(1.0)
        assert measure(one, other) == pytest.approx(measure(other, one))
        assert measure(one, other) <= 1 + 1e-12


def test_known_values() -> None:
    """An example of L. Hubert and P. Arabie's measure: 6 nodes, 2 pairs together in both."""
    one, other = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    assert adjusted_rand_index(one, other) == pytest.approx(0.8 / 3.3)
    assert normalised_mutual_information(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == pytest.approx(0.0)


@pytest.mark.research
@pytest.mark.parametrize("mixing", [0.1, 0.4])
def test_an_lfr_graph_has_the_mixing_that_was_asked_for_and_is_the_same_each_time(mixing: float) -> None:
    pytest.importorskip("networkx", reason="it comes with the extra research")
    drawn, again = lfr_graph(400, mixing, 0), lfr_graph(400, mixing, 0)
    assert drawn.mixing == pytest.approx(mixing, abs=1e-3)
    assert (drawn.sources != drawn.targets).all()
    assert np.bincount(drawn.labels).min() >= 20
    for one, other in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_planted_graph_has_uneven_communities_that_new_nodes_and_edges_join() -> None:
    planted = PlantedGraph(2_000, 15_000, 1)
    drawn = planted.graph
    assert drawn.nodes == 2_000
    sizes = np.bincount(drawn.labels)
    assert sizes[:-1].min() >= 20  # the last is cut
    assert sizes.max() > 2 * np.median(sizes)
    assert 14_000 < len(drawn.sources) < 15_000
    assert 0.25 < drawn.mixing < 0.35
    assert (drawn.sources < drawn.targets).all()
    assert 0.2 <= drawn.weights.min() <= drawn.weights.max() <= 1.0
    new = planted.add_nodes(5)
    assert new.tolist() == [2_000, 2_001, 2_002, 2_003, 2_004]
    one, other, weights = planted.draw(new, 100)
    assert len(weights) == len(set(zip(one.tolist(), other.tolist(), strict=True))) > 80
    assert (np.isin(one, new) | np.isin(other, new)).all()
