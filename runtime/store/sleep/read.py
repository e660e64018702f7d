"""Queries for nights, for what they derived, and for the groups of memories that they derive it from.

Part of `mnemic.runtime.store.reader.StoreSnapshot`. `mnemic.runtime.store.sleep.write` writes what is read here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

import apsw
import msgspec

from mnemic.actors.sleep.changes import SourceSpan, StageReport
from mnemic.actors.sleep.queries import (
    DeliveryBlock,
    DerivedRecord,
    GivenPart,
    Grouping,
    GroupState,
    NightRecord,
    PastQuestion,
    PersonalStatement,
    SaidTurn,
    Verdict,
)
from mnemic.runtime.store.knowledge.read import decode_fields
from mnemic.runtime.store.schema import AUTHOR, SAID_OR_KEPT

decode_stages = msgspec.msgpack.Decoder(tuple[StageReport, ...]).decode
_STANDS = "m.retired_at IS NULL AND m.superseded_by IS NULL"
# What agents say to each other is told to nobody at a session's start, so no digest is made of it.
_AMONG_PEOPLE = "(SELECT mode FROM sessions z WHERE z.id = m.session) != 'subagent'"
_SAID = (
    f"{_STANDS} AND m.kind IN ('turn', 'decision', 'note') AND {_AMONG_PEOPLE} AND {AUTHOR} IN ('owner', 'assistant')"
)
_TOLD = "m.kind = 'turn' AND m.role IN ('user', 'assistant') AND m.retired_at IS NULL"
_REPLY_US = 900_000_000
_IN_SCOPE = (
    f"+m.scope = (SELECT id FROM scopes WHERE path = ?) AND {SAID_OR_KEPT} >= ? AND {SAID_OR_KEPT} < ?"  # +: by time
    f" AND {_AMONG_PEOPLE}"
)
"""Where nobody tells which conversation was given something: those of its project, a quarter of an hour around."""
_NIGHT = (
    "SELECT n.id, n.run, n.seq, n.at, n.reason, r.ended_at, coalesce(r.why, ''), n.undone_at, r.stages FROM nights n"
    " LEFT JOIN night_reports r ON r.night = n.id"
)
_ITEM = "SELECT id, stage, key, stamp, value, made, gone FROM derived"
_GROUPS: dict[Grouping, tuple[str, str, str]] = {
    "session": ("m.session", "memories m", _SAID),
    # CROSS: members first, or SQLite goes through all memories
    "topic": ("x.topic", "members x CROSS JOIN memories m ON m.id = x.memory AND x.placed = 0 AND x.topic > 0", _SAID),
}


class SleepQueries:
    """What a snapshot tells of nights; see `mnemic.actors.sleep.queries.SleepSnapshot`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def nights(self, limit: int) -> list[NightRecord]:
        return [_night(one) for one in self._db.execute(f"{_NIGHT} ORDER BY n.id DESC LIMIT ?", (limit,)).fetchall()]

    def night(self, run: str) -> NightRecord | None:
        found = self._db.execute(f"{_NIGHT} WHERE n.run = ?", (run,)).fetchone()
        return None if found is None else _night(found)

    def night_numbered(self, number: int) -> NightRecord | None:
        found = self._db.execute(f"{_NIGHT} WHERE n.id = ?", (number,)).fetchone()
        return None if found is None else _night(found)

    def derived(self, stage: str, keys: Sequence[bytes] | None = None) -> list[DerivedRecord]:
        asked = f"{_ITEM} WHERE gone IS NULL AND stage = ?"
        if keys is None:
            found = self._db.execute(f"{asked} ORDER BY key", (stage,)).fetchall()
        else:
            each = (self._db.execute(f"{asked} AND key = ?", (stage, key)).fetchone() for key in sorted(set(keys)))
            found = [one for one in each if one is not None]
        return self._items(found)

    def derived_stamps(self, stage: str) -> dict[bytes, bytes]:
        found: Any = self._db.execute("SELECT key, stamp FROM derived WHERE gone IS NULL AND stage = ?", (stage,))
        return dict(found.fetchall())

    def derived_at(self, night: int) -> list[DerivedRecord]:
        return self._items(self._db.execute(f"{_ITEM} WHERE made = ?1 OR gone = ?1 ORDER BY id", (night,)).fetchall())

    def are_nights_held(self) -> bool:
        held = "SELECT undone_row >= (SELECT coalesce(max(id), 0) FROM memories) FROM nights ORDER BY id DESC LIMIT 1"
        return bool(self._db.execute(held).get)

    def stage_failures(self) -> dict[str, tuple[int, str]]:
        found: Any = self._db.execute("SELECT stage, nights, why FROM stage_failures ORDER BY stage").fetchall()
        return {stage: (nights, why) for stage, nights, why in found}

    def personal_statements(self, verbs: Collection[str]) -> list[PersonalStatement]:
        found: Any = self._db.execute(
            "SELECT x.memory, m.session, x.scope, x.said_at, x.subject, x.value_key, x.fields FROM statements x"
            f" JOIN memories m ON m.id = x.memory AND {AUTHOR} = 'owner' AND {_SAID}"
            " WHERE x.subject IN (SELECT id FROM entities WHERE key >= '@' AND key < 'A') AND x.value_key != 0"
            " ORDER BY x.said_at, x.memory, x.place"
        ).fetchall()
        read = ((one, decode_fields(fields)) for *one, fields in found)
        return [
            PersonalStatement._make((*one, said.relation, said.clause))
            for one, said in read
            if said.relation and _is_of(said.relation, verbs)
        ]

    def group_states(self, grouping: Grouping) -> list[GroupState]:
        column, table, which = _GROUPS[grouping]
        found: Any = self._db.execute(
            f"SELECT {column}, m.scope, count(*), sum(m.id), sum(m.id * m.id % 1000003), max(m.id) FROM {table}"
            f" WHERE {which} GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
        return [GroupState(one[0], self._mark(grouping, one[0]), one[1], _stamp(one[2:])) for one in found]

    def _mark(self, grouping: Grouping, group: int) -> int:
        """What a group goes by: of a conversation a hash of its name, since a rebuild may give it another number."""
        if grouping == "topic":
            return group
        named: Any = self._db.execute("SELECT assistant, name FROM sessions WHERE id = ?", (group,)).fetchone()
        return int.from_bytes(hashlib.sha256("\0".join(named).encode("utf-8", "replace")).digest()[:6], "big")

    def group_rows(self, grouping: Grouping, group: int, scope: int) -> list[int]:
        column, table, which = _GROUPS[grouping]
        asked = f"SELECT m.id FROM {table} WHERE {column} = ? AND m.scope = ? AND {which} ORDER BY m.id"
        found: Any = self._db.execute(asked, (group, scope)).fetchall()
        return [row for (row,) in found]

    def verdicts(self) -> dict[str, Verdict]:
        newest = "SELECT max(examined_in) FROM verdicts_of_stages v WHERE v.stage = o.stage"
        found: Any = self._db.execute(
            "SELECT stage, night, seq, effect, questions, passed, why FROM verdicts_of_stages o"
            f" WHERE examined_in = ({newest}) ORDER BY stage"
        ).fetchall()
        return {one[0]: Verdict(one[1], one[2], one[3], one[4], bool(one[5]), one[6]) for one in found}

    def newest_change(self, stage: str) -> int:
        newest = "SELECT max(coalesce(max(made), 0), coalesce(max(gone), 0)) FROM derived WHERE stage = ?"
        return int(self._db.execute(newest, (stage,)).get)

    def derived_after(self, stage: str, night: int) -> list[DerivedRecord]:
        stood = "stage = ?1 AND made <= ?2 AND (gone IS NULL OR gone > ?2)"
        return self._items(self._db.execute(f"{_ITEM} WHERE {stood} ORDER BY key", (stage, night)).fetchall())

    def derived_values(self, stage: str) -> dict[bytes, bytes]:
        found: Any = self._db.execute("SELECT key, value FROM derived WHERE gone IS NULL AND stage = ?", (stage,))
        return dict(found.fetchall())

    def row_blocks(self, size: int) -> dict[int, bytes]:
        found: Any = self._db.execute(
            "SELECT m.id / ?1, count(*), sum(m.id), sum(m.id * m.id % 1000003), sum(m.id * m.scope % 1000003)"
            f" FROM memories m WHERE {_STANDS} GROUP BY 1 ORDER BY 1",
            (size,),
        ).fetchall()
        return {block: _stamp(rest) for block, *rest in found}

    def rows_in_block(self, size: int, block: int) -> list[int]:
        within = f"SELECT m.id FROM memories m WHERE m.id >= ? AND m.id < ? AND {_STANDS} ORDER BY m.id"
        found: Any = self._db.execute(within, (size * block, size * (block + 1))).fetchall()
        return [row for (row,) in found]

    def delivery_blocks(self, size: int) -> list[DeliveryBlock]:
        found: Any = self._db.execute(
            "SELECT g.assistant, g.session, g.id / ?, count(*), max(g.id), sum(g.erased), min(g.at), max(g.at),"
            " max(g.scope), s.id FROM givings g"
            " LEFT JOIN sessions s ON s.assistant = g.assistant AND s.name = g.session"
            " WHERE g.assistant != '' AND g.session != '' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            (size,),
        ).fetchall()
        told = f"SELECT m.session, count(*), sum(m.id), sum(m.id * m.id % 1000003) FROM memories m WHERE {_TOLD} AND"
        sessions = sorted({one[-1] for one in found} - {None})
        within = f"m.session IN ({','.join(map(str, sessions))}) GROUP BY 1"
        counted: Any = self._db.execute(f"{told} {within}").fetchall()
        said = {one: rest for one, *rest in counted}
        changed = self._changed_parts(size)
        blocks = []
        for assistant, name, block, *rest, first_at, last_at, scope, session in found:
            since = said.get(session)
            if session is None:
                since = self._db.execute(f"{told} {_IN_SCOPE}", (scope, first_at, last_at + _REPLY_US)).fetchone()
            stamp = _stamp((*rest, changed.get(block, 0), *(since or ())))
            blocks.append(DeliveryBlock(assistant, name, block, stamp))
        return blocks

    def _changed_parts(self, size: int) -> dict[int, int]:
        """For each block of deliveries what tells which of its parts were forgotten or corrected."""
        found: Any = self._db.execute(
            "SELECT p.giving / ?, sum(p.memory * 7 + coalesce(m.superseded_at, 0) % 1000003 + (m.retired_at IS NULL))"
            " FROM (SELECT id FROM memories WHERE retired_at IS NOT NULL"
            "  UNION SELECT id FROM memories WHERE superseded_by IS NOT NULL) c JOIN given_parts p ON p.memory = c.id"
            " JOIN memories m ON m.id = c.id GROUP BY 1",
            (size,),
        ).fetchall()
        return dict(found)

    def given_in(self, of: DeliveryBlock, size: int, most: int) -> list[GivenPart]:
        found: Any = self._db.execute(
            "SELECT g.id, g.at, g.occasion, g.query, g.scope, p.memory, p.start, p.stop, m.superseded_at,"
            " (SELECT max(h.id) FROM givings h JOIN given_parts o ON o.giving = h.id AND o.memory = p.memory"
            "  WHERE h.id < g.id AND h.session = g.session AND h.assistant = g.assistant"
            "  AND h.occasion NOT IN ('get', 'read')) FROM givings g"
            " JOIN given_parts p ON p.giving = g.id AND p.place < ?"
            " JOIN memories m ON m.id = p.memory AND m.retired_at IS NULL"
            " JOIN sessions s ON s.id = m.session AND NOT (s.assistant = g.assistant AND s.name = g.session)"
            " WHERE g.session = ? AND g.assistant = ? AND g.id >= ? AND g.id < ? ORDER BY g.id, p.place",
            (most, of.session, of.assistant, size * of.block, size * (of.block + 1)),
        ).fetchall()
        return [GivenPart._make(one) for one in found]

    def turns_around(self, of: DeliveryBlock, scope: str, at: int, before: int, after: int) -> list[SaidTurn]:
        named = "SELECT id FROM sessions WHERE assistant = ? AND name = ?"
        session = self._db.execute(named, (of.assistant, of.session)).get
        where: str = "m.session = ?"
        given: tuple[Any, ...] = (session,)
        if session is None:
            where, given = _IN_SCOPE, (scope, at - _REPLY_US, at + _REPLY_US)
        found: list[Any] = []
        for side, order, most in (("<", "DESC", before), (">=", "ASC", after)):
            part: Any = self._db.execute(
                f"SELECT m.id, {SAID_OR_KEPT}, m.role = 'assistant' FROM memories m WHERE {_TOLD} AND {where}"
                f" AND {SAID_OR_KEPT} {side} ? ORDER BY {SAID_OR_KEPT} {order}, m.id {order} LIMIT ?",
                (*given, at, most),
            ).fetchall()
            found += part if order == "ASC" else reversed(part)
        return [SaidTurn(row, said_at, bool(is_reply)) for row, said_at, is_reply in found]

    def past_questions(self, deliveries: Sequence[int]) -> dict[int, PastQuestion]:
        sql = "SELECT at, scope, query FROM givings WHERE id = ? AND occasion = 'recall' AND query != '' AND NOT erased"
        each = ((row, self._db.execute(sql, (row,)).fetchone()) for row in sorted(set(deliveries)))
        return {row: PastQuestion(one[0], tuple(one[1].split("\n")), one[2]) for row, one in each if one is not None}

    def _items(self, found: Sequence[Any]) -> list[DerivedRecord]:
        return [DerivedRecord._make((*one, sources_of(self._db, one[0]))) for one in found]


def _is_of(relation: str, verbs: Collection[str]) -> bool:
    """Whether a relation is one of some verbs; "hate mocks in" (tests) is one of hating."""
    first, *more = relation.split()
    return relation in verbs or (len(more) > 1 and first in verbs)


def sources_of(db: apsw.Connection, item: int) -> tuple[SourceSpan, ...]:
    """Where an item points to."""
    asked = "SELECT memory, start, stop FROM derived_sources WHERE derived = ? ORDER BY place"
    found: Any = db.execute(asked, (item,)).fetchall()
    return tuple(SourceSpan(*one) for one in found)


def _night(found: Any) -> NightRecord:
    *fields, stages = found
    return NightRecord._make((*fields, () if stages is None else decode_stages(stages)))


def _stamp(numbers: Sequence[int]) -> bytes:
    return hashlib.sha256(",".join(map(str, numbers)).encode()).digest()[:16]
