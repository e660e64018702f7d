"""Reads JSON, with comments and trailing commas where its host does, into a tree that knows where everything stands.

Below `mnemic.hooks.json_edits`, which splices the text at these positions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = ["Broken", "Container", "Entry", "plain", "read_json"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])
    |(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
    |(?P<literal>true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])""",
    re.DOTALL | re.VERBOSE,
)
_DEEPEST = 200


class Broken(Exception):
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
    array: bool
    """Which of the two."""

    def find(self, key: str) -> Entry | None:
        """The member of a name; of several the last, which is the one that counts."""
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)

    def plain(self) -> Any:
        """As Python's own values."""
        if self.array:
            return [plain(entry.value) for entry in self.entries]
        return {entry.key: plain(entry.value) for entry in self.entries}


def plain(value: Any) -> Any:
    """What a value of the tree stands for, as Python's own values."""
    return value.plain() if isinstance(value, Container) else value


def read_json(text: str, *, comments: bool, trailing_commas: bool) -> tuple[Container, list[tuple[int, int]]]:
    """The object in a text, and where its comments are.

    Args:
        comments: whether its host reads comments.
        trailing_commas: whether its host reads a comma after the last entry.

    Raises:
        Broken: it is not JSON as its host reads it, or no object.
    """
    reader = _Reader(text, comments, trailing_commas)
    return reader.whole(), reader.comment_spans


class _Reader:
    """One reading of a text."""

    def __init__(self, text: str, comments: bool, trailing_commas: bool) -> None:
        self.text = text
        self._comments, self._trailing = comments, trailing_commas
        self.comment_spans: list[tuple[int, int]] = []

    def whole(self) -> Container:
        tokens = self._tokens()
        entry = self._value(next(tokens), tokens, None, 0)
        for kind, start, _ in tokens:
            if kind != "end":
                raise self._broken(start, "something stands behind its end")
        if not isinstance(entry.value, Container) or entry.value.array:
            raise Broken("it holds no object")
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
        if deep > _DEEPEST:
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

    def _broken(self, at: int, why: str) -> Broken:
        return Broken(f"line {self.text.count(chr(10), 0, at) + 1}: {why}")
