"""Each kind of edge joins what it says, none joins two groups, and their sum is symmetric and bounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph.edges import (
    EDGE_WEIGHTS,
    MOST_RECALLED,
    MOST_TARGETS,
    MOST_TOGETHER,
    Edges,
    combine,
    recalled_edges,
    session_edges,
    supersedes_edges,
    target_edges,
)

Members = tuple[NDArray[np.int64], NDArray[np.int32]]
NUMBERS = st.integers(0, 30)
DELIVERIES = st.lists(st.lists(NUMBERS, max_size=14), max_size=10)


@st.composite
def members(draw: st.DrawFn) -> Members:
    """Rows with gaps, in groups -1 to 1."""
    rows = sorted(draw(st.sets(NUMBERS, max_size=20)))
    groups = draw(st.lists(st.integers(-1, 1), min_size=len(rows), max_size=len(rows)))
    return np.array(rows, np.int64), np.array(groups, np.int32)


def one_group(rows: Sequence[int]) -> Members:
    return np.array(rows, np.int64), np.zeros(len(rows), np.int32)


def told(edges: Any) -> dict[tuple[int, int], float]:
    """Edges as a dict, once they are in order."""
    pairs = list(zip(edges[0].tolist(), edges[1].tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert all(source < target for source, target in pairs)
    assert (edges[0].dtype, edges[2].dtype) == (np.int64, np.float64)
    return dict(zip(pairs, edges[2].tolist(), strict=True))


def assert_within_groups(pairs: Any, there: Members) -> None:
    groups = dict(zip(there[0].tolist(), there[1].tolist(), strict=True))
    assert all(groups.get(one, -1) == groups.get(other, -2) >= 0 for one, other in pairs)


def integers(count: int, least: int, most: int) -> st.SearchStrategy[NDArray[np.int64]]:
    return st.lists(st.integers(least, most), min_size=count, max_size=count).map(lambda a: np.array(a, np.int64))


@given(members(), st.data())
def test_what_follows_in_a_session_and_group_is_joined(there: Members, data: st.DataObject) -> None:
    rows, groups = there
    sessions, order = data.draw(integers(len(rows), -1, 2)), data.draw(integers(len(rows), 0, 5))
    lines = defaultdict(list)
    for row, group, session, place in zip(
        rows.tolist(), groups.tolist(), sessions.tolist(), order.tolist(), strict=True
    ):
        if group >= 0 and session >= 0:
            lines[group, session].append((place, row))
    expected = set()
    for line in lines.values():
        line.sort()
        expected |= {(min(a, b), max(a, b)) for (_, a), (_, b) in pairwise(line)}
    found = told(session_edges(rows, groups, sessions, order))
    assert found == dict.fromkeys(sorted(expected), 1.0)
    assert_within_groups(found, there)


TARGETS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=7), min_size=20, max_size=20)


@given(members(), TARGETS)
def test_a_memory_is_joined_with_the_one_before_it_of_each_target(there: Members, named: list[list[str]]) -> None:
    rows, groups = there
    targets = [list(dict.fromkeys(one))[:MOST_TARGETS] for one in named[: len(rows)]]
    expected: dict[tuple[int, int], float] = {}
    for at, own in enumerate(targets):
        for target in own:
            before = [i for i in range(at) if groups[i] == groups[at] >= 0 and target in targets[i]]
            if before:
                pair = int(rows[before[-1]]), int(rows[at])
                share = 1 / max(len(own), len(targets[before[-1]]))
                expected[pair] = expected.get(pair, 0) + share
    found = told(target_edges(rows, groups, named[: len(rows)]))
    assert found == pytest.approx(dict(sorted(expected.items())))
    assert all(0 < strength <= 1 for strength in found.values())
    assert max(degrees(found).values(), default=0) <= 2 * MOST_TARGETS
    assert_within_groups(found, there)


def degrees(pairs: Any) -> Counter[int]:
    return Counter(row for pair in pairs for row in pair)


@given(members(), DELIVERIES)
def test_a_recalled_pair_has_its_share_of_the_times_each_was_given(there: Members, deliveries: list[list[int]]) -> None:
    found = told(recalled_edges(deliveries, *there))
    given_sets = [set(delivery[:MOST_TOGETHER]) for delivery in deliveries]
    times = Counter(row for one in given_sets for row in one)
    for (a, b), strength in found.items():
        together = sum({a, b} <= one for one in given_sets)
        assert strength == pytest.approx(together / (times[a] * times[b]) ** 0.5 * together / (together + 2))
        assert 0 < strength <= 1
    assert max(degrees(found).values(), default=0) <= MOST_RECALLED
    assert_within_groups(found, there)
    groups = dict(zip(there[0].tolist(), there[1].tolist(), strict=True))
    possible = {
        (a, b) for one in given_sets for a in one for b in one if a < b and groups.get(a, -1) == groups.get(b, -2) >= 0
    }
    if max(degrees(possible).values(), default=0) <= MOST_RECALLED:
        assert set(found) == possible


@given(DELIVERIES, st.lists(NUMBERS, max_size=14), st.integers(1, 400))
def test_a_recall_that_is_repeated_raises_no_strength_beyond_one(
    deliveries: list[list[int]], repeated: list[int], often: int
) -> None:
    there = one_group(range(31))
    found = told(recalled_edges([*deliveries, *[repeated] * often], *there))
    assert all(strength <= 1 for strength in found.values())
    alone = told(recalled_edges([repeated] * often, *there))
    assert all(strength == pytest.approx(often / (often + 2)) for strength in alone.values())


def test_only_the_first_of_a_delivery_and_the_strongest_of_a_memory_count() -> None:
    found = told(recalled_edges([list(range(40, 0, -1))], *one_group(range(50))))
    assert degrees(found) == dict.fromkeys(range(31, 41), 9)
    # Row 0 is given with each of 1 to 23, with five of them at a time equally often; the cut falls among 5 to 9.
    hub = [[0, other] for other in range(1, 24) for _ in range(1 + other // 5)]
    found = told(recalled_edges(hub, *one_group(range(24))))
    assert [other for _, other in found] == [5, 6, *range(10, 24)]
    assert told(recalled_edges(iter(hub), *one_group(range(24)))) == found


def test_what_replaces_another_is_joined_with_it_once() -> None:
    rows, groups = np.array([1, 2, 5, 9]), np.array([0, 0, 1, -1], np.int32)
    old, new = np.array([1, 2, 1, 1, 2, 9, 7]), np.array([2, 1, 5, 1, 77, 9, 7])
    assert told(supersedes_edges(old, new, rows, groups)) == {(1, 2): 1.0}
    with pytest.raises(ValueError, match="are not pairs"):
        supersedes_edges(old, new[1:], rows, groups)


def edges_of(pairs: list[tuple[int, int, float]]) -> Edges:
    sources, targets, strengths = zip(*pairs, strict=True) if pairs else ((), (), ())
    return Edges(np.array(sources, np.int64), np.array(targets, np.int64), np.array(strengths, np.float64))


KINDS = st.dictionaries(
    st.sampled_from(list(EDGE_WEIGHTS)),
    st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from([0.25, 0.5, 1.0])), max_size=60).map(edges_of),
)


@given(KINDS, members(), st.sampled_from([1, 2, 5, 64]))
def test_kinds_add_up_symmetrically_and_no_memory_has_more_than_the_most(
    kinds: dict[str, Edges], there: Members, most: int
) -> None:
    groups = dict(zip(there[0].tolist(), there[1].tolist(), strict=True))
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for name, weight in EDGE_WEIGHTS.items():
        for a, b, strength in zip(*(part.tolist() for part in kinds.get(name, edges_of([]))), strict=True):
            if a != b and groups.get(a, -1) == groups.get(b, -2) >= 0:
                sums[min(a, b), max(a, b)] += weight * strength
    best = {
        row: sorted((pair for pair in sums if row in pair), key=lambda pair: (-round(sums[pair], 9), sum(pair)))[:most]
        for row in groups
    }
    expected = sorted(pair for pair in sums if all(pair in best[row] for row in pair))
    found = combine(kinds, *there, most)
    weighed = told(found)
    assert max(degrees(weighed).values(), default=0) <= most
    assert_within_groups(weighed, there)
    if most == 64:
        assert list(weighed) == expected
        assert list(weighed.values()) == pytest.approx([sums[pair] for pair in expected])
    turned = {name: Edges(one.targets[::-1], one.sources[::-1], one.strengths[::-1]) for name, one in kinds.items()}
    assert list(told(combine(turned, *there, 64))) == list(told(combine(kinds, *there, 64)))


def test_an_edge_stays_where_it_is_among_the_heaviest_of_both_ends() -> None:
    there = one_group(range(5))
    edges = edges_of([(0, 1, 0.5), (2, 0, 0.5), (0, 3, 0.9), (3, 4, 0.1)])
    assert told(combine({"meaning": edges}, *there, 1)) == {(0, 3): 0.9}
    assert told(combine({"meaning": edges}, *there, 2)) == {(0, 1): 0.5, (0, 3): 0.9, (3, 4): 0.1}
    both = combine({"session": edges_of([(0, 1, 1.0)]), "meaning": edges}, *there)
    assert told(both)[0, 1] == 1.0


def test_without_rows_or_edges_there_is_nothing() -> None:
    none = np.empty(0, np.int64), np.empty(0, np.int32)
    assert told(session_edges(*none, none[0], none[0])) == {}
    assert told(target_edges(*none, [])) == {}
    assert told(recalled_edges([[1, 2]], *none)) == {}
    assert told(supersedes_edges(np.array([1]), np.array([2]), *none)) == {}
    assert told(combine({"meaning": edges_of([(1, 2, 1.0)])}, *none)) == {}
    assert told(combine({}, *one_group([1, 2]))) == {}


def test_what_does_not_fit_is_refused() -> None:
    rows, groups = one_group([1, 2, 3])
    with pytest.raises(ValueError, match="differ in shape"):
        session_edges(rows, groups[1:], rows, rows)
    with pytest.raises(ValueError, match="do not ascend"):
        supersedes_edges(rows, rows, rows[::-1], groups)
    with pytest.raises(ValueError, match="there are 3 rows, and targets of 1"):
        target_edges(rows, groups, [["a"]])
