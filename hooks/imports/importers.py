"""Table of what people bring along from other programs: how each is known by its path, and what reads it.

`mnemic.hooks.read.formats` asks it first, before it looks for a transcript of lines. Each reader is a
`mnemic.actors.kernel.ports.Source`: streaming, the same items in the same order each time, and every event with an id
of the program it comes from, so that what was taken in before is known when it is taken in again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from mnemic.actors.kernel.ports import Source
from mnemic.hooks.imports import mem0, mempalace
from mnemic.hooks.imports.chats import CHAT_FORMATS, is_chat_export, open_chat_export
from mnemic.hooks.imports.git_log import FORMAT as GIT
from mnemic.hooks.imports.git_log import GitSource
from mnemic.hooks.imports.vault import BASIC_MEMORY, OBSIDIAN, VaultSource, is_basic_memory, is_vault


class Importer(NamedTuple):
    """One program's export or store."""

    recognizes: Callable[[str], bool]
    """Whether a file or a folder surely is one; it looks at names and first bytes alone, and raises nothing."""
    open: Callable[[str], Source]
    """Opens one by its path; raises `SourceUnreadable` with why where it is none, or cannot be read."""


def _never(path: str) -> bool:
    return False


_CHATS = {
    format.name: Importer(partial(is_chat_export, format=format), partial(open_chat_export, format=format))
    for format in CHAT_FORMATS
}

IMPORTERS: dict[str, Importer] = {
    **_CHATS,
    mem0.FORMAT: Importer(mem0.is_mem0, mem0.open_mem0),
    mempalace.FORMAT: Importer(mempalace.is_palace, mempalace.PalaceSource),
    GIT: Importer(_never, GitSource),  # a folder in a repository may be named for its notes: it is asked for by name
    OBSIDIAN: Importer(is_vault, partial(VaultSource, OBSIDIAN)),
    BASIC_MEMORY: Importer(is_basic_memory, partial(VaultSource, BASIC_MEMORY)),
}
"""By the name of the format, as `mnemic capture --format` takes it."""


def recognize(path: str) -> str | None:
    """The format of what lies at a path, where one of these surely has made it."""
    return next((name for name, importer in IMPORTERS.items() if importer.recognizes(path)), None)
