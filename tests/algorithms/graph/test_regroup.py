"""Labels become the numbers of communities that live on; a node alone belongs nowhere."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph.regroup import carried, moved_nodes, regroup

Ints = NDArray[np.int64]
NONE: Ints = np.empty(0, np.int64)
LABELS = st.lists(st.integers(-1, 5), max_size=24)


def rows_of(labels: list[int]) -> Ints:
    return 3 * np.arange(len(labels), dtype=np.int64) + 1


def array(values: list[int]) -> Ints:
    return np.array(values, np.int64)


@given(LABELS)
def test_equal_labels_are_one_number_and_a_node_alone_has_none(labels: list[int]) -> None:
    found = regroup(rows_of(labels), array(labels), NONE, NONE, 1)
    for place, label in enumerate(labels):
        together = [other for other, one in enumerate(labels) if one == label]
        if label < 0 or len(together) == 1:
            assert found.numbers[place] == 0
        else:
            assert found.numbers[place] > 0
            assert set(np.flatnonzero(found.numbers == found.numbers[place]).tolist()) == set(together)
    assert found.next_number == 1 + len(set(found.numbers.tolist()) - {0})
    assert {one.kind for one in found.events} <= {"born"}


@given(LABELS, st.permutations(range(6)))
def test_other_labels_for_the_same_communities_change_no_number(labels: list[int], names: list[int]) -> None:
    rows, first = rows_of(labels), regroup(rows_of(labels), array(labels), NONE, NONE, 1)
    renamed = array([label if label < 0 else names[label] for label in labels])
    again = regroup(rows, renamed, rows, first.numbers, first.next_number)
    assert again.numbers.tolist() == first.numbers.tolist()
    assert (again.events, again.ended.tolist(), again.next_number) == ((), [], first.next_number)


@given(LABELS, LABELS)
def test_what_is_no_more_is_named_and_no_number_is_given_twice(before: list[int], after: list[int]) -> None:
    first = regroup(rows_of(before), array(before), NONE, NONE, 1)
    then = regroup(rows_of(after), array(after), rows_of(before), first.numbers, first.next_number)
    had, has = set(first.numbers.tolist()) - {0}, set(then.numbers.tolist()) - {0}
    assert set(then.ended.tolist()) == had - has
    assert all(number >= first.next_number for number in has - had)


def test_a_community_whose_members_are_all_gone_has_ended() -> None:
    first = regroup(array([1, 2]), array([0, 0]), NONE, NONE, 1)
    then = regroup(array([5, 6]), array([0, 0]), array([1, 2]), first.numbers, first.next_number)
    assert (then.numbers.tolist(), then.ended.tolist()) == ([2, 2], [1])
    assert [(one.kind, one.id) for one in then.events] == [("died", 1), ("born", 2)]


def test_nodes_that_came_went_or_changed_have_moved() -> None:
    moved = moved_nodes(array([1, 2, 4]), array([7, 8, 9]), array([1, 2, 3]), array([7, 7, 7]))
    assert moved.tolist() == [2, 3, 4]
    assert moved_nodes(NONE, NONE, NONE, NONE).tolist() == []


def test_values_are_carried_to_the_rows_that_have_one() -> None:
    assert carried(array([2, 5]), array([20, 50]), array([5, 6, 2, 1])).tolist() == [50, 0, 20, 0]
    assert carried(NONE, NONE, array([1])).tolist() == [0]
