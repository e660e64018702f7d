"""Boundaries are logged and told again by a replay; what is made from them is kept only where it still holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mnemic.actors.communities.changes import LineageEvent, MarkBoundary, PlaceMembers, SetPrototypes
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import Retire, Unretire
from mnemic.actors.scopes.changes import MergeScopes
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.grouped import boundary_changes, group
from tests.runtime.building import KEYS, add_space, apply, codes, id_of, look

BOAT, BANK = (ScopeRef(path=path, project=None, found="named") for path in ("boat", "bank"))
MARK = MarkBoundary(reason="asked")


class Kept:
    """A store with memories of rows 1 to 6, the last two of another scope."""

    def __init__(self, path: Path) -> None:
        self.path = path
        Store.create(path, KEYS).close()
        self.store = Store.open(path, KEYS)
        self.apply(*(added(n, b"text %d" % n, place=BOAT if n < 5 else BANK) for n in range(1, 7)))

    def apply(self, *changes: Change) -> tuple[bool, ...]:
        return tuple(apply(self.store, *changes).changed)

    def look(self, what: Any) -> Any:
        return look(self.path, what)

    def group(self, topics: Mapping[int, Sequence[int]], **more: Any) -> None:
        group(self.apply, self.look, topics, **more)

    def rows(self, sql: str) -> list[Any]:
        with closing(connect(self.path, KEYS)) as db:
            return db.execute(sql).fetchall()

    def bind(self, *numbers: int) -> None:
        self.apply(add_space(), codes(*numbers))

    def prototypes(self, *topics: int, **fields: Any) -> SetPrototypes:
        """Prototypes of topics as of now, each of two hypervectors."""
        seq, generation = self.look(lambda now: (now.seq, now.generation))
        given: dict[str, Any] = {"generation": generation, "stamp": "first", "seq": seq, "communities": topics}
        given |= {"bundled": (2,) * len(topics), "prototypes": np.array(topics, "<u8").tobytes()}
        return SetPrototypes(**(given | fields))

    def place(self, rows: Sequence[int], topics: Sequence[int], generation: int = 0) -> PlaceMembers:
        generation = generation or self.look(lambda now: now.generation)
        return PlaceMembers(generation=generation, rows=numbers(rows), topics=numbers(topics))

    def stale(self) -> list[int]:
        found: list[int] = self.look(lambda now: now.stale_prototypes(100))
        return found

    def belongs(self) -> dict[int, tuple[int, bool]]:
        found = self.look(lambda now: now.members())
        return {row: (topic, by) for row, topic, _, by in zip(*(one.tolist() for one in found), strict=True)}


def numbers(values: Sequence[int]) -> bytes:
    return np.array(values, "<i8").tobytes()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    found = Kept(tmp_path / "store")
    yield found
    found.store.close()


def test_means_are_kept_beside_prototypes_and_those_of_another_length_count_as_none(kept: Kept) -> None:
    kept.bind(1, 2, 3, 4, 5, 6)
    kept.group({1: [1, 2], 2: [3, 4], 3: [5, 6]})
    means = np.array([[0.6, 0.8], [0.0, 0.0]], "<f4").tobytes()
    kept.apply(kept.prototypes(1, 2, means=means))
    found = kept.look(lambda now: now.prototypes())
    assert (found.topic.tolist(), found.means.tolist()) == ([1, 2], [[np.float32(0.6), np.float32(0.8)], [0.0, 0.0]])
    kept.apply(kept.prototypes(3, means=np.ones(3, "<f4").tobytes()))
    found = kept.look(lambda now: now.prototypes())
    assert found.means.any(axis=1).tolist() == [False, False, True]
    with pytest.raises(ValueError, match="no means of 2 communities"):
        kept.apply(kept.prototypes(1, 2, means=bytes(10)))


# --- boundaries ------------------------------------------------------------------------------------------------------


def test_a_boundary_is_marked_where_something_waits_and_takes_it_over(kept: Kept) -> None:
    assert kept.apply(MARK, MARK) == (True, False)
    kept.apply(Retire(memory=added(2).id, reason=""))
    assert kept.apply(MARK) == (True,)
    first, second = kept.look(lambda now: (now.boundary_changes(1), now.boundary_changes(2)))
    assert first.row.tolist() == [1, 2, 3, 4, 5, 6]
    assert (second.row.tolist(), second.scope.tolist()) == ([2], [0])
    assert kept.look(lambda now: now.graph_waiting())[0] == 0


def test_what_is_no_node_marks_no_boundary(tmp_path: Path) -> None:
    Store.create(tmp_path / "store", KEYS).close()
    with closing(Store.open(tmp_path / "store", KEYS)) as store:
        assert tuple(apply(store, MARK).changed) == (False,)
        apply(store, added(1, kind="tool_result"))
        assert tuple(apply(store, MARK).changed) == (False,)


def test_a_replay_tells_the_same_boundaries_and_the_same_changes_at_each(kept: Kept) -> None:
    kept.group({1: [1, 2], 2: [3, 4], 3: [5, 6]})
    kept.apply(Retire(memory=added(1).id, reason=""), MergeScopes(path="bank", into="boat"))
    kept.apply(MARK)
    kept.apply(Unretire(memory=added(1).id))
    asked = (
        "SELECT id, seq, at, reason FROM boundaries ORDER BY id",
        "SELECT * FROM boundary_changes ORDER BY boundary, memory",
        "SELECT * FROM graph_waiting",
    )
    before = [kept.rows(one) for one in asked]
    kept.store.rebuild(lambda done, total: None, meaning=True)
    assert [kept.rows(one) for one in asked] == before
    assert kept.look(lambda now: now.open_boundaries()) == 2, "communities are found again at all of them"
    assert kept.belongs() == {}


# --- communities -----------------------------------------------------------------------------------------------------


def test_communities_are_kept_with_their_members_and_what_became_of_them(kept: Kept) -> None:
    kept.group({1: [1, 2], 2: [3, 4]}, parts={3: (1, [1])}, near={1: [2], 2: [1]})
    assert kept.belongs() == {1: (1, False), 2: (1, False), 3: (2, False), 4: (2, False)}
    assert kept.stale() == [1, 2]
    kept.apply(added(7, place=BOAT))
    kept.group({1: [1, 2, 3, 4]}, ended=[2], events=[LineageEvent(kind="merged", community=1, others=(1, 2))])
    assert {topic for topic, _ in kept.belongs().values()} == {1}
    assert kept.look(lambda now: now.community(2)).died_at is not None
    assert [event.kind for event in kept.look(lambda now: now.lineage(2))] == ["born", "merged"]
    assert kept.stale() == [1]


@pytest.mark.parametrize("wrong", [{"boundary": 2}, {"generation": 99}])
def test_what_was_found_at_another_boundary_or_before_the_store_was_made_anew_is_not_kept(
    kept: Kept, wrong: dict[str, int]
) -> None:
    found = kept.look(lambda now: boundary_changes(now, {1: [1, 2]}))
    assert kept.apply(MARK, msgspec.structs.replace(found, **wrong)) == (True, False)
    assert kept.belongs() == {}
    assert kept.apply(found, found) == (True, False), "a boundary is done once"


# --- placing ---------------------------------------------------------------------------------------------------------


def test_only_what_belongs_nowhere_is_placed_and_only_in_a_living_topic_of_its_scope(kept: Kept) -> None:
    kept.group({1: [1, 2], 2: [5]})
    kept.apply(Retire(memory=added(4).id, reason=""))
    assert kept.apply(kept.place([1, 3, 4, 6, 99], [2, 1, 1, 1, 1])) == (True,)
    assert kept.belongs() == {1: (1, False), 2: (1, False), 3: (1, True), 5: (2, False)}
    assert kept.apply(kept.place([3], [1])) == (False,)
    assert kept.apply(kept.place([6], [2], generation=99)) == (False,)
    assert kept.apply(kept.place([6], [77])) == (False,)


def test_what_is_placed_where_nothing_is_any_more_or_has_moved_belongs_nowhere_again(kept: Kept) -> None:
    kept.group({1: [1, 2], 2: [5]})
    kept.apply(kept.place([3, 6], [1, 2]))
    kept.apply(MergeScopes(path="bank", into="boat"))
    assert kept.belongs() == {1: (1, False), 2: (1, False), 3: (1, True)}
    assert kept.rows("SELECT count(*) FROM members WHERE memory = 6") == [(0,)]
    kept.group({4: [1, 2]}, ended=[1])
    assert kept.rows("SELECT count(*) FROM members WHERE memory = 3") == [(0,)]


# --- prototypes ------------------------------------------------------------------------------------------------------


def test_a_prototype_waits_until_it_is_bundled_of_what_was_read_since_it_changed(kept: Kept) -> None:
    kept.bind(1, 2, 3, 4, 5, 6)
    kept.group({1: [1, 2], 2: [3, 4]})
    late = kept.prototypes(1, 2)
    kept.apply(Retire(memory=added(1).id, reason=""))
    assert kept.apply(late) == (True,)
    assert kept.stale() == [1], "a member was forgotten since the members were read"
    kept.apply(kept.prototypes(1, bundled=(0,)))
    assert kept.stale() == []
    assert kept.look(lambda now: now.prototypes()).topic.tolist() == [2], "of none there is no prototype"
    kept.apply(Unretire(memory=added(1).id), codes(1))
    assert kept.stale() == [1]


def test_prototypes_of_another_space_or_generation_or_of_what_is_no_topic_are_not_kept(kept: Kept) -> None:
    kept.bind(1, 2)
    kept.group({1: [1, 2]}, parts={2: (1, [1, 2])})
    assert kept.apply(kept.prototypes(1, stamp="other")) == (False,)
    assert kept.apply(kept.prototypes(1, generation=99)) == (False,)
    kept.apply(kept.prototypes(1, 2))
    assert kept.look(lambda now: now.prototypes()).topic.tolist() == [1]
    with pytest.raises(ValueError, match="8 bytes are not 2 prototypes of 8"):
        kept.apply(kept.prototypes(1, 2, prototypes=bytes(8)))
    kept.apply(add_space("second"))
    assert kept.look(lambda now: len(now.prototypes().topic)) == 0
    assert (kept.stale(), kept.look(lambda now: now.community(1)).bundled) == ([1], 0)


@pytest.mark.parametrize("placed", [False, True])
def test_a_member_that_moves_has_its_topic_bundled_again_and_what_is_only_placed_has_not(
    kept: Kept, placed: bool
) -> None:
    kept.bind(1, 2, 5, 6)
    kept.group({1: [1, 2], 2: [5] if placed else [5, 6]})
    kept.apply(kept.place([6], [2]), kept.prototypes(1, 2))
    assert kept.stale() == []
    kept.apply(codes(6, topic="another"))
    assert kept.stale() == []  # it did not wait to be bound, so that is nothing
    kept.apply(Retire(memory=added(6).id, reason=""))
    assert kept.stale() == ([] if placed else [2])
    kept.apply(kept.prototypes(2), MergeScopes(path="bank", into="boat"))
    assert kept.stale() == [2], "5 has moved"


def test_a_new_scope_gets_nothing_of_one_that_was_merged_away_while_its_boundary_waited(kept: Kept) -> None:
    found = kept.look(lambda now: boundary_changes(now, {1: [1, 2, 3, 4], 2: [5, 6]}))
    kept.apply(MARK)
    kept.apply(MergeScopes(path="bank", into="boat"))
    kept.apply(added(9, b"nine", place=ScopeRef(path="another", project=None, found="named")))
    kept.apply(msgspec.structs.replace(found, generation=kept.look(lambda now: now.generation)))
    scopes = {path: number for number, path in kept.look(lambda now: now.scopes()).items()}
    assert kept.look(lambda now: now.list_communities({scopes["another"]}, 10)) == ([], 0, 0)
    assert kept.look(lambda now: now.community(2).scope) not in scopes.values()


def test_a_replay_gives_scopes_the_numbers_that_they_had_and_a_new_one_another(kept: Kept) -> None:
    kept.apply(MergeScopes(path="bank", into="boat"))
    kept.apply(added(9, b"nine", place=ScopeRef(path="another", project=None, found="named")))
    before = kept.rows("SELECT id, path FROM scopes ORDER BY id")
    assert before == [(1, "boat"), (3, "another")]
    kept.store.rebuild(lambda done, total: None, meaning=False)
    assert kept.rows("SELECT id, path FROM scopes ORDER BY id") == before


def test_what_a_boundary_leaves_alone_is_placed_no_more(kept: Kept) -> None:
    kept.group({1: [1, 2, 3, 4]})
    kept.apply(added(7, b"seven", place=BOAT))
    kept.apply(kept.place([7], [1]))
    assert kept.belongs()[7] == (1, True)
    kept.apply(MARK, kept.look(lambda now: boundary_changes(now, {})))
    assert 7 not in kept.belongs()


def test_a_community_of_which_all_is_forgotten_is_listed_no_more(kept: Kept) -> None:
    kept.group({1: [1, 2, 3, 4], 2: [5, 6]})
    kept.apply(added(7, b"seven", place=BANK))
    kept.apply(kept.place([7], [2]))
    kept.apply(*(Retire(memory=id_of(number), reason="") for number in (5, 6)))
    listed, total, memories = kept.look(lambda now: now.list_communities(None, 10))
    assert ([one.id for one in listed], total, memories) == ([1], 1, 4)
    assert kept.look(lambda now: now.community_counts()) == 1
    kept.apply(Retire(memory=id_of(7), reason=""))
    assert kept.look(lambda now: now.community(2).placed) == 0
