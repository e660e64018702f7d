"""Reads mem0's memories: its local store, its history, or what its `get_all` gave, kept as JSON.

A memory is a note, as it stands now; one that was deleted is none. Its session is the run it is of, else its user, else
its agent. mem0 changes memories under their ids, so what was changed since it was captured is replaced
(`mnemic.actors.kernel.events.DOCUMENT_FORMATS`). Written against mem0ai 2.2.1 and qdrant-client 1.20.0.

The local store is qdrant's: a folder of ``meta.json`` and ``collection/<name>/storage.sqlite``, whose rows are pickles;
`mnemic.hooks.imports.inert_pickle` reads them, and runs nothing. The history, ``history.db``, tells every change of a
memory, and knows neither users nor runs. https://docs.mem0.ai/api-reference names the fields.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import ROLES, Author, Event, MalformedLine, SourceItem, UnknownFields, to_bytes
from mnemic.actors.kernel.ports import Source
from mnemic.hooks.imports.inert_pickle import Inert, read_inert
from mnemic.hooks.read.database import ForeignDatabase, as_utf8, decode, is_database, path_below, read_beginning
from mnemic.hooks.read.lines import (
    InvalidInput,
    RawLines,
    malformed_line,
    nonblank_text,
    parse_json,
    parse_written_time,
    time_fields,
    without_padding,
)
from mnemic.runtime.files.foreign import open_regular

FORMAT = "mem0"
HISTORY = "history.db"
_COLLECTIONS, _STORAGE = "collection", "storage.sqlite"
_ENTITIES = "_entities"  # a collection of names that memories share
_MOST_POINT_BYTES = 1 << 22  # a text, what is known of it, and one vector: 0.6 MB if that has 65,536 numbers
_CHANGE = ("memory_id", "event", "new_memory", "created_at", "updated_at", "actor_id", "role")
_FIRST_PAGE_BYTES = 1 << 12
_EXPORT_BEGINNING_BYTES = 1 << 16
_EXPORT_BEGINNING = re.compile(r'\s*(?:\{[^\[\]{}]{0,1000}?"results"\s*:\s*)?\[\s*(?=\{)')


def is_mem0(path: str) -> bool:
    """Whether a path is a store, a history or an export of mem0's."""
    if path == "-":
        return False
    if os.path.isdir(path):
        return any(name.startswith("mem0") for name in _collections(path)) or _is_history(os.path.join(path, HISTORY))
    return _is_history(path) or _begins_export(read_beginning(path, _EXPORT_BEGINNING_BYTES))


def open_mem0(path: str) -> Source:
    """Open what a path stands for. Raises `SourceUnreadable`."""
    if path != "-" and os.path.isdir(path):
        if names := _collections(path):
            return _StoreSource(path, names)
        if not os.path.lexists(os.path.join(path, HISTORY)):
            why = f"it holds neither a local store of qdrant's nor a {HISTORY}"
            raise SourceUnreadable(path=path, why=why)
        return _HistorySource(path_below(path, HISTORY))
    return _HistorySource(path) if path != "-" and is_database(path) else _ExportSource(path)


def _collections(folder: str) -> list[str]:
    """The collections of a local store that may hold memories, sorted."""
    try:
        with os.scandir(os.path.join(folder, _COLLECTIONS)) as entries:
            return sorted(
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and not entry.name.endswith(_ENTITIES)
                and is_database(os.path.join(entry.path, _STORAGE))
            )
    except (OSError, ValueError):
        return []


def _is_history(path: str) -> bool:
    page = read_beginning(path, _FIRST_PAGE_BYTES)
    return page.startswith(b"SQLite") and all(name in page for name in (b"memory_id", b"old_memory", b"new_memory"))


def _begins_export(data: bytes) -> bool:
    """Whether JSON begins with a list of memories, by itself or as the results of something."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    beginning = _EXPORT_BEGINNING.match(text)
    if beginning is None:
        return False
    try:
        first, _ = json.JSONDecoder().raw_decode(text, beginning.end())
    except (ValueError, RecursionError):
        return False
    return isinstance(first.get("id"), str) and isinstance(first.get("memory"), str)


class _StoreSource:
    """An opened local store, newest memory first; fulfils `mnemic.actors.kernel.ports.Source`."""

    format = FORMAT

    def __init__(self, folder: str, names: list[str]) -> None:
        self.position_bytes = 0
        self._databases: list[ForeignDatabase] = []
        try:
            for name in names:
                file = path_below(folder, _COLLECTIONS, name, _STORAGE)
                self._databases.append(ForeignDatabase(file, ("points",)))
                self._databases[-1].require_sound(("points",))
        except SourceUnreadable:
            self.close()
            raise
        self.size_bytes: int | None = sum(one.size_bytes or 0 for one in self._databases)

    def __iter__(self) -> Iterator[SourceItem]:
        number = 0
        for database in self._databases:
            seen: set[str] = set()
            rows = database.rows("SELECT rowid FROM points ORDER BY rowid DESC")
            point = "SELECT CASE WHEN length(point) <= ?2 THEN CAST(point AS BLOB) END FROM points WHERE rowid = ?1"
            for (row,) in rows:
                number += 1
                for (data,) in database.rows(point, row, _MOST_POINT_BYTES):
                    self.position_bytes += len(data or b"")
                    yield from _point_items(number, data, seen)
        self.position_bytes = self.size_bytes or 0

    def close(self) -> None:
        """Let go of the files."""
        for database in self._databases:
            database.close()


def _point_items(number: int, data: bytes | None, seen: set[str]) -> Iterator[SourceItem]:
    """What one row of a local store tells; older versions of qdrant's left rows that a newer one replaced."""
    try:
        if data is None:
            raise InvalidInput(f"it is nothing, or longer than {_MOST_POINT_BYTES:,} bytes")
        point = read_inert(data)
        state = point.state if isinstance(point, Inert) else None
        fields = state.get("__dict__", state) if isinstance(state, dict) else None
        payload = fields.get("payload") if isinstance(fields, dict) else None
        if not isinstance(fields, dict) or not isinstance(payload, dict):
            raise InvalidInput("it is no point with a payload")
        own_id = fields.get("id")
        if not isinstance(own_id, str):  # mem0 names its memories by UUIDs
            raise InvalidInput("it is no point whose id is a text")
        is_memory = "data" in payload and ("hash" in payload or "created_at" in payload)
        if own_id not in seen and is_memory:
            yield from _memory_items(own_id, payload.get("data"), payload)
        seen.add(own_id)
    except InvalidInput as bad:
        yield malformed_line(number, bad)


class _HistorySource:
    """An opened history, in the order in which memories were last changed; fulfils
    `mnemic.actors.kernel.ports.Source`.
    """

    format = FORMAT

    def __init__(self, file: str) -> None:
        self.position_bytes = 0
        self._database = ForeignDatabase(file, ("history",))
        self.size_bytes = self._database.size_bytes
        try:
            self._database.require_sound(("history",))
        except SourceUnreadable:
            self.close()
            raise

    def __iter__(self) -> Iterator[SourceItem]:
        last = self._database.rows("SELECT max(rowid) FROM history GROUP BY memory_id ORDER BY 1")
        change = f"SELECT is_deleted, {', '.join(map(as_utf8, _CHANGE))} FROM history WHERE rowid = ?1"
        for number, (row,) in enumerate(last, start=1):
            for is_deleted, *values in self._database.rows(change, row):
                try:
                    fields = dict(zip(_CHANGE, map(decode, values), strict=True))
                    if not is_deleted and fields["event"] != "DELETE":
                        yield from _memory_items(fields["memory_id"], fields["new_memory"], fields)
                except InvalidInput as bad:
                    yield malformed_line(number, bad)
            self.position_bytes = (self.size_bytes or 0) * number // len(last)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


class _ExportSource:
    """An opened export, read whole before its first memory; fulfils `mnemic.actors.kernel.ports.Source`."""

    format = FORMAT

    def __init__(self, path: str) -> None:
        try:
            stream = sys.stdin.buffer if path == "-" else open_regular(path)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise SourceUnreadable(path=path, why=getattr(error, "strerror", None) or str(error)) from error
        self.size_bytes = None if path == "-" else os.fstat(stream.fileno()).st_size
        self.position_bytes = 0
        self._raw = RawLines(path, stream, self.size_bytes)

    def __iter__(self) -> Iterator[SourceItem]:
        data = self._raw.read()
        try:
            found = parse_json(without_padding(data))
        except InvalidInput as bad:
            raise SourceUnreadable(path=self._raw.path, why=str(bad)) from None
        memories = found.get("results") if isinstance(found, dict) else found
        if not isinstance(memories, list):
            why = "it is no list of memories, as mem0's get_all gives one"
            raise SourceUnreadable(path=self._raw.path, why=why)
        self.position_bytes = len(data)
        for number, fields in enumerate(memories, start=1):
            try:
                if not isinstance(fields, dict):
                    raise InvalidInput("a memory that is no object")
                if fields.get("metadata"):
                    yield UnknownFields(("metadata",))
                yield from _memory_items(fields.get("id"), fields.get("memory"), fields)
            except InvalidInput as bad:
                yield malformed_line(number, bad)

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def _memory_items(own_id: object, text: object, fields: Mapping[str, Any]) -> Iterator[Event | MalformedLine]:
    """A memory, as any of the three ways tells it. Raises `InvalidInput` where it has no id or no text."""
    if not nonblank_text(own_id) or not isinstance(own_id, str):
        raise InvalidInput("a memory without its id")
    said = nonblank_text(text)
    if said is None:
        raise InvalidInput("a memory without its text")
    user, agent, run, actor = (nonblank_text(fields.get(f"{name}_id")) for name in ("user", "agent", "run", "actor"))
    role = fields.get("role") if fields.get("role") in ROLES else "user"
    yield Event(
        assistant=FORMAT,
        session=run or user or agent or FORMAT,
        kind="note",
        role=role,  # type: ignore[arg-type]
        author=_author(role, fields.get("role"), actor, user),
        text=to_bytes(said),
        source_id=own_id,
        disambiguator=own_id,
        speaker=actor or (agent if role == "assistant" else user),
        **_time_fields(fields),
    )


def _author(role: object, told: object, actor: str | None, user: str | None) -> Author | None:
    """Whose words a memory holds: nobody's known where mem0 does not tell who said them."""
    if role != "user":
        return None
    if told != "user":
        return "unknown"
    return "owner" if actor in (None, user) else "other"


def _time_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """When it was said. The offset is not its user's: mem0 stamps by the clock of California, or by UTC."""
    written = parse_written_time(fields.get("updated_at")) or parse_written_time(fields.get("created_at"))
    return time_fields(written and written._replace(utc_offset_min=None))
