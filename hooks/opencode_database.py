"""OpenCode's database: ``~/.local/share/opencode/opencode.db``, every session in one file of SQLite.

A path may name one session of it, behind a ``#``. Nothing is written; OpenCode may write meanwhile. Sessions come
newest first, so that a reading that breaks off has what counts most, and goes on behind it even when new ones came.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mnemic.actors.errors import SourceUnreadable
from mnemic.actors.events import Event, Malformed
from mnemic.hooks.lines import Bad, Json, parse
from mnemic.hooks.opencode import ASSISTANT, message_events, session_name
from mnemic.runtime.extents import measure

if TYPE_CHECKING:
    import apsw

__all__ = ["DATABASE", "DatabaseSource", "database_at"]

DATABASE = "opencode.db"
MAGIC = b"SQLite format 3\x00"
BUSY_MS = 2_000
CHOSEN = "(?1 IS NULL OR id = ?1)"


def database_at(path: str) -> tuple[str, str | None] | None:
    """The database a path stands for, and the one session of it that is meant; ``None`` where it is none."""
    if path == "-":
        return None
    if _is_database(path):
        return path, None
    file, mark, session = path.rpartition("#")
    return (file, session) if mark and session and _is_database(file) else None


def _is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):  # what cannot be opened is reported by whoever needs it
        return False


class DatabaseSource:
    """An opened database; fulfils `mnemic.actors.ports.Source`."""

    format = ASSISTANT

    def __init__(self, file: str, session: str | None) -> None:
        """Open it.

        Raises:
            SourceUnreadable: it is damaged, locked, or no database of OpenCode.
        """
        self._file = file
        self._session = session
        self._read_bytes = 0
        self.position_bytes = 0
        self._database = _connect(file)
        try:
            total = "SELECT total(length(CAST(data AS BLOB))) FROM part WHERE (?1 IS NULL OR session_id = ?1)"
            self._parts_bytes = int(self._rows(total, session)[0][0])
        except SourceUnreadable:
            self.close()
            raise
        extent = measure(file)
        self.size_bytes: int | None = extent.size_bytes if extent else None  # by which it is known, session or not

    def __iter__(self) -> Iterator[Event | Malformed]:
        number = 0
        sessions = f"SELECT id, parent_id, directory FROM session WHERE {CHOSEN} ORDER BY time_created DESC, id DESC"
        for own_id, parent, folder in self._rows(sessions, self._session):
            for info, parts in self._messages(own_id):
                number += 1
                if info is None:
                    yield Malformed(line=number, why="a message that is no JSON object")
                    continue
                for found in message_events(session_name(own_id, parent), folder, info, parts):
                    yield Malformed(line=number, why=str(found)) if isinstance(found, Bad) else found
        self.position_bytes = self.size_bytes or 0

    def _messages(self, session: str) -> Iterator[tuple[Json | None, list[object]]]:
        messages = "SELECT id, CAST(data AS BLOB) FROM message WHERE session_id = ?1 ORDER BY time_created, id"
        of_message = "SELECT id, CAST(data AS BLOB) FROM part WHERE message_id = ?1 ORDER BY id"
        for own_id, data in self._rows(messages, session):
            parts: list[object] = []
            for part_id, part in self._rows(of_message, own_id):
                self._read_bytes += len(part)
                parts.append(_object(part_id, part))
            self.position_bytes = (self.size_bytes or 0) * self._read_bytes // max(1, self._parts_bytes)
            yield _object(own_id, data), parts

    def _rows(self, query: str, argument: str | None) -> list[tuple[Any, ...]]:
        """The rows of a query, all at once: no reading is held open while what was read is kept."""
        import apsw

        try:
            return list(self._database.execute(query, (argument,)))
        except apsw.Error as error:
            raise SourceUnreadable(path=self._file, why=str(error)) from error

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def _connect(file: str) -> apsw.Connection:
    import apsw  # only whoever reads such a database needs it

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(f"file:{quote(os.path.abspath(file))}?mode=ro", flags=flags)
    except apsw.Error as error:
        raise SourceUnreadable(path=file, why=str(error)) from error
    connection.set_busy_timeout(BUSY_MS)
    return connection


def _object(own_id: str, data: bytes) -> Json | None:
    try:
        value = parse(data + b"\n")
    except Bad:
        return None
    return None if value is None else {**value, "id": own_id}
