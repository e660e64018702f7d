"""Data types for edits of an assistant's settings files, and for what is needed to undo them.

`mnemic.hooks.wire.file_edits` puts it there and takes it out.

Looking at what is in a host's configuration, where a fault in it is somebody else's to tell.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from mnemic.hooks.wire.json_edits import JsonEditor, ParseError

__all__ = [
    "Edit",
    "FileEdits",
    "HookEntry",
    "JsonArrayItem",
    "JsonDefault",
    "JsonMember",
    "MarkedBlock",
    "TomlTable",
    "UndoInfo",
    "WholeFile",
    "glob_transcripts",
    "host_folder",
    "read_json",
    "read_toml",
]


class JsonMember(msgspec.Struct, frozen=True):
    """A member of a JSON object, an object itself; what stands there besides stays."""

    path: tuple[str, ...]
    """Names on the way to it, its own last."""
    value: dict[str, Any]
    """What it has to hold."""


class JsonDefault(msgspec.Struct, frozen=True):
    """A member that its host wants to be there; one that is there stays as it is."""

    path: tuple[str, ...]
    """Names on the way to it, its own last."""
    value: Any
    """What it is, where it is missing."""
    needed_by: tuple[str, ...] = ()
    """Where something stands that needs it: it stays as long as that does."""


class HookEntry(msgspec.Struct, frozen=True):
    """One of the commands that a host runs at an event, in the array at a path."""

    path: tuple[str, ...]
    """Of the array; the last name is the host's of the event."""
    handler: dict[str, Any]
    """The command, its timeout, and what else the host wants of it."""
    grouped: bool
    """Whether the array holds groups, each with its handlers in ``hooks``."""


class JsonArrayItem(msgspec.Struct, frozen=True):
    """A word in the array at a path; others in it stay."""

    path: tuple[str, ...]
    """Of the array."""
    item: str
    """What has to be in it."""


class TomlTable(msgspec.Struct, frozen=True):
    """A table of TOML."""

    name: tuple[str, ...]
    """Its name, key by key."""
    values: dict[str, Any]
    """Its pairs; others in it stay."""


class MarkedBlock(msgspec.Struct, frozen=True):
    """A marked block of a text."""

    text: str
    """What stands between the marks."""


class WholeFile(msgspec.Struct, frozen=True):
    """All of a file that nobody else writes."""

    text: str
    """What it holds."""
    same_for_all_homes: bool = False
    """Whether every home writes the same: what is in it does not say whose it is."""


Edit = JsonMember | JsonDefault | HookEntry | JsonArrayItem | TomlTable | MarkedBlock | WholeFile


class FileEdits(msgspec.Struct, frozen=True, kw_only=True):
    """All that is to stand in one file."""

    path: Path
    """The file; it may be a link."""
    format: Literal["json", "jsonc", "json5-commas", "toml", "text", "whole"]
    """``json``; ``jsonc`` with comments; ``json5-commas`` with a comma after the last entry as well; ``toml``; …"""
    edits: tuple[Edit, ...]
    """What."""
    substitution_chars: str = ""
    """Letters that start one of the host's own substitutions in it."""


class UndoInfo(msgspec.Struct):
    """What has to be known to take edits out again."""

    made: list[list[str]] = msgspec.field(default_factory=list)
    """Objects and arrays that were made on the way: they go once they are empty."""
    before: list[tuple[list[str], str]] = msgspec.field(default_factory=list)
    """Members of somebody else's that were changed, and their text before."""
    tables: list[list[str]] = msgspec.field(default_factory=list)
    """Tables that were added."""
    listed: list[tuple[list[str], str]] = msgspec.field(default_factory=list)
    """Words that were added to arrays."""


def host_folder(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    """A host's folder: the one that its variable names, else the one below the user's own."""
    named = environment.get(variable)
    return Path(named).absolute() if named else Path(environment["HOME"]) / below_home


def read_json(path: Path, format: str) -> dict[str, Any]:
    """The object in a file; an empty one where there is none that can be read."""
    try:
        text = path.read_text("utf-8")
        read = JsonEditor(text, comments=format != "json", trailing_commas=format == "json5-commas").root.to_python()
    except (OSError, UnicodeDecodeError, ParseError):
        return {}
    assert isinstance(read, dict)
    return read


def read_toml(path: Path) -> dict[str, Any]:
    """The pairs in a file; none where it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}


def glob_transcripts(folder: Path, pattern: str, format: str) -> list[tuple[str, str]]:
    """The files of a pattern below a folder, and the format they are read by."""
    return [(str(path), format) for path in sorted(folder.glob(pattern)) if path.is_file()]
