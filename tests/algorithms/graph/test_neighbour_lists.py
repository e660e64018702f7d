"""Whatever came, went and moved, the lists are those of a computation from nothing, and edges follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph.neighbour_lists import NeighbourLists, mutual_edges
from mnemic.algorithms.graph.neighbours import code_neighbours
from mnemic.algorithms.retrieval.scan import quantise

D = 3
ROWS = st.lists(st.integers(0, 25), max_size=8, unique=True).map(sorted)


class Mind:
    """What is there, in plain dicts, beside the lists that are to follow it."""

    def __init__(self, k: int) -> None:
        self.lists = NeighbourLists(D, k)
        self.groups: dict[int, int] = {}
        self.versions: dict[int, int] = {}

    def codes(self, row: int) -> NDArray[np.int8]:
        """Of few levels, so that many tie; others each time a row comes back."""
        random = np.random.default_rng((row, self.versions[row]))
        return random.integers(-1, 2, D).astype(np.int8)

    def arrays(self, rows: list[int]) -> tuple[Any, ...]:
        codes = np.array([self.codes(row) for row in rows], np.int8).reshape(-1, D)
        groups = np.array([self.groups[row] for row in rows], np.int32)
        return np.array(rows, np.int64), codes, np.full(len(rows), 0.5, np.float32), groups

    def append(self, rows: list[int], group: int) -> None:
        new = [row for row in rows if row not in self.groups]
        for row in new:
            self.groups[row] = (group + row) % 3
            self.versions[row] = self.versions.get(row, 0) + 1
        self.lists.append(*self.arrays(new))

    def remove(self, rows: list[int], _: int) -> None:
        for row in rows:
            self.groups.pop(row, None)
        self.lists.remove(np.array(rows, np.int64))

    def move(self, rows: list[int], group: int) -> None:
        self.groups.update({row: group for row in rows if row in self.groups})
        self.lists.move(np.array(rows, np.int64), np.full(len(rows), group, np.int32))

    def update(self, rows: list[int], _: int) -> None:
        waiting = len(self.lists.pending)
        assert self.lists.update(len(rows)) == len(self.lists.pending) == max(0, waiting - len(rows))

    def restore(self, _: list[int], __: int) -> None:
        old = self.lists
        rows, codes, scales, groups = self.arrays(sorted(self.groups))
        self.lists = NeighbourLists.restore(
            rows, codes, scales, groups, old.neighbours.copy(), old.cosines.copy(), old.pending
        )
        assert not len(self.lists.take_changed())

    def cold(self) -> tuple[list[int], Any, Any]:
        rows, codes, scales, groups = self.arrays(sorted(self.groups))
        found = code_neighbours(codes, scales, groups, np.arange(len(rows)), self.lists.k)
        named = [[int(rows[at]) if at >= 0 else -1 for at in line] for line in found.neighbours.tolist()]
        return rows.tolist(), named, found.cosines.tolist()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "update", "update", "remove", "move", "restore"]), ROWS, st.integers(0, 2)
    ),
    max_size=12,
)


@given(STEPS, st.integers(1, 5))
def test_after_any_history_the_lists_are_those_of_a_cold_computation(
    steps: list[tuple[str, list[int], int]], k: int
) -> None:
    mind = Mind(k)
    told: dict[int, list[int]] = {}
    for name, rows, group in steps:
        getattr(mind, name)(rows, group)
        lists = mind.lists
        assert lists.rows.tolist() == sorted(mind.groups)
        for row, line in zip(lists.rows.tolist(), lists.neighbours.tolist(), strict=True):
            assert all(mind.groups[other] == mind.groups[row] and other != row for other in line if other >= 0)
    before = dict(zip(mind.lists.rows.tolist(), mind.lists.neighbours.tolist(), strict=True))
    mind.lists.take_changed()
    assert mind.lists.update(1000) == 0
    assert (mind.lists.rows.tolist(), mind.lists.neighbours.tolist(), mind.lists.cosines.tolist()) == mind.cold()
    told = dict(zip(mind.lists.rows.tolist(), mind.lists.neighbours.tolist(), strict=True))
    changed = mind.lists.take_changed().tolist()
    assert {row for row in told if told[row] != before[row]} <= set(changed) <= set(told)
    assert not len(mind.lists.take_changed())
    assert mind.lists.update(1000) == 0
    assert not len(mind.lists.take_changed())


@given(STEPS, st.integers(1, 5))
def test_edges_are_the_pairs_in_both_lists(steps: list[tuple[str, list[int], int]], k: int) -> None:
    mind = Mind(k)
    for name, rows, group in steps:
        getattr(mind, name)(rows, group)
    lists, floor = mind.lists, 0.25
    cosines = {
        (row, other): cosine
        for row, line, values in zip(
            lists.rows.tolist(), lists.neighbours.tolist(), lists.cosines.tolist(), strict=True
        )
        for other, cosine in zip(line, values, strict=True)
        if other >= 0
    }
    expected = {
        (a, b): min(1.0, (cosine - floor) / (1 - floor))
        for (a, b), cosine in sorted(cosines.items())
        if a < b and (b, a) in cosines and cosine > floor
    }
    group_of = dict(zip(lists.rows.tolist(), lists.groups.tolist(), strict=True))
    for group in (*set(group_of.values()), 99):
        found = mutual_edges(lists, group, floor)
        own = {pair: strength for pair, strength in expected.items() if group_of[pair[0]] == group}
        assert list(zip(found.sources.tolist(), found.targets.tolist(), strict=True)) == list(own)
        assert found.strengths.tolist() == pytest.approx(list(own.values()))
        assert ((found.strengths > 0) & (found.strengths <= 1)).all()


def test_many_rows_in_small_steps_and_many_passes_equal_one_step() -> None:
    random = np.random.default_rng(2)
    vectors = random.standard_normal((2500, 16)).astype(np.float32)
    codes, scales = quantise(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    groups = random.integers(0, 2, 2500).astype(np.int32)
    rows = np.arange(2500) * 3
    lists = NeighbourLists(16, 6, threads=2)
    for start in range(0, 2500, 700):
        part = slice(start, start + 700)
        lists.append(rows[part], codes[part], scales[part], groups[part])
        lists.update(650)
    while lists.update(150):
        pass
    lists.remove(rows[5:1200:7])
    lists.update(10_000)
    kept = np.isin(rows, lists.rows)
    cold = code_neighbours(codes[kept], scales[kept], groups[kept], np.arange(kept.sum()), 6)
    assert np.array_equal(lists.neighbours, rows[kept][cold.neighbours])
    assert np.array_equal(lists.cosines, cold.cosines)


def test_one_that_comes_asks_for_no_other_list_and_one_that_goes_only_for_those_that_held_it() -> None:
    random = np.random.default_rng(4)
    vectors = random.standard_normal((60, 16)).astype(np.float32)
    codes, scales = quantise(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    groups, rows = np.zeros(60, np.int32), np.arange(60)
    lists = NeighbourLists(16, 4)
    lists.append(rows[:59], codes[:59], scales[:59], groups[:59])
    assert lists.update(1000) == 0
    lists.take_changed()
    lists.append(rows[59:], codes[59:], scales[59:], groups[59:])
    assert lists.pending.tolist() == [59]
    assert lists.update(1) == 0
    holders = lists.rows[(lists.neighbours == 59).any(axis=1)]
    assert lists.take_changed().tolist() == [*holders.tolist(), 59]
    lists.remove(np.array([59, 1000]))
    assert lists.pending.tolist() == holders.tolist() == lists.take_changed().tolist()


def test_saved_lists_that_name_what_is_gone_or_elsewhere_are_mended() -> None:
    codes, scales = np.array([[1], [2], [3], [4]], np.int8), np.full(4, 0.1, np.float32)
    rows, groups = np.array([2, 4, 6, 8]), np.array([0, 0, 1, 0], np.int32)
    saved = np.array([[8, 5], [6, 8], [4, 2], [4, 2]])
    lists = NeighbourLists.restore(rows, codes, scales, groups, saved, np.full((4, 2), 0.5, np.float32))
    assert lists.neighbours.tolist() == [[8, -1], [8, -1], [-1, -1], [4, 2]]
    assert lists.pending.tolist() == [2, 4, 6]
    assert lists.update(10) == 0
    assert lists.neighbours.tolist() == [[8, 4], [8, 2], [-1, -1], [4, 2]]


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    codes, scales, groups = np.ones((2, 1), np.int8), np.ones(2, np.float32), np.zeros(2, np.int32)
    rows = np.array([3, 5])
    lists = NeighbourLists(1, 2)
    lists.append(rows, codes, scales, groups)
    for arguments, said in (
        ((rows, codes, scales, groups), "be there already"),
        ((rows[::-1] + 9, codes, scales, groups), "must ascend"),
        ((rows - 4, codes, scales, groups), "must ascend from 0"),
        ((rows + 9, codes[:, :0], scales, groups), "are not 2 rows"),
        ((rows + 9, codes, scales[1:], groups), "are not 2 rows"),
        ((rows + 9, codes, scales.astype(np.float64), groups), "float64"),
        ((rows + 9, codes * np.int8(-128), scales, groups), "a code is -128"),
        ((rows + 9, codes, scales * np.float32(3), groups), "a scale is not"),
        ((rows + 9, codes, scales, groups - np.int32(1)), "a group is negative"),
    ):
        with pytest.raises(ValueError, match=said):
            lists.append(*arguments)
    for moved, to in ((rows, groups[1:]), (rows, groups - np.int32(1)), (np.array([3, 3]), groups)):
        with pytest.raises(ValueError, match="rows to move"):
            lists.move(moved, to)
    with pytest.raises(ValueError, match="k is 0"):
        NeighbourLists(1, 0)
    with pytest.raises(ValueError, match="are not of 2 rows"):
        NeighbourLists.restore(rows, codes, scales, groups, np.zeros((1, 2), np.int64), np.zeros((1, 2), np.float32))
    for floor in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="the floor is"):
            mutual_edges(lists, 0, floor)
    assert (lists.rows.tolist(), lists.pending.tolist()) == ([3, 5], [3, 5])
