"""Of several hits about one thing the newest is marked, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.index.newest import mark_newest
from mnemic.actors.recall.messages import FactRef, Hit
from tests import built
from tests.harness import START_US, ActorHarness


def hit(name: str, said_at: int | None = None, **fields: Any) -> Hit:
    return built.hit(id=name.encode(), said_at=said_at, **fields)


def fact(name: str) -> FactRef:
    return FactRef(memory=name.encode(), start_byte=0, value=b"x", at=1, probability=1.0, why="", id="1-2")


def marked(*hits: Hit) -> str:
    return "".join(one.id.decode() for one in mark_newest(hits) if one.newest)


@pytest.mark.parametrize(
    ("hits", "newest"),
    [
        ([hit("a", 1), hit("b", 2)], ""),  # about two things
        ([hit("a", 9, superseded_by=b"b"), hit("b", 2)], "b"),  # whatever was said when
        ([hit("a", 1, superseded_by=b"z"), hit("b", 2)], ""),  # which is no hit
        ([hit("c"), hit("a", superseded_by=b"c"), hit("b", superseded_by=b"c")], "c"),
        ([hit("a", 1, replaced=(fact("b"),)), hit("b", 2)], "b"),
        ([hit("a", 1, replaced=(fact("b"), fact("z"))), hit("b", 2, replaced=(fact("c"),)), hit("c", 3)], "c"),
        ([hit("a", 1, contradicts=(fact("b"),)), hit("b", 2, contradicts=(fact("a"),))], "b"),
        ([hit("a", 2, contradicts=(fact("b"),)), hit("b", 1)], "a"),
        ([hit("a", 2, contradicts=(fact("b"),)), hit("b", 2)], ""),  # at one moment
        ([hit("a", 2, contradicts=(fact("b"),)), hit("b")], ""),  # nobody knows when
        ([hit("a", 1, superseded_by=b"b"), hit("b", 3), hit("c", 2, contradicts=(fact("b"),))], "b"),
        ([hit("a", superseded_by=b"b"), hit("b"), hit("c", superseded_by=b"d"), hit("d"), hit("e")], "bd"),
        ([hit("a", replaced=(fact("b"),)), hit("b", replaced=(fact("a"),))], ""),  # each in something
        ([], ""),
    ],
)
def test_the_newest_is_the_one_that_none_of_them_replaces_or_that_was_said_last(hits: list[Hit], newest: str) -> None:
    assert marked(*hits) == newest
    assert marked(*reversed(hits)) == newest[::-1] or len(newest) < 2


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 5), st.none() | st.integers(0, 9)), max_size=6))
def test_hits_keep_their_order_and_nothing_that_another_replaces_is_the_newest(rows: list[Any]) -> None:
    hits = [
        hit(str(number), said_at, superseded_by=None if other is None else str(other).encode())
        for number, (_, other, said_at) in enumerate(rows)
    ]
    found = mark_newest(hits)
    assert [one.id for one in found] == [one.id for one in hits]
    ids = {one.id for one in hits}
    assert all(one.superseded_by not in ids for one in found if one.newest)


def test_what_corrects_a_hit_is_marked_in_a_recall(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as mind:
        old = mind.keep("the pier is 40 m", said_at=START_US)
        mind.keep("the pier is 38 m", supersedes=old.id, said_at=START_US + 1)
        mind.keep("the pier was painted", said_at=START_US + 2)
        hits = mind.recall("how long is the pier").hits
        assert [hit.text for hit in hits if hit.newest] == ["the pier is 38 m"]
        assert len(hits) == 3
