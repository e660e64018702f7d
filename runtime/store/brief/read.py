"""Answers what a session's start asks: memories and sessions as they stand, in an order that the query names.

Part of `mnemic.runtime.store.reader.StoreSnapshot`; `mnemic.session_start` reads the same by a connection of its
own, where no process runs. So nothing is imported here that is slow to load. `mnemic.actors.brief.gather` chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import apsw

from mnemic.actors.brief import queries
from mnemic.actors.brief.queries import MemoryRow, SessionEnd
from mnemic.actors.kernel.events import MCP_PREFIX, escape_surrogates
from mnemic.actors.kernel.message import AnswerT, Query
from mnemic.runtime.store.knowledge.read import KnowledgeQueries
from mnemic.runtime.store.schema import AUTHOR, SAID_OR_KEPT
from mnemic.runtime.store.scopes.read import ScopeQueries
from mnemic.runtime.store.sleep.read import SleepQueries
from mnemic.runtime.store.supersession import current_successor
from mnemic.runtime.store.texts import text_prefix

_ROW = (
    f"m.id, m.uuid, m.text, {SAID_OR_KEPT}, m.role, m.kind, m.session, m.superseded_by, m.scope,"
    " coalesce(m.said_at, -m.id), m.speaker, m.tool, m.outcome"
)
_NEWEST = f"{SAID_OR_KEPT} DESC, m.id DESC LIMIT ?"
_KEPT = (
    "WITH kept(id, corrects) AS (SELECT id, max(corrects) FROM ("
    "SELECT m.id, 0 AS corrects FROM memories m WHERE m.kind IN ('decision', 'note') AND {within}"
    " UNION ALL SELECT superseded_by, 1 FROM memories WHERE superseded_by IS NOT NULL) GROUP BY id)"
    f" SELECT {_ROW}, kept.corrects FROM kept JOIN memories m ON m.id = kept.id WHERE {{within}} AND {AUTHOR} = ?"
    f" ORDER BY {{first}} DESC, m.kind != 'decision' AND NOT kept.corrects, {_NEWEST}"
)
_MEMORIES = f"SELECT {_ROW}, 0 FROM memories m WHERE"
_IS_STEP = "m.session = ? AND m.kind IN ('tool_call', 'tool_result')"
_NAME = "SELECT assistant, name FROM sessions WHERE id = ?"
_NAMED = "SELECT id FROM sessions WHERE assistant = ? AND name = ?"
_ENDS = (
    f"WITH ends(id, at) AS MATERIALIZED (SELECT s.id, (SELECT max({SAID_OR_KEPT}) FROM memories m"
    " WHERE m.session = s.id AND m.kind = 'turn' AND {within}) FROM sessions s"
    f" WHERE s.assistant NOT LIKE '{MCP_PREFIX}%')"
    " SELECT id, at FROM ends WHERE at IS NOT NULL ORDER BY at DESC, id DESC LIMIT ?"
)


class BriefQueries:
    """What a snapshot tells of what an assistant should know; see `mnemic.actors.brief.queries`."""

    _db: apsw.Connection

    def ask(self, query: Query[AnswerT]) -> AnswerT:
        answer: AnswerT = _HANDLERS[type(query)](self._db, query)
        return answer

    def delivered_spans(self, assistant: str, session: str) -> dict[bytes, list[tuple[int, int]]]:
        found: list[Any] = self._db.execute(
            "SELECT DISTINCT m.uuid, p.start, p.stop FROM givings g JOIN given_parts p ON p.giving = g.id"
            " JOIN memories m ON m.id = p.memory"
            " WHERE g.session = ?1 AND g.assistant = ?2 AND (?1 != '' OR g.occasion IN ('session-start', 'prompt'))"
            " AND p.stop > p.start",  # of one that an answer was read from, no word was given
            (escape_surrogates(session), escape_surrogates(assistant)),
        ).fetchall()
        spans: dict[bytes, list[tuple[int, int]]] = {}
        for memory, start, stop in found:
            spans.setdefault(memory, []).append((start, stop))
        return spans


class BriefReader(BriefQueries, ScopeQueries, KnowledgeQueries, SleepQueries):
    """As much of a snapshot as a session's start reads, for where no process runs."""


def _newest(db: apsw.Connection, asked: Any, which: str, *values: Any, first: str = "") -> list[MemoryRow]:
    """The newest memories of some scopes that a condition holds for."""
    sql = f"{_MEMORIES} {which} AND {_within(asked.scopes)} ORDER BY {first}{_NEWEST}"
    return _rows(db, sql, *values, asked.limit)


def _rows(db: apsw.Connection, sql: str, *values: Any) -> list[MemoryRow]:
    return list(map(MemoryRow._make, db.execute(sql, values).fetchall()))


def _kept(db: apsw.Connection, asked: queries.KeptMemories) -> list[MemoryRow]:
    return _rows(db, _KEPT.format(within=_within(asked.scopes), first=_is_in(asked.first)), asked.author, asked.limit)


def _turns(db: apsw.Connection, asked: queries.SessionTurns) -> list[MemoryRow]:
    return _newest(db, asked, f"m.session = ? AND m.kind = 'turn' AND {_is_by(asked.authors)}", asked.session)


def _at(db: apsw.Connection, asked: queries.MemoriesAt) -> list[MemoryRow]:
    sql = f"{_MEMORIES} m.id = ? AND {_within(asked.scopes)} AND {_is_by(asked.authors)}"
    return [one for row in asked.rows for one in _rows(db, sql, row)]


def _ends(db: apsw.Connection, asked: queries.SessionEnds) -> list[SessionEnd]:
    found = db.execute(_ENDS.format(within=_within(asked.scopes)), (asked.limit,)).fetchall()
    return list(map(SessionEnd._make, found))


def _is_in(scopes: Iterable[int]) -> str:
    return f"m.scope IN ({','.join(map(str, scopes))})"


def _within(scopes: Iterable[int]) -> str:
    return f"{_is_in(scopes)} AND m.retired_at IS NULL"


def _is_by(authors: Iterable[str]) -> str:
    return f"{AUTHOR} IN ({', '.join(map(repr, authors))})"


_HANDLERS: dict[type[Query[Any]], Callable[[apsw.Connection, Any], Any]] = {
    queries.KeptMemories: _kept,
    queries.CuedMemories: lambda db, asked: _newest(db, asked, "m.cued = 1", first=f"{_is_in(asked.first)} DESC, "),
    queries.SessionTurns: _turns,
    queries.SessionSteps: lambda db, asked: _newest(db, asked, _IS_STEP, asked.session),
    queries.MemoriesAt: _at,
    queries.SessionEnds: _ends,
    queries.SessionName: lambda db, asked: next(db.execute(_NAME, (asked.session,))),
    queries.SessionNamed: lambda db, asked: db.execute(_NAMED, (asked.assistant, asked.name)).get,
    queries.TextStart: lambda db, asked: text_prefix(db, asked.text, asked.most_bytes),
    queries.IsReplaced: lambda db, asked: current_successor(db, asked.row) is not None,
}
