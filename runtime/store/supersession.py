"""Supersession: which memory currently replaces which, retired ones left out.

A link of the store (`superseded_by`) says what was said: that one memory replaces another. A
retired memory replaces nothing, so that what it replaced stands for itself again, or is replaced by what replaced the
retired one. `mnemic.runtime.store.log.write` and `mnemic.runtime.store.reader` ask here;
`mnemic.actors.index.recall_index` says the same of any time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw


class Successor(NamedTuple):
    """What stands for a memory."""

    id: bytes
    """Its id."""
    valid_from: int
    """World time from which it holds, microseconds."""


class ChainLink(NamedTuple):
    """A memory in a chain of replacements."""

    row: int
    """Its row."""
    id: bytes
    """Its id."""
    since: int
    """System time, microseconds, since when it replaces the one before it; 0 of the first."""


def set_successor(connection: apsw.Connection, row: int, successor: int | None, at: int | None) -> None:
    """Say which memory replaces another one since when (system time, microseconds); none does where it is ``None``."""
    connection.execute("UPDATE memories SET superseded_by = ?, superseded_at = ? WHERE id = ?", (successor, at, row))


def supersession_chain(connection: apsw.Connection, memory: bytes) -> list[ChainLink]:
    """The memory of an id, what replaces it, what replaces that, to the last one, retired ones too."""
    found: list[Any] = connection.execute(
        "WITH RECURSIVE chain(id, uuid, since, next, next_since, place) AS ("
        " SELECT id, uuid, 0, superseded_by, superseded_at, 0 FROM memories WHERE uuid = ?"
        " UNION ALL SELECT m.id, m.uuid, chain.next_since, m.superseded_by, m.superseded_at, place + 1"
        " FROM chain JOIN memories m ON m.id = chain.next)"
        " SELECT id, uuid, since FROM chain ORDER BY place",
        (memory,),
    ).fetchall()
    return [ChainLink(*one) for one in found]


def current_successor(connection: apsw.Connection, row: int) -> Successor | None:
    """What stands for the memory of a row: the next in its chain that is not retired, if there is one."""
    found: Any = connection.execute(
        "WITH RECURSIVE chain(id) AS (SELECT superseded_by FROM memories WHERE id = ?"
        " UNION ALL SELECT m.superseded_by FROM chain JOIN memories m ON m.id = chain.id"
        " WHERE m.retired_at IS NOT NULL)"
        " SELECT m.uuid, m.valid_from FROM chain JOIN memories m ON m.id = chain.id WHERE m.retired_at IS NULL",
        (row,),
    ).fetchone()
    return None if found is None else Successor(*found)


def superseded_ids(connection: apsw.Connection, row: int) -> tuple[bytes, ...]:
    """Ids of what the memory of a row stands for, in the order they were kept; none where it is retired itself."""
    found: list[Any] = connection.execute(
        "WITH RECURSIVE back(id) AS (SELECT o.id FROM memories o JOIN memories m ON m.id = o.superseded_by"
        " WHERE m.id = ? AND m.retired_at IS NULL"
        " UNION ALL SELECT o.id FROM back JOIN memories m ON m.id = back.id AND m.retired_at IS NOT NULL"
        " JOIN memories o ON o.superseded_by = m.id)"
        # A cross join, since SQLite would go through all memories to have them in order.
        " SELECT m.uuid FROM back CROSS JOIN memories m ON m.id = back.id ORDER BY m.id",
        (row,),
    ).fetchall()
    return tuple(uuid for (uuid,) in found)
