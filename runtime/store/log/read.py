"""Looking at what is there: pages of memories and of what assistants were given, one memory in full, and use by week.

Part of `mnemic.runtime.store.reader.StoreSnapshot`. Pages are found by indexes that hold all that is filtered by,
so that a page costs no more than its entries and those that are passed over.
"""

from __future__ import annotations

import json
import re
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from mnemic.actors.kernel.changes import Logged
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.scope_paths import asked_scopes
from mnemic.actors.kernel.times import MINUTE_US, Zone
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.log.messages import (
    CountUse,
    DeliveredMemory,
    DeliveriesListed,
    Delivery,
    DeliveryCount,
    ListDeliveries,
    ListMemories,
    MemoriesListed,
    MemoryDetail,
    MemoryEntry,
    ProjectUse,
    RelatedMemory,
    Use,
    UseCounted,
)
from mnemic.actors.recall.messages import Memory
from mnemic.runtime.store.schema import AUTHOR, SAID_OR_KEPT
from mnemic.runtime.store.supersession import current_successor
from mnemic.runtime.store.texts import text_prefix

_LINK_BYTES = 200
_CONTEXT_BYTES = 2000  # of a text that stands around another one
_MOST_LINKS = 100
_decode_change = msgspec.msgpack.Decoder(Logged).decode
_WEEK_US = 7 * 24 * 3600 * 1_000_000
_MONDAY_US = 4 * 24 * 3600 * 1_000_000
"""The first Monday of world time."""


def _week_sql(time: str) -> str:
    """The number of the week that a local time, microseconds, is in; SQLite rounds towards zero."""
    since = f"({time} - {_MONDAY_US})"
    return f"(({since} - ((({since} % {_WEEK_US}) + {_WEEK_US}) % {_WEEK_US})) / {_WEEK_US})"


def _sum(all_of_them: Any) -> Use:
    memories, text_bytes, given, tokens = map(sum, zip(*all_of_them, [0] * 4, strict=True))
    return Use(memories=memories, text_bytes=text_bytes, given=given, tokens=tokens)


_ENTRY_FIELDS = (
    *("id", "kind", "role", "speaker", "author", "assistant", "session", "mode", "scope", "tool", "outcome"),
    *("said_at", "recorded_at", "retired_at", "retired_reason"),
)
_ORDERS = {"captured": ("recorded_at", "memories_captured"), "said": (SAID_OR_KEPT, "memories_when")}
"""Of each order of memories, the time that is compared, and the index that has it first."""
_DELIVERY_FIELDS = ("at", "occasion", "assistant", "session", "scope", "query", "tokens", "erased")
_CURSOR = re.compile(r"([a-z]+)-(-?[0-9]{1,19})-([0-9]{1,19})")
_GIVEN_FOR = (
    "instr(char(10) || scope || char(10), char(10) || ? || char(10))"
    " OR (? != '' AND instr(char(10) || scope, char(10) || ? || '/'))"
)
_PAGE_BYTES = 4 << 20
"""A page of what was given ends with the one that makes it longer."""

_SAME = "{0}.value_key = n.value_key AND {0}.scope = n.scope AND {0}.subject = n.subject AND {0}.verb = n.verb"
_SAID_BY_OWNER = "{0}.role = 'user' AND coalesce({0}.author, 'owner') = 'owner' AND {0}.retired_at IS NULL"
_TOLD_TWICE = (
    "SELECT count(DISTINCT n.memory) FROM statements n JOIN memories nm ON nm.id = n.memory"
    f" AND {_SAID_BY_OWNER.format('nm')} JOIN sessions s ON s.id = nm.session"
    f" WHERE n.value_key != 0 AND n.subject IS NOT NULL AND EXISTS (SELECT 1 FROM statements o JOIN memories om"
    f" ON om.id = o.memory AND {_SAID_BY_OWNER.format('om')} AND om.session != nm.session"
    f" WHERE {_SAME.format('o')} AND o.said_at < n.said_at) AND NOT EXISTS (SELECT 1 FROM givings g JOIN given_parts p"
    f" ON p.giving = g.id JOIN statements x ON x.memory = p.memory AND {_SAME.format('x')}"
    " WHERE g.session = s.name AND g.at <= n.said_at)"
)


class LogQueries:
    """What a snapshot tells of what there is to see; see `mnemic.actors.kernel.snapshot.Snapshot`."""

    _db: apsw.Connection
    _zone: Zone

    @abstractmethod
    def load_memories(self, rows: Sequence[int], text_bytes: int | None = None) -> list[Memory]: ...

    def list_memories(
        self, asked: ListMemories, scopes: Sequence[int] | None, sessions: Sequence[int] | None
    ) -> MemoriesListed:
        where = [f"retired_at IS {'NOT ' if asked.forgotten else ''}NULL"]
        values: list[Any] = []
        for name, numbers in (("scope", scopes), ("session", sessions)):
            if numbers is not None:
                where.append(f"{name} IN ({','.join(map(str, numbers))})")
        if asked.kinds:
            where.append(f"kind IN ({','.join('?' * len(asked.kinds))})")
            values += asked.kinds
        when, index = _ORDERS[asked.by]
        if asked.by == "said" and (asked.since is not None or asked.until is not None):
            where.append("said_at IS NOT NULL")
        where, values = _page_conditions(where, values, when, asked, asked.by)
        rows: list[Any] = self._db.execute(
            f"SELECT id, {when} FROM memories INDEXED BY {index} WHERE {' AND '.join(where)}"
            f" ORDER BY {when} DESC, id DESC LIMIT ?",
            (*values, asked.limit + 1),
        ).fetchall()
        found = [self._load_listed(row, at, asked.by, asked.text_bytes) for row, at in rows[: asked.limit]]
        return MemoriesListed(memories=tuple(found), more=len(rows) > asked.limit)

    def _load_listed(self, row: int, at: int, by: str, text_bytes: int) -> MemoryEntry:
        text, superseded_by, *fields = next(
            self._db.execute(
                f"SELECT m.text, m.superseded_by, m.uuid, m.kind, m.role, m.speaker, {AUTHOR}, s.assistant, s.name,"
                " s.mode, c.path, m.tool, m.outcome, m.said_at, m.recorded_at, m.retired_at, m.retired_reason"
                " FROM memories m JOIN sessions s ON s.id = m.session JOIN scopes c ON c.id = m.scope WHERE m.id = ?",
                (row,),
            )
        )
        data, size = text_prefix(self._db, text, text_bytes)
        return MemoryEntry(
            cursor=f"{by}-{at}-{row}",
            at=at,
            data=data,
            size_bytes=size,
            replaced=superseded_by is not None and current_successor(self._db, row) is not None,
            **dict(zip(_ENTRY_FIELDS, fields, strict=True)),
        )

    def list_deliveries(self, asked: ListDeliveries) -> DeliveriesListed:
        where: list[str] = [f"assistant {'=' if asked.own else '!='} ''"]
        values: list[Any] = []
        paths = asked_scopes(asked.scope)
        if paths is not None:  # what was given for several scopes names them one a line
            where.append(f"({' OR '.join([_GIVEN_FOR] * len(paths))})")
            values += [value for path in paths for value in [escape_surrogates(path)] * 3]
        if asked.session is not None:
            where.append("session = ?")
            values.append(asked.session)
        where, values = _page_conditions(where, values, "at", asked, "given")
        rows: list[Any] = self._db.execute(
            f"SELECT id FROM givings INDEXED BY givings_when WHERE {' AND '.join(where)}"
            " ORDER BY at DESC, id DESC LIMIT ?",
            (*values, asked.limit + 1),
        ).fetchall()
        found: list[Delivery] = []
        size = 0
        for (row,) in rows[: asked.limit]:
            found.append(self._load_delivery(row))
            size += sum(len(part.data) for part in found[-1].parts)
            if size > _PAGE_BYTES:
                break
        return DeliveriesListed(deliveries=tuple(found), more=len(rows) > len(found))

    def _load_delivery(self, row: int) -> Delivery:
        fields = next(self._db.execute(f"SELECT {', '.join(_DELIVERY_FIELDS)} FROM givings WHERE id = ?", (row,)))
        parts: list[Any] = self._db.execute(
            "SELECT m.uuid, p.why, p.start, p.stop, m.text, t.size FROM given_parts p"
            " JOIN memories m ON m.id = p.memory JOIN texts t ON t.id = m.text WHERE p.giving = ? ORDER BY p.place",
            (row,),
        ).fetchall()
        delivery = dict(zip(_DELIVERY_FIELDS, fields, strict=True))
        delivery["scope"] = tuple(delivery["scope"].split("\n")) if "\n" in delivery["scope"] else delivery["scope"]
        return Delivery(
            cursor=f"given-{delivery['at']}-{row}",
            **delivery,
            parts=tuple(
                DeliveredMemory(
                    id=uuid,
                    why=why,
                    start_byte=start,
                    data=_text_slice(self._db, of, start, stop),
                    size_bytes=size,
                )
                for uuid, why, start, stop, of, size in parts
            ),
        )

    def delivery_counts(self, rows: Sequence[int]) -> dict[int, int]:
        found: list[Any] = self._db.execute(
            "SELECT memory, count(DISTINCT giving) FROM given_parts WHERE memory IN (SELECT value FROM json_each(?))"
            " GROUP BY memory",
            (json.dumps(list(rows)),),
        ).fetchall()
        return dict(found)

    def ids_ending(self, digits: str, most: int) -> list[bytes]:
        """Ids that end with these hexadecimal digits, or whose last eight begin with them.

        Every id is looked at, in the index that holds them alone.
        """
        found: list[Any] = self._db.execute(
            "SELECT uuid FROM memories WHERE hex(uuid) LIKE ?1 OR substr(hex(uuid), 25) LIKE ?2 ORDER BY uuid LIMIT ?3",
            (f"%{digits}", f"{digits}%", most),
        ).fetchall()
        return [uuid for (uuid,) in found]

    def count_usage(self, asked: CountUse, now: int) -> UseCounted:
        """Memories, bytes and tokens given, in all and by project.

        The weeks are the one of `now` (world time, microseconds) and those before it, by the days of who said it.
        """
        offset_min = self._zone.utc_offset_min(now)
        said_at = f"{SAID_OR_KEPT} + coalesce(m.utc_offset_min, {offset_min}) * {MINUTE_US}"
        given_at = f"at + {offset_min * MINUTE_US}"
        this = (now + offset_min * MINUTE_US - _MONDAY_US) // _WEEK_US
        found: dict[str, dict[int, list[int]]] = {}
        kept: list[Any] = self._db.execute(
            "SELECT c.path, k.week, k.count, k.size FROM"
            f" (SELECT m.scope AS scope, {_week_sql(said_at)} AS week,"
            " count(*) AS count, sum(t.size) AS size FROM memories m JOIN texts t ON t.id = m.text GROUP BY 1, 2) k"
            " JOIN scopes c ON c.id = k.scope"
        ).fetchall()
        given: list[Any] = self._db.execute(
            f"SELECT scope, {_week_sql(given_at)}, count(*), sum(tokens) FROM givings WHERE assistant != ''"
            " GROUP BY 1, 2"
        ).fetchall()
        for first, rows in ((0, kept), (2, given)):
            for path, week, *numbers in rows:
                counts = found.setdefault(path.replace("\n", ", "), {}).setdefault(this - week, [0, 0, 0, 0])
                counts[first : first + 2] = numbers
        projects = tuple(
            ProjectUse(
                path=path,
                total=_sum(ages.values()),
                weeks=tuple(_sum([ages.get(age, [0] * 4)]) for age in range(asked.weeks)),
            )
            for path, ages in sorted(found.items())
        )
        return UseCounted(
            weeks=tuple(_MONDAY_US + (this - age) * _WEEK_US for age in range(asked.weeks)),
            all=tuple(_sum([ages[age] for ages in found.values() if age in ages]) for age in range(asked.weeks)),
            projects=projects,
            told_twice=int(self._db.execute(_TOLD_TWICE).get),
        )

    def memory_details(self, row: int, context: int = 0) -> MemoryDetail:
        (memory,) = self.load_memories([row])
        session, at, text, mode = next(
            self._db.execute(
                f"SELECT m.session, {SAID_OR_KEPT}, m.text, s.mode"
                " FROM memories m JOIN sessions s ON s.id = m.session"
                " WHERE m.id = ?",
                (row,),
            )
        )
        seq, author, run, machine, code = _log_entry(self._db, text, memory.id)
        scrubbed: list[Any] = self._db.execute(
            "SELECT type, count FROM scrubbed WHERE memory = ? ORDER BY type", (row,)
        ).fetchall()
        return MemoryDetail(
            memory=memory,
            mode=mode,
            seq=seq,
            author=author,
            run=run,
            machine=machine,
            code=code,
            scrubbed=dict(scrubbed),
            original=self._db.execute("SELECT 1 FROM originals WHERE memory = ?", (row,)).get is not None,
            newer=_successors(self._db, row),
            older=_predecessors(self._db, row),
            previous=_neighbour(self._db, session, at, row, "<", "DESC"),
            next=_neighbour(self._db, session, at, row, ">", "ASC"),
            uses=_uses(self._db, row),
            around=self._around(session, at, row, context) if context else (),
        )

    def _around(self, session: int, at: int, row: int, count: int) -> tuple[MemoryEntry, ...]:
        """What was said in a conversation before and after a memory, `count` on each side, and itself."""
        sides: list[list[Any]] = [
            self._db.execute(
                f"SELECT id, {SAID_OR_KEPT} FROM memories INDEXED BY memories_order WHERE session = ?"
                f" AND ({SAID_OR_KEPT}, id) {side} (?, ?) AND kind IN ('turn', 'decision', 'note')"
                f" AND retired_at IS NULL ORDER BY {SAID_OR_KEPT} {order}, id {order} LIMIT ?",
                (session, at, row, count),
            ).fetchall()
            for side, order in (("<", "DESC"), (">", "ASC"))
        ]
        before, after = sides
        return tuple(
            self._load_listed(one, said_at, "said", _CONTEXT_BYTES)
            for one, said_at in (*before[::-1], (row, at), *after)
        )


def _page_conditions(
    where: list[str], values: list[Any], when: str, asked: ListMemories | ListDeliveries, order: str
) -> tuple[list[str], list[Any]]:
    """With the conditions on time, and on what was seen already.

    Args:
        order: what the cursor has to be of.

    Raises:
        InvalidValue: it is none, or of another order.
    """
    for condition, value in ((f"{when} >= ?", asked.since), (f"{when} < ?", asked.until)):
        if value is not None:
            where, values = [*where, condition], [*values, value]
    if asked.after is not None:
        at, row = _parse_cursor(asked.after, order)
        where, values = [*where, f"({when}, id) < (?, ?)"], [*values, at, row]
    return where, values


def _parse_cursor(cursor: str, order: str) -> tuple[int, int]:
    found = _CURSOR.fullmatch(cursor)
    if found is None or max(map(abs, place := (int(found[2]), int(found[3])))) >= 1 << 63:
        why = "it is none"
    elif found[1] != order:
        why = "it is of a list in another order"
    else:
        return place
    expected = "the cursor of the last one seen, as it was given"
    raise InvalidValue(name="the cursor", value=cursor, why=why, expected=expected)


def _text_slice(connection: apsw.Connection, row: int, start: int, stop: int) -> bytes:
    """A stretch of a text; what comes after it is not read."""
    packed = connection.execute("SELECT packed FROM texts WHERE id = ?", (row,)).get
    with connection.blob_open("main", "texts", "body", row, False) as blob:
        if not packed:
            blob.seek(start)
        body = blob.read() if packed else blob.read(stop - start)
    return zlib.decompressobj().decompress(body, max(1, stop))[start:stop] if packed else body


def _log_entry(connection: apsw.Connection, text: int, memory: bytes) -> tuple[Any, ...]:
    """The row of the log that keeps a memory, and what is known of its transaction."""
    rows: list[Any] = connection.execute(
        "SELECT l.seq, a.author, a.run, a.machine, a.code, l.change FROM log l JOIN applies a ON a.seq = l.seq"
        " WHERE l.text = ? AND instr(l.change, ?) ORDER BY l.seq",
        (text, memory),
    ).fetchall()
    for *known, encoded in rows:
        change = _decode_change(encoded)
        if isinstance(change, AddMemory) and change.id == memory:
            return tuple(known)
    return (None,) * 5


def _successors(connection: apsw.Connection, row: int) -> tuple[RelatedMemory, ...]:
    found: list[RelatedMemory] = []
    while len(found) < _MOST_LINKS:
        newer, since = next(
            connection.execute("SELECT superseded_by, superseded_at FROM memories WHERE id = ?", (row,))
        )
        if newer is None:
            break
        found.append(_link(connection, newer, since))
        row = newer
    return tuple(found)


def _predecessors(connection: apsw.Connection, row: int) -> tuple[RelatedMemory, ...]:
    rows: list[Any] = connection.execute(
        "SELECT id, superseded_at FROM memories WHERE superseded_by = ? ORDER BY superseded_at DESC, id DESC LIMIT ?",
        (row, _MOST_LINKS),
    ).fetchall()
    return tuple(_link(connection, older, since) for older, since in rows)


def _link(connection: apsw.Connection, row: int, since: int | None) -> RelatedMemory:
    uuid, at, retired_at, text = next(
        connection.execute(f"SELECT uuid, {SAID_OR_KEPT}, retired_at, text FROM memories WHERE id = ?", (row,))
    )
    start, size = text_prefix(connection, text, _LINK_BYTES)
    return RelatedMemory(id=uuid, at=at, since=since, retired_at=retired_at, data=start, size_bytes=size)


def _neighbour(connection: apsw.Connection, session: int, at: int, row: int, side: str, order: str) -> bytes | None:
    found = connection.execute(
        f"SELECT uuid FROM memories WHERE session = ? AND ({SAID_OR_KEPT}, id) {side} (?, ?)"
        f" ORDER BY {SAID_OR_KEPT} {order}, id {order} LIMIT 1",
        (session, at, row),
    ).get
    return None if found is None else bytes(found)


def _uses(connection: apsw.Connection, row: int) -> tuple[DeliveryCount, ...]:
    rows: list[Any] = connection.execute(
        "SELECT g.occasion, g.assistant = '', count(DISTINCT g.id), max(g.at) FROM given_parts p"
        " JOIN givings g ON g.id = p.giving WHERE p.memory = ? GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2",
        (row,),
    ).fetchall()
    return tuple(
        DeliveryCount(occasion=occasion, own=bool(own), times=times, last_at=last_at)
        for occasion, own, times, last_at in rows
    )
