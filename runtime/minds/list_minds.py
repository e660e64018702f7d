"""The minds of a home, each with what can be told of it here: how much it holds, and whether a passphrase locks it.

Above is the command `mnemic minds`; below `mnemic.runtime.minds.homes`.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from mnemic.actors.kernel.errors import MindLocked, MnemicError
from mnemic.runtime.minds.homes import DEFAULT_MIND, MindFolder, mind_folder, mind_names, open_mind
from mnemic.runtime.store.capture.read import count_memories
from mnemic.runtime.store.schema import connect, translate_errors


class MindInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One mind of a home."""

    name: str
    """Its name."""
    default: bool
    """Whether it is meant where no mind is named."""
    locked: bool = False
    """Whether a passphrase locks it; what it holds is then not told."""
    memories: int | None = None
    """How many memories it holds, those that were forgotten too; ``None`` where that cannot be read."""
    last_captured_at: int | None = None
    """When the newest of them was captured, microseconds since 1970 UTC; ``None`` where there is none or it cannot be
    read."""
    size_bytes: int = 0
    """How long its store is, the write-ahead log included."""
    error: str | None = None
    """Why it cannot be opened, where a passphrase is not the reason."""


def list_minds(home: Path) -> list[MindInfo]:
    """The minds of a home, by name; none where there is no home. Nothing is made or changed.

    Raises:
        StoreReadOnly: the folder of the minds cannot be looked into.
    """
    return [_info(home, name) for name in mind_names(home)]


def _info(home: Path, name: str) -> MindInfo:
    folder = mind_folder(home, name)
    info = MindInfo(name=name, default=name == DEFAULT_MIND, size_bytes=_size_bytes(folder))
    try:
        memories, last = _newest(home, name)
    except MindLocked:
        return msgspec.structs.replace(info, locked=True)
    except MnemicError as error:
        return msgspec.structs.replace(info, error=str(error))
    return msgspec.structs.replace(info, memories=memories, last_captured_at=last)


def _newest(home: Path, name: str) -> tuple[int, int | None]:
    """How many memories there are, and when the newest was captured."""
    folder, keys = open_mind(home, name, looking=True)
    with translate_errors(folder.store), closing(connect(folder.store, keys, words_only=True)) as connection:
        return count_memories(connection)


def _size_bytes(folder: MindFolder) -> int:
    files = (folder.store, folder.store.with_name(f"{folder.store.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
