"""Overwriting the consumed parts of spool files with zeros when memories are erased.

Beside `mnemic.runtime.spool.spool`, whose files these are, and below `mnemic.runtime.transfer.erase`. A hook only ever
appends, and what is taken in is not read again, so zeros take its place whoever is writing at the moment.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

from mnemic.runtime.spool.files import QUARANTINE, SpoolFile, open_spool_file, spool_files, try_lock

__all__ = ["quarantined_files", "wipe_consumed"]

_ZEROS = bytes(1 << 20)


def wipe_consumed(folder: Path, offsets: Mapping[bytes, int], keys: frozenset[bytes]) -> int:
    """Overwrite what is taken in, and remove files that have nothing else; returns how many files that were.

    Args:
        offsets: how far each file is taken in, by its id.
        keys: ids of the keys that the mind opens; another key's files are left alone.

    Raises:
        OSError: a file cannot be written; others may have been wiped.
    """
    wiped = 0
    for name in spool_files(folder):
        with open_spool_file(folder / name, offsets) as file:
            if file is None or not file.is_readable(keys):
                continue
            stop = min(offsets.get(file.id, 0), file.size())
            if stop > file.start:
                wiped += 1
                _overwrite(folder / name, file, stop)
                _remove(folder / name, file, stop)
    return wiped


def quarantined_files(folder: Path) -> list[str]:
    """Names, below the spool's folder, of files that are kept though they are read."""
    return [f"{QUARANTINE}/{name}" for name in spool_files(folder / QUARANTINE)]


def _overwrite(path: Path, file: SpoolFile, stop: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not os.path.samestat(os.fstat(descriptor), os.fstat(file.descriptor)):
            raise FileNotFoundError(f"{path} was replaced at this moment")
        position = file.start
        while position < stop:
            position += os.pwrite(descriptor, _ZEROS[: stop - position], position)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path, file: SpoolFile, stop: int) -> None:
    """Remove a file that has nothing else, if nobody is writing to it: a hook sees that its name is gone."""
    with try_lock(file.descriptor, fcntl.LOCK_EX) as is_held:
        if is_held and file.size() == stop and os.path.samestat(path.lstat(), os.fstat(file.descriptor)):
            path.unlink()
