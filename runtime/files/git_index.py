"""Whether a file came with a git repository: what its index lists, read without running git. Above:
`mnemic.hooks.read.hook_reply`.

The format is gitformat-index(5), https://git-scm.com/docs/index-format. A name is looked for rather than all entries
being parsed, since an assistant waits and an index may have a million of them. Whatever cannot be told apart counts as
listed: an index of version 4 (its names are compressed), one that is split in two, one that is damaged or unreadable.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["is_tracked", "nearest_is_tracked"]

_LONGEST = 0xFFF  # the flags have twelve bits for the length of a name
_EXTENDED = 0x4000  # two more bytes of flags stand before the name


def nearest_is_tracked(folder: str, name: str) -> bool:
    """Whether the nearest file of a name, in a folder or above it, is tracked; one that is gone may have been."""
    place = Path(os.path.realpath(folder))
    files = (above / name for above in (place, *place.parents))
    nearest = next((file for file in files if os.path.lexists(file)), None)
    return nearest is None or is_tracked(nearest)


def is_tracked(file: Path) -> bool:
    """Whether a repository around a file lists it, or may."""
    return any(_index_lists(folder, file) for folder in file.parents)


def _index_lists(folder: Path, file: Path) -> bool:
    git = folder / ".git"
    try:
        if git.is_file():  # of a worktree or a submodule: it says where its git folder is
            git = folder / git.read_text("utf-8", "surrogateescape").removeprefix("gitdir:").strip()
        index = (git / "index").read_bytes()
        split = any(name.startswith("sharedindex.") for name in os.listdir(git))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    if split or index[:4] != b"DIRC" or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return True
    return _index_contains(index, os.fsencode(file.relative_to(folder).as_posix()))


def _index_contains(index: bytes, name: bytes) -> bool:
    """Whether an index has a name among its entries, or one that a file system may take for it."""
    lowered, size = index.lower(), min(len(name), _LONGEST)  # as long as the index
    if not name.isascii():  # letters may be written in several ways: any file of that name, wherever it is
        return b"/" + name.lower().rpartition(b"/")[2] + b"\0" in lowered
    place = lowered.find(name.lower() + b"\0")
    while place >= 0:
        flags, further = (int.from_bytes(index[place - back : place - back + 2], "big") for back in (2, 4))
        if flags & _LONGEST == size or (further & _EXTENDED and further & _LONGEST == size):
            return True
        place = lowered.find(name.lower() + b"\0", place + 1)
    return False
