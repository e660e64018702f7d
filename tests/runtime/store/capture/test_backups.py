"""That backups were made is made again from the log, and a fork knows those that were made by then."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.transfer.changes import RecordBackup
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.runtime.building import KEYS, apply

COPIES = st.builds(
    RecordBackup,
    path=st.sampled_from(["/b/one", "/b/two"]),
    what=st.sampled_from(["backup", "export"]),
    size_bytes=st.integers(0, 9),
)


def known(path: Path) -> list[tuple[str, str, int, int]]:
    with closing(connect(path, KEYS)) as connection:
        found: list[Any] = connection.execute("SELECT path, what, size, at FROM backups ORDER BY id").fetchall()
    return found


@settings(max_examples=10)
@given(copies=st.lists(COPIES, max_size=4))
def test_copies_are_known_in_order_after_a_rebuild_and_to_a_fork(
    tmp_path_factory: pytest.TempPathFactory, copies: list[RecordBackup]
) -> None:
    folder = tmp_path_factory.mktemp("copies")
    with closing(Store.create(folder / "store.db", KEYS)) as store:
        for number, copy in enumerate(copies):
            apply(store, copy, at=number)
        said = [(copy.path, copy.what, copy.size_bytes, number) for number, copy in enumerate(copies)]
        assert known(folder / "store.db") == said
        store.rebuild(lambda done, total: None, meaning=False)
        assert known(folder / "store.db") == said
        store.fork(folder / "fork.db", 0)
    assert known(folder / "fork.db") == said
