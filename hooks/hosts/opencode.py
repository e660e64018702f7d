"""Turns OpenCode's messages and parts into events, whether from its database, an export or Mnemic's plugin.

The plugin passes them on as OpenCode gives them, so every event has an id that all three give: a prompt its message's,
everything else its part's. Written against 1.18.33 (a real session in the tests); https://opencode.ai/docs/sdk#types
names the fields.

`mnemic.hooks.hosts.opencode_database` reads the database, which OpenCode 2 has tables of its own in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, MalformedLine
from mnemic.algorithms.text.voices import Voice, split_appended, voice_of
from mnemic.hooks.read.lines import (
    BOM,
    EventFactory,
    InvalidInput,
    Json,
    RawLines,
    call_events,
    malformed_line,
    nonblank_text,
    parse,
)
from mnemic.hooks.read.own_text import strip_own_output
from mnemic.hooks.read.records import RecordEventFactory, required_text
from mnemic.hooks.read.speakers import user_text_events

ASSISTANT = "opencode"
FINAL_STATES = ("completed", "error")
EXPORT_BEGINNING = re.compile(rb'\s*\{[ \t]*\r?\n\s*"info"\s*:\s*\{[^{}\[\]]*"id"\s*:\s*"')
"""A session's id stands among what its description begins with."""


def hook_events(record: HookRecord, payload: Json) -> Iterator[HookEvent]:
    """What one payload tells, in order. Raises `InvalidInput` where it lacks what it must have."""
    event = required_text(payload, "hook_event_name")
    make = RecordEventFactory(record, payload)
    if event in ("session-start", "compaction", "compacted"):
        yield from make.transcript_events(ended=False)
    elif event == "prompt":
        parts = payload.get("parts")
        if not isinstance(parts, list):
            raise InvalidInput("parts are missing")
        yield from prompt_events(
            make, _required_object(payload, "message"), [part for part in parts if isinstance(part, dict)]
        )
    elif event == "reply" and "part" not in payload:  # OpenCode 2: its database has what was said by then
        yield from make.transcript_events(ended=True)
    elif event in ("reply", "tool", "tool-failed"):
        message = payload.get("message")
        yield from _part_events(make, message if isinstance(message, dict) else {}, _required_object(payload, "part"))
        if event == "reply":
            yield from make.transcript_events(ended=False)
    elif event == "subagent":
        yield from make.transcript_events(ended=True)
    elif event == "session-end":
        if payload.get("reason") != "deleted":  # it is not there any more
            yield from make.transcript_events(ended=True)
    else:
        raise InvalidInput("no event of that name is known")


def _required_object(payload: Json, name: str) -> Json:
    value = payload.get(name)
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} is missing")
    return value


def is_export(document: Json) -> bool:
    """Whether a document is what ``opencode export`` prints."""
    info = document.get("info")
    return isinstance(info, dict) and isinstance(info.get("id"), str) and isinstance(document.get("messages"), list)


def begins_export(data: bytes) -> bool:
    """Whether a document that goes over many lines begins as those that ``opencode export`` prints."""
    return EXPORT_BEGINNING.match(data.removeprefix(BOM)) is not None


def _parse_export(data: bytes) -> Json:
    """The exported session that the bytes are. Raises `InvalidInput`."""
    document = parse(data + b"\n")
    if document is None:
        raise InvalidInput("it is empty")
    if not is_export(document):
        raise InvalidInput(f"it is no document of {ASSISTANT}")
    return document


class SessionExport:
    """An opened export; fulfils `mnemic.actors.kernel.ports.Source`. It is read whole before its first event."""

    format = ASSISTANT

    def __init__(self, raw: RawLines) -> None:
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0
        self._raw = raw

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        data = self._raw.read()
        try:
            document = _parse_export(data)
        except InvalidInput as bad:
            raise SourceUnreadable(path=self._raw.path, why=str(bad)) from None
        self.position_bytes = len(data)
        info = document["info"]
        session, cwd = session_name(info["id"], info.get("parentID")), nonblank_text(info.get("directory"))
        for number, message in enumerate(document["messages"], 1):
            message = message if isinstance(message, dict) else {}
            yield from message_events(number, session, cwd, message.get("info"), message.get("parts"))

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def session_name(own_id: str, parent: object) -> str:
    """The session of a conversation: a subagent's stands below that of who sent it."""
    return f"{parent}/{own_id}" if nonblank_text(parent) else own_id


def message_events(
    number: int, session: str, cwd: str | None, info: object, parts: object
) -> Iterator[Event | MalformedLine]:
    """The events of one message, in order."""
    if not isinstance(info, dict) or not isinstance(parts, list):
        yield MalformedLine(line=number, why="a message without its info and parts")
        return
    path, time = info.get("path"), info.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    make = EventFactory(
        assistant=ASSISTANT,
        session=session,
        said_at=int(created) * 1000 if isinstance(created, int | float) and 0 < created < 1e15 else None,
        cwd=(nonblank_text(path.get("cwd")) if isinstance(path, dict) else None) or cwd,
        subagent="/" in session,
    )
    usable = [part for part in parts if isinstance(part, dict)]
    try:
        if info.get("role") == "user":
            yield from prompt_events(make, info, usable)
        elif info.get("role") == "assistant":
            for part in usable:
                yield from _part_events(make, info, part)
        else:
            raise InvalidInput("a message without its role")
    except Exception as error:  # whatever it is about this message, the others are kept
        yield malformed_line(number, error)


def prompt_events(make: EventFactory, info: Json, parts: Iterable[Json]) -> Iterator[Event]:
    """Return what stands in the user's place: what the host or a plugin put there, and what was typed, as one turn.

    A part that is not ``synthetic`` was typed, unless it begins as texts of hosts do: plugins send such unmarked.
    """
    typed: list[str] = []
    unmarked = []
    for part in parts:
        text = nonblank_text(part.get("text")) if part.get("type") == "text" else None
        if text is None or part.get("ignored"):
            continue
        if part.get("synthetic"):
            if nonblank_text(rest := strip_own_output(text)):
                yield make("injected", "system", rest, **_message_ids(part))
        elif voice_of(text, is_typed=True) == "host":
            unmarked.append((text, part))
        else:
            typed.append(text)
    if typed:
        yield from (make("injected", "system", text, **_message_ids(part)) for text, part in unmarked)
        said = (*typed[:-1], split_appended(typed[-1])[0])  # the host puts its text behind all that was typed
        voice: Voice = "unclear" if any(voice_of(text, is_typed=True) == "unclear" for text in said) else "person"
        yield from user_text_events(make, "\n".join(typed), voice=voice, **_message_ids(info))
    elif unmarked:
        yield from user_text_events(make, "\n".join(text for text, _ in unmarked), "host", **_message_ids(info))


def _part_events(make: EventFactory, info: Json, part: Json) -> Iterator[Event]:
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
    status, metadata, ids = state.get("status"), state.get("metadata"), _message_ids(part)
    if status == "pending" and not state.get("input"):
        return
    failed = status == "error" or (isinstance(metadata, dict) and metadata.get("exit") not in (None, 0))
    said = state.get("error" if status == "error" else "output")
    result = (said if isinstance(said, str) else "") if status in FINAL_STATES else None
    yield from call_events(make, tool, state.get("input"), result, failed, **ids)


def _message_ids(named: Json) -> dict[str, Any]:
    own_id = nonblank_text(named.get("id"))
    if own_id is None:
        raise InvalidInput("a message or part without its id")
    return {"host_id": own_id, "source_id": own_id}
