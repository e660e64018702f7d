"""Applying changes about capture: quarantined records, transcripts, unredacted originals, trial events.

Beside `mnemic.runtime.store.apply.memories`, which carries out the changes of memories and their meaning, and hands the
others on to here; those of the spool are carried out by `mnemic.runtime.store.apply.spool`.

Carrying out what is said of whole conversations: that one is to be left alone, and how one is held.

Carrying out the changes that say which backups and exports were made: what is erased later is still in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import msgspec

from mnemic.actors.protocol.changes import (
    Change,
    FinishTranscript,
    IgnoreSession,
    KeepOriginal,
    QuarantineRecord,
    QueueTranscript,
    RecordBackup,
    RecordSelfTest,
    ReleaseRecord,
    SetSessionMode,
    TranscriptState,
)
from mnemic.runtime.store.apply.history import HistoryApplier
from mnemic.runtime.store.apply.spool import CHANGED, UNCHANGED, ChangeResult, SpoolApplier
from mnemic.runtime.store.read.capture import read_transcript_state
from mnemic.runtime.store.texts import drop_text_if_unused, store_text

__all__ = ["BACKUP_TABLES", "CAPTURE_TABLES", "BackupRecordApplier", "CaptureApplier", "SessionApplier"]


class SessionApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            IgnoreSession: self._silence,
            SetSessionMode: self._mark,
        }

    def _silence(self, change: IgnoreSession, at: int) -> ChangeResult:
        name = (change.assistant, change.session)
        if self._db.execute("SELECT 1 FROM silenced WHERE assistant = ? AND session = ?", name).get is not None:
            return UNCHANGED
        self._db.execute("INSERT INTO silenced(assistant, session) VALUES(?, ?)", name)
        return CHANGED

    def _mark(self, change: SetSessionMode, at: int) -> ChangeResult:
        name = (change.assistant, change.session)
        before = self._db.execute("SELECT mode FROM sessions WHERE assistant = ? AND name = ?", name).get
        if before is None or before == change.mode:
            return UNCHANGED
        self._db.execute("UPDATE sessions SET mode = ? WHERE assistant = ? AND name = ?", (change.mode, *name))
        return CHANGED


BACKUP_TABLES = ("backups",)
"""What is written here alone; it can be made again from the log."""


class BackupRecordApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            RecordBackup: self._record_backup,
        }

    def _record_backup(self, change: RecordBackup, at: int) -> ChangeResult:
        self._db.execute(
            "INSERT INTO backups(path, what, size, at) VALUES(?, ?, ?, ?)",
            (change.path, change.what, change.size_bytes, at),
        )
        return CHANGED


_decode = msgspec.msgpack.Decoder(Change).decode

CAPTURE_TABLES = (
    *("spool", "occurrences", "aside", "transcripts", "originals", "checks", "silenced", "given_parts", "givings"),
    *BACKUP_TABLES,
)
"""What is written here and there alone; all of it can be made again from the log."""


class CaptureApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(
        self, connection: apsw.Connection, identity: Callable[..., bytes], row_of: Callable[[bytes], int]
    ) -> None:
        """Write by a connection.

        Args:
            identity: the mind's keyed hash.
            row_of: finds the row of a memory's id, or raises `NoSuchMemory`.
        """
        self._db = connection
        self._identity = identity
        self._row_of = row_of
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            **SpoolApplier(connection).handlers,
            QuarantineRecord: self._quarantine,
            ReleaseRecord: self._readmit,
            QueueTranscript: self._queue_transcript,
            FinishTranscript: self._finish_transcript,
            KeepOriginal: self._keep_original,
            RecordSelfTest: self._record_check,
            **HistoryApplier(connection, identity, row_of).handlers,
            **SessionApplier(connection).handlers,
            **BackupRecordApplier(connection).handlers,
        }

    # --- set aside ---------------------------------------------------------------------------------------------------

    def _quarantine(self, change: QuarantineRecord, at: int) -> ChangeResult:
        if self._db.execute("SELECT 1 FROM aside WHERE record = ?", (change.record,)).get is not None:
            return UNCHANGED
        text = store_text(self._db, change.text, self._identity) if change.text else None
        self._db.execute(
            "INSERT INTO aside(record, assistant, event, why, text, at, cwd, branch, recorded_at)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                change.record,
                change.assistant,
                change.event,
                change.why,
                text,
                change.at,
                change.cwd,
                change.branch,
                at,
            ),
        )
        return ChangeResult(text=text)

    def _readmit(self, change: ReleaseRecord, at: int) -> ChangeResult:
        waits: Any = self._db.execute(
            "SELECT text FROM aside WHERE record = ? AND readmitted_at IS NULL", (change.record,)
        ).fetchone()
        if waits is None:
            return UNCHANGED
        self._db.execute("UPDATE aside SET readmitted_at = ?, text = NULL WHERE record = ?", (at, change.record))
        if waits[0] is not None:
            self._delete_payload(change.record, waits[0])
        return CHANGED

    def _delete_payload(self, record: bytes, text: int) -> None:
        """Drop the payload of a record from the log too, where nothing else needs it: its memories are kept."""
        rows: list[Any] = self._db.execute("SELECT seq, change FROM log WHERE text = ?", (text,)).fetchall()
        for seq, encoded in rows:
            change = _decode(encoded)
            if isinstance(change, QuarantineRecord) and change.record == record:
                self._db.execute("UPDATE log SET text = NULL WHERE seq = ?", (seq,))
        drop_text_if_unused(self._db, text)

    # --- transcripts -------------------------------------------------------------------------------------------------

    def _queue_transcript(self, change: QueueTranscript, at: int) -> ChangeResult:
        known = read_transcript_state(self._db, change.path)
        state = TranscriptState(
            format=change.format,
            due_at=change.due_at,
            changed_at=change.changed_at,
            size_bytes=None if known is None else known.size_bytes,
            taken_at=None if known is None else known.taken_at,
            why="" if known is None else known.why,
        )
        return self._put_transcript(change.path, known, state)

    def _finish_transcript(self, change: FinishTranscript, at: int) -> ChangeResult:
        known = read_transcript_state(self._db, change.path)
        if known is None:
            return UNCHANGED
        # One that was put off meanwhile, because its session went on, comes again then.
        due_at = known.due_at if known.due_at is not None and known.due_at > at else None
        state = TranscriptState(
            format=known.format,
            due_at=due_at,
            changed_at=known.changed_at,
            size_bytes=change.size_bytes,
            taken_at=at,
            why=change.why,
        )
        return self._put_transcript(change.path, known, state)

    def _put_transcript(self, path: str, known: TranscriptState | None, state: TranscriptState) -> ChangeResult:
        if state == known:
            return UNCHANGED
        self._db.execute(
            "INSERT OR REPLACE INTO transcripts(path, format, due_at, changed_at, size, taken_at, why)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)",
            (path, state.format, state.due_at, state.changed_at, state.size_bytes, state.taken_at, state.why),
        )
        return CHANGED

    # --- beside memories ---------------------------------------------------------------------------------------------

    def _keep_original(self, change: KeepOriginal, at: int) -> ChangeResult:
        row = self._row_of(change.memory)
        if self._db.execute("SELECT 1 FROM originals WHERE memory = ?", (row,)).get is not None:
            return UNCHANGED
        text = store_text(self._db, change.text, self._identity)
        self._db.execute("INSERT INTO originals(memory, text) VALUES(?, ?)", (row, text))
        return ChangeResult(text=text)

    def _record_check(self, change: RecordSelfTest, at: int) -> ChangeResult:
        self._db.execute("INSERT OR REPLACE INTO checks VALUES(?, ?, ?)", (change.assistant, change.nonce, at))
        return CHANGED
