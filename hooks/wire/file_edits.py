"""Applies edits to the text of one settings file, removes them again, and tells which are present.

Everything here is text in, text out. Below stand the editors of each format, above `mnemic.hooks.wire.wiring`, which
reads and writes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mnemic.hooks.read.own_text import has_block, put_block, remove_block
from mnemic.hooks.wire.commands import Wiring, event_in_command
from mnemic.hooks.wire.edits import (
    Edit,
    FileEdits,
    HookEntry,
    JsonArrayItem,
    JsonDefault,
    JsonMember,
    MarkedBlock,
    TomlTable,
    UndoInfo,
    WholeFile,
)
from mnemic.hooks.wire.json_edits import Container, Entry, JsonEditor
from mnemic.hooks.wire.toml_edits import TomlEditor

__all__ = ["apply_edits", "assumed_undo_info", "belongs_to_home", "hook_commands", "present_edits", "remove_edits"]


def apply_edits(text: str, file: FileEdits, wiring: Wiring, assistant: str, traces: UndoInfo) -> str:
    """A text with the edits in it; what has to be known to take them out is added to the traces.

    Raises:
        Broken: the text is not what its host reads.
    """
    if file.format == "whole":
        return next(edit.text for edit in file.edits if isinstance(edit, WholeFile))
    if file.format == "text":
        for edit in file.edits:
            assert isinstance(edit, MarkedBlock)
            text = put_block(text, edit.text)
        return text
    if file.format == "toml":
        toml = TomlEditor(text)
        for edit in file.edits:
            assert isinstance(edit, TomlTable)
            if toml.get(edit.name) is None and list(edit.name) not in traces.tables:
                traces.tables.append(list(edit.name))
            toml.merge(edit.name, edit.values)
        return toml.text
    read = _json(text, file)
    for edit in file.edits:
        assert isinstance(edit, JsonMember | JsonDefault | HookEntry | JsonArrayItem)
        _note_undo(read, edit, file, wiring, traces)
        if isinstance(edit, JsonMember):
            read.merge(edit.path, edit.value)
        elif isinstance(edit, JsonDefault):
            if read.get(edit.path) is None:
                read.merge(edit.path, edit.value)
        elif isinstance(edit, HookEntry):
            _add_hook(read, edit, assistant)
        elif _find_item(read, edit.path, edit.item) is None:
            read.append(edit.path, edit.item)
            traces.listed.append((list(edit.path), edit.item))
    return read.text


def remove_edits(text: str, file: FileEdits, wiring: Wiring, assistant: str, traces: UndoInfo) -> str:
    """A text without what is this home's; all else stays.

    Raises:
        Broken: the text is not what its host reads.
    """
    if file.format == "whole":
        return ""
    if file.format == "text":
        return remove_block(text)
    if file.format == "toml":
        toml = TomlEditor(text)
        for name in {*(tuple(name) for name in traces.tables), *_own_tables(toml, file, wiring)}:
            if toml.get(name) is not None:
                toml.remove(name)
        return toml.text
    read = _json(text, file)
    own: Callable[[Any], bool] = lambda value: wiring.calls_this_home(_strings(value), file.substitution_chars)  # noqa: E731
    for edit in file.edits:
        if isinstance(edit, HookEntry):
            while _remove_hook(read, edit.path, assistant, own):
                pass
        elif isinstance(edit, JsonMember):
            _remove_member(read, edit.path, traces, own)
    hooks = [edit for edit in file.edits if isinstance(edit, HookEntry)]
    if not any(_find_hook(read, edit.path, assistant, lambda value: True) for edit in hooks):  # else another home's
        for way, word in traces.listed:
            found = _find_item(read, way, word)
            if found is not None:
                read.remove(*found)
    for path in sorted((tuple(path) for path in traces.made), key=len, reverse=True):
        entry = read.get(path)
        if entry is not None and isinstance(entry.value, Container) and not entry.value.entries:
            read.remove(_parent_object(read, path), entry)
    for edit in file.edits:
        if isinstance(edit, JsonDefault) and list(edit.path) in traces.made:
            entry = read.get(edit.path)
            if entry is not None and entry.value == edit.value and not (edit.needed_by and read.get(edit.needed_by)):
                read.remove(_parent_object(read, edit.path), entry)
    return read.text


def belongs_to_home(text: str, file: FileEdits, wiring: Wiring, assistant: str) -> bool:
    """Whether a command in a text calls this home: then whatever of Mnemic's is in the host's files is this home's.

    Raises:
        Broken: the text is not what its host reads.
    """
    if file.format in ("text", "whole"):
        return file.format == "whole" and wiring.calls_this_home(text)
    if file.format == "toml":
        return any(_own_tables(TomlEditor(text), file, wiring))
    return any(
        wiring.calls_this_home(command, file.substitution_chars) for _, command in hook_commands(text, file, assistant)
    )


def assumed_undo_info(file: FileEdits, wiring: Wiring, assistant: str) -> UndoInfo:
    """What it takes to take edits out of a file that has them, where no record says who put them there: all of them.

    What its user had listed too, and an object of his that is empty then, cannot be told from Mnemic's and goes.
    """
    traces = UndoInfo()
    if file.format.startswith("json"):
        apply_edits("", file, wiring, assistant, traces)
    return traces


def present_edits(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[Edit, bool]]:
    """Which of the edits stand in a text just as they are to.

    Raises:
        Broken: the text is not what its host reads.
    """
    for edit in file.edits:
        if isinstance(edit, WholeFile):
            yield edit, text == edit.text
        elif isinstance(edit, MarkedBlock):
            yield edit, has_block(text, edit.text)
        elif isinstance(edit, TomlTable):
            held = TomlEditor(text).get(edit.name)
            yield edit, isinstance(held, dict) and _covers(held, edit.values)
        elif isinstance(edit, HookEntry):
            found = _find_hook(_json(text, file), edit.path, assistant, lambda value: True)
            yield edit, found is not None and _holds(found[1], edit.handler)
        elif isinstance(edit, JsonArrayItem):
            yield edit, _find_item(_json(text, file), edit.path, edit.item) is not None
        else:
            entry = _json(text, file).get(edit.path)
            yield edit, entry is not None and (isinstance(edit, JsonDefault) or _holds(entry, edit.value))


def hook_commands(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[str, str]]:
    """Each event that a hook is wired to, as the command line names it, and the command as it stands in a text."""
    for edit in file.edits:
        if isinstance(edit, HookEntry):
            found = _find_hook(_json(text, file), edit.path, assistant, lambda value: True)
            if found is not None:
                command = _to_python(found[1])["command"]
                yield event_in_command(command, assistant) or "", command


# --- hooks in arrays -------------------------------------------------------------------------------------------------


def _add_hook(read: JsonEditor, edit: HookEntry, assistant: str) -> None:
    found = _find_hook(read, edit.path, assistant, lambda value: True)
    if found is None:
        read.append(edit.path, {"hooks": [edit.handler]} if edit.grouped else edit.handler)
        return
    for name, value in edit.handler.items():
        _, entry = _find_hook(read, edit.path, assistant, lambda value: True) or found
        assert isinstance(entry.value, Container)
        member = entry.value.find(name)
        if member is None:
            read.add_member(entry.value, name, value)
        elif _to_python(member) != value:
            read.replace(member, value)


def _remove_hook(read: JsonEditor, path: tuple[str, ...], assistant: str, own: Callable[[Any], bool]) -> bool:
    """Take one hook of this home's out, with its group where it is alone in it; returns whether there was one."""
    found = _find_hook(read, path, assistant, own)
    if found is None:
        return False
    container, entry = found
    outer = read.get(path)
    assert outer is not None
    for group in outer.value.entries:
        inner = group.value.find("hooks") if isinstance(group.value, Container) and not group.value.is_array else None
        if inner is not None and inner.value is container and len(container.entries) == 1:
            container, entry = outer.value, group
            break
    read.remove(container, entry)
    return True


def _find_hook(
    read: JsonEditor, path: tuple[str, ...], assistant: str, own: Callable[[Any], bool]
) -> tuple[Container, Entry] | None:
    """The array that a hook of Mnemic's stands in, and its entry."""
    outer = read.get(path)
    if outer is None or not isinstance(outer.value, Container) or not outer.value.is_array:
        return None
    arrays = [outer.value]
    for group in outer.value.entries:
        inner = group.value.find("hooks") if isinstance(group.value, Container) and not group.value.is_array else None
        if inner is not None and isinstance(inner.value, Container) and inner.value.is_array:
            arrays.append(inner.value)
    for array in arrays:
        for entry in array.entries:
            value = _to_python(entry)
            if isinstance(value, dict) and event_in_command(value.get("command"), assistant) and own(value):
                return array, entry
    return None


def _find_item(read: JsonEditor, path: Sequence[str], word: str) -> tuple[Container, Entry] | None:
    """The array that a word stands in, and its entry."""
    outer = read.get(path)
    if outer is None or not isinstance(outer.value, Container) or not outer.value.is_array:
        return None
    return next(((outer.value, entry) for entry in outer.value.entries if entry.value == word), None)


# --- members ---------------------------------------------------------------------------------------------------------


def _note_undo(
    read: JsonEditor,
    edit: JsonMember | JsonDefault | HookEntry | JsonArrayItem,
    file: FileEdits,
    wiring: Wiring,
    traces: UndoInfo,
) -> None:
    ways = range(1, len(edit.path) + (0 if isinstance(edit, JsonMember) else 1))
    for length in ways:
        way = list(edit.path[:length])
        if read.get(way) is None and way not in traces.made:
            traces.made.append(way)
    entry = read.get(edit.path)
    if isinstance(edit, JsonMember) and entry is not None:
        known = any(way == list(edit.path) for way, _ in traces.before)
        if not known and not wiring.calls_this_home(_strings(_to_python(entry)), file.substitution_chars):
            traces.before.append((list(edit.path), read.text[entry.value_start : entry.end]))


def _remove_member(read: JsonEditor, path: tuple[str, ...], traces: UndoInfo, own: Callable[[Any], bool]) -> None:
    entry = read.get(path)
    if entry is None or not own(_to_python(entry)):
        return
    before = next((value for way, value in traces.before if tuple(way) == path), None)
    if before is None:
        read.remove(_parent_object(read, path), entry)
    else:
        read.replace_raw(entry, before)


def _own_tables(toml: TomlEditor, file: FileEdits, wiring: Wiring) -> Iterator[tuple[str, ...]]:
    for edit in file.edits:
        if isinstance(edit, TomlTable) and wiring.calls_this_home(
            _strings(toml.get(edit.name)), file.substitution_chars
        ):
            yield edit.name


def _parent_object(read: JsonEditor, path: tuple[str, ...]) -> Container:
    outer = read.get(path[:-1])
    inside = read.root if outer is None else outer.value
    assert isinstance(inside, Container)
    return inside


def _json(text: str, file: FileEdits) -> JsonEditor:
    return JsonEditor(text, comments=file.format != "json", trailing_commas=file.format == "json5-commas")


def _to_python(entry: Entry) -> Any:
    return entry.value.to_python() if isinstance(entry.value, Container) else entry.value


def _holds(entry: Entry, value: Any) -> bool:
    held = _to_python(entry)
    return held == value or (isinstance(held, dict) and isinstance(value, dict) and _covers(held, value))


def _covers(held: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(held.get(name, ...) == value for name, value in wanted.items())


def _strings(value: Any) -> str:
    """All strings in a value, to look for a path in."""
    if isinstance(value, dict):
        return "\n".join(_strings(one) for one in value.values())
    if isinstance(value, list):
        return "\n".join(_strings(one) for one in value)
    return value if isinstance(value, str) else ""
