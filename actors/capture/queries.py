"""What is read of capture: quarantined records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from mnemic.actors.capture.changes import MemoryLabels, OccurrenceCount, Relabel, TranscriptState
from mnemic.actors.capture.forget_messages import Selection, Surveyed
from mnemic.actors.capture.messages import CaptureProgress
from mnemic.actors.log.queries import DocumentNote, KeptText


class QuarantinedRecord(msgspec.Struct, frozen=True):
    """A record that could not be understood, and is quarantined; see
    `mnemic.actors.capture.changes.QuarantineRecord`.
    """

    row: int
    """Its row."""
    record: bytes
    """Its id."""
    assistant: str
    """The host it comes from."""
    event: str
    """What the adapter calls it."""
    at: int
    """World time it was written, microseconds; 0 where that is not known."""
    cwd: str | None
    """The folder the host worked in."""
    branch: str | None
    """The git branch."""
    payload: bytes
    """What the host wrote, without what must not be kept; of a record that could not even be taken apart, all of it.
    Empty where it was let go of."""


class CaptureSnapshot(Protocol):
    """What a snapshot tells of capture: how far it has come, labels, transcripts, and what a selection means."""

    def spool_offsets(self) -> dict[bytes, int]:
        """How far each spool file is taken in, by its id."""

    def torn_counts(self) -> dict[bytes, int]:
        """How many places of each spool file could not be read, where there are any."""

    def occurrences(self, identities: Sequence[bytes]) -> dict[bytes, OccurrenceCount]:
        """How often the texts of these first identities have occurred so far; the unknown ones are left out."""

    def labels_of(self, identities: Sequence[bytes]) -> dict[bytes, MemoryLabels]:
        """The labels of the memories of these identities, by them; the unknown ones are left out."""

    def unlabelled(self, limit: int, most_bytes: int, *, again: bool = False) -> list[KeptText]:
        """The first memories that were kept before memories had labels, in the order in which they were kept.

        Args:
            limit: at most so many.
            most_bytes: no more of them once so much of their texts is read.
            again: those whose labels a night's undoing took back, too.
        """

    def unlabelled_count(self, *, again: bool = False) -> int:
        """How many there are of these."""

    def relabelled_since(self, night: int) -> list[tuple[Relabel, Relabel]]:
        """What a night and every later one that stand relabelled, newest first: the labels given, and those before."""

    def current_labels(self, memories: Sequence[bytes]) -> dict[bytes, MemoryLabels]:
        """The labels of memories by their ids; what is erased is left out."""

    def document_notes(self, assistant: str, session: str) -> list[DocumentNote]:
        """The notes of a document, in the order in which they were kept."""

    def transcript(self, path: str) -> TranscriptState | None:
        """What is known of a transcript, if anything is."""

    def due_transcript(self, now: int) -> tuple[str, str] | None:
        """Path and format of the transcript that was written last of those that are due, if any is."""

    def next_due_at(self) -> int | None:
        """System time from which a transcript is due; ``None`` where none waits."""

    def waiting_transcripts(self, now: int) -> list[str]:
        """Paths of the transcripts that are due."""

    def failed_transcripts(self) -> list[tuple[str, str]]:
        """Paths and formats of the transcripts that could not be read the last time."""

    def is_session_ignored(self, assistant: str, session: str) -> bool:
        """Whether a conversation was to be left alone."""

    def quarantined_records(self, after_row: int, limit: int) -> list[QuarantinedRecord]:
        """Quarantined records, of rows after one."""

    def capture_progress(self, now: int) -> CaptureProgress:
        """What became of what was captured by itself; `now` is system time, microseconds."""

    def selected_ids(self, selection: Selection) -> list[bytes]:
        """Ids of the memories that are meant, in the order they were kept.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
        """

    def survey(self, selection: Selection, shown: int) -> Surveyed:
        """What a selection holds, and how so many of its memories begin.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
        """
