"""The Capture actor: turns transcripts, hook events and single texts into memories, each stored once.

It takes in transcripts (`mnemic.actors.capture.transcripts`), what the hooks of assistants kept
(`mnemic.actors.capture.drain`) and single texts, and takes back what is to be forgotten
(`mnemic.actors.capture.forget`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import msgspec

from mnemic.actors.capture.capture_filter import SETTINGS as LEFT_OUT
from mnemic.actors.capture.capture_filter import CaptureFilter
from mnemic.actors.capture.drain import SpoolIntake
from mnemic.actors.capture.forget import FORGET_MESSAGES
from mnemic.actors.capture.gone_folders import GoneFolders
from mnemic.actors.capture.labels import mend_labels
from mnemic.actors.capture.messages import (
    CaptureText,
    CaptureTranscript,
    DrainSpool,
    GetCaptureProgress,
    MendLabels,
    QueueTranscripts,
    RetryQuarantined,
    TextCaptured,
)
from mnemic.actors.capture.prepare import ChangeBuilder, apply_changes, new_id
from mnemic.actors.capture.transcript_queue import TranscriptQueue
from mnemic.actors.capture.transcripts import TranscriptCapture
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.events import KINDS, MCP_PREFIX, ROLES, Event
from mnemic.actors.kernel.field_checks import check_fields
from mnemic.actors.kernel.message import Message, idempotency_key
from mnemic.actors.kernel.ports import EchoTest, Ports
from mnemic.actors.kernel.snapshot import SnapshotSource
from mnemic.actors.kernel.times import MINUTES_A_DAY
from mnemic.actors.log.changes import Supersede
from mnemic.actors.scopes.messages import ChangeScopes
from mnemic.actors.scopes.rescope import apply_scope_changes
from mnemic.actors.store.messages import BackupNoted, NoteBackup
from mnemic.actors.transfer.changes import RecordBackup

OWNER = "direct"
"""Who gives a text as its `CaptureText.assistant` where no assistant does, but the owner of the mind: that is always
taken, unlike what an assistant hands over in a pause."""


class CaptureActor:
    """Takes in transcripts, what hooks kept and single texts, and takes back what is to be forgotten."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (
        CaptureTranscript,
        CaptureText,
        *FORGET_MESSAGES,
        DrainSpool,
        QueueTranscripts,
        GetCaptureProgress,
        RetryQuarantined,
        ChangeScopes,
        NoteBackup,
        MendLabels,
    )
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("capture.batch_events", 256, "events", "How many events of a transcript one transaction keeps.", 1),
        Setting("capture.batch_bytes", 4 << 20, "bytes", "A transaction is closed once its texts are this long.", 1),
        Setting("capture.scrub", True, "-", "Whether secrets are taken out of texts; what is private always is."),
        Setting(
            "capture.secret_allow",
            (),
            "texts",
            "These are no secrets and stay as they stand; * is a part of a word (docs/privacy.md).",
        ),
        Setting(
            "capture.keep_originals",
            False,
            "-",
            "Whether texts that secrets were taken out of are kept as they were too, where no recall looks.",
        ),
        Setting(
            "capture.silence_s",
            600.0,
            "seconds",
            "A session that says nothing for so long is over: its transcript is taken in.",
            0.0,
        ),
        *LEFT_OUT,
    )
    pinned: ClassVar[bool] = True

    def __init__(
        self,
        keeping: ChangeBuilder,
        leaving_out: CaptureFilter,
        transcribing: TranscriptCapture,
        queueing: TranscriptQueue,
        draining: SpoolIntake,
        snapshots: SnapshotSource,
        is_own_echo: EchoTest,
    ) -> None:
        self._keeping = keeping
        self._leaving_out = leaving_out
        self._transcribing = transcribing
        self._queueing = queueing
        self._draining = draining
        self._snapshots = snapshots
        self._is_own_echo = is_own_echo

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Take what reads transcripts and the spool, and what tells events apart."""
        settings = ports.settings
        batch = settings["capture.batch_events"], settings["capture.batch_bytes"]
        keeping = ChangeBuilder(
            ports.resolve_scope, ports.identity, ports.scrub, originals=settings["capture.keep_originals"]
        )
        snapshots = ports.open_snapshots()
        leaving_out = CaptureFilter(snapshots, ports.pauses, ports.is_ignored_folder, ports.is_allowed, settings)
        gone_folders = partial(GoneFolders, keeping, snapshots, ports.is_gone_folder, {})
        transcribing = TranscriptCapture(ports.open_transcript, keeping, leaving_out, snapshots, gone_folders, *batch)
        queueing = TranscriptQueue(snapshots, ports.stat_file, transcribing, settings["capture.silence_s"])
        draining = SpoolIntake(
            ports.open_spool, ports.read_record, keeping, leaving_out, queueing, snapshots, gone_folders, *batch
        )
        return cls(keeping, leaving_out, transcribing, queueing, draining, snapshots, ports.is_own_echo)

    def handle(self, message: Any, context: Context) -> Message:
        """Take in a part of a transcript or of the spool, or one text; forget memories, or take that back.

        Raises:
            SourceUnreadable, AmbiguousFormat: nothing of this part was kept; earlier parts are.
            StoreError: this part was not kept; earlier ones are.
            NoSuchMemory, InvalidValue: nothing was changed.
        """
        self._keeping.clear_cache()
        self._leaving_out.clear_cache()
        answer = FORGET_MESSAGES.get(type(message))
        if answer is not None:
            return answer(message, self._snapshots, context)
        match message:
            case MendLabels():
                return mend_labels(message, self._snapshots, self._is_own_echo, context)
            case NoteBackup():
                return _record_backup(message, context)
            case CaptureText():
                return self._capture_text(message, context)
            case ChangeScopes():
                return apply_scope_changes(message, context)
            case DrainSpool():
                return self._draining.drain(message, context)
            case QueueTranscripts():
                return self._queueing.queue(message, context)
            case GetCaptureProgress():
                counts = self._queueing.progress(context)
                oldest_at, left_out = self._draining.oldest_at(counts.offsets), self._leaving_out.rule_texts
                return msgspec.structs.replace(counts, oldest_at=oldest_at, left_out=left_out)
            case RetryQuarantined():
                return self._draining.retry_quarantined(message, context)
            case _:
                return self._transcribing.capture_part(message, context)

    def close(self) -> None:
        """Let go of the transcripts that are half read, and of the store."""
        self._transcribing.close()
        self._snapshots.close()

    def _capture_text(self, message: CaptureText, context: Context) -> TextCaptured:
        _validate_text(message)
        if message.assistant != OWNER:
            folder = message.folder
            works = () if folder is None else ((self._keeping.folder_scope(folder), folder),)
            self._leaving_out.check_allowed(((message.place, None), *works), context.clock.now_us())
        event = Event(
            assistant=message.assistant,
            session=message.session,
            kind=message.kind,
            role=message.role,
            text=message.text,
            speaker=message.speaker,
            said_at=context.now if message.said_at is None else message.said_at,
            utc_offset_min=message.utc_offset_min,
        )
        identity = self._keeping.identity(event, message.occurrence)
        if message.supersedes is not None:  # who goes back to an earlier word says something new
            identity = self._keeping.digest(b"supersedes", message.supersedes, identity)
        changes: tuple[Change, ...] = self._keeping.changes(event, identity, message.place, context)
        if not changes:
            raise InvalidValue(name="text", value="", why="all of it is private", expected="something to keep")
        if message.supersedes is not None:
            changes = (*changes, Supersede(old=message.supersedes, new=new_id(context, identity)))
        author = "mcp" if message.assistant.startswith(MCP_PREFIX) else OWNER
        applied = apply_changes(changes, idempotency_key("text", context.trace, identity), context, author)
        kept = applied.kept[0]
        return TextCaptured(
            id=kept.id,
            created=kept.created,
            scope=kept.scope,
            superseded_by=kept.superseded_by,
            retired_at=kept.retired_at,
            erased=kept.erased,
            made_way=applied.made_way,
        )


def _record_backup(message: NoteBackup, context: Context) -> BackupNoted:
    change = RecordBackup(path=message.path, what=message.what, size_bytes=message.size_bytes)
    return BackupNoted(
        seq=apply_changes((change,), idempotency_key("copy", context.trace, message.path.encode()), context).seq
    )


def _validate_text(message: CaptureText) -> None:
    if not message.text.strip():
        raise InvalidValue(name="text", value="", why="there is nothing to keep", expected="some words")
    for name, given, known in (("kind", message.kind, KINDS), ("role", message.role, ROLES)):
        if given not in known:
            raise InvalidValue(name=name, value=given, why="it is not known", expected=f"one of {', '.join(known)}")
    if message.said_at is not None and not 0 <= abs(message.said_at) < 1 << 62:
        raise InvalidValue(
            name="said_at", value=message.said_at, why="no calendar holds it", expected="microseconds since 1970"
        )
    if message.utc_offset_min is not None and not -MINUTES_A_DAY < message.utc_offset_min < MINUTES_A_DAY:
        raise InvalidValue(
            name="utc_offset_min",
            value=message.utc_offset_min,
            why="no clock differs from UTC by a day",
            expected="minutes east of UTC, such as 120",
        )
    check_fields(message)
