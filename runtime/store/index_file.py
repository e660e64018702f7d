"""Reads SQLite's index of a write-ahead log, the file ``-shm``, without letting go of SQLite's locks on it.

POSIX drops all locks that a process has on a file as soon as the process closes any descriptor of it (fcntl(2)), those
of SQLite's connections included: who writes would hold nothing any more, and another process that opens the store would
take it for one that nobody has open, and begin its index anew. So what is opened here is closed only once this process
has no connection to the store (https://www.sqlite.org/howtocorrupt.html, section 2.2).
`mnemic.runtime.store.schema` opens stores.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock

_lock = Lock()
_connections: dict[str, int] = {}
_descriptors: dict[str, list[int]] = {}


def connection_opens(index: Path) -> None:
    """Note that this process is to have one more connection to a store."""
    with _lock:
        _connections[str(index)] = _connections.get(str(index), 0) + 1


def connection_closed(index: Path) -> None:
    """Note that it has one less; with the last one all descriptors are closed."""
    with _lock:
        _connections[str(index)] -= 1
        if not _connections[str(index)]:
            del _connections[str(index)]
            for descriptor in _descriptors.pop(str(index), []):
                os.close(descriptor)


def read_index(index: Path) -> bytes:
    """What is in the file now, of a store that this process has a connection to.

    Raises:
        OSError: it cannot be read.
    """
    with _lock:
        known = _descriptors.setdefault(str(index), [])
        if not known or not os.path.samestat(os.fstat(known[-1]), index.stat()):  # SQLite may have made another file
            known.append(os.open(index, os.O_RDONLY | os.O_CLOEXEC))
        return os.pread(known[-1], os.fstat(known[-1]).st_size, 0)
