"""Tells which of a document's sections were edited since they were kept, and what stands for them now.

A document (`mnemic.actors.kernel.events.DOCUMENT_FORMATS`) is edited where a transcript only grows. Its sections are
known by their words, so one that was edited is a new memory, and replaces what stood under the same headings and is in
the document no more. What was taken out and is put back is a new memory again, since the old one is the past.
`mnemic.actors.capture.transcripts` reads the document.
"""

from __future__ import annotations

from mnemic.actors.capture.prepare import ChangeBuilder
from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.snapshot import SnapshotSource
from mnemic.actors.log.changes import Supersede
from mnemic.actors.log.queries import DocumentNote


class Document:
    """A document that is being read: what of it was kept before, and what it holds."""

    def __init__(self, snapshots: SnapshotSource, keeping: ChangeBuilder) -> None:
        self._snapshots = snapshots
        self._keeping = keeping
        self._edited: frozenset[bytes] | None = None
        self._sections: dict[str, bytes] = {}
        self._file = ("", "")

    def identify(self, section: Event, occurrence: int) -> tuple[int, bytes]:
        """Which occurrence of its words a section is, and its identity: never that of a note which an edit replaced.

        Args:
            occurrence: how often its words have occurred in the document so far.
        """
        if self._edited is None:
            self._file = (section.assistant, section.session)
            self._edited = frozenset(one.identity for one in self._notes() if one.edited)
        identity = self._keeping.identity(section, occurrence)
        while identity in self._edited:
            occurrence += 1
            identity = self._keeping.identity(section, occurrence)
        if section.source_id is not None:
            self._sections[section.source_id] = identity
        return occurrence, identity

    def replaced(self) -> list[Supersede]:
        """What has edited sections replaced, once the document was read to its end and is kept."""
        notes = self._notes() if self._sections else []
        there = set(self._sections.values())
        gone = {one.source_id: one.id for one in notes if one.holds and one.identity not in there}
        ids = {one.identity: one.id for one in notes}
        return [
            Supersede(old=gone[name], new=ids[identity])
            for name, identity in self._sections.items()
            if name in gone and identity in ids
        ]

    def _notes(self) -> list[DocumentNote]:
        with self._snapshots.snapshot() as snapshot:
            return snapshot.document_notes(*self._file)
