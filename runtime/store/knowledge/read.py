"""Queries for statements, for the names in memories, and for pairs of statements that were graded or settled.

Part of `mnemic.runtime.store.reader.StoreSnapshot`. `mnemic.runtime.store.knowledge.write` writes what is read
here. What a forgotten or corrected memory states is not told.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import msgspec

from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.times import Zone, from_local
from mnemic.actors.knowledge.changes import StatementRow
from mnemic.actors.knowledge.queries import (
    READ_BYTES,
    UNSTORABLE,
    Correction,
    EntityRecord,
    MentionRecord,
    PairRecord,
    StatementRecord,
    UnreadMemory,
)
from mnemic.runtime.store.schema import SAID_OR_KEPT, VOICE
from mnemic.runtime.store.texts import text_prefix

IS_READ = "m.kind IN ('turn', 'decision', 'note') AND m.author IS NOT 'unknown'"
"""Which memories `m` are read for what they state: not what is nobody's word. A trigger of the schema queues them."""
encode_fields = msgspec.msgpack.Encoder().encode
decode_fields = msgspec.msgpack.Decoder(StatementRow).decode
_AT_ONCE = 256  # rows that one query asks for
_CORRECTION = (  # the next in the chain of what corrects a memory that is not forgotten
    "CASE WHEN {0}.superseded_by IS NOT NULL THEN (WITH RECURSIVE chain(id) AS (SELECT {0}.superseded_by"
    " UNION ALL SELECT n.superseded_by FROM chain JOIN memories n ON n.id = chain.id WHERE n.retired_at IS NOT NULL)"
    " SELECT n.id FROM chain JOIN memories n ON n.id = chain.id WHERE n.retired_at IS NULL) END"
)
_UNCORRECTED = f"({_CORRECTION}) IS NULL"
_STANDING = f"m.retired_at IS NULL AND {_UNCORRECTED.format('m')}"
_OF = (
    f"SELECT x.id, x.place, x.fields, coalesce(e.key, ''), m.id, m.uuid, m.text, {VOICE}, m.speaker, x.said_at,"
    " x.scope, s.path, {correction} FROM statements x JOIN memories m ON m.id = x.memory AND {standing}"
    " JOIN scopes s ON s.id = x.scope LEFT JOIN entities e ON e.id = x.subject"
)
_FROM_STATEMENTS = _OF.format(correction="NULL, 0, NULL", standing=_STANDING)
_OF_CORRECTED = _OF.format(correction="c.uuid, c.valid_from, c.text", standing="m.retired_at IS NULL") + (
    f" LEFT JOIN memories c ON c.id = {_CORRECTION.format('m')}"
)
# A verdict names a statement by its memory and the place of its value; two of one place are settled together.
_SETTLED = (
    "SELECT o.id AS older, n.id AS newer, v.verdict, v.by FROM verdicts v"
    " JOIN statements o ON o.memory = v.older AND o.start = v.older_start"
    " JOIN statements n ON n.memory = v.newer AND n.start = v.newer_start"
)
_PAIR = (
    "SELECT p.older, p.newer, coalesce(g.grade, ''), coalesce(g.probability, 1.0), coalesce(g.why, ''),"
    " coalesce(v.verdict, ''), coalesce(v.by, ''), o.said_at, n.said_at FROM (SELECT older, newer FROM grades {graded}"
    f" UNION SELECT older, newer FROM ({_SETTLED}) {{settled}}) p"
    " LEFT JOIN grades g ON g.older = p.older AND g.newer = p.newer"
    f" LEFT JOIN ({_SETTLED}) v ON v.older = p.older AND v.newer = p.newer"
    " JOIN statements o ON o.id = p.older JOIN memories om ON om.id = o.memory"
    " JOIN statements n ON n.id = p.newer JOIN memories m ON m.id = n.memory"
    f" WHERE om.retired_at IS NULL AND {_UNCORRECTED.format('om')} AND m.retired_at IS NULL AND o.scope = n.scope"
    # What replaced a statement and was corrected since has replaced it all the same.
    f" AND ({_UNCORRECTED.format('m')} OR v.verdict = 'newer' OR (v.verdict IS NULL AND g.grade = 'replaced'))"
)
_IS_OPEN = "(v.verdict IS NULL AND g.grade = 'conflict')"


def name_at(text: bytes, start: int, stop: int) -> str:
    """A name as it is written in a text, with a space for what no column of the store can hold, as when it was read."""
    return UNSTORABLE.sub(" ", to_text(text[start:stop]))


_IS_GRADED = "NOT EXISTS (SELECT 1 FROM ungraded u WHERE u.memory = x.memory)"  # what waits will be graded anyway
_CONDITIONS = {
    "subject": "x.subject = ?1 AND x.subject IS NOT NULL",
    "verb": "x.subject = ?1 AND x.subject IS NOT NULL AND x.verb = ?6 AND x.verb != ''",
    "change": "x.subject = ?1 AND x.is_change = 1",
    "value_key": "x.value_key = ?1 AND x.value_key != 0",
    "own_key": "x.own_key = ?1 AND x.own_key != 0",
    "over_key": "x.over_key = ?1 AND x.over_key != 0",
}
"""Which statements may be in a pair with one; each has an index of its own."""
_BESIDE = {
    (name, order): f"SELECT x.id, x.memory FROM statements x WHERE {condition} AND x.scope = ?2 AND x.said_at {side} ?3"
    f" AND x.memory != ?4{f' AND {_IS_GRADED}' * (order == 'ASC')} ORDER BY x.said_at {order}, x.memory LIMIT ?5"
    for name, condition in _CONDITIONS.items()
    for side, order in (("<", "DESC"), (">", "ASC"))
}


class _Gradable(NamedTuple):
    """What a statement is graded by."""

    number: int
    memory: int
    scope: int
    said_at: int
    subject: int
    verb: str
    is_change: int
    value_key: int
    over_key: int
    own_key: int


class KnowledgeQueries:
    """What a snapshot tells of it; see `mnemic.actors.knowledge.queries.KnowledgeSnapshot`."""

    def __init__(self, connection: apsw.Connection, zone: Zone) -> None:
        self._db = connection
        self._zone = zone

    def knowledge_reading(self) -> str:
        return str(self._db.execute("SELECT reading FROM knowledge").get)

    def unread_memories(self, limit: int, most_bytes: int) -> list[UnreadMemory]:
        found: list[Any] = self._db.execute(
            f"SELECT m.id, m.text, {VOICE}, m.speaker, {SAID_OR_KEPT}, m.utc_offset_min FROM unread u"
            " JOIN memories m ON m.id = u.memory ORDER BY u.memory LIMIT ?",
            (limit,),
        ).fetchall()
        return [
            UnreadMemory(
                row=row,
                text=text_prefix(self._db, text, most_bytes)[0],
                role=role,
                speaker=speaker,
                said_at=said_at,
                utc_offset_min=self._zone.utc_offset_min(said_at) if offset is None else offset,
            )
            for row, text, role, speaker, said_at, offset in found
        ]

    def ungraded_rows(self, limit: int) -> list[int]:
        found: list[Any] = self._db.execute("SELECT memory FROM ungraded ORDER BY memory LIMIT ?", (limit,)).fetchall()
        return [int(row) for (row,) in found]

    def read_count(self) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM memories m WHERE {IS_READ}").get)

    def knowledge_waiting(self) -> tuple[int, int]:
        unread, ungraded = (self._db.execute(f"SELECT count(*) FROM {one}").get for one in ("unread", "ungraded"))
        return int(unread), int(ungraded)

    def statements_of(self, rows: Sequence[int]) -> list[StatementRecord]:
        return sorted(self._statements(f"{_FROM_STATEMENTS} WHERE x.memory IN", rows), key=lambda one: one.number)

    def graded_rows(self, rows: Sequence[int]) -> list[int]:
        some = json.dumps([int(row) for row in rows])
        found: list[Any] = self._db.execute(
            "SELECT DISTINCT x.memory FROM json_each(?1) j CROSS JOIN statements x ON x.memory = j.value"
            " WHERE x.holds_to IS NOT NULL OR EXISTS (SELECT 1 FROM grades g WHERE g.older = x.id)"
            " OR EXISTS (SELECT 1 FROM grades g WHERE g.newer = x.id)"
            " OR EXISTS (SELECT 1 FROM verdicts v WHERE v.older = x.memory)"
            " OR EXISTS (SELECT 1 FROM verdicts v WHERE v.newer = x.memory) ORDER BY x.memory",
            (some,),
        ).fetchall()
        return [int(row) for (row,) in found]

    def successors(self, numbers: Sequence[int]) -> list[StatementRecord]:
        found = self._statements(f"{_OF_CORRECTED} WHERE x.id IN", numbers)
        return sorted(found, key=lambda one: one.number)

    def places_of(self, numbers: Collection[int]) -> dict[int, tuple[bytes, int]]:
        found: list[Any] = self._db.execute(
            "SELECT x.id, m.uuid, x.start FROM json_each(?) j CROSS JOIN statements x ON x.id = j.value"
            " JOIN memories m ON m.id = x.memory",
            (json.dumps(sorted(numbers)),),
        ).fetchall()
        return {int(number): (bytes(memory), int(start)) for number, memory, start in found}

    def statements(self, numbers: Sequence[int]) -> list[StatementRecord]:
        return sorted(self._statements(f"{_FROM_STATEMENTS} WHERE x.id IN", numbers), key=lambda one: one.number)

    def gradable_pairs(self, rows: Sequence[int], limit: int) -> list[tuple[int, int]]:
        pairs: dict[tuple[int, int], None] = {}
        for one in self._gradable(rows):
            sought = [("verb", one.subject)] if one.verb else []
            sought += [("subject", one.subject)] if one.is_change else []
            for column, value in (*sought, ("value_key", one.over_key), ("own_key", one.over_key)):
                earlier = self._beside(column, value, "DESC", one, limit)
                pairs.update(((older, one.number), None) for older, _ in earlier)
        return list(pairs)

    def rows_graded_after(self, rows: Sequence[int], limit: int) -> list[int]:
        found: set[int] = set()
        newest = self._db.execute(
            f"SELECT said_at FROM statements x WHERE subject IS NOT NULL AND {_IS_GRADED} ORDER BY said_at DESC LIMIT 1"
        ).get
        for one in self._gradable(rows):
            if newest is None or one.said_at >= newest:
                continue
            sought = [("change", one.subject), *([("verb", one.subject)] if one.verb else [])]
            for column, value in (*sought, ("over_key", one.value_key), ("over_key", one.own_key)):
                found.update(memory for _, memory in self._beside(column, value, "ASC", one, limit))
        return sorted(found)

    def _gradable(self, rows: Sequence[int]) -> list[_Gradable]:
        found: list[Any] = self._db.execute(
            "SELECT id, memory, scope, said_at, coalesce(subject, 0), verb, is_change, value_key, over_key, own_key"
            " FROM statements WHERE memory IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps([int(row) for row in rows]),),
        ).fetchall()
        return [_Gradable(*one) for one in found]

    def _beside(self, column: str, value: int, order: str, one: _Gradable, limit: int) -> list[tuple[int, int]]:
        """Number and memory of statements before one (``DESC``) or after it; none where there is no value to share."""
        if not value:
            return []
        verb = (one.verb,) if column == "verb" else ()
        values = (value, one.scope, one.said_at, one.memory, limit, *verb)
        found: list[Any] = self._db.execute(_BESIDE[column, order], values).fetchall()
        return [(int(number), int(memory)) for number, memory in found]

    def statements_about(
        self,
        entities: Collection[int] | None,
        scopes: Collection[int] | None,
        relation: str,
        limit: int,
        until: int | None = None,
        *,
        corrected: bool = False,
    ) -> list[StatementRecord]:
        within, values = "", list[Any]()
        if until is not None:
            within, values = " AND x.said_at <= ?", [until]
        for column, wanted in (("x.subject", entities), ("x.scope", scopes)):
            if wanted is not None:
                within += f" AND {column} IN (SELECT value FROM json_each(?))"
                values.append(json.dumps(sorted(wanted)))
        source = _OF_CORRECTED if corrected else _FROM_STATEMENTS
        asked = f"{source} WHERE x.subject IS NOT NULL{within} ORDER BY x.said_at DESC, x.id DESC LIMIT ?"
        # Fetched at once: what is left of a query keeps the connection in the state that it read.
        found: list[Any] = self._db.execute(asked, (*values, -1 if relation else limit)).fetchall()
        chosen = [one for one in found if not relation or decode_fields(one[2]).relation.casefold() == relation]
        texts: dict[int, bytes] = {}
        return [self._statement(one, texts) for one in (chosen if limit < 0 else chosen[:limit])]

    def _statements(self, sql: str, rows: Sequence[int]) -> Iterator[StatementRecord]:
        texts: dict[int, bytes] = {}
        for start in range(0, len(rows), _AT_ONCE):
            some = [int(row) for row in rows[start : start + _AT_ONCE]]
            found: list[Any] = self._db.execute(f"{sql} ({', '.join('?' * len(some))})", some).fetchall()
            yield from (self._statement(one, texts) for one in found)

    def _statement(self, found: Sequence[Any], texts: dict[int, bytes]) -> StatementRecord:
        number, place, fields, subject, row, memory, text, role, speaker, said_at, scope, path, *correction = found
        by, corrected_at, words = correction
        for each in (text, words):
            if each is not None and each not in texts:
                texts[each] = text_prefix(self._db, each, READ_BYTES)[0]
        said = decode_fields(fields)
        return StatementRecord(
            number=number,
            place=place,
            said=msgspec.structs.replace(said, subject=subject),
            row=row,
            memory=memory,
            text=texts[text],
            role=role,
            speaker=speaker,
            said_at=said_at,
            scope=scope,
            path=path,
            holds_from=None if said.holds_from is None else from_local(said.holds_from, self._zone),
            holds_to=None if said.holds_to is None else from_local(said.holds_to, self._zone),
            correction=None if by is None else Correction(bytes(by), int(corrected_at), texts[words]),
        )

    def pairs_of(self, numbers: Collection[int]) -> list[PairRecord]:
        if not numbers:
            return []
        mine = "(SELECT value FROM json_each(?1))"
        either = f"WHERE older IN {mine} OR newer IN {mine}"
        asked = _PAIR.format(graded=either, settled=either)
        found: list[Any] = self._db.execute(asked, (json.dumps(sorted(numbers)),)).fetchall()
        return sorted(PairRecord(*one) for one in found)

    def pairs(self, scopes: Collection[int] | None, *, is_open: bool) -> list[PairRecord]:
        within, values = "", tuple[str, ...]()
        if scopes is not None:
            within, values = " AND n.scope IN (SELECT value FROM json_each(?))", (json.dumps(sorted(scopes)),)
        newest = " ORDER BY n.said_at DESC, p.newer DESC, p.older DESC"
        sort = f" AND {'' if is_open else 'NOT '}coalesce({_IS_OPEN}, 0)"
        asked = _PAIR.format(graded="", settled="") + sort + within + newest
        found: list[Any] = self._db.execute(asked, values).fetchall()
        return [PairRecord(*one) for one in found]

    def entities(self) -> list[EntityRecord]:
        return [EntityRecord(*one) for one in self._db.execute("SELECT id, key, name, mark FROM entities ORDER BY id")]

    def mentions(
        self, scopes: Collection[int] | None, entities: Collection[int] | None, *, named: bool
    ) -> list[MentionRecord]:
        within, values = "", list[str]()
        for column, wanted in (("m.scope", scopes), ("x.entity", entities)):
            if wanted is not None:
                within += f" AND {column} IN (SELECT value FROM json_each(?))"
                values.append(json.dumps(sorted(wanted)))
        return self._mentions(f"{_STANDING}{within} ORDER BY m.id, x.start", values, named)

    def subjects(self, scopes: Collection[int] | None) -> set[int]:
        within, values = "", tuple[str, ...]()
        if scopes is not None:
            within, values = " AND x.scope IN (SELECT value FROM json_each(?))", (json.dumps(sorted(scopes)),)
        found: list[Any] = self._db.execute(
            f"SELECT DISTINCT x.subject FROM statements x JOIN memories m ON m.id = x.memory AND {_STANDING}"
            f" WHERE x.subject IS NOT NULL{within}",
            values,
        ).fetchall()
        return {int(one) for (one,) in found}

    def entity_merges(self) -> list[tuple[bytes, bytes]]:
        return [
            (bytes(one), bytes(other))
            for one, other in self._db.execute("SELECT entity, other FROM merges ORDER BY id")
        ]

    def _mentions(self, where: str, values: Sequence[str], named: bool) -> list[MentionRecord]:
        found: list[Any] = self._db.execute(
            f"SELECT x.entity, m.id, x.kind, x.start, x.stop, m.text, m.session, {SAID_OR_KEPT}"
            f" FROM mentions x CROSS JOIN memories m ON m.id = x.memory WHERE {where}",
            values,
        ).fetchall()
        texts: dict[int, bytes] = {}
        records = []
        for entity, row, kind, start, stop, text, session, said_at in found:
            if named and text not in texts:
                texts[text] = text_prefix(self._db, text, READ_BYTES)[0]
            name = name_at(texts[text], start, stop) if named else ""
            records.append(MentionRecord(entity, row, kind, name, session, said_at, (start, stop)))
        return records
