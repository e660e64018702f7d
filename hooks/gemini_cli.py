"""Gemini CLI's transcripts: ``~/.gemini/tmp/<project>/chats/session-*.jsonl``, a subagent's in a folder beside it.

A line is the session's header, a message, or a change (``$set``, ``$rewindTo``). The last message is written anew as
it grows (its calls come later), so of lines with one id the last counts. ``$set`` repeats what is kept of the history
after a resumption or a compression, under other ids: of that only a compression's summary is new. Which folder it is
only the session's first message says. Written against 0.61.0 (a real session in the tests).
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mnemic.actors.events import Event, Kind, Role, to_bytes
from mnemic.hooks.gemini_cli_shapes import (
    call_and_result,
    context_told,
    is_snapshot,
    result_text,
    said_by_user,
    texts_of,
    without_contexts,
)
from mnemic.hooks.lines import Bad, Json, microseconds, text_of

__all__ = ["ASSISTANT", "GeminiReader", "is_gemini"]

ASSISTANT = "gemini-cli"
MESSAGE_TYPES = ("user", "gemini", "info", "error", "warning")
FOLDER = re.compile(r"\*\*Workspace Directories:\*\*\s*\n\s*- (.+)")
CUT_SHORT = re.compile(r"Output too large\. Showing first .*? For full output see: ([^\n]+)\n")

Whole = Callable[[str], str | None]
"""Gives the text of the file in which a result that was cut short is kept whole, if it is still there."""


def is_gemini(line: Json) -> bool:
    """Whether a line looks like Gemini CLI's."""
    if isinstance(line.get("sessionId"), str) and isinstance(line.get("projectHash"), str):
        return True
    return isinstance(line.get("$set"), dict) or isinstance(line.get("$rewindTo"), str)


class GeminiReader:
    """Reads a transcript's lines; holds the last message back until it is known to be whole."""

    def __init__(self, path: str = "", whole: Whole = lambda path: None) -> None:
        """Read what is at a path: a subagent's file says whose it is by its folder."""
        self._path = path
        self._whole = whole
        self._session: str | None = None
        self._tools_session: str | None = None
        self._cwd: str | None = None
        self._held: Json | None = None
        self._seen: set[str] = set()
        self._summaries: set[str] = set()

    def read(self, line: Json) -> Iterable[Event]:
        """Events of earlier lines that were held back, and of this one. Raises `Bad`."""
        if isinstance(line.get("sessionId"), str) and "projectHash" in line:
            return self._header(line)
        if isinstance(change := line.get("$set"), dict):
            return self._snapshots(change.get("messages"))
        if "$rewindTo" in line or line.get("type") not in MESSAGE_TYPES:
            return ()
        own_id = text_of(line.get("id"))
        if own_id is None:
            raise Bad("a message without its id")
        if self._session is None:
            raise Bad("no session was named before it")
        if any(text_of(call.get("name")) is None for call in _listed(line, "toolCalls")):
            raise Bad("a tool call without its name")
        earlier = () if self._held is not None and self._held["id"] == own_id else self.finish()
        if own_id not in self._seen:
            self._held = line
        return earlier

    def finish(self) -> Iterable[Event]:
        """The last message."""
        held, self._held = self._held, None
        if held is None:
            return ()
        self._seen.add(held["id"])
        return list(self._message(held))

    def _header(self, line: Json) -> Iterable[Event]:
        earlier = self.finish()
        session = line["sessionId"]
        folders = line.get("directories")
        if isinstance(folders, list) and folders:
            self._cwd = text_of(folders[0]) or self._cwd
        self._session = self._tools_session = session
        if line.get("kind") == "subagent" and (parent := os.path.basename(os.path.dirname(self._path))):
            # Its hooks say nothing of the subagent, so what they tell of (calls and results) is the parent's.
            self._session, self._tools_session = f"{parent}/{session}", parent
        return [*earlier, *self._snapshots(line.get("messages"))]

    def _snapshots(self, messages: object) -> Iterable[Event]:
        if self._session is None:
            raise Bad("no session was named before it")
        events: list[Event] = []
        for message in messages if isinstance(messages, list) else []:
            if not isinstance(message, dict):
                continue
            text = "".join(texts_of(message.get("content")))
            if self._cwd is None and (found := FOLDER.search(text)):
                self._cwd = found[1].strip()
            if is_snapshot(message) and text not in self._summaries:
                self._summaries.add(text)
                events += [*self.finish(), *said_by_user(self._maker(message), text)]
        return events

    def _message(self, message: Json) -> Iterator[Event]:
        make = self._maker(message)
        if message["type"] == "user":
            text, told = without_contexts(texts_of(message.get("content")))
            if self._cwd is None and (found := FOLDER.search(text)):
                self._cwd = found[1].strip()
            if text.strip():
                yield from said_by_user(make, text)
            for context in told:
                yield from context_told(make, context)
        elif message["type"] == "gemini":
            for thought in _listed(message, "thoughts"):
                if text := _thought(thought):
                    yield make("thinking", "assistant", text)
            if text_of(text := "".join(texts_of(message.get("content")))):
                yield make("turn", "assistant", text)
            for call in _listed(message, "toolCalls"):
                yield from self._call(message, call)

    def _call(self, message: Json, call: Json) -> Iterator[Event]:
        result = call.get("result")
        text = None if result is None else self._uncut(result_text(result))
        make = self._maker(message, self._tools_session, call.get("timestamp"))
        failed = call.get("status") not in (None, "success")
        yield from call_and_result(make, call["name"], call.get("args"), text, failed, text_of(call.get("id")))

    def _uncut(self, text: str) -> str:
        found = CUT_SHORT.match(text)
        whole = self._whole(found[1]) if found else None
        return result_text(whole) if whole else text

    def _maker(self, message: Json, session: str | None = None, said_at: object = None) -> _Maker:
        return _Maker(message, session or self._session or "", self._cwd, said_at)


class _Maker:
    """Makes the events of one message: what they share is taken from it once."""

    def __init__(self, message: Json, session: str, cwd: str | None, said_at: object) -> None:
        self._common: dict[str, Any] = {
            "assistant": ASSISTANT,
            "session": session,
            "source_id": text_of(message.get("id")),
            "said_at": microseconds(said_at) or microseconds(message.get("timestamp")),
            "cwd": cwd,
            "subagent": "/" in session,
        }

    def __call__(self, kind: Kind, role: Role, text: str, **more: Any) -> Event:
        return Event(kind=kind, role=role, text=to_bytes(text), **(self._common | more))


def _listed(message: Json, name: str) -> Iterator[Json]:
    values = message.get(name)
    yield from (value for value in (values if isinstance(values, list) else []) if isinstance(value, dict))


def _thought(thought: Json) -> str:
    parts = (text_of(thought.get("subject")), text_of(thought.get("description")))
    return "\n".join(part for part in parts if part)
