"""Turns OpenCode's messages and parts into events, whether from its database, an export or its plugin.

So every event has an id that all three give: a prompt its message's, everything else its part's. Written against
1.18.33 (a real session in the tests); https://opencode.ai/docs/sdk#types names the fields.

OpenCode's database: ``~/.local/share/opencode/opencode.db``, every session in one file of SQLite.

A path may name one session of it, behind a ``#``. Nothing is written; OpenCode may write meanwhile. Sessions come
newest first, so that a reading that breaks off has what counts most, and goes on behind it even when new ones came.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mnemic.actors.protocol.errors import SourceUnreadable
from mnemic.actors.protocol.events import Event, Kind, MalformedLine, Role, to_bytes
from mnemic.hooks.read.lines import EventFactory, InvalidInput, Json, nonblank_text, parse, render_call
from mnemic.hooks.read.own_text import strip_own_output
from mnemic.runtime.files.file_stat import stat_transcript

if TYPE_CHECKING:
    import apsw

__all__ = [
    "ASSISTANT",
    "DATABASE",
    "DatabaseSource",
    "export_events",
    "is_export",
    "message_events",
    "parse_database_path",
    "part_events",
    "prompt_events",
    "session_name",
]

ASSISTANT = "opencode"
FINAL_STATES = ("completed", "error")
FILE_ARGUMENTS = ("filePath", "path")
OWN_TOOL_PREFIX = "mnemic_"
"""Tools of an MCP server are called after it."""


def is_export(document: Json) -> bool:
    """Whether a document is what ``opencode export`` prints."""
    info = document.get("info")
    return isinstance(info, dict) and isinstance(info.get("id"), str) and isinstance(document.get("messages"), list)


def export_events(document: Json) -> Iterator[Event | InvalidInput]:
    """The events of an exported session; a `InvalidInput` stands for a message that cannot be used."""
    info = document["info"]
    session = session_name(info["id"], info.get("parentID"))
    for message in document["messages"]:
        told, parts = (message.get("info"), message.get("parts")) if isinstance(message, dict) else (None, None)
        if not isinstance(told, dict) or not isinstance(parts, list):
            yield InvalidInput("a message without its info and parts")
            continue
        yield from message_events(session, nonblank_text(info.get("directory")), told, parts)


def session_name(own_id: str, parent: object) -> str:
    """The session of a conversation: a subagent's stands below that of who sent it."""
    return f"{parent}/{own_id}" if nonblank_text(parent) else own_id


def message_events(
    session: str, cwd: str | None, info: Json, parts: Iterable[object]
) -> Iterator[Event | InvalidInput]:
    """The events of one message, in order."""
    make = _EventFactory(session, cwd, info)
    usable = [part for part in parts if isinstance(part, dict)]
    try:
        if info.get("role") == "user":
            yield from prompt_events(make, info, usable)
        elif info.get("role") == "assistant":
            for part in usable:
                yield from part_events(make, info, part)
        else:
            yield InvalidInput("a message without its role")
    except InvalidInput as bad:
        yield bad


def prompt_events(make: EventFactory, info: Json, parts: Iterable[Json]) -> Iterator[Event]:
    """What stands in the user's place: what the host or a plugin put there, and what was typed, as one turn."""
    typed = []
    for part in parts:
        text = nonblank_text(part.get("text")) if part.get("type") == "text" else None
        if text is None or part.get("ignored"):
            continue
        if not part.get("synthetic"):
            typed.append(text)
        elif nonblank_text(rest := strip_own_output(text)):
            yield make("injected", "system", rest, **_message_ids(part))
    if typed:
        yield make("turn", "user", "\n".join(typed), **_message_ids(info))


def part_events(make: EventFactory, info: Json, part: Json) -> Iterator[Event]:
    """The events of one part of an assistant's message."""
    kind = part.get("type")
    if kind in ("text", "reasoning"):
        text = nonblank_text(part.get("text"))
        if text and not part.get("synthetic") and not part.get("ignored"):
            ids = _message_ids(part)
            if kind == "reasoning":
                yield make("thinking", "assistant", text, **ids)
            elif info.get("summary") is True:
                yield make("summary", "system", text, **ids)
            else:
                yield make("turn", "assistant", text, **ids)
    elif kind == "tool":
        yield from _tool(make, part)


def _tool(make: EventFactory, part: Json) -> Iterator[Event]:
    tool, state = nonblank_text(part.get("tool")), part.get("state")
    if tool is None or not isinstance(state, dict):
        raise InvalidInput("a tool call without its name or state")
    if tool.startswith(OWN_TOOL_PREFIX) or (state.get("status") == "pending" and not state.get("input")):
        return
    arguments = state.get("input")
    common: dict[str, Any] = {"tool": tool, "files": _files(arguments), **_message_ids(part)}
    yield make("tool_call", "assistant", render_call(tool, arguments), **common)
    if state.get("status") in FINAL_STATES:
        failed = state["status"] == "error" or _exit_code(state) not in (None, 0)
        said = state.get("error") if state["status"] == "error" else state.get("output")
        text = said if isinstance(said, str) else ""
        yield make("tool_result", "tool", text, outcome="failed" if failed else "ok", **common)


class _EventFactory:
    """Makes the events of one message: what they share is taken from it once."""

    def __init__(self, session: str, cwd: str | None, info: Json) -> None:
        path, time = info.get("path"), info.get("time")
        created = time.get("created") if isinstance(time, dict) else None
        self._common: dict[str, Any] = {
            "assistant": ASSISTANT,
            "session": session,
            "said_at": int(created) * 1000 if isinstance(created, int | float) and 0 < created < 1e15 else None,
            "cwd": (nonblank_text(path.get("cwd")) if isinstance(path, dict) else None) or cwd,
            "subagent": "/" in session,
        }

    def __call__(self, kind: Kind, role: Role, text: str, **more: Any) -> Event:
        return Event(kind=kind, role=role, text=to_bytes(text), **self._common, **more)


def _message_ids(named: Json) -> dict[str, Any]:
    own_id = nonblank_text(named.get("id"))
    if own_id is None:
        raise InvalidInput("a message or part without its id")
    return {"host_id": own_id, "source_id": own_id}


def _exit_code(state: Json) -> object:
    metadata = state.get("metadata")
    return metadata.get("exit") if isinstance(metadata, dict) else None


def _files(arguments: object) -> tuple[str, ...]:
    if not isinstance(arguments, dict):
        return ()
    return tuple(value for name in FILE_ARGUMENTS if (value := nonblank_text(arguments.get(name))))


DATABASE = "opencode.db"
MAGIC = b"SQLite format 3\x00"
BUSY_MS = 2_000
SESSION_FILTER = "(?1 IS NULL OR id = ?1)"


def parse_database_path(path: str) -> tuple[str, str | None] | None:
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
    """An opened database; fulfils `mnemic.actors.protocol.ports.Source`."""

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
        extent = stat_transcript(file)
        self.size_bytes: int | None = extent.size_bytes if extent else None  # by which it is known, session or not

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        number = 0
        sessions = (
            f"SELECT id, parent_id, directory FROM session WHERE {SESSION_FILTER} ORDER BY time_created DESC, id DESC"
        )
        for own_id, parent, folder in self._rows(sessions, self._session):
            for info, parts in self._messages(own_id):
                number += 1
                if info is None:
                    yield MalformedLine(line=number, why="a message that is no JSON object")
                    continue
                for found in message_events(session_name(own_id, parent), folder, info, parts):
                    yield MalformedLine(line=number, why=str(found)) if isinstance(found, InvalidInput) else found
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
    except InvalidInput:
        return None
    return None if value is None else {**value, "id": own_id}
