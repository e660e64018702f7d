"""What is told of communities: nothing of what is forgotten, erased or in another scope by now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.actors.communities.changes import LineageEvent
from mnemic.actors.communities.queries import LineageRow
from mnemic.actors.log.changes import Retire, Supersede
from mnemic.actors.scopes.changes import MergeScopes
from tests.built import added
from tests.runtime.building import ENCODER, add_encoder, codes, delivery, id_of, vectors
from tests.runtime.store.communities.test_write import BANK, BOAT, MARK, Kept


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Topics 1 of 1 and 2, 2 of 3 and 4, and in another scope 3 of 5 and 6; all are bound."""
    found = Kept(tmp_path / "store")
    found.bind(*range(1, 7))
    found.group({1: [1, 2], 2: [3, 4], 3: [5, 6]}, parts={4: (1, [1]), 5: (1, [2])}, near={1: [2, 3], 3: [4, 1]})
    found.apply(found.prototypes(1, 2, 3))
    yield found
    found.store.close()


def scopes(kept: Kept) -> dict[str, int]:
    found: dict[int, str] = kept.look(lambda now: now.scopes())
    return {path: number for number, path in found.items()}


def test_boundaries_are_told_in_order_with_what_changed_at_each(kept: Kept) -> None:
    kept.apply(Supersede(old=id_of(1), new=id_of(2)), Retire(memory=id_of(3), reason=""))
    kept.apply(MARK)
    first, second = kept.look(lambda now: now.boundaries(0))
    assert (first.number, first.done, first.reason, second.number, second.done) == (1, True, "asked", 2, False)
    assert first.seq < second.seq
    assert kept.look(lambda now: now.boundaries(1)) == [second]
    assert kept.look(lambda now: now.last_done_boundary()) == first
    assert kept.look(lambda now: now.open_boundaries()) == 1
    changed = kept.look(lambda now: now.boundary_changes(2))
    assert (changed.row.tolist(), changed.successor.tolist()) == ([1, 3], [2, 0])
    assert kept.look(lambda now: now.nodes_at(1)).row.tolist() == [1, 2, 3, 4, 5, 6]
    assert kept.look(lambda now: now.nodes_at(2)).row.tolist() == [1, 2, 4, 5, 6]
    assert kept.look(lambda now: now.graph_waiting()) == (0, 6)


def test_what_edges_are_made_of_is_told(kept: Kept) -> None:
    kept.apply(add_encoder(), vectors(1, 2, windows=2), delivery(2, 1, query="?"))
    source = kept.look(lambda now: now.node_sources(np.array([2, 1])))
    assert len(source.session) == len(source.said_at) == len(source.targets) == 2
    rows, means = kept.look(lambda now: now.mean_vectors(ENCODER, np.array([1, 2, 3])))
    assert rows.tolist() == [1, 2]
    assert np.allclose(np.linalg.norm(means, axis=1), 1)
    near = kept.look(lambda now: now.saved_neighbours())
    assert (near.row.tolist(), near.near.tolist()) == ([1, 3], [[2, 3], [4, 1]])
    assert kept.look(lambda now: now.neighbours_of([3, 9])).near.tolist() == [[4, 1]]


def test_topics_are_listed_by_scope_and_shown_with_their_parts_and_past(kept: Kept) -> None:
    boat, bank = (scopes(kept)[path] for path in ("boat", "bank"))
    listed, total, memories = kept.look(lambda now: now.list_communities(None, 2))
    assert (len(listed), total, memories) == (2, 3, 6)
    assert [one.id for one in kept.look(lambda now: now.list_communities({bank}, 9))[0]] == [3]
    assert kept.look(lambda now: now.list_communities(set(), 9)) == ([], 0, 0)
    assert kept.look(lambda now: now.community_counts()) == 3
    shown = kept.look(lambda now: now.community(1))
    assert (shown.level, shown.scope, shown.path, shown.size, shown.bundled) == (0, boat, "boat", 2, 2)
    assert kept.look(lambda now: now.community(9)) is None
    assert [one.id for one in kept.look(lambda now: now.community_parts(1))] == [4, 5]
    assert kept.look(lambda now: now.lineage(1)) == [LineageRow(at=shown.born_at, kind="born", community=1, others=())]
    kept.apply(added(7, place=BOAT))
    kept.group({2: [1, 2, 3, 4]}, ended=[1, 4, 5], events=[LineageEvent(kind="merged", community=2, others=(1, 2))])
    assert [event.others for event in kept.look(lambda now: now.lineage(1))] == [(), (1, 2)]
    assert kept.look(lambda now: now.community_parts(1)) == []


def test_members_are_those_that_are_neither_forgotten_nor_in_another_scope_now(kept: Kept) -> None:
    assert kept.look(lambda now: now.members_of(1, 9)) == [1, 2]
    assert kept.look(lambda now: now.members_of(5, 9)) == [2]
    assert kept.look(lambda now: now.members_of(1, 1)) == [1]
    assert kept.look(lambda now: now.topics_of([1, 5, 99])) == {1: 1, 5: 3}
    assert kept.look(lambda now: now.member_codes(1, 9)).row.tolist() == [1, 2]
    assert kept.look(lambda now: now.member_codes(1, 1)).row.tolist() == [1]
    held = {("who", "w1", 1), ("who", "w2", 1), ("topic", "shelf", 2)}
    assert set(kept.look(lambda now: now.common_fillers(1, 9))) == held
    kept.apply(Retire(memory=id_of(1), reason=""), MergeScopes(path="bank", into="boat"))
    assert set(kept.belongs()) == {2, 3, 4}
    for topic, left in ((1, [2]), (3, [])):
        assert kept.look(lambda now, topic=topic: now.members_of(topic, 9)) == left
        assert kept.look(lambda now, topic=topic: now.member_codes(topic, 9)).row.tolist() == left
        assert len(kept.look(lambda now, topic=topic: now.common_fillers(topic, 9))) == 2 * len(left)
    assert kept.look(lambda now: now.topics_of([1, 2, 5, 6])) == {2: 1}


def test_what_is_bound_and_belongs_nowhere_is_unplaced_where_its_scope_has_prototypes(kept: Kept) -> None:
    kept.apply(*(added(n, b"text %d" % n, place=place) for n, place in ((7, BOAT), (8, BANK), (9, BOAT))))
    kept.apply(added(10, b"a result", place=BOAT, kind="tool_result"), codes(7, 8, 10))
    assert kept.look(lambda now: now.unplaced(0, 9)).row.tolist() == [7, 8], "9 is not bound, 10 no node"
    assert kept.look(lambda now: now.unplaced(0, 1)).row.tolist() == [7]
    assert kept.look(lambda now: now.unplaced(7, 9)).row.tolist() == [8]
    assert kept.look(lambda now: now.unplaced_count(0)) == 2
    kept.apply(kept.prototypes(3, bundled=(0,)))
    assert kept.look(lambda now: now.unplaced(0, 9)).row.tolist() == [7], "of its scope there is no prototype"
    kept.apply(Retire(memory=id_of(7), reason=""))
    assert kept.look(lambda now: now.unplaced_count(0)) == 0


def test_prototypes_are_told_with_their_scope(kept: Kept) -> None:
    boat, bank = (scopes(kept)[path] for path in ("boat", "bank"))
    block = kept.look(lambda now: now.prototypes())
    assert (block.topic.tolist(), block.scope.tolist()) == ([1, 2, 3], [boat, boat, bank])
    assert block.codes.tolist() == [[1], [2], [3]]
    assert kept.look(lambda now: now.prototype(3)).tolist() == [3]
    assert kept.look(lambda now: now.prototype(4)) is None, "a part has none"
    assert kept.look(lambda now: (now.stale_prototypes(9), now.stale_prototype_count())) == ([], 0)
