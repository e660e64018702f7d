"""Reads hook records from the spool and stores what they report as memories, exactly once.

What the Capture actor does for `DrainSpool` and `RetryQuarantined`. All that follows from a part of a spool file goes
to the Store in one transaction with how far the file is taken in, under a key that follows from the file and the place:
whoever is killed when, the part is taken in once. What cannot be understood is quarantined, whole; the rest goes on.
It can be read again later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from mnemic.actors.brief.brief import BRIEFING_NOTE, decode_note, drop_missing
from mnemic.actors.capture.capture_filter import CaptureFilter, root_session, session_mode_changes
from mnemic.actors.capture.changes import (
    AdvanceSpool,
    DiscardSpoolFile,
    FinishTranscript,
    IgnoreSession,
    RecordSelfTest,
    ReleaseRecord,
)
from mnemic.actors.capture.gone_folders import GoneFolders
from mnemic.actors.capture.messages import Drained, DrainSpool, QuarantineRetried, RetryQuarantined
from mnemic.actors.capture.prepare import ChangeBuilder, apply_changes, unstorable_reason
from mnemic.actors.capture.quarantine import quarantine_change
from mnemic.actors.capture.transcript_queue import TranscriptQueue
from mnemic.actors.capture.transcripts import OccurrenceCounter
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Context, raise_location
from mnemic.actors.kernel.errors import ActorFailed, BadInput, MnemicError, UnreadableRecord
from mnemic.actors.kernel.events import (
    Event,
    HookEvent,
    HookRecord,
    IgnoredSession,
    SelfTestEvent,
    TranscriptRef,
    escape_surrogates,
)
from mnemic.actors.kernel.message import idempotency_key
from mnemic.actors.kernel.ports import RecordReader, SpoolBatch, SpoolPort, UndecodedRecord
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.log.changes import RecordDelivery
from mnemic.actors.store.messages import Checkpoint

_log = logging.getLogger("mnemic.capture")

_RETRY_BATCH_RECORDS = 64
_REJECTIONS = (BadInput, ActorFailed)
"""What the Store answers where it is a record's fault, or may be."""


class SpoolIntake:
    """Takes in what hooks kept, part by part."""

    def __init__(
        self,
        open_spool: Callable[[], SpoolPort],
        read_record: RecordReader,
        keeping: ChangeBuilder,
        leaving_out: CaptureFilter,
        queueing: TranscriptQueue,
        snapshots: SnapshotSource,
        gone_folders: Callable[[], GoneFolders],
        batch_records: int,
        batch_bytes: int,
    ) -> None:
        self._open_spool = open_spool
        self._spool: SpoolPort | None = None
        self._read_record = read_record
        self._keeping = keeping
        self._leaving_out = leaving_out
        self._queueing = queueing
        self._snapshots = snapshots
        self._gone_folders = gone_folders
        self._folders = gone_folders()
        self._batch_records = batch_records
        self._batch_bytes = batch_bytes
        self._keys: set[bytes] = set()  # of the parts that were taken in since nothing was left
        self._single_records_left = 0  # so many records are taken one by one: the Store has refused them together

    def drain(self, message: DrainSpool, context: Context) -> Drained:
        """Take in the next part of the spool, or, where nothing is left of it, of a transcript that is due.

        Raises:
            StoreError, RuntimeFault: nothing of this part was kept; it comes again.
        """
        spool = self._open_once()
        with self._snapshots.snapshot() as snapshot:
            offsets, tears = snapshot.spool_offsets(), snapshot.torn_counts()
        part = spool.read(offsets, 1 if self._single_records_left else self._batch_records, self._batch_bytes)
        if part is not None:
            return self._capture_part(part, offsets.get(part.file, 0), tears.get(part.file, 0), context)
        self._single_records_left = 0
        self._keys.clear()
        gone = spool.remove_consumed(offsets, lambda: context.ask(Checkpoint()).complete)
        if gone:  # who dies before this is kept finds them gone the next time
            apply_changes(
                [DiscardSpoolFile(file=file) for file in gone], idempotency_key("forget", context.trace, *gone), context
            )
        return self._queueing.capture_due(context) if message.transcripts else Drained()

    def oldest_at(self, offsets: Mapping[bytes, int]) -> int | None:
        """World time of the oldest event that is not taken in, microseconds."""
        return self._open_once().oldest_at(offsets)

    def _open_once(self) -> SpoolPort:
        if self._spool is None:
            self._spool = self._open_spool()
        return self._spool

    def retry_quarantined(self, message: RetryQuarantined, context: Context) -> QuarantineRetried:
        """Try again what is quarantined: the next few records, each for itself; then transcripts that failed."""
        with self._snapshots.snapshot() as snapshot:
            waiting = snapshot.quarantined_records(message.after, _RETRY_BATCH_RECORDS)
        self._folders = self._gone_folders()
        readmitted = 0
        for one in waiting:
            record = HookRecord(
                id=one.record,
                assistant=one.assistant,
                event=one.event,
                at=one.at,
                cwd=one.cwd,
                branch=one.branch,
                payload=one.payload,
            )
            understood = self._interpret(record) if one.event else "it could not be taken apart"
            if isinstance(understood, str):
                continue
            changes = self._changes([understood], context)
            if isinstance(changes, str):
                continue
            try:
                apply_changes(
                    [*changes, ReleaseRecord(record=one.record)],
                    idempotency_key("readmit", "spool", one.record),
                    context,
                    "hook",
                )
            except _REJECTIONS as error:
                _log.warning("a quarantined record was refused again: %s", error.code)
            else:
                readmitted += 1
        if len(waiting) == _RETRY_BATCH_RECORDS:
            return QuarantineRetried(readmitted=readmitted, after=waiting[-1].row, queued=0, more=True)
        with self._snapshots.snapshot() as snapshot:
            again = self._queueing.queue_failed(snapshot, context)
        if again:
            apply_changes(again, idempotency_key("retry", context.trace), context)
        gone = sum(isinstance(one, FinishTranscript) for one in again)
        after = waiting[-1].row if waiting else message.after
        return QuarantineRetried(readmitted=readmitted, after=after, queued=len(again) - gone, gone=gone, more=False)

    def _capture_part(self, part: SpoolBatch, start: int, tears: int, context: Context) -> Drained:
        self._folders = self._gone_folders()
        understood: list[_Interpretation] = []
        quarantined: list[Change] = []
        left_out = 0
        for record in part.records:
            found = record.why if isinstance(record, UndecodedRecord) else self._interpret(record)
            if isinstance(found, _Interpretation):
                understood.append(found)
                left_out += found.left_out
            else:
                quarantined.append(quarantine_change(record, found, self._keeping.scrub))
        changes = self._changes(understood, context)
        if isinstance(changes, str):
            if len(part.records) > 1:  # one of them is at fault: they come again, each for itself
                return self._one_by_one(len(part.records))
            quarantined, changes = [quarantine_change(part.records[0], changes, self._keeping.scrub)], []
        advance = AdvanceSpool(file=part.file, offset=part.offset, records=len(part.records), torn=part.torn)
        # A power cut may take back what was read; what comes then at the same place is another part, one tear later.
        key = idempotency_key("drain", "spool", part.file, b"%d" % start, b"%d" % tears)
        if key in self._keys:  # it was forgotten, and is here again: a copy was put back
            key = idempotency_key("again", context.trace, key)
        try:
            kept = apply_changes([*changes, *quarantined, advance], key, context, "hook").kept
        except _REJECTIONS as error:
            if not part.records:
                raise
            if len(part.records) > 1:
                return self._one_by_one(len(part.records))
            _log.error("the store refused a record of %s: %s", _assistant(part.records[0]), error.code)
            why = f"the store refused it ({error.code})"
            kept, quarantined = (), [quarantine_change(part.records[0], why, self._keeping.scrub)]
            apply_changes([*quarantined, advance], key, context)
        self._keys.add(key)
        self._single_records_left = max(0, self._single_records_left - len(part.records))
        return Drained(
            records=len(part.records),
            new=sum(one.created for one in kept),
            known=sum(not one.created for one in kept),
            quarantined=len(quarantined),
            left_out=left_out,
            torn=part.torn,
            more=bool(part.records) or part.offset != start,
        )

    def _one_by_one(self, count: int) -> Drained:
        self._single_records_left = count
        return Drained(more=True)

    def _interpret(self, record: HookRecord) -> _Interpretation | str:
        """What a record stands for; or why that cannot be told, or cannot be kept.

        Raises:
            PausesUnreadable, StoreError, RuntimeFault: that is no record's fault.
        """
        try:
            return self._understand(record)
        except MnemicError:
            raise
        except Exception as error:  # whatever it is about this record, it must not stop what others keep: logged
            return _defect(record, error)

    def _understand(self, record: HookRecord) -> _Interpretation | str:
        self._folders.note_record(record)
        if record.event == BRIEFING_NOTE:
            told = decode_note(record)
            return told if isinstance(told, str) else _Interpretation(briefings=[told])
        left_out = self._leaving_out.excludes_record(record, self._folders.folder_scope)
        found = self._read(record)
        if isinstance(found, str):  # what is not understood may be of the very thing that is left out
            return _Interpretation(left_out=1) if left_out else found
        kept = _Interpretation(
            transcripts=[] if left_out else [(one, record.at) for one in found if isinstance(one, TranscriptRef)],
            self_tests=[one for one in found if isinstance(one, SelfTestEvent)],
            ignored_sessions=[one for one in found if isinstance(one, IgnoredSession)],
        )
        for one in found:
            if not isinstance(one, Event):
                continue
            if left_out:
                kept.left_out += 1
                continue
            why = self._collect_event(_with_record_defaults(one, record), record, kept)
            if why is not None:
                return why
        return kept

    def _collect_event(self, event: Event, record: HookRecord, kept: _Interpretation) -> str | None:
        """Note an event with what is kept of its record, unless it is left out; or say why it cannot be."""
        why = unstorable_reason(event)
        if why is not None:
            return why
        place = self._folders.resolve_scope(event, None, anyway=True)
        if self._leaving_out.excludes_session_kind(event) or self._leaving_out.excludes_project(place, event.cwd):
            kept.left_out += 1
            if event.headless:  # not every host's transcript says so
                kept.ignored_sessions.append(IgnoredSession(assistant=event.assistant, session=event.session))
        elif isinstance(place, str):
            return place
        else:
            kept.events.append((event, place, record.at))
        return None

    def _read(self, record: HookRecord) -> list[HookEvent] | str:
        try:
            return self._read_record(record)
        except UnreadableRecord as error:
            return str(error.operands.get("why", error.code))
        except MnemicError as error:
            return str(error)

    def _changes(self, understood: Sequence[_Interpretation], context: Context) -> list[Change] | str:
        """What keeps all of it, in order; or why one of them cannot be kept."""
        try:
            with self._snapshots.snapshot() as snapshot:
                return self._all_changes(understood, snapshot, context)
        except MnemicError:
            raise
        except Exception as error:  # as above
            return _defect(None, error)

    def _all_changes(self, understood: Sequence[_Interpretation], snapshot: Snapshot, context: Context) -> list[Change]:
        changes: list[Change] = []
        counting = OccurrenceCounter(snapshot)
        for event, place, at in (found for one in understood for found in one.events):
            identity = self._keeping.identity(event, 1)
            occurrence = 1 if event.host_id is not None else counting.count_report(identity, at)
            identity = self._keeping.identity(event, occurrence)
            formerly = self._keeping.former_identity(event, occurrence)
            changes += self._keeping.changes(event, identity, place, context, formerly)
        changes += session_mode_changes(event for one in understood for event, _, _ in one.events)
        silences = {
            (one.assistant, root_session(one.session)): None for each in understood for one in each.ignored_sessions
        }
        changes += [
            IgnoreSession(assistant=str(escape_surrogates(assistant)), session=str(escape_surrogates(session)))
            for assistant, session in silences
        ]
        changes += counting.changes()
        transcripts = [one for each in understood for one in each.transcripts]
        changes += self._queueing.queue_reported(transcripts, snapshot, context)
        changes += [drop_missing(one, snapshot) for each in understood for one in each.briefings]
        checks = {one.assistant: one for each in understood for one in each.self_tests}
        changes += [
            RecordSelfTest(assistant=str(escape_surrogates(one.assistant)), nonce=str(escape_surrogates(one.nonce)))
            for one in checks.values()
        ]
        return changes


class _Interpretation(msgspec.Struct, kw_only=True):
    """What one record stands for: what is kept of it, and where."""

    events: list[tuple[Event, ScopeRef, int]] = []
    """With the world time of the record."""
    transcripts: list[tuple[TranscriptRef, int]] = []
    self_tests: list[SelfTestEvent] = []
    ignored_sessions: list[IgnoredSession] = []
    briefings: list[RecordDelivery] = []
    left_out: int = 0


def _with_record_defaults(event: Event, record: HookRecord) -> Event:
    """An event with what its adapter left to the record."""
    return msgspec.structs.replace(
        event,
        cwd=record.cwd if event.cwd is None else event.cwd,
        branch=record.branch if event.branch is None else event.branch,
        said_at=record.at if event.said_at is None else event.said_at,
    )


def _defect(record: HookRecord | None, error: Exception) -> str:
    """Log what a record ran into, and say it as `doctor` shows it; the error's own words may quote the record."""
    of = "a hook" if record is None else f"{record.assistant} ({record.event})"
    _log.error("a record of %s failed: %s at %s", of, type(error).__name__, raise_location(error))
    return f"reading it failed ({type(error).__name__})"


def _assistant(record: HookRecord | UndecodedRecord) -> str:
    return record.assistant if isinstance(record, HookRecord) else "a hook"
