"""Captures a transcript file in bounded parts, so that an interrupted run loses nothing acknowledged.

What the Capture actor does for `CaptureTranscript`, and for a transcript that is due
(`mnemic.actors.capture.transcript_queue`). Here is also half of the identity rule (docs/decisions/0001-identity.md):
counting how often a text was said that has no id of its host's, where hooks and transcripts each tell a part. A
transcript is counted from its start. What hooks report has no start, so its count is kept, and beside it how many more
the transcript had told when it was last read: what a hook reports from then on comes after those.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import msgspec

from mnemic.actors.capture.capture_filter import CaptureFilter, session_mode_changes
from mnemic.actors.capture.changes import CountOccurrences, OccurrenceCount
from mnemic.actors.capture.documents import Document
from mnemic.actors.capture.gone_folders import GoneFolders
from mnemic.actors.capture.labels import relabel_told
from mnemic.actors.capture.messages import CaptureTranscript, TranscriptCaptured
from mnemic.actors.capture.prepare import ChangeBuilder, apply_changes, unstorable_reason
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Context, raise_location
from mnemic.actors.kernel.errors import MnemicError, SourceUnreadable
from mnemic.actors.kernel.events import DOCUMENT_FORMATS, Event, MalformedLine, SourceItem, UnknownFields, in_world_time
from mnemic.actors.kernel.message import idempotency_key
from mnemic.actors.kernel.ports import Source, TranscriptOpener
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.kernel.times import UTC_ZONE, Zone, is_ahead
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.store.messages import AddOutcome

_log = logging.getLogger("mnemic.capture")

_MARGIN_US = 2_000_000
"""A hook may run after its host has written the same text to the transcript; by less than so."""


class OccurrenceCounter:
    """Counts on, from what a snapshot knows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._counted: dict[bytes, OccurrenceCount] = {}

    def count_report(self, first: bytes, at: int) -> int:
        """Count one more report of a hook, and say which occurrence of its text that is.

        Args:
            first: the identity of the text's first occurrence.
            at: world time of the report, microseconds.
        """
        known = (
            self._counted.get(first)
            or self._snapshot.occurrences([first]).get(first)
            or OccurrenceCount(identity=first)
        )
        # What the transcript had told already, this hook tells of late: it is one of those that were missed.
        late = known.missed > 0 and at <= known.read_at + _MARGIN_US
        known = msgspec.structs.replace(known, hooks=known.hooks + 1, missed=known.missed - late)
        self._counted[first] = known
        return known.hooks + known.missed

    def read(self, counts: Mapping[bytes, int], at: int) -> None:
        """Take over how often texts occurred in a transcript that was read to its end.

        Args:
            counts: by the identity of the first occurrence.
            at: world time of that, microseconds.
        """
        known = self._snapshot.occurrences(list(counts))
        for first, count in counts.items():
            before = known.get(first) or OccurrenceCount(identity=first)
            if count > before.hooks + before.missed:
                missed = count - before.hooks
                self._counted[first] = msgspec.structs.replace(before, missed=missed, read_at=at)

    def changes(self) -> list[Change]:
        """What keeps the counts that have changed."""
        return [CountOccurrences(counts=tuple(self._counted.values()))] if self._counted else []


NOT_KEPT_PREFIX = "item not kept: "
"""What the reason starts with where a line was understood, and could not be kept all the same."""


class TranscriptCapture:
    """Takes in transcripts, and remembers those that are half read."""

    def __init__(
        self,
        opener: TranscriptOpener,
        keeping: ChangeBuilder,
        leaving_out: CaptureFilter,
        snapshots: SnapshotSource,
        gone_folders: Callable[[Callable[[], Source] | None], GoneFolders],
        batch_events: int,
        batch_bytes: int,
    ) -> None:
        self._open = opener
        self._keeping = keeping
        self._leaving_out = leaving_out
        self._snapshots = snapshots
        self._gone_folders = gone_folders
        self._batch_events = batch_events
        self._batch_bytes = batch_bytes
        self._readings: dict[tuple[str, str, str | None], _OpenTranscript] = {}

    def capture_part(
        self, message: CaptureTranscript, context: Context, *, by_itself: bool = False
    ) -> TranscriptCaptured:
        """Take in the next part.

        Args:
            by_itself: whether nobody asked for it: then what was said in an ignored folder, in a pause, or in a session
                that was to be left alone is passed over.

        Raises:
            SourceUnreadable, AmbiguousFormat: nothing of this part was kept; earlier parts are.
            StoreError: this part was not kept; earlier ones are.
        """
        name = (message.path, message.format, message.scope)
        reading = self._readings.pop(name, None)
        if reading is None or reading.items_read != message.skip:
            if reading is not None:
                reading.source.close()
            reading = self._begin(message)
            if message.skip and reading.source.size_bytes is None:
                reading.source.close()
                raise SourceUnreadable(path=message.path, why="the reading broke off, and a pipe cannot be read again")
        reading.is_excluded = lambda event, at: self._leaving_out.excludes_transcript_event(
            event, reading.folders.resolve_scope(event, message.scope, anyway=by_itself), at, by_itself=by_itself
        )
        try:
            reading.now, reading.zone = context.now, context.clock
            for item, first, _ in reading.items(message.skip):  # earlier parts have taken them; their memories are kept
                if isinstance(item, Event):
                    reading.count(item, first)
            reading.excluded_count = 0
            taken = self._next_part(reading, message, context, by_itself)
        except BaseException:
            reading.source.close()
            raise
        if taken.done:
            reading.source.close()
        else:
            self._readings[name] = reading
        return taken

    def _begin(self, message: CaptureTranscript) -> _OpenTranscript:
        source = self._open(message.path, message.format)
        reread = None if source.size_bytes is None else lambda: self._open(message.path, source.format)
        folders = self._gone_folders(reread)
        return _OpenTranscript(source, self._keeping, self._snapshots, message.folder, folders)

    def close(self) -> None:
        """Let go of the transcripts that are half read."""
        for reading in self._readings.values():
            reading.source.close()
        self._readings.clear()

    def _next_part(
        self, reading: _OpenTranscript, message: CaptureTranscript, context: Context, by_itself: bool
    ) -> TranscriptCaptured:
        changes: list[Change] = []
        named: list[str] = []
        by_id: list[bool] = []  # whether the host gave the event an id
        malformed: list[tuple[int, str]] = []
        unknown: Counter[str] = Counter()
        told: list[Event] = []
        size, done = 0, True
        for count, (item, first, identity) in enumerate(reading.items(None), start=1):
            if isinstance(item, UnknownFields):
                unknown.update(item.names)
                continue  # it goes with the item after it
            if isinstance(item, MalformedLine):
                malformed.append((item.line, item.why))
            elif item is not None:
                reading.count(item, first)
                place = reading.folders.resolve_scope(item, message.scope, anyway=by_itself)
                kept_by: tuple[Change, ...] = ()
                try:
                    if not isinstance(place, str):
                        kept_by = self._keeping.changes(item, identity, place, context, reading.formerly)
                except MnemicError:
                    raise
                except Exception as error:
                    malformed.append((reading.items_read, _defect(error)))
                if isinstance(place, str):
                    malformed.append((reading.items_read, f"{NOT_KEPT_PREFIX}{place}"))
                elif kept_by:
                    changes += kept_by
                    by_id.append(item.host_id is not None)
                    named.append(place.path)
                    told.append(item)
                    size += len(item.text)
            if count >= self._batch_events or size >= self._batch_bytes:
                done = False
                break
        changes += session_mode_changes(told)
        identities = [change.identity for change in changes if isinstance(change, AddMemory)]
        if done and reading.counts:
            with self._snapshots.snapshot() as snapshot:
                counting = OccurrenceCounter(snapshot)
                counting.read(reading.counts, context.clock.now_us())
            changes += counting.changes()
        with self._snapshots.snapshot() as snapshot:
            changes += relabel_told(changes, snapshot)
        kept: tuple[AddOutcome, ...] = ()
        made_way: tuple[RenameScope, ...] = ()
        if changes:
            key = idempotency_key("take", context.trace, b"%d" % reading.items_read, *identities)
            applied = apply_changes(changes, key, context, "transcript")
            kept, made_way = applied.kept, applied.made_way
        if done and (replaced := [one for document in reading.documents.values() for one in document.replaced()]):
            edits = [one.old + one.new for one in replaced]
            apply_changes(replaced, idempotency_key("edit", context.trace, *edits), context, "transcript")
        return TranscriptCaptured(
            format=reading.source.format,
            taken=reading.items_read,
            done=done,
            position_bytes=reading.source.position_bytes,
            size_bytes=reading.source.size_bytes,
            new=sum(one.created for one in kept),
            known=sum(not (one.created or one.erased) for one in kept),
            differing=sum(named and not one.same_text for named, one in zip(by_id, kept, strict=True)),
            in_other_scope=0
            if message.scope is None
            else sum(not one.created and one.scope != asked for one, asked in zip(kept, named, strict=True)),
            retired=sum(one.retired_at is not None for one in kept),
            erased=sum(one.erased for one in kept),
            left_out=reading.excluded_count,
            malformed=tuple(malformed),
            unknown_fields=tuple(unknown.items()),
            scopes=tuple(sorted({one.scope for one in kept if one.created})),
            made_way=made_way,
        )


def _defect(error: Exception) -> str:
    """Why an item is not kept at which something of ours failed: it stops no other; its words may quote the item."""
    _log.error("an item of a transcript failed: %s at %s", type(error).__name__, raise_location(error))
    return f"{NOT_KEPT_PREFIX}reading it failed ({type(error).__name__})"


class _OpenTranscript:
    """A transcript that is being read, and how often each text occurred in it."""

    def __init__(
        self,
        source: Source,
        keeping: ChangeBuilder,
        snapshots: SnapshotSource,
        folder: str | None,
        folders: GoneFolders,
    ) -> None:
        self.source = source
        self.folders = folders
        """Finds scopes."""
        self.documents: dict[str, Document] = {}
        """What is known of each document that was read, by its session."""
        self._are_documents = source.format in DOCUMENT_FORMATS
        self._snapshots = snapshots
        self._folder = folder
        self.items_read = 0
        self.formerly: bytes | None = None
        """The identity that an earlier version gave the last item, where that differs."""
        self.excluded_count = 0
        """How many events were left out."""
        self.is_excluded: Callable[[Event, int | None], bool] = lambda event, at: False
        """Whether an event is left out; it is told when it happened, as far as the transcript has said."""
        self.now = 0
        """When it is read: what claims to be said long after is undated."""
        self.zone: Zone = UTC_ZONE
        """Where it is read: what names no offset was said by its clocks."""
        self._items = iter(source)
        self._keeping = keeping
        self._said_at: int | None = None
        self._occurred: Counter[bytes] = Counter()
        self.counts: dict[bytes, int] = {}
        """How often the texts occurred that hooks may have reported too, by the identity of the first occurrence."""

    def items(self, up_to: int | None) -> Iterator[tuple[SourceItem | None, bytes, bytes]]:
        """The next items, each with its first occurrence's identity and its own: up to that number, or to the end.

        What is left out is ``None``, and counts as no occurrence: hooks have not counted it either.
        """
        while up_to is None or self.items_read < up_to:
            item = next(self._items, None)
            if item is None:
                return
            self.items_read += not isinstance(item, UnknownFields)
            first = identity = b""
            self.formerly = None
            if isinstance(item, Event) and (why := unstorable_reason(item)) is not None:
                item = MalformedLine(line=self.items_read, why=f"{NOT_KEPT_PREFIX}{why}")
            if isinstance(item, Event):
                item = in_world_time(item, self.zone)
                if is_ahead(item.said_at, self.now):
                    item = msgspec.structs.replace(item, said_at=None)
                self._said_at = self._said_at if item.said_at is None else item.said_at
                try:
                    excluded = self.is_excluded(item, self._said_at)
                except MnemicError:
                    raise
                except Exception as error:
                    yield MalformedLine(line=self.items_read, why=_defect(error)), first, identity
                    continue
                if excluded:
                    self.excluded_count += 1
                    yield None, first, identity
                    continue
                first = self._keeping.identity(item, 1)
                occurred = 0
                if item.host_id is None:  # of what has an id, nothing is held: a source may be of any length
                    self._occurred[first] += 1
                    occurred = self._occurred[first]
                self.formerly = self._former_identity(item)
                if self._are_documents:
                    item = self._in_named_folder(item)
                    document = self.documents.setdefault(item.session, Document(self._snapshots, self._keeping))
                    self._occurred[first], identity = document.identify(item, occurred)
                else:
                    identity = first if occurred <= 1 else self._keeping.identity(item, occurred)
            yield item, first, identity

    def _former_identity(self, item: Event) -> bytes | None:
        first = self._keeping.former_identity(item, 1)
        if first is None or item.host_id is not None:
            return first
        self._occurred[first] += 1
        return self._keeping.former_identity(item, self._occurred[first])

    def _in_named_folder(self, section: Event) -> Event:
        """A section as it is kept: a document that lies in no project belongs to the folder that was named."""
        if self._folder is None or self._keeping.folder_scope(section.cwd).found != "folder":
            return section
        return msgspec.structs.replace(section, cwd=self._folder)

    def count(self, item: Event, first: bytes) -> None:
        """Note that hooks have to count on after the last item, if they may tell it too: not with a disambiguator, no
        document, and not what is still to be delivered.
        """
        may_be_told = item.host_id is None and item.disambiguator is None and not self._are_documents
        if may_be_told and not item.undelivered:
            self.counts[first] = self._occurred[first]
