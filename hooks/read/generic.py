"""Reads generic JSON Lines (conversations of any program, one object a line, with documented fields) and plain text.

Of a line, ``session``, ``role`` and ``text`` are required; ``speaker``, ``said_at``, ``scope``, ``id``, ``kind``,
``tool``, ``outcome`` and ``files`` may be there; anything else is ignored. Of plain text, one file is one session, and
every paragraph of it a note.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from mnemic.actors.protocol.errors import SourceUnreadable
from mnemic.actors.protocol.events import KINDS, ROLES, Event, MalformedLine, Outcome, to_bytes
from mnemic.hooks.read.lines import InvalidInput, Json, RawLines, parse_time_us

ASSISTANT = "generic"
OUTCOMES: tuple[str, ...] = get_args(Outcome)


def is_generic(line: Json) -> bool:
    """Whether a line looks like generic JSON Lines."""
    return all(isinstance(line.get(name), str) for name in ("session", "role", "text"))


class GenericReader:
    """Reads generic lines; each stands for itself."""

    def read(self, line: Json) -> Iterable[Event]:
        """The event of one line. Raises `InvalidInput` for a missing field or a value that cannot be."""
        role = _one_of(line, "role", ROLES, _required(line, "role"))
        default = "tool_result" if role == "tool" else "turn"
        own_id = _text(line, "id")
        session = _required(line, "session")
        if not session:
            raise InvalidInput("session is empty")
        yield Event(
            assistant=ASSISTANT,
            session=session,
            kind=_one_of(line, "kind", KINDS, _text(line, "kind") or default),
            role=role,
            text=to_bytes(_required(line, "text")),
            host_id=own_id,
            disambiguator=_text(line, "said_at") if own_id is None else None,
            source_id=own_id,
            speaker=_text(line, "speaker"),
            said_at=_said_at(line),
            scope=_text(line, "scope"),
            tool=_text(line, "tool"),
            outcome=_one_of(line, "outcome", OUTCOMES, _text(line, "outcome")),
            files=_files(line),
        )

    def finish(self) -> Iterable[Event]:
        """Nothing is held back."""
        return ()


def _required(line: Json, name: str) -> str:
    value = _text(line, name)
    if value is None:
        raise InvalidInput(f"{name} is missing")
    return value


def _text(line: Json, name: str) -> str | None:
    value = line.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{name} is no string")
    return value


def _one_of(line: Json, name: str, known: tuple[str, ...], value: str | None) -> Any:
    if value is not None and value not in known:
        raise InvalidInput(f"{name} is none of {', '.join(known)}")
    return value


def _said_at(line: Json) -> int | None:
    value = _text(line, "said_at")
    moment = parse_time_us(value)
    if value is not None and moment is None:
        raise InvalidInput("said_at is no ISO 8601 time")
    return moment


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


class TextSource:
    """An opened text file; fulfils `mnemic.actors.protocol.ports.Source`.

    The file is read whole before its first note, so that one that is no UTF-8 leaves nothing behind. What has no name
    (standard input) is known by its content, so that two such texts are two sessions.
    """

    format = "text"

    def __init__(self, session: str | None, raw: RawLines) -> None:
        self._session = session
        self._raw = raw
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        data = self._raw.read()
        try:
            data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise SourceUnreadable(path=self._raw.path, why=f"byte {error.start} is no UTF-8") from None
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
