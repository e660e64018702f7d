"""Reads Gemini CLI's transcripts, ``~/.gemini/tmp/<project>/chats/session-*.jsonl``, as events.

A line is the session's header, a message, or a change (``$set``, ``$rewindTo``). The last message is written anew as
it grows (its calls come later), so of lines with one id the last counts. ``$set`` repeats what is kept of the history
after a resumption or a compression, under other ids: of that a compression's summary is new, and words that no line
told. Which folder it is only the session's first message says. Written against 0.61.0 (a real session in the tests).

Earlier versions kept a session as one JSON document, ``session-*.json``: a header that holds its messages. It is read
as the lines that Gemini CLI makes of it once such a session is resumed.

A session's subagents, whose transcripts lie beside it, are read with it: its hooks don't tell them apart, and how often
a call of the same bytes occurred can only be counted over all of them. Results that were cut short are read from the
files that hold them whole.
"""

from __future__ import annotations

import io
import json
import os
import os.path
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, SourceItem, to_bytes
from mnemic.hooks.hosts.gemini_cli_events import (
    hook_context_events,
    is_compression_summary,
    message_texts,
    result_text,
    split_hook_contexts,
    tool_events,
    user_message_events,
)
from mnemic.hooks.read.lines import (
    BOM,
    EventFactory,
    InvalidInput,
    Json,
    LineSource,
    RawLines,
    nonblank_text,
    parse,
    parse_time_us,
)
from mnemic.runtime.files.foreign import open_regular, read_below

ASSISTANT = "gemini-cli"
SPOKEN_TYPES = ("user", "gemini")
MESSAGE_TYPES = (*SPOKEN_TYPES, "info", "error", "warning")
WORKSPACE_FOLDER = re.compile(r"\*\*Workspace Directories:\*\*[^\S\n]*\n\s*- (.+)")
DOCUMENT_BEGINNING = re.compile(rb'\s*\{\s*"sessionId"\s*:\s*"[^"]*"\s*,\s*"projectHash"\s*:')
TRUNCATED_OUTPUT = re.compile(r"Output too large\. Showing first .*? For full output see: ([^\n]+)\n")

ReadFullOutput = Callable[[str], str | None]
"""Gives the text of the file in which a result that was cut short is kept whole, if it is still there."""


def is_gemini(line: Json) -> bool:
    """Whether a line looks like Gemini CLI's."""
    if isinstance(line.get("sessionId"), str) and isinstance(line.get("projectHash"), str):
        return True
    return isinstance(line.get("$set"), dict) or isinstance(line.get("$rewindTo"), str)


def begins_document(data: bytes) -> bool:
    """Say whether bytes begin as a session that is one document, or as the header of one in lines."""
    return DOCUMENT_BEGINNING.match(data.removeprefix(BOM)) is not None


class GeminiReader:
    """Reads a transcript's lines; holds the last message back until it is known to be whole."""

    def __init__(self, path: str = "", whole: ReadFullOutput = lambda path: None) -> None:
        """Read what is at a path: a subagent's file says whose it is by its folder."""
        self._path = path
        self._read_full_output = whole
        self._session: str | None = None
        self._tool_session: str | None = None
        self._cwd: str | None = None
        self._pending_message: Json | None = None
        self._failure: Exception | None = None  # of a message that was held back
        self._emitted_ids: set[str] = set()
        self._told: Counter[bytes] = Counter()  # texts of messages, by what they hash to
        self._summaries: set[str] = set()

    def read(self, line: Json) -> Iterable[Event]:
        """Events of earlier lines that were held back, and of this one. Raises `InvalidInput`, and what went wrong with
        the line that was held back once the events of this one are told.
        """
        yield from self._events(line)
        self._raise_failure()

    def _events(self, line: Json) -> Iterable[Event]:
        if isinstance(line.get("sessionId"), str) and "projectHash" in line:
            return self._header(line)
        if isinstance(change := line.get("$set"), dict):
            return self._snapshots(change.get("messages"))
        if "$rewindTo" in line or line.get("type") not in MESSAGE_TYPES:
            return ()
        own_id = nonblank_text(line.get("id"))
        if own_id is None:
            raise InvalidInput("a message without its id")
        if self._session is None:
            raise InvalidInput("no session was named before it")
        if any(nonblank_text(call.get("name")) is None for call in _dicts_in(line, "toolCalls")):
            raise InvalidInput("a tool call without its name")
        earlier = () if self._pending_message is not None and self._pending_message["id"] == own_id else self._flush()
        if own_id not in self._emitted_ids:
            self._pending_message = line
        return earlier

    def finish(self) -> Iterable[Event]:
        """The last message."""
        yield from self._flush()
        self._raise_failure()

    def _flush(self) -> list[Event]:
        held, self._pending_message = self._pending_message, None
        if held is None:
            return []
        self._emitted_ids.add(held["id"])
        self._told[_text_hash(held)] += 1
        try:
            return list(self._message(held))
        except Exception as error:  # the line that is read now is to be kept before it is told
            self._failure = error
            return []

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _header(self, line: Json) -> Iterable[Event]:
        earlier = self._flush()
        session = line["sessionId"]
        folders = line.get("directories")
        if isinstance(folders, list) and folders:
            self._cwd = nonblank_text(folders[0]) or self._cwd
        self._session = self._tool_session = session
        if line.get("kind") == "subagent" and (parent := os.path.basename(os.path.dirname(self._path))):
            # Its hooks say nothing of the subagent, so what they tell of (calls and results) is the parent's.
            self._session, self._tool_session = f"{parent}/{session}", parent
        return [*earlier, *self._snapshots(line.get("messages"))]

    def _snapshots(self, messages: object) -> Iterable[Event]:
        if self._session is None:
            raise InvalidInput("no session was named before it")
        events: list[Event] = []
        repeated: Counter[bytes] = Counter()
        follows_summary = False
        kept = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
        for message, following in zip(kept, [*kept[1:], {}], strict=False):
            is_summary = is_compression_summary(message, following)
            text = "".join(message_texts(message.get("content")))
            if self._cwd is None and (found := WORKSPACE_FOLDER.search(text)):
                self._cwd = found[1].strip()
            repeated[words := _text_hash(message)] += 1
            if is_summary:
                if text.strip() and text not in self._summaries:
                    self._summaries.add(text)
                    events += [*self._flush(), self._event_factory(message)("summary", "system", text)]
            elif not follows_summary and text.strip() and self._is_untold(message, words, repeated[words]):
                events += self._flush()
                self._pending_message = message
                events += self._flush()
            follows_summary = is_summary  # which the host itself answers, in the model's place
        return events

    def _is_untold(self, message: Json, words: bytes, times: int) -> bool:
        """Say whether no line told a message that a change holds: neither its id nor, so many times, its words."""
        own_id, pending = nonblank_text(message.get("id")), self._pending_message
        if own_id is None or own_id in self._emitted_ids or message.get("type") not in SPOKEN_TYPES:
            return False
        if pending is None:
            return times > self._told[words]
        return own_id != pending["id"] and times > self._told[words] + (_text_hash(pending) == words)

    def _message(self, message: Json) -> Iterator[Event]:
        make = self._event_factory(message)
        if message["type"] == "user":
            text, told = split_hook_contexts(message_texts(message.get("content")))
            if self._cwd is None and (found := WORKSPACE_FOLDER.search(text)):
                self._cwd = found[1].strip()
            if text.strip():
                yield from user_message_events(make, text)
            for context in told:
                yield from hook_context_events(make, context)
        elif message["type"] == "gemini":
            for thought in _dicts_in(message, "thoughts"):
                if text := _thought(thought):
                    yield make("thinking", "assistant", text)
            if nonblank_text(text := "".join(message_texts(message.get("content")))):
                yield make("turn", "assistant", text)
            for call in _dicts_in(message, "toolCalls"):
                yield from self._call(message, call)

    def _call(self, message: Json, call: Json) -> Iterator[Event]:
        tool, result = nonblank_text(call.get("name")), call.get("result")
        if tool is None:
            raise InvalidInput("a tool call without its name")
        text = None if result is None else self._full_result(result_text(result))
        make = self._event_factory(message, self._tool_session, call.get("timestamp"))
        failed = call.get("status") not in (None, "success")
        yield from tool_events(make, tool, call.get("args"), text, failed, nonblank_text(call.get("id")))

    def _full_result(self, text: str) -> str:
        found = TRUNCATED_OUTPUT.match(text)
        whole = self._read_full_output(found[1]) if found else None
        return result_text(whole) if whole else text

    def _event_factory(self, message: Json, session: str | None = None, said_at: object = None) -> EventFactory:
        session = session or self._session or ""
        return EventFactory(
            assistant=ASSISTANT,
            session=session,
            source_id=nonblank_text(message.get("id")),
            said_at=parse_time_us(said_at) or parse_time_us(message.get("timestamp")),
            cwd=self._cwd,
            subagent="/" in session,
        )


def _dicts_in(message: Json, name: str) -> Iterator[Json]:
    values = message.get(name)
    yield from (value for value in (values if isinstance(values, list) else []) if isinstance(value, dict))


def _text_hash(message: Json) -> bytes:
    """What a message's words hash to, with who said them."""
    text = "".join(message_texts(message.get("content")))
    return sha256(to_bytes(f"{message.get('type')}\0{text.strip()}")).digest()


def _thought(thought: Json) -> str:
    parts = (nonblank_text(thought.get("subject")), nonblank_text(thought.get("description")))
    return "\n".join(part for part in parts if part)


SESSION_FILE = re.compile(r"session-.*-(?P<begin>[^-]{8})\.jsonl?")
OUTPUTS_FOLDER = "tool-outputs"
_MOST_OUTPUT_BYTES = 1 << 26
_BEGINNING_BYTES = 256


class GeminiSource:
    """An opened session with its subagents; fulfils `mnemic.actors.kernel.ports.Source`.

    It is as long as the session's own file, by which it is known; what lies beside counts as a part of that.
    """

    format = ASSISTANT

    def __init__(self, raw: RawLines) -> None:
        self._parts = [_source(raw)]
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0
        try:
            for path in _subagent_files(raw.path):
                self._add(path)
        except SourceUnreadable:
            self.close()
            raise

    def _add(self, path: str) -> None:
        try:
            stream = open_regular(path)  # closed with the others
        except FileNotFoundError:  # its user may delete a session at any time
            return
        except OSError as error:
            raise SourceUnreadable(path=path, why=error.strerror or type(error).__name__) from error
        self._parts.append(_source(RawLines(path, stream, os.fstat(stream.fileno()).st_size)))

    def __iter__(self) -> Iterator[SourceItem]:
        whole = sum(part.size_bytes or 0 for part in self._parts)
        for part in self._parts:
            for found in part:
                read = sum(one.position_bytes for one in self._parts)
                self.position_bytes = read * self.size_bytes // whole if self.size_bytes else read
                yield found
        if self.size_bytes is not None:
            self.position_bytes = self.size_bytes

    def close(self) -> None:
        """Let go of the files."""
        for part in self._parts:
            part.close()


def _source(raw: RawLines) -> LineSource:
    path = "" if raw.path == "-" else os.path.abspath(raw.path)
    return LineSource(ASSISTANT, _as_lines(raw), GeminiReader(path, lambda named: _read_full_output(path, named)))


def _as_lines(raw: RawLines) -> RawLines:
    """The lines themselves; of a session that is one document, its header and each of its messages as a line."""
    if not raw.peeked:
        list(raw.peek(_BEGINNING_BYTES))
    found = DOCUMENT_BEGINNING.match(b"".join(raw.peeked).removeprefix(BOM))
    if found is None or b"\n" not in found[0].lstrip():  # a header on one line; messages in it are told with it
        return raw
    try:
        document = parse(raw.read() + b"\n") or {}
    except InvalidInput as bad:
        raise SourceUnreadable(path=raw.path, why=str(bad)) from None
    finally:
        raw.close()
    messages = document.pop("messages", None)
    lines = [document, *(messages if isinstance(messages, list) else [])]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return RawLines(raw.path, io.BytesIO(data), raw.size_bytes)


def _subagent_files(path: str) -> list[str]:
    """The files of a session's subagents: in folders named like the session, whose file has the beginning of its id.

    No link is one: whoever made the folder could have another file taken in.
    """
    found = SESSION_FILE.fullmatch(os.path.basename(path))
    if found is None:
        return []
    folder = os.path.dirname(os.path.abspath(path))
    names = [name for name in _listed(folder) if name.startswith(found["begin"])]
    below = [one for name in names if os.path.isdir(one := os.path.join(folder, name)) and not os.path.islink(one)]
    files = [os.path.join(one, name) for one in below for name in _listed(one) if name.endswith(".jsonl")]
    return [one for one in files if not os.path.islink(one)]


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise SourceUnreadable(path=folder, why=error.strerror or type(error).__name__) from error


def _read_full_output(path: str, named: str) -> str | None:
    """A result that was cut short, from the file that the transcript names for it.

    Only a file where the host puts them is read, below the transcript's own project and by way of no link: a transcript
    holds what tools answered, and must not have other files taken in.
    """
    below = os.path.realpath(os.path.dirname(path))
    while os.path.basename(below) not in ("chats", ""):
        below = os.path.dirname(below)
    folder, found, output = named.rpartition(f"/{OUTPUTS_FOLDER}/")
    project = os.path.dirname(below)
    try:
        if not path or not found or os.path.realpath(folder) != project:
            return None
        return read_below(project, f"{OUTPUTS_FOLDER}/{output}", _MOST_OUTPUT_BYTES).decode("utf-8")
    except (OSError, ValueError, RecursionError):  # it went, is a link, or no text; the rest stands in the transcript
        return None
