"""What has to stand in an assistant's settings files, put into the text of one, found in it, and taken out again.

Everything here is text in, text out. What an uninstall has to leave is told by the text from before the install: an
empty object that was there stays, one that was made goes. Below stand `mnemic.hooks.wire.settings_formats`, above
`mnemic.hooks.wire.wiring`, which reads and writes the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from mnemic.hooks.read.own_text import put_block, remove_block
from mnemic.hooks.wire.commands import Wiring, event_in_command
from mnemic.hooks.wire.settings_formats import (
    MOST_SETTINGS_BYTES,
    LossyEdit,
    ParseError,
    put_table,
    read_json,
    read_toml,
    remove_table,
    rewrite_json,
    value_at,
)
from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.files.foreign import read_regular


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
    label: str = ""
    """What the whole is, in a few words."""
    inside: Path | None = None
    """The folder that it must lie in, behind any link; ``None`` where its user's own links lead anywhere."""


def apply_edits(text: str, file: FileEdits, assistant: str) -> str:
    """A text with the edits in it.

    Raises:
        ParseError: the text is not what its host reads, or would lose its comments; then it says what to add by hand.
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
    try:
        value = settings_in(text, file)
        _put(value, file, assistant)
        return text if value == settings_in(text, file) else rewrite_json(text, value, comments=file.format != "json")
    except LossyEdit as error:
        added: dict[str, Any] = {}
        _put(added, file, assistant)
        raise ParseError(f"{error}; or add this to it by hand: {json.dumps(added, ensure_ascii=False)}") from None


def _put(value: dict[str, Any], file: FileEdits, assistant: str) -> None:
    for edit in file.edits:
        if isinstance(edit, Hook):
            entries = _opened(value, edit.path, [])
            handler = next(_own_handlers(entries, assistant), None)
            if handler is None:
                entries.append({"hooks": [edit.handler]} if edit.grouped else edit.handler)
            else:
                handler.update(edit.handler)
        elif isinstance(edit, Item):
            listed = _opened(value, edit.path, [])
            listed += [] if edit.value in listed else [edit.value]
        elif isinstance(edit, Member):
            _opened(value, edit.path, {}).update(edit.value)
        else:
            _opened(value, edit.path[:-1], {}).setdefault(edit.path[-1], edit.value)


def _opened(value: Any, path: tuple[str, ...], empty: Any) -> Any:
    """The object or list at a path, made where there is none."""
    for length, name in enumerate(path, 1):
        wanted = empty if length == len(path) else {}
        value = value.setdefault(name, wanted)
        if type(value) is not type(wanted):
            kind = "list" if isinstance(wanted, list) else "object"
            raise ParseError(f"its {'.'.join(path[:length])} is no {kind}")
    return value


def remove_edits(text: str, file: FileEdits, wiring: Wiring, assistant: str, base: str | None) -> str:
    """A text without what an install put into it; all else stays. Where that is what it said before, it is as it was.

    Args:
        base: the text from before the install; ``None`` where there was none, or none is known.

    Raises:
        ParseError: the text is not what its host reads, or would lose its comments.
    """
    if file.format == "whole":
        return base or ""
    if file.format == "block":
        return remove_block(text)
    if file.format == "toml":
        for table in file.edits:
            held = value_at(read_toml(text), table.path)
            if isinstance(table, Member) and (held == table.value or calls_this_home(held, wiring)):
                text = remove_table(text, table.path)
        return text
    value, before = settings_in(text, file), settings_in(base or "", file)
    _take(value, before, file, wiring, assistant)
    if value == settings_in(text, file):
        return text
    try:
        written = rewrite_json(text, value, comments=file.format != "json")
    except ParseError as error:
        if not calls_this_home(settings_in(text, file), wiring):  # taken out by hand; what is left, nobody is called by
            return text
        raise ParseError(f"{error}; take what calls {wiring.home / 'bin'} out of it by hand") from None
    return base if base is not None and value == before else written


def _take(value: dict[str, Any], before: dict[str, Any], file: FileEdits, wiring: Wiring, assistant: str) -> None:
    for edit in file.edits:
        held, known = value_at(value, edit.path), value_at(before, edit.path)
        if isinstance(edit, Hook) and isinstance(held, list):
            held[:] = _others_hooks(held, assistant)
        elif isinstance(edit, Item) and isinstance(held, list) and edit.value not in (known or ()):
            held[:] = [word for word in held if word != edit.value]
        elif isinstance(edit, Member) and calls_this_home(held, wiring):
            _replace(value, edit.path, known)
    made = {edit.path[:length] for edit in file.edits for length in range(1, len(edit.path) + 1)}
    for path in sorted(made, key=len, reverse=True):
        if value_at(value, path) in ({}, []) and value_at(before, path) is None:
            _replace(value, path, None)
    for default in (edit for edit in file.edits if isinstance(edit, Default)):
        needing = value_at(value, default.needed_by) if default.needed_by else None
        needed = bool(needing) and needing != value_at(before, default.needed_by)
        if not needed and value_at(value, default.path) == default.value and value_at(before, default.path) is None:
            _replace(value, default.path, None)


def _replace(value: dict[str, Any], path: tuple[str, ...], new: Any) -> None:
    """Have another value at a path, or none."""
    around = value_at(value, path[:-1])
    if new is None:
        del around[path[-1]]
    else:
        around[path[-1]] = new


def edit_states(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[Edit, str]]:
    """Each edit, and whether it is ``wired`` in a text just as it is to be, ``differs`` or is ``missing``.

    Raises:
        ParseError: the text is not what its host reads.
    """
    held = settings_in(text, file)
    for edit in file.edits:
        found = value_at(held, edit.path)
        if isinstance(edit, Hook):
            found = next(_own_handlers(found, assistant), None)
            same = found is not None and found.items() >= edit.handler.items()
        elif isinstance(edit, Item):
            same = isinstance(found, list) and edit.value in found
        else:
            same = isinstance(edit, Default) or (isinstance(found, dict) and found.items() >= edit.value.items())
        yield edit, "missing" if found is None else "wired" if same else "differs"


def edit_summary(before: str, after: str, file: FileEdits, assistant: str) -> list[str]:
    """In a few words each, what of Mnemic's is in one of two texts of a file only, or differs.

    Raises:
        ParseError: one of them is not what its host reads.
    """
    if file.format in ("block", "whole"):
        return [file.label or "instructions"]
    states = zip(edit_states(before, file, assistant), edit_states(after, file, assistant), strict=True)
    edits = [edit for (edit, was), (_, is_now) in states if was != is_now]
    hooks, tools = (sum(isinstance(edit, kind) for edit in edits) for kind in (Hook, Item))
    members = [edit.path[0] for edit in edits if isinstance(edit, Member)]  # a default is a formality of its host's
    told = [pluralize(hooks, "hook")] if hooks else []
    told += [pluralize(tools, "reading tool allowed", "reading tools allowed")] if tools else []
    told += ["trust in its hooks"] if "hooks" in members else []
    return told + (["the MCP server"] if {*members} - {"hooks"} else [])


def hook_commands(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[str, str]]:
    """Each event that a hook of Mnemic's is wired to, as the command line names it, and its command as it stands.

    Raises:
        ParseError: the text is not what its host reads.
    """
    held = settings_in(text, file)
    for edit in file.edits:
        for handler in _own_handlers(value_at(held, edit.path), assistant) if isinstance(edit, Hook) else ():
            yield event_in_command(handler["command"], assistant) or "", handler["command"]


def settings_in(text: str, file: FileEdits) -> dict[str, Any]:
    """The settings in a text; none in prose, and in an empty one.

    Raises:
        ParseError: the text is not what its host reads.
    """
    if file.format in ("block", "whole"):
        return {}
    if file.format == "toml":
        return read_toml(text)
    return read_json(text, comments=file.format != "json", trailing_commas=file.format == "json5-commas")


def read_settings(path: Path, format: Format) -> dict[str, Any]:
    """The settings in a file, where a fault in it is somebody else's to tell: none where it cannot be read."""
    try:
        return settings_in(read_regular(path, MOST_SETTINGS_BYTES).decode("utf-8"), FileEdits(path=path, format=format))
    except (OSError, UnicodeDecodeError, ParseError):
        return {}


def calls_this_home(value: Any, wiring: Wiring) -> bool:
    """Whether any string in a value is a command that calls what is in this home's ``bin``."""
    if isinstance(value, dict | list):
        return any(calls_this_home(one, wiring) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and wiring.calls_this_home(value)


def _own_handlers(entries: Any, assistant: str) -> Iterator[dict[str, Any]]:
    """Commands of Mnemic's in the array of an event, of whatever home: by themselves or in a group."""
    for entry in entries if isinstance(entries, list) else ():
        inner = entry.get("hooks") if isinstance(entry, dict) else None
        for handler in (entry, *(inner if isinstance(inner, list) else ())):
            if _is_own(handler, assistant):
                yield handler


def _others_hooks(entries: list[Any], assistant: str) -> Iterator[Any]:
    """The array of an event without Mnemic's commands, and without groups that held nothing else."""
    for entry in entries:
        inner = entry.get("hooks") if isinstance(entry, dict) else None
        theirs = [one for one in inner if not _is_own(one, assistant)] if isinstance(inner, list) else inner
        if not _is_own(entry, assistant) and (theirs or theirs == inner):
            yield entry if theirs == inner else {**entry, "hooks": theirs}


def _is_own(handler: Any, assistant: str) -> bool:
    return isinstance(handler, dict) and event_in_command(handler.get("command"), assistant) is not None
