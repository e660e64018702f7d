"""Reads and rewrites the texts of somebody else's settings: JSON, JSON with comments, TOML.

JSON is read by the standard library, its comments and trailing commas blanked out, and written anew in the indentation
and the line ends that it had. Comments would be lost by that, so a text that has some is refused. No library is used:
those that edit in place bring a JavaScript engine along.

To TOML whole tables are added, behind all others, and found again by their headers; no other byte changes. The standard
library reads the text before and after, so an edit that would change anything else is refused. tomlkit, which keeps
comments too, counts those before the next table to the table above them: taking ours out would take the user's along.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from mnemic.runtime.files.foreign import parse_toml

MOST_SETTINGS_BYTES = 1 << 24
"""No settings of a host are longer."""
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]\s*,|,(?=\s*[\]}])', re.DOTALL)
_HEADER = re.compile(r"^[ \t]*\[.*$", re.MULTILINE)
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class ParseError(Exception):
    """The text is not what its host reads, or cannot be edited; says why, and where."""


class LossyEdit(ParseError):
    """An edit would lose something of the text, such as a comment."""


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """What is at a path in plain values; ``None`` where nothing is."""
    for key in path:
        inside = key in value if isinstance(value, dict) else isinstance(value, list) and key in range(len(value))
        if not inside:
            return None
        value = value[key]
    return value


def read_json(text: str, *, comments: bool = False, trailing_commas: bool = False) -> dict[str, Any]:
    """The object in a text; an empty text stands for one with nothing in it.

    Args:
        comments: whether its host reads comments.
        trailing_commas: whether its host reads a comma after the last entry.

    Raises:
        LossyEdit: it has a comment, which its host does not read.
        ParseError: it is not JSON as its host reads it, or no object.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return {}
    if comments:
        text = _COMMENT.sub(lambda found: _blank(found[0]) if found[0][0] == "/" else found[0], text)
    if trailing_commas:
        text = _TRAILING_COMMA.sub(lambda found: " " if found[0] == "," else found[0], text)
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        if not comments and (why := _comment_fault(text)):
            read_json(text, comments=True, trailing_commas=trailing_commas)  # a fault of another kind goes first
            raise LossyEdit(why) from None
        raise ParseError(str(error)) from None
    if not isinstance(value, dict):
        raise ParseError("it holds no object")
    return value


def rewrite_json(text: str, value: dict[str, Any], *, comments: bool = False) -> str:
    """What says a value in the layout of a text, which is JSON.

    Raises:
        LossyEdit: it has comments, or holds what only some programs write.
    """
    if comments and (why := _comment_fault(text)):
        raise LossyEdit(why)
    mark, plain = ("\ufeff" if text.startswith("\ufeff") else ""), text.removeprefix("\ufeff")
    indent = re.search(r"\n([ \t]+)\S", text)
    on_lines = "\n" in plain.strip() or plain.strip("{} \t\r\n") == ""
    unit = (indent[1] if indent else "  ") if on_lines else None
    separators = (",", ": ") if on_lines else (", ", ": ") if '": ' in text else (",", ":")
    try:
        written = json.dumps(value, ensure_ascii=False, indent=unit, separators=separators, allow_nan=False)
        written.encode("utf-8")
    except (ValueError, RecursionError) as error:  # a number or half a character that only some programs write
        raise LossyEdit(str(error)) from None
    ending = text[len(text.rstrip()) :] if plain else "\n"
    return mark + (written + ending.replace("\r\n", "\n")).replace("\n", "\r\n" if "\r\n" in text else "\n")


def _comment_fault(text: str) -> str | None:
    """Why a text that has a comment is not edited, and what to do; ``None`` where it has none."""
    first = next((found.start() for found in _COMMENT.finditer(text) if found[0][0] == "/"), None)
    if first is None:
        return None
    line = text.count("\n", 0, first) + 1
    return f"line {line} has a comment, which an edit would lose: take it out"


def _blank(comment: str) -> str:
    return re.sub(r"[^\r\n]", " ", comment)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def read_toml(text: str) -> dict[str, Any]:
    """The pairs in a text.

    Raises:
        ParseError: it is no TOML.
    """
    try:
        return parse_toml(text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise ParseError(str(error)) from None


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
        where: Any = parse_toml(line.encode())
    except ValueError:
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
