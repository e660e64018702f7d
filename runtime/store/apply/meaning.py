"""Applying what is made from memories: their vectors, and their hypervectors with the space and the values in them.

None of it is logged: the Embedder and the Binder make it again. `mnemic.runtime.store.rebind_queue` says what waits to
be bound, and `mnemic.runtime.store.read.codes` reads what is.
"""

from __future__ import annotations

import json
from typing import Any

import apsw
import msgspec
import numpy as np

from mnemic.actors.protocol.changes import (
    AddCodes,
    AddEncoder,
    AddSpace,
    AddVectors,
    CodeInfo,
    DropEncoder,
    EncoderName,
)
from mnemic.actors.protocol.snapshot import filler_term
from mnemic.runtime.store.apply.context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.rebind_queue import BINDING_FAILED, set_fillers

UNEMBEDDED = "m.retired_at IS NULL AND NOT EXISTS (SELECT 1 FROM meanings x WHERE x.encoder = ? AND x.memory = m.id)"
"""Whether a memory `m` waits for its meaning by an encoder, whose number is bound to it."""
_CHUNK_VECTORS = 16
"""sqlite-vec makes room for so many vectors at a time: 24 KiB of MiniLM's. Its own 1,024 took 1.6 MB of the smallest
mind, and one of 50,000 vectors was found in 360 us instead of 16, since SQLite follows a chunk page by page."""
CODE_TABLES = ("bound", "fillers", "codes", "code_bits", "spaces", "unbound")
"""What holds hypervectors and what belongs to them."""
_decode = msgspec.msgpack.Decoder(tuple[tuple[CodeInfo, ...], ...]).decode


def _add_encoder(context: ApplyContext, change: AddEncoder, at: int) -> ChangeResult:
    if encoder_row(context.db, change.encoder) is not None:
        return UNCHANGED
    context.db.execute(
        "INSERT INTO encoders(implementation, model, dimensions) VALUES(?, ?, ?)",
        (change.encoder.implementation, change.encoder.model, change.dimensions),
    )
    row = context.db.last_insert_rowid()
    column = f"embedding float[{int(change.dimensions)}], chunk_size={_CHUNK_VECTORS}"
    context.db.execute(f"CREATE VIRTUAL TABLE vectors_{row} USING vec0({column})")
    return CHANGED


def _drop_encoder(context: ApplyContext, change: DropEncoder, at: int) -> ChangeResult:
    row = encoder_row(context.db, change.encoder)
    if row is None:
        return UNCHANGED
    context.db.execute("DELETE FROM windows WHERE encoder = ?", (row,))
    context.db.execute("DELETE FROM meanings WHERE encoder = ?", (row,))
    context.db.execute(f"DROP TABLE vectors_{row}")
    context.db.execute("DELETE FROM encoders WHERE id = ?", (row,))
    context.rebind_queue.encoder_dropped(row)
    return CHANGED


def _add_vectors(context: ApplyContext, change: AddVectors, at: int) -> ChangeResult:
    db = context.db
    encoder = encoder_row(db, change.encoder)
    if encoder is None:
        raise ValueError(f"no encoder {change.encoder.implementation} {change.encoder.model[:12]} was added")
    dimensions = int(db.execute("SELECT dimensions FROM encoders WHERE id = ?", (encoder,)).get)
    count = sum(len(meaning.spans) for meaning in change.meanings)
    numbers = np.frombuffer(change.vectors, dtype="<f4")
    if numbers.size != count * dimensions:
        raise ValueError(f"{numbers.size} numbers are not {count} vectors of {dimensions}")
    vectors = iter(numbers.reshape(count, dimensions))
    rows_added: list[int] = []
    for meaning in change.meanings:
        windows = [(span, next(vectors)) for span in meaning.spans]
        memory = context.memory_row(meaning.memory)
        if db.execute("SELECT 1 FROM meanings WHERE encoder = ? AND memory = ?", (encoder, memory)).get is not None:
            continue
        rows_added.append(memory)
        db.execute(
            "INSERT INTO meanings(encoder, memory, covered, total) VALUES(?, ?, ?, ?)",
            (encoder, memory, meaning.covered, meaning.total),
        )
        for (start, stop), vector in windows:
            db.execute(
                "INSERT INTO windows(encoder, memory, start, stop) VALUES(?, ?, ?, ?)", (encoder, memory, start, stop)
            )
            db.execute(
                f"INSERT INTO vectors_{encoder}(rowid, embedding) VALUES(?, ?)",
                (db.last_insert_rowid(), vector.tobytes()),
            )
    if not rows_added:
        return UNCHANGED
    _advance_completeness(db, encoder)
    context.rebind_queue.vectors_changed(rows_added)
    return CHANGED


def _advance_completeness(db: apsw.Connection, encoder: int) -> None:
    """Note the row up to which no memory waits for an encoder, so that nobody looks through all of them for one.

    Each memory is passed once.
    """
    complete = db.execute("SELECT complete_to FROM encoders WHERE id = ?", (encoder,)).get
    waits = db.execute(
        f"SELECT m.id FROM memories m WHERE m.id > ? AND {UNEMBEDDED} ORDER BY m.id LIMIT 1", (complete, encoder)
    ).get
    reached = db.execute("SELECT max(id) FROM memories").get if waits is None else int(waits) - 1
    db.execute("UPDATE encoders SET complete_to = ? WHERE id = ?", (reached, encoder))


def reopen_completeness(db: apsw.Connection, row: int) -> None:
    """Have memories from a row on be looked at once more: one of them may wait for its meaning again."""
    db.execute("UPDATE encoders SET complete_to = min(complete_to, ?)", (row - 1,))


def encoder_row(connection: apsw.Connection, name: EncoderName) -> int | None:
    """The row of an encoder, if it was added."""
    row = connection.execute(
        "SELECT id FROM encoders WHERE implementation = ? AND model = ?", (name.implementation, name.model)
    ).get
    return None if row is None else int(row)


# --- hypervectors ----------------------------------------------------------------------------------------------------


def _add_space(context: ApplyContext, change: AddSpace, at: int) -> ChangeResult:
    db = context.db
    newest = newest_space_id(db)
    known = db.execute("SELECT id, reading FROM spaces WHERE stamp = ?", (change.stamp,)).fetchone()
    if known is not None and known[0] == newest:
        if known[1] == change.reading:
            return UNCHANGED
        db.execute("UPDATE spaces SET reading = ? WHERE id = ?", (change.reading, newest))
    else:
        if known is not None:  # one of before is the newest again: what is left of it may say what is not so now
            db.execute("DELETE FROM codes WHERE space = ?", (known[0],))
            db.execute("DELETE FROM spaces WHERE id = ?", (known[0],))
        db.execute(
            "INSERT INTO spaces(id, stamp, dimensions, version, roles, model, embedding, reading)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (newest or 0) + 1,
                change.stamp,
                change.dimensions,
                change.version,
                json.dumps(change.roles),
                change.model,
                change.embedding,
                change.reading,
            ),
        )
        db.execute(
            "UPDATE communities SET prototype = NULL, mean = NULL, bundled = 0, stale = ?"
            " WHERE died IS NULL AND level = 0",
            (context.seq,),
        )
    context.rebind_queue.enqueue_all()
    return CHANGED


def _add_codes(context: ApplyContext, change: AddCodes, at: int) -> ChangeResult:
    db = context.db
    newest = newest_space_id(db)
    if newest is None or db.execute("SELECT stamp FROM spaces WHERE id = ?", (newest,)).get != change.stamp:
        return UNCHANGED
    items = _decode(change.items)
    size = int(db.execute("SELECT dimensions FROM spaces WHERE id = ?", (newest,)).get) // 8
    count = sum(len(records) for records in items)
    if len(items) != len(change.memories) or len(change.codes) != size * count:
        what = f"{len(items)} lists of records and {len(change.codes)} bytes"
        raise ValueError(f"{what} are not {len(change.memories)} and {count} hypervectors of {size} bytes")
    result = UNCHANGED
    unread = frozenset(change.unread)
    stop = 0
    for memory, records in zip(change.memories, items, strict=True):
        start, stop = stop, stop + size * len(records)
        row = db.execute(
            "SELECT u.memory FROM memories m JOIN unbound u ON u.memory = m.id WHERE m.uuid = ?", (memory,)
        ).get
        if row is None:  # erased or forgotten meanwhile, or bound by another process
            continue
        done = (row, change.seq)
        if memory in unread:
            db.execute(f"UPDATE unbound SET encoder = {BINDING_FAILED} WHERE memory = ? AND marked <= ?", done)
        else:
            db.execute("DELETE FROM unbound WHERE memory = ? AND marked <= ?", done)
        if _has_codes(db, newest, row, records, change.codes[start:stop]):
            continue
        result = CHANGED
        db.execute("DELETE FROM codes WHERE memory = ?", (row,))
        numbers = set_fillers(db, row, {(role, filler) for record in records for role, filler, _ in record.fillers})
        for place, record in enumerate(records):
            code = change.codes[start + place * size : start + (place + 1) * size]
            terms = (filler_term(numbers[role, filler], shift) for role, filler, shift in record.fillers)
            number = db.execute(
                "INSERT INTO codes(space, memory, tier, pairs, fillers) VALUES(?, ?, ?, ?, ?) RETURNING id",
                (newest, row, record.tier, record.pairs, np.fromiter(terms, "<u4").tobytes()),
            ).get
            db.execute("INSERT INTO code_bits(id, code) VALUES(?, ?)", (number, code))
    return result


def _has_codes(db: apsw.Connection, space: int, row: int, records: tuple[CodeInfo, ...], codes: bytes) -> bool:
    """Whether a memory has these records already: it was to be bound again, and nothing came of it."""
    had: list[Any] = db.execute(
        "SELECT space, tier, pairs, code FROM codes JOIN code_bits USING(id) WHERE memory = ? ORDER BY id", (row,)
    ).fetchall()
    kept = b"".join(code for _, _, _, code in had)
    return kept == codes and [(space, one.tier, one.pairs) for one in records] == [one[:3] for one in had]


def newest_space_id(connection: apsw.Connection) -> int | None:
    """The number of the space in which hypervectors are made."""
    found = connection.execute("SELECT max(id) FROM spaces").get
    return None if found is None else int(found)


MEANING_HANDLERS: dict[type, Handler] = {
    AddEncoder: _add_encoder,
    DropEncoder: _drop_encoder,
    AddVectors: _add_vectors,
    AddSpace: _add_space,
    AddCodes: _add_codes,
}
