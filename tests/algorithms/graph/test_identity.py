"""Communities keep their ids as the best matching has it, in any order; a planted life is told as it was lived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph.identity import LEAST_PART, LEAST_SCORE, Event, Matched, match
from tests.algorithms.graph.planted_life import KINDS, Planted, planted_life

Members = NDArray[np.int64]


def rows(*members: int) -> Members:
    return np.array(members, np.int64)


def groups(labels: Mapping[int, int]) -> dict[int, Members]:
    found: dict[int, list[int]] = {}
    for row, label in sorted(labels.items()):
        found.setdefault(label, []).append(row)
    return {label: rows(*members) for label, members in found.items()}


small_labels = st.dictionaries(st.integers(0, 11), st.integers(0, 4), max_size=12)
lives = st.tuples(small_labels.map(groups), small_labels.map(lambda one: list(groups(one).values())))
row_weights = st.one_of(
    st.none(), st.lists(st.sampled_from([0.1, 0.3, 1.0, 2.5]), min_size=12, max_size=12).map(np.array)
)


def weigh(members: set[int], weights: NDArray[Any] | None) -> float:
    return float(len(members) if weights is None else sum(weights[row] for row in sorted(members)))


def jaccard(before: Members, after: Members, gone: set[int], come: set[int], weights: NDArray[Any] | None) -> float:
    """By sets, of the rows that both boundaries hold; 0 where they are no candidates."""
    one, other = set(before.tolist()), set(after.tolist())
    shared = weigh(one & other, weights)
    if not shared or shared < LEAST_PART * min(weigh(one, weights), weigh(other, weights)) - 1e-9:
        return 0.0
    return shared / weigh((one - gone) | (other - come), weights)


def scores_of(before: Mapping[int, Members], after: Sequence[Members], weights: Any) -> dict[tuple[int, int], float]:
    were = {row for one in before.values() for row in one.tolist()}
    are = {row for one in after for row in one.tolist()}
    return {
        (known, at): score
        for known, members in before.items()
        for at, one in enumerate(after)
        if (score := jaccard(members, one, were - are, are - were, weights)) >= LEAST_SCORE - 1e-9
    }


def best_total(scores: Mapping[tuple[int, int], float]) -> float:
    """Of every matching there is."""
    known, ends = sorted({one for one, _ in scores}), sorted({at for _, at in scores})
    if len(known) > len(ends):
        return best_total({(at, one): score for (one, at), score in scores.items()})
    return max(
        (
            sum(scores.get(pair, 0.0) for pair in zip(known, chosen, strict=True))
            for chosen in permutations(ends, len(known))
        ),
        default=0.0,
    )


def by_members(matched: Matched, after: Sequence[Members]) -> dict[tuple[int, ...], int]:
    return {tuple(sorted(one.tolist())): known for one, known in zip(after, matched.ids.tolist(), strict=True)}


@given(lives, row_weights)
def test_the_sum_of_the_scores_is_that_of_the_best_matching(
    life: tuple[dict[int, Members], list[Members]], weights: NDArray[Any] | None
) -> None:
    before, after = life
    matched = match(before, after, weights)
    scores = scores_of(before, after, weights)
    assert len(set(matched.ids.tolist())) == len(after)
    for at, (known, score) in enumerate(zip(matched.ids.tolist(), matched.scores.tolist(), strict=True)):
        assert score == pytest.approx(scores[known, at] if known in before else 0.0)
    assert matched.scores.sum() == pytest.approx(best_total(scores), abs=1e-8)


@given(lives, row_weights, st.randoms(use_true_random=False))
def test_neither_the_order_of_communities_nor_of_members_nor_of_ids_changes_an_id(
    life: tuple[dict[int, Members], list[Members]], weights: NDArray[Any] | None, random: Any
) -> None:
    before, after = life
    shuffled = [np.array(random.sample(one.tolist(), len(one)), np.int64) for one in random.sample(after, len(after))]
    known = dict(random.sample(sorted(before.items(), key=lambda item: item[0]), len(before)))
    plain, other = match(before, after, weights), match(known, shuffled, weights)
    assert by_members(plain, after) == by_members(other, shuffled)
    assert plain.events == other.events
    assert plain.next_id == other.next_id


@given(lives, st.integers(0, 9))
def test_new_ids_are_the_next_numbers_by_smallest_member(
    life: tuple[dict[int, Members], list[Members]], next_id: int
) -> None:
    before, after = life
    matched = match(before, after, next_id=next_id)
    start = max([next_id, *(known + 1 for known in before)])
    fresh = sorted(int(one.min()) for one, known in zip(after, matched.ids, strict=True) if known not in before)
    given_ids = {int(one.min()): known for one, known in zip(after, matched.ids.tolist(), strict=True)}
    assert [given_ids[first] for first in fresh] == list(range(start, start + len(fresh)))
    assert matched.next_id == start + len(fresh)


@given(lives, row_weights)
def test_every_id_of_either_side_is_told_of_and_events_say_what_is_there(
    life: tuple[dict[int, Members], list[Members]], weights: NDArray[Any] | None
) -> None:
    before, after = life
    matched = match(before, after, weights)
    now = dict(zip(matched.ids.tolist(), after, strict=True))
    told = Counter(event.id for event in matched.events if event.kind in {"born", "died", "continued"})
    assert set(told.values()) <= {1}
    assert {one for event in matched.events for one in (event.id, *event.others)} == before.keys() | now.keys()
    for event in matched.events:
        assert list(event.others) == sorted(event.others)
        assert bool(event.others) == (event.kind in {"split", "merged"})
        side = {"split": now, "merged": before}.get(event.kind, {})
        assert all(one in side for one in event.others)


@given(small_labels.map(groups))
def test_what_did_not_change_keeps_its_id_and_whole_self(before: dict[int, Members]) -> None:
    matched = match(before, list(before.values()), next_id=40)
    assert matched.ids.tolist() == list(before)
    assert matched.scores.tolist() == [1.0] * len(before)
    assert {event.kind for event in matched.events} <= {"continued"}
    assert matched.next_id == 40


def test_nothing_before_and_nothing_after() -> None:
    nothing = match({}, [])
    assert (nothing.ids.tolist(), nothing.scores.tolist(), nothing.next_id, nothing.events) == ([], [], 0, ())
    first = match({}, [rows(4, 5), rows(0)])
    assert first.ids.tolist() == [1, 0]
    assert [(event.kind, event.id) for event in first.events] == [("born", 0), ("born", 1)]
    last = match({3: rows(4, 5), 7: rows()}, [])
    assert [(event.kind, event.id) for event in last.events] == [("died", 3), ("died", 7)]
    assert last.next_id == 8


def test_equal_halves_the_smallest_member_keeps_the_id_and_of_equal_origins_the_lower_id_stays() -> None:
    halves = match({5: rows(0, 1, 2, 3)}, [rows(2, 3), rows(0, 1)])
    assert halves.ids.tolist() == [6, 5]
    (split,) = halves.events
    assert split == Event("split", 5, (6,))
    one = match({5: rows(2, 3), 9: rows(0, 1)}, [rows(0, 1, 2, 3)])
    assert one.ids.tolist() == [5]
    assert one.events == (Event("merged", 5, (9,)),)


def test_growth_by_new_rows_and_loss_by_erasure_leave_the_id() -> None:
    matched = match({2: rows(0, 1, 2), 4: rows(*range(3, 60))}, [rows(*range(3), *range(60, 200)), rows(3)])
    assert matched.ids.tolist() == [2, 4]
    assert [event.kind for event in matched.events] == ["continued", "continued"]
    assert matched.scores.tolist() == [1.0, 1.0]


def test_a_few_that_join_a_half_of_a_large_one_do_not_give_it_their_id() -> None:
    large, few = range(100), range(100, 104)
    matched = match({0: rows(*large), 1: rows(*few)}, [rows(*large[:52]), rows(*large[52:], *few)])
    assert matched.ids.tolist() == [0, 2]
    kinds = [(event.kind, event.id, event.others) for event in matched.events]
    assert kinds == [("split", 0, (2,)), ("merged", 2, (1,))]


def test_the_last_member_of_what_was_erased_gives_its_id_to_no_new_community() -> None:
    matched = match({0: rows(*range(20))}, [rows(0, *range(20, 40))])
    assert matched.ids.tolist() == [1]
    assert [(event.kind, event.id) for event in matched.events] == [("died", 0), ("born", 1)]


def test_a_matching_of_the_whole_takes_a_lower_score_where_both_keep_an_id_by_it() -> None:
    """Ids 0 and 1 both overlap the first most; 0 has another choice, 1 has none."""
    before = {0: rows(*range(20)), 1: rows(*range(20, 29))}
    after = [rows(*range(11), *range(20, 29)), rows(*range(11, 20))]
    assert match(before, after).ids.tolist() == [1, 0]


def test_weights_decide_what_most_of_a_community_is() -> None:
    weights = np.ones(6)
    weights[0] = 100.0
    before = {0: rows(0, 1, 2, 3, 4, 5)}
    assert match(before, [rows(1, 2, 3, 4, 5), rows(0)]).ids.tolist() == [0, 1]
    assert match(before, [rows(1, 2, 3, 4, 5), rows(0)], weights).ids.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("before", "after", "weights", "why"),
    [
        ({0: rows(1), 1: rows(1)}, [], None, "row 1 is twice in the communities before"),
        ({}, [rows(1, 1)], None, "row 1 is twice in the communities after"),
        ({}, [rows()], None, "has no members"),
        ({-1: rows(1)}, [], None, "an id is -1"),
        ({}, [rows(-2)], None, "a row is -2"),
        ({0: np.array([0.5])}, [], None, "row numbers; these are float64"),
        ({0: rows(3)}, [], np.ones(3), "row 3 has no weight; there are 3"),
        ({}, [rows(1)], np.array([1.0, 0.0]), "row 1 weighs 0.0"),
        ({}, [rows(1)], np.array([1.0, np.nan]), "row 1 weighs nan"),
        ({}, [rows(0)], np.array([np.inf]), "row 0 weighs inf"),
    ],
)
def test_what_is_no_partition_is_refused(before: Any, after: Any, weights: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        match(before, after, weights)


def told_events(events: Sequence[Event], name_of: Mapping[int, int], name_now: Mapping[int, int]) -> set[Planted]:
    """What was told, in the names of the plan; each id, where it is there, stands on its side."""
    found = set()
    for event in events:
        before = {event.id, *(event.others if event.kind == "merged" else ())} & name_of.keys()
        after = {event.id, *(event.others if event.kind == "split" else ())} & name_now.keys()
        if event.kind == "split":
            before = {event.id}
        if event.kind == "merged":
            after = {event.id}
        found.add(
            Planted(event.kind, frozenset(name_of[one] for one in before), frozenset(name_now[one] for one in after))
        )
    return found


def test_tracking_a_planted_life_tells_each_kind_of_event_with_an_f1_of_95_percent() -> None:
    planted_count: Counter[str] = Counter()
    told_count: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for seed in range(2):
        known: dict[int, Members] = {}
        name_of: dict[int, int] = {}
        next_id = 0
        for communities, planted in planted_life(seed, snapshots=30):
            matched = match(known, list(communities.values()), next_id=next_id)
            name_now = dict(zip(matched.ids.tolist(), communities, strict=True))
            told = told_events(matched.events, name_of, name_now)
            planted_count.update(event.kind for event in planted)
            told_count.update(event.kind for event in told)
            right.update(event.kind for event in told & set(planted))
            known = {one: communities[name] for one, name in name_now.items()}
            name_of, next_id = name_now, matched.next_id
    f1 = {kind: 2 * right[kind] / (planted_count[kind] + told_count[kind]) for kind in KINDS}
    assert min(planted_count[kind] for kind in KINDS) >= 100
    assert {kind: score for kind, score in f1.items() if score < 0.95} == {}
