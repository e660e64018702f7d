"""Told: the note that is left in the spool where an assistant was told something and no process could write the log.

`mnemic.session_start` leaves it, as a hook leaves what happened; `mnemic.actors.capture.drain` takes it in, so that the
log says what was given then, too.
"""

from __future__ import annotations

import msgspec

from mnemic.actors.protocol.changes import RecordGiven
from mnemic.actors.protocol.errors import NoSuchMemory
from mnemic.actors.protocol.events import Record, printable
from mnemic.actors.protocol.snapshot import Snapshot

__all__ = ["TOLD", "known_part", "note", "told_by"]

TOLD = "told"
"""What the record is called; no host has such an event."""


def note(change: RecordGiven) -> bytes:
    """What is left in the spool of it."""
    return msgspec.json.encode(change)


def told_by(record: Record) -> RecordGiven | str:
    """What was told, of the host and at the time that the record says; or why that cannot be read."""
    try:
        change = msgspec.json.decode(record.payload, type=RecordGiven)
    except msgspec.DecodeError:
        return "it is no note of what was told"
    return msgspec.structs.replace(
        change,
        assistant=str(printable(record.assistant)),
        session=str(printable(change.session)),
        scope=str(printable(change.scope)),
        why=tuple(map(printable, change.why)),
        at=record.at,
    )


def known_part(change: RecordGiven, snapshot: Snapshot) -> RecordGiven:
    """The change without memories that are not there any more."""
    whys = (*change.why, *[""] * (len(change.memories) - len(change.why)))
    kept = [pair for pair in zip(change.memories, whys, strict=False) if _is_there(pair[0], snapshot)]
    return msgspec.structs.replace(
        change, memories=tuple(memory for memory, _ in kept), why=tuple(why for _, why in kept)
    )


def _is_there(memory: bytes, snapshot: Snapshot) -> bool:
    try:
        snapshot.rows_of([memory])
    except NoSuchMemory:
        return False
    return True
