"""Which memories of an export are in a mind already, and as what the others would be known there.

A memory goes by its id; then by its identity, where both minds hash with the same key. Where they do not, the identity
is made again from what it was made of, as far as that was kept (`KnownBy`); what is left is the same memory where
assistant, session, kind, role, time and text are, each as often as it occurs. Part of `mnemic.runtime.importing`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any, NamedTuple

import apsw
import msgspec

from mnemic.actors.events import Event
from mnemic.actors.identities import identity_of
from mnemic.actors.ports import Digest
from mnemic.runtime.carry_erased import words_mark
from mnemic.runtime.export_format import ExportedMemory

__all__ = ["Match", "Matching"]

_Like = tuple[str, str, str, str, int | None, bytes]


class Match(NamedTuple):
    """What a memory of an export is in this mind."""

    identity: bytes
    """As what it is known here."""
    known: bytes | None
    """Id of the memory here that it is, if it is there."""
    erased: bool
    """Whether it was removed here for good."""


class Matching:
    """Finds the memories of one export in a mind, as it was before the import."""

    def __init__(self, connection: apsw.Connection, identity: Digest, *, same_key: bool) -> None:
        """Take in what is there.

        Args:
            identity: the mind's keyed hash.
            same_key: whether the export's identities were hashed with the same key.
        """
        self._identity = identity
        self._same_key = same_key
        found: list[Any] = connection.execute("SELECT identity, uuid FROM memories").fetchall()
        self._by_identity: dict[bytes, bytes] = dict(found)
        self._ids = set(self._by_identity.values())
        self._erased = {one for (one,) in connection.execute("SELECT identity FROM erased").fetchall()}
        self._alike: dict[_Like, deque[bytes]] = defaultdict(deque)
        if not same_key:
            alike: list[Any] = connection.execute(
                "SELECT m.uuid, s.assistant, s.name, m.kind, m.role, m.said_at, t.digest FROM memories m"
                " JOIN sessions s ON s.id = m.session JOIN texts t ON t.id = m.text ORDER BY m.id"
            ).fetchall()
            for uuid, assistant, session, kind, role, said_at, digest in alike:
                self._alike[assistant, session, kind, role, said_at, digest].append(uuid)

    def match(self, memory: ExportedMemory, id: bytes, text: bytes) -> Match:
        """Find a memory; one that is not there is from then on."""
        event = Event(assistant=memory.assistant, session=memory.session, kind=memory.kind, role=memory.role, text=text)
        identity = bytes.fromhex(memory.identity) if self._same_key else self._identity_of(memory, event)
        if id in self._ids:
            return Match(identity, id, False)
        if self._erased and not self._erased.isdisjoint((identity, words_mark(event, self._identity))):
            return Match(identity, None, True)
        known = self._by_identity.get(identity)
        if known is None and not self._same_key and memory.known_by.rule == "other":
            alike = self._alike.get(self._like(memory, text))
            known = alike.popleft() if alike else None
        if known is None:
            self._by_identity[identity] = id
            self._ids.add(id)
        return Match(identity, known, False)

    def is_erased(self, identity: bytes) -> bool:
        """Whether what is known so was removed here for good."""
        return identity in self._erased

    def of_identity(self, identity: bytes) -> bytes | None:
        """Id of what is known so."""
        return self._by_identity.get(identity)

    def _identity_of(self, memory: ExportedMemory, event: Event) -> bytes:
        known_by = memory.known_by
        if known_by.rule == "other":
            return self._identity(b"imported", bytes.fromhex(memory.identity))
        host_id = memory.source_id if known_by.rule == "id" else None
        said = msgspec.structs.replace(event, host_id=host_id, occasion=known_by.occasion)
        return identity_of(said, known_by.occurrence, self._identity)

    def _like(self, memory: ExportedMemory, text: bytes) -> _Like:
        digest = self._identity(b"text", text)
        return (memory.assistant, memory.session, memory.kind, memory.role, memory.said_at, digest)
