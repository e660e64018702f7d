"""The spool: encrypted files that hooks append events to, read on from the last offset, removed once read.

A hook appends under the lock of its file, so whoever gets the lock knows that nobody is writing. A file is known by
the id in its header: renamed, it is read on. Files sealed to another key, or by a newer version, are not touched. A
file that holds what a cut does not explain gets a second name in ``aside/`` before it is read past, and so outlives
its removal; one whose header is damaged is moved there unread, since nobody can tell how far it was taken in, and one
that was cut within its header once that is counted as a tear. Below
stand `mnemic.runtime.spool.walk` and `mnemic.runtime.spool.files`; above stands `mnemic.actors.capture.capture`.
"""

from __future__ import annotations

import errno
import fcntl
import heapq
import itertools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.ports import SpoolBatch
from mnemic.runtime.files.atomic_replace import fsync_path
from mnemic.runtime.spool.files import (
    QUARANTINE,
    SUFFIX,
    SpoolFile,
    measure_backlog,
    open_spool_file,
    read_at,
    spool_files,
    try_lock,
)
from mnemic.runtime.spool.frames import FILE_HEADER_BYTES, FrameDecryptor
from mnemic.runtime.spool.walk import scan_records

_log = logging.getLogger("mnemic.spool")

IDLE_S = 60.0
"""How long nothing must have come before a file is removed."""
_DRAFT = "."  # how the names of files that are being made begin
_DRAFT_S = 3600.0  # a hook has its file in place within milliseconds, unless it was stopped


class Spool:
    """What the hooks of one mind have kept; fulfils `mnemic.actors.kernel.ports.SpoolPort`. For one thread."""

    def __init__(self, folder: Path, private: bytes, clock: Clock, earlier: Sequence[bytes] = ()) -> None:
        """Take the spool's folder, the mind's X25519 private key, and those that were it before.

        No file stays open from call to call.
        """
        self._folder = folder
        self._opener = FrameDecryptor(private, earlier)
        self._clock = clock
        self._queue: list[tuple[int, str]] = []
        self._reached_us: dict[bytes, int] = {}  # world time of the last record that was read of a file
        self._complained: dict[str, int | None] = {}

    def oldest_at(self, offsets: Mapping[bytes, int]) -> int | None:
        """World time of the oldest event that is not taken in, microseconds; ``None`` where nothing waits."""
        return measure_backlog(self._folder, offsets, self._opener).oldest_at

    def read(self, offsets: Mapping[bytes, int], limit_records: int, limit_bytes: int) -> SpoolBatch | None:
        """The next part of the file whose oldest unread byte is oldest; ``None`` where nothing waits.

        A part has so many records, or so many bytes of them, but at least one, unless only torn places are left. What
        a hook is still writing waits. A file that cannot be read is logged, and the others go on.
        """
        for again in (False, True):
            if again:
                self._queue = self._find_waiting(offsets)
            while self._queue:
                _, name = heapq.heappop(self._queue)
                try:
                    part = self._read_part(name, offsets, limit_records, limit_bytes)
                except OSError as error:
                    self._log_once(name, error)
                    continue
                if part is not None:
                    return part
        return None

    def remove_consumed(self, offsets: Mapping[bytes, int], checkpoint: Callable[[], bool]) -> list[bytes]:
        """Remove files that are taken in to their end and have been silent for a while.

        A damaged write-ahead log takes back offsets with the memories: the files are what they are read from again. So
        none is removed before a checkpoint, asked for where there is one to remove, holds what `offsets` says.

        A hook that has such a file open sees, once it gets the lock, that the name is gone, and makes a new one.
        Returns the ids of those that no power cut brings back, and of files among `offsets` that are not there any
        more; the latter only where all that is there could be looked at.
        """
        removed, there = [], set()
        is_durable: bool | None = None
        names = spool_files(self._folder)
        all_seen = bool(names) or self._folder.is_dir()
        for name in names:
            try:
                with open_spool_file(self._folder / name) as file:
                    if file is None:  # it may have another name by now
                        all_seen = False
                        continue
                    there.add(file.id)
                    if not self._is_consumed(file, offsets):
                        continue
                    if is_durable is None:
                        is_durable = checkpoint()
                    if is_durable and self._remove(name, file, offsets):
                        there.discard(file.id)
                        removed.append(file.id)
                        self._reached_us.pop(file.id, None)
            except OSError as error:
                all_seen = False
                self._log_once(name, error)
        self._remove_stale_drafts()
        gone = removed + [file for file in offsets if all_seen and file not in there and file not in removed]
        return gone if gone and self._sync_removals() else []

    def _find_waiting(self, offsets: Mapping[bytes, int]) -> list[tuple[int, str]]:
        """The files in which something waits, as a heap: the one whose unread bytes may be oldest is first.

        Nothing unread in a file is older than the file, or than the last record that was read of it.
        """
        waiting = []
        for name in spool_files(self._folder):
            try:
                with open_spool_file(self._folder / name) as file:
                    if file is None:
                        continue
                    if file.is_damaged() or (file.is_cut() and file.id in offsets):
                        self._move_to_quarantine(name, file)
                    elif file.is_cut():
                        waiting.append((os.fstat(file.descriptor).st_mtime_ns // 1000, name))
                    elif file.is_readable(self._opener.key_ids) and file.size() != file.unread_from(offsets):
                        waiting.append((self._since_us(file), name))
            except OSError as error:
                self._log_once(name, error)
        heapq.heapify(waiting)
        return waiting

    def _read_part(
        self, name: str, offsets: Mapping[bytes, int], limit_records: int, limit_bytes: int
    ) -> SpoolBatch | None:
        with open_spool_file(self._folder / name) as file:
            if file is not None and file.is_cut() and file.id not in offsets:
                return SpoolBatch(file=file.id, records=(), offset=file.size(), torn=1)
            if file is None or not file.is_readable(self._opener.key_ids):
                return None
            size, settled = self._size_and_settled(file)
            start = file.unread_from(offsets)
            if start > size:  # a power cut took back what was read: what comes now is new
                return SpoolBatch(file=file.id, records=(), offset=size, torn=1)

            def read(position: int, length: int) -> bytes:
                return read_at(file.descriptor, position, length)

            found = scan_records(read, size, settled, start, limit_records, limit_bytes, self._opener)
            if found.offset == start:
                return None
            if found.has_undecryptable:
                self._quarantine(name, file)
            told = [record.at for record in found.records if isinstance(record, HookRecord)]
            if told:
                self._reached_us[file.id] = told[-1]
            if found.offset < size:
                heapq.heappush(self._queue, (self._since_us(file), name))
            return SpoolBatch(file=file.id, records=found.records, offset=found.offset, torn=found.torn)

    def _since_us(self, file: SpoolFile) -> int:
        """World time before which nothing that waits in a readable file was written, microseconds."""
        assert file.header is not None
        return self._reached_us.get(file.id, file.header.created_us)

    def _log_once(self, name: str, error: OSError) -> None:
        """Say once what is wrong with a file; `measure_backlog` counts it as long as it waits."""
        if self._complained.get(name) != error.errno:
            self._complained[name] = error.errno
            _log.warning("a spool file has to wait: %s", error)

    def _size_and_settled(self, file: SpoolFile) -> tuple[int, bool]:
        """How long a file is, and whether nobody was writing then."""
        with try_lock(file.descriptor, fcntl.LOCK_SH) as is_held:
            seen = os.fstat(file.descriptor)
        if is_held is None:  # whoever writes is done by then, or dead
            is_held = self._clock.now_us() / 1e6 - seen.st_mtime >= IDLE_S
        return seen.st_size, is_held

    def _quarantine(self, name: str, file: SpoolFile) -> None:
        """Give a file a second name, under which it stays."""
        quarantine = self._folder / QUARANTINE
        quarantine.mkdir(mode=0o700, exist_ok=True)
        for number in itertools.count():  # damaged headers may be the same bytes, such as zeros
            kept = quarantine / f"{file.id.hex()}{f'.{number}' if number else ''}{SUFFIX}"
            try:
                os.link(self._folder / name, kept, follow_symlinks=False)
                break
            except FileExistsError:
                if os.path.samestat(kept.lstat(), os.fstat(file.descriptor)):
                    return
        if not os.path.samestat(kept.lstat(), os.fstat(file.descriptor)):  # replaced this moment: the next part tries
            kept.unlink()
            raise FileNotFoundError(errno.ENOENT, "it was replaced", name)
        _log.warning("a spool file holds what cannot be opened, and is kept as %s", kept)

    def _move_to_quarantine(self, name: str, file: SpoolFile) -> None:
        """Keep a file under its second name alone, unless somebody is writing to it now."""
        with try_lock(file.descriptor, fcntl.LOCK_EX) as is_held:
            if is_held:
                self._quarantine(name, file)
                os.unlink(self._folder / name)

    def _is_consumed(self, file: SpoolFile, offsets: Mapping[bytes, int]) -> bool:
        """Whether there is nothing more to read, and nothing has come for a while."""
        seen = os.fstat(file.descriptor)
        if seen.st_size >= FILE_HEADER_BYTES and (
            not file.is_readable(self._opener.key_ids) or seen.st_size != file.unread_from(offsets)
        ):
            return False
        return self._is_idle(seen, IDLE_S)

    def _is_idle(self, seen: os.stat_result, limit_s: float) -> bool:
        """Whether a file has not changed for so long; one of the future is from before the clock was set back."""
        return abs(self._clock.now_us() / 1e6 - seen.st_mtime) >= limit_s

    def _remove(self, name: str, file: SpoolFile, offsets: Mapping[bytes, int]) -> bool:
        path = self._folder / name
        with try_lock(file.descriptor, fcntl.LOCK_EX) as is_held:
            if not is_held:
                return False
            size = file.size()
            if size < FILE_HEADER_BYTES:  # none of a hook's, or what a power cut left of one
                if size:
                    self._quarantine(name, file)
            elif size != file.unread_from(offsets):
                return False
            if not os.path.samestat(path.lstat(), os.fstat(file.descriptor)):
                return False
            path.unlink()
        return True

    def _sync_removals(self) -> bool:
        """Have the disk know what was removed; says whether it does."""
        try:
            fsync_path(self._folder)
        except OSError as error:
            self._log_once(self._folder.name, error)
            return False
        return True

    def _remove_stale_drafts(self) -> None:
        """Remove what writers that were killed meant to become files."""
        try:
            drafts = [entry for entry in os.scandir(self._folder) if entry.name.startswith(_DRAFT)]
        except FileNotFoundError:
            return
        for draft in drafts:
            try:
                if self._is_idle(draft.stat(follow_symlinks=False), _DRAFT_S):
                    os.unlink(draft.path)
            except FileNotFoundError:  # its writer was not dead
                _log.debug("%s went by itself", draft.name)
