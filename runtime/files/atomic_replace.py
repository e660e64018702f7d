"""Atomic replacement of a mind's files: all of them or none, whatever is killed when.

Whoever has a mind's store open holds its lock with others (`lock_shared`, by `mnemic.runtime.store.schema.connect`);
whoever replaces files holds it alone (`lock_exclusive`). New files are written into a draft beside the old ones. One
rename makes the draft the next state; from then on it is only carried out (`finish_commit`), by whoever opens the mind
next, if need be. Above: `mnemic.runtime.minds.homes` and `mnemic.runtime.api.verbs`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemic.actors.kernel.errors import DiskFailed, DiskFull, StoreBusy, StoreReadOnly

LOCK_FILE = "lock"
"""The file in a mind's folder that is locked."""
EXCLUSIVE_S = 30.0
"""How long whoever wants a mind alone waits for the others."""
_DRAFT = ".next"
_COMMITTED = ".swap"
_PLAN = "swap.json"
_STORE = "store.db"
_LOGS = ("-wal", "-journal")
_COMPANIONS = (*_LOGS, "-shm")
MARK_SUFFIX = "-mark"
"""Of the file beside a store that says how far it had come; see `mnemic.runtime.store.high_water`."""
_POLL_S = 0.02
LOCKS_UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""What a file system without locks answers."""
_READ_ONLY_ERRNOS = (errno.EROFS, errno.EACCES, errno.EPERM)


class Draft:
    """What is to take the place of a mind's files, in a folder beside them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """A file in this folder takes the place of the mind's file of that name."""
        self._removed: list[str] = []

    def remove(self, name: str) -> None:
        """Have a file of the mind go, at the same moment."""
        self._removed.append(name)

    def commit(self, decided: Path) -> None:
        """Make it the next state; nothing goes back from then on."""
        for file in self.path.iterdir():
            if file.name.endswith(_LOGS) and file.stat().st_size:
                raise ValueError(f"{file.name} is still to be written into its database")
            if (
                file.name.endswith(_COMPANIONS) or file.name == LOCK_FILE
            ):  # the draft's: who waits has the mind's own open
                file.unlink()
            else:
                fsync_path(file)
        plan = self.path / _PLAN
        plan.write_text(json.dumps({"remove": self._removed}))
        fsync_path(plan)
        fsync_path(self.path)
        os.rename(self.path, decided)
        fsync_path(decided.parent)


@contextmanager
def atomic_replace(mind: Path) -> Iterator[Draft]:
    """An empty draft; what is in it once the context ends takes the place of a mind's files, or nothing does.

    The caller holds the mind alone (`lock_exclusive`), and has closed every database in the draft by then.

    Raises:
        DiskFull, StoreReadOnly: it cannot be written; the mind is as it was.
    """
    draft = Draft(mind / _DRAFT)
    try:
        shutil.rmtree(draft.path, ignore_errors=True)  # of one that was killed
        draft.path.mkdir(mode=0o700)
        yield draft
        draft.commit(mind / _COMMITTED)
    except OSError as error:
        raise write_error(mind, error) from error
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)  # gone by its other name where it was decided
    _move_into_place(mind)


def finish_commit(mind: Path, timeout_s: float = EXCLUSIVE_S) -> None:
    """Carry out what was decided and not carried out yet, because its process was killed.

    Raises:
        StoreBusy: somebody else works on the mind for so long.
        StoreReadOnly, DiskFull: it cannot be written.
    """
    if (mind / _COMMITTED).exists():
        with lock_exclusive(mind, timeout_s):
            pass


def _move_into_place(mind: Path) -> None:
    decided = mind / _COMMITTED
    try:
        if not decided.exists():  # somebody else was faster
            return
        plan = decided / _PLAN
        if plan.exists():
            for name in json.loads(plan.read_bytes())["remove"]:
                (mind / name).unlink(missing_ok=True)
            files = sorted(file for file in decided.iterdir() if file.name != _PLAN)
            for file in files:
                if file.name == _STORE:  # what was still to be written into the old one must not go into the new one
                    for suffix in (*_COMPANIONS, MARK_SUFFIX):  # nor is the new one to be as far as the old one was
                        (mind / f"{_STORE}{suffix}").unlink(missing_ok=True)
                os.replace(file, mind / file.name)
            fsync_path(mind)
            plan.unlink()
        decided.rmdir()
    except OSError as error:
        raise write_error(mind, error) from error


@contextmanager
def lock_exclusive(mind: Path, timeout_s: float = EXCLUSIVE_S) -> Iterator[None]:
    """Hold a mind alone: nobody has its store open, or opens it; what was decided before is carried out by then.

    Raises:
        StoreBusy: others had it open all this time.
        StoreReadOnly, DiskFull: there can be no lock here, or it cannot be written.
    """
    descriptor = _open_lock_file(mind)
    if descriptor is None:
        raise StoreReadOnly(path=str(mind / LOCK_FILE), why="there can be no lock")
    try:
        if not _acquire_lock(descriptor, fcntl.LOCK_EX, mind, timeout_s):
            raise StoreReadOnly(path=str(mind / LOCK_FILE), why="this file system has no locks")
        _move_into_place(mind)  # somebody may have been killed since the caller looked
        yield
    finally:
        os.close(descriptor)


def lock_shared(mind: Path, timeout_s: float) -> int | None:
    """Hold a mind with others, until the descriptor is closed; ``None`` where nobody can write, and so replace, it.

    What was decided is carried out by then: a store that is still to be replaced would lose what is written to it.

    Raises:
        StoreBusy: somebody held it alone all this time.
        StoreReadOnly, DiskFull: what was decided cannot be carried out.
    """
    while True:
        finish_commit(mind, timeout_s)
        descriptor = _open_lock_file(mind)
        if descriptor is None:
            return None
        try:
            locked = _acquire_lock(descriptor, fcntl.LOCK_SH, mind, timeout_s)
        except BaseException:
            os.close(descriptor)
            raise
        if not locked:
            os.close(descriptor)
            return None
        if not (mind / _COMMITTED).exists():
            return descriptor
        os.close(descriptor)  # somebody was killed meanwhile


def _open_lock_file(mind: Path) -> int | None:
    path = mind / LOCK_FILE
    try:
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in _READ_ONLY_ERRNOS:
            raise write_error(path, error) from error
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # there is none, or not for us: nobody here replaces anything
        return None


def _acquire_lock(descriptor: int, how: int, mind: Path, timeout_s: float) -> bool:
    """Take a lock; says whether this file system has any."""
    pause = threading.Event()
    for _ in range(max(1, round(timeout_s / _POLL_S))):
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            pause.wait(_POLL_S)
        except OSError as error:
            if error.errno in LOCKS_UNSUPPORTED:
                return False
            raise write_error(mind / LOCK_FILE, error) from error
    raise StoreBusy(path=str(mind / _STORE), waited_s=timeout_s)


def fsync_path(path: Path) -> None:
    """Have the disk know a file, or which files a folder has."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error(path: Path, error: OSError) -> DiskFailed | DiskFull | StoreReadOnly:
    """What a user is told where the operating system refuses to write."""
    if error.errno == errno.EIO:
        return DiskFailed(path=str(error.filename or path), why=error.strerror)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(path=str(path))
    return StoreReadOnly(path=str(error.filename or path), why=error.strerror or type(error).__name__)
