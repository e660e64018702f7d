"""Related communities are those in which walks from the members end, the most frequent ones first."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.graph.mosaic import CommunityGraph
from mnemic.algorithms.graph.related import WALK_DAMPING, related_communities
from mnemic.algorithms.retrieval.scan import NATIVE
from tests import oracle

pytestmark = pytest.mark.skipif(not NATIVE, reason="the native extension is not built")

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)
TOPICS = st.lists(st.integers(-1, 4), min_size=10, max_size=10)


def graph_of(edges: list[tuple[int, int]], nodes: int = 10, order: list[int] | None = None) -> CommunityGraph:
    """Nodes 0, 1, and so on, added in some order, joined with weight 1."""
    keys = np.array(range(nodes) if order is None else order, np.uint64)
    place = {int(key): at for at, key in enumerate(keys.tolist())}
    sources, targets = (np.array([place[edge[side]] for edge in edges], np.int64) for side in (0, 1))
    return CommunityGraph(keys, sources, targets, np.ones(len(edges)))


def related(graph: CommunityGraph, members: list[int], topics: list[int], k: int = 10) -> dict[int, float]:
    of_nodes = np.array([topics[key] for key in graph.keys.tolist()], np.int64)
    numbers, shares = related_communities(graph, np.array(members, np.uint64), of_nodes, k)
    assert len(numbers) == len(shares)
    return dict(zip(numbers.tolist(), shares.tolist(), strict=True))


@given(EDGES, TOPICS, st.sets(st.integers(0, 9), min_size=1))
def test_shares_are_those_of_the_exact_walk(edges: list[tuple[int, int]], topics: list[int], seeds: set[int]) -> None:
    members = sorted(seeds)
    found = related(graph_of(edges), members, topics)
    sources, targets = (np.array([edge[side] for edge in edges], np.int64) for side in (0, 1))
    start = np.isin(np.arange(10), members) / len(members)
    matrix = oracle.adjacency(10, sources, targets, np.ones(len(edges)))
    exact = oracle.pagerank(matrix, start, WALK_DAMPING)
    own = {topics[member] for member in members}
    for number in set(topics) - own - {0, -1}:
        share = sum(exact[node] for node in range(10) if topics[node] == number)
        assert found.get(number, 0.0) == pytest.approx(share, abs=1e-3)
    assert not (own | {0, -1}) & set(found)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert all(share > 0 for share in found.values())


@given(EDGES, TOPICS, st.sets(st.integers(0, 9)), st.permutations(range(10)), st.integers(0, 4))
def test_the_order_of_nodes_changes_nothing_and_k_cuts(
    edges: list[tuple[int, int]], topics: list[int], members: set[int], order: list[int], k: int
) -> None:
    whole = related(graph_of(edges), sorted(members), topics)
    other = related(graph_of(edges, order=order), sorted(members, reverse=True), topics, k)
    assert list(other.items()) == list(whole.items())[:k]


@given(EDGES, TOPICS)
def test_a_walk_passes_no_gap_between_scopes(edges: list[tuple[int, int]], topics: list[int]) -> None:
    within = [(one, other) for one, other in edges if (one < 5) == (other < 5)]
    numbers = [topic + 10 * (node >= 5) if topic > 0 else 0 for node, topic in enumerate(topics)]
    assert all(number < 10 for number in related(graph_of(within), [0, 1], numbers))


def test_a_community_that_is_joined_by_what_is_between_counts_less_than_the_one_between() -> None:
    found = related(graph_of([(0, 1), (1, 2)], 3), [0], [7, 8, 9])
    p, stays = Fraction(1, 2), Fraction(1, 2)
    at_one = p / (1 - p * p)  # visits of the middle of a line of three, begun at an end
    assert found[8] == pytest.approx(float(stays * at_one), abs=1e-3)
    assert found[9] == pytest.approx(float(stays * at_one * p / 2), abs=1e-3)


def test_equal_shares_come_by_number() -> None:
    assert list(related(graph_of([(0, 1), (0, 2)], 3), [0], [1, 9, 4])) == [4, 9]


def test_no_members_and_members_without_neighbours_have_nothing_related() -> None:
    assert related(graph_of([], 0), [], []) == {}
    assert related(graph_of([], 1), [0], [3]) == {}
    assert related(graph_of([(0, 1)], 2), [], [3, 4]) == {}


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(ValueError, match="topics of shape"):
        related_communities(graph_of([], 2), np.array([0], np.uint64), np.array([1]), 3)
    with pytest.raises(ValueError, match="k is -1"):
        related(graph_of([], 2), [0], [1, 2], -1)
    with pytest.raises(ValueError, match="5"):
        related(graph_of([], 2), [5], [1, 2])
