"""Spool files: opening and locking them, what waits in them, and what hooks lost, told without the private key.

Above stand `mnemic.runtime.spool.spool`, which takes them in, and `status` and the doctor, which only look: no lock is
held for longer than that, and a mind that is locked is told of too. Below, `mnemic.runtime.spool.frames` says what
their first bytes mean.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import stat
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from mnemic.runtime.files.atomic_replace import LOCKS_UNSUPPORTED
from mnemic.runtime.spool.frames import (
    FILE_HEADER_BYTES,
    FRAME_HEADER_BYTES,
    FileHeader,
    FrameDecryptor,
    key_id,
    parse_file_header,
    parse_frame_header,
    record_time,
)

SUFFIX = ".spool"
QUARANTINE = "aside"
"""The folder of files that are kept though they are read."""


class SpoolFile(NamedTuple):
    """An open file of a spool."""

    descriptor: int
    """Of the open file."""
    id: bytes
    """The file's id, 16 bytes; of a damaged header, a hash of it, and of one that was cut, of the inode as well."""
    header: FileHeader | None
    """What its first bytes say; ``None`` where they are damaged, or not all there."""

    def is_readable(self, keys: Collection[bytes]) -> bool:
        """Whether it is one of these keys', and of a known version."""
        return self.header is not None and self.header.version_known and self.header.key in keys

    def is_damaged(self) -> bool:
        """Whether its header is there, and not as it was written: what follows may be anybody's."""
        return self.header is None and self.size() >= FILE_HEADER_BYTES

    def is_cut(self) -> bool:
        """Whether it ends within its header: no hook leaves that, so its records are lost."""
        return self.header is None and 0 < self.size() < FILE_HEADER_BYTES

    def unread_from(self, offsets: Mapping[bytes, int]) -> int:
        """The byte from which it is not taken in.

        Args:
            offsets: how far each file is taken in, by its id.
        """
        return max(FILE_HEADER_BYTES, offsets.get(self.id, 0))

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
def open_spool_file(path: Path) -> Iterator[SpoolFile | None]:
    """Open a file of a spool; ``None`` where it is gone, or is no file.

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
        yield _identified(descriptor) if is_file else None
    finally:
        os.close(descriptor)


def _identified(descriptor: int) -> SpoolFile:
    data = os.pread(descriptor, FILE_HEADER_BYTES, 0)
    header = parse_file_header(data)
    if header is not None:
        return SpoolFile(descriptor, header.file, header)
    told = data if len(data) == FILE_HEADER_BYTES else b"%d " % os.fstat(descriptor).st_ino + data
    return SpoolFile(descriptor, hashlib.sha256(b"mnemic/1/spool-file" + told).digest()[:16], None)


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


_LOSSES = struct.Struct("<QQQ")


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """What hooks wrote and nobody has taken in."""

    files: int
    """Files in which something waits."""
    size_bytes: int
    """How much, sealed."""
    oldest_at: int | None
    """World time, microseconds, at which the oldest of it was written; ``None`` where nothing waits. Where only the
    file can tell, the time of its last change stands for it, or, as long as nothing of it is read, of its making."""
    unreadable: tuple[str, ...]
    """Files that cannot be opened, or whose header is damaged, by name."""


class Losses(msgspec.Struct, frozen=True, kw_only=True, rename=lambda name: name.replace("quarantined", "aside")):
    """What will not be taken in."""

    lost: int
    """Events that hooks could not write, so far."""
    lost_bytes: int
    """How long they were together."""
    lost_at: int | None
    """World time of the last one, microseconds; ``None`` where there is none."""
    foreign: tuple[str, ...]
    """Files that are sealed to another key, or written by a newer version; by name."""
    foreign_bytes: int
    """How long they are together."""
    quarantined: tuple[str, ...]
    """Files that are damaged or hold what could not be opened, and are kept; by name."""
    quarantined_bytes: int
    """How long they are together."""


def measure_backlog(folder: Path, offsets: Mapping[bytes, int], opener: FrameDecryptor | None = None) -> Backlog:
    """Say what waits in a spool.

    Args:
        offsets: how far each file is taken in, by its id.
        opener: of the mind's keys; with it, the age of what waits is exact.
    """
    own = _own_key_ids(folder)
    files, size_bytes = 0, 0
    since: list[int] = []
    unreadable = []
    for name in spool_files(folder):
        try:
            with open_spool_file(folder / name) as file:
                if file is not None and file.is_damaged():
                    unreadable.append(name)
                if file is None or file.header is None or (own is not None and not file.is_readable(own)):
                    continue
                size, start = file.size(), file.unread_from(offsets)
                if size <= start:
                    continue
                files += 1
                size_bytes += size - start
                since.append(_oldest_unread_at(file, start, opener))
        except OSError:
            unreadable.append(name)
    return Backlog(files=files, size_bytes=size_bytes, oldest_at=min(since, default=None), unreadable=tuple(unreadable))


def read_losses(folder: Path) -> Losses:
    """Say what of a spool was lost, is another key's, or is quarantined."""
    own = _own_key_ids(folder)
    foreign, foreign_bytes = [], 0
    for name in spool_files(folder):
        try:
            with open_spool_file(folder / name) as file:
                if file is not None and file.header is not None and own is not None and not file.is_readable(own):
                    foreign.append(name)
                    foreign_bytes += file.size()
        except OSError:  # `measure_backlog` names it
            continue
    kept = {name: (folder / QUARANTINE / name).lstat().st_size for name in spool_files(folder / QUARANTINE)}
    lost, lost_at, lost_bytes = _read_loss_counter(folder / "losses")
    return Losses(
        lost=lost,
        lost_bytes=lost_bytes,
        lost_at=lost_at if lost else None,
        foreign=tuple(foreign),
        foreign_bytes=foreign_bytes,
        quarantined=tuple(kept),
        quarantined_bytes=sum(kept.values()),
    )


def _own_key_ids(folder: Path) -> frozenset[bytes] | None:
    """Ids of the key that hooks seal to now, and of those from before; ``None`` where nothing says so."""
    try:
        config = json.loads((folder.parent / "spool.json").read_bytes())
        return frozenset([key_id(bytes.fromhex(config["public"])), *map(bytes.fromhex, config.get("earlier", ()))])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # made again when the mind is opened
        return None


def _oldest_unread_at(file: SpoolFile, start: int, opener: FrameDecryptor | None) -> int:
    """World time at which the first unread byte of a file was written, as far as can be told."""
    frame = parse_frame_header(os.pread(file.descriptor, FRAME_HEADER_BYTES, start))
    if opener is not None and frame is not None and frame.number == 0:
        part = opener.decrypt(frame, os.pread(file.descriptor, frame.sealed_bytes, start + FRAME_HEADER_BYTES))
        at_us = None if part is None else record_time(part)
        if at_us is not None:
            return at_us
    if start <= FILE_HEADER_BYTES and file.header is not None:
        return file.header.created_us
    return os.fstat(file.descriptor).st_mtime_ns // 1000


def _read_loss_counter(path: Path) -> tuple[int, int, int]:
    """How many events were lost, when the last one, and how many bytes; nothing, where nobody counts."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0, 0, 0
    return _LOSSES.unpack_from(data) if len(data) >= _LOSSES.size else (0, 0, 0)
