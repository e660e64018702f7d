"""Reads databases of SQLite that other programs keep, and that may have been made to harm whoever reads them.

Nothing is written, and nothing of the file is run: it is opened for reading alone, what is read must be plain tables,
and neither a query nor a row may take more than a file of its length can need. The program that keeps it may write
meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.hooks.read.lines import InvalidInput
from mnemic.runtime.files.file_stat import stat_transcript
from mnemic.runtime.files.foreign import MOST_LINE_BYTES, open_regular

if TYPE_CHECKING:
    import apsw

MAGIC = b"SQLite format 3\x00"
_BUSY_MS = 2_000
_STEPS_BETWEEN_LOOKS = 100_000
_LEAST_STEPS = 50_000_000
_ROW_BYTES = 200
"""What a row takes beside its texts."""
_STEPS_PER_BYTE = 8
"""Of SQLite's machine, for each byte of the file: reading a real one takes less than one."""


def as_utf8(column: str) -> str:
    """The SQL that gives a column's text as bytes, for `decode`, and nothing of another type: one text that is no UTF-8
    would keep out all others.
    """
    return f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) END"


def decode(value: bytes | None) -> str | None:
    """A text that was read by `as_utf8`. Raises `InvalidInput`."""
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("a text in it is no UTF-8") from None


def is_database(path: str) -> bool:
    """Whether a file begins as those of SQLite do."""
    return read_beginning(path, len(MAGIC)) == MAGIC


def read_beginning(path: str, most_bytes: int) -> bytes:
    """The first bytes of a file; nothing of what cannot be opened, which whoever needs it reports."""
    try:
        with open_regular(path) as file:
            return file.read(most_bytes)
    except (OSError, ValueError):
        return b""


def path_below(folder: str, *names: str) -> str:
    """The path of a file below a folder that was named; `SourceUnreadable` where it lies elsewhere, behind a link."""
    path = folder
    for name in names:
        path = os.path.join(path, name)
        if os.path.islink(path):
            raise SourceUnreadable(path=path, why="it is a link, and below a folder that is named none is followed")
    return path


class ForeignDatabase:
    """An opened database of another program."""

    def __init__(self, file: str, tables: Sequence[str]) -> None:
        """Open it.

        Args:
            tables: what will be read.

        Raises:
            SourceUnreadable: it is damaged or locked, or one of the tables is not there.
        """
        extent = stat_transcript(file)
        self.size_bytes: int | None = extent.size_bytes if extent else None
        """Its length, and that of its write-ahead log."""
        self._file = file
        self._steps_left = _LEAST_STEPS + _STEPS_PER_BYTE * (self.size_bytes or 0)
        self._database = _connect(file)
        self._database.set_progress_handler(self._is_endless, _STEPS_BETWEEN_LOOKS)
        try:
            self.require_tables(tables)
        except SourceUnreadable:
            self.close()
            raise

    def _is_endless(self) -> bool:
        self._steps_left -= _STEPS_BETWEEN_LOOKS
        return self._steps_left < 0

    def has(self, name: str) -> bool:
        """Say whether something of this name is there, a table or not."""
        return bool(self.rows("SELECT 1 FROM sqlite_schema WHERE name = ?1", name))

    def require_tables(self, tables: Sequence[str]) -> None:
        """See that what is read are tables that hold what they give: a view or a virtual table computes it.

        Raises:
            SourceUnreadable: one of them is not there, or is none.
        """
        stored = (
            "SELECT 1 FROM sqlite_schema AS s WHERE name = ?1 AND type = 'table' AND sql LIKE 'CREATE TABLE%'"
            " AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(s.name) WHERE hidden <> 0)"
        )
        for name in tables:
            if not self.rows(stored, name):
                raise SourceUnreadable(path=self._file, why=f"it has no such table: {name}")

    def require_sound(self, tables: Sequence[str]) -> None:
        """See that the pages of these tables are whole, so that what is read of them is all or nothing."""
        for name in tables:
            ((found, *_), *_) = self.rows(f"PRAGMA quick_check('{name}')")
            if found != "ok":
                raise SourceUnreadable(path=self._file, why=f"it is damaged: {' '.join(str(found).split())}")

    def rows(self, query: str, *arguments: str | int | None) -> list[tuple[Any, ...]]:
        """The rows of a query, all at once: no reading is held open while what was read is kept.

        Raises:
            SourceUnreadable: it cannot be read, or is no file that its program writes: its rows are too many or too
                long.
        """
        import apsw

        rows: list[tuple[Any, ...]] = []
        size_bytes = 0
        try:
            for row in self._database.execute(query, arguments):
                size_bytes += _ROW_BYTES + sum(len(value) for value in row if isinstance(value, str | bytes))
                if size_bytes > MOST_LINE_BYTES:
                    why = f"what belongs together in it is longer than {MOST_LINE_BYTES:,} bytes"
                    raise SourceUnreadable(path=self._file, why=why)
                rows.append(row)
        except apsw.InterruptError:
            raise SourceUnreadable(path=self._file, why="its rows take too long to be found for its size") from None
        except apsw.Error as error:
            raise SourceUnreadable(path=self._file, why=str(error)) from error
        except UnicodeDecodeError:
            raise SourceUnreadable(path=self._file, why="a text in it is no UTF-8") from None
        return rows

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


def _unwatched(file: str) -> str:
    """What has SQLite make no files beside one that no program has open: in WAL mode it would, and leave them there."""
    with open_regular(file) as opened:
        is_wal = opened.read(20)[18:20] == b"\2\2"
    return "&immutable=1" if is_wal and not os.path.exists(f"{file}-wal") else ""


def _connect(file: str) -> apsw.Connection:
    import apsw  # only whoever reads such a database needs it

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        path = quote(os.fsencode(os.path.abspath(file)))
        connection = apsw.Connection(f"file:{path}?mode=ro{_unwatched(file)}", flags=flags)
    except (apsw.Error, OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise SourceUnreadable(path=file, why=getattr(error, "strerror", None) or str(error)) from error
    connection.set_busy_timeout(_BUSY_MS)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, MOST_LINE_BYTES)
    connection.pragma("trusted_schema", False)
    return connection
