"""Applying changes of hypervectors ("codes"): their space, those of each memory, and the values bound in them.

Beside `mnemic.runtime.store.apply.memories`; `mnemic.runtime.store.rebind_queue` says what waits, and
`mnemic.runtime.store.read.codes` reads what is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import apsw
import msgspec

from mnemic.actors.protocol.changes import AddCodes, AddSpace, CodeInfo
from mnemic.runtime.store.apply.spool import CHANGED, UNCHANGED, ChangeResult
from mnemic.runtime.store.rebind_queue import BINDING_FAILED, ItemMemory, RebindQueue

__all__ = ["CODE_TABLES", "CodeApplier", "newest_space_id"]

CODE_TABLES = ("bound", "fillers", "codes", "spaces", "unbound")
"""What is written here alone; the Binder makes it again. They go before ``memories`` does."""
_decode = msgspec.msgpack.Decoder(tuple[tuple[CodeInfo, ...], ...]).decode


class CodeApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection, marker: RebindQueue) -> None:
        self._db = connection
        self._rebind_queue = marker
        self._items = ItemMemory(connection)
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            AddSpace: self._add_space,
            AddCodes: self._add_codes,
        }

    def _add_space(self, change: AddSpace, at: int) -> ChangeResult:
        newest = newest_space_id(self._db)
        known = self._db.execute("SELECT id, reading FROM spaces WHERE stamp = ?", (change.stamp,)).fetchone()
        if known is not None and known[0] == newest:
            if known[1] == change.reading:
                return UNCHANGED
            self._db.execute("UPDATE spaces SET reading = ? WHERE id = ?", (change.reading, newest))
        else:
            if known is not None:  # one of before is the newest again: what is left of it may say what is not so now
                self._db.execute("DELETE FROM codes WHERE space = ?", (known[0],))
                self._db.execute("DELETE FROM spaces WHERE id = ?", (known[0],))
            self._db.execute(
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
        self._rebind_queue.enqueue_all()
        return CHANGED

    def _add_codes(self, change: AddCodes, at: int) -> ChangeResult:
        newest = newest_space_id(self._db)
        if newest is None or self._db.execute("SELECT stamp FROM spaces WHERE id = ?", (newest,)).get != change.stamp:
            return UNCHANGED
        items = _decode(change.items)
        size = int(self._db.execute("SELECT dimensions FROM spaces WHERE id = ?", (newest,)).get) // 8
        count = sum(len(records) for records in items)
        if len(items) != len(change.memories) or len(change.codes) != size * count:
            what = f"{len(items)} lists of records and {len(change.codes)} bytes"
            raise ValueError(f"{what} are not {len(change.memories)} and {count} hypervectors of {size} bytes")
        result = UNCHANGED
        unread = frozenset(change.unread)
        stop = 0
        for memory, records in zip(change.memories, items, strict=True):
            start, stop = stop, stop + size * len(records)
            row = self._queued_row(memory)
            if row is None:  # erased or forgotten meanwhile, or bound by another process
                continue
            done = (row, change.seq)
            if memory in unread:
                self._db.execute(
                    f"UPDATE unbound SET encoder = {BINDING_FAILED} WHERE memory = ? AND marked <= ?", done
                )
            else:
                self._db.execute("DELETE FROM unbound WHERE memory = ? AND marked <= ?", done)
            if self._is_unchanged(newest, row, records, change.codes[start:stop]):
                continue
            result = CHANGED
            self._db.execute("DELETE FROM codes WHERE memory = ?", (row,))
            for place, record in enumerate(records):
                code = change.codes[start + place * size : start + (place + 1) * size]
                self._db.execute(
                    "INSERT INTO codes(space, memory, tier, pairs, code) VALUES(?, ?, ?, ?, ?)",
                    (newest, row, record.tier, record.pairs, code),
                )
            self._items.set_fillers(row, {filler for record in records for filler in record.fillers})
        return result

    def _is_unchanged(self, space: int, row: int, records: tuple[CodeInfo, ...], codes: bytes) -> bool:
        """Whether a memory has these records already: it was to be bound again, and nothing came of it."""
        had: list[Any] = self._db.execute(
            "SELECT space, tier, pairs, code FROM codes WHERE memory = ? ORDER BY id", (row,)
        ).fetchall()
        kept = b"".join(code for _, _, _, code in had)
        return kept == codes and [(space, one.tier, one.pairs) for one in records] == [one[:3] for one in had]

    def _queued_row(self, memory: bytes) -> int | None:
        row = self._db.execute(
            "SELECT u.memory FROM memories m JOIN unbound u ON u.memory = m.id WHERE m.uuid = ?", (memory,)
        ).get
        return None if row is None else int(row)


def newest_space_id(connection: apsw.Connection) -> int | None:
    """The number of the space in which hypervectors are made."""
    found = connection.execute("SELECT max(id) FROM spaces").get
    return None if found is None else int(found)
