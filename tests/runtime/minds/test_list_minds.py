"""Minds are listed with what can be told of each here, and one that cannot be opened hides none of the others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.minds.list_minds import list_minds
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import apply, files_of

CLOCK = SystemClock()


def test_no_home_has_no_minds_and_none_is_made(tmp_path: Path) -> None:
    assert list_minds(tmp_path / "home") == []
    assert files_of(tmp_path) == {}


def test_each_mind_is_told_with_what_it_holds_or_why_that_is_not_known(tmp_path: Path) -> None:
    for name, passphrase in (("default", None), ("broken", None), ("empty", None), ("locked", "nine books on a shelf")):
        create_mind(tmp_path, name, CLOCK, passphrase=passphrase)
    (tmp_path / "minds" / "broken" / "key").unlink()
    (tmp_path / "minds" / ".new-draft").mkdir()
    folder, keys = open_mind(tmp_path, "default")
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, added(1), added(2), at=70)
    before = files_of(tmp_path)
    broken, default, empty, locked = list_minds(tmp_path)
    assert (default.name, default.default, default.memories, default.last_captured_at) == ("default", True, 2, 70)
    assert default.size_bytes > 4096
    assert (empty.name, empty.default, empty.memories, empty.last_captured_at) == ("empty", False, 0, None)
    assert (locked.name, locked.locked, locked.memories, locked.error) == ("locked", True, None, None)
    assert (broken.name, broken.locked, broken.memories) == ("broken", False, None)
    assert broken.error is not None
    assert "is not there" in broken.error
    assert files_of(tmp_path) == before
