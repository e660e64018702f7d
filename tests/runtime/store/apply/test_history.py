"""What was given is kept in the log and in its tables; what is taken back is the last of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.protocol.changes import DeliveredSpan, RecordBriefing, RecordRecall
from mnemic.actors.protocol.errors import NoSuchMemory
from mnemic.runtime.store.store import Store
from tests.runtime.building import KEYS, apply, held, id_of, memory

TOLD = b"the shelf holds nine books"  # as the memory says


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.create(tmp_path / "store.db", KEYS)) as made:
        apply(made, memory(1), memory(2, b"it has two doors"))
        yield made


def recall(query: str, **fields: Any) -> RecordRecall:
    return RecordRecall(**({"query": query, "scope": "*", "returned": (id_of(1),)} | fields))


def told(session: str, **fields: Any) -> RecordBriefing:
    defaults = {"assistant": "codex", "occasion": "prompt", "memories": (id_of(1),), "tokens": 9, "text": TOLD}
    return RecordBriefing(session=session, **(defaults | fields))


def given(store: Store) -> list[tuple[str, str]]:
    found: list[Any] = store._db.execute("SELECT occasion, session || query FROM givings ORDER BY id").fetchall()
    return [(occasion, which) for occasion, which in found]


def test_what_was_told_is_kept_once_as_a_text_and_not_in_the_log(store: Store) -> None:
    apply(store, told("a"), told("b", text=b"other words"))
    bodies = [body for (body,) in store._db.execute("SELECT body FROM texts ORDER BY id").fetchall()]
    assert bodies == [TOLD, b"it has two doors", b"other words"]
    assert not store._db.execute(
        "SELECT count(*) FROM log WHERE instr(change, ?) OR instr(change, ?)", (TOLD, b"other words")
    ).get


def test_rebuilt_it_says_the_same(store: Store) -> None:
    parts = (
        DeliveredSpan(id_of(2), 3, 6, "it holds the words"),
        DeliveredSpan(id_of(1), 0, 3, "near"),
        DeliveredSpan(id_of(2), 7, 9, "twice"),
    )
    apply(store, recall("one", parts=parts, returned=(id_of(2), id_of(1)), tokens=3, assistant="codex", session="m"))
    apply(store, told("a", why=("a decision",), memories=(id_of(2), id_of(1)), scope="shelf", at=5))
    before = held(store._path)
    assert before["given_parts"] == [
        (1, 0, 2, 3, 6, "it holds the words"),
        (1, 1, 1, 0, 3, "near"),
        (1, 2, 2, 7, 9, "twice"),
        (2, 0, 2, None, None, "a decision"),
        (2, 1, 1, None, None, ""),
    ]
    store.rebuild(lambda done, total: None, meaning=True)
    after = held(store._path)
    assert {name: after[name] for name in ("givings", "given_parts", "texts")} == {
        name: before[name] for name in ("givings", "given_parts", "texts")
    }


def test_a_fork_knows_of_nothing_that_was_given_later(store: Store, tmp_path: Path) -> None:
    seq = apply(store, recall("one"), told("a")).seq
    before = held(store._path)
    apply(store, told("b", text=b"later words"), recall("two"), memory(3))
    store.fork(tmp_path / "fork.db", seq)
    forked = held(tmp_path / "fork.db")
    assert {name: forked[name] for name in ("givings", "given_parts", "texts")} == {
        name: before[name] for name in ("givings", "given_parts", "texts")
    }


@pytest.mark.parametrize(
    "change", [recall("q", returned=(id_of(9),)), told("a", memories=(id_of(9),))], ids=["recall", "told"]
)
def test_what_names_no_memory_is_refused_whole(store: Store, change: Any) -> None:
    with pytest.raises(NoSuchMemory):
        apply(store, change)
    assert given(store) == []
