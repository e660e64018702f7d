"""Tells which of a document's sections were edited since they were kept, and what stands for them now.

A document (`mnemic.actors.protocol.events.DOCUMENT_FORMATS`) is edited where a transcript only grows. Its sections are
known by their words, session by session, so one that was edited is a new memory, and replaces what stood under the same
headings (another program's store: the same id) and is in the document no more. What was taken out and is put back is a
new memory again, since the old one is the past.
`mnemic.actors.capture.transcripts` reads the document.
"""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.actors.capture.prepare import ChangeBuilder
from mnemic.actors.protocol.changes import Supersede
from mnemic.actors.protocol.events import Event
from mnemic.actors.protocol.snapshot import DocumentNote, SnapshotSource


class Document:
    """A document that is being read: what of it was kept before, and what it holds."""

    def __init__(self, snapshots: SnapshotSource, keeping: ChangeBuilder) -> None:
        self._snapshots = snapshots
        self._keeping = keeping
        self._edited: dict[tuple[str, str], frozenset[bytes]] = {}
        """Of each session, the identities of the notes that an edit replaced."""
        self._sections: dict[tuple[str, str], dict[str, bytes]] = {}
        """Of each session, the identities of the sections by what the document calls them."""

    def identify(self, section: Event, occurrence: int) -> tuple[int, bytes]:
        """Which occurrence of its words a section is, and its identity: never that of a note which an edit replaced.

        Args:
            occurrence: how often its words have occurred in the document so far.
        """
        session = (section.assistant, section.session)
        if session not in self._edited:
            self._edited[session] = frozenset(one.identity for one in self._notes(session) if one.edited)
        identity = self._keeping.identity(section, occurrence)
        while identity in self._edited[session]:
            occurrence += 1
            identity = self._keeping.identity(section, occurrence)
        if section.source_id is not None:
            self._sections.setdefault(session, {})[section.source_id] = identity
        return occurrence, identity

    def replaced(self) -> list[Supersede]:
        """What has edited sections replaced, once the document was read to its end and is kept."""
        return [edit for session, sections in self._sections.items() for edit in self._replaced_in(session, sections)]

    def _replaced_in(self, session: tuple[str, str], sections: dict[str, bytes]) -> Iterator[Supersede]:
        notes = self._notes(session)
        there = set(sections.values())
        gone = {one.source_id: one.id for one in notes if one.holds and one.identity not in there}
        ids = {one.identity: one.id for one in notes}
        for name, identity in sections.items():
            if name in gone and identity in ids:
                yield Supersede(old=gone[name], new=ids[identity])

    def _notes(self, session: tuple[str, str]) -> list[DocumentNote]:
        with self._snapshots.snapshot() as snapshot:
            return snapshot.document_notes(*session)
