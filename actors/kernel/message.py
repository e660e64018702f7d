"""What every message is: how a request names its answer, how its fields are explained, how it is JSON.

Inside, an id is 16 bytes, a time is microseconds since 1970 UTC, and a text is UTF-8 with surrogates passed through; a
field says which it is by its type (`Id`, `Time`, `Text`). In JSON, the same in every face, ids are UUIDs, times ISO
8601 and texts text; bytes that are none of them are base64. The envelope carries id, trace, deadline and the time, so
that no actor reads a clock. Above stand the messages of each room (`mnemic.actors.recall.messages` and
others), the wire and the faces.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import inspect
import re
import sys
import textwrap
import types
import uuid
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import pairwise
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

from mnemic.actors.kernel.errors import InvalidValue, NoSuchMemory
from mnemic.actors.kernel.events import escape_surrogates, to_bytes, to_text
from mnemic.actors.kernel.times import UTC_ZONE, Zone, day_end, local_day, parse_time, to_iso
from mnemic.actors.kernel.typed import convert

Id = Annotated[bytes, "id"]
"""A memory's id."""
MemoryId = bytes | uuid.UUID | str
"""A memory's id as the Python API takes it: 16 bytes, a UUID, or the text of one."""
Time = Annotated[int, "time"]
"""Microseconds since 1970 UTC."""
Text = Annotated[bytes, "text"]
"""UTF-8 with ``surrogatepass``."""

_NOT_CARRIED = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf]")
"""Two halves of a surrogate pair, kept as two: JSON's readers make one character of them."""
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d")
_BEYOND_CALENDAR = re.compile(r"-?\d{17,19}")
_ID_EXPECTED = "16 bytes, a uuid.UUID or its text"
_Convert = Callable[[Any], Any]

AnswerT = TypeVar("AnswerT")
_FoundT_co = TypeVar("_FoundT_co", covariant=True)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A payload: a request, its answer, an event, or a part of one."""


class ChangeBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="change", omit_defaults=True):
    """One write operation on the store, told from others by its tag; `mnemic.actors.kernel.changes` lists them."""


class MemoryText(Message, frozen=True, kw_only=True):
    """A memory, or a part of one, as an answer gives it."""

    id: Id
    """UUIDv7."""
    data: Text = msgspec.field(name="text")
    """Verbatim, UTF-8: whole, its start, or the best stretch of a long one."""

    @property
    def text(self) -> str:
        """The same as text; a lone surrogate comes back as one."""
        return to_text(self.data)


class MemoryExcerpt(MemoryText, frozen=True, kw_only=True):
    """A memory as it is listed: enough of it to see which one it is."""

    size_bytes: int
    """Length of the whole; equal to ``len(data)`` where it is given whole."""
    kind: str
    """What it is."""
    role: str
    """Who it comes from."""
    scope: str
    """The scope's path."""


class Request(Message, Generic[AnswerT], frozen=True, kw_only=True):
    """What is asked of the one actor that takes it; answered with the type that it is declared with."""


class Verb(Request[AnswerT], frozen=True, kw_only=True):
    """A request that the faces may make too: its fields are the verb's parameters, and its docstrings the help.

    The HTTP API answers it under its name, the client carries it to the home's process, and what the Python method, the
    command and the MCP tool of the verb offer is built from it or held against it.
    """


class Query(msgspec.Struct, Generic[_FoundT_co], frozen=True):
    """What is asked of a snapshot, declared with the type of its answer; its handler stands beside the table."""


def answer_type(kind: type[Request[Any]]) -> type[msgspec.Struct]:
    """The type of a request's answer, as it is declared: ``class Count(Verb["Counts"])``."""
    (named,) = get_args(kind.__orig_bases__[0])  # type: ignore[attr-defined]
    answer = named if isinstance(named, type) else getattr(sys.modules[kind.__module__], named.__forward_arg__)
    assert isinstance(answer, type)
    return answer


@cache
def field_help(kind: type[msgspec.Struct]) -> dict[str, str]:
    """What the string after each field of a message says, in one line; read from the source, so not in a hot path."""
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(declared, ast.ClassDef)
    return {
        part.target.id: " ".join(str(said.value.value).replace("``", "").split())
        for part, said in pairwise(declared.body)
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant)
    }


def format_id(memory: bytes | None) -> str | None:
    """An id as people and programs write it."""
    return None if memory is None else str(uuid.UUID(bytes=memory))


def parse_id(text: str) -> bytes:
    """Read an id.

    Raises:
        NoSuchMemory: it is no id at all.
    """
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        raise NoSuchMemory(id=text) from None


def id_bytes(given: MemoryId) -> bytes:
    """A memory's id as a program gives it.

    Raises:
        InvalidValue: it is neither 16 bytes nor a UUID nor the text of one.
    """
    try:
        if isinstance(given, uuid.UUID):
            return given.bytes
        return (uuid.UUID(bytes=given) if isinstance(given, bytes) else uuid.UUID(given)).bytes
    except (ValueError, TypeError, AttributeError):  # by programs, it may be anything
        raise InvalidValue(
            name="a memory's id", value=safe_operand(given), why="it is no UUID", expected=_ID_EXPECTED
        ) from None


def ids_bytes(given: Iterable[MemoryId]) -> tuple[bytes, ...]:
    """Ids of memories as a program gives them; one alone is no list of them.

    Raises:
        InvalidValue: one is none, or these are no ids.
    """
    if isinstance(given, str | bytes | uuid.UUID) or not isinstance(given, Iterable):
        raise InvalidValue(
            name="the ids", value=safe_operand(given), why="it is no list", expected=f"a list, each {_ID_EXPECTED}"
        )
    return tuple(map(id_bytes, given))


def to_json(struct: msgspec.Struct, *, strict: bool = False, exact: bool = False) -> dict[str, Any]:
    """A message as builtin values that JSON carries, by its fields' names.

    Args:
        strict: whether the encoder refuses a lone surrogate: then a text that has one is written out, and ``escaped``
            beside it says so.
        exact: whether a text that would not come back byte for byte is written as ``{"base64": …}``.
    """
    view: dict[str, Any] = (_exact_writer if exact else _writer)(type(struct))(struct)
    return _escaped(view) if strict else view


def from_json(kind: type[msgspec.Struct], value: dict[str, Any], zone: Zone = UTC_ZONE) -> dict[str, Any]:
    """What `msgspec.convert` takes for a message's fields, of what `to_json` gives or a program writes.

    Where `since` and `until` name the same day, they mean all of it.

    Args:
        zone: that a time without an offset is in; none of `to_json` is.

    Raises:
        NoSuchMemory, BadTime, InvalidValue: an id or a time is none.
    """
    read: dict[str, Any] = _reader(kind, zone)(value)
    day, until = value.get("until"), read.get("until")
    if isinstance(day, str) and isinstance(until, int) and _DAY.fullmatch(day.strip()) and read.get("since") == until:
        read["until"] = day_end(local_day(until, zone), zone)
    return read


def _write_time(at: int) -> str | None:
    return to_iso(at)


def _read_time(given: Any, zone: Zone) -> int:
    if not isinstance(given, str):
        expected = "ISO 8601, such as 2026-11-21T14:05:00Z"
        raise InvalidValue(name="a time", value=repr(given)[:40], why="it is no text", expected=expected)
    return int(given) if _BEYOND_CALENDAR.fullmatch(given) else parse_time(given, zone)


def _write_exactly(text: bytes) -> str | dict[str, str]:
    return {"base64": base64.b64encode(text).decode()} if _NOT_CARRIED.search(text) else to_text(text)


def _read_text(given: Any) -> Any:
    if isinstance(given, dict) and given.keys() == {"base64"}:
        return convert(given["base64"], bytes)
    return to_bytes(given) if isinstance(given, str) else given


_WRITERS: dict[str, _Convert] = {"id": format_id, "time": _write_time, "text": to_text}
_READERS: dict[str, _Convert] = {
    "id": lambda given: parse_id(given) if isinstance(given, str) else given,
    "text": _read_text,
}


@cache
def _writer(hint: Any) -> _Convert:
    """What writes values of a type."""
    return _converter(hint, _WRITERS, _writer, getattr) or msgspec.to_builtins


@cache
def _exact_writer(hint: Any) -> _Convert:
    """What writes values of a type so that reading gives the same bytes."""
    return _converter(hint, _WRITERS | {"text": _write_exactly}, _exact_writer, getattr) or msgspec.to_builtins


@cache
def _reader(hint: Any, zone: Zone) -> _Convert:
    """What reads values of a type; what does not fit is left to `msgspec.convert`, which says so."""
    marks = _READERS | {"time": partial(_read_time, zone=zone)}
    return _converter(hint, marks, partial(_reader, zone=zone), None) or _unchanged


def _unchanged(value: Any) -> Any:
    return value


def _converter(
    hint: Any, marks: dict[str, _Convert], nested: Callable[[Any], _Convert], get: Callable[[Any, str], Any] | None
) -> _Convert | None:
    """What converts values of a type; ``None`` where `msgspec` does.

    Args:
        get: takes a field out of a struct; where absent, structs are mappings.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return next((marks[mark] for mark in parts[1:] if isinstance(mark, str)), None) or nested(parts[0])
    if origin in (Union, types.UnionType):
        some = [part for part in parts if part is not type(None)]
        if len(some) > 1:
            return None
        inner = nested(some[0])
        return lambda value: None if value is None else inner(value)
    if origin is tuple and parts[-1] is Ellipsis:
        item = nested(parts[0])
        return lambda value: [item(one) for one in value] if isinstance(value, list | tuple) else value
    config = getattr(hint, "__struct_config__", None)
    if config is None:
        return None
    fields = [(field.name, field.encode_name, nested(field.type)) for field in msgspec.structs.fields(hint)]
    if config.array_like:
        if get is not None:
            return lambda value: [convert(get(value, name)) for name, _, convert in fields]
        return lambda value: (
            [convert(one) for (_, _, convert), one in zip(fields, value, strict=False)]
            if isinstance(value, list)
            else value
        )
    if get is not None:
        tag = {} if config.tag is None else {config.tag_field: config.tag}
        return lambda value: tag | {encoded: convert(get(value, name)) for name, encoded, convert in fields}
    converters = {encoded: convert for _, encoded, convert in fields}
    return lambda value: (
        {name: converters.get(name, _unchanged)(one) for name, one in value.items()}
        if isinstance(value, dict)
        else value
    )


def _escaped(value: Any) -> Any:
    """Values whose lone surrogates are written out."""
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, list):
        return [_escaped(one) for one in value]
    if not isinstance(value, dict):
        return value
    written = {name: _escaped(one) for name, one in value.items()}
    return written | ({"escaped": True} if written.get("text") != value.get("text") else {})


def safe_operand(given: Any) -> Any:
    """What was given, as an error may tell it in another process too."""
    return given if given is None or isinstance(given, str | int | float) else repr(given)


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What travels: a message and everything about it that is not its content."""

    id: str
    """Unique within the run of the process."""
    trace: str
    """Shared by everything that one request sets off."""
    now: int
    """World time at the face, microseconds since 1970 UTC."""
    deadline: float | None
    """Monotonic seconds after which nobody waits for the answer; ``None`` for what is told, not asked."""
    message: Any
    """The payload."""


def idempotency_key(verb: str, trace: str, *what: bytes) -> bytes:
    """The idempotency key of one thing that a request asks for: the request's trace, and what it is.

    A request that is sent again has the same keys, so that twice is once; two things under one trace have two.

    Args:
        what: whatever tells it from others under the same trace, and is the same when the request comes again.
    """
    digest = hashlib.sha256()
    for part in what:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return f"{verb}/{trace}/".encode("utf-8", "surrogatepass") + digest.digest()
