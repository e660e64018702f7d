"""Pages of what is there hold each entry once; the start of a text is a prefix of it; weeks are counted right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.times import FixedZone
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.messages import CountUse, DeliveriesListed, ListDeliveries, ListMemories, UseCounted
from mnemic.runtime.store.reader import StoreSnapshot, open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, delivery, id_of

DAY_US = 24 * 3600 * 1_000_000
MONDAY_US = 4 * DAY_US
"""The first Monday of world time."""


@contextmanager
def snapshot(store: Store) -> Iterator[StoreSnapshot]:
    with closing(open_reader(store._path, KEYS)) as reader, reader.snapshot() as now:
        yield now


@settings(max_examples=15)
@given(
    times=st.lists(st.none() | st.integers(0, 3), max_size=9),
    limit=st.integers(1, 4),
    late=st.lists(st.integers(4, 9), max_size=4),
    by=st.sampled_from(["captured", "said"]),
)
def test_pages_hold_each_memory_once_whatever_comes_in_meanwhile(
    tmp_path_factory: pytest.TempPathFactory,
    times: list[int | None],
    limit: int,
    late: list[int],
    by: Literal["captured", "said"],
) -> None:
    path = tmp_path_factory.mktemp("law") / "store.db"
    with closing(Store.create(path, KEYS)) as store:
        for number, said_at in enumerate(times):
            apply(store, added(number + 1, b"%d" % number, said_at=said_at), at=number // 2)
        said = [(number // 2 if at is None or by == "captured" else at, number) for number, at in enumerate(times)]
        expected = sorted(said, reverse=True)
        found: list[int] = []
        after: str | None = None
        more, number = True, len(times)
        while more:
            with snapshot(store) as now:
                page = now.list_memories(ListMemories(limit=limit, after=after, by=by), None, None)
            found += [int(one.data) for one in page.memories]
            more = page.more
            assert len(page.memories) == limit or not more
            after = page.memories[-1].cursor if page.memories else None
            if late and more:
                apply(store, added(number + 1, b"%d" % number, said_at=late.pop()), at=99)
                number += 1
        assert found == [number for _, number in expected]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [3, 2, 1]),
        ({"since": 20}, [3, 2]),
        ({"until": 20}, [1]),
        ({"by": "said"}, [2, 1, 3]),
        ({"by": "said", "since": 5}, [1, 3]),
        ({"by": "said", "until": 90}, [1, 3]),
        ({"by": "said", "since": 6, "until": 90}, [1]),
    ],
)
def test_times_are_those_of_the_order_and_what_nobody_dated_was_said_at_none_of_them(
    store: Store, asked: dict[str, Any], found: list[int]
) -> None:
    for number, said_at in ((1, 15), (2, None), (3, 5)):
        apply(store, added(number, said_at=said_at), at=10 * number)
    with snapshot(store) as now:
        page = now.list_memories(ListMemories(**asked), None, None)
    assert [int.from_bytes(one.id, "big") for one in page.memories] == found
    assert {one.recorded_at: one.said_at for one in page.memories} == {10 * n: (0, 15, None, 5)[n] for n in found}
    order = {"captured": [one.recorded_at for one in page.memories]}
    order["said"] = [one.recorded_at if one.said_at is None else one.said_at for one in page.memories]
    assert [one.at for one in page.memories] == order[asked.get("by", "captured")]


def test_a_cursor_of_another_order_is_refused(store: Store) -> None:
    apply(store, added(1, said_at=5), at=10)
    with snapshot(store) as now:
        (one,) = now.list_memories(ListMemories(), None, None).memories
        with pytest.raises(InvalidValue, match="another order"):
            now.list_memories(ListMemories(after=one.cursor, by="said"), None, None)
        with pytest.raises(InvalidValue, match="another order"):
            now.list_deliveries(ListDeliveries(after=one.cursor))


def list_deliveries(store: Store, **asked: Any) -> DeliveriesListed:
    with snapshot(store) as now:
        return now.list_deliveries(ListDeliveries(**asked))


def test_what_was_given_of_a_long_text_is_cut_out_of_it_again(store: Store) -> None:
    packed, unpacked = b"a heron waits in the reeds; " * 400, bytes(range(32, 127)) * 3
    apply(store, added(1, packed), added(2, unpacked))
    parts = (
        DeliveredSpan(id_of(1), 5_000, 5_900, "far in"),
        DeliveredSpan(id_of(2), 7, 19, "near"),
        DeliveredSpan(id_of(2), 0, 0, "nothing"),
    )
    apply(store, delivery(assistant="codex", parts=parts))
    (given,) = list_deliveries(store).deliveries
    assert [part.data for part in given.parts] == [packed[5_000:5_900], unpacked[7:19], b""]
    assert [part.size_bytes for part in given.parts] == [len(packed), len(unpacked), len(unpacked)]


def test_a_page_of_what_was_given_ends_where_it_gets_long(store: Store) -> None:
    apply(store, added(1, b"x" * (3 << 20)))
    whole = (DeliveredSpan(id_of(1), 0, 3 << 20, "near"),)
    for number in range(4):
        apply(store, delivery(assistant="c", session=f"{number}", parts=whole), at=number)
    page = list_deliveries(store)
    assert [one.session for one in page.deliveries] == ["3", "2"]
    assert page.more
    rest = list_deliveries(store, after=page.deliveries[-1].cursor)
    assert [one.session for one in rest.deliveries] == ["1", "0"]
    assert not rest.more


def test_what_was_told_is_listed_at_the_time_it_was_told(store: Store) -> None:
    for at, given_at in ((10, None), (20, 5)):
        apply(store, delivery(assistant="c", at=given_at), at=at)
    assert [one.at for one in list_deliveries(store).deliveries] == [10, 5]


@settings(max_examples=30)
@given(
    kept=st.lists(st.integers(-60, 60), max_size=8),
    told=st.lists(st.tuples(st.integers(-60, 60), st.integers(0, 9), st.sampled_from(["", "codex"])), max_size=8),
    weeks=st.integers(1, 6),
    now=st.integers(0, 60),
)
def test_each_memory_and_each_delivery_is_counted_in_its_week(
    tmp_path_factory: pytest.TempPathFactory,
    kept: list[int],
    told: list[tuple[int, int, str]],
    weeks: int,
    now: int,
) -> None:
    path = tmp_path_factory.mktemp("law") / "store.db"
    with closing(Store.create(path, KEYS)) as store:
        for number, day in enumerate(kept):
            apply(store, added(number + 1, b"four", said_at=day * DAY_US))
        for day, tokens, assistant in told:
            given_then = delivery(scope="work/shelf", assistant=assistant, tokens=tokens)
            apply(store, given_then, at=day * DAY_US)
        with snapshot(store) as state:
            counted = state.count_usage(CountUse(weeks=weeks), now * DAY_US)
    assert isinstance(counted, UseCounted)
    assert len(counted.weeks) == weeks
    assert counted.weeks[0] <= now * DAY_US < counted.weeks[0] + 7 * DAY_US
    memories = Counter(_monday(day) for day in kept)
    tokens_given: Counter[int] = Counter()
    times: Counter[int] = Counter()
    for day, tokens, assistant in told:
        if assistant:
            tokens_given[_monday(day)] += tokens
            times[_monday(day)] += 1
    for week, use in zip(counted.weeks, counted.all, strict=True):
        assert (use.memories, use.text_bytes) == (memories[week], 4 * memories[week])
        assert (use.given, use.tokens) == (times[week], tokens_given[week])
    assert sum(project.total.memories for project in counted.projects) == len(kept)
    assert sum(project.total.tokens for project in counted.projects) == tokens_given.total()
    for project in counted.projects:
        assert project.weeks == counted.all, "there is one project"


def _monday(day: int) -> int:
    return MONDAY_US + (day * DAY_US - MONDAY_US) // (7 * DAY_US) * 7 * DAY_US


def test_a_week_begins_at_local_midnight_for_who_said_it(tmp_path: Path) -> None:
    sunday_evening = MONDAY_US + 7 * DAY_US + 3 * 3_600_000_000  # in California it is seven
    with closing(Store.create(tmp_path / "store.db", KEYS)) as store:
        apply(store, added(1, b"a", said_at=sunday_evening, utc_offset_min=-480), at=sunday_evening)
        apply(store, added(2, b"b", said_at=sunday_evening, utc_offset_min=60), at=sunday_evening)
        apply(store, added(3, b"of before", said_at=sunday_evening), at=sunday_evening)
        with closing(open_reader(store._path, KEYS, FixedZone(-480))) as reader, reader.snapshot() as now:
            counted = now.count_usage(CountUse(weeks=2), sunday_evening + DAY_US)
            assert now.memory_columns(0).utc_offset_min.tolist() == [-480, 60, -480]
    assert [week.memories for week in counted.all] == [1, 2]
    assert counted.weeks == (MONDAY_US + 7 * DAY_US, MONDAY_US)
