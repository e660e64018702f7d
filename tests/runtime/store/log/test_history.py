"""What was given is kept beside the log, as stretches of memories, up to the transaction that it came with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import NoSuchMemory
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, delivery, held, id_of

HISTORY = ("givings", "given_parts")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.create(tmp_path / "store.db", KEYS)) as made:
        apply(made, added(1), added(2, b"it has two doors"))
        yield made


def test_rebuilt_it_says_the_same_and_the_log_holds_nothing_of_it(store: Store) -> None:
    parts = (
        DeliveredSpan(id_of(2), 3, 6, "it holds the words"),
        DeliveredSpan(id_of(1), 0, 3, "near"),
        DeliveredSpan(id_of(2), 7, 9, "twice"),
    )
    before = held(store._path)["log"]
    apply(store, delivery(query="one", parts=parts, tokens=3, assistant="codex", session="m"))
    apply(store, delivery(2, 1, occasion="prompt", session="a", scope="shelf", at=5))
    after = held(store._path)
    assert after["log"] == before
    assert after["given_parts"] == [
        (1, 0, 2, 3, 6, "it holds the words"),
        (1, 1, 1, 0, 3, "near"),
        (1, 2, 2, 7, 9, "twice"),
        (2, 0, 2, 0, 3, "near"),
        (2, 1, 1, 0, 3, "near"),
    ]
    store.rebuild(lambda done, total: None, meaning=True)
    assert [held(store._path)[name] for name in HISTORY] == [after[name] for name in HISTORY]


def test_a_fork_knows_of_nothing_that_was_given_later(store: Store, tmp_path: Path) -> None:
    seq = apply(store, delivery(1, query="one"), delivery(2, session="a")).seq
    before = held(store._path)
    apply(store, delivery(1, session="b"), delivery(2, query="two"), added(3), delivery(1))
    store.fork(tmp_path / "fork.db", seq)
    assert [held(tmp_path / "fork.db")[name] for name in HISTORY] == [before[name] for name in HISTORY]


def test_what_names_no_memory_is_refused_whole(store: Store) -> None:
    with pytest.raises(NoSuchMemory):
        apply(store, delivery(1, 9))
    assert held(store._path)["givings"] == []
