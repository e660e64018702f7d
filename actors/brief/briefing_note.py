"""Briefing note: the spool record of a briefing given while no server process could write the log.

`mnemic.session_start` leaves it, as a hook leaves what happened; `mnemic.actors.capture.drain` takes it in, so that the
log says what was given then, too.
"""

from __future__ import annotations

import msgspec

from mnemic.actors.protocol.changes import RecordBriefing
from mnemic.actors.protocol.errors import NoSuchMemory
from mnemic.actors.protocol.events import HookRecord, escape_surrogates
from mnemic.actors.protocol.snapshot import Snapshot

__all__ = ["BRIEFING_NOTE", "decode_note", "drop_missing", "encode_note"]

BRIEFING_NOTE = "told"
"""What the record is called; no host has such an event."""


def encode_note(change: RecordBriefing) -> bytes:
    """What is left in the spool of it."""
    return msgspec.json.encode(change)


def decode_note(record: HookRecord) -> RecordBriefing | str:
    """What was told, of the host and at the time that the record says; or why that cannot be read."""
    try:
        change = msgspec.json.decode(record.payload, type=RecordBriefing)
    except msgspec.DecodeError:
        return "it is no note of what was told"
    return msgspec.structs.replace(
        change,
        assistant=str(escape_surrogates(record.assistant)),
        session=str(escape_surrogates(change.session)),
        scope=str(escape_surrogates(change.scope)),
        why=tuple(map(escape_surrogates, change.why)),
        at=record.at,
    )


def drop_missing(change: RecordBriefing, snapshot: Snapshot) -> RecordBriefing:
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
