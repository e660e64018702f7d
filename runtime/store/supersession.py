"""Supersession: which memory currently replaces which, retired ones left out.

A link of the store (`superseded_by`) says what was said: that one memory replaces another. A
retired memory replaces nothing, so that what it replaced stands for itself again, or is replaced by what replaced the
retired one. `mnemic.runtime.store.apply.memories` and `mnemic.runtime.store.read.reader` ask here;
`mnemic.actors.recall.recall_index` says the same of any time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw

__all__ = ["Successor", "current_successor", "set_successor", "superseded_ids", "supersession_chain"]


class Successor(NamedTuple):
    """What stands for a memory."""

    id: bytes
    """Its id."""
    valid_from: int
    """World time from which it holds, microseconds."""


def set_successor(connection: apsw.Connection, row: int, successor: int | None, at: int | None) -> None:
    """Say which memory replaces another one since when (system time, microseconds); none does where it is ``None``."""
    connection.execute("UPDATE memories SET superseded_by = ?, superseded_at = ? WHERE id = ?", (successor, at, row))


def supersession_chain(connection: apsw.Connection, row: int) -> list[int]:
    """The memory, what replaces it, what replaces that, to the last one, retired ones too."""
    found: list[Any] = connection.execute(
        "WITH RECURSIVE chain(id, place) AS (SELECT ?, 0 UNION ALL SELECT m.superseded_by, place + 1"
        " FROM chain JOIN memories m ON m.id = chain.id WHERE m.superseded_by IS NOT NULL)"
        " SELECT id FROM chain ORDER BY place",
        (row,),
    ).fetchall()
    return [int(memory) for (memory,) in found]


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
