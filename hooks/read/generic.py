"""Reads generic JSON Lines (conversations of any program, one object a line, with documented fields) and plain text.

A line has a text and a role; where it names no session, its file is one. The names that other programs give to the same
are understood too (`_NAMES`), times as ISO 8601 or as seconds or milliseconds since 1970, and a text in parts. What
means nothing is told by its name. Of plain text, one file is one session, and every paragraph of it a note.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

from mnemic.actors.kernel.errors import MnemicError, SourceUnreadable
from mnemic.actors.kernel.events import (
    AUTHORS,
    KINDS,
    ROLES,
    Author,
    Event,
    MalformedLine,
    Outcome,
    UnknownFields,
    escape_surrogates,
    to_bytes,
)
from mnemic.actors.kernel.times import WrittenTime
from mnemic.hooks.read.lines import InvalidInput, Json, RawLines, is_json_document, parse_written_time, time_fields

ASSISTANT = "generic"
OUTCOMES: tuple[str, ...] = get_args(Outcome)
_NAMES = {
    "session": ("session", "session_id", "conversation_id", "thread_id"),
    "text": ("text", "content"),
    "said_at": ("said_at", "time", "timestamp", "created_at"),
}
"""The names of these fields; of several that a line has, the first counts."""
_OWN_NAMES = ("role", "author", "speaker", "scope", "id", "kind", "tool", "outcome", "files")
_KNOWN = frozenset(_OWN_NAMES).union(*_NAMES.values())
_ROLES = dict(zip(ROLES, ROLES, strict=True)) | {
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "function": "tool",
    "developer": "system",
}
_PART_TYPES = ("text", "input_text", "output_text")
_MOST_SECONDS, _MOST_MILLISECONDS = 1e11, 1e14  # both the year 5138; as milliseconds, the first is 1973
_MOST_NAMES, _LONGEST_NAME = 50, 60
OTHER_FIELDS = "(others)"
"""What the fields are counted under that come after the first so many names of a file."""


def is_generic(line: Json) -> bool:
    """Whether a line looks like generic JSON Lines: it says what was said, and by whom."""
    who = line.get("role") or line.get("author")
    return isinstance(who, str | dict) and isinstance(_value(line, "text")[1], str | list)


def names_session(line: Json) -> bool:
    """Whether a line says which session it is of, as only generic lines do."""
    return _value(line, "session")[1] is not None


class GenericReader:
    """Reads generic lines; each stands for itself."""

    def __init__(self, session: str | None = None) -> None:
        """Read nothing yet.

        Args:
            session: what stands for the session of a line that names none; ``None`` where nothing can.
        """
        self._session = session
        self._unknown: set[str] = set()

    def read(self, line: Json) -> Iterable[Event | UnknownFields]:
        """What a line has that means nothing, and its event. Raises `InvalidInput` for a missing field or a value that
        cannot be.
        """
        if unknown := [name for name in line if name not in _KNOWN]:
            yield UnknownFields(tuple(dict.fromkeys(map(self._unknown_name, unknown))))
        role, speaker, whose = _role_and_speaker(line)
        default = "tool_result" if role == "tool" else "turn"
        own_id = _text(line, "id")
        name, said_at = _value(line, "said_at")
        yield Event(
            assistant=ASSISTANT,
            session=self._session_of(line),
            kind=_one_of(line, "kind", KINDS, _text(line, "kind") or default),
            role=role,
            text=to_bytes(_said(line)),
            host_id=own_id,
            disambiguator=str(said_at) if own_id is None and said_at is not None else None,
            source_id=own_id,
            speaker=speaker,
            author=whose,
            **({} if said_at is None else time_fields(_written_time(name, said_at))),
            scope=_text(line, "scope"),
            tool=_text(line, "tool"),
            outcome=_one_of(line, "outcome", OUTCOMES, _text(line, "outcome")),
            files=_files(line),
        )

    def finish(self) -> Iterable[Event]:
        """Nothing is held back."""
        return ()

    def _session_of(self, line: Json) -> str:
        name, value = _value(line, "session")
        if value is None and self._session is not None:
            return self._session
        if value is None:
            raise InvalidInput("session is missing, and what comes through a pipe has no name that could stand for it")
        if not isinstance(value, str):
            raise InvalidInput(f"{name} is no string")
        if not value:
            raise InvalidInput(f"{name} is empty")
        return value

    def _unknown_name(self, name: str) -> str:
        """A field's name as it is told: not longer than a name, and not one more once there are too many."""
        told = str(escape_surrogates(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"))
        if told not in self._unknown and len(self._unknown) == _MOST_NAMES:
            return OTHER_FIELDS
        self._unknown.add(told)
        return told


def _value(line: Json, field: str) -> tuple[str, Any]:
    """What a line has for a field, by whichever of its names, and that name; else the first name and ``None``."""
    found = ((name, line[name]) for name in _NAMES[field] if line.get(name) is not None)
    return next(found, (_NAMES[field][0], None))


def _role_and_speaker(line: Json) -> tuple[Any, str | None, Author | None]:
    """Who a line comes from, their name, and whose words they are; an author who is none of the roles is a person with
    a name, and not the owner unless the line says that it is the user's.
    """
    author: Any = line.get("author")
    speaker = _text(line, "speaker")
    whose: Author | None = None
    if isinstance(author, str) and author in AUTHORS and line.get("role") is not None:
        author, whose = None, author
    if isinstance(author, dict):
        author, speaker = author.get("role"), speaker or _text(author, "name")
    elif isinstance(author, str) and author not in _ROLES:
        author, speaker, whose = "user", speaker or author, None if line.get("role") else "other"
    role = author if line.get("role") is None else line["role"]
    if role is None:
        raise InvalidInput("role is missing")
    if not isinstance(role, str):
        raise InvalidInput("role is no string")
    if role not in _ROLES:
        raise InvalidInput(f"role is none of {', '.join(ROLES)}")
    return _ROLES[role], speaker, whose


def _said(line: Json) -> str:
    """The text of a line; of one in parts those that are text, a line each."""
    name, value = _value(line, "text")
    if isinstance(value, list):
        parts = [part if isinstance(part, str) else _part_text(part) for part in value]
        said = [part for part in parts if part is not None]
        if not said:
            raise InvalidInput(f"{name} has no part that is text")
        return "\n".join(said)
    if value is None:
        raise InvalidInput("text is missing")
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is no string")
    return value


def _part_text(part: object) -> str | None:
    if isinstance(part, dict) and part.get("type", "text") in _PART_TYPES and isinstance(part.get("text"), str):
        return str(part["text"])
    return None


def _written_time(name: str, value: object) -> WrittenTime:
    """A time, in figures or as ISO 8601. Raises `InvalidInput`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST_MILLISECONDS:
        at = round(value * (1_000_000 if abs(value) < _MOST_SECONDS else 1000))
        return WrittenTime(at, None, is_local=False)
    written = parse_written_time(value)
    if written is None:
        raise InvalidInput(f"{name} is no time: neither ISO 8601 nor seconds or milliseconds since 1970")
    return written


def _text(line: Json, name: str) -> str | None:
    value = line.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{name} is no string")
    return value


def _one_of(line: Json, name: str, known: tuple[str, ...], value: str | None) -> Any:
    if value is not None and value not in known:
        raise InvalidInput(f"{name} is none of {', '.join(known)}")
    return value


def _files(line: Json) -> tuple[str, ...]:
    value = line.get("files")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InvalidInput("files is no list of strings")
    return tuple(value)


# A line's end and the blank lines after it; atomic, or "\r\n" would count as two line ends.
SPACE = b" \t\r\n"
BLANK = re.compile(rb"(?>\r\n|\n|\r)(?:[ \t]*(?>\r\n|\n|\r))+")


JSON_REASON = "it is JSON; jsonl is one object a line, each with a role and a text"
NotText = Callable[[str], MnemicError]


class TextSource:
    """An opened text file; fulfils `mnemic.actors.kernel.ports.Source`.

    The file is read whole before its first note, so that one that is no UTF-8 leaves nothing behind. What has no name
    (standard input) is known by its content, so that two such texts are two sessions.
    """

    format = "text"

    def __init__(self, session: str | None, raw: RawLines, not_text: NotText | None = None) -> None:
        """Read nothing yet.

        Args:
            not_text: makes the error, of a reason, for what turns out to be JSON; ``None`` where somebody said that
                it is text.
        """
        self._session = session
        self._raw = raw
        self._not_text = not_text
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        data = self._raw.read()
        try:
            data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise SourceUnreadable(path=self._raw.path, why=f"byte {error.start} is no UTF-8") from None
        if self._not_text is not None and is_json_document(data):
            raise self._not_text(JSON_REASON)
        session = self._session or f"stdin-{hashlib.sha256(data).hexdigest()[:16]}"
        for note in paragraphs(data):
            start = self.position_bytes
            self.position_bytes += len(note)
            yield Event(
                assistant=ASSISTANT,
                session=session,
                kind="note",
                role="user",
                text=note,
                source_id=f"byte {start}",
            )

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def paragraphs(data: bytes) -> Iterator[bytes]:
    """Cut text after its blank lines. The pieces, joined, are the text; what is blank at its ends goes to its ends."""
    start = len(data) - len(data.lstrip(SPACE))
    cut = 0
    for gap in BLANK.finditer(data, start, len(data.rstrip(SPACE))):
        yield data[cut : gap.end()]
        cut = gap.end()
    if cut < len(data):
        yield data[cut:]
