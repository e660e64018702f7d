"""Applying what capture keeps beside memories: how far the spool and transcripts were read, what was not understood,
how often texts occurred, conversations as a whole, what assistants were given, and where backups are.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mnemic.actors.capture.changes import (
    AdvanceSpool,
    CountOccurrences,
    DiscardSpoolFile,
    FinishTranscript,
    IgnoreSession,
    KeepOriginal,
    OccurrenceCount,
    QuarantineRecord,
    QueueTranscript,
    RecordSelfTest,
    ReleaseRecord,
    SetSessionMode,
    TranscriptState,
)
from mnemic.actors.log.changes import RecordDelivery
from mnemic.actors.transfer.changes import RecordBackup
from mnemic.runtime.store.apply_context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.capture.read import TOTALS_ROW, read_occurrences, read_transcript_state
from mnemic.runtime.store.texts import drop_text_if_unused, store_text


def _advance_spool(context: ApplyContext, change: AdvanceSpool, at: int) -> ChangeResult:
    found = context.db.execute("SELECT offset, records, torn FROM spool WHERE file = ?", (change.file,)).fetchone()
    offset, records, torn = found or (0, 0, 0)
    if change.offset == offset and not change.records and not change.torn:
        return UNCHANGED
    context.db.execute(
        "INSERT OR REPLACE INTO spool(file, offset, records, torn) VALUES(?, ?, ?, ?)",
        (change.file, change.offset, records + change.records, torn + change.torn),
    )
    return CHANGED


def _discard_spool_file(context: ApplyContext, change: DiscardSpoolFile, at: int) -> ChangeResult:
    found = context.db.execute(
        "DELETE FROM spool WHERE file = ? AND file != ? RETURNING records, torn", (change.file, TOTALS_ROW)
    ).fetchone()
    if found is None:
        return UNCHANGED
    if any(found):
        context.db.execute(
            "INSERT INTO spool(file, offset, records, torn) VALUES(?, 0, ?, ?)"
            " ON CONFLICT(file) DO UPDATE SET records = records + excluded.records, torn = torn + excluded.torn",
            (TOTALS_ROW, *found),
        )
    return CHANGED


def _count_occurrences(context: ApplyContext, change: CountOccurrences, at: int) -> ChangeResult:
    result = UNCHANGED
    for count in change.counts:
        known = read_occurrences(context.db, count.identity) or OccurrenceCount(identity=count.identity)
        if count != known and count.hooks >= known.hooks:
            context.db.execute("INSERT OR REPLACE INTO occurrences VALUES(?, ?, ?, ?)", msgspec.structs.astuple(count))
            result = CHANGED
    return result


def _quarantine(context: ApplyContext, change: QuarantineRecord, at: int) -> ChangeResult:
    if context.db.execute("SELECT 1 FROM aside WHERE record = ?", (change.record,)).get is not None:
        return UNCHANGED
    text = store_text(context.db, change.text, context.identity) if change.text else None
    about = (change.record, change.assistant, change.event, change.why, text, change.at, change.cwd, change.branch)
    context.db.execute(
        "INSERT INTO aside(record, assistant, event, why, text, at, cwd, branch, recorded_at, seq)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*about, at, context.seq),
    )
    return CHANGED


def _release(context: ApplyContext, change: ReleaseRecord, at: int) -> ChangeResult:
    waits: Any = context.db.execute(
        "SELECT text FROM aside WHERE record = ? AND readmitted_at IS NULL", (change.record,)
    ).fetchone()
    if waits is None:
        return UNCHANGED
    context.db.execute("UPDATE aside SET readmitted_at = ?, text = NULL WHERE record = ?", (at, change.record))
    if waits[0] is not None:
        drop_text_if_unused(context.db, waits[0])
    return CHANGED


def _queue_transcript(context: ApplyContext, change: QueueTranscript, at: int) -> ChangeResult:
    known = read_transcript_state(context.db, change.path)
    state = TranscriptState(
        format=change.format,
        due_at=change.due_at,
        changed_at=change.changed_at,
        size_bytes=None if known is None else known.size_bytes,
        taken_at=None if known is None else known.taken_at,
        why="" if known is None else known.why,
    )
    return _put_transcript(context, change.path, known, state)


def _finish_transcript(context: ApplyContext, change: FinishTranscript, at: int) -> ChangeResult:
    known = read_transcript_state(context.db, change.path)
    if known is None:
        return UNCHANGED
    # One that was put off meanwhile, because its session went on, comes again then.
    due_at = known.due_at if known.due_at is not None and known.due_at > at else None
    state = msgspec.structs.replace(known, due_at=due_at, size_bytes=change.size_bytes, taken_at=at, why=change.why)
    return _put_transcript(context, change.path, known, state)


def _put_transcript(
    context: ApplyContext, path: str, known: TranscriptState | None, state: TranscriptState
) -> ChangeResult:
    if state == known:
        return UNCHANGED
    context.db.execute(
        "INSERT OR REPLACE INTO transcripts(path, format, due_at, changed_at, size, taken_at, why)"
        " VALUES(?, ?, ?, ?, ?, ?, ?)",
        (path, *msgspec.structs.astuple(state)),
    )
    return CHANGED


def _ignore_session(context: ApplyContext, change: IgnoreSession, at: int) -> ChangeResult:
    context.db.execute(
        "INSERT OR IGNORE INTO silenced(assistant, session) VALUES(?, ?)", (change.assistant, change.session)
    )
    return ChangeResult(changed=bool(context.db.changes()))


def _set_session_mode(context: ApplyContext, change: SetSessionMode, at: int) -> ChangeResult:
    context.db.execute(
        "UPDATE sessions SET mode = ?1 WHERE assistant = ?2 AND name = ?3 AND mode != ?1",
        (change.mode, change.assistant, change.session),
    )
    return ChangeResult(changed=bool(context.db.changes()))


def _keep_original(context: ApplyContext, change: KeepOriginal, at: int) -> ChangeResult:
    row = context.memory_row(change.memory)
    if context.db.execute("SELECT 1 FROM originals WHERE memory = ?", (row,)).get is not None:
        return UNCHANGED
    text = store_text(context.db, change.text, context.identity)
    context.db.execute("INSERT INTO originals(memory, text) VALUES(?, ?)", (row, text))
    return ChangeResult(text=text)


def _record_delivery(context: ApplyContext, change: RecordDelivery, at: int) -> ChangeResult:
    about = (change.occasion, change.assistant, change.session, change.scope, change.query, change.tokens)
    context.db.execute(
        "INSERT INTO givings(seq, at, occasion, assistant, session, scope, query, tokens)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
        (context.seq, at if change.at is None else change.at, *about),
    )
    delivery = context.db.last_insert_rowid()
    for place, part in enumerate(change.parts):
        context.db.execute(
            "INSERT INTO given_parts(giving, place, memory, start, stop, why) VALUES(?, ?, ?, ?, ?, ?)",
            (delivery, place, context.memory_row(part.memory), part.start, part.stop, part.why),
        )
    return CHANGED


def _record_self_test(context: ApplyContext, change: RecordSelfTest, at: int) -> ChangeResult:
    context.db.execute("INSERT OR REPLACE INTO checks VALUES(?, ?, ?)", (change.assistant, change.nonce, at))
    return CHANGED


def _record_backup(context: ApplyContext, change: RecordBackup, at: int) -> ChangeResult:
    context.db.execute(
        "INSERT INTO backups(path, what, size, at) VALUES(?, ?, ?, ?)",
        (change.path, change.what, change.size_bytes, at),
    )
    return CHANGED


CAPTURE_HANDLERS: dict[type, Handler] = {
    AdvanceSpool: _advance_spool,
    DiscardSpoolFile: _discard_spool_file,
    CountOccurrences: _count_occurrences,
    QuarantineRecord: _quarantine,
    ReleaseRecord: _release,
    QueueTranscript: _queue_transcript,
    FinishTranscript: _finish_transcript,
    IgnoreSession: _ignore_session,
    SetSessionMode: _set_session_mode,
    KeepOriginal: _keep_original,
    RecordDelivery: _record_delivery,
    RecordSelfTest: _record_self_test,
    RecordBackup: _record_backup,
}
