"""Reads a folder of notes that link to each other by name: an Obsidian vault, or a project of basic-memory.

Each note is read as any Markdown file (`mnemic.hooks.read.markdown`), as a session by its path; what its words link to
is found among all notes of the folder, by path, else by name, else by title or permalink. So notes that link to each
other name the same file, by which recall finds both and the graph joins them. All paths are looked up in one table, so
the work grows with the notes and their links. Hidden folders, templates and what links lead out of the folder stay out.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, escape_surrogates
from mnemic.hooks.read.lines import RawLines
from mnemic.hooks.read.markdown import SUFFIXES, read_notes, split_front_matter
from mnemic.hooks.read.note_links import Link, ResolveLink
from mnemic.runtime.files.foreign import open_regular, read_regular

OBSIDIAN, BASIC_MEMORY = "obsidian", "basic-memory"
_SETTINGS = ".obsidian"
_TEMPLATES = (("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder"))
_MOST_SETTINGS_BYTES = 1 << 20
_FRONT_BYTES = 1 << 14
_LOOKED_AT_NOTES, _LOOKED_AT_FOLDERS = 8, 64
_MOST_PARTS = 12
"""Of a path so many last parts are a name of it; beyond those only all of it is."""


def is_vault(path: str) -> bool:
    """Whether a folder is an Obsidian vault."""
    return os.path.isdir(os.path.join(path, _SETTINGS))


def is_basic_memory(path: str) -> bool:
    """Whether the first notes of a folder are basic-memory's: they have a title, a type and a permalink."""
    if not os.path.isdir(path):
        return False
    notes = (one for one in _walk(path, (), [], _LOOKED_AT_FOLDERS) if one.endswith(SUFFIXES))
    for note in islice(notes, _LOOKED_AT_NOTES):
        lines = _start(os.path.join(path, note)).split("\n")
        names = {line.partition(":")[0] for line in lines[1 : lines.index("---", 1) if "---" in lines[1:] else 1]}
        if lines[0] == "---" and {"title", "type", "permalink"} <= names:
            return True
    return False


class VaultSource:
    """A folder of notes that is being read; fulfils `mnemic.actors.kernel.ports.Source`."""

    def __init__(self, format: str, path: str) -> None:
        """Find the notes.

        Raises:
            SourceUnreadable: it is no folder, or cannot be listed.
        """
        self.format = format
        self._root = os.path.abspath(path)
        try:
            os.scandir(self._root).close()
        except (OSError, ValueError) as error:
            raise SourceUnreadable(path=path, why=getattr(error, "strerror", None) or str(error)) from error
        self._unlisted: list[str] = []
        files = sorted(_walk(self._root, _template_folders(self._root), self._unlisted))
        self._notes = [one for one in files if one.endswith(SUFFIXES)]
        self._index = NoteIndex(self._root, files)
        self.size_bytes: int | None = sum(_size(os.path.join(self._root, one)) for one in self._notes)
        self.position_bytes = 0

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        for folder in self._unlisted:
            yield MalformedLine(line=1, why=f"the folder {_shown(folder)} cannot be listed")
        for note in self._notes:
            path = os.path.join(self._root, note)
            try:
                raw = _open(path)
                try:
                    data = raw.read()
                finally:
                    raw.close()
                for item in read_notes(raw, data, self._index.resolver(note)):
                    yield (
                        MalformedLine(line=item.line, why=f"{_shown(note)}: {item.why}")
                        if isinstance(item, MalformedLine)
                        else item
                    )
            except SourceUnreadable as error:  # the others are kept
                yield MalformedLine(line=1, why=f"{_shown(note)}: {error.operands['why']}")
                continue
            self.position_bytes += len(data)

    def close(self) -> None:
        """Nothing is held open between notes."""


class NoteIndex:
    """The files of a folder by what links call them."""

    def __init__(self, root: str, files: Sequence[str]) -> None:
        """Take up the files of a folder, by their paths in it."""
        self._root = root
        self._files = files
        self._whole: dict[str, str] = {}
        self._ends: dict[str, str] = {}
        self._titles: dict[str, str] | None = None  # made once a link is found by no path
        for file in sorted(files, key=lambda one: (one.count("/"), one)):  # of one name, the shortest path has it
            for name in _names(file):
                self._whole.setdefault(name, file)
                parts = name.split("/")
                for start in range(max(1, len(parts) - _MOST_PARTS), len(parts)):
                    self._ends.setdefault("/".join(parts[start:]), file)

    def resolver(self, note: str) -> ResolveLink:
        """What resolves the links of one note."""
        folder = os.path.dirname(note)

        def resolve(link: Link) -> str | None:
            found = self._find(link.target.replace("\\", "/"), folder)
            return None if found is None else os.path.join(self._root, found)

        return resolve

    def _find(self, target: str, folder: str) -> str | None:
        """A path in the folder: from the note's own folder, from the top, then by its last parts, as Obsidian does."""
        beside = _key(os.path.normpath(os.path.join(folder, target)).replace(os.sep, "/"))
        if target.startswith(("./", "../")):
            return self._whole.get(beside)
        name = _key(target.removeprefix("/"))
        ways = (self._whole, beside), (self._whole, name), (self._ends, name)
        found = next((table[key] for table, key in ways if key in table), None)
        return self._by_title(name) if found is None else found

    def _by_title(self, name: str) -> str | None:
        if self._titles is None:
            self._titles = {}
            for note in self._files:
                if note.endswith(SUFFIXES):
                    front = split_front_matter(_start(os.path.join(self._root, note)))[0]
                    for one in (front.title, front.permalink, front.permalink.partition("/")[2]):  # of its project
                        self._titles.setdefault(_key(one), note)
            self._titles.pop("", None)
        return self._titles.get(name)


def _names(file: str) -> Iterator[str]:
    name = _key(file.replace(os.sep, "/"))
    yield name
    if name.endswith(SUFFIXES):
        yield name.rpartition(".")[0]


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _walk(root: str, left_out: Sequence[str], unlisted: list[str], most_folders: int | None = None) -> Iterator[str]:
    """The files of a folder at any depth, by their paths in it; no link is followed, and what is hidden stays out."""
    folders, seen = [""], 0
    while folders and (most_folders is None or seen < most_folders):
        folder, seen = folders.pop(), seen + 1
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    path = os.path.join(folder, entry.name)
                    if entry.name.startswith(".") or entry.name == "node_modules" or path in left_out:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        yield path
        except OSError:
            unlisted.append(folder)


def _template_folders(root: str) -> tuple[str, ...]:
    """Where a vault has what new notes begin with: no notes themselves."""
    found = []
    for file, name in _TEMPLATES:
        try:
            settings: Any = json.loads(read_regular(os.path.join(root, _SETTINGS, file), _MOST_SETTINGS_BYTES))
        except (OSError, ValueError, RecursionError):  # none is named
            continue
        folder = settings.get(name) if isinstance(settings, dict) else None
        if isinstance(folder, str) and folder.strip("/"):
            found.append(os.path.normpath(folder.strip("/")))
    return tuple(found)


def _open(path: str) -> RawLines:
    try:
        stream = open_regular(path)
    except (OSError, ValueError) as error:
        raise SourceUnreadable(path=path, why=getattr(error, "strerror", None) or str(error)) from error
    state = os.fstat(stream.fileno())
    return RawLines(path, stream, state.st_size, state.st_mtime_ns // 1000)


def _start(path: str) -> str:
    """How a note begins; empty where it cannot be read, which is said when it is read whole."""
    try:
        with open_regular(path) as note:
            return note.read(_FRONT_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    except (OSError, ValueError):
        return ""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _shown(path: str) -> str:
    return str(escape_surrogates(path))
