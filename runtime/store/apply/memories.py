"""Carrying out changes: what each change of the closed list does to the tables, and what would take it back.

Below `mnemic.runtime.store.store`, which gives the transaction and keeps the log.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import numpy as np

from mnemic.actors.protocol.changes import (
    AddEncoder,
    AddMemory,
    AddVectors,
    Change,
    DropEncoder,
    DropMemory,
    DropVectors,
    EncoderName,
    Inverse,
    Place,
    Restore,
    Retire,
    Supersede,
    Unsupersede,
)
from mnemic.actors.protocol.errors import InvalidValue, NoSuchMemory
from mnemic.actors.protocol.messages import Kept
from mnemic.runtime.store.apply.capture import CaptureCarrier
from mnemic.runtime.store.apply.codes import CodeCarrier
from mnemic.runtime.store.apply.scopes import ScopeCarrier
from mnemic.runtime.store.apply.spool import Carried
from mnemic.runtime.store.read.scopes import project_scope
from mnemic.runtime.store.rebind_queue import Marker
from mnemic.runtime.store.supersession import replacement
from mnemic.runtime.store.texts import drop_text_if_unused, keep_text, searchable
from mnemic.runtime.store.tombstones import ErasedCarrier, next_row

__all__ = ["Carrier", "encoder_row", "varints"]

_UNCHANGED: Carried = (None, None, False, None)


class Carrier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection, identity: Callable[..., bytes]) -> None:
        self._db = connection
        self._identity = identity
        self._marker = Marker(connection)
        self._erased = ErasedCarrier(connection, identity, self._row, self._scope)
        self.replays = False
        """Whether the log is carried out again: what it says was kept is kept."""
        self._hands: dict[type, Callable[[Any, int], Carried]] = {
            AddMemory: self._add_memory,
            DropMemory: self._drop_memory,
            Supersede: self._supersede,
            Unsupersede: self._unsupersede,
            Retire: self._retire,
            Restore: self._restore,
            AddEncoder: self._add_encoder,
            DropEncoder: self._drop_encoder,
            AddVectors: self._add_vectors,
            DropVectors: self._drop_vectors,
            **CaptureCarrier(connection, identity, self._row).hands,
            **self._erased.hands,
            **ScopeCarrier(connection, self._marker.moved).hands,
            **CodeCarrier(connection, self._marker).hands,
        }

    def begins(self) -> None:
        """A transaction begins."""
        self._marker.begins()

    def carry_out(self, change: Change | Inverse, at: int) -> Carried:
        """Do one change as of `at` (system time, microseconds); what only takes one back gives no inverse.

        Raises:
            NoSuchMemory: it names a memory that is not there.
            InvalidValue: a memory would replace itself.
        """
        return self._hands[type(change)](change, at)

    # --- memories ----------------------------------------------------------------------------------------------------

    def _add_memory(self, change: AddMemory, at: int) -> Carried:
        known = self._db.execute(
            "SELECT m.id, m.uuid, t.digest, s.path, m.retired_at FROM memories m JOIN texts t ON t.id = m.text"
            " JOIN scopes s ON s.id = m.scope WHERE m.identity = ?",
            (change.identity,),
        ).fetchone()
        if known is not None:
            row, uuid, digest, path, retired_at = known
            newer = replacement(self._db, row)
            kept = Kept(
                id=uuid,
                created=False,
                same_text=digest == self._identity(b"text", change.text),
                scope=path,
                superseded_by=None if newer is None else newer.id,
                retired_at=retired_at,
            )
            return kept, None, False, None
        if not self.replays and self._erased.knows(change):
            gone = Kept(id=change.id, created=False, same_text=True, scope=change.place.path, erased=True)
            return gone, None, False, None
        scope, path = self._scope(change.place)
        text = keep_text(self._db, change.text, self._identity)
        body, speaker = searchable(change.text), change.speaker or ""
        self._db.execute(
            "INSERT INTO memories(id, uuid, identity, source_id, session, scope, kind, role, text, words, speaker,"
            " branch, tool, outcome, files, said_at, valid_from, recorded_at)"
            " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                next_row(self._db),
                change.id,
                change.identity,
                change.source_id,
                self._session(change.assistant, change.session),
                scope,
                change.kind,
                change.role,
                text,
                0,
                change.speaker,
                change.branch,
                change.tool,
                change.outcome,
                json.dumps(change.files),
                change.said_at,
                at if change.said_at is None else change.said_at,
                at,
            ),
        )
        row = self._db.last_insert_rowid()
        self._db.execute("INSERT INTO words(rowid, text, speaker) VALUES(?, ?, ?)", (row, body, speaker))
        sizes = self._db.execute("SELECT sz FROM words_docsize WHERE id = ?", (row,)).get
        self._db.execute("UPDATE memories SET words = ? WHERE id = ?", (sum(varints(sizes)), row))
        for type, count in change.scrubbed:
            self._db.execute("INSERT INTO scrubbed(memory, type, count) VALUES(?, ?, ?)", (row, type, count))
        self._marker.came(row)
        return Kept(id=change.id, created=True, same_text=True, scope=path), DropMemory(id=change.id), True, text

    def _drop_memory(self, change: DropMemory, at: int) -> Carried:
        row = self._row(change.id)
        self._marker.goes(row)
        encoders: list[Any] = self._db.execute("SELECT encoder FROM meanings WHERE memory = ?", (row,)).fetchall()
        for (encoder,) in encoders:
            self._drop_windows(encoder, row)
        session, scope, text = next(self._db.execute("SELECT session, scope, text FROM memories WHERE id = ?", (row,)))
        self._db.execute("DELETE FROM words WHERE rowid = ?", (row,))
        self._db.execute("DELETE FROM scrubbed WHERE memory = ?", (row,))
        self._db.execute("DELETE FROM memories WHERE id = ?", (row,))
        drop_text_if_unused(self._db, text)
        self._db.execute(
            "DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM memories WHERE session = ?1)", (session,)
        )
        self._db.execute(
            "DELETE FROM scopes WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM memories WHERE scope = ?1)", (scope,)
        )
        return None, None, True, None

    def _supersede(self, change: Supersede, at: int) -> Carried:
        older, newer = self._chain(self._row(change.old)), self._chain(self._row(change.new))
        if newer[0] in older[1:]:  # it is so already
            return _UNCHANGED
        if older[-1] == newer[-1]:
            raise InvalidValue(
                name="supersedes",
                value=str(uuid.UUID(bytes=change.old)),
                why="the memory would replace itself",
                expected="the id of another memory",
            )
        # What holds from before the old memory on leaves the old one no time at all, and never less than none.
        self._db.execute(
            "UPDATE memories SET superseded_by = ?1, superseded_at = ?2,"
            " valid_to = max(valid_from, (SELECT valid_from FROM memories WHERE id = ?1)) WHERE id = ?3",
            (newer[0], at, older[-1]),
        )
        replaced = bytes(self._db.execute("SELECT uuid FROM memories WHERE id = ?", (older[-1],)).get)
        return None, Unsupersede(old=replaced, new=change.new), True, None

    def _unsupersede(self, change: Unsupersede, at: int) -> Carried:
        self._db.execute(
            "UPDATE memories SET superseded_by = NULL, superseded_at = NULL, valid_to = NULL WHERE id = ?",
            (self._row(change.old),),
        )
        return None, None, True, None

    def _retire(self, change: Retire, at: int) -> Carried:
        row = self._row(change.memory)
        if self._db.execute("SELECT retired_at FROM memories WHERE id = ?", (row,)).get is not None:
            return _UNCHANGED
        self._marker.goes(row)
        self._db.execute(
            "UPDATE memories SET retired_at = ?, retired_reason = ? WHERE id = ?",
            (at if change.at is None else change.at, change.reason, row),
        )
        return None, Restore(memory=change.memory), True, None

    def _restore(self, change: Restore, at: int) -> Carried:
        row = self._row(change.memory)
        then, reason = next(self._db.execute("SELECT retired_at, retired_reason FROM memories WHERE id = ?", (row,)))
        if then is None:
            return _UNCHANGED
        self._db.execute("UPDATE memories SET retired_at = NULL, retired_reason = NULL WHERE id = ?", (row,))
        self._marker.came(row)
        return None, Retire(memory=change.memory, reason=reason, at=then), True, None

    def _chain(self, row: int) -> list[int]:
        """The memory, what replaces it, what replaces that, to the one that holds."""
        found: list[Any] = self._db.execute(
            "WITH RECURSIVE chain(id, place) AS (SELECT ?, 0 UNION ALL SELECT m.superseded_by, place + 1"
            " FROM chain JOIN memories m ON m.id = chain.id WHERE m.superseded_by IS NOT NULL)"
            " SELECT id FROM chain ORDER BY place",
            (row,),
        ).fetchall()
        return [int(memory) for (memory,) in found]

    def _row(self, memory: bytes) -> int:
        row = self._db.execute("SELECT id FROM memories WHERE uuid = ?", (memory,)).get
        if row is None:
            raise NoSuchMemory.of(memory)
        return int(row)

    def _session(self, assistant: str, name: str) -> int:
        row = self._db.execute("SELECT id FROM sessions WHERE assistant = ? AND name = ?", (assistant, name)).get
        if row is None:
            self._db.execute("INSERT INTO sessions(assistant, name) VALUES(?, ?)", (assistant, name))
            row = self._db.last_insert_rowid()
        return int(row)

    def _scope(self, place: Place) -> tuple[int, str]:
        if place.project is None:
            found = self._db.execute("SELECT id, path FROM scopes WHERE path = ?", (place.path,)).fetchone()
        else:
            found = project_scope(self._db, place.project)
        if found is not None:
            return int(found[0]), str(found[1])
        path, number = place.path, 1
        while self._db.execute("SELECT 1 FROM scopes WHERE path = ?", (path,)).get is not None:
            number += 1
            path = f"{place.path}~{number}"
        self._db.execute("INSERT INTO scopes(path, project, found) VALUES(?, ?, ?)", (path, place.project, place.found))
        return self._db.last_insert_rowid(), path

    # --- meaning -----------------------------------------------------------------------------------------------------

    def _add_encoder(self, change: AddEncoder, at: int) -> Carried:
        if encoder_row(self._db, change.encoder) is not None:
            return _UNCHANGED
        self._db.execute(
            "INSERT INTO encoders(id, implementation, model, dimensions) VALUES(?, ?, ?, ?)",
            (change.number, change.encoder.implementation, change.encoder.model, change.dimensions),
        )
        row = self._db.last_insert_rowid()
        self._db.execute(f"CREATE VIRTUAL TABLE vectors_{row} USING vec0(embedding float[{int(change.dimensions)}])")
        return None, DropEncoder(encoder=change.encoder), True, None

    def _drop_encoder(self, change: DropEncoder, at: int) -> Carried:
        row = encoder_row(self._db, change.encoder)
        if row is None:
            return _UNCHANGED
        dimensions = int(self._db.execute("SELECT dimensions FROM encoders WHERE id = ?", (row,)).get)
        self._db.execute("DELETE FROM windows WHERE encoder = ?", (row,))
        self._db.execute("DELETE FROM meanings WHERE encoder = ?", (row,))
        self._db.execute(f"DROP TABLE vectors_{row}")
        self._db.execute("DELETE FROM encoders WHERE id = ?", (row,))
        self._marker.unmeant(row)
        return None, AddEncoder(encoder=change.encoder, dimensions=dimensions, number=row), True, None

    def _add_vectors(self, change: AddVectors, at: int) -> Carried:
        encoder = self._encoder(change.encoder)
        dimensions = int(self._db.execute("SELECT dimensions FROM encoders WHERE id = ?", (encoder,)).get)
        count = sum(len(meaning.spans) for meaning in change.meanings)
        numbers = np.frombuffer(change.vectors, dtype="<f4")
        if numbers.size != count * dimensions:
            raise ValueError(f"{numbers.size} numbers are not {count} vectors of {dimensions}")
        rows = numbers.reshape(count, dimensions)
        added: list[bytes] = []
        rows_added: list[int] = []
        stop_row = 0
        for meaning in change.meanings:
            start_row, stop_row = stop_row, stop_row + len(meaning.spans)
            memory = self._row(meaning.memory)
            known = self._db.execute("SELECT 1 FROM meanings WHERE encoder = ? AND memory = ?", (encoder, memory)).get
            if known is not None:
                continue
            added.append(meaning.memory)
            rows_added.append(memory)
            self._db.execute(
                "INSERT INTO meanings(encoder, memory, covered, total) VALUES(?, ?, ?, ?)",
                (encoder, memory, meaning.covered, meaning.total),
            )
            for (start, stop), vector in zip(meaning.spans, rows[start_row:stop_row], strict=True):
                self._db.execute(
                    "INSERT INTO windows(encoder, memory, start, stop) VALUES(?, ?, ?, ?)",
                    (encoder, memory, start, stop),
                )
                self._db.execute(
                    f"INSERT INTO vectors_{encoder}(rowid, embedding) VALUES(?, ?)",
                    (self._db.last_insert_rowid(), vector.tobytes()),
                )
        if not added:
            return _UNCHANGED
        self._marker.meant(rows_added)
        return None, DropVectors(encoder=change.encoder, memories=tuple(added)), True, None

    def _drop_vectors(self, change: DropVectors, at: int) -> Carried:
        encoder = encoder_row(self._db, change.encoder)
        if encoder is None:  # retired since, or its vectors are being made anew
            return _UNCHANGED
        rows = [self._row(memory) for memory in change.memories]
        for row in rows:
            self._drop_windows(encoder, row)
        self._marker.meant(rows)
        return None, None, True, None

    def _encoder(self, name: EncoderName) -> int:
        row = encoder_row(self._db, name)
        if row is None:
            raise ValueError(f"no encoder {name.implementation} {name.model[:12]} was added")
        return row

    def _drop_windows(self, encoder: int, memory: int) -> None:
        found: list[Any] = self._db.execute(
            "SELECT id FROM windows WHERE encoder = ? AND memory = ?", (encoder, memory)
        ).fetchall()
        for (window,) in found:
            self._db.execute(f"DELETE FROM vectors_{encoder} WHERE rowid = ?", (window,))
        self._db.execute("DELETE FROM windows WHERE encoder = ? AND memory = ?", (encoder, memory))
        self._db.execute("DELETE FROM meanings WHERE encoder = ? AND memory = ?", (encoder, memory))


def varints(sizes: bytes) -> Iterator[int]:
    """How many words FTS5 counted in each column of a row; the format of ``%_docsize`` is part of its documentation."""
    value = 0
    for byte in sizes:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            yield value
            value = 0


def encoder_row(connection: apsw.Connection, name: EncoderName) -> int | None:
    """The row of an encoder, if it was added."""
    row = connection.execute(
        "SELECT id FROM encoders WHERE implementation = ? AND model = ?", (name.implementation, name.model)
    ).get
    return None if row is None else int(row)
