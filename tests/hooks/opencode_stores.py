"""Databases of OpenCode that tests fill: the tables of OpenCode 1, those of OpenCode 2, or both.

No test has run OpenCode 2; its tables follow its published source.
"""

from __future__ import annotations

import json
from pathlib import Path

import apsw

FIRST = """
CREATE TABLE session(id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_created INTEGER);
CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
"""
SECOND = """
CREATE TABLE session_v2(id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, time_created INTEGER NOT NULL);
CREATE TABLE session_message(id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL,
    time_created INTEGER NOT NULL, data TEXT NOT NULL);
"""


class Store:
    """A database that tests fill."""

    def __init__(self, path: Path, *schemas: str) -> None:
        self.path = path
        self._connection = apsw.Connection(str(path))
        for schema in schemas:
            self._connection.execute(schema)
        self._seq = 0

    def run(self, statement: str, *values: object) -> None:
        self._connection.execute(statement, values)

    def session(self, own_id: str = "ses_1", parent: str | None = None, made: int = 1, folder: str = "/src") -> None:
        self.run("INSERT INTO session_v2 VALUES (?, ?, ?, ?)", own_id, parent, folder, made)

    def say(self, kind: str, own_id: str | None = None, session: str = "ses_1", made: int = 5, **data: object) -> None:
        self._seq += 1
        values = own_id or f"msg_{self._seq}", session, kind, self._seq, made, json.dumps(data)
        self.run("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)", *values)

    def first(self, own_id: str, text: str, session: str = "ses_1", made: int = 5, **part: object) -> None:
        self.run("INSERT INTO message VALUES (?, ?, ?, ?)", own_id, session, made, json.dumps({"role": "user"}))
        told = json.dumps({"type": "text", "text": text, **part})
        self.run("INSERT INTO part VALUES (?, ?, ?, ?)", f"prt_{own_id}", own_id, session, told)
