"""Applying changes of nights: that they began, what they derived, how they ended, and that they were taken back.

Each item says at which night it was made and at which it made way. So a night is taken back without an inverse of what
it did: what it and later ones made goes, and what made way at them stands again.
`mnemic.runtime.store.sleep.read` reads what is written here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from mnemic.actors.kernel.errors import UnknownNight
from mnemic.actors.sleep.changes import (
    NIGHTS_KEPT,
    BeginNight,
    DerivedItem,
    EndNight,
    KeepDerived,
    KeepVerdict,
    StageReport,
    TakeBackNights,
)
from mnemic.runtime.store.apply_context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.sleep.read import decode_stages

NIGHT_TABLES = ("nights",)
"""What a replay of the log makes again."""
DERIVED_TABLES = ("derived_sources", "derived", "verdicts_of_stages")
"""What nights make again."""
_encode = msgspec.msgpack.Encoder().encode


def _begin_night(context: ApplyContext, change: BeginNight, at: int) -> ChangeResult:
    db = context.db
    if db.execute("SELECT 1 FROM nights WHERE run = ?", (change.run,)).get is not None:
        return UNCHANGED
    db.execute(
        "INSERT INTO nights(id, run, seq, at, reason) SELECT 1 + coalesce(max(id), 0), ?, ?, ?, ? FROM nights",
        (change.run, context.seq, at, change.reason),
    )
    if not context.is_replaying:
        last = (db.last_insert_rowid() - NIGHTS_KEPT,)
        delete_items(db, "gone <= ?", last)
        newest = "SELECT max(examined_in) FROM verdicts_of_stages v WHERE v.stage = verdicts_of_stages.stage"
        db.execute(f"DELETE FROM verdicts_of_stages WHERE examined_in <= ? AND examined_in < ({newest})", last)
    return CHANGED


def _keep_derived(context: ApplyContext, change: KeepDerived, at: int) -> ChangeResult:
    db = context.db
    if db.execute("SELECT number FROM generation").get != change.generation:
        return UNCHANGED
    for key, stamp in change.restamped:
        db.execute(
            "UPDATE derived SET stamp = ? WHERE stage = ? AND key = ? AND gone IS NULL", (stamp, change.stage, key)
        )
    result = CHANGED if change.restamped else UNCHANGED
    night = db.execute("SELECT id FROM nights WHERE run = ? AND undone_at IS NULL", (change.run,)).get
    if night is None:
        return result
    if change.items or change.ended:  # what was examined in this night was not yet all
        db.execute("DELETE FROM verdicts_of_stages WHERE stage = ? AND examined_in = ?", (change.stage, night))
    for item in change.items:
        _retire_item(context, change.stage, item.key, night)
        _keep_item(context, change.stage, item, night)
        result = CHANGED
    for key in change.ended:
        if _retire_item(context, change.stage, key, night):
            result = CHANGED
    return result


def _keep_item(context: ApplyContext, stage: str, item: DerivedItem, night: int) -> None:
    db = context.db
    db.execute(
        "INSERT INTO derived(stage, key, stamp, value, made, made_seq) VALUES(?, ?, ?, ?, ?, ?)",
        (stage, item.key, item.stamp, item.value, night, context.seq),
    )
    number = db.last_insert_rowid()
    db.executemany(
        "INSERT INTO derived_sources(derived, place, memory, start, stop) VALUES(?, ?, ?, ?, ?)",
        [(number, place, one.row, one.start, one.stop) for place, one in enumerate(item.sources)],
    )


def _retire_item(context: ApplyContext, stage: str, key: bytes, night: int) -> bool:
    """Have what stands under a key make way; what the same night made was never there."""
    db, current = context.db, "stage = ? AND key = ? AND gone IS NULL"
    own = delete_items(db, f"{current} AND made = ?", (stage, key, night))
    db.execute(f"UPDATE derived SET gone = ?, gone_seq = ? WHERE {current}", (night, context.seq, stage, key))
    return bool(own or db.changes())


def _keep_verdict(context: ApplyContext, change: KeepVerdict, at: int) -> ChangeResult:
    said = (change.stage, change.night, context.seq, change.effect, change.questions, int(change.passed), change.why)
    context.db.execute(
        "INSERT OR REPLACE INTO verdicts_of_stages(stage, night, seq, effect, questions, passed, why, examined_in)"
        " SELECT ?, ?, ?, ?, ?, ?, ?, id FROM nights WHERE run = ? AND undone_at IS NULL",
        (*said, change.run),
    )
    return ChangeResult(changed=bool(context.db.changes()))


def _end_night(context: ApplyContext, change: EndNight, at: int) -> ChangeResult:
    db = context.db
    result = UNCHANGED
    for one in change.stages:
        if one.state == "failed":
            db.execute(
                "INSERT INTO stage_failures(stage, nights, run, why) VALUES(?1, 1, ?2, ?3) ON CONFLICT(stage) DO UPDATE"
                " SET nights = nights + (run != ?2), run = ?2, why = ?3",
                (one.stage, change.run, one.note),
            )
            result = CHANGED
        elif one.state == "done" and clear_failures(db, one.stage):
            result = CHANGED
    night = db.execute("SELECT id FROM nights WHERE run = ?", (change.run,)).get
    if night is None:
        return result
    told: dict[str, StageReport] = {}
    before = db.execute("SELECT stages FROM night_reports WHERE night = ?", (night,)).get
    for one in (*(decode_stages(before) if before is not None else ()), *change.stages):
        first = told.get(one.stage, StageReport(stage=one.stage))
        told[one.stage] = StageReport(
            stage=one.stage,
            changes=first.changes + one.changes,
            took_us=first.took_us + one.took_us,
            note=one.note,
            state=one.state,
        )
    db.execute(
        "INSERT OR REPLACE INTO night_reports(night, ended_at, why, stages) VALUES(?, ?, ?, ?)",
        (night, at, change.why, _encode(tuple(told.values()))),
    )
    return CHANGED


def _take_back_nights(context: ApplyContext, change: TakeBackNights, at: int) -> ChangeResult:
    db, last_row = context.db, change.last_row
    if not context.is_replaying:  # else it stands as it is, and later nights made more since
        stands = "SELECT 1 FROM nights WHERE id = ? AND undone_at IS NULL AND id > (SELECT max(id) FROM nights) - ?"
        if db.execute(stands, (change.night, NIGHTS_KEPT)).get is None:
            raise UnknownNight(id=change.night, which=f" that stands, among the last {NIGHTS_KEPT}")
        last_row = int(db.execute("SELECT coalesce(max(id), 0) FROM memories").get)
        delete_items(db, "made >= ?", (change.night,))
        db.execute("UPDATE derived SET gone = NULL, gone_seq = NULL WHERE gone >= ?", (change.night,))
        db.execute("DELETE FROM verdicts_of_stages WHERE examined_in >= ?", (change.night,))
    db.execute(
        "UPDATE nights SET undone_at = ?, undone_row = ? WHERE id >= ? AND undone_at IS NULL",
        (at, last_row, change.night),
    )
    return ChangeResult(logged=msgspec.structs.replace(change, last_row=last_row))


def clear_failures(db: apsw.Connection, stage: str | None = None) -> bool:
    """Have a stage, or every one, tried again, however often it failed; says whether any had."""
    db.execute("DELETE FROM stage_failures WHERE stage = coalesce(?, stage)", (stage,))
    return bool(db.changes())


def delete_items(db: apsw.Connection, which: str, given: tuple[Any, ...]) -> int:
    """Delete items, and where they point to; returns how many.

    Args:
        which: a condition on the columns of ``derived``.
    """
    items: list[Any] = db.execute(f"SELECT id FROM derived WHERE {which}", given).fetchall()
    db.executemany("DELETE FROM derived_sources WHERE derived = ?", items)  # an erasure works without foreign keys
    db.executemany("DELETE FROM derived WHERE id = ?", items)
    return len(items)


def erase_sources(db: apsw.Connection, rows: Iterable[int]) -> None:
    """Delete every item, of whatever night, that points into some memories."""
    for row in rows:
        delete_items(db, "id IN (SELECT derived FROM derived_sources WHERE memory = ?)", (row,))


def rewind_nights(db: apsw.Connection, at_seq: int) -> None:
    """Have stand what stood after a transaction; of nights that were taken back since, nothing comes back."""
    delete_items(db, "made_seq > ?", (at_seq,))
    db.execute("UPDATE derived SET gone = NULL, gone_seq = NULL WHERE gone_seq > ?", (at_seq,))
    db.execute("DELETE FROM night_reports WHERE night NOT IN (SELECT id FROM nights WHERE seq <= ?)", (at_seq,))
    db.execute("DELETE FROM verdicts_of_stages WHERE seq > ?", (at_seq,))


SLEEP_HANDLERS: dict[type, Handler] = {
    BeginNight: _begin_night,
    KeepDerived: _keep_derived,
    KeepVerdict: _keep_verdict,
    EndNight: _end_night,
    TakeBackNights: _take_back_nights,
}
