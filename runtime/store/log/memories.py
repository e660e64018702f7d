"""Queries for memories: their columns, their texts and terms, and memories whole.

Part of `mnemic.runtime.store.reader.StoreSnapshot`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.errors import NoSuchMemory
from mnemic.actors.kernel.events import KINDS
from mnemic.actors.kernel.times import DAY_US, Zone
from mnemic.actors.log.changes import MEMORY_FIELDS
from mnemic.actors.log.queries import Columns, MemoryAttributes, Retired, Superseded, TermBlock
from mnemic.actors.recall.messages import Memory
from mnemic.algorithms.retrieval.term_codes import TermTotals
from mnemic.algorithms.text.languages.table import DEFAULT
from mnemic.runtime.store.memory_terms import read_totals
from mnemic.runtime.store.rows import AT_ONCE, int_columns
from mnemic.runtime.store.schema import AUTHOR, SAID_OR_KEPT
from mnemic.runtime.store.supersession import current_successor, superseded_ids
from mnemic.runtime.store.texts import text_prefix, to_index_text

_READ = {
    "id": "m.uuid",
    "assistant": "s.assistant",
    "session": "s.name",
    "scope": "c.path",
    "found": "c.found",
    **{name: f"m.{name}" for name in (*MEMORY_FIELDS, "valid_from", "recorded_at", "retired_at", "retired_reason")},
    "author": AUTHOR,
}
"""Fields of a `Memory`, and what they are read from."""
_NO_OFFSET = -10_000  # what stands for none; a day has 1,440 minutes
_KIND_NUMBER = "CASE kind " + " ".join(f"WHEN '{kind}' THEN {n}" for n, kind in enumerate(KINDS)) + " END"


class MemoryQueries:
    """What a snapshot tells of memories; see `mnemic.actors.log.queries.LogSnapshot`."""

    _db: apsw.Connection
    _zone: Zone

    def memory_columns(self, after_row: int) -> Columns:
        found = self._db.execute(
            f"SELECT id, session, scope, {_KIND_NUMBER}, words, {SAID_OR_KEPT}, recorded_at,"
            f" said_at IS NOT NULL, coalesce(utc_offset_min, {_NO_OFFSET}) FROM memories WHERE id > ? ORDER BY id",
            (after_row,),
        ).fetchall()
        columns = Columns(*int_columns(found, 9))
        unknown = columns.utc_offset_min == _NO_OFFSET
        if unknown.any():
            columns.utc_offset_min[unknown] = _offsets(columns.said_at[unknown], self._zone)
        return columns

    def memory_attributes(self, first_row: int, last_row: int) -> list[MemoryAttributes]:
        found = self._db.execute(
            "SELECT m.role, m.speaker, s.assistant, m.branch, m.tool, m.files FROM memories m"
            " JOIN sessions s ON s.id = m.session WHERE m.id BETWEEN ? AND ? ORDER BY m.id",
            (first_row, last_row),
        )
        read: dict[tuple[Any, ...], MemoryAttributes] = {}  # many rows are equal
        attributes = []
        for row in found:
            if row not in read:
                role, speaker, assistant, branch, tool, files = row
                read[row] = MemoryAttributes(role, speaker, assistant, branch, tool, tuple(json.loads(str(files))))
            attributes.append(read[row])
        return attributes

    def superseded(self) -> Superseded:
        # Told to use the index: to have them in order, SQLite would rather read all memories, 9 ms for 100,000.
        found = self._db.execute(
            "SELECT id, superseded_by, superseded_at FROM memories INDEXED BY memories_superseded"
            " WHERE superseded_by IS NOT NULL ORDER BY id"
        ).fetchall()
        return Superseded(*int_columns(found, 3))

    def retired(self) -> Retired:
        found = self._db.execute(
            "SELECT id, retired_at FROM memories INDEXED BY memories_retired WHERE retired_at IS NOT NULL ORDER BY id"
        ).fetchall()
        return Retired(*int_columns(found, 2))

    def session_rows(self, name: str) -> list[int]:
        return [row for (row,) in self._db.execute("SELECT id FROM sessions WHERE name = ? ORDER BY id", (name,))]

    def session_names(self, rows: Sequence[int]) -> list[str]:
        found = self._db.execute(
            "SELECT name FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
            " GROUP BY name ORDER BY max(id) DESC",
            (json.dumps(list(rows)),),
        )
        return [name for (name,) in found]

    def languages(self) -> list[str]:
        found = [DEFAULT.code]
        step = f"SELECT min(language) FROM memories WHERE language != '{DEFAULT.code}' AND language > ?"
        code = self._db.execute(step, ("",)).get
        while code is not None:  # from one to the next in the index, however many memories have it
            found.append(str(code))
            code = self._db.execute(step, (code,)).get
        return found

    def memory_terms(self, after_row: int, limit: int) -> TermBlock:
        found: list[Any] = self._db.execute(
            "SELECT memory, codes FROM memory_terms WHERE memory > ? ORDER BY memory LIMIT ?", (after_row, limit)
        ).fetchall()
        rows, codes = zip(*found, strict=True) if found else ((), ())
        sizes = np.fromiter(map(len, codes), np.int64, len(codes))
        return TermBlock(np.array(rows, np.int64), np.cumsum(sizes), b"".join(codes))

    def term_totals(self) -> TermTotals:
        return read_totals(self._db)

    def text_starts(self, rows: Sequence[int], most_bytes: int, *, with_speaker: bool = True) -> list[str]:
        found = self._text_prefixes(rows, most_bytes)
        return [f"{found[row][0]} " * with_speaker + to_index_text(found[row][1]) for row in rows]

    def text_prefixes(self, rows: Sequence[int], most_bytes: int) -> list[bytes]:
        found = self._text_prefixes(rows, most_bytes)
        return [found[row][1] for row in rows]

    def _text_prefixes(self, rows: Sequence[int], most_bytes: int) -> dict[int, tuple[str, bytes]]:
        """By row, who spoke, empty where nobody is named, and how the text begins."""
        found = {}
        # A longer text is not read whole.
        sql = (
            "SELECT m.id, m.speaker, m.text, t.packed, CASE WHEN t.size <= ?1 THEN t.body END"
            " FROM memories m JOIN texts t ON t.id = m.text WHERE m.id IN"
        )
        for row, speaker, text, packed, body in self._select_rows(sql, rows, most_bytes):
            if body is None:
                start = text_prefix(self._db, text, most_bytes)[0]
            else:
                start = zlib.decompress(body) if packed else body
            found[row] = speaker or "", start
        return found

    def ids_of(self, rows: Sequence[int]) -> list[bytes]:
        found = dict(self._select_rows("SELECT id, uuid FROM memories WHERE id IN", rows))
        return [bytes(found[row]) for row in rows]

    def rows_of(self, ids: Sequence[bytes]) -> list[int]:
        rows = []
        for memory in ids:
            row = self._db.execute("SELECT id FROM memories WHERE uuid = ?", (memory,)).get
            if row is None:
                raise NoSuchMemory.of(memory)
            rows.append(int(row))
        return rows

    def _memory_counts(self) -> tuple[int, int]:
        """How many memories there are, and how many of them are retired."""
        retired = "SELECT count(*) FROM memories WHERE retired_at IS NOT NULL"
        return int(self._db.execute("SELECT count(*) FROM memories").get), int(self._db.execute(retired).get)

    def load_memories(self, rows: Sequence[int], text_bytes: int | None = None) -> list[Memory]:
        """Memories; with `text_bytes` no more of a longer text than so much of its start."""
        replacing = {
            row
            for (row,) in self._select_rows(
                "SELECT DISTINCT superseded_by FROM memories INDEXED BY memories_superseded"
                " WHERE superseded_by IS NOT NULL AND superseded_by IN",
                rows,
            )
        }
        body = "t.packed, t.body" if text_bytes is None else "NULL, NULL"
        sql = (
            f"SELECT m.id, m.text, {body}, m.files, m.superseded_by, {', '.join(_READ.values())}"
            " FROM memories m JOIN sessions s ON s.id = m.session"
            f" JOIN scopes c ON c.id = m.scope {'JOIN texts t ON t.id = m.text ' if text_bytes is None else ''}"
            "WHERE m.id IN"
        )
        found = {}
        for row, text, packed, kept, files, superseded_by, *rest in self._select_rows(sql, rows):
            fields = dict(zip(_READ, rest, strict=True))
            if fields["utc_offset_min"] is None:
                said_at = fields["recorded_at"] if fields["said_at"] is None else fields["said_at"]
                fields["utc_offset_min"] = self._zone.utc_offset_min(said_at)
            newer = None if superseded_by is None else current_successor(self._db, row)
            if text_bytes is not None:
                data = text_prefix(self._db, text, text_bytes)[0]
            else:
                data = zlib.decompress(kept) if packed else bytes(kept)
            found[row] = Memory(
                data=data,
                files=tuple(json.loads(files)),
                # What holds from before this one on leaves it no time at all, and never less than none.
                valid_to=None if newer is None else max(fields["valid_from"], newer.valid_from),
                superseded_by=None if newer is None else newer.id,
                supersedes=superseded_ids(self._db, row) if row in replacing else (),
                **fields,
            )
        return [found[row] for row in rows]

    def _select_rows(self, sql: str, rows: Sequence[int], *values: int) -> Iterator[Any]:
        """What is selected of some rows, in any order; the statement ends with ``IN``."""
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            yield from self._db.execute(f"{sql} ({', '.join('?' * len(some))})", (*values, *some)).fetchall()


def _offsets(said_at: NDArray[np.int64], zone: Zone) -> NDArray[np.int64]:
    """The offsets of a zone at some times, minutes: on most days the clock is not moved, and one look does for all."""
    days, place = np.unique(said_at // DAY_US, return_inverse=True)
    starts = [zone.utc_offset_min(int(day) * DAY_US) for day in days]
    ends = [zone.utc_offset_min((int(day) + 1) * DAY_US) for day in days]
    offsets = np.array(starts, np.int64)[place]
    for moved in np.flatnonzero(offsets != np.array(ends, np.int64)[place]):
        offsets[moved] = zone.utc_offset_min(int(said_at[moved]))
    return offsets
