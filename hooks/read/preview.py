"""Previews a capture: reads sources to their end, and tells what would be taken in, without a mind and without a trace.

Every format is read by the reader that a capture uses, so that both find the same. What a mind knows already, what its
settings leave out, and what of a text must not be kept, only the capture can tell.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing

import msgspec

from mnemic.actors.capture.prepare import identity_of, tells_without_text, unstorable_reason
from mnemic.actors.capture.transcripts import NOT_KEPT_PREFIX
from mnemic.actors.kernel.errors import BadInput
from mnemic.actors.kernel.events import Event, MalformedLine, UnknownFields, in_world_time
from mnemic.actors.kernel.times import Zone, to_iso
from mnemic.hooks.read.formats import find_sources, open_transcript

MOST_REASONS = 5
"""How many lines that could not be read are named, of a source."""
_ITEMS_BETWEEN_LOOKS = 256


class SourcePreview(msgspec.Struct, kw_only=True):
    """What would be taken in of one source, of one format."""

    source: str
    """The file or folder, as it was named."""
    format: str
    """What it is taken for."""
    files: int = 0
    """How many files of that format it is."""
    conversations: int = 0
    """How many conversations there are, or documents, or repositories."""
    memories: int = 0
    """How many memories it makes in a new mind whose settings leave nothing out."""
    repeated: int = 0
    """How many more it tells that it, or a source before it, tells already; they make no memory."""
    text_bytes: int = 0
    """How long their texts are together."""
    first: str | None = None
    """When the first of it was said, ISO 8601; ``None`` where nothing has a time."""
    last: str | None = None
    """When the last of it was said."""
    undated: int = 0
    """How many of the memories have no time."""
    unreadable: int = 0
    """How many lines, conversations or messages cannot be read."""
    reasons: list[tuple[str, int, str]] = msgspec.field(default_factory=list)
    """The first of those: the file, the number in it, and why."""
    unknown_fields: dict[str, int] = msgspec.field(default_factory=dict)
    """Fields, and kinds of messages, that mean nothing here, and in how many lines they stand."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What has to be known of how it is read."""


class CapturePreview(msgspec.Struct, kw_only=True):
    """What a capture would take in."""

    sources: list[SourcePreview] = msgspec.field(default_factory=list)
    """Of each source that was named, what it holds, a format after another."""
    failed: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """What cannot be read at all, and why."""
    empty: list[str] = msgspec.field(default_factory=list)
    """Folders, as they were named, in which nothing is that would be taken."""
    notes_left: int = 0
    """How many Markdown files lie beside transcripts, and would not be taken."""
    unread_files: list[str] = msgspec.field(default_factory=list)
    """Files that look like sessions, and that no reader takes."""


def preview_sources(
    sources: Iterable[str], format: str, progress: Callable[[str, int, int | None], None], zone: Zone
) -> CapturePreview:
    """Read sources, and tell what would be taken in; as a stream, so that nothing of them is held.

    Args:
        format: as in `mnemic.hooks.read.formats.open_transcript`.
        progress: told how many bytes of how many are read.
        zone: by whose clocks it was said where no offset is named.

    Raises:
        BadInput: the only file cannot be read; of several, what cannot is in `failed`.
    """
    told = CapturePreview()
    found: list[tuple[str, str]] = []
    for source in sources:
        here = find_sources(source, format)
        told.notes_left += here.notes_left
        told.unread_files += here.unread
        if not here.paths:
            told.empty.append(source)
        found += [(source, path) for path in here.paths]
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for _, path in found]
    tallies: dict[tuple[str, str], _Tally] = {}
    kept: set[bytes] = set()
    for number, (source, path) in enumerate(found):
        try:
            with closing(open_transcript(path, format)) as opened:
                sizes[number] = opened.size_bytes or sizes[number]
                before, total = sum(sizes[:number]), sum(sizes)
                tally = tallies.setdefault((source, opened.format), _Tally(source, opened.format))
                tally.told.files += 1
                if (note := getattr(opened, "note", "")) and note not in tally.told.notes:
                    tally.told.notes.append(note)
                occurred: Counter[bytes] = Counter()
                for count, item in enumerate(opened):
                    if not isinstance(item, Event):
                        tally.add_other(path, item)
                    elif (why := unstorable_reason(item)) is not None:
                        tally.add_other(path, MalformedLine(line=count + 1, why=f"{NOT_KEPT_PREFIX}{why}"))
                    elif item.text.strip() or tells_without_text(item):
                        tally.add(in_world_time(item, zone), _is_new(item, occurred, kept))
                    if count % _ITEMS_BETWEEN_LOOKS == 0:
                        progress("read", before + opened.position_bytes, total)
                progress("read", before + opened.position_bytes, total)
        except BadInput as error:
            if len(found) == 1:
                raise
            told.failed.append((path, str(error)))
    told.sources = [tally.finish() for tally in tallies.values()]
    return told


def _is_new(event: Event, occurred: Counter[bytes], kept: set[bytes]) -> bool:
    """Say whether an event makes a memory that none before it made, by the rule of the capture.

    Args:
        occurred: how often its file told each text before.
        kept: the identities of what was told before.
    """
    identity = identity_of(event, 1, _digest)
    if event.host_id is None:
        occurred[identity] += 1
        identity = identity_of(event, occurred[identity], _digest)
    is_new = identity not in kept
    kept.add(identity)
    return is_new


def _digest(*parts: bytes) -> bytes:
    """A hash in place of a mind's keyed one, which tells the same apart."""
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.digest()


class _Tally:
    """Counts what the files of one source and one format hold."""

    def __init__(self, source: str, format: str) -> None:
        self.told = SourcePreview(source=source, format=format)
        self._sessions: set[tuple[str, str]] = set()
        self._first: int | None = None
        self._last: int | None = None

    def add_other(self, path: str, item: MalformedLine | UnknownFields) -> None:
        """Count what is no event."""
        if isinstance(item, MalformedLine):
            self.told.unreadable += 1
            if len(self.told.reasons) < MOST_REASONS:
                self.told.reasons.append((path, item.line, item.why))
        else:
            for name in item.names:
                self.told.unknown_fields[name] = self.told.unknown_fields.get(name, 0) + 1

    def add(self, event: Event, is_new: bool) -> None:
        """Count an event that is kept, or was told before."""
        if not is_new:
            self.told.repeated += 1
            return
        self._sessions.add((event.assistant, event.session))
        self.told.memories += 1
        self.told.text_bytes += len(event.text)
        self.told.undated += event.said_at is None
        if event.said_at is not None:
            self._first = min(event.said_at, event.said_at if self._first is None else self._first)
            self._last = max(event.said_at, event.said_at if self._last is None else self._last)

    def finish(self) -> SourcePreview:
        """What was counted."""
        self.told.conversations = len(self._sessions)
        self.told.first, self.told.last = to_iso(self._first), to_iso(self._last)
        return self.told
