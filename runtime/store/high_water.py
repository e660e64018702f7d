"""The high-water mark: which transaction of a store was the newest, told beside the store and not by it.

A damaged write-ahead log ends, for SQLite, before the damage: what was committed after that is gone, and no error says
so. The mark says so. It lies in ``store.db-mark``, 112 bytes that each commit overwrites in place, authenticated with
a key of the mind's: the number and the time of the newest transaction, the number up to which the disk has them all,
and which start of the machine that was. Above stand `mnemic.runtime.store.store`, which writes it and compares it when
it is opened, and the doctor.

Nothing waits for the disk: the store's commits do not either (``synchronous = NORMAL``: SQLite syncs its log at
checkpoints). The mark is written after the commit, so a process that is killed leaves it at the store's number or one
behind, which is harmless. A power cut may keep the mark and take the commits: above the number that a checkpoint has
brought to the disk, and after another start of the machine, missing transactions need no damage to explain them.
"""

from __future__ import annotations

import functools
import hmac
import logging
import os
import struct
from pathlib import Path
from typing import Any

import apsw
import msgspec

from mnemic.actors.kernel.errors import DamagedStore
from mnemic.actors.store.messages import LostTransactions
from mnemic.runtime.files.atomic_replace import MARK_SUFFIX
from mnemic.runtime.files.foreign import read_regular
from mnemic.runtime.keys.keys import Keys

_log = logging.getLogger("mnemic.store")

_MAGIC = b"MNMARK\x00\x01"
_BODY = struct.Struct("<8sQqQ48s")
_TAG_BYTES = 32
_MARK_BYTES = _BODY.size + _TAG_BYTES
_MAX_READS = 5
"""So often a mark is read that does not verify: another process may be writing it."""
_WRITE_IN_PLACE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe waits for readers
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class HighWaterMark(msgspec.Struct, frozen=True):
    """How far a store had come."""

    seq: int = 0
    """Number of its newest transaction."""
    at: int = 0
    """System time of that, microseconds."""
    synced: int = 0
    """The disk has all transactions up to this number."""
    boot: bytes = b""
    """The start of the machine in which it was written; empty where the system does not name them."""

    def missing(self, seq: int, at: int | None) -> LostTransactions | None:
        """What a store lacks that should be as new as this; ``None`` where it lacks nothing.

        Args:
            seq: number of the newest transaction that is there, and `at`, its system time, if there is any.
        """
        if seq >= self.seq:
            return None
        power_cut = seq >= self.synced and not (self.boot and self.boot == current_boot())
        return LostTransactions(last=seq, count=self.seq - seq, since=at, until=self.at, power_cut=power_cut)


def unknown_loss(seq: int, at: int | None) -> LostTransactions:
    """What is noted where a mark cannot be believed: behind transaction `seq`, of that system time, some may miss."""
    return LostTransactions(last=seq, count=0, since=at, until=at or 0, power_cut=False)


def mark_path(store: Path) -> Path:
    """Where the mark of a store is."""
    return store.with_name(store.name + MARK_SUFFIX)


def read_mark(store: Path, keys: Keys) -> HighWaterMark | None:
    """The mark of a store; ``None`` where it has none yet.

    Raises:
        DamagedStore: it is not as it was written.
        OSError: it cannot be read, is no regular file, or is longer than a mark.
    """
    path = mark_path(store)
    for _ in range(_MAX_READS):
        try:
            written = read_regular(path, _MARK_BYTES)
        except FileNotFoundError:
            return None
        body, tag = written[: _BODY.size], written[_BODY.size :]
        if hmac.compare_digest(tag, _tag(keys, body)):
            _, seq, at, synced, boot = _BODY.unpack(body)
            return HighWaterMark(seq, at, synced, boot.rstrip(b"\0"))
    raise DamagedStore(path=str(path), why="it is not as it was written")


class MarkWriter:
    """Writes the mark of one store. A mark that cannot be written is logged and stays behind, which is harmless."""

    def __init__(self, store: Path, keys: Keys) -> None:
        self._path = mark_path(store)
        self._keys = keys
        self._boot = current_boot()
        self._descriptor: int | None = None
        self._failed = False

    def write(self, seq: int, at: int, synced: int) -> None:
        """Say how far the store has come; see `HighWaterMark`."""
        body = _BODY.pack(_MAGIC, seq, at, synced, self._boot)
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, _WRITE_IN_PLACE, 0o600)
                os.ftruncate(self._descriptor, _MARK_BYTES)
            os.pwrite(self._descriptor, body + _tag(self._keys, body), 0)
        except OSError as error:
            if not self._failed:
                _log.warning("the high-water mark %s cannot be written: %s", self._path, error.strerror)
            self._failed = True
        else:
            self._failed = False

    def close(self) -> None:
        """Let go of the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def newest_transaction(connection: apsw.Connection) -> tuple[int, int | None]:
    """Number and system time of a store's newest transaction; 0 and ``None`` where there is none."""
    found = connection.execute("SELECT seq, at FROM applies ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, None) if found is None else (int(found[0]), int(found[1]))


def lost_transactions(connection: apsw.Connection) -> tuple[LostTransactions, ...]:
    """What a store has lost, the oldest first, as far as nobody has taken note of it."""
    found: list[Any] = connection.execute(
        "SELECT last, count, since, until, power_cut FROM lost ORDER BY until, last"
    ).fetchall()
    return tuple(
        LostTransactions(last=last, count=count, since=since, until=until, power_cut=bool(cut))
        for last, count, since, until, cut in found
    )


@functools.cache
def current_boot() -> bytes:
    """What names this start of the machine; empty where the system has no such name."""
    try:
        return _BOOT_ID.read_bytes().strip()[:48]
    except OSError:  # not Linux: what is missing may then always be a power cut's doing
        return b""


def _tag(keys: Keys, body: bytes) -> bytes:
    return hmac.digest(keys.mark_key, body, "sha256")
