"""Reads OpenCode's database, ``~/.local/share/opencode/opencode.db`` or ``opencode-<channel>.db``.

It holds every session in one file of SQLite; a path may name one of them, behind a ``#``. Nothing is written; OpenCode
may write meanwhile. Sessions come newest first, so that a reading that breaks off has what counts most, and goes on
behind it even when new ones came.

OpenCode 1 keeps sessions in ``session``, ``message`` and ``part`` (written against 1.18.33). OpenCode 2 keeps them in
``session_v2`` and ``session_message``, and copies the old ones over once, under the same ids; the old tables stay, and
a 1.x that goes on writes there. So both are read, and of the new ones what was copied is left out. No test has run
OpenCode 2: its tables follow its published source, ``packages/schema/src/session-message.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, SourceItem, UnknownFields, escape_surrogates
from mnemic.hooks.hosts.opencode import ASSISTANT, message_events, prompt_events, session_name
from mnemic.hooks.read.database import ForeignDatabase, is_database
from mnemic.hooks.read.lines import (
    EventFactory,
    InvalidInput,
    Json,
    call_events,
    malformed_line,
    nonblank_text,
    parse,
    render_call,
)

UNTRIED = "OpenCode 2: no test has run it, only a stand-in made after its published source"
TABLES = {1: ("session", "message", "part"), 2: ("session_v2", "session_message")}
"""By the number of the OpenCode that writes them."""
ID_AND_DATA = "coalesce(CAST(id AS TEXT), ''), coalesce(CAST(data AS BLOB), x'')"
SESSION_FILTER = "(?1 IS NULL OR id = ?1)"
_TOLD_BY_HOST = ("synthetic", "system", "skill")
_BOOKKEEPING = ("agent-switched", "model-switched", "location-switched", "idle")
_OWN_TOOL_IN_CODE = re.compile(r"\bmnemic\b.{0,40}?memory_[a-z]", re.DOTALL)
_SHOWN_LETTERS = 40


def parse_database_path(path: str) -> tuple[str, str | None] | None:
    """The database a path stands for, and the one session of it that is meant; ``None`` where it is none."""
    if path == "-":
        return None
    if is_database(path):
        return path, None
    file, mark, session = path.rpartition("#")
    return (file, session) if mark and session and is_database(file) else None


class DatabaseSource:
    """An opened database; fulfils `mnemic.actors.kernel.ports.Source`."""

    format = ASSISTANT

    def __init__(self, file: str, session: str | None) -> None:
        """Open it.

        Raises:
            SourceUnreadable: it is damaged, locked, or no database of OpenCode.
        """
        self._session = session
        self._read_bytes = 0
        self.position_bytes = 0
        self._database = ForeignDatabase(file, ())
        self.size_bytes = self._database.size_bytes  # by which it is known, session or not
        try:
            self._kinds = [kind for kind, names in TABLES.items() if self._database.has(names[0])] or [1]
            for kind in self._kinds:
                self._database.require_tables(TABLES[kind])
            lengths = {kind: self._length(TABLES[kind][-1]) for kind in self._kinds}
            self._data_bytes = sum(lengths.values())
            self.note = UNTRIED if lengths.get(2) else ""
            """What whoever looks at it first has to know."""
        except SourceUnreadable:
            self.close()
            raise

    def _length(self, table: str) -> int:
        total = f"SELECT total(length(CAST(data AS BLOB))) FROM {table}"
        if self._session is None:
            return int(self._database.rows(total)[0][0])
        return int(self._database.rows(f"{total} WHERE session_id = ?1", self._session)[0][0])

    def __iter__(self) -> Iterator[SourceItem]:
        number = 0
        columns = "coalesce(CAST(id AS TEXT), ''), parent_id, directory, time_created AS made, id AS own"
        sessions = " UNION ALL ".join(
            f"SELECT {kind} AS kind, {columns} FROM {TABLES[kind][0]} WHERE {SESSION_FILTER}" for kind in self._kinds
        )
        newest_first = f"{sessions} ORDER BY made DESC, own DESC, kind"
        for kind, own_id, parent, folder, *_ in self._database.rows(newest_first, self._session):
            session, cwd = session_name(own_id, parent), nonblank_text(folder)
            if kind == 1:
                for info, parts in self._messages(own_id):
                    number += 1
                    yield from message_events(number, session, cwd, info, parts)
                continue
            for stored in self._stored_messages(own_id):
                number += 1
                cwd = stored.folder or cwd
                yield from stored.events(number, session, cwd)
        self.position_bytes = self.size_bytes or 0

    def _messages(self, session: str) -> Iterator[tuple[Json | None, list[object]]]:
        messages = f"SELECT {ID_AND_DATA} FROM message WHERE session_id = ?1 ORDER BY time_created, id"
        of_message = f"SELECT {ID_AND_DATA} FROM part WHERE message_id = ?1 ORDER BY id"
        for own_id, data in self._database.rows(messages, session):
            parts: list[object] = []
            for part_id, part in self._database.rows(of_message, own_id):
                self._count(part)
                parts.append(_object(part_id, part))
            yield _object(own_id, data), parts

    def _stored_messages(self, session: str) -> Iterator[_StoredMessage]:
        """The messages of OpenCode 2 in a session, without those that it copied from OpenCode 1."""
        copied: set[object] = set()
        if 1 in self._kinds:
            for row in self._database.rows("SELECT id, time_created FROM message WHERE session_id = ?1", session):
                copied.update(row)
        ids = self._database.rows("SELECT id FROM session_message WHERE session_id = ?1 ORDER BY seq, id", session)
        of_id = (
            f"SELECT {ID_AND_DATA}, coalesce(CAST(type AS TEXT), ''), time_created FROM session_message WHERE id = ?1"
        )
        for place, (named,) in enumerate(ids):
            for own_id, data, kind, created in self._database.rows(of_id, named):
                self._count(data)
                # Of a message with words of the host's beside the user's, these were copied under an id of their own.
                if own_id in copied or (kind == "synthetic" and created in copied):
                    continue
                yield _StoredMessage(own_id, kind, created, _object(own_id, data), is_last=place == len(ids) - 1)

    def _count(self, data: bytes) -> None:
        self._read_bytes += len(data)
        self.position_bytes = (self.size_bytes or 0) * self._read_bytes // max(1, self._data_bytes)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def _object(own_id: str, data: bytes) -> Json | None:
    try:
        value = parse(data + b"\n")
    except InvalidInput:
        return None
    return None if value is None else {**value, "id": own_id}


class _StoredMessage:
    """A row of ``session_message``: what kind of message it is stands beside its data."""

    def __init__(self, own_id: str, kind: str, created: object, data: Json | None, *, is_last: bool) -> None:
        self._id, self._kind, self._data = own_id, kind, data or {}
        self._is_readable = data is not None
        time = _fields(self._data, "time")
        made = time.get("created", created)
        self._said_at = int(made) * 1000 if isinstance(made, int | float) and 0 < made < 1e15 else None
        self._grows = is_last and "created" in time and "completed" not in time
        self.folder = None
        """The folder that the session goes on in from here."""
        if kind == "location-switched":
            self.folder = nonblank_text(_fields(self._data, "location").get("directory"))

    def events(self, number: int, session: str, cwd: str | None) -> Iterator[SourceItem]:
        """The events of the message, in order."""
        make = EventFactory(
            assistant=ASSISTANT, session=session, said_at=self._said_at, cwd=cwd, subagent="/" in session
        )
        try:
            if not self._is_readable:
                raise InvalidInput("a message whose data is no JSON object")
            yield from self._events(make)
        except Exception as error:  # whatever it is about this message, the others are kept
            yield malformed_line(number, error)

    def _events(self, make: EventFactory) -> Iterator[Event | UnknownFields]:
        if self._kind == "user":
            yield from prompt_events(make, {"id": self._id}, [{"type": "text", "text": self._data.get("text")}])
        elif self._kind in _TOLD_BY_HOST:
            told = {"id": self._id, "type": "text", "text": self._data.get("text"), "synthetic": True}
            yield from prompt_events(make, {"id": self._id}, [told])
        elif self._kind == "assistant":
            content = self._data.get("content")
            for place, part in enumerate(parts := content if isinstance(content, list) else []):
                if isinstance(part, dict) and not (self._grows and place == len(parts) - 1):
                    yield from self._part_events(make, part, self._ids(place))
        elif self._kind == "compaction":
            if self._data.get("status") == "completed" and (text := nonblank_text(self._data.get("summary"))):
                yield make("summary", "system", text, **self._ids())
        elif self._kind == "shell":
            said = _fields(self._data, "output").get("output")
            failed = self._data.get("exit") not in (None, 0) or self._data.get("status") in ("timeout", "killed")
            result = (said if isinstance(said, str) else "") if self._data.get("status") != "running" else None
            arguments = {"command": self._data.get("command")}
            yield from call_events(make, "shell", arguments, result, failed, **self._ids())
        elif self._kind not in _BOOKKEEPING:
            yield UnknownFields(names=(f"message of type {escape_surrogates(self._kind[:_SHOWN_LETTERS])}",))

    def _ids(self, place: int | None = None) -> dict[str, Any]:
        """Its id; of a part of it, which has none that is sure to be its own, with the part's place."""
        own_id = self._id if place is None else f"{self._id}/{place}"
        return {"host_id": own_id, "source_id": own_id}

    def _part_events(self, make: EventFactory, part: Json, ids: dict[str, Any]) -> Iterator[Event]:
        kind, text = part.get("type"), nonblank_text(part.get("text"))
        if kind == "tool":
            yield from _tool_events(make, part, ids)
        elif kind == "text" and text:
            yield make("turn", "assistant", text, **ids)
        elif kind == "reasoning" and text:
            yield make("thinking", "assistant", text, **ids)


def _tool_events(make: EventFactory, part: Json, ids: dict[str, Any]) -> Iterator[Event]:
    tool, state = nonblank_text(part.get("name")), part.get("state")
    if tool is None or not isinstance(state, dict):
        raise InvalidInput("a tool call without its name or state")
    status, arguments = state.get("status"), state.get("input")
    if status not in ("running", "completed", "error"):  # its arguments are still being written
        return
    if tool == "execute" and _OWN_TOOL_IN_CODE.search(render_call(tool, arguments)):
        return  # code that calls this memory's own tools
    content = state.get("content")
    parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    said = [text for text in parts if isinstance(text, str)]
    if not said and (other := _fields(state, "error").get("message") or state.get("output")):
        said = [other] if isinstance(other, str) else []
    failed = status == "error" or _fields(state, "metadata").get("exit") not in (None, 0)
    result = None if status == "running" else "\n".join(said)
    yield from call_events(make, tool, arguments, result, failed, **ids)


def _fields(data: Json, name: str) -> Json:
    value = data.get(name)
    return value if isinstance(value, dict) else {}
