"""Selections (for forget and erase): which memories one means, and a summary of them.

Part of `mnemic.runtime.store.reader.StoreSnapshot`; `mnemic.runtime.transfer.erase` asks the same of a draft.
"""

from __future__ import annotations

from typing import Any

import apsw

from mnemic.actors.capture.forget_messages import BackupCopy, Retirement, Selection, Surveyed
from mnemic.actors.index.hits import excerpt
from mnemic.actors.kernel.errors import NoSuchMemory, UnknownScope, UnknownSession
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.store.messages import ScopeCount
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.scopes.read import scopes_below
from mnemic.runtime.store.texts import load_text

_PREVIEW_BYTES = 200
_PREVIEW_FIELDS = "id", "retired_at", "reason", "size_bytes", "kind", "role", "speaker", "session", "scope", "said_at"


class SelectionQueries:
    """What a snapshot tells of selections; see `mnemic.actors.kernel.snapshot.Snapshot`."""

    _db: apsw.Connection

    def selected_ids(self, selection: Selection) -> list[bytes]:
        return [bytes(uuid) for (uuid,) in _query(self._db, selection, "m.uuid", "m.id")]

    def survey(self, selection: Selection, shown: int) -> Surveyed:
        return survey(self._db, selection, shown)


def select_rows(connection: apsw.Connection, selection: Selection, last_row: int | None = None) -> list[int]:
    """Rows of the memories that are meant, ascending.

    Args:
        last_row: those of later rows are not meant.

    Raises:
        NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
    """
    found = _query(connection, selection, "m.id", "m.id")
    return [int(row) for (row,) in found if last_row is None or row <= last_row]


def survey(connection: apsw.Connection, selection: Selection, shown: int) -> Surveyed:
    """Say what a selection holds.

    Raises:
        NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
    """
    asked = (
        "count(*), count(m.retired_at), coalesce(sum(t.size), 0), count(DISTINCT m.session),"
        f" min({SAID_OR_KEPT}), max({SAID_OR_KEPT}), min(m.recorded_at),"
        " coalesce(sum((SELECT count(*) FROM originals o WHERE o.memory = m.id)), 0)"
    )
    memories, retired, size, sessions, oldest, newest, since, originals = _query(connection, selection, asked)[0]
    scopes = _query(connection, selection, "c.path, c.found, count(*)", "c.path", "GROUP BY c.id")
    newest_first = f"{SAID_OR_KEPT} DESC, m.id DESC LIMIT {max(0, shown)}"
    first = _query(connection, selection, "m.id", newest_first)
    given = "SELECT g.giving FROM given_parts g WHERE g.memory IN ({})"
    corrected = "SELECT o.id FROM memories o WHERE o.superseded_by IN ({0}) AND o.id NOT IN ({0})"
    copies: list[Any] = connection.execute(
        "SELECT path, what, at FROM backups WHERE at >= ? ORDER BY at DESC, id DESC", (since,)
    ).fetchall()
    return Surveyed(
        memories=memories,
        retired=retired,
        size_bytes=size,
        sessions=sessions,
        scopes=tuple(ScopeCount(path=path, found=found, memories=count) for path, found, count in scopes),
        oldest=oldest,
        newest=newest,
        first=tuple(_load_preview(connection, row) for (row,) in first),
        originals=originals,
        given=_count(connection, selection, given),
        corrected=_count(connection, selection, corrected),
        copies=tuple(BackupCopy(path=path, what=what, at=at) for path, what, at in copies),
        generation=int(connection.execute("SELECT number FROM generation").get),
        last_row=int(connection.execute("SELECT coalesce(max(id), 0) FROM memories").get),
    )


def _query(
    connection: apsw.Connection, selection: Selection, asked: str, order: str = "", group: str = ""
) -> list[Any]:
    """Rows of an answer about the memories that are meant."""
    which, values = _condition(connection, selection)
    sql = (
        f"SELECT {asked} FROM memories m JOIN texts t ON t.id = m.text JOIN scopes c ON c.id = m.scope"
        f" WHERE {which} {group} {f'ORDER BY {order}' if order else ''}"
    )
    return connection.execute(sql, values).fetchall()


def _count(connection: apsw.Connection, selection: Selection, asked: str) -> int:
    """How many rows a query gives, in which braces stand for the rows of the memories that are meant."""
    which, values = _condition(connection, selection)
    inner = f"SELECT m.id FROM memories m WHERE {which}"
    sql = f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({asked.format(inner)}))"
    return int(connection.execute(sql, values).get)


def _condition(connection: apsw.Connection, selection: Selection) -> tuple[str, dict[str, Any]]:
    """A condition on ``memories m``, and its values."""
    if selection.ids:
        return _id_condition(connection, selection.ids)
    conditions = ["1"]
    values: dict[str, Any] = {}
    if selection.scope is not None and selection.scope != "*":
        conditions.append(f"m.scope IN ({_numbers(_scopes(connection, selection.scope))})")
    if selection.session is not None:
        conditions.append(f"m.session IN ({_numbers(_sessions(connection, selection.session))})")
    # What has no time of its own is none of these: it fulfils no comparison.
    for name, compared in (("since", "m.said_at >= :since"), ("until", "m.said_at < :until")):
        if getattr(selection, name) is not None:
            conditions.append(compared)
            values[name] = getattr(selection, name)
    if selection.forgotten_at is not None:
        conditions.append("m.retired_at = :forgotten_at")
        values["forgotten_at"] = selection.forgotten_at
    return " AND ".join(conditions), values


def _id_condition(connection: apsw.Connection, ids: tuple[bytes, ...]) -> tuple[str, dict[str, Any]]:
    rows = []
    for memory in dict.fromkeys(ids):
        row = connection.execute("SELECT id FROM memories WHERE uuid = ?", (memory,)).get
        if row is None:
            raise NoSuchMemory.of(memory)
        rows.append(int(row))
    return f"m.id IN ({_numbers(rows)})", {}


def _scopes(connection: apsw.Connection, path: str) -> list[int]:
    found = scopes_below(connection, str(escape_surrogates(path)))
    if not found:
        raise UnknownScope(scope=path, near="")
    return [number for number, _ in found]


def _sessions(connection: apsw.Connection, name: str) -> list[int]:
    found: list[Any] = connection.execute(
        "SELECT id FROM sessions WHERE name = ?1 OR substr(name, 1, length(?1) + 1) = ?1 || '/'",
        (escape_surrogates(name),),
    ).fetchall()
    if not found:
        raise UnknownSession(session=name, near="")
    return [int(number) for (number,) in found]


def _numbers(rows: list[int]) -> str:
    return ", ".join(map(str, rows))


def _load_preview(connection: apsw.Connection, row: int) -> Retirement:
    text, *fields = next(
        connection.execute(
            "SELECT m.text, m.uuid, m.retired_at, m.retired_reason, t.size, m.kind, m.role, m.speaker, s.name, c.path,"
            " m.said_at FROM memories m JOIN texts t ON t.id = m.text JOIN sessions s ON s.id = m.session"
            " JOIN scopes c ON c.id = m.scope WHERE m.id = ?",
            (row,),
        )
    )
    preview = excerpt(load_text(connection, text), _PREVIEW_BYTES, 0, ())[0]
    return Retirement(changed=False, data=preview, **dict(zip(_PREVIEW_FIELDS, fields, strict=True)))
