"""Edits somebody else's JSON file in place: comments, order and every other byte stay as they are.

Where an entry goes in or out is found by a tokenizer that keeps positions; the text is spliced there and nothing is
printed anew. A library was not taken: those that keep comments (json-five among them) have one edit a tree and print
the tree, which normalises what a user wrote, and a file of a megabyte takes them seconds.

Reads JSON, with comments and trailing commas where its host does, into a tree that knows where everything stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

__all__ = ["Container", "Entry", "JsonEditor", "ParseError", "read_json", "to_python"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])
    |(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
    |(?P<literal>true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])""",
    re.DOTALL | re.VERBOSE,
)
_MAX_DEPTH = 200


class ParseError(Exception):
    """The text is not what its host reads; says why, and where."""


class Entry(msgspec.Struct):
    """A member of an object or an element of an array."""

    key: str | None
    """Its name; ``None`` in an array."""
    start: int
    """Where it starts: at its key, or at its value."""
    value_start: int
    """Where its value starts."""
    end: int
    """Where its value ends."""
    value: Any
    """A `Container`, or what a scalar stands for."""
    comma: int | None = None
    """Where the comma after it is."""


class Container(msgspec.Struct):
    """An object or an array."""

    start: int
    """Of its opening bracket."""
    end: int
    """Behind its closing one."""
    entries: list[Entry]
    """What is in it, in order."""
    is_array: bool
    """Which of the two."""

    def find(self, key: str) -> Entry | None:
        """The member of a name; of several the last, which is the one that counts."""
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)

    def to_python(self) -> Any:
        """As Python's own values."""
        if self.is_array:
            return [to_python(entry.value) for entry in self.entries]
        return {entry.key: to_python(entry.value) for entry in self.entries}


def to_python(value: Any) -> Any:
    """What a value of the tree stands for, as Python's own values."""
    return value.to_python() if isinstance(value, Container) else value


def read_json(text: str, *, comments: bool, trailing_commas: bool) -> tuple[Container, list[tuple[int, int]]]:
    """The object in a text, and where its comments are.

    Args:
        comments: whether its host reads comments.
        trailing_commas: whether its host reads a comma after the last entry.

    Raises:
        Broken: it is not JSON as its host reads it, or no object.
    """
    reader = _Reader(text, comments, trailing_commas)
    return reader.read_document(), reader.comment_spans


class _Reader:
    """One reading of a text."""

    def __init__(self, text: str, comments: bool, trailing_commas: bool) -> None:
        self.text = text
        self._comments, self._trailing = comments, trailing_commas
        self.comment_spans: list[tuple[int, int]] = []

    def read_document(self) -> Container:
        tokens = self._tokens()
        entry = self._value(next(tokens), tokens, None, 0)
        for kind, start, _ in tokens:
            if kind != "end":
                raise self._broken(start, "something stands behind its end")
        if not isinstance(entry.value, Container) or entry.value.is_array:
            raise ParseError("it holds no object")
        return entry.value

    def _tokens(self) -> Iterator[tuple[str, int, int]]:
        at = len(self.text) - len(self.text.removeprefix("\ufeff"))
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None or found.lastgroup is None:
                raise self._broken(at, "this is no JSON")
            if found.lastgroup == "comment":
                if not self._comments:
                    raise self._broken(at, "there is a comment, which its host does not read")
                self.comment_spans.append(found.span())
            elif found.lastgroup != "space":
                yield found.lastgroup, at, found.end()
            at = found.end()
        yield "end", at, at

    def _value(
        self,
        token: tuple[str, int, int],
        tokens: Iterator[tuple[str, int, int]],
        key: tuple[str, int] | None,
        deep: int,
    ) -> Entry:
        kind, start, end = token
        name, first = key or (None, start)
        if kind in ("string", "literal"):
            return Entry(name, first, start, end, json.loads(self.text[start:end]))
        if kind == "end":
            raise self._broken(start, "it breaks off")
        if self.text[start] not in "{[":
            raise self._broken(start, "a value is missing")
        if deep > _MAX_DEPTH:
            raise self._broken(start, "it is nested too deeply")
        inside = self._container(start, tokens, deep)
        return Entry(name, first, start, inside.end, inside)

    def _container(self, start: int, tokens: Iterator[tuple[str, int, int]], deep: int) -> Container:
        array = self.text[start] == "["
        closing = "]" if array else "}"
        entries: list[Entry] = []
        for kind, at, end in tokens:
            expects = not entries or entries[-1].comma is not None
            if kind == "mark" and self.text[at] == closing:
                if entries and entries[-1].comma is not None and not self._trailing:
                    raise self._broken(at, "there is a comma before it that its host does not read")
                return Container(start, end, entries, array)
            if kind == "mark" and self.text[at] == "," and entries and not expects:
                entries[-1].comma = at
            elif not expects:
                raise self._broken(at, "it breaks off" if kind == "end" else "a comma is missing")
            elif array:
                entries.append(self._value((kind, at, end), tokens, None, deep + 1))
            elif kind != "string":
                raise self._broken(at, "it breaks off" if kind == "end" else "a name in double quotes is missing")
            else:
                _, colon, behind = next(tokens)
                if self.text[colon:behind] != ":":
                    raise self._broken(colon, "a colon is missing")
                named = json.loads(self.text[at:end])
                entries.append(self._value(next(tokens), tokens, (named, at), deep + 1))
        raise self._broken(len(self.text), "it breaks off")

    def _broken(self, at: int, why: str) -> ParseError:
        return ParseError(f"line {self.text.count(chr(10), 0, at) + 1}: {why}")


class JsonEditor:
    """A text being edited. Each edit changes `text` and reads it anew."""

    def __init__(self, text: str, *, comments: bool = False, trailing_commas: bool = False) -> None:
        """Read a text; an empty one stands for an object with nothing in it.

        Args:
            comments: whether its host reads comments.
            trailing_commas: whether its host reads a comma after the last entry.

        Raises:
            Broken: it is not JSON as its host reads it, or no object.
        """
        self._comments, self._trailing = comments, trailing_commas
        self._eol = "\r\n" if "\r\n" in text else "\n"
        self.text = text if text.removeprefix("\ufeff").strip() else text + "{}" + self._eol
        """What it is by now."""
        self._read()

    def get(self, path: Sequence[str]) -> Entry | None:
        """The entry at a path of member names; ``None`` where there is none."""
        entry: Entry | None = None
        where: Any = self.root
        for key in path:
            entry = where.find(key) if isinstance(where, Container) and not where.is_array else None
            if entry is None:
                return None
            where = entry.value
        return entry

    def merge(self, path: Sequence[str], value: Any) -> None:
        """Have a value at a path; of an object that is there, only the members that the new one names are changed.

        Raises:
            Broken: something on the way is no object.
        """
        entry = self.get(path)
        if entry is None:
            inside = self._ensure_object(path[:-1])
            self._insert_last(inside, path[-1], value)
        elif to_python(entry.value) == value:
            return
        elif isinstance(value, dict) and isinstance(entry.value, Container) and not entry.value.is_array:
            for key, one in value.items():
                self.merge((*path, key), one)
        else:
            self.replace(entry, value)

    def append(self, path: Sequence[str], value: Any) -> None:
        """Put a value at the end of the array at a path, which is made where there is none.

        Raises:
            Broken: what is there is no array.
        """
        entry = self.get(path)
        if entry is None:
            self._insert_last(self._ensure_object(path[:-1]), path[-1], [value])
        elif isinstance(entry.value, Container) and entry.value.is_array:
            self._insert_last(entry.value, None, value)
        else:
            raise ParseError(f"its {'.'.join(path)} is no list")

    def add_member(self, container: Container, name: str, value: Any) -> None:
        """Give an object one more member."""
        self._insert_last(container, name, value)

    def replace(self, entry: Entry, value: Any) -> None:
        """Put another value in the place of an entry's."""
        inside = self._line_indent(entry.start)
        self.replace_raw(entry, self._serialize(value, inside, compact="\n" not in self.text.strip()))

    def replace_raw(self, entry: Entry, written: str) -> None:
        """Put a value, written as JSON already, in the place of an entry's."""
        self._splice((entry.value_start, entry.end, written))

    def remove(self, container: Container, entry: Entry) -> None:
        """Take an entry out, its comma with it; comments around it stay."""
        number = container.entries.index(entry)
        before = self._skip_space_back(entry.start)
        behind = entry.end if entry.comma is None else entry.comma + 1
        cuts = [(before, entry.end, "")]
        if self._ends_comment(before) and self.text[behind:].lstrip(" \t")[:1] not in ("\r", "\n"):
            cuts = [(entry.start, entry.end, "")]  # what follows must not become part of the comment
        if entry.comma is not None:
            cuts.append((entry.comma, entry.comma + 1, ""))
        elif number:
            comma = container.entries[number - 1].comma
            assert comma is not None
            cuts.append((comma, comma + 1, ""))
        if len(container.entries) == 1 and not self.text[container.start + 1 : before].strip():
            rest = self.text[entry.end : container.end - 1]
            if not rest.strip(" \t\r\n,"):
                cuts = [(container.start + 1, container.end - 1, "")]
        elif not number and entry.comma is not None and self.text[before : entry.start] == "":
            following = self.text[behind:]
            cuts.append((behind, behind + len(following) - len(following.lstrip(" \t")), ""))
        self._splice(*cuts)

    # --- writing -----------------------------------------------------------------------------------------------------

    def _ensure_object(self, path: Sequence[str]) -> Container:
        """The object at a path, made where there is none."""
        if not path:
            return self.root
        entry = self.get(path)
        if entry is None:
            self._insert_last(self._ensure_object(path[:-1]), path[-1], {})
            entry = self.get(path)
        if entry is None or not isinstance(entry.value, Container) or entry.value.is_array:
            raise ParseError(f"its {'.'.join(path)} is no object")
        return entry.value

    def _insert_last(self, inside: Container, key: str | None, value: Any) -> None:
        whole_in_line = "\n" not in self.text.strip() and bool(self.root.entries)
        in_line = bool(inside.entries) and "\n" not in self.text[inside.start : inside.end]
        compact = whole_in_line or in_line
        indent = self._child_indent(inside)
        written = ("" if key is None else f"{json.dumps(key, ensure_ascii=False)}: ") + self._serialize(
            value, indent, compact=compact
        )
        at = self._skip_space_back(inside.end - 1)
        if not inside.entries:
            if compact:
                self._splice((at, at, written))
                return
            closing = self.text[at : inside.end - 1]
            if "\n" not in closing:
                closing = self._eol + self._line_indent(inside.start)
            self._splice((at, inside.end - 1, self._eol + indent + written + closing))
            return
        last = inside.entries[-1]
        lead = " " if compact else self._eol + indent
        if last.comma is not None:
            self._splice((at, at, f"{lead}{written},"))
        elif at == last.end:
            self._splice((at, at, f",{lead}{written}"))
        else:
            self._splice((last.end, last.end, ","), (at, at, lead + written))

    def _serialize(self, value: Any, indent: str, *, compact: bool) -> str:
        if compact:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self._indent_unit()).replace("\n", self._eol + indent)

    def _indent_unit(self) -> str:
        """By how much one level is indented: as the first line of the file that is."""
        for entry in self.root.entries:
            lead = self._line_indent(entry.start)
            if lead and not self.text[: entry.start].rsplit("\n", 1)[-1].strip():
                return lead
        return "  "

    def _child_indent(self, inside: Container) -> str:
        for entry in inside.entries:
            line = self.text[: entry.start].rsplit("\n", 1)[-1]
            if not line.strip() and "\n" in self.text[inside.start : entry.start]:
                return line
        return self._line_indent(inside.start) + self._indent_unit()

    def _line_indent(self, at: int) -> str:
        """The white space that the line of a position starts with."""
        line = self.text[:at].rsplit("\n", 1)[-1].removeprefix("\ufeff")
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _skip_space_back(self, at: int) -> int:
        """Where what is no white space ends, going back from a position."""
        return len(self.text[:at].rstrip(" \t\r\n"))

    def _ends_comment(self, at: int) -> bool:
        return any(end == at and self.text.startswith("//", start) for start, end in self._comment_spans)

    def _splice(self, *cuts: tuple[int, int, str]) -> None:
        for start, end, written in sorted(cuts, reverse=True):
            self.text = self.text[:start] + written + self.text[end:]
        self._read()

    def _read(self) -> None:
        self.root, self._comment_spans = read_json(self.text, comments=self._comments, trailing_commas=self._trailing)
