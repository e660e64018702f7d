"""Writing an export: all of a mind that cannot be derived again, in clear, as JSON Lines.

One read transaction, so that it is one state, while others go on writing. The folder appears whole, by a rename, or not
at all. `mnemic.runtime.transfer.export_format` says what stands in it; above: `mnemic.runtime.api.transfer`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from mnemic.actors.capture.prepare import identity_of
from mnemic.actors.kernel.errors import AlreadyThere
from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.ports import Digest
from mnemic.actors.kernel.times import to_iso
from mnemic.actors.log.changes import MEMORY_FIELDS
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import Keys, write_private
from mnemic.runtime.store.schema import translate_errors
from mnemic.runtime.store.texts import load_text
from mnemic.runtime.transfer.export_format import (
    FORMAT,
    MANIFEST,
    VERSION,
    ExportedBackup,
    ExportedDelivery,
    ExportedErased,
    ExportedIgnoredSession,
    ExportedMemory,
    ExportedMerge,
    ExportedOccurrences,
    ExportedOriginal,
    ExportedPart,
    ExportedQuarantined,
    ExportedScope,
    ExportedSession,
    ExportedVerdict,
    FileEntry,
    IdentityBasis,
    Manifest,
    text_fields,
)
from mnemic.runtime.transfer.export_source import Line

_encode = msgspec.json.Encoder().encode
_PAGE = 1000
_OWN_COLUMNS = (*MEMORY_FIELDS, "recorded_at", "superseded_at", "retired_at")
"""Columns of ``memories`` that are fields of a line as they are."""


def export_to(
    connection: apsw.Connection,
    store: Path,
    keys: Keys,
    folder: Path,
    *,
    mind: str,
    mnemic: str,
    made_at: int,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> Manifest:
    """Write an export of a mind into a folder that is not there yet, or is empty.

    Args:
        connection: to its store.
        store: where that is, for what is said of it.
        mind: its name, and `mnemic`, the version of the program, for the manifest.

    Raises:
        AlreadyThere: the folder holds something.
        DiskFull, StoreReadOnly: it cannot be written, and is not there.
        DamagedStore: the store cannot be read to its end.
    """
    if os.path.lexists(folder) and not (folder.is_dir() and not os.listdir(folder)):
        raise AlreadyThere(path=str(folder), remedy="Name a folder that is not there yet, or is empty")
    draft = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(draft, ignore_errors=True)  # of one that was killed
        draft.mkdir(mode=0o700)
        try:
            with translate_errors(store):
                connection.execute("BEGIN")
                try:
                    reading = _ExportReader(connection, keys.identity_hash(), progress)
                    files = {name: _write(draft / name, lines) for name, lines in reading.files()}
                finally:
                    if connection.in_transaction:  # some failures end it by themselves
                        connection.execute("ROLLBACK")
            manifest = Manifest(
                format=FORMAT,
                version=VERSION,
                mnemic=mnemic,
                made_at=made_at,
                mind=mind,
                identities=keys.identity_key_id,
                files=files,
            )
            write_private(draft / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
            os.rename(draft, folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise write_error(folder, error) from error
    return manifest


def _write(path: Path, lines: Iterator[msgspec.Struct]) -> FileEntry:
    digest, count, size = hashlib.sha256(), 0, 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb", buffering=1 << 20) as file:
        os.fchmod(file.fileno(), 0o600)
        for line in lines:
            written = _encode(line) + b"\n"
            file.write(written)
            digest.update(written)
            count, size = count + 1, size + len(written)
        file.flush()
        os.fsync(file.fileno())
    return FileEntry(lines=count, size_bytes=size, sha256=digest.hexdigest())


class _ExportReader:
    """What is exported of a store, within a read transaction of the caller's."""

    def __init__(
        self, connection: apsw.Connection, identity: Digest, progress: Callable[[int, int | None], None]
    ) -> None:
        self._db = connection
        self._identity = identity
        self._progress = progress

    def files(self) -> Iterator[tuple[str, Iterator[msgspec.Struct]]]:
        """Every file with its lines."""
        yield "scopes.jsonl", self._scopes()
        yield "sessions.jsonl", self._rows(ExportedSession, "SELECT assistant, name, mode FROM sessions ORDER BY id")
        yield "memories.jsonl", self._memories()
        yield "originals.jsonl", self._originals()
        counts = "SELECT lower(hex(identity)), hooks, missed, read_at FROM occurrences ORDER BY identity"
        yield "occurrences.jsonl", self._rows(ExportedOccurrences, counts)
        quarantined = (
            "SELECT lower(hex(record)), assistant, event, why, recorded_at, at, cwd, branch, readmitted_at, text"
            " FROM aside ORDER BY id"
        )
        yield "aside.jsonl", self._rows(ExportedQuarantined, quarantined)
        yield "givings.jsonl", self._deliveries()
        ignored = "SELECT assistant, session FROM silenced ORDER BY assistant, session"
        yield "silenced.jsonl", self._rows(ExportedIgnoredSession, ignored)
        yield "verdicts.jsonl", self._verdicts()
        merged = (
            "SELECT lower(hex(m.entity)), lower(hex(m.other)), coalesce(one.key, ''), coalesce(other.key, '')"
            " FROM merges m LEFT JOIN entities one ON one.mark = m.entity"
            " LEFT JOIN entities other ON other.mark = m.other ORDER BY m.id"
        )
        yield "merges.jsonl", self._rows(ExportedMerge, merged)
        erased = "SELECT lower(hex(identity)) FROM erased ORDER BY identity"
        yield "erased.jsonl", self._rows(ExportedErased, erased)
        yield "backups.jsonl", self._rows(ExportedBackup, "SELECT path, what, size, at FROM backups ORDER BY id")

    def _rows(self, kind: type[Line], sql: str) -> Iterator[Line]:
        """Lines whose fields are the columns of a query, in order; after them the row of the text, where it has one."""
        names = [name for name in kind.__struct_fields__ if name not in ("text", "text_base64")]
        for row in self._all(sql):
            text = row[len(names)] if len(row) > len(names) else None
            yield kind(**dict(zip(names, row, strict=False)), **self._text_fields(text))

    def _text_fields(self, row: int | None) -> dict[str, Any]:
        return {} if row is None else text_fields(load_text(self._db, row))

    def _scopes(self) -> Iterator[ExportedScope]:
        also: dict[int, list[str]] = defaultdict(list)
        for project, scope in self._all("SELECT project, scope FROM projects ORDER BY project"):
            also[scope].append(project)
        for row, path, project, found in self._all("SELECT id, path, project, found FROM scopes ORDER BY id"):
            yield ExportedScope(path=path, found=found, project=project, also=tuple(also[row]))

    def _memories(self) -> Iterator[ExportedMemory]:
        total = int(self._db.execute("SELECT count(*) FROM memories").get)
        scrubbed: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for memory, type, count in self._all("SELECT memory, type, count FROM scrubbed ORDER BY memory, type"):
            scrubbed[memory].append((type, count))
        counted: Counter[bytes] = Counter()
        asked = ", ".join(f"m.{name}" for name in _OWN_COLUMNS)
        names = (*_OWN_COLUMNS, "assistant", "session", "scope")
        row = done = 0
        while page := self._all(
            f"SELECT m.id, m.uuid, m.identity, m.text, m.files, n.uuid, m.retired_reason, {asked}, s.assistant, s.name,"
            " c.path FROM memories m JOIN sessions s ON s.id = m.session JOIN scopes c ON c.id = m.scope"
            " LEFT JOIN memories n ON n.id = m.superseded_by WHERE m.id > ? ORDER BY m.id LIMIT ?",
            row,
            _PAGE,
        ):
            for row, id, identity, text_row, files, newer, reason, *rest in page:
                known = dict(zip(names, rest, strict=True))
                text = load_text(self._db, text_row)
                said = {name: known[name] for name in ("assistant", "session", "kind", "role", "said_at", "source_id")}
                yield ExportedMemory(
                    id=_id(id),
                    identity=identity.hex(),
                    known_by=self._identity_basis(Event(text=text, **said), identity, counted),
                    files=tuple(json.loads(files)),
                    scrubbed=tuple(scrubbed.get(row, ())),
                    superseded_by=None if newer is None else _id(newer),
                    retired_reason=reason or "",
                    **known,
                    **text_fields(text),
                )
            done += len(page)
            self._progress(done, total)

    def _identity_basis(self, event: Event, identity: bytes, counted: Counter[bytes]) -> IdentityBasis:
        """What an identity was made from: tried, since it is not kept."""
        if event.source_id is not None:
            by_id = msgspec.structs.replace(event, host_id=event.source_id)
            if identity_of(by_id, 1, self._identity) == identity:
                return IdentityBasis(rule="id")
        first = identity_of(event, 1, self._identity)
        counted[first] += 1
        number = counted[first]
        for likely in (number, 1, number + 1, number - 1):  # not as counted where one of them was erased
            if likely and identity_of(event, likely, self._identity) == identity:
                return IdentityBasis(rule="text", occurrence=likely)
        iso = to_iso(event.said_at)
        for occasion in () if iso is None else (iso, iso.replace("Z", "+00:00")):
            if identity_of(msgspec.structs.replace(event, disambiguator=occasion), 1, self._identity) == identity:
                return IdentityBasis(rule="text", occurrence=1, occasion=occasion)
        if event.kind == "injected":  # it may have been a turn of the user's once
            as_turn = msgspec.structs.replace(event, kind="turn", role="user")
            basis = self._identity_basis(as_turn, identity, counted)
            return basis if basis.rule == "other" else msgspec.structs.replace(basis, kind="turn", role="user")
        return IdentityBasis(rule="other")

    def _verdicts(self) -> Iterator[ExportedVerdict]:
        said = (
            "SELECT o.uuid, v.older_start, n.uuid, v.newer_start, v.verdict, v.by FROM verdicts v"
            " JOIN memories o ON o.id = v.older JOIN memories n ON n.id = v.newer"
            " ORDER BY v.older, v.older_start, v.newer, v.newer_start"
        )
        for older, older_start, newer, newer_start, verdict, by in self._all(said):
            yield ExportedVerdict(
                older=_id(older),
                older_start=older_start,
                newer=_id(newer),
                newer_start=newer_start,
                verdict=verdict,
                by=by,
            )

    def _originals(self) -> Iterator[ExportedOriginal]:
        for memory, text in self._all(
            "SELECT m.uuid, o.text FROM originals o JOIN memories m ON m.id = o.memory ORDER BY m.id"
        ):
            yield ExportedOriginal(memory=_id(memory), **self._text_fields(text))

    def _deliveries(self) -> Iterator[ExportedDelivery]:
        names = ("at", "occasion", "assistant", "session", "scope", "query", "tokens")
        for row, *given in self._all(f"SELECT id, {', '.join(names)} FROM givings ORDER BY id"):
            parts = self._all(
                "SELECT m.uuid, p.start, p.stop, p.why FROM given_parts p JOIN memories m ON m.id = p.memory"
                " WHERE p.giving = ? ORDER BY p.place",
                row,
            )
            yield ExportedDelivery(
                parts=tuple(ExportedPart(memory=_id(one), start=a, stop=b, why=why) for one, a, b, why in parts),
                **dict(zip(names, given, strict=True)),
            )

    def _all(self, sql: str, *bindings: Any) -> list[Any]:
        return self._db.execute(sql, bindings).fetchall()


def _id(memory: bytes) -> str:
    return str(uuid.UUID(bytes=memory))
