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
from mnemic.actors.protocol.errors import AlreadyThere
from mnemic.actors.protocol.events import Event
from mnemic.actors.protocol.ports import Digest
from mnemic.actors.protocol.times import to_iso
from mnemic.runtime.keys.keys import Keys, write_private
from mnemic.runtime.store.schema import translate_errors, write_error
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
    ExportedOccurrences,
    ExportedOriginal,
    ExportedPart,
    ExportedQuarantined,
    ExportedScope,
    ExportedSession,
    FileEntry,
    IdentityBasis,
    Manifest,
    text_fields,
)

__all__ = ["export_to"]

_encode = msgspec.json.Encoder().encode
_PAGE = 1000


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
        yield "sessions.jsonl", self._sessions()
        yield "memories.jsonl", self._memories()
        yield "originals.jsonl", self._originals()
        yield "occurrences.jsonl", self._occurrences()
        yield "aside.jsonl", self._quarantined()
        yield "givings.jsonl", self._deliveries()
        yield "silenced.jsonl", self._silenced()
        yield "erased.jsonl", self._erased()
        yield "backups.jsonl", self._backups()

    def _scopes(self) -> Iterator[ExportedScope]:
        also: dict[int, list[str]] = defaultdict(list)
        for project, scope in self._all("SELECT project, scope FROM projects ORDER BY project"):
            also[scope].append(project)
        for row, path, project, found in self._all("SELECT id, path, project, found FROM scopes ORDER BY id"):
            yield ExportedScope(path=path, found=found, project=project, also=tuple(also[row]))

    def _sessions(self) -> Iterator[ExportedSession]:
        for assistant, name, mode in self._all("SELECT assistant, name, mode FROM sessions ORDER BY id"):
            yield ExportedSession(assistant=assistant, session=name, mode=mode)

    def _memories(self) -> Iterator[ExportedMemory]:
        total = int(self._db.execute("SELECT count(*) FROM memories").get)
        scrubbed: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for memory, type, count in self._all("SELECT memory, type, count FROM scrubbed ORDER BY memory, type"):
            scrubbed[memory].append((type, count))
        counted: Counter[bytes] = Counter()
        row = done = 0
        while page := self._all(
            "SELECT m.id, m.uuid, m.identity, s.assistant, s.name, c.path, m.kind, m.role, m.recorded_at, m.text,"
            " m.said_at, m.source_id, m.speaker, m.branch, m.tool, m.outcome, m.files, n.uuid, m.superseded_at,"
            " m.retired_at, m.retired_reason FROM memories m JOIN sessions s ON s.id = m.session"
            " JOIN scopes c ON c.id = m.scope LEFT JOIN memories n ON n.id = m.superseded_by"
            " WHERE m.id > ? ORDER BY m.id LIMIT ?",
            row,
            _PAGE,
        ):
            for one in page:
                row = one[0]
                text = load_text(self._db, one[9])
                event = Event(
                    assistant=one[3],
                    session=one[4],
                    kind=one[6],
                    role=one[7],
                    text=text,
                    said_at=one[10],
                    source_id=one[11],
                )
                yield ExportedMemory(
                    id=_id(one[1]),
                    identity=one[2].hex(),
                    known_by=self._identity_basis(event, one[2], counted),
                    assistant=one[3],
                    session=one[4],
                    scope=one[5],
                    kind=one[6],
                    role=one[7],
                    recorded_at=one[8],
                    said_at=one[10],
                    source_id=one[11],
                    speaker=one[12],
                    branch=one[13],
                    tool=one[14],
                    outcome=one[15],
                    files=tuple(json.loads(one[16])),
                    scrubbed=tuple(scrubbed.get(row, ())),
                    superseded_by=None if one[17] is None else _id(one[17]),
                    superseded_at=one[18],
                    retired_at=one[19],
                    retired_reason=one[20] or "",
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
        return IdentityBasis(rule="other")

    def _originals(self) -> Iterator[ExportedOriginal]:
        for memory, text in self._all(
            "SELECT m.uuid, o.text FROM originals o JOIN memories m ON m.id = o.memory ORDER BY m.id"
        ):
            yield ExportedOriginal(memory=_id(memory), **text_fields(load_text(self._db, text)))

    def _occurrences(self) -> Iterator[ExportedOccurrences]:
        for identity, hooks, missed, read_at in self._all(
            "SELECT identity, hooks, missed, read_at FROM occurrences ORDER BY identity"
        ):
            yield ExportedOccurrences(identity=identity.hex(), hooks=hooks, missed=missed, read_at=read_at)

    def _quarantined(self) -> Iterator[ExportedQuarantined]:
        for record, assistant, event, why, recorded_at, at, cwd, branch, readmitted_at, text in self._all(
            "SELECT record, assistant, event, why, recorded_at, at, cwd, branch, readmitted_at, text FROM aside"
            " ORDER BY id"
        ):
            yield ExportedQuarantined(
                record=record.hex(),
                assistant=assistant,
                event=event,
                why=why,
                recorded_at=recorded_at,
                at=at,
                cwd=cwd,
                branch=branch,
                readmitted_at=readmitted_at,
                **({} if text is None else text_fields(load_text(self._db, text))),
            )

    def _deliveries(self) -> Iterator[ExportedDelivery]:
        for row, at, occasion, assistant, session, scope, query, tokens in self._all(
            "SELECT id, at, occasion, assistant, session, scope, query, tokens FROM givings ORDER BY id"
        ):
            parts = self._all(
                "SELECT m.uuid, p.start, p.stop, p.why FROM given_parts p JOIN memories m ON m.id = p.memory"
                " WHERE p.giving = ? ORDER BY p.place",
                row,
            )
            yield ExportedDelivery(
                at=at,
                occasion=occasion,
                assistant=assistant,
                session=session,
                scope=scope,
                query=query,
                tokens=tokens,
                parts=tuple(ExportedPart(memory=_id(one), start=a, stop=b, why=why) for one, a, b, why in parts),
            )

    def _silenced(self) -> Iterator[ExportedIgnoredSession]:
        for assistant, session in self._all("SELECT assistant, session FROM silenced ORDER BY assistant, session"):
            yield ExportedIgnoredSession(assistant=assistant, session=session)

    def _erased(self) -> Iterator[ExportedErased]:
        for (identity,) in self._all("SELECT identity FROM erased ORDER BY identity"):
            yield ExportedErased(identity=identity.hex())

    def _backups(self) -> Iterator[ExportedBackup]:
        for path, what, size, at in self._all("SELECT path, what, size, at FROM backups ORDER BY id"):
            yield ExportedBackup(path=path, what=what, size_bytes=size, at=at)

    def _all(self, sql: str, *bindings: Any) -> list[Any]:
        return self._db.execute(sql, bindings).fetchall()


def _id(memory: bytes) -> str:
    return str(uuid.UUID(bytes=memory))
