"""Edits somebody else's TOML file in place: adds and removes whole tables, leaves every other byte.

A table is added behind all others and found again by its header; the standard library reads the text before and after,
so an edit that would change anything else is refused. tomlkit, which keeps comments too, counts those before the next
table to the table above them: taking ours out would take the user's along. Above stands `mnemic.hooks.wire.edits`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from mnemic.hooks.wire.json_edits import ParseError, value_at

__all__ = ["put_table", "read_toml", "remove_table"]

_HEADER = re.compile(r"^[ \t]*\[.*$", re.MULTILINE)
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(text: str) -> dict[str, Any]:
    """The pairs in a text.

    Raises:
        ParseError: it is no TOML.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ParseError(str(error) or "it is nested too deeply") from None


def put_table(text: str, name: tuple[str, ...], values: dict[str, Any]) -> str:
    """A text whose table of a name has these pairs, and keeps what else is in it.

    Raises:
        ParseError: it is no TOML, or the table is written where none can be put.
    """
    held = value_at(read_toml(text), name)
    if isinstance(held, dict) and held.items() >= values.items():
        return text
    eol = "\r\n" if "\r\n" in text else "\n"
    pairs = "".join(f"{dotted_key((key,))} = {_serialize(value)}{eol}" for key, value in values.items())
    section = next((one for one in _sections(text) if one[0] == name), None)
    if section is not None:
        _, start, end = section
        header, *lines = _LINE.findall(text[start:end])
        others = "".join(line for line in lines if line.partition("=")[0].strip(" \t'\"") not in values)
        header = header if header.endswith("\n") else header + eol
        new = text[:start] + header + pairs + others + text[end:]
    else:
        lead = "" if not text else eol if text.endswith("\n") else eol * 2
        new = f"{text}{lead}[{dotted_key(name)}]{eol}{pairs}"
    return _checked(text, new, name, {**(held if isinstance(held, dict) else {}), **values})


def remove_table(text: str, name: tuple[str, ...]) -> str:
    """A text without a table and those in it; comments between its pairs go along, those around it stay.

    Raises:
        ParseError: it is no TOML, or the table is written inside another.
    """
    new = text
    for found, start, end in reversed(list(_sections(text))):
        if found[: len(name)] == name:
            start -= next((len(eol) for eol in ("\r\n", "\n") if new[:start].endswith(eol * 2)), 0)
            new = new[:start] + new[end:]
    return _checked(text, new, name, None)


def _checked(before: str, after: str, name: tuple[str, ...], wanted: Any) -> str:
    """The new text, if it says what the old one said but for one table."""
    try:
        held = read_toml(after)
    except ParseError:
        held = {}
    if value_at(held, name) == wanted and _without(held, name) == _without(read_toml(before), name):
        return after
    why = f"its {dotted_key(name)} cannot be edited; write it and what is around it as tables of their own"
    raise ParseError(why)


def _without(values: dict[str, Any], name: Sequence[str]) -> dict[str, Any]:
    """Pairs without a table, and without those around it that hold nothing else."""
    head, *rest = name
    inner = values.get(head)
    left = {key: value for key, value in values.items() if key != head}
    kept = _without(inner, rest) if rest and isinstance(inner, dict) else None if not rest else inner
    return left | ({head: kept} if kept not in (None, {}) else {})


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Each table: its name, where its header starts, and where its last pair's line ends."""
    outside = _STRING.sub(lambda found: re.sub(r"[^\n]", "x", found[0]) if "\n" in found[0] else found[0], text)
    found = [(one.start(), _header_name(text[one.start() : one.end()].strip())) for one in _HEADER.finditer(outside)]
    heads = [(start, name) for start, name in found if name]
    for (start, name), (following, _) in zip(heads, [*heads[1:], (len(text), ())], strict=False):
        lines = _LINE.findall(text[start:following])
        while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):
            lines.pop()
        yield name, start, start + len("".join(lines))


def _header_name(line: str) -> tuple[str, ...]:
    """The name in a table's header; an empty one where the line is none."""
    try:
        where: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    name: list[str] = []
    while where and (where := where[0] if isinstance(where, list) else where):
        name += where
        where = where[name[-1]]
    return tuple(name)


def dotted_key(name: Sequence[str]) -> str:
    """A name as it is written in TOML."""
    return ".".join(key if _BARE.fullmatch(key) else _serialize(key) for key in name)


def _serialize(value: Any) -> str:
    """A value as TOML: JSON's strings, lists and literals are TOML's too, but for the DEL letter."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
