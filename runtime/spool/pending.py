"""What waits in the spool (the files that hooks write), and what hooks lost: counted without the private key.

For `status` and the examination: it takes no lock for longer than a look, and needs no private key, so that it also
tells of a mind that is locked. Below stands `mnemic.runtime.spool.spool`, which reads the same files.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mnemic.runtime.spool.files import QUARANTINE, SpoolFile, open_spool_file, spool_files
from mnemic.runtime.spool.frames import FILE_HEADER_BYTES, FRAME_HEADER_BYTES, key_id, parse_frame_header, record_time

if TYPE_CHECKING:
    from mnemic.runtime.spool.decrypt import FrameDecryptor

__all__ = ["Backlog", "Losses", "measure_backlog", "read_losses"]

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
    """Files that cannot be opened, by name."""


class Losses(msgspec.Struct, frozen=True, kw_only=True):
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
    aside: tuple[str, ...]
    """Files that hold what could not be opened, and are kept; by name."""
    aside_bytes: int
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
            with open_spool_file(folder / name, offsets) as file:
                if file is None or (own is not None and not file.is_readable(own)):
                    continue
                size, start = file.size(), max(file.start, offsets.get(file.id, 0))
                if size < FILE_HEADER_BYTES or size <= start:
                    continue
                files += 1
                size_bytes += size - start
                since.append(_oldest_unread_at(file, start, opener))
        except OSError:
            unreadable.append(name)
    return Backlog(files=files, size_bytes=size_bytes, oldest_at=min(since, default=None), unreadable=tuple(unreadable))


def read_losses(folder: Path) -> Losses:
    """Say what of a spool was lost, is another key's, or is kept aside."""
    own = _own_key_ids(folder)
    foreign, foreign_bytes = [], 0
    for name in spool_files(folder):
        try:
            with open_spool_file(folder / name, {}) as file:
                if file is not None and own is not None and not file.is_readable(own):
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
        aside=tuple(kept),
        aside_bytes=sum(kept.values()),
    )


def _own_key_ids(folder: Path) -> frozenset[bytes] | None:
    """Ids of the key that hooks seal to now, and of those from before; ``None`` where nothing says so."""
    try:
        card = json.loads((folder.parent / "spool.json").read_bytes())
        return frozenset([key_id(bytes.fromhex(card["public"])), *map(bytes.fromhex, card.get("earlier", ()))])
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
    if start <= FILE_HEADER_BYTES and file.created_us is not None:
        return file.created_us
    return os.fstat(file.descriptor).st_mtime_ns // 1000


def _read_loss_counter(path: Path) -> tuple[int, int, int]:
    """How many events were lost, when the last one, and how many bytes; nothing, where nobody counts."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0, 0, 0
    return _LOSSES.unpack_from(data) if len(data) >= _LOSSES.size else (0, 0, 0)
