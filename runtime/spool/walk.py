"""Scanning a spool file for whole records, past torn or damaged places. No I/O.

Pure: bytes come from a function. `mnemic.runtime.spool.frames` says what they mean; `mnemic.runtime.spool.spool` has
the files.

Guarantees: a record whose frames are there is returned once, in order; what is in between is counted, once for each
place: a record that began and did not come whole, a stretch without a header. What may still be on its way is neither.
A frame that was cut short says a length that reaches into what was written after it, so a length is only believed
where the frame opens; else the next mark is looked for right behind the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.ports import UndecodedRecord
from mnemic.runtime.spool.frames import (
    FRAME_HEADER_BYTES,
    FRAME_MAGIC,
    FrameDecryptor,
    FrameHeader,
    parse_frame_header,
    parse_record,
)

ReadBytes = Callable[[int, int], bytes]
"""Gives so many bytes from an offset; fewer only at the end."""

MAX_RECORD_BYTES = 512 << 20
"""The longest record that is put together; SQLite takes no more than twice that."""
_WINDOW_BYTES = 1 << 20


class ScanResult(NamedTuple):
    """How far one walk came."""

    records: tuple[HookRecord | UndecodedRecord, ...]
    """In the order in which they were written."""
    offset: int
    """Where the next walk starts."""
    torn: int
    """Places passed that hold no whole record."""
    has_undecryptable: bool
    """Whether something was passed that a cut does not explain: the file is to be kept."""


class _Outcome(NamedTuple):
    record: HookRecord | UndecodedRecord | None
    """The record, if it came whole."""
    end: int | None
    """Where to go on; ``None`` where the rest may still come."""
    tears: int = 0
    """Places in the record that had to be passed."""
    size: int = 0
    """How long the record is."""


def scan_records(
    read: ReadBytes, size: int, settled: bool, offset: int, limit_records: int, limit_bytes: int, opener: FrameDecryptor
) -> ScanResult:
    """Walk on from an offset, until there are so many records, or so many bytes of them, at least one.

    Args:
        size: how long the file is.
        settled: whether nobody was writing when it was as long as that: what is incomplete then stays so.
    """
    return _RecordScanner(read, size, settled, opener).scan(offset, limit_records, limit_bytes)


class _RecordScanner:
    def __init__(self, read: ReadBytes, size: int, settled: bool, opener: FrameDecryptor) -> None:
        self._read = read
        self._size = size
        self._settled = settled
        self._opener = opener
        self._has_undecryptable = False

    def scan(self, offset: int, limit_records: int, limit_bytes: int) -> ScanResult:
        records: list[HookRecord | UndecodedRecord] = []
        taken, torn, last, stretch = 0, 0, b"", False
        while offset < self._size:
            full = len(records) >= limit_records or taken >= limit_bytes
            if records and full and not self._is_repeated_frame(offset, last):
                break
            position, frame = self._next_frame(offset)
            if frame is None or position > offset:
                if not self._settled:
                    break
                torn, offset, stretch = torn + 1, position, True
                continue
            outcome = self._assemble_record(position, frame, last)
            if outcome.end is None:
                break
            if outcome.record is None:  # what is left of a record whose start is gone belongs to the stretch before
                torn += not (stretch and frame.number)
            else:
                records.append(outcome.record)
                last = outcome.record.id
                taken += outcome.size
                torn += outcome.tears
            offset, stretch = outcome.end, False
        return ScanResult(tuple(records), offset, torn, self._has_undecryptable)

    def _is_repeated_frame(self, position: int, record: bytes) -> bool:
        """Whether what follows is a frame of the record before, written twice: the next walk would not know."""
        frame = parse_frame_header(self._bytes(position, FRAME_HEADER_BYTES))
        return frame is not None and frame.record == record

    def _assemble_record(self, start: int, first: FrameHeader, before: bytes) -> _Outcome:
        """Put a record together from its first frame on, or find out that it cannot be.

        Args:
            before: the id of the record before: a frame that was written twice is none of the next.
        """
        parts: list[bytes] = []
        position, frame = start, first
        tears, searching, lost, total = 0, False, first.record == before, 0
        while True:
            part = None
            if not lost and frame.number == len(parts):
                part = self._decrypt(position, frame)
            if part is not None:
                tears, searching, total = tears + searching, False, total + len(part)
                if total > MAX_RECORD_BYTES:
                    lost, self._has_undecryptable = True, True
                    parts.clear()
                else:
                    parts.append(part)
                position += frame.total_bytes
                if frame.last and not lost:
                    return _Outcome(parse_record(first.record, parts), position, tears, total)
                following = self._next_frame(position)
                searching = following[0] > position
            else:
                searching = True
                following = self._next_frame(position + len(FRAME_MAGIC))
            if searching and not self._settled:  # a write that is half seen looks torn
                return _Outcome(None, None)
            if part is None:
                self._note_undecryptable(position, frame, following[0])
            position, found = following
            if found is None:
                return _Outcome(None, self._size if self._settled else None)
            if found.record != first.record:
                return _Outcome(None, position)
            frame = found

    def _decrypt(self, position: int, frame: FrameHeader) -> bytes | None:
        if position + frame.total_bytes > self._size:
            return None
        return self._opener.decrypt(frame, self._bytes(position + FRAME_HEADER_BYTES, frame.sealed_bytes))

    def _note_undecryptable(self, position: int, frame: FrameHeader, following: int) -> None:
        """Note a frame that is there from end to end, and yet did not open: no cut makes that."""
        if position + frame.total_bytes <= following and self._decrypt(position, frame) is None:
            self._has_undecryptable = True

    def _next_frame(self, position: int) -> tuple[int, FrameHeader | None]:
        """The next header from a position on; the end, where there is none."""
        frame = parse_frame_header(self._bytes(position, FRAME_HEADER_BYTES))
        while frame is None:
            found = self._next_magic(position + 1)
            if found is None:
                return self._size, None
            position = found
            frame = parse_frame_header(self._bytes(position, FRAME_HEADER_BYTES))
        return position, frame

    def _next_magic(self, position: int) -> int | None:
        """The next mark from a position on."""
        while position < self._size:
            window = self._bytes(position, _WINDOW_BYTES)
            found = window.find(FRAME_MAGIC)
            if found >= 0:
                return position + found
            if len(window) < _WINDOW_BYTES:
                return None
            position += len(window) - len(FRAME_MAGIC) + 1
        return None

    def _bytes(self, position: int, length: int) -> bytes:
        """Bytes of the file as long as it was: what came since is another walk's."""
        return self._read(position, min(length, self._size - position))
