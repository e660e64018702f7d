"""Size and modification time of transcript files, to see whether one has changed."""

from __future__ import annotations

import os
import stat

from mnemic.actors.kernel.ports import FileStat


def stat_transcript(path: str) -> FileStat | None:
    """Look at a transcript; ``None`` where there is none.

    What cannot be looked at, or is no regular file, is empty: whoever opens it is told why it cannot be read.
    Where it is a database, what it has not taken over from its write-ahead log counts too; and where one session of a
    database is named, behind a ``#``, it is measured with all others.
    """
    found = _stat(path)
    if found is None and "#" in path:
        path = path.rpartition("#")[0]
        found = _stat(path)
    if found is None:
        return None
    log = _stat(f"{path}-wal")
    return found if log is None else FileStat(found.size_bytes + log.size_bytes, max(found.changed_at, log.changed_at))


def _stat(path: str) -> FileStat | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: no file can have this name
        return None
    except OSError:
        return FileStat(0, 0)
    if not stat.S_ISREG(found.st_mode):
        return FileStat(0, 0)
    return FileStat(found.st_size, found.st_mtime_ns // 1000)
