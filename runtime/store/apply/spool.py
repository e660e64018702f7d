"""Applying changes of the spool's state: how far each file was read, and how often each text occurred.

Below `mnemic.runtime.store.apply.capture`, which carries out what else is captured by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import msgspec

from mnemic.actors.protocol.changes import (
    AdvanceSpool,
    CountOccurrences,
    DiscardSpoolFile,
    Inverse,
    OccurrenceCount,
    RestoreOccurrences,
    RestoreSpoolFile,
    RewindSpool,
)
from mnemic.actors.protocol.messages import AddOutcome
from mnemic.runtime.store.read.capture import TOTALS_ROW, read_occurrences

__all__ = ["ChangeResult", "SpoolApplier"]

ChangeResult = tuple[AddOutcome | None, Inverse | None, bool, int | None]
"""What an `AddMemory` became; the inverse; whether anything was changed; the row of the text it brought."""
_UNCHANGED: ChangeResult = (None, None, False, None)


class SpoolApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            AdvanceSpool: self._advance_spool,
            RewindSpool: self._rewind_spool,
            DiscardSpoolFile: self._forget_spool_file,
            RestoreSpoolFile: self._remember_spool_file,
            CountOccurrences: self._count_occurrences,
            RestoreOccurrences: self._recount,
        }

    def _advance_spool(self, change: AdvanceSpool, at: int) -> ChangeResult:
        found = self._db.execute("SELECT offset, records, torn FROM spool WHERE file = ?", (change.file,)).fetchone()
        offset, records, torn = found or (0, 0, 0)
        if change.offset == offset and not change.records and not change.torn:
            return _UNCHANGED
        self._db.execute(
            "INSERT OR REPLACE INTO spool(file, offset, records, torn) VALUES(?, ?, ?, ?)",
            (change.file, change.offset, records + change.records, torn + change.torn),
        )
        return None, RewindSpool(file=change.file, offset=offset, records=records, torn=torn), True, None

    def _rewind_spool(self, change: RewindSpool, at: int) -> ChangeResult:
        if change.offset or change.records or change.torn:
            self._db.execute(
                "UPDATE spool SET offset = ?, records = ?, torn = ? WHERE file = ?",
                (change.offset, change.records, change.torn, change.file),
            )
        else:
            self._db.execute("DELETE FROM spool WHERE file = ?", (change.file,))
        return None, None, True, None

    def _forget_spool_file(self, change: DiscardSpoolFile, at: int) -> ChangeResult:
        found = self._db.execute(
            "DELETE FROM spool WHERE file = ? AND file != ? RETURNING offset, records, torn", (change.file, TOTALS_ROW)
        ).fetchone()
        if found is None:
            return _UNCHANGED
        offset, records, torn = found
        self._add_to_totals(records, torn)
        return None, RestoreSpoolFile(file=change.file, offset=offset, records=records, torn=torn), True, None

    def _remember_spool_file(self, change: RestoreSpoolFile, at: int) -> ChangeResult:
        self._db.execute(
            "INSERT INTO spool(file, offset, records, torn) VALUES(?, ?, ?, ?)",
            (change.file, change.offset, change.records, change.torn),
        )
        self._add_to_totals(-change.records, -change.torn)
        return None, None, True, None

    def _add_to_totals(self, records: int, torn: int) -> None:
        self._db.execute(
            "INSERT INTO spool(file, offset, records, torn) VALUES(?, 0, ?, ?)"
            " ON CONFLICT(file) DO UPDATE SET records = records + excluded.records, torn = torn + excluded.torn",
            (TOTALS_ROW, records, torn),
        )
        self._db.execute("DELETE FROM spool WHERE file = ? AND records = 0 AND torn = 0", (TOTALS_ROW,))

    def _count_occurrences(self, change: CountOccurrences, at: int) -> ChangeResult:
        before: list[OccurrenceCount] = []
        for count in change.counts:
            known = read_occurrences(self._db, count.identity) or OccurrenceCount(identity=count.identity)
            if count != known and count.hooks >= known.hooks:
                before.append(known)
                self._put_count(count)
        if not before:
            return _UNCHANGED
        return None, RestoreOccurrences(counts=tuple(reversed(before))), True, None

    def _recount(self, change: RestoreOccurrences, at: int) -> ChangeResult:
        for count in change.counts:
            if count == OccurrenceCount(identity=count.identity):
                self._db.execute("DELETE FROM occurrences WHERE identity = ?", (count.identity,))
            else:
                self._put_count(count)
        return None, None, True, None

    def _put_count(self, count: OccurrenceCount) -> None:
        self._db.execute("INSERT OR REPLACE INTO occurrences VALUES(?, ?, ?, ?)", msgspec.structs.astuple(count))
