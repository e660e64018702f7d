"""Applying changes of what is known: statements, the names in memories, how pairs were graded, and verdicts.

Triggers of the schema note each memory that waits to be read (``unread``), and each whose statements wait to be graded
against others (``ungraded``). `mnemic.runtime.store.knowledge.read` reads what is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import apsw
import msgspec

from mnemic.actors.knowledge.changes import (
    AddStatements,
    GradeStatements,
    MemoryReading,
    MergeEntities,
    SettleStatements,
)
from mnemic.actors.knowledge.queries import READ_BYTES
from mnemic.runtime.store.apply_context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.knowledge.read import IS_READ, encode_fields, name_at
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.texts import text_prefix

KNOWLEDGE_TABLES = (
    *("grades", "statements", "mentions", "entities", "unread", "unreadable", "ungraded", "verdicts", "merges"),
)
"""What a replay of the log makes again, or what the knowledge actor makes again after it."""


def _add_statements(context: ApplyContext, change: AddStatements, at: int) -> ChangeResult:
    db = context.db
    if db.execute("SELECT number FROM generation").get != change.generation:
        return UNCHANGED
    result = UNCHANGED
    if db.execute("SELECT reading FROM knowledge").get != change.reading:
        db.execute("UPDATE knowledge SET reading = ?", (change.reading,))
        clear_knowledge(db)
        result = CHANGED
    for one in change.memories:
        if db.execute("DELETE FROM unread WHERE memory = ? RETURNING 1", (one.row,)).get is None:
            continue
        result = CHANGED
        _keep_reading(db, one, context.identity)
    return result


def _keep_reading(db: apsw.Connection, one: MemoryReading, identity: Callable[..., bytes]) -> None:
    forget_readings(db, [one.row])
    memory = db.execute(f"SELECT scope, {SAID_OR_KEPT} FROM memories WHERE id = ?", (one.row,)).fetchone()
    if memory is None:
        return
    for mention in one.mentions:
        db.execute(
            "INSERT OR IGNORE INTO mentions(entity, memory, start, stop, kind) VALUES(?, ?, ?, ?, ?)",
            (_entity(db, mention.key, mention.name, identity), one.row, *mention.span, mention.kind),
        )
    for place, said in enumerate(one.statements):
        db.execute(
            "INSERT INTO statements(memory, place, subject, scope, said_at, holds_to, verb, is_change, value_key,"
            " over_key, own_key, start, fields) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                one.row,
                place,
                _entity(db, said.subject, said.subject, identity) if said.subject else None,
                *memory,
                said.holds_to,
                "" if said.subject.startswith("@") else said.relation,  # of who speaks the same verb tells little
                said.is_change,
                said.value_key,
                said.over_key,
                said.own_key,
                said.value[0],
                encode_fields(msgspec.structs.replace(said, subject="")),
            ),
        )
    if one.failed:
        db.execute("INSERT INTO unreadable VALUES(?)", (one.row,))
    enqueue_grading(db, [one.row])


def _entity(db: apsw.Connection, key: str, name: str, identity: Callable[..., bytes]) -> int:
    row = db.execute("SELECT id FROM entities WHERE key = ?", (key,)).get
    if row is None:
        mark = identity(b"entity", key.encode("utf-8", "surrogatepass"))
        db.execute("INSERT INTO entities(key, name, mark) VALUES(?, ?, ?)", (key, name, mark))
        row = db.last_insert_rowid()
    return int(row)


def enqueue_grading(db: apsw.Connection, rows: Iterable[int]) -> None:
    """Have the statements of memories graded, those that say something of a thing or may replace or be replaced by what
    they say.
    """
    db.executemany(
        "INSERT OR REPLACE INTO ungraded SELECT DISTINCT memory, (SELECT max(seq) FROM applies) FROM statements"
        " WHERE memory = ?"
        " AND (subject IS NOT NULL OR value_key OR over_key)",
        [(row,) for row in rows],
    )


def forget_readings(db: apsw.Connection, rows: Iterable[int]) -> None:
    """Drop what was read from memories, with the names that no other memory has."""
    named = set[int]()
    for row in rows:
        for of in ("entity FROM mentions WHERE memory = ?1", "subject FROM statements WHERE memory = ?1"):
            found: list[Any] = db.execute(f"SELECT {of}", (row,)).fetchall()
            named.update(entity for (entity,) in found if entity is not None)
        own = "(SELECT id FROM statements WHERE memory = ?1)"  # who erases has no foreign keys that would cascade
        db.execute(f"DELETE FROM grades WHERE older IN {own} OR newer IN {own}", (row,))
        for table in ("statements", "mentions", "ungraded", "unreadable"):
            db.execute(f"DELETE FROM {table} WHERE memory = ?", (row,))
    for entity in named:
        _respell(db, entity)


def _respell(db: apsw.Connection, entity: int) -> None:
    """Have a name written as the first writes it of those that are left: no letter of who goes stays. Where none is, it
    goes.
    """
    first = db.execute(
        "SELECT min(memory) FROM (SELECT memory FROM mentions WHERE entity = ?1"
        " UNION ALL SELECT memory FROM statements WHERE subject = ?1)",
        (entity,),
    ).get
    if first is None:
        db.execute("DELETE FROM entities WHERE id = ?", (entity,))
        return
    place: Any = db.execute(
        "SELECT m.text, x.start, x.stop FROM mentions x JOIN memories m ON m.id = x.memory"
        " WHERE x.entity = ? AND x.memory = ? ORDER BY x.start LIMIT 1",
        (entity, first),
    ).fetchone()
    if place is None:
        db.execute("UPDATE entities SET name = key WHERE id = ?", (entity,))
        return
    text, start, stop = place
    name = name_at(text_prefix(db, text, READ_BYTES)[0], start, stop)
    db.execute("UPDATE entities SET name = ? WHERE id = ?", (name, entity))


def clear_knowledge(db: apsw.Connection) -> None:
    """Have all memories read again; verdicts and merges stay."""
    for table in ("grades", "statements", "mentions", "entities", "ungraded", "unreadable"):
        db.execute(f"DELETE FROM {table}")
    db.execute(f"INSERT OR IGNORE INTO unread SELECT m.id FROM memories m WHERE {IS_READ}")


def _grade_statements(context: ApplyContext, change: GradeStatements, at: int) -> ChangeResult:
    db = context.db
    if db.execute("SELECT number FROM generation").get != change.generation:
        return UNCHANGED
    before = db.total_changes()
    for row in change.rows:
        db.execute("DELETE FROM ungraded WHERE memory = ? AND marked <= ?", (row, change.seq))
        own = "(SELECT id FROM statements WHERE memory = ?1)"
        db.execute(f"DELETE FROM grades WHERE newer IN {own}", (row,))
    for pair in change.pairs:
        db.execute(
            "INSERT INTO grades(older, newer, grade, probability, why) SELECT ?1, ?2, ?3, ?4, ?5"
            " WHERE EXISTS (SELECT 1 FROM statements WHERE id = ?1) AND EXISTS (SELECT 1 FROM statements WHERE id = ?2)"
            " ON CONFLICT(older, newer) DO UPDATE SET grade = ?3, probability = ?4, why = ?5",
            (pair.older, pair.newer, pair.grade, pair.probability, pair.why),
        )
    return CHANGED if db.total_changes() > before else UNCHANGED


def _settle_statements(context: ApplyContext, change: SettleStatements, at: int) -> ChangeResult:
    db = context.db
    place = (context.memory_row(change.older), change.older_start, context.memory_row(change.newer), change.newer_start)
    same = "older = ? AND older_start = ? AND newer = ? AND newer_start = ?"
    known = db.execute(f"SELECT verdict, by FROM verdicts WHERE {same}", place).fetchone()
    if known == ((change.verdict, change.by) if change.verdict != "open" else None):
        return UNCHANGED
    db.execute(f"DELETE FROM verdicts WHERE {same}", place)
    if change.verdict != "open":
        db.execute("INSERT INTO verdicts VALUES(?, ?, ?, ?, ?, ?)", (*place, change.verdict, change.by))
    return CHANGED


def _merge_entities(context: ApplyContext, change: MergeEntities, at: int) -> ChangeResult:
    db = context.db
    if db.execute("SELECT other FROM merges WHERE entity = ?", (change.entity,)).get == (change.into or None):
        return UNCHANGED
    db.execute("DELETE FROM merges WHERE entity = ?", (change.entity,))
    if change.into:
        db.execute("INSERT INTO merges(entity, other) VALUES(?, ?)", (change.entity, change.into))
    return CHANGED


KNOWLEDGE_HANDLERS: dict[type, Handler] = {
    AddStatements: _add_statements,
    GradeStatements: _grade_statements,
    SettleStatements: _settle_statements,
    MergeEntities: _merge_entities,
}
