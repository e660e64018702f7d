"""Reads the drawers of a palace of MemPalace's: pieces of files and transcripts, as it keeps them in chromadb.

A drawer is a note, word for word: an exchange of a conversation or a part of a file, or where that was longer than 800
characters a slice of it. Its session is the file it was cut from, in that order, and its scope the wing, where that can
be one. A file that is mined again changes drawers under their ids, so what was changed since it was captured is
replaced (`mnemic.actors.kernel.events.DOCUMENT_FORMATS`). Written against mempalace 3.11.0 and chromadb 1.5.9.

A palace is a folder with ``chroma.sqlite3``. What MemPalace derives (closets, tunnels, its graph) is not read, nor are
the entries that only say that a file was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from mnemic.actors.kernel.errors import InvalidValue, SourceUnreadable
from mnemic.actors.kernel.events import ROLES, Event, MalformedLine, to_bytes
from mnemic.actors.kernel.scope_paths import normalize_scope_path
from mnemic.hooks.read.database import ForeignDatabase, as_utf8, decode, is_database, path_below, read_beginning
from mnemic.hooks.read.lines import InvalidInput, malformed_line, nonblank_text, parse_written_time, time_fields

FORMAT = "mempalace"
DATABASE = "chroma.sqlite3"
_SIDECAR = "mempalace_embedder.json"
_DRAWERS = "mempalace_drawers"
_TABLES = ("collections", "segments", "embeddings", "embedding_metadata")
_BEGINNING_BYTES = 1 << 20
_TIMES = ("timestamp", "authored_at", "content_date", "filed_at")
"""When a turn was said; when a conversation was last added to; a file's day; when it was mined."""
_KEYS = ("chroma:document", "source_file", "wing", "role", "ingest_mode", *_TIMES)
_OF_DRAWERS = (
    "segment_id IN (SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection"
    f" WHERE c.name = '{_DRAWERS}' AND s.scope = 'METADATA')"
)
_VALUE = "(SELECT {0}_value FROM embedding_metadata m WHERE m.id = e.id AND m.key = '{1}')"
_ORDERED = (
    f"SELECT e.id, {as_utf8('e.embedding_id')} FROM embeddings e WHERE e.{_OF_DRAWERS}"
    f" ORDER BY {_VALUE.format('string', 'source_file')}, {_VALUE.format('int', 'chunk_index')}, e.id"
)
_FIELDS = (
    f"SELECT key, {as_utf8('string_value')} FROM embedding_metadata"
    f" WHERE id = ?1 AND key IN ({', '.join(repr(key) for key in _KEYS)})"
)


def is_palace(path: str) -> bool:
    """Whether a path is a palace's folder, the folder that MemPalace keeps it in, or its database."""
    names = _database_below(path)
    if path == "-" or names is None:
        return False
    file = os.path.join(path, *names)
    if not is_database(file):
        return False
    beside = os.path.join(os.path.dirname(file), _SIDECAR)
    known = os.path.basename(file) == DATABASE and os.path.lexists(beside)
    return known or _DRAWERS.encode() in read_beginning(file, _BEGINNING_BYTES)


def _database_below(path: str) -> tuple[str, ...] | None:
    """Where the database lies in a folder, or in the palace in it; a file is one itself."""
    if not os.path.isdir(path):
        return ()
    places = ((DATABASE,), ("palace", DATABASE))
    return next((names for names in places if os.path.lexists(os.path.join(path, *names))), None)


class PalaceSource:
    """An opened palace; fulfils `mnemic.actors.kernel.ports.Source`."""

    format = FORMAT

    def __init__(self, path: str) -> None:
        """Open it.

        Raises:
            SourceUnreadable: it is damaged, locked, or no palace.
        """
        names = _database_below(path)
        if names is None:
            raise SourceUnreadable(path=path, why=f"it is no palace: it holds no {DATABASE}")
        file = path_below(path, *names)
        self._database = ForeignDatabase(file, _TABLES)
        self.size_bytes = self._database.size_bytes
        self.position_bytes = 0
        try:
            self._database.require_sound(_TABLES)
            if not self._database.rows(f"SELECT 1 FROM collections WHERE name = '{_DRAWERS}'"):
                raise SourceUnreadable(path=file, why=f"it is no palace: it has no collection {_DRAWERS}")
            self._drawers = self._database.rows(_ORDERED)
        except SourceUnreadable:
            self.close()
            raise

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        for number, (row, own_id) in enumerate(self._drawers, start=1):
            found = self._database.rows(_FIELDS, row)
            self.position_bytes = (self.size_bytes or 0) * number // len(self._drawers)
            try:
                fields = {key: decode(value) for key, value in found}
                if fields.get("ingest_mode") != "registry":
                    yield _drawer_event(decode(own_id), fields)
            except InvalidInput as bad:
                yield malformed_line(number, bad)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def _drawer_event(own_id: str | None, fields: dict[str, Any]) -> Event:
    text = nonblank_text(fields.get("chroma:document"))
    if text is None or own_id is None:
        raise InvalidInput("a drawer without its id or text")
    file = nonblank_text(fields.get("source_file"))
    role = fields.get("role")
    return Event(
        assistant=FORMAT,
        session=file or FORMAT,
        kind="note",
        role=role if role in ROLES else "user",
        author=None if role in ROLES else "unknown",
        text=to_bytes(text),
        source_id=own_id,
        **time_fields(next(filter(None, (parse_written_time(fields.get(name)) for name in _TIMES)), None)),
        scope=_scope_of(nonblank_text(fields.get("wing"))),
    )


def _scope_of(wing: str | None) -> str | None:
    try:
        return None if wing is None else normalize_scope_path(wing)
    except InvalidValue:
        return None
