"""What has to stand in an assistant's settings files, put into the text of one, found in it, and taken out again.

Everything here is text in, text out. What an uninstall has to leave is told by the text from before the install: an
empty object that was there stays, one that was made goes. Below stand the editors of each format, above
`mnemic.hooks.wire.wiring`, which reads and writes the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from mnemic.hooks.read.own_text import put_block, remove_block
from mnemic.hooks.wire.commands import Wiring, event_in_command
from mnemic.hooks.wire.json_edits import JsonEditor, ParseError, value_at
from mnemic.hooks.wire.toml_edits import put_table, read_toml, remove_table

__all__ = [
    "Default",
    "Edit",
    "FileEdits",
    "Format",
    "Hook",
    "Item",
    "Member",
    "apply_edits",
    "calls_this_home",
    "edit_states",
    "hook_commands",
    "read_settings",
    "remove_edits",
    "settings_in",
]


class Member(msgspec.Struct, frozen=True):
    """An object of JSON or a table of TOML, by its path; what stands in it besides stays."""

    path: tuple[str, ...]
    """Names on the way to it, its own last."""
    value: dict[str, Any]
    """What it has to hold."""


class Default(msgspec.Struct, frozen=True):
    """A member that its host wants to be there; one that is there stays as it is."""

    path: tuple[str, ...]
    """Names on the way to it, its own last."""
    value: Any
    """What it is, where it is missing."""
    needed_by: tuple[str, ...] = ()
    """Where something stands that needs it: it stays as long as others have put something there."""


class Hook(msgspec.Struct, frozen=True):
    """One of the commands that a host runs at an event, in the array at a path."""

    path: tuple[str, ...]
    """Of the array; the last name is the host's of the event."""
    handler: dict[str, Any]
    """The command, its timeout, and what else the host wants of it."""
    grouped: bool
    """Whether the array holds groups, each with its handlers in ``hooks``."""


class Item(msgspec.Struct, frozen=True):
    """A word in the array at a path; others in it stay."""

    path: tuple[str, ...]
    """Of the array."""
    value: str
    """What has to be in it."""


Format = Literal["json", "jsonc", "json5-commas", "toml", "block", "whole"]
Edit = Member | Default | Hook | Item


class FileEdits(msgspec.Struct, frozen=True, kw_only=True):
    """All that is to stand in one file."""

    path: Path
    """The file; it may be a link."""
    format: Format
    """``json``; ``jsonc`` with comments; ``json5-commas`` with a comma after the last entry as well; ``toml``; a marked
    ``block`` of somebody else's text; the ``whole`` of a file that nobody else writes."""
    edits: tuple[Edit, ...] = ()
    """What, in JSON and TOML."""
    text: str = ""
    """The block, or the whole."""
    substitution_chars: str = ""
    """Letters that start one of the host's own substitutions in it."""


def apply_edits(text: str, file: FileEdits, assistant: str) -> str:
    """A text with the edits in it.

    Raises:
        ParseError: the text is not what its host reads.
    """
    if file.format == "whole":
        return file.text
    if file.format == "block":
        return put_block(text, file.text)
    if file.format == "toml":
        for edit in file.edits:
            assert isinstance(edit, Member)
            text = put_table(text, edit.path, edit.value)
        return text
    editor = _editor(text, file)
    for edit in file.edits:
        held = editor.get(edit.path)
        if isinstance(edit, Hook):
            place = next(_hook_paths(editor.value, edit, assistant), None)
            if place is None:
                editor.append(edit.path, {"hooks": [edit.handler]} if edit.grouped else edit.handler)
            else:
                for name, value in edit.handler.items():
                    editor.set((*place, name), value)
        elif isinstance(edit, Item):
            if not isinstance(held, list) or edit.value not in held:
                editor.append(edit.path, edit.value)
        elif isinstance(edit, Member):
            editor.set(edit.path, {**held, **edit.value} if isinstance(held, dict) else edit.value)
        elif held is None:
            editor.set(edit.path, edit.value)
    return editor.text


def remove_edits(text: str, file: FileEdits, wiring: Wiring, assistant: str, base: str | None) -> str:
    """A text without what an install put into it; all else stays.

    Args:
        base: the text from before the install; ``None`` where there was none, or none is known.

    Raises:
        ParseError: the text is not what its host reads.
    """
    if file.format == "whole":
        return base or ""
    if file.format == "block":
        return remove_block(text)
    before = {} if not base else settings_in(base, file)
    if file.format == "toml":
        for table in file.edits:
            held = value_at(read_toml(text), table.path)
            if isinstance(table, Member) and (held == table.value or calls_this_home(held, wiring, file)):
                text = remove_table(text, table.path)
        return text
    editor = _editor(text, file)
    for edit in file.edits:
        if isinstance(edit, Hook):
            for place in reversed(list(_hook_paths(editor.value, edit, assistant))):
                alone = place[-2] == "hooks" and len(editor.get(place[:-1])) == 1
                editor.remove(place[:-2] if alone else place)
        elif isinstance(edit, Item):
            listed, known = editor.get(edit.path), value_at(before, edit.path)
            if isinstance(listed, list) and edit.value in listed and edit.value not in (known or ()):
                editor.remove((*edit.path, listed.index(edit.value)))
        elif isinstance(edit, Member) and calls_this_home(editor.get(edit.path), wiring, file):
            known = value_at(before, edit.path)
            if known is None:
                editor.remove(edit.path)
            else:
                editor.set(edit.path, known, _editor(base or "", file).text_at(edit.path))
    made = {edit.path[:length] for edit in file.edits for length in range(1, len(edit.path) + 1)}
    for path in sorted(made, key=len, reverse=True):
        if editor.get(path) in ({}, []) and value_at(before, path) is None:
            editor.remove(path)
    for default in (edit for edit in file.edits if isinstance(edit, Default)):
        needing = editor.get(default.needed_by) if default.needed_by else None
        needed = bool(needing) and needing != value_at(before, default.needed_by)
        if not needed and editor.get(default.path) == default.value and value_at(before, default.path) is None:
            editor.remove(default.path)
    return editor.text


def edit_states(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[Edit, str]]:
    """Each edit, and whether it is ``wired`` in a text just as it is to be, ``differs`` or is ``missing``.

    Raises:
        ParseError: the text is not what its host reads.
    """
    held = settings_in(text, file)
    for edit in file.edits:
        found = value_at(held, edit.path)
        if isinstance(edit, Hook):
            found = next((value_at(held, place) for place in _hook_paths(held, edit, assistant)), None)
            same = found is not None and found.items() >= edit.handler.items()
        elif isinstance(edit, Item):
            same = isinstance(found, list) and edit.value in found
        else:
            same = isinstance(edit, Default) or (isinstance(found, dict) and found.items() >= edit.value.items())
        yield edit, "missing" if found is None else "wired" if same else "differs"


def hook_commands(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[str, str]]:
    """Each event that a hook of Mnemic's is wired to, as the command line names it, and its command as it stands.

    Raises:
        ParseError: the text is not what its host reads.
    """
    held = settings_in(text, file)
    for edit in file.edits:
        for place in _hook_paths(held, edit, assistant) if isinstance(edit, Hook) else ():
            command = value_at(held, place)["command"]
            yield event_in_command(command, assistant) or "", command


def settings_in(text: str, file: FileEdits) -> dict[str, Any]:
    """The settings in a text; none in prose, and in an empty one.

    Raises:
        ParseError: the text is not what its host reads.
    """
    if file.format in ("block", "whole"):
        return {}
    return read_toml(text) if file.format == "toml" else _editor(text, file).value


def read_settings(path: Path, format: Format) -> dict[str, Any]:
    """The settings in a file, where a fault in it is somebody else's to tell: none where it cannot be read."""
    try:
        return settings_in(path.read_text("utf-8"), FileEdits(path=path, format=format))
    except (OSError, UnicodeDecodeError, ParseError):
        return {}


def calls_this_home(value: Any, wiring: Wiring, file: FileEdits) -> bool:
    """Whether any string in a value of a file is a command that calls what is in this home's ``bin``."""
    if isinstance(value, dict | list):
        return any(calls_this_home(one, wiring, file) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and wiring.calls_this_home(value, file.substitution_chars)


def _hook_paths(held: dict[str, Any], edit: Hook, assistant: str) -> Iterator[tuple[str | int, ...]]:
    """Where commands of Mnemic's stand in the array of an event, of whatever home: by themselves or in a group."""
    entries = value_at(held, edit.path)
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            continue
        if event_in_command(entry.get("command"), assistant):
            yield (*edit.path, number)
        inner = entry.get("hooks")
        for place, handler in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(handler, dict) and event_in_command(handler.get("command"), assistant):
                yield (*edit.path, number, "hooks", place)


def _editor(text: str, file: FileEdits) -> JsonEditor:
    return JsonEditor(text, comments=file.format != "json", trailing_commas=file.format == "json5-commas")
