"""Importing what is not a memory: history, quarantined records, counts, tombstones, records of backups.

The base of `mnemic.runtime.transfer.import_memories`, which takes in the memories first.

Which memories of an export are in a mind already, and as what the others would be known there.

A memory goes by its id; then by its identity, where both minds hash with the same key. Where they do not, the identity
is made again from what it was made of, as far as that was kept (`IdentityBasis`); what is left is the same memory where
assistant, session, kind, role, time and text are, each as often as it occurs. Part of
`mnemic.runtime.transfer.import_memories`.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import apsw
import msgspec

from mnemic.actors.capture.changes import (
    CountOccurrences,
    IgnoreSession,
    KeepOriginal,
    OccurrenceCount,
    QuarantineRecord,
    ReleaseRecord,
    SetSessionMode,
)
from mnemic.actors.capture.prepare import identity_of
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.ports import Digest
from mnemic.actors.knowledge.changes import MergeEntities, SettleStatements
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery
from mnemic.actors.store.messages import Applied
from mnemic.actors.transfer.changes import RecordBackup, Tombstone
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.capture.read import read_occurrences
from mnemic.runtime.store.log.write import text_tombstones
from mnemic.runtime.transfer.export_format import (
    ExportedBackup,
    ExportedDelivery,
    ExportedErased,
    ExportedIgnoredSession,
    ExportedMemory,
    ExportedMerge,
    ExportedOccurrences,
    ExportedOriginal,
    ExportedQuarantined,
    ExportedSession,
    ExportedVerdict,
    text_bytes,
)
from mnemic.runtime.transfer.export_source import ExportSource, Line
from mnemic.runtime.transfer.redact_log import find_quotes

_ContentKey = tuple[str, str, str, str, int | None, bytes]


class Match(NamedTuple):
    """What a memory of an export is in this mind."""

    identity: bytes
    """As what it is known here."""
    existing_id: bytes | None
    """Id of the memory here that it is, if it is there."""
    erased: bool
    """Whether it was removed here for good."""


class MemoryMatcher:
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
        self._by_content: dict[_ContentKey, deque[bytes]] = defaultdict(deque)
        if not same_key:
            alike: list[Any] = connection.execute(
                "SELECT m.uuid, s.assistant, s.name, m.kind, m.role, m.said_at, t.digest FROM memories m"
                " JOIN sessions s ON s.id = m.session JOIN texts t ON t.id = m.text ORDER BY m.id"
            ).fetchall()
            for uuid, assistant, session, kind, role, said_at, digest in alike:
                self._by_content[assistant, session, kind, role, said_at, digest].append(uuid)

    def match(self, memory: ExportedMemory, id: bytes, text: bytes) -> Match:
        """Find a memory; one that is not there is from then on."""
        event = Event(assistant=memory.assistant, session=memory.session, kind=memory.kind, role=memory.role, text=text)
        identity = bytes.fromhex(memory.identity) if self._same_key else self._identity_of(memory, event)
        if id in self._ids:
            return Match(identity, id, False)
        if self._erased and not self._erased.isdisjoint((identity, *text_tombstones(event, self._identity))):
            return Match(identity, None, True)
        known = self._by_identity.get(identity)
        if known is None and not self._same_key and memory.known_by.rule == "other":
            alike = self._by_content.get(self._content_key(memory, text))
            known = alike.popleft() if alike else None
        if known is None:
            self._by_identity[identity] = id
            self._ids.add(id)
        return Match(identity, known, False)

    def is_erased(self, identity: bytes) -> bool:
        """Whether what is known so was removed here for good."""
        return identity in self._erased

    def id_of_identity(self, identity: bytes) -> bytes | None:
        """Id of what is known so."""
        return self._by_identity.get(identity)

    def _identity_of(self, memory: ExportedMemory, event: Event) -> bytes:
        known_by = memory.known_by
        if known_by.rule == "other":
            return self._identity(b"imported", bytes.fromhex(memory.identity))
        host_id = memory.source_id if known_by.rule == "id" else None
        said = msgspec.structs.replace(
            event,
            host_id=host_id,
            disambiguator=known_by.occasion,
            kind=known_by.kind or event.kind,
            role=known_by.role or event.role,
        )
        return identity_of(said, known_by.occurrence, self._identity)

    def _content_key(self, memory: ExportedMemory, text: bytes) -> _ContentKey:
        digest = self._identity(b"text", text)
        return (memory.assistant, memory.session, memory.kind, memory.role, memory.said_at, digest)


AUTHOR = "import"


def idempotency_key_of(at: int, change: Change) -> bytes:
    """The idempotency key of something that an export says."""
    return f"{AUTHOR}/".encode() + hashlib.sha256(msgspec.msgpack.encode((at, change))).digest()


"""Who writes what is imported."""


class ImportReport(msgspec.Struct, kw_only=True):
    """What an import brought."""

    new: int = 0
    """Memories that were not there."""
    known: int = 0
    """Memories that were."""
    erased: int = 0
    """Memories that were removed here for good, and stay so."""
    forgotten: int = 0
    """Memories that are forgotten here from now on, because they were there."""
    superseded: int = 0
    """Memories that are replaced by another one from now on."""
    apart: tuple[tuple[bytes, bytes], ...] = ()
    """Pairs of ids, where both minds replaced one memory: what stands, which was said later; and what gave way."""
    contrary: tuple[tuple[bytes, bytes], ...] = ()
    """Pairs of ids that would replace each other here: what this mind said stands; and what would replace it."""
    given: int = 0
    """Recalls and briefs that were recorded there."""
    scopes: dict[str, str] = msgspec.field(default_factory=dict)
    """Scopes that have another path here than there."""
    same_projects: tuple[str, ...] = ()
    """Those of them, by their path there, whose project was known here by the other path; of the rest, something else
    has their path here."""
    made_way: dict[str, str] = msgspec.field(default_factory=dict)
    """Projects of this mind that had only their folder's name, and have another path now that something of the export
    has that path or lies below it: the path before, and the one now."""
    same_key: bool = True
    """Whether both minds tell events apart by the same key."""
    erased_there: tuple[bytes, ...] = ()
    """Ids of memories that were removed there for good, and are still here."""
    untold: int = 0
    """Marks of what was removed there, and counts of texts, that mean nothing here: they were made with another key."""


class HistoryImporter:
    """One import, within a transaction of the caller's."""

    def __init__(
        self,
        apply: Callable[..., Applied],
        connection: apsw.Connection,
        source: ExportSource,
        keys: Keys,
        run: str,
        now: int,
    ) -> None:
        self._apply_changes = apply
        self._db = connection
        self._source = source
        self._run = run
        self._now = now
        self._numbers = itertools.count()
        self.report = ImportReport(same_key=source.manifest.identities == keys.identity_key_id)
        """What it brought so far."""
        self.position = ("manifest.json", 0)
        """The file and the line that is being taken in."""
        self._identity = keys.identity_hash()
        self._matching = MemoryMatcher(connection, keys.identity_hash(), same_key=self.report.same_key)
        self._ids: dict[str, bytes | None] = {}  # of every memory of the export: its id here; None where it is erased
        self._identities: dict[str, bytes] = {}  # of those whose identity is another one here
        self._erased_texts: list[bytes] = []

    def import_history(self) -> None:
        """Take in what is beside memories; those are there by then."""
        self._take_originals()
        self._take_sessions()
        self._take_counts()
        self._take_quarantined()
        self._take_deliveries()
        self._take_verdicts()
        self._take_erased()
        self._take_backups()

    def _take_originals(self) -> None:
        kept = [
            KeepOriginal(memory=memory, text=text_bytes(line))
            for line in self._lines("originals.jsonl", ExportedOriginal)
            if (memory := self._local_id(line.memory)) is not None
        ]
        if kept:
            self._apply(self._now, *kept)

    def _take_sessions(self) -> None:
        modes = {
            (assistant, name): mode
            for assistant, name, mode in self._db.execute("SELECT assistant, name, mode FROM sessions").fetchall()
        }
        marks: list[Change] = [
            SetSessionMode(assistant=line.assistant, session=line.session, mode=line.mode)
            for line in self._lines("sessions.jsonl", ExportedSession)
            if line.mode and modes.get((line.assistant, line.session)) == ""
        ]
        silent = set(self._db.execute("SELECT assistant, session FROM silenced").fetchall())
        marks += [
            IgnoreSession(assistant=line.assistant, session=line.session)
            for line in self._lines("silenced.jsonl", ExportedIgnoredSession)
            if (line.assistant, line.session) not in silent
        ]
        if marks:
            self._apply(self._now, *marks)

    def _take_verdicts(self) -> None:
        """Keep what was said of statements and of names, where nothing is said of them here."""
        said: list[Change] = []
        for line in self._lines("verdicts.jsonl", ExportedVerdict):
            older, newer = self._local_id(line.older), self._local_id(line.newer)
            here = "SELECT 1 FROM verdicts v JOIN memories o ON o.id = v.older JOIN memories n ON n.id = v.newer"
            pair = (older, line.older_start, newer, line.newer_start)
            same = f"{here} WHERE o.uuid = ? AND v.older_start = ? AND n.uuid = ? AND v.newer_start = ?"
            if older is None or newer is None or self._db.execute(same, pair).get is not None:
                continue
            said.append(
                SettleStatements(
                    older=older,
                    older_start=line.older_start,
                    newer=newer,
                    newer_start=line.newer_start,
                    verdict=line.verdict,
                    by=line.by,
                )
            )
        for one in self._lines("merges.jsonl", ExportedMerge):
            if self.report.same_key:
                entity, into = bytes.fromhex(one.mark), bytes.fromhex(one.into_mark)
            elif one.name and one.into:
                entity, into = (self._identity(b"entity", name.encode()) for name in (one.name, one.into))
            else:
                continue  # no memory there named them any more
            if self._db.execute("SELECT 1 FROM merges WHERE entity = ?", (entity,)).get is None:
                said.append(MergeEntities(entity=entity, into=into))
        for change in said:
            key = idempotency_key_of(0, change)
            if self._db.execute("SELECT 1 FROM applies WHERE key = ?", (key,)).get is None:  # nor taken back since
                self._apply(self._now, change, key=key)

    def _take_counts(self) -> None:
        """Count on: of a text that both minds counted, the higher count holds."""
        changed = []
        for line in self._lines("occurrences.jsonl", ExportedOccurrences):
            identity = bytes.fromhex(line.identity) if self.report.same_key else self._identities.get(line.identity)
            if identity is None:
                self.report.untold += 1
                continue
            here = read_occurrences(self._db, identity) or OccurrenceCount(identity=identity)
            both = OccurrenceCount(
                identity=identity,
                hooks=max(here.hooks, line.hooks),
                missed=max(here.missed, line.missed),
                read_at=max(here.read_at, line.read_at),
            )
            if both != here:
                changed.append(both)
        if changed:
            self._apply(self._now, CountOccurrences(counts=tuple(changed)))

    def _take_quarantined(self) -> None:
        lines = self._lines("aside.jsonl", ExportedQuarantined)
        quoting = find_quotes(((line.record, text_bytes(line)) for line in lines), lambda: self._erased_texts)
        for line in self._lines("aside.jsonl", ExportedQuarantined):
            if line.record in quoting:
                continue
            record = bytes.fromhex(line.record)
            self._apply(
                line.recorded_at,
                QuarantineRecord(
                    record=record,
                    assistant=line.assistant,
                    event=line.event,
                    why=line.why,
                    text=text_bytes(line),
                    at=line.at,
                    cwd=line.cwd,
                    branch=line.branch,
                ),
            )
            if line.readmitted_at is not None:
                self._apply(line.readmitted_at, ReleaseRecord(record=record))

    def _take_deliveries(self) -> None:
        """Keep what was given there; what quotes a memory that is erased here loses its words."""
        there = Counter(
            self._db.execute("SELECT at, occasion, assistant, session, scope, tokens FROM givings").fetchall()
        )
        questions = {line.query for line in self._lines("givings.jsonl", ExportedDelivery)}
        quoting = find_quotes(((query, query.encode()) for query in questions), lambda: self._erased_texts)
        for line in self._lines("givings.jsonl", ExportedDelivery):
            key = (line.at, line.occasion, line.assistant, line.session, line.scope, line.tokens)
            if there[key]:
                there[key] -= 1
                continue
            found = ((self._local_id(part.memory), part) for part in line.parts)
            parts = tuple(DeliveredSpan(id, part.start, part.stop, part.why) for id, part in found if id is not None)
            given = RecordDelivery(
                occasion=line.occasion,
                assistant=line.assistant,
                session=line.session,
                scope=line.scope,
                query="" if len(parts) < len(line.parts) or line.query in quoting else line.query,
                parts=parts,
                tokens=line.tokens,
            )
            self._apply(line.at, given)
            self.report.given += 1

    def _take_erased(self) -> None:
        there: list[bytes] = []
        marks: list[Tombstone] = []
        for line in self._lines("erased.jsonl", ExportedErased):
            if not self.report.same_key:
                self.report.untold += 1
                continue
            identity = bytes.fromhex(line.identity)
            known = self._matching.id_of_identity(identity)
            if known is not None:
                there.append(known)
            elif not self._matching.is_erased(identity):
                marks.append(Tombstone(identity=identity))
        if marks:
            self._apply(self._now, *marks, also=(Tombstone,))
        self.report.erased_there = tuple(there)

    def _take_backups(self) -> None:
        there = set(self._db.execute("SELECT path, what, size, at FROM backups").fetchall())
        for line in self._lines("backups.jsonl", ExportedBackup):
            if (line.path, line.what, line.size_bytes, line.at) not in there:
                self._apply(line.at, RecordBackup(path=line.path, what=line.what, size_bytes=line.size_bytes))

    def _apply(self, at: int, *changes: Any, key: bytes | None = None, also: tuple[type, ...] = ()) -> Applied:
        key = f"{AUTHOR}/{self._run}/{next(self._numbers)}".encode() if key is None else key
        applied = self._apply_changes(changes, at=at, key=key, author=AUTHOR, run=self._run, also=also)
        assert isinstance(applied, Applied)
        self.report.made_way |= {one.path: one.to for one in applied.made_way}
        return applied

    def _lines(self, name: str, kind: type[Line]) -> Iterator[Line]:
        for number, line in enumerate(self._source.lines(name, kind), start=1):
            self.position = (name, number)
            yield line

    def _local_id(self, memory: str) -> bytes | None:
        """The id here of a memory of the export; ``None`` where it is erased here."""
        if memory not in self._ids:
            raise self._source.line_error(*self.position, "it names a memory that the export does not hold")
        return self._ids[memory]
