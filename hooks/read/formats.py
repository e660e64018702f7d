"""Detects a transcript's format by its first lines, and opens it with the reader for that format."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from mnemic.actors.kernel.errors import AmbiguousFormat, InvalidValue, SourceUnreadable
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.ports import Source
from mnemic.hooks.hosts.claude_code import ClaudeReader, is_claude
from mnemic.hooks.hosts.codex import CodexReader, is_codex
from mnemic.hooks.hosts.gemini_cli import GeminiSource, begins_document, is_gemini
from mnemic.hooks.hosts.opencode import SessionExport, begins_export, is_export
from mnemic.hooks.hosts.opencode_database import DatabaseSource, parse_database_path
from mnemic.hooks.imports.archive import ZIP_BEGINNINGS
from mnemic.hooks.imports.importers import IMPORTERS, recognize
from mnemic.hooks.read.database import read_beginning
from mnemic.hooks.read.generic import JSON_REASON, GenericReader, TextSource, is_generic, names_session
from mnemic.hooks.read.lines import (
    InvalidInput,
    Json,
    LineReader,
    LineSource,
    RawLines,
    is_json_document,
    parse,
    without_padding,
)
from mnemic.hooks.read.markdown import FORMAT as MARKDOWN
from mnemic.hooks.read.markdown import SUFFIXES, MarkdownSource
from mnemic.hooks.read.names import GEMINI_DOCUMENT, TRANSCRIPTS, looks_like_session, matches
from mnemic.hooks.read.packed import SUFFIX as PACKED
from mnemic.hooks.read.packed import unpack
from mnemic.runtime.files.foreign import open_regular

DETECTION_BYTES = 1 << 20
"""How far ``auto`` looks for a line it knows. Host lines of 100 KB are common, and the first may be torn."""
_SHOWN_NAMES, _SHOWN_LETTERS = 8, 40
_BEGINNING_BYTES = 1024


def _lines(name: str, reader: Callable[[], LineReader]) -> Callable[[RawLines], Source]:
    return lambda raw: LineSource(name, raw, reader())


READERS: dict[str, tuple[Callable[[Json], bool], Callable[[RawLines], Source]]] = {
    "claude-code": (is_claude, _lines("claude-code", ClaudeReader)),
    "codex": (is_codex, _lines("codex", CodexReader)),
    "gemini-cli": (is_gemini, GeminiSource),
    "opencode": (is_export, SessionExport),
    "jsonl": (is_generic, lambda raw: LineSource("jsonl", raw, GenericReader(_session_of(raw)))),
}
"""Of each format, whether a line (or a whole document) is one of its, and what reads it."""
FORMATS: tuple[str, ...] = ("auto", *READERS, *IMPORTERS, MARKDOWN, "text")
"""What `open_transcript` takes."""


def open_transcript(path: str, format: str) -> Source:
    """Open a transcript by path (``-`` is standard input) and format (``auto`` looks at its first lines).

    Of OpenCode's database, a path may name one session: ``opencode.db#ses_…``.

    Raises:
        InvalidValue: the format is not one of `FORMATS`.
        SourceUnreadable: the file cannot be opened or read.
        AmbiguousFormat: ``auto``, and it is no transcript of a known format.
    """
    if format not in FORMATS:
        known = f"one of {', '.join(FORMATS)}"
        raise InvalidValue(name="format", value=format, why="no transcript is read by that name", expected=known)
    importer = recognize(path) if format == "auto" else format
    if importer in IMPORTERS:
        return IMPORTERS[importer].open(path)
    if format in ("auto", "opencode") and (database := parse_database_path(path)):
        return DatabaseSource(*database)
    raw = _open(path)
    try:
        name = _detect(raw) if format == "auto" else format
    except (AmbiguousFormat, SourceUnreadable):
        raw.close()
        raise
    if name == MARKDOWN:
        return MarkdownSource(raw)
    if name == "text":
        return TextSource(_session_of(raw), raw, None if format == "text" else partial(_ambiguous, raw))
    try:
        return READERS[name][1](raw)
    except SourceUnreadable:
        raw.close()
        raise


class FoundSources(NamedTuple):
    """What a path stands for."""

    paths: list[str]
    """The files that are taken in, sorted."""
    notes_left: int
    """How many Markdown files lie beside transcripts, and are not taken."""
    unread: list[str]
    """Files that look like sessions, and that no reader takes, sorted."""


def find_sources(path: str, format: str) -> FoundSources:
    """The files that are taken in where a path is named: of a folder its transcripts; its Markdown files where it has
    none, or where they are asked for. Anything else is itself.

    Transcripts go alone because the folders in which assistants keep them hold Markdown of the assistants' own.
    """
    if format in IMPORTERS or (format == "auto" and recognize(path)):
        return FoundSources([path], 0, [])
    transcripts, notes, unread = _walk(path)
    if format == MARKDOWN or (format == "auto" and not transcripts):
        return FoundSources(notes or transcripts, 0, unread)
    return FoundSources(transcripts, len(notes) if format == "auto" else 0, unread)


def find_transcripts(path: str) -> list[str]:
    """The transcripts a path stands for: those of a folder at any depth, by their names, sorted; anything else is
    itself, and so is a folder below that cannot be listed: `open_transcript` says why.
    """
    return _walk(path)[0]


def _walk(path: str) -> tuple[list[str], list[str], list[str]]:
    """The transcripts in a folder, its Markdown files, and what looks like a session and is not read; anything else is
    a transcript itself.

    The path may be a link. Below it none is followed: somebody else may have put it there, and what it leads to is not
    what was named. What lies in hidden folders, and what packages bring along, are nobody's notes.
    """
    if path == "-" or not os.path.isdir(path):
        return [path], [], []
    found, notes, unread, folders = [], [], [], [(path, True)]
    while folders:  # no recursion, as in `os.walk`: folders may be nested deeper than Python's calls
        folder, may_hold_notes = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        is_hidden = entry.name.startswith(".") or entry.name == "node_modules"
                        folders.append((entry.path, may_hold_notes and not is_hidden))
                    elif not entry.is_file(follow_symlinks=False):
                        continue
                    elif _is_transcript(entry):
                        found.append(entry.path)
                    elif looks_like_session(entry.name):
                        unread.append(entry.path)
                    elif may_hold_notes and entry.name.endswith(SUFFIXES):
                        notes.append(entry.path)
        except OSError:
            found.append(folder)
    return sorted(found), sorted(notes), sorted(unread)


def _is_transcript(entry: os.DirEntry[str]) -> bool:
    if matches(entry.name, (GEMINI_DOCUMENT,)):
        return begins_document(read_beginning(entry.path, _BEGINNING_BYTES))
    return matches(entry.name, TRANSCRIPTS)


def _session_of(raw: RawLines) -> str | None:
    """The session of what names none: its file, so that what is added to it later belongs there too."""
    return None if raw.path == "-" else os.path.abspath(raw.path)


def _detect(raw: RawLines) -> str:
    """The format that the first line belonging to one says; UTF-8 that doesn't begin like JSON Lines is text.

    A line with a text and no session of its own may be one of a host's as well: what surely is one goes first.
    """
    if raw.path.endswith(SUFFIXES):
        return MARKDOWN
    lines_expected = raw.path.removesuffix(PACKED).endswith((".jsonl", ".json"))
    blank, generic = True, False
    fields: list[str] = []
    for number, line in enumerate(raw.peek(DETECTION_BYTES), 1):
        if number == 1 and line.startswith(ZIP_BEGINNINGS):
            why = "it is a zip file that holds no export known here, such as a conversations.json of ChatGPT or Claude"
            raise _ambiguous(raw, why)
        try:
            value = parse(line)
        except InvalidInput:
            value = {}  # a torn or damaged line says nothing; the next one may
        if value is None:
            continue
        for name, (looks_like, _) in READERS.items():
            if looks_like(value):
                if name != "jsonl" or names_session(value):
                    return name
                generic = True
        if blank and not lines_expected and not without_padding(line).startswith(b"{"):
            return _text_or_ambiguous(raw)
        blank, fields = False, fields or list(value)
    if generic:
        return "jsonl"
    if blank:
        return "jsonl" if lines_expected else "text"
    if begins_export(b"".join(raw.peeked)):  # one JSON object over many lines
        return "opencode"
    if begins_document(b"".join(raw.peeked)):
        return "gemini-cli"
    if not fields and is_json_document(b"".join(raw.peeked)):
        raise _ambiguous(raw, JSON_REASON)
    raise _ambiguous(raw, f"none of its first lines is a line of one{_has_fields(fields)}")


def _has_fields(names: list[str]) -> str:
    """What its first object has, where that has no text or nobody who said it."""
    if not names:
        return ""
    shown = ", ".join(str(escape_surrogates(name[:_SHOWN_LETTERS])) for name in names[:_SHOWN_NAMES])
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    return f" (the first has {shown}{more}; a line of jsonl has a role and a text)"


def _text_or_ambiguous(raw: RawLines) -> str:
    try:
        b"".join(raw.peeked).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise _ambiguous(raw, "it is neither JSON Lines nor UTF-8 text") from None
    return "text"


def _ambiguous(raw: RawLines, why: str) -> AmbiguousFormat:
    return AmbiguousFormat(path=raw.path, why=why, known=", ".join(FORMATS[1:]))


def _open(path: str) -> RawLines:
    if path == "-":
        return RawLines(path, sys.stdin.buffer, None)
    try:
        stream = open_regular(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise SourceUnreadable(path=path, why=getattr(error, "strerror", None) or str(error)) from error
    state = os.fstat(stream.fileno())
    return RawLines(path, unpack(stream, state.st_size), state.st_size, state.st_mtime_ns // 1000)
