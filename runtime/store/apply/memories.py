"""Applying changes to the database: memories, their replacement, and their embeddings.

Below `mnemic.runtime.store.store`, which gives the transaction and keeps the log.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import msgspec
import numpy as np

from mnemic.actors.protocol.changes import (
    AddEncoder,
    AddMemory,
    AddVectors,
    DropEncoder,
    EncoderName,
    Logged,
    Retire,
    ScopeRef,
    Supersede,
    Unretire,
)
from mnemic.actors.protocol.errors import InvalidValue, NoSuchMemory
from mnemic.actors.protocol.messages import AddOutcome
from mnemic.runtime.store.apply.capture import CaptureApplier
from mnemic.runtime.store.apply.codes import CodeApplier
from mnemic.runtime.store.apply.scopes import ScopeApplier
from mnemic.runtime.store.apply.spool import CHANGED, UNCHANGED, ChangeResult
from mnemic.runtime.store.read.scopes import project_scope
from mnemic.runtime.store.rebind_queue import RebindQueue
from mnemic.runtime.store.supersession import current_successor, set_successor, supersession_chain
from mnemic.runtime.store.texts import store_text, to_index_text
from mnemic.runtime.store.tombstones import TombstoneApplier, next_memory_row

__all__ = ["ChangeApplier", "decode_varints", "encoder_row"]


class ChangeApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection, identity: Callable[..., bytes]) -> None:
        self._db = connection
        self._identity = identity
        self._rebind_queue = RebindQueue(connection)
        self._tombstones = TombstoneApplier(connection, identity, self._memory_row, self._scope_row)
        self.is_replaying = False
        """Whether the log is carried out again: what it says was kept is kept."""
        self._handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            AddMemory: self._add_memory,
            Supersede: self._supersede,
            Retire: self._retire,
            Unretire: self._restore,
            AddEncoder: self._add_encoder,
            DropEncoder: self._drop_encoder,
            AddVectors: self._add_vectors,
            **CaptureApplier(connection, identity, self._memory_row).handlers,
            **self._tombstones.handlers,
            **ScopeApplier(connection, self._rebind_queue.scopes_changed).handlers,
            **CodeApplier(connection, self._rebind_queue).handlers,
        }

    def begin_transaction(self) -> None:
        """A transaction begins."""
        self._rebind_queue.begin_transaction()

    def apply(self, change: Logged, at: int) -> ChangeResult:
        """Do one change as of `at` (system time, microseconds).

        Raises:
            NoSuchMemory: it names a memory that is not there.
            InvalidValue: a memory would replace itself.
        """
        return self._handlers[type(change)](change, at)

    # --- memories ----------------------------------------------------------------------------------------------------

    def _add_memory(self, change: AddMemory, at: int) -> ChangeResult:
        known = self._db.execute(
            "SELECT m.id, m.uuid, t.digest, s.path, m.retired_at FROM memories m JOIN texts t ON t.id = m.text"
            " JOIN scopes s ON s.id = m.scope WHERE m.identity = ?",
            (change.identity,),
        ).fetchone()
        if known is not None:
            row, uuid, digest, path, retired_at = known
            newer = current_successor(self._db, row)
            kept = AddOutcome(
                id=uuid,
                created=False,
                same_text=digest == self._identity(b"text", change.text),
                scope=path,
                superseded_by=None if newer is None else newer.id,
                retired_at=retired_at,
            )
            return ChangeResult(changed=False, kept=kept)
        if not self.is_replaying and self._tombstones.is_erased(change):
            gone = AddOutcome(id=change.id, created=False, same_text=True, scope=change.place.path, erased=True)
            return ChangeResult(changed=False, kept=gone)
        scope, path = self._scope_row(change.place)
        text = store_text(self._db, change.text, self._identity)
        body, speaker = to_index_text(change.text), change.speaker or ""
        self._db.execute(
            "INSERT INTO memories(id, uuid, identity, source_id, session, scope, kind, role, text, words, speaker,"
            " branch, tool, outcome, files, said_at, valid_from, recorded_at)"
            " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                next_memory_row(self._db),
                change.id,
                change.identity,
                change.source_id,
                self._session_row(change.assistant, change.session),
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
        self._db.execute("UPDATE memories SET words = ? WHERE id = ?", (sum(decode_varints(sizes)), row))
        for type, count in change.scrubbed:
            self._db.execute("INSERT INTO scrubbed(memory, type, count) VALUES(?, ?, ?)", (row, type, count))
        self._rebind_queue.memory_added(row)
        kept = AddOutcome(id=change.id, created=True, same_text=True, scope=path)
        # The log names the scope it came into, so that it makes that again, whatever else is erased.
        logged = msgspec.structs.replace(change, place=msgspec.structs.replace(change.place, path=path))
        return ChangeResult(text=text, kept=kept, logged=logged)

    def _supersede(self, change: Supersede, at: int) -> ChangeResult:
        older, newer = (
            supersession_chain(self._db, self._memory_row(change.old)),
            supersession_chain(self._db, self._memory_row(change.new)),
        )
        if newer[0] in older[1:]:  # it is so already
            return UNCHANGED
        if older[-1] == newer[-1]:
            raise InvalidValue(
                name="supersedes",
                value=str(uuid.UUID(bytes=change.old)),
                why="the memory would replace itself",
                expected="the id of another memory",
            )
        set_successor(self._db, older[-1], newer[0], at)
        replaced = bytes(self._db.execute("SELECT uuid FROM memories WHERE id = ?", (older[-1],)).get)
        return ChangeResult(logged=Supersede(old=replaced, new=change.new))

    def _retire(self, change: Retire, at: int) -> ChangeResult:
        row = self._memory_row(change.memory)
        if self._db.execute("SELECT retired_at FROM memories WHERE id = ?", (row,)).get is not None:
            return UNCHANGED
        self._rebind_queue.memory_leaving(row)
        self._db.execute(
            "UPDATE memories SET retired_at = ?, retired_reason = ? WHERE id = ?", (at, change.reason, row)
        )
        return CHANGED

    def _restore(self, change: Unretire, at: int) -> ChangeResult:
        row = self._memory_row(change.memory)
        if self._db.execute("SELECT retired_at FROM memories WHERE id = ?", (row,)).get is None:
            return UNCHANGED
        self._db.execute("UPDATE memories SET retired_at = NULL, retired_reason = NULL WHERE id = ?", (row,))
        self._rebind_queue.memory_added(row)
        return CHANGED

    def _memory_row(self, memory: bytes) -> int:
        row = self._db.execute("SELECT id FROM memories WHERE uuid = ?", (memory,)).get
        if row is None:
            raise NoSuchMemory.of(memory)
        return int(row)

    def _session_row(self, assistant: str, name: str) -> int:
        row = self._db.execute("SELECT id FROM sessions WHERE assistant = ? AND name = ?", (assistant, name)).get
        if row is None:
            self._db.execute("INSERT INTO sessions(assistant, name) VALUES(?, ?)", (assistant, name))
            row = self._db.last_insert_rowid()
        return int(row)

    def _scope_row(self, place: ScopeRef) -> tuple[int, str]:
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

    def _add_encoder(self, change: AddEncoder, at: int) -> ChangeResult:
        if encoder_row(self._db, change.encoder) is not None:
            return UNCHANGED
        self._db.execute(
            "INSERT INTO encoders(implementation, model, dimensions) VALUES(?, ?, ?)",
            (change.encoder.implementation, change.encoder.model, change.dimensions),
        )
        row = self._db.last_insert_rowid()
        self._db.execute(f"CREATE VIRTUAL TABLE vectors_{row} USING vec0(embedding float[{int(change.dimensions)}])")
        return CHANGED

    def _drop_encoder(self, change: DropEncoder, at: int) -> ChangeResult:
        row = encoder_row(self._db, change.encoder)
        if row is None:
            return UNCHANGED
        self._db.execute("DELETE FROM windows WHERE encoder = ?", (row,))
        self._db.execute("DELETE FROM meanings WHERE encoder = ?", (row,))
        self._db.execute(f"DROP TABLE vectors_{row}")
        self._db.execute("DELETE FROM encoders WHERE id = ?", (row,))
        self._rebind_queue.encoder_dropped(row)
        return CHANGED

    def _add_vectors(self, change: AddVectors, at: int) -> ChangeResult:
        encoder = self._encoder(change.encoder)
        dimensions = int(self._db.execute("SELECT dimensions FROM encoders WHERE id = ?", (encoder,)).get)
        count = sum(len(meaning.spans) for meaning in change.meanings)
        numbers = np.frombuffer(change.vectors, dtype="<f4")
        if numbers.size != count * dimensions:
            raise ValueError(f"{numbers.size} numbers are not {count} vectors of {dimensions}")
        rows = numbers.reshape(count, dimensions)
        rows_added: list[int] = []
        stop_row = 0
        for meaning in change.meanings:
            start_row, stop_row = stop_row, stop_row + len(meaning.spans)
            memory = self._memory_row(meaning.memory)
            known = self._db.execute("SELECT 1 FROM meanings WHERE encoder = ? AND memory = ?", (encoder, memory)).get
            if known is not None:
                continue
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
        if not rows_added:
            return UNCHANGED
        self._rebind_queue.vectors_changed(rows_added)
        return CHANGED

    def _encoder(self, name: EncoderName) -> int:
        row = encoder_row(self._db, name)
        if row is None:
            raise ValueError(f"no encoder {name.implementation} {name.model[:12]} was added")
        return row


def decode_varints(sizes: bytes) -> Iterator[int]:
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
