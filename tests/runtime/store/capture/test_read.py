"""What a night reads of memories that have no labels: no more than a step may, and by the index."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply

CALL = {"kind": "tool_call", "role": "assistant", "tool": "Bash"}
RESULT = {"kind": "tool_result", "role": "tool", "tool": "Bash"}


@pytest.fixture
def store(path: Path) -> Any:
    with closing(Store.create(path, KEYS)) as made:
        yield made


def test_a_step_ends_once_so_much_text_is_read_and_has_one_memory_at_least(store: Store, path: Path) -> None:
    apply(store, *(added(number, b"%d " % number * 50) for number in range(1, 6)))
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert [len(now.unlabelled(9, most_bytes)) for most_bytes in (1, 250, 10_000)] == [1, 3, 5]
        assert len(now.unlabelled(2, 10_000)) == 2


def test_of_a_call_or_a_result_the_beginning_is_read_alone(store: Store, path: Path) -> None:
    apply(
        store,
        added(1, b"c" * 70_000, **CALL),
        added(2, b"r" * 70_000, **RESULT),
        added(3, b"t" * 70_000),
    )
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert [(len(one.text), len(one.call)) for one in now.unlabelled(9, 1 << 20)] == [
            (65_536, 0),
            (65_536, 65_536),
            (70_000, 0),
        ]


@pytest.mark.parametrize("said_at", [(1, 1, 1, 1), (1, 2, 3, 4), (4, 4, 4, 5)])
def test_a_result_is_given_with_the_call_before_it_by_time_and_then_by_order(
    store: Store, path: Path, said_at: tuple[int, ...]
) -> None:
    steps = (("first", CALL), ("one", RESULT), ("other", RESULT), ("second", CALL))
    apply(
        store,
        *(
            added(number, text.encode(), said_at=at, **fields)
            for number, ((text, fields), at) in enumerate(zip(steps, said_at, strict=True), start=1)
        ),
    )
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert [one.call for one in now.unlabelled(9, 1 << 20)] == [b"", b"first", b"", b""]


def test_the_call_before_a_result_is_found_by_session_and_time(store: Store, path: Path) -> None:
    apply(store, added(1, b"call", said_at=1, **CALL), added(2, b"result", said_at=2, **RESULT))
    asked: list[str] = []
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        now._db.exec_trace = lambda cursor, sql, bindings: asked.append(sql) or True
        assert [one.call for one in now.unlabelled(9, 1 << 20)] == [b"", b"call"]
        now._db.exec_trace = None
    chosen = [sql for sql in asked if "m.tool IS NOT NULL" in sql]
    with closing(connect(path, KEYS)) as db:
        plans = [db.execute(f"EXPLAIN QUERY PLAN {sql}", (1, 2, 2)[: sql.count("?")]).fetchall() for sql in chosen]
    assert [[step[3] for step in plan] for plan in plans] == [
        ["SEARCH m USING INDEX memories_order (session=? AND <expr>=? AND id<?)"],
        ["SEARCH m USING INDEX memories_order (session=? AND <expr><?)"],
    ]
