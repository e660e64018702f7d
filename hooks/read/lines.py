"""Shared reader of JSON Lines files: survives torn, foreign and huge lines; base of the line readers.

`LineSource` turns bytes into objects and objects into events. Whatever a line holds, reading goes on: a line that
cannot be used, or at which a reader fails, becomes `MalformedLine`, with a reason that quotes nothing of it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Protocol

from mnemic.actors.kernel.contract import raise_location
from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, Kind, MalformedLine, Role, SourceItem, UnknownFields, to_bytes
from mnemic.actors.kernel.times import WrittenTime, read_time
from mnemic.hooks.read.own_calls import call_share
from mnemic.runtime.files.foreign import MOST_LINE_BYTES

_log = logging.getLogger("mnemic.capture")

Json = dict[str, Any]
"""A parsed line."""

BOM = b"\xef\xbb\xbf"
_PADDING = b"\0 \t\r\n\v\f"
"""What may stand around a record: white space, and the NULs that a file system puts where a machine went down."""
_CHUNK_BYTES = 1 << 20
FILE_ARGUMENTS = ("file_path", "absolute_path", "filePath", "notebook_path", "path", "target_file")


class InvalidInput(ValueError):
    """A line that cannot be used; its message says why, without its text."""


class LineReader(Protocol):
    """One host's lines. It may remember earlier lines (who called which tool); it does no I/O."""

    def read(self, line: Json) -> Iterable[Event | UnknownFields]:
        """Events of one line, in order. Raises `InvalidInput` for a line that should have held one and doesn't."""

    def finish(self) -> Iterable[Event]:
        """Events held back until the end is known."""


class EventFactory:
    """Makes the events of one line, or of one record of a hook: what they share is given to it once."""

    def __init__(self, **shared: Any) -> None:
        self._shared = shared

    def __call__(self, kind: Kind, role: Role, text: str, **more: Any) -> Event:
        """One event; `more` are further fields of it."""
        return Event(kind=kind, role=role, text=to_bytes(text), **(self._shared | more))


class RawLines:
    """The raw lines of a stream: those already looked at (to tell the format), then the rest."""

    def __init__(self, path: str, stream: BinaryIO, size_bytes: int | None, changed_at: int | None = None) -> None:
        """Read nothing yet.

        Args:
            changed_at: when the file was written, microseconds since 1970 UTC, where it is one and that matters.
        """
        self.path = path
        self.size_bytes = size_bytes
        self.changed_at = changed_at
        self._stream = stream
        self.peeked: list[bytes] = []
        """Lines looked at and not yet given."""

    def peek(self, limit_bytes: int) -> Iterator[bytes]:
        """Look at lines from the start, up to about `limit_bytes`, always at least one; `__iter__` gives them again."""
        seen = 0
        while seen < limit_bytes and (line := self._readline()):
            self.peeked.append(line)
            seen += len(line)
            yield line

    def __iter__(self) -> Iterator[bytes]:
        ahead, self.peeked = self.peeked, []
        yield from ahead
        while line := self._readline():
            yield line

    def read(self) -> bytes:
        """All of it at once, for what is no lines.

        Raises:
            SourceUnreadable: it cannot be read, or is longer than `MOST_LINE_BYTES`.
        """
        data = bytearray().join(self.peeked)
        self.peeked = []
        try:
            while len(data) <= MOST_LINE_BYTES and (chunk := self._stream.read(_CHUNK_BYTES)):
                data += chunk
        except OSError as error:
            raise SourceUnreadable(path=self.path, why=error.strerror or type(error).__name__) from error
        if len(data) > MOST_LINE_BYTES:
            raise SourceUnreadable(path=self.path, why=f"it is longer than {MOST_LINE_BYTES:,} bytes")
        return bytes(data)

    def _readline(self) -> bytes:
        try:
            line = self._stream.readline(MOST_LINE_BYTES)
        except OSError as error:
            raise SourceUnreadable(path=self.path, why=error.strerror or type(error).__name__) from error
        if len(line) == MOST_LINE_BYTES:
            raise SourceUnreadable(path=self.path, why=f"a line of it is longer than {MOST_LINE_BYTES:,} bytes")
        return line

    def close(self) -> None:
        """Close the stream; standard input is not ours to close."""
        if self.path != "-":
            self._stream.close()


class LineSource:
    """An opened transcript of lines; fulfils `mnemic.actors.kernel.ports.Source`. It is read once, from start to
    end.
    """

    def __init__(self, format: str, raw: RawLines, reader: LineReader) -> None:
        self.format = format
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0
        self._raw = raw
        self._reader = reader

    def __iter__(self) -> Iterator[SourceItem]:
        number = 0
        for number, raw in enumerate(self._raw, 1):
            read = self.position_bytes + len(raw)
            self.position_bytes = read if self.size_bytes is None else min(read, self.size_bytes)  # it may be packed
            try:
                line = parse(raw)
                if line is not None:
                    yield from self._reader.read(line)
            except Exception as error:  # whatever it is about this line, the others are kept
                yield malformed_line(number, error)
        try:
            yield from self._reader.finish()
        except Exception as error:  # likewise
            yield malformed_line(number, error)

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def malformed_line(number: int, error: Exception) -> MalformedLine:
    """A line, or a message, of which events could not be made; a defect of ours is logged, without its words."""
    if isinstance(error, InvalidInput):
        return MalformedLine(line=number, why=str(error))
    _log.error("a line of a transcript failed: %s at %s", type(error).__name__, raise_location(error))
    return MalformedLine(line=number, why=f"reading it failed ({type(error).__name__})")


def without_padding(raw: bytes) -> bytes:
    """A line without what stands around its record: white space, NULs and a byte order mark."""
    return raw.strip(_PADDING).removeprefix(BOM).strip(_PADDING)


def parse(raw: bytes) -> Json | None:
    """Parse one raw line; ``None`` for a blank one. Raises `InvalidInput`.

    The standard library's parser, because others refuse the lone surrogates that transcripts hold.
    """
    record = without_padding(raw)
    if not record:
        return None
    value = parse_json(record, torn="" if raw.endswith(b"\n") else " (the last line, perhaps still being written)")
    if not isinstance(value, dict):
        raise InvalidInput("not a JSON object")
    return value


def parse_json(data: bytes, torn: str = "") -> Any:
    """The value that bytes are in JSON. Raises `InvalidInput`, which says `torn` where they may lack their end."""
    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        raise InvalidInput(f"not UTF-8{torn}") from None
    except json.JSONDecodeError as error:
        what = error.msg.rstrip(": ").removesuffix(" at")  # some of its messages end in a preposition of their own
        raise InvalidInput(f"not JSON: {what} at character {error.pos}{torn}") from None
    except RecursionError:
        raise InvalidInput("not JSON that can be read: nested too deeply") from None
    except ValueError:  # a number of more digits than Python converts
        raise InvalidInput("not JSON that can be read: a number is too long") from None
    return value


def is_json_document(data: bytes) -> bool:
    """Whether it is nothing but JSON objects and lists, one or several: nothing that a person wrote as a text."""
    decode, at = json.JSONDecoder().raw_decode, 0
    try:
        text = data.decode("utf-8", "surrogatepass").removeprefix("\ufeff").strip()
        while at < len(text):
            if text[at] not in "[{":
                return False
            _, at = decode(text, at)
            at += len(text) - at - len(text[at:].lstrip())
    except RecursionError:  # nobody writes so many brackets
        return True
    except ValueError:
        return False
    return at > 0


def parse_time_us(value: object) -> int | None:
    """A host's ISO 8601 as microseconds since 1970 UTC, by which hosts stamp; ``None`` where it is no time."""
    written = parse_written_time(value)
    return None if written is None else written.at


def parse_written_time(value: object) -> WrittenTime | None:
    """ISO 8601 as a person or another program wrote it; ``None`` where it is no time."""
    if not isinstance(value, str):
        return None
    try:
        return read_time(value)
    except (ValueError, OverflowError):
        return None


def time_fields(written: WrittenTime | None) -> Json:
    """The fields of an `Event` that tell when it was said: local where no offset was written."""
    if written is None:
        return {}
    return {"said_at": written.at, "utc_offset_min": written.utc_offset_min, "is_local": written.is_local}


def nonblank_text(value: object) -> str | None:
    """The value if it is a text that says something."""
    return value if isinstance(value, str) and value.strip() else None


def render_call(tool: str, arguments: object) -> str:
    """A tool call as text: the tool's name, then one argument after another.

    Strings stand as they are, so that their words are found and read; everything else is JSON. Nothing is left out.
    """
    if not isinstance(arguments, dict):
        return f"{tool}\n{_render_value(arguments)}" if arguments is not None else tool
    return "\n".join([tool, *(f"{name}: {_render_value(value)}" for name, value in arguments.items())])


def _render_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def call_events(
    make: EventFactory, tool: str, arguments: object, result: str | None, failed: bool, **ids: Any
) -> Iterator[Event]:
    """A tool call and, where it is there, its result, under the host's ids of it.

    Nothing where the call is this memory's own: taken in, recall would find its own echo.
    """
    share = call_share(tool, arguments)
    if share is None:
        return
    common: dict[str, Any] = {"tool": tool, "files": argument_files(arguments), **ids}
    yield make("tool_call", "assistant", render_call(tool, share.arguments), **common)
    if result is not None and (kept := share.result(result)) is not None:
        yield make("tool_result", "tool", kept, outcome="failed" if failed else "ok", **common)


def argument_files(arguments: object) -> tuple[str, ...]:
    """The files that a call's arguments name, in any host's words."""
    if not isinstance(arguments, dict):
        return ()
    return tuple(value for name in FILE_ARGUMENTS if (value := nonblank_text(arguments.get(name))))
