"""Applying changes of shape: the space of hypervectors, and the codes in it.

None of it is logged: the Binder makes it again.
"""

from __future__ import annotations

import json
from typing import Any

import apsw
import msgspec
import numpy as np

from mnemic.actors.shape.changes import AddCodes, AddSpace, CodeInfo
from mnemic.actors.shape.queries import filler_term
from mnemic.runtime.store.apply_context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.shape.rebind_queue import BINDING_FAILED, set_fillers

CODE_TABLES = ("bound", "fillers", "codes", "code_bits", "spaces", "unbound")
"""What holds hypervectors and what belongs to them."""


_decode = msgspec.msgpack.Decoder(tuple[tuple[CodeInfo, ...], ...]).decode


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


SHAPE_HANDLERS: dict[type, Handler] = {AddSpace: _add_space, AddCodes: _add_codes}
