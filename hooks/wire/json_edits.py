"""Edits somebody else's JSON file in place: comments, order and every other byte stay as they are.

The standard library reads the text, its comments and trailing commas blanked out, and so tells where each value starts
and ends; the text is spliced there and nothing is printed anew. No library is used: those that edit in place bring a
JavaScript engine along, and the others print the whole tree, which normalises what a user wrote. Above stands
`mnemic.hooks.wire.edits`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

__all__ = ["JsonEditor", "ParseError"]

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]\s*,|,(?=\s*[\]}])', re.DOTALL)
_SPACE = " \t\r\n"


class ParseError(Exception):
    """The text is not what its host reads; says why, and where."""


class _Entry(msgspec.Struct, frozen=True):
    """A member of an object or an element of an array: its name or number, and where it stands."""

    key: str | int
    start: int
    value_start: int
    end: int
    comma: int | None
    """Where the comma after it is."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class JsonEditor:
    """A text being edited. Each edit changes `text` and reads it anew. Paths hold names, and numbers in arrays."""

    def __init__(self, text: str, *, comments: bool = False, trailing_commas: bool = False) -> None:
        """Read a text; an empty one stands for an object with nothing in it.

        Args:
            comments: whether its host reads comments.
            trailing_commas: whether its host reads a comma after the last entry.

        Raises:
            ParseError: it is not JSON as its host reads it, or no object.
        """
        self._comments, self._trailing = comments, trailing_commas
        self._eol = "\r\n" if "\r\n" in text else "\n"
        self.text = text if text.removeprefix("\ufeff").strip() else text + "{}" + self._eol
        """What it is by now."""
        self.value: dict[str, Any] = {}
        """As Python's own values."""
        self._read()

    def get(self, path: Sequence[str | int]) -> Any:
        """The value at a path; ``None`` where there is none."""
        return value_at(self.value, path)

    def text_at(self, path: Sequence[str | int]) -> str | None:
        """The value at a path, as it is written."""
        entry = self._find(path)
        return None if entry is None else self.text[entry.value_start : entry.end]

    def set(self, path: Sequence[str | int], value: Any, written: str | None = None) -> None:
        """Have a value at a path; objects on the way are made.

        Args:
            written: the value as it is to be written, in the place of another.

        Raises:
            ParseError: something on the way is no object.
        """
        entry = self._find(path)
        if entry is None:
            self._insert(self._open(path[:-1], {}), path[-1], value)
        elif self.get(path) != value:
            one_line = "\n" not in self.text[entry.value_start : entry.end]
            written = written or self._dumps(value, self._line_indent(entry.start), one_line)
            self._splice((entry.value_start, entry.end, written))

    def append(self, path: Sequence[str | int], value: Any) -> None:
        """Put a value at the end of the array at a path, which is made where there is none.

        Raises:
            ParseError: what is there is no array.
        """
        self._insert(self._open(path, []), None, value)

    def remove(self, path: Sequence[str | int]) -> None:
        """Take the entry at a path out, its comma with it; comments around it stay."""
        start = self._open(path[:-1], {} if isinstance(path[-1], str) else [])
        entries, close = self._entries(start)
        number = max(number for number, entry in enumerate(entries) if entry.key == path[-1])
        entry = entries[number]
        if not (self.text[start + 1 : entry.start] + self.text[entry.end : close]).strip(f"{_SPACE},"):
            self._splice((start + 1, close, ""))
            return
        before = len(self.text[: entry.start].rstrip(_SPACE))
        behind = self.text[entry.end if entry.comma is None else entry.comma + 1 :].lstrip(" \t")
        if before in self._line_comments and behind[:1] not in ("\r", "\n"):
            before = entry.start  # what follows must not become part of the comment that ends there
        comma = entry.comma if entry.comma is not None else entries[number - 1].comma if number else None
        self._splice((before, entry.end, ""), *([] if comma is None else [(comma, comma + 1, "")]))

    # --- reading -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        self._line_comments: set[int] = set()

        def blank(found: re.Match[str]) -> str:
            if found[0].startswith("//"):
                self._line_comments.add(found.end())
            return found[0] if found[0][0] != "/" else re.sub(r"[^\r\n]", " ", found[0])

        text = f" {self.text[1:]}" if self.text.startswith("\ufeff") else self.text
        self._bare = _COMMENT.sub(blank, text) if self._comments else text
        self._blank = self._bare
        if self._trailing:
            self._blank = _TRAILING_COMMA.sub(lambda found: " " if found[0] == "," else found[0], self._bare)
        try:
            self.value = json.loads(self._blank, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise ParseError(str(error)) from None
        if not isinstance(self.value, dict):
            raise ParseError("it holds no object")

    def _entries(self, start: int) -> tuple[list[_Entry], int]:
        """What is in the object or array whose bracket is at a position, and where its closing bracket is."""
        found: list[_Entry] = []
        at = self._skip(self._blank, start + 1)
        while self._blank[at] not in "]}":
            first, key = at, len(found)
            if self._blank[start] == "{":
                key, at = _DECODER.raw_decode(self._blank, at)
                at = self._skip(self._blank, self._skip(self._blank, at) + 1)
            _, end = _DECODER.raw_decode(self._blank, at)
            behind = self._skip(self._bare, end)
            found.append(_Entry(key, first, at, end, behind if self._bare[behind] == "," else None))
            after = self._skip(self._blank, end)
            at = self._skip(self._blank, after + 1) if self._blank[after] == "," else after
        return found, at

    def _skip(self, text: str, at: int) -> int:
        while text[at] in _SPACE:
            at += 1
        return at

    def _find(self, path: Sequence[str | int]) -> _Entry | None:
        """The entry at a path; of a name that is there twice the last one, which counts."""
        entry, start = None, self._skip(self._blank, 0)
        for key in path:
            if self._blank[start] not in "[{":
                return None
            entry = next((one for one in reversed(self._entries(start)[0]) if one.key == key), None)
            if entry is None:
                return None
            start = entry.value_start
        return entry

    # --- writing -----------------------------------------------------------------------------------------------------

    def _open(self, path: Sequence[str | int], empty: Any) -> int:
        """Where the object or array at a path starts, made where there is none."""
        if not path:
            return self._skip(self._blank, 0)
        if self._find(path) is None:
            self._insert(self._open(path[:-1], {}), path[-1], empty)
        entry = self._find(path)
        if entry is None or type(self.get(path)) is not type(empty):
            kind = "list" if isinstance(empty, list) else "object"
            raise ParseError(f"its {'.'.join(map(str, path))} is no {kind}")
        return entry.value_start

    def _insert(self, start: int, key: str | int | None, value: Any) -> None:
        """Put one more entry at the end of an object or array, written like those around it."""
        entries, close = self._entries(start)
        one_line = "\n" not in (self.text[start:close] if entries else self.text.strip()) and self.value != {}
        lines = (self.text[: one.start].rpartition("\n")[2] for one in entries if "\n" in self.text[start : one.start])
        indent = next((line for line in lines if not line.strip()), self._line_indent(start) + self._indent_unit())
        written = "" if not isinstance(key, str) else f"{json.dumps(key, ensure_ascii=False)}: "
        written = ("" if one_line else self._eol + indent) + written + self._dumps(value, indent, one_line)
        at = len(self.text[:close].rstrip(_SPACE))
        if not entries:
            ending = "" if one_line or "\n" in self.text[at:close] else self._eol + self._line_indent(start)
            self._splice((at, close, written + (ending or self.text[at:close])))
            return
        written = f" {written}" if one_line else written
        if entries[-1].comma is not None:
            self._splice((at, at, f"{written},"))
        elif at == entries[-1].end:
            self._splice((at, at, f",{written}"))
        else:
            self._splice((entries[-1].end, entries[-1].end, ","), (at, at, written))

    def _dumps(self, value: Any, indent: str, one_line: bool) -> str:
        if one_line:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self._indent_unit()).replace("\n", self._eol + indent)

    def _indent_unit(self) -> str:
        """By how much one level is indented: as the first line of the file that is."""
        found = re.search(r"\n([ \t]+)[^\s*]", self.text)
        return found[1] if found else "  "

    def _line_indent(self, at: int) -> str:
        """The white space that the line of a position starts with."""
        line = self.text[:at].rpartition("\n")[2].removeprefix("\ufeff")
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _splice(self, *cuts: tuple[int, int, str]) -> None:
        text = self.text
        for start, end, written in sorted(cuts, reverse=True):
            text = text[:start] + written + text[end:]
        self.text = text
        self._read()


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """What is at a path in plain values; ``None`` where nothing is."""
    for key in path:
        inside = key in value if isinstance(value, dict) else isinstance(value, list) and key in range(len(value))
        if not inside:
            return None
        value = value[key]
    return value
