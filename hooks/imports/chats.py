"""Reads the data exports of chat programs: recognises whose one is, and takes its conversations one after another.

What a conversation holds is read by `mnemic.hooks.imports.chatgpt` and `mnemic.hooks.imports.claude_export`; where the
files lie is known by `mnemic.hooks.imports.archive`. One conversation is held at a time, and whatever is wrong with
one, or with one message of it, the others are kept.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import MalformedLine, SourceItem
from mnemic.hooks.imports.archive import Export, Part, beginning, open_export
from mnemic.hooks.imports.chat_events import ChatFormat, ReadValue
from mnemic.hooks.imports.chatgpt import CHATGPT
from mnemic.hooks.imports.claude_export import CLAUDE
from mnemic.hooks.imports.json_values import chunks, has_key, values
from mnemic.hooks.read.lines import InvalidInput, malformed_line, parse

CHAT_FORMATS = (CHATGPT, CLAUDE)
"""The formats read here; the first one owns a zip that nobody can look into."""
_DEEPSEEK_KEY = "inserted_at"
"""The key by which a conversation of DeepSeek differs from one of ChatGPT, whose ``mapping`` it has too."""
_DEEPSEEK_REASON = (
    "it is an export of DeepSeek, for which there is no reader; write its messages as lines of JSON with a session, a"
    " role and a text, and capture that file"
)
_DAMAGES = (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, RuntimeError)
"""What reading a damaged file raises; ``zipfile`` says some of it as a plain RuntimeError."""


def is_chat_export(path: str, format: ChatFormat) -> bool:
    """Whether what lies at a path is this program's export; a file, too, whose name says nothing."""
    found = None if path == "-" else beginning(path)
    if found is None:
        return False
    try:
        export = open_export(path)
    except SourceUnreadable:  # of a zip that is refused, opening it says why
        return found == "zip" and format is CHAT_FORMATS[0]
    if export is None:
        return False
    try:
        return _find_format(export, CHAT_FORMATS[0]) is format
    except SourceUnreadable:  # likewise of an export that is known and not read
        return format is CHAT_FORMATS[0]
    finally:
        export.close()


def open_chat_export(path: str, format: ChatFormat) -> ChatSource:
    """Open a program's export.

    Raises:
        SourceUnreadable: it is none, or cannot be read.
    """
    if path == "-":
        raise SourceUnreadable(path=path, why="an export is no stream; name its file")
    export = open_export(path)
    if export is None:
        raise SourceUnreadable(path=path, why="there is no conversations.json in it")
    try:
        found = _find_format(export, format)
    except SourceUnreadable:
        export.close()
        raise
    if found is not None and found is not format:
        export.close()
        raise SourceUnreadable(path=path, why=f"it is an export of another program; name --format {found.name}")
    return ChatSource(format, export)


def _find_format(export: Export, unreadable: ChatFormat) -> ChatFormat | None:
    """Whose export it is, by the first key that tells; where there is no conversation, by what lies beside.

    Args:
        unreadable: whose it is where neither tells, since it is damaged: reading it says so.

    Raises:
        SourceUnreadable: it is DeepSeek's.
    """
    by_key = {format.key: format for format in CHAT_FORMATS}
    is_damaged = False
    for part in export.conversations:
        try:
            with part.open() as stream:
                head = next(chunks(stream), b"")
                key = has_key(head, by_key)
        except _DAMAGES:
            is_damaged = True
            continue
        if key == CHATGPT.key and has_key(head, (_DEEPSEEK_KEY,)):
            raise SourceUnreadable(path=export.path, why=_DEEPSEEK_REASON)
        if key is not None:
            return by_key[key]
    beside = (format for format in CHAT_FORMATS if format.names & export.names)
    return next(beside, unreadable if is_damaged else None)


class ChatSource:
    """An opened export; fulfils `mnemic.actors.kernel.ports.Source`."""

    def __init__(self, format: ChatFormat, export: Export) -> None:
        self.format = format.name
        self._export = export
        self._parts = [(part, format.conversation) for part in export.conversations]
        self._parts += [
            (part, read)
            for part in export.others
            if (read := next((format.others[name] for name in format.others if part.name.startswith(name)), None))
        ]
        self.size_bytes: int | None = sum(part.size_bytes for part, _ in self._parts)
        self.position_bytes = 0

    def __iter__(self) -> Iterator[SourceItem]:
        number = before = 0
        for part, read in self._parts:
            for value in self._values(part, before):
                number += 1
                for item in _items(number, value, read):
                    if isinstance(item, MalformedLine) and len(self._parts) > 1:
                        item = MalformedLine(line=number, why=f"{part.name}: {item.why}")
                    yield item
            before += part.size_bytes
            self.position_bytes = before

    def _values(self, part: Part, before: int) -> Iterator[bytes | InvalidInput]:
        """The values in a file; where it cannot be read on, that, in its place."""
        try:
            with part.open() as stream:
                yield from values(self._pieces(part, stream, before))
        except _DAMAGES as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            yield InvalidInput(f"the file cannot be read on: {why}")

    def _pieces(self, part: Part, stream: BinaryIO, before: int) -> Iterator[bytes]:
        for piece in chunks(stream):
            self.position_bytes = before + part.size_bytes * stream.tell() // max(part.length_bytes, 1)
            yield piece

    def close(self) -> None:
        """Let go of the file."""
        self._export.close()


def _items(number: int, value: bytes | InvalidInput, read: ReadValue) -> Iterator[SourceItem]:
    """What one value of a list says, and what is wrong with it."""
    try:
        if isinstance(value, InvalidInput):
            raise value
        parsed = parse(value + b"\n")
        groups = iter(() if parsed is None else read(parsed))
        while (group := next(groups, None)) is not None:
            try:
                yield from group
            except Exception as error:  # whatever it is about this message, the others are kept
                yield malformed_line(number, error)
    except Exception as error:  # likewise
        yield malformed_line(number, error)
