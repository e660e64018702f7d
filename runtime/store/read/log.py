"""Pages of captured memories and of the history of what assistants were given, newest first.

Part of `mnemic.runtime.store.read.reader.StoreSnapshot`. Pages are found by indexes that hold all that is filtered by,
so that a page costs no more than its entries and those that are passed over.

Counting what was kept and what was given, by project and by week.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

import apsw

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.log_messages import (
    CountUse,
    DeliveredMemory,
    DeliveriesListed,
    Delivery,
    ListDeliveries,
    ListMemories,
    MemoriesListed,
    MemoryEntry,
    ProjectUse,
    Use,
    UseCounted,
)
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.supersession import current_successor
from mnemic.runtime.store.texts import text_prefix

__all__ = ["LogQueries", "read_usage"]

_WEEK_US = 7 * 24 * 3600 * 1_000_000
_MONDAY_US = 4 * 24 * 3600 * 1_000_000
"""The first Monday of world time."""


def read_usage(connection: apsw.Connection, weeks: int, now: int) -> UseCounted:
    """Memories, bytes and tokens given, in all and by project.

    Args:
        weeks: so many, the one of `now` and those before it.
        now: world time, microseconds.
    """
    this = (now - _MONDAY_US) // _WEEK_US
    found: dict[str, dict[int, list[int]]] = {}
    kept: list[Any] = connection.execute(
        "SELECT c.path, k.week, k.count, k.size FROM"
        f" (SELECT m.scope AS scope, {_week_sql(SAID_OR_KEPT)} AS week,"
        " count(*) AS count, sum(t.size) AS size FROM memories m JOIN texts t ON t.id = m.text GROUP BY 1, 2) k"
        " JOIN scopes c ON c.id = k.scope"
    ).fetchall()
    given: list[Any] = connection.execute(
        f"SELECT scope, {_week_sql('at')}, count(*), sum(tokens) FROM givings WHERE assistant != '' GROUP BY 1, 2"
    ).fetchall()
    for first, rows in ((0, kept), (2, given)):
        for path, week, *numbers in rows:
            counts = found.setdefault(path, {}).setdefault(this - week, [0, 0, 0, 0])
            counts[first : first + 2] = numbers
    projects = tuple(
        ProjectUse(
            path=path, total=_sum(ages.values()), weeks=tuple(_sum([ages.get(age, [0] * 4)]) for age in range(weeks))
        )
        for path, ages in sorted(found.items())
    )
    return UseCounted(
        weeks=tuple(_MONDAY_US + (this - age) * _WEEK_US for age in range(weeks)),
        all=tuple(_sum([ages[age] for ages in found.values() if age in ages]) for age in range(weeks)),
        projects=projects,
    )


def _week_sql(time: str) -> str:
    """The number of the week that a time is in; SQLite rounds towards zero."""
    since = f"({time} - {_MONDAY_US})"
    return f"(({since} - ((({since} % {_WEEK_US}) + {_WEEK_US}) % {_WEEK_US})) / {_WEEK_US})"


def _sum(all_of_them: Any) -> Use:
    memories, text_bytes, given, tokens = map(sum, zip(*all_of_them, [0] * 4, strict=True))
    return Use(memories=memories, text_bytes=text_bytes, given=given, tokens=tokens)


_CURSOR = re.compile(r"(-?[0-9]{1,19})-([0-9]{1,19})")
_PAGE_BYTES = 4 << 20
"""A page of what was given ends with the one that makes it longer."""


class LogQueries:
    """What a snapshot tells of what there is to see; see `mnemic.actors.protocol.snapshot.Snapshot`."""

    _db: apsw.Connection

    def list_memories(
        self, asked: ListMemories, scopes: Sequence[int] | None, sessions: Sequence[int] | None
    ) -> MemoriesListed:
        return _list_memories(self._db, asked, scopes, sessions)

    def list_deliveries(self, asked: ListDeliveries) -> DeliveriesListed:
        return _list_deliveries(self._db, asked)

    def count_usage(self, asked: CountUse, now: int) -> UseCounted:
        return read_usage(self._db, asked.weeks, now)

    def delivery_counts(self, rows: Sequence[int]) -> dict[int, int]:
        found: list[Any] = self._db.execute(
            "SELECT memory, count(DISTINCT giving) FROM given_parts WHERE memory IN (SELECT value FROM json_each(?))"
            " GROUP BY memory",
            (json.dumps(list(rows)),),
        ).fetchall()
        return dict(found)


# --- what was captured -----------------------------------------------------------------------------------------------


def _list_memories(
    connection: apsw.Connection, asked: ListMemories, scopes: Sequence[int] | None, sessions: Sequence[int] | None
) -> MemoriesListed:
    where = [f"retired_at IS {'NOT ' if asked.forgotten else ''}NULL"]
    values: list[Any] = []
    for name, numbers in (("scope", scopes), ("session", sessions)):
        if numbers is not None:
            where.append(f"{name} IN ({','.join(map(str, numbers))})")
    if asked.kinds:
        where.append(f"kind IN ({','.join('?' * len(asked.kinds))})")
        values += asked.kinds
    where, values = _page_conditions(where, values, SAID_OR_KEPT, asked)
    rows: list[Any] = connection.execute(
        f"SELECT id, {SAID_OR_KEPT} FROM memories INDEXED BY memories_when WHERE {' AND '.join(where)}"
        f" ORDER BY {SAID_OR_KEPT} DESC, id DESC LIMIT ?",
        (*values, asked.limit + 1),
    ).fetchall()
    found = [_load_listed(connection, row, at, asked.text_bytes) for row, at in rows[: asked.limit]]
    return MemoriesListed(memories=tuple(found), more=len(rows) > asked.limit)


def _page_conditions(
    where: list[str], values: list[Any], when: str, asked: ListMemories | ListDeliveries
) -> tuple[list[str], list[Any]]:
    """With the conditions on time, and on what was seen already."""
    for condition, value in ((f"{when} >= ?", asked.since), (f"{when} < ?", asked.until)):
        if value is not None:
            where, values = [*where, condition], [*values, value]
    if asked.after is not None:
        at, row = _parse_cursor(asked.after)
        where, values = [*where, f"({when}, id) < (?, ?)"], [*values, at, row]
    return where, values


def _parse_cursor(cursor: str) -> tuple[int, int]:
    found = _CURSOR.fullmatch(cursor)
    if found is None or max(map(abs, place := (int(found[1]), int(found[2])))) >= 1 << 63:
        raise InvalidValue(
            name="the cursor",
            value=cursor,
            why="it is none",
            expected="the cursor of the last one seen, as it was given",
        )
    return place


def _load_listed(connection: apsw.Connection, row: int, at: int, text_bytes: int) -> MemoryEntry:
    found: Any = next(
        connection.execute(
            "SELECT m.uuid, m.kind, m.role, m.speaker, s.assistant, s.name, s.mode, c.path, m.tool, m.outcome, m.text,"
            " m.superseded_by, m.retired_at, m.retired_reason FROM memories m JOIN sessions s ON s.id = m.session"
            " JOIN scopes c ON c.id = m.scope WHERE m.id = ?",
            (row,),
        )
    )
    text, size = text_prefix(connection, found[10], text_bytes)
    return MemoryEntry(
        cursor=f"{at}-{row}",
        id=found[0],
        at=at,
        kind=found[1],
        role=found[2],
        speaker=found[3],
        assistant=found[4],
        session=found[5],
        mode=found[6],
        scope=found[7],
        tool=found[8],
        outcome=found[9],
        data=text,
        size_bytes=size,
        replaced=found[11] is not None and current_successor(connection, row) is not None,
        retired_at=found[12],
        retired_reason=found[13],
    )


def _text_slice(connection: apsw.Connection, row: int, start: int, stop: int) -> bytes:
    """A stretch of a text; what comes after it is not read."""
    packed = connection.execute("SELECT packed FROM texts WHERE id = ?", (row,)).get
    with connection.blob_open("main", "texts", "body", row, False) as blob:
        if not packed:
            blob.seek(start)
        body = blob.read() if packed else blob.read(stop - start)
    return zlib.decompressobj().decompress(body, max(1, stop))[start:stop] if packed else body


# --- what was given --------------------------------------------------------------------------------------------------


def _list_deliveries(connection: apsw.Connection, asked: ListDeliveries) -> DeliveriesListed:
    where: list[str] = [f"assistant {'=' if asked.own else '!='} ''"]
    values: list[Any] = []
    if asked.scope != "*":
        where.append("(scope = ? OR (? != '' AND substr(scope, 1, length(?) + 1) = ? || '/'))")
        values += [asked.scope] * 4
    if asked.session is not None:
        where.append("session = ?")
        values.append(asked.session)
    where, values = _page_conditions(where, values, "at", asked)
    rows: list[Any] = connection.execute(
        f"SELECT id FROM givings INDEXED BY givings_when WHERE {' AND '.join(where)} ORDER BY at DESC, id DESC LIMIT ?",
        (*values, asked.limit + 1),
    ).fetchall()
    found: list[Delivery] = []
    size = 0
    for (row,) in rows[: asked.limit]:
        found.append(_load_delivery(connection, row))
        size += sum(len(part.data) for part in found[-1].parts)
        if size > _PAGE_BYTES:
            break
    return DeliveriesListed(deliveries=tuple(found), more=len(rows) > len(found))


def _load_delivery(connection: apsw.Connection, row: int) -> Delivery:
    at, occasion, assistant, session, scope, query, tokens, erased = next(
        connection.execute(
            "SELECT at, occasion, assistant, session, scope, query, tokens, erased FROM givings WHERE id = ?", (row,)
        )
    )
    parts: list[Any] = connection.execute(
        "SELECT m.uuid, p.why, p.start, p.stop, m.text, t.size FROM given_parts p JOIN memories m ON m.id = p.memory"
        " JOIN texts t ON t.id = m.text WHERE p.giving = ? ORDER BY p.place",
        (row,),
    ).fetchall()
    return Delivery(
        cursor=f"{at}-{row}",
        at=at,
        occasion=occasion,
        assistant=assistant,
        session=session,
        scope=scope,
        query=query,
        tokens=tokens,
        erased=erased,
        parts=tuple(
            DeliveredMemory(
                id=uuid,
                why=why,
                start_byte=start,
                data=_text_slice(connection, of, start, stop),
                size_bytes=size,
            )
            for uuid, why, start, stop, of, size in parts
        ),
    )
