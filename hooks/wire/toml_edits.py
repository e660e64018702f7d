"""Edits somebody else's TOML file in place: adds and removes whole tables, leaves every other byte.

The text is spliced and read before and after by the standard library, so every other byte stays. tomlkit, which keeps
comments too, counts those before the next table to the table above them: taking ours out would take the user's along.
Above stands `mnemic.hooks.wire.wiring`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mnemic.hooks.wire.json_edits import ParseError

__all__ = ["TomlEditor"]

_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class _Line(msgspec.Struct, frozen=True):
    """A table's head, or a pair of a name and a value, which may run over several lines."""

    start: int
    """Where it starts."""
    end: int
    """Where it ends, before a comment and the line's end."""
    head: tuple[str, ...] | None
    """The table's name, where it is a head."""


class TomlEditor:
    """A text being edited. Each edit changes `text` and reads it anew."""

    def __init__(self, text: str) -> None:
        """Read a text.

        Raises:
            Broken: it is no TOML.
        """
        self.text = text
        """What it is by now."""
        self._eol = "\r\n" if "\r\n" in text else "\n"
        self.parsed = self._read()
        """As Python's own values."""

    def get(self, name: Sequence[str]) -> Any:
        """What is at a name; ``None`` where nothing is."""
        where: Any = self.parsed
        for key in name:
            if not isinstance(where, dict) or key not in where:
                return None
            where = where[key]
        return where

    def merge(self, name: tuple[str, ...], values: dict[str, Any]) -> None:
        """Have pairs in a table, which is added at the end where there is none; its other pairs stay.

        Raises:
            Broken: it is there in a form that cannot be added to.
        """
        there = self.get(name)
        if there is not None and all(there.get(key, ...) == value for key, value in values.items()):
            return
        if there is None:
            lead = self._eol if self.text else ""
            if self.text and not self.text.endswith("\n"):
                lead += self._eol
            pairs = "".join(f"{key} = {_serialize(value)}{self._eol}" for key, value in values.items())
            self._replace_text(f"{self.text}{lead}[{dotted_key(name)}]{self._eol}{pairs}", name)
            return
        for key, value in values.items():
            self._set(name, key, value)

    def remove(self, name: tuple[str, ...]) -> None:
        """Take a table out, and the tables in it; comments between its pairs go along, those around it stay."""
        spans = list(self._spans(name))
        for start, end in reversed(spans):
            behind = self._line_end(end)
            if not self.text[end:behind].strip():
                end = behind  # else a comment stands behind it, which stays
            before = self.text[:start]
            for blank in ("\r\n\r\n", "\n\n"):
                if before.endswith(blank):
                    start -= len(blank) // 2
                    break
            self.text = self.text[:start] + self.text[end:]
        self.parsed = self._read()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _set(self, name: tuple[str, ...], key: str, value: Any) -> None:
        lines = list(self._lines())
        heads = [number for number, line in enumerate(lines) if line.head == name]
        if not heads:
            raise ParseError(f"its {dotted_key(name)} is written inside another table; write it as a table of its own")
        pair = f"{dotted_key((key,))} = {_serialize(value)}"
        last = lines[heads[0]]
        for line in lines[heads[0] + 1 :]:
            if line.head is not None:
                break
            if next(iter(tomllib.loads(self.text[line.start : line.end]))) == key:
                self._replace_text(self.text[: line.start] + pair + self.text[line.end :], name)
                return
            last = line
        at = self._line_end(last.end)
        lead = "" if self.text[:at].endswith("\n") else self._eol
        self._replace_text(f"{self.text[:at]}{lead}{pair}{self._eol}{self.text[at:]}", name)

    def _replace_text(self, text: str, name: tuple[str, ...]) -> None:
        before, self.text = self.text, text
        try:
            self.parsed = self._read()
        except ParseError:
            self.text = before
            why = f"its {dotted_key(name[:-1])} is written in one line; write it as tables"
            raise ParseError(why) from None

    def _read(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text.removeprefix("\ufeff"))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ParseError(str(error) or "it is nested too deeply") from None

    def _spans(self, name: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        """From each head of a table and of those in it to the end of its last pair."""
        span: tuple[int, int] | None = None
        for line in self._lines():
            if line.head is None:
                span = span and (span[0], line.end)
                continue
            if span is not None:
                yield span
            span = (line.start, line.end) if line.head[: len(name)] == name else None
        if span is not None:
            yield span

    def _lines(self) -> Iterator[_Line]:
        at = len(self.text) - len(self.text.removeprefix("\ufeff"))
        while at < len(self.text):
            start = at + len(self.text[at:]) - len(self.text[at:].lstrip())
            if start == len(self.text):
                return
            if self.text[start] == "#":
                at = self._line_end(start)
                continue
            end = self._end(start)
            written = self.text[start:end]
            yield _Line(start, end, _parse_header(tomllib.loads(written)) if written.startswith("[") else None)
            at = self._line_end(end)

    def _end(self, at: int) -> int:
        """Where what starts here ends: at the end of its line, outside of strings and brackets, before a comment."""
        deep, end = 0, at
        while at < len(self.text):
            string = _STRING.match(self.text, at)
            letter = self.text[at]
            if string is not None:
                at = end = string.end()
                continue
            if letter == "\n" and not deep:
                break
            if letter == "#":
                at = self._line_end(at) - 1 if "\n" in self.text[at:] else len(self.text)
                if not deep:
                    break
                continue
            deep += (letter in "[{") - (letter in "]}")
            at += 1
            if not letter.isspace():
                end = at
        return end

    def _line_end(self, at: int) -> int:
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


def dotted_key(name: Sequence[str]) -> str:
    """A name as it is written in TOML."""
    return ".".join(key if _BARE.fullmatch(key) else _serialize(key) for key in name)


def _serialize(value: Any) -> str:
    """A value as TOML: JSON's strings, lists and literals are TOML's too, but for the DEL letter."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse_header(head: dict[str, Any]) -> tuple[str, ...]:
    """The name in a head that was read by itself: one key in the other."""
    name: list[str] = []
    where: Any = head
    while where:
        where = where[0] if isinstance(where, list) else where
        if not where:
            break
        key = next(iter(where))
        name.append(key)
        where = where[key]
    return tuple(name)
