"""A session is left alone from when it is said, and marked while anything of it is kept; each is said once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from mnemic.actors.capture.changes import IgnoreSession, SetSessionMode
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, held


def seen(path: Path, look: Any) -> Any:
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        return look(now)


def test_a_session_is_left_alone_and_a_fork_from_before_knows_nothing_of_it(store: Store, tmp_path: Path) -> None:
    path, silence = tmp_path / "store.db", IgnoreSession(assistant="codex", session="s")
    seq = apply(store, added(1)).seq
    assert not seen(path, lambda now: now.is_session_ignored("codex", "s"))
    assert apply(store, silence).changed == (True,)
    assert apply(store, silence).changed == (False,)
    assert seen(
        path, lambda now: [now.is_session_ignored(*one) for one in (("codex", "s"), ("codex", "t"), ("x", "s"))]
    ) == [
        True,
        False,
        False,
    ]
    store.fork(tmp_path / "fork.db", seq)
    assert not seen(tmp_path / "fork.db", lambda now: now.is_session_ignored("codex", "s"))


def test_a_session_of_which_nothing_is_kept_is_not_marked(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    session = apply(store, added(1)) and held(path)["sessions"][0]
    mark = SetSessionMode(assistant=session[1], session=session[2], mode="headless")
    gone = SetSessionMode(assistant=session[1], session="another", mode="headless")
    assert apply(store, mark, mark, gone).changed == (True, False, False)
    counts = seen(path, lambda now: now.counts(None))
    assert (counts.headless, counts.subagents) == (1, 0)
    assert apply(store, SetSessionMode(assistant=session[1], session=session[2], mode="subagent")).changed == (True,)
    counts = seen(path, lambda now: now.counts(None))
    assert (counts.headless, counts.subagents) == (0, 1)
