"""Applying changes of the spool's state: how far each file was read, and how often each text occurred.

Below `mnemic.runtime.store.apply.capture`, which carries out what else is captured by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import apsw
import msgspec

from mnemic.actors.protocol.changes import (
    AdvanceSpool,
    Change,
    CountOccurrences,
    DiscardSpoolFile,
    OccurrenceCount,
)
from mnemic.actors.protocol.messages import AddOutcome
from mnemic.actors.protocol.scopes import ScopeChange
from mnemic.runtime.store.read.capture import TOTALS_ROW, read_occurrences

__all__ = ["CHANGED", "UNCHANGED", "ChangeResult", "SpoolApplier"]


class ChangeResult(NamedTuple):
    """What came of a change."""

    changed: bool = True
    """Whether anything did."""
    text: int | None = None
    """Row of the text it brought."""
    kept: AddOutcome | None = None
    """What an `AddMemory` became."""
    logged: Change | None = None
    """What the log says in place of the change: what it came to, so that it comes to the same again."""
    undo: ScopeChange | None = None
    """What takes back a change of scopes."""


CHANGED = ChangeResult()
UNCHANGED = ChangeResult(changed=False)


class SpoolApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            AdvanceSpool: self._advance_spool,
            DiscardSpoolFile: self._forget_spool_file,
            CountOccurrences: self._count_occurrences,
        }

    def _advance_spool(self, change: AdvanceSpool, at: int) -> ChangeResult:
        found = self._db.execute("SELECT offset, records, torn FROM spool WHERE file = ?", (change.file,)).fetchone()
        offset, records, torn = found or (0, 0, 0)
        if change.offset == offset and not change.records and not change.torn:
            return UNCHANGED
        self._db.execute(
            "INSERT OR REPLACE INTO spool(file, offset, records, torn) VALUES(?, ?, ?, ?)",
            (change.file, change.offset, records + change.records, torn + change.torn),
        )
        return CHANGED

    def _forget_spool_file(self, change: DiscardSpoolFile, at: int) -> ChangeResult:
        found = self._db.execute(
            "DELETE FROM spool WHERE file = ? AND file != ? RETURNING records, torn", (change.file, TOTALS_ROW)
        ).fetchone()
        if found is None:
            return UNCHANGED
        self._db.execute(
            "INSERT INTO spool(file, offset, records, torn) VALUES(?, 0, ?, ?)"
            " ON CONFLICT(file) DO UPDATE SET records = records + excluded.records, torn = torn + excluded.torn",
            (TOTALS_ROW, *found),
        )
        self._db.execute("DELETE FROM spool WHERE file = ? AND records = 0 AND torn = 0", (TOTALS_ROW,))
        return CHANGED

    def _count_occurrences(self, change: CountOccurrences, at: int) -> ChangeResult:
        result = UNCHANGED
        for count in change.counts:
            known = read_occurrences(self._db, count.identity) or OccurrenceCount(identity=count.identity)
            if count != known and count.hooks >= known.hooks:
                self._db.execute(
                    "INSERT OR REPLACE INTO occurrences VALUES(?, ?, ?, ?)", msgspec.structs.astuple(count)
                )
                result = CHANGED
        return result
