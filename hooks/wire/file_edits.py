"""How edits get into one file of a host's configuration, and how they come out again.

Everything here is text in, text out. Below stand the editors of each format, above `mnemic.hooks.wire.wiring`, which
reads and writes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mnemic.hooks.read.own_text import has_block, put_block, take_block
from mnemic.hooks.wire.commands import Wiring, event_of
from mnemic.hooks.wire.edits import Block, Default, Edit, FileEdits, Hook, Listed, Member, Table, Traces, Whole
from mnemic.hooks.wire.json_edits import Container, Entry, JsonText
from mnemic.hooks.wire.toml_edits import TomlText

__all__ = ["adopted", "hook_commands", "is_own", "put", "take", "there"]


def put(text: str, file: FileEdits, wiring: Wiring, assistant: str, traces: Traces) -> str:
    """A text with the edits in it; what has to be known to take them out is added to the traces.

    Raises:
        Broken: the text is not what its host reads.
    """
    if file.format == "whole":
        return next(edit.text for edit in file.edits if isinstance(edit, Whole))
    if file.format == "text":
        for edit in file.edits:
            assert isinstance(edit, Block)
            text = put_block(text, edit.text)
        return text
    if file.format == "toml":
        toml = TomlText(text)
        for edit in file.edits:
            assert isinstance(edit, Table)
            if toml.at(edit.name) is None and list(edit.name) not in traces.tables:
                traces.tables.append(list(edit.name))
            toml.merge(edit.name, edit.values)
        return toml.text
    read = _json(text, file)
    for edit in file.edits:
        assert isinstance(edit, Member | Default | Hook | Listed)
        _trace(read, edit, file, wiring, traces)
        if isinstance(edit, Member):
            read.merge(edit.path, edit.value)
        elif isinstance(edit, Default):
            if read.at(edit.path) is None:
                read.merge(edit.path, edit.value)
        elif isinstance(edit, Hook):
            _put_hook(read, edit, assistant)
        elif _find_word(read, edit.path, edit.word) is None:
            read.append(edit.path, edit.word)
            traces.listed.append((list(edit.path), edit.word))
    return read.text


def take(text: str, file: FileEdits, wiring: Wiring, assistant: str, traces: Traces) -> str:
    """A text without what is this home's; all else stays.

    Raises:
        Broken: the text is not what its host reads.
    """
    if file.format == "whole":
        return ""
    if file.format == "text":
        return take_block(text)
    if file.format == "toml":
        toml = TomlText(text)
        for name in {*(tuple(name) for name in traces.tables), *_own_tables(toml, file, wiring)}:
            if toml.at(name) is not None:
                toml.remove(name)
        return toml.text
    read = _json(text, file)
    own: Callable[[Any], bool] = lambda value: wiring.own(_strings(value), file.substituted)  # noqa: E731
    for edit in file.edits:
        if isinstance(edit, Hook):
            while _take_hook(read, edit.path, assistant, own):
                pass
        elif isinstance(edit, Member):
            _take_member(read, edit.path, traces, own)
    hooks = [edit for edit in file.edits if isinstance(edit, Hook)]
    if not any(_find_hook(read, edit.path, assistant, lambda value: True) for edit in hooks):  # else another home's
        for way, word in traces.listed:
            found = _find_word(read, way, word)
            if found is not None:
                read.remove(*found)
    for path in sorted((tuple(path) for path in traces.made), key=len, reverse=True):
        entry = read.at(path)
        if entry is not None and isinstance(entry.value, Container) and not entry.value.entries:
            read.remove(_inside(read, path), entry)
    for edit in file.edits:
        if isinstance(edit, Default) and list(edit.path) in traces.made:
            entry = read.at(edit.path)
            if entry is not None and entry.value == edit.value and not (edit.beside and read.at(edit.beside)):
                read.remove(_inside(read, edit.path), entry)
    return read.text


def is_own(text: str, file: FileEdits, wiring: Wiring, assistant: str) -> bool:
    """Whether a command in a text calls this home: then whatever of Mnemic's is in the host's files is this home's.

    Raises:
        Broken: the text is not what its host reads.
    """
    if file.format in ("text", "whole"):
        return file.format == "whole" and wiring.own(text)
    if file.format == "toml":
        return any(_own_tables(TomlText(text), file, wiring))
    return any(wiring.own(command, file.substituted) for _, command in hook_commands(text, file, assistant))


def adopted(file: FileEdits, wiring: Wiring, assistant: str) -> Traces:
    """What it takes to take edits out of a file that has them, where no record says who put them there: all of them.

    What its user had listed too, and an object of his that is empty then, cannot be told from Mnemic's and goes.
    """
    traces = Traces()
    if file.format.startswith("json"):
        put("", file, wiring, assistant, traces)
    return traces


def there(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[Edit, bool]]:
    """Which of the edits stand in a text just as they are to.

    Raises:
        Broken: the text is not what its host reads.
    """
    for edit in file.edits:
        if isinstance(edit, Whole):
            yield edit, text == edit.text
        elif isinstance(edit, Block):
            yield edit, has_block(text, edit.text)
        elif isinstance(edit, Table):
            held = TomlText(text).at(edit.name)
            yield edit, isinstance(held, dict) and _covers(held, edit.values)
        elif isinstance(edit, Hook):
            found = _find_hook(_json(text, file), edit.path, assistant, lambda value: True)
            yield edit, found is not None and _holds(found[1], edit.handler)
        elif isinstance(edit, Listed):
            yield edit, _find_word(_json(text, file), edit.path, edit.word) is not None
        else:
            entry = _json(text, file).at(edit.path)
            yield edit, entry is not None and (isinstance(edit, Default) or _holds(entry, edit.value))


def hook_commands(text: str, file: FileEdits, assistant: str) -> Iterator[tuple[str, str]]:
    """Each event that a hook is wired to, as the command line names it, and the command as it stands in a text."""
    for edit in file.edits:
        if isinstance(edit, Hook):
            found = _find_hook(_json(text, file), edit.path, assistant, lambda value: True)
            if found is not None:
                command = _plain(found[1])["command"]
                yield event_of(command, assistant) or "", command


# --- hooks in arrays -------------------------------------------------------------------------------------------------


def _put_hook(read: JsonText, edit: Hook, assistant: str) -> None:
    found = _find_hook(read, edit.path, assistant, lambda value: True)
    if found is None:
        read.append(edit.path, {"hooks": [edit.handler]} if edit.grouped else edit.handler)
        return
    for name, value in edit.handler.items():
        _, entry = _find_hook(read, edit.path, assistant, lambda value: True) or found
        assert isinstance(entry.value, Container)
        member = entry.value.find(name)
        if member is None:
            read.add(entry.value, name, value)
        elif _plain(member) != value:
            read.replace(member, value)


def _take_hook(read: JsonText, path: tuple[str, ...], assistant: str, own: Callable[[Any], bool]) -> bool:
    """Take one hook of this home's out, with its group where it is alone in it; returns whether there was one."""
    found = _find_hook(read, path, assistant, own)
    if found is None:
        return False
    container, entry = found
    outer = read.at(path)
    assert outer is not None
    for group in outer.value.entries:
        inner = group.value.find("hooks") if isinstance(group.value, Container) and not group.value.array else None
        if inner is not None and inner.value is container and len(container.entries) == 1:
            container, entry = outer.value, group
            break
    read.remove(container, entry)
    return True


def _find_hook(
    read: JsonText, path: tuple[str, ...], assistant: str, own: Callable[[Any], bool]
) -> tuple[Container, Entry] | None:
    """The array that a hook of Mnemic's stands in, and its entry."""
    outer = read.at(path)
    if outer is None or not isinstance(outer.value, Container) or not outer.value.array:
        return None
    arrays = [outer.value]
    for group in outer.value.entries:
        inner = group.value.find("hooks") if isinstance(group.value, Container) and not group.value.array else None
        if inner is not None and isinstance(inner.value, Container) and inner.value.array:
            arrays.append(inner.value)
    for array in arrays:
        for entry in array.entries:
            value = _plain(entry)
            if isinstance(value, dict) and event_of(value.get("command"), assistant) and own(value):
                return array, entry
    return None


def _find_word(read: JsonText, path: Sequence[str], word: str) -> tuple[Container, Entry] | None:
    """The array that a word stands in, and its entry."""
    outer = read.at(path)
    if outer is None or not isinstance(outer.value, Container) or not outer.value.array:
        return None
    return next(((outer.value, entry) for entry in outer.value.entries if entry.value == word), None)


# --- members ---------------------------------------------------------------------------------------------------------


def _trace(
    read: JsonText, edit: Member | Default | Hook | Listed, file: FileEdits, wiring: Wiring, traces: Traces
) -> None:
    ways = range(1, len(edit.path) + (0 if isinstance(edit, Member) else 1))
    for length in ways:
        way = list(edit.path[:length])
        if read.at(way) is None and way not in traces.made:
            traces.made.append(way)
    entry = read.at(edit.path)
    if isinstance(edit, Member) and entry is not None:
        known = any(way == list(edit.path) for way, _ in traces.before)
        if not known and not wiring.own(_strings(_plain(entry)), file.substituted):
            traces.before.append((list(edit.path), read.text[entry.value_start : entry.end]))


def _take_member(read: JsonText, path: tuple[str, ...], traces: Traces, own: Callable[[Any], bool]) -> None:
    entry = read.at(path)
    if entry is None or not own(_plain(entry)):
        return
    before = next((value for way, value in traces.before if tuple(way) == path), None)
    if before is None:
        read.remove(_inside(read, path), entry)
    else:
        read.write(entry, before)


def _own_tables(toml: TomlText, file: FileEdits, wiring: Wiring) -> Iterator[tuple[str, ...]]:
    for edit in file.edits:
        if isinstance(edit, Table) and wiring.own(_strings(toml.at(edit.name)), file.substituted):
            yield edit.name


def _inside(read: JsonText, path: tuple[str, ...]) -> Container:
    outer = read.at(path[:-1])
    inside = read.root if outer is None else outer.value
    assert isinstance(inside, Container)
    return inside


def _json(text: str, file: FileEdits) -> JsonText:
    return JsonText(text, comments=file.format != "json", trailing_commas=file.format == "json5-commas")


def _plain(entry: Entry) -> Any:
    return entry.value.plain() if isinstance(entry.value, Container) else entry.value


def _holds(entry: Entry, value: Any) -> bool:
    held = _plain(entry)
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
