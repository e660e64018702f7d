"""Files that take the place of a mind's: all of them or none, whatever is killed when; and never beneath a reader."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import DiskFull, StoreBusy, StoreReadOnly
from mnemic.runtime.files import atomic_replace as module
from mnemic.runtime.files.atomic_replace import Draft, atomic_replace, finish_commit, lock_exclusive, lock_shared
from tests.waiting import BOUND_S

OLD = {
    "store.db": "old",
    "store.db-wal": "old wal",
    "store.db-mark": "old",
    "key": "old",
    "mind.json": "old",
    "spare": "kept",
}
NEW = {"store.db": "new", "mind.json": "new", "spool.json": "new", "spare": "kept"}
KILLED = 137

SWAP = """
import os, sys
from pathlib import Path
from mnemic.runtime.files.atomic_replace import atomic_replace, lock_exclusive
left = [int(sys.argv[2])]
def dying(call):
    def do(*given, **named):
        if not left[0]:
            os._exit(137)
        left[0] -= 1
        return call(*given, **named)
    return do
for name in ("rename", "replace", "unlink", "rmdir", "fsync"):
    setattr(os, name, dying(getattr(os, name)))
mind = Path(sys.argv[1])
with lock_exclusive(mind), atomic_replace(mind) as draft:
    for name in ("store.db", "mind.json", "spool.json"):
        (draft.path / name).write_text("new")
    draft.remove("key")
"""


def mind_with(path: Path, files: dict[str, str]) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def files_of(mind: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in mind.iterdir() if file.is_file() and file.name != module.LOCK_FILE}


def test_killed_before_any_step_it_leaves_the_old_files_or_after_the_next_opening_the_new_ones(tmp_path: Path) -> None:
    seen = set()
    for step in range(100):
        mind = mind_with(tmp_path / str(step), OLD)
        done = subprocess.run([sys.executable, "-c", SWAP, mind, str(step)], timeout=BOUND_S, check=False)
        assert done.returncode in (0, KILLED)
        finish_commit(mind)
        left = files_of(mind)
        assert left in (OLD, NEW)
        seen.add(left == NEW)
        if done.returncode == 0:
            break
        with lock_exclusive(mind), atomic_replace(mind) as draft:  # what a killed one left is in nobody's way
            (draft.path / "spare").write_text("changed")
        assert files_of(mind) == left | {"spare": "changed"}
    assert done.returncode == 0
    assert seen == {True, False}
    assert {entry.name for entry in mind.iterdir()} == {*NEW, module.LOCK_FILE}


def test_a_draft_that_fails_changes_nothing(tmp_path: Path) -> None:
    mind = mind_with(tmp_path / "mind", OLD)

    def fail(draft: Draft) -> None:
        (draft.path / "store.db").write_text("new")
        raise KeyError("whatever")

    with pytest.raises(KeyError), lock_exclusive(mind), atomic_replace(mind) as draft:
        fail(draft)
    assert files_of(mind) == OLD
    assert not draft.path.exists()


def test_a_draft_with_an_open_database_is_refused(tmp_path: Path) -> None:
    mind = mind_with(tmp_path / "mind", OLD)

    def fill(draft: Draft) -> None:
        (draft.path / "store.db").write_text("new")
        (draft.path / "store.db-wal").write_text("and more")

    with pytest.raises(ValueError, match="still to be written"), lock_exclusive(mind), atomic_replace(mind) as draft:
        fill(draft)
    assert files_of(mind) == OLD


def test_a_full_disk_is_told_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mind = mind_with(tmp_path / "mind", OLD)

    def full(self: Draft, decided: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Draft, "commit", full)  # a disk cannot be filled for a test
    with pytest.raises(DiskFull), lock_exclusive(mind), atomic_replace(mind) as draft:
        (draft.path / "store.db").write_text("new")
    assert files_of(mind) == OLD


def test_whoever_wants_it_alone_waits_for_those_who_have_it_open_and_they_for_it(tmp_path: Path) -> None:
    mind = mind_with(tmp_path / "mind", {})
    first, second = lock_shared(mind, 0.0), lock_shared(mind, 0.0)
    assert first is not None
    assert second is not None
    os.close(first)
    with pytest.raises(StoreBusy), lock_exclusive(mind, 0.0):
        pytest.fail("somebody has it open")
    os.close(second)
    with lock_exclusive(mind, 0.0):
        with pytest.raises(StoreBusy):
            lock_shared(mind, 0.0)
        with pytest.raises(StoreBusy), lock_exclusive(mind, 0.0):
            pytest.fail("somebody has it alone")
    descriptor = lock_shared(mind, 0.0)
    assert descriptor is not None
    os.close(descriptor)


@pytest.mark.parametrize("hold", [lock_exclusive, lambda mind: _sharing(mind)])
def test_whoever_holds_a_mind_has_what_was_decided_and_nothing_of_before(
    tmp_path: Path, hold: Callable[[Path], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = mind_with(tmp_path / "mind", OLD)
    take, killed = module._acquire_lock, []

    def late(descriptor: int, how: int, mind: Path, timeout_s: float) -> bool:
        if not killed:  # after the last look at it, and before the lock
            killed.append(_decided(mind))
        return take(descriptor, how, mind, timeout_s)

    monkeypatch.setattr(module, "_acquire_lock", late)
    with hold(mind):
        assert (mind / "store.db").read_text() == "new"
        assert not (mind / ".swap").exists()


def _decided(mind: Path) -> None:
    """What a process leaves that is killed once it has decided."""
    draft = Draft(mind / ".next")
    draft.path.mkdir()
    (draft.path / "store.db").write_text("new")
    draft.commit(mind / ".swap")


@contextmanager
def _sharing(mind: Path) -> Iterator[None]:
    descriptor = lock_shared(mind, 1.0)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)


def test_a_folder_that_cannot_be_written_is_read_without_a_lock_and_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind, real = mind_with(tmp_path / "mind", {}), os.open

    def refuse(path: Path, flags: int, *mode: int) -> int:  # what root is never refused
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *mode)

    monkeypatch.setattr(module.os, "open", refuse)
    assert lock_shared(mind, 0.0) is None
    with pytest.raises(StoreReadOnly), lock_exclusive(mind):
        pytest.fail("nothing can be replaced here")


def test_the_lock_of_a_mind_is_never_replaced_since_others_wait_at_it(tmp_path: Path) -> None:
    mind = mind_with(tmp_path / "mind", OLD)
    with lock_exclusive(mind), atomic_replace(mind) as draft:
        (draft.path / module.LOCK_FILE).touch()  # whoever opened a store in the draft made it
        before = (mind / module.LOCK_FILE).stat().st_ino
    assert (mind / module.LOCK_FILE).stat().st_ino == before


def test_a_file_system_without_locks_is_read_and_written_and_no_file_of_it_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = mind_with(tmp_path / "mind", OLD)

    def none(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(module.fcntl, "flock", none)  # a file system that has none cannot be made for a test
    assert lock_shared(mind, 0.0) is None
    with pytest.raises(StoreReadOnly, match="has no locks"), lock_exclusive(mind):
        pytest.fail("somebody may have it open")
    assert files_of(mind) == OLD
