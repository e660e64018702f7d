"""Steps of schema migrations that SQL alone cannot do.

Below `mnemic.runtime.store.schema`. Nothing of the code of today is used here, so that a step goes on doing what it
did.
"""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

__all__ = ["fill_history_from_log"]

_RECORDED = ("record_recall", "record_given")


def fill_history_from_log(connection: apsw.Connection) -> None:
    """To schema 4: what was given before is in the log; fill its tables from there, and let recalls be taken back."""
    rows: list[Any] = connection.execute(
        "SELECT l.seq, l.change, a.at FROM log l JOIN applies a ON a.id = l.apply"
        " WHERE instr(l.change, CAST('record_recall' AS BLOB)) OR instr(l.change, CAST('record_given' AS BLOB))"
        " ORDER BY l.seq"
    ).fetchall()
    drop_recall = msgspec.msgpack.encode({"change": "drop_recall"})
    for seq, encoded, at in rows:
        change = msgspec.msgpack.decode(encoded)
        if change["change"] not in _RECORDED:  # its text says one of the words
            continue
        recalled = change["change"] == "record_recall"
        connection.execute(
            "INSERT INTO givings(at, asked, occasion, assistant, session, scope, query, tokens)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                at,
                recalled,
                "recall" if recalled else change["occasion"],
                change.get("assistant", ""),
                change.get("session", ""),
                change.get("scope", ""),
                change.get("query", ""),
                change.get("tokens", 0),
            ),
        )
        giving = connection.last_insert_rowid()
        for place, memory in enumerate(change["returned" if recalled else "memories"]):
            connection.execute(
                "INSERT INTO given_parts(giving, place, memory, why) SELECT ?, ?, id, '' FROM memories WHERE uuid = ?",
                (giving, place, memory),
            )
        if recalled:
            connection.execute("UPDATE log SET inverse = ? WHERE seq = ? AND inverse IS NULL", (drop_recall, seq))
