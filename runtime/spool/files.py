"""Opening, identifying and locking spool files.

Above stand `mnemic.runtime.spool.spool`, which takes them in, and `mnemic.runtime.spool.pending`, which only looks;
below, `mnemic.runtime.spool.frames` says what their first bytes mean.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mnemic.runtime.files.atomic_replace import LOCKS_UNSUPPORTED
from mnemic.runtime.spool.frames import FILE_HEADER_BYTES, parse_file_header

__all__ = ["QUARANTINE", "SUFFIX", "SpoolFile", "open_spool_file", "read_at", "spool_files", "try_lock"]

SUFFIX = ".spool"
QUARANTINE = "aside"
"""The folder of files that are kept though they are read."""


class SpoolFile(NamedTuple):
    """An open file of a spool."""

    descriptor: int
    """Of the open file."""
    id: bytes
    """The file's id, 16 bytes."""
    key: bytes | None
    """Id of the key it is sealed to; ``None`` where its header is gone."""
    version_known: bool
    """Whether this version can read it."""
    start: int
    """Where its first frame may start."""
    created_us: int | None
    """World time at which it was made, microseconds; ``None`` where its header is gone."""

    def is_readable(self, keys: Collection[bytes]) -> bool:
        """Whether it is one of these keys', as far as can be seen; without its header, its frames tell."""
        return self.version_known and (self.key is None or self.key in keys)

    def size(self) -> int:
        """How long it is now."""
        return os.fstat(self.descriptor).st_size


def spool_files(folder: Path) -> list[str]:
    """Names of the files of a spool; none, where there is no such folder."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX) and not name.startswith("."))
    except FileNotFoundError:
        return []


@contextmanager
def open_spool_file(path: Path, offsets: Mapping[bytes, int]) -> Iterator[SpoolFile | None]:
    """Open a file of a spool; ``None`` where it is gone, or is no file.

    Args:
        offsets: a file among these is known by its id alone where the rest of its header is damaged.

    Raises:
        OSError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENXIO):  # removed meanwhile, a link, a socket
            raise
        yield None
        return
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        yield _identified(descriptor, offsets) if is_file else None
    finally:
        os.close(descriptor)


def _identified(descriptor: int, offsets: Mapping[bytes, int]) -> SpoolFile:
    data = os.pread(descriptor, FILE_HEADER_BYTES, 0)
    header = parse_file_header(data)
    if header is not None:
        return SpoolFile(
            descriptor, header.file, header.key, header.version_known, FILE_HEADER_BYTES, header.created_us
        )
    named = data[8:24]
    if named in offsets:
        return SpoolFile(descriptor, named, None, True, FILE_HEADER_BYTES, None)
    return SpoolFile(descriptor, hashlib.sha256(b"mnemic/1/spool-file" + data).digest()[:16], None, True, 0, None)


@contextmanager
def try_lock(descriptor: int, how: int) -> Iterator[bool | None]:
    """Hold a file's lock, if nobody else does; ``None`` where the file system has no locks."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
        return
    except OSError as error:
        if error.errno not in LOCKS_UNSUPPORTED:
            raise
        yield None
        return
    try:
        yield True
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def read_at(descriptor: int, position: int, length: int) -> bytes:
    """So many bytes from a position; fewer only at the end."""
    data = os.pread(descriptor, length, position)
    while 0 < len(data) < length:  # a system may give less than it was asked for
        more = os.pread(descriptor, length - len(data), position + len(data))
        if not more:
            break
        data += more
    return data
