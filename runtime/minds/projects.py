"""Which scope (project) a folder belongs to: by .mnemic.toml, by its git repository, or by its path.

A project is its common git directory, so that worktrees and subfolders are one project and two folders of the same
name are two; or the folder of a ``.mnemic.toml`` that names a scope; or, where neither is there, the folder itself.

A file ``.mnemicignore`` in a folder silences it and all below it. Hooks look for it themselves, before they write
(docs/spool.md); what is taken from transcripts in the background is asked here. For one shell there is ``MNEMIC_OFF``,
which hooks read by themselves, too.

Whether a file came with a repository is read from git's index, without running git. The format is gitformat-index(5),
https://git-scm.com/docs/index-format. A name is looked for rather than all entries being parsed, since an assistant
waits and an index may have a million of them. Whatever cannot be told apart counts as listed: an index of version 4
(its names are compressed), one that is split in two, one that is damaged or unreadable.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePath

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.errors import BadInput, BadSettings, InvalidValue
from mnemic.actors.protocol.events import escape_surrogates
from mnemic.actors.protocol.scopes import _PART, normalize_scope_path

NO_SCOPE = ScopeRef(path="", project=None, found="none")
"""Where what belongs to no project goes."""
_SETTINGS = ".mnemic.toml"
_GIT_FOLDER = ("HEAD", "objects", "refs")
_LONGEST = 0xFFF  # the flags have twelve bits for the length of a name
_EXTENDED = 0x4000  # two more bytes of flags stand before the name


def resolve_scope(scope: str | None, folder: str | None, *, anyway: bool = False) -> ScopeRef:
    """The scope named, else the one of the folder as it is now, else none; fulfils
    `mnemic.actors.protocol.ports.ResolveScope`.

    Args:
        anyway: whether a ``.mnemic.toml`` that says nothing that can be understood is passed over.

    Raises:
        InvalidValue: the scope is no path, here or in a ``.mnemic.toml``.
        BadSettings: a ``.mnemic.toml`` cannot be read.
    """
    if scope is not None:
        return ScopeRef(path=normalize_scope_path(scope), project=None, found="named")
    return _scope_of_folder(folder, anyway=anyway) if folder else NO_SCOPE


def git_directory_of(folder: str) -> str | None:
    """The common git directory of a folder, whatever a ``.mnemic.toml`` there says; ``None`` where it has none."""
    path = Path(folder)
    if not path.is_absolute():
        return None
    path = _resolved(path)
    common = next((found for place in (path, *path.parents) if (found := _common_git_folder(place)) is not None), None)
    return None if common is None else _printable_path(common)


def _scope_of_folder(folder: str, *, anyway: bool) -> ScopeRef:
    """The place of a folder, there or not. One that is no absolute path is of another machine, and not looked up."""
    path = Path(folder)
    if path.is_absolute():
        path = _resolved(path)
        for place in (path, *path.parents):
            if os.path.lexists(place / _SETTINGS):
                try:
                    return ScopeRef(path=_scope_in(place / _SETTINGS), project=None, found=_SETTINGS)
                except BadInput:
                    if not anyway:
                        raise
            common = _common_git_folder(place)
            if common is not None:
                # A worktree's folder or a submodule is named for itself; .git and the like for what they lie in.
                root = common.parent if common.name.startswith(".") else common
                return ScopeRef(
                    path=_to_path_part(root.name.removesuffix(".git")), project=_printable_path(common), found="git"
                )
    return ScopeRef(path=_to_path_part(path.name), project=_printable_path(path), found="folder")


def _to_path_part(name: str) -> str:
    part = "-".join(_PART.findall(name))
    return part if part.strip() not in ("", ".", "..") else "unnamed"


def _printable_path(path: Path) -> str:
    """A path as the store can keep it: bytes that are no UTF-8 are written out."""
    return str(escape_surrogates(str(path)))


def _resolved(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # no file can have this name
        return path


def _scope_in(settings: Path) -> str:
    try:
        scope = tomllib.loads(settings.read_text("utf-8")).get("scope")
    except OSError as error:
        raise BadSettings(path=_printable_path(settings), why=error.strerror or type(error).__name__) from error
    except ValueError as error:
        raise BadSettings(path=_printable_path(settings), why=f"it is no TOML: {error}") from error
    name = f"scope in {_printable_path(settings)}"
    if not isinstance(scope, str) or not scope.strip("/"):
        raise InvalidValue(name=name, value=scope, why="it names no scope", expected='scope = "a/b"')
    return normalize_scope_path(scope, name)


def _common_git_folder(place: Path) -> Path | None:
    """The git directory that all worktrees share, read as git reads it (gitrepository-layout(5)); none if it is none.

    What cannot be read is none: git would not work there either.
    """
    pointer = _first_line(place / ".git")
    if pointer is not None and pointer.startswith("gitdir:"):
        folder = place / pointer.removeprefix("gitdir:").strip()
    else:
        folder = place / ".git" if os.path.lexists(place / ".git") else place  # a bare repository is its own
    common = folder / (_first_line(folder / "commondir") or "")
    return _resolved(common) if all(os.path.lexists(common / name) for name in _GIT_FOLDER) else None


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "surrogateescape").strip()
    except (OSError, ValueError):
        return None


IGNORE_FILE = ".mnemicignore"


def is_ignored(folder: str | None) -> bool:
    """Whether a folder is silenced now, there or not: the file may have been made a moment ago.

    A folder that is no absolute path is of another machine: it is not silenced.
    """
    if folder is None or not os.path.isabs(folder):
        return False
    path = PurePath(folder)
    return any(os.path.lexists(place / IGNORE_FILE) for place in (path, *path.parents))


def disabled_by_environment(environment: Mapping[str, str]) -> str:
    """What ``MNEMIC_OFF`` switches off: ``capture``, ``recall``, ``both``, or nothing; what is not known is both."""
    value = environment.get("MNEMIC_OFF", "")
    if value in ("", "0"):
        return ""
    return value if value in ("capture", "recall") else "both"


# --- git's index ---------------------------------------------------------------------------------------------------


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
