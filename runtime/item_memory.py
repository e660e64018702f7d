"""The item memory: which fillers each role has, how many memories have each, and which of them a memory has.

Below `mnemic.runtime.carry_codes`, which keeps what is bound, and `mnemic.runtime.marking`, which drops it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import apsw

__all__ = ["ItemMemory"]


class ItemMemory:
    """Writes by a connection, within a transaction that the caller holds.

    How many memories have a filler is kept with it: to count them for a role of a large mind would take longer than the
    question that needs it.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def keep(self, row: int, fillers: Iterable[tuple[str, str]]) -> None:
        """Have a memory have some fillers, each with its role, and no others; those that nobody has any more go."""
        had = self._db.execute("SELECT fillers FROM bound WHERE memory = ?", (row,)).get
        if had is not None:
            self._db.execute(
                "UPDATE fillers SET memories = memories - 1 WHERE id IN (SELECT value FROM json_each(?))", (had,)
            )
        has = [
            self._db.execute(
                "INSERT INTO fillers(role, filler, memories) VALUES(?, ?, 1)"
                " ON CONFLICT(role, filler) DO UPDATE SET memories = memories + 1 RETURNING id",
                one,
            ).get
            for one in sorted(set(fillers))
        ]
        if had is not None:
            self._db.execute(
                "DELETE FROM fillers WHERE memories = 0 AND id IN (SELECT value FROM json_each(?))", (had,)
            )
            self._db.execute("DELETE FROM bound WHERE memory = ?", (row,))
        if has:
            kept = json.dumps(has, separators=(",", ":"))
            self._db.execute("INSERT INTO bound(memory, fillers) VALUES(?, ?)", (row, kept))

    def drop(self, row: int) -> None:
        """A memory has no fillers any more."""
        self.keep(row, ())
