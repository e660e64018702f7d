"""Which scope (project) a folder belongs to: by .mnemic.toml, by its git repository, or by its path.

A project is its common git directory, so that worktrees and subfolders are one project and two folders of the same
name are two; or, without one, the folder itself. A ``.mnemic.toml`` that its owner put there names a scope by hand. One
that git tracks came with the repository, and says nothing: whoever wrote that has no say in what is remembered here.

A file ``.mnemicignore`` in a folder silences it and all below it. Hooks look for it themselves, before they write
(docs/spool.md); what is taken from transcripts in the background is asked here. For one shell there is ``MNEMIC_OFF``,
which hooks read by themselves, too.

Whether a file came with a repository is read from git's index, without running git. The format is gitformat-index(5),
https://git-scm.com/docs/index-format. A name is looked for rather than all entries being parsed, since an assistant
waits and an index may have a million of them. Whatever cannot be told apart counts as listed: an index of version 4
(its names are compressed), one that is split in two, one that is damaged or unreadable, one with thousands of files of
that name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.errors import BadInput, BadSettings, InvalidValue
from mnemic.actors.protocol.events import escape_surrogates
from mnemic.actors.protocol.scopes import _PART, normalize_scope_path
from mnemic.runtime.files.foreign import read_regular, read_toml

NO_SCOPE = ScopeRef(path="", project=None, found="none")
"""Where what belongs to no project goes."""
_SETTINGS = ".mnemic.toml"
_MOST_SETTINGS_BYTES = 1 << 12  # it holds a key or two
_MOST_CONFIG_BYTES = 1 << 16
_MOST_FOUND_BYTES = 255  # as long as a file system lets a folder's name be, and short enough for a number behind it
_MOST_MATCHES = 10_000
_GIT_FOLDER = ("HEAD", "objects", "refs")
_POINTER = "gitdir:"
_MOST_POINTER_BYTES = 1 << 13  # a path has 4,096 bytes at most
_MOST_INDEX_BYTES = 1 << 28  # of a million files it has 100 MB
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_MOST_PATH_BYTES = 4095  # what systems take at most: PATH_MAX counts a NUL
_LONGEST = 0xFFF  # the flags have twelve bits for the length of a name
_EXTENDED = 0x4000  # two more bytes of flags stand before the name


def resolve_scope(scope: str | None, folder: str | None, *, anyway: bool = False) -> ScopeRef:
    """The scope named, else the one of the folder as it is now, else none; fulfils
    `mnemic.actors.protocol.ports.ResolveScope`.

    Args:
        anyway: whether a ``.mnemic.toml`` that says nothing that can be understood is passed over, and a folder whose
            name is too long is none.

    Raises:
        InvalidValue: the scope is no path, here or in a ``.mnemic.toml``; or the folder's name is too long for one.
        BadSettings: a ``.mnemic.toml`` cannot be read.
    """
    if scope is not None:
        return ScopeRef(path=normalize_scope_path(scope), project=None, found="named")
    if folder and _is_too_long(folder):
        if not anyway:
            expected = f"a path of at most {_MOST_PATH_BYTES} bytes"
            raise InvalidValue(name="the folder", value=folder, why="no path is so long", expected=expected)
        folder = None
    return _scope_of_folder(folder, anyway=anyway) if folder else NO_SCOPE


def existing_part(folder: str) -> str:
    """A path as it is, or of one that is too long to be there the longest part that may be.

    Whoever walks up from a path takes this: the work grows with the square of a path's length, and no bound else holds
    for what a caller says. What holds for a folder above holds all the same.
    """
    return folder if len(folder) <= _MOST_PATH_BYTES else folder[:_MOST_PATH_BYTES].rpartition("/")[0] or "/"


def _is_too_long(folder: str) -> bool:
    return len(folder) > _MOST_PATH_BYTES or len(folder.encode("utf-8", "replace")) > _MOST_PATH_BYTES


def git_directory_of(folder: str) -> tuple[str, bool] | None:
    """The common git directory of a folder, whatever a ``.mnemic.toml`` there says; ``None`` where it has none.

    Returns the directory, and whether it is the folder's own: somebody else's may be what a file there leads to.
    """
    path = Path(existing_part(folder))
    if not path.is_absolute():
        return None
    path = _resolved(path)
    found = next((found for place in (path, *path.parents) if (found := _git_directory(place)) is not None), None)
    return None if found is None else (_printable_path(found[0]), found[1])


def _scope_of_folder(folder: str, *, anyway: bool) -> ScopeRef:
    """The place of a folder, there or not. One that is no absolute path is of another machine, and not looked up."""
    path = Path(folder)
    if path.is_absolute():
        path = _resolved(path)
        for place in (path, *path.parents):
            if os.path.lexists(place / _SETTINGS) and not is_tracked(place / _SETTINGS):
                try:
                    return ScopeRef(path=_scope_in(place / _SETTINGS), project=None, found=_SETTINGS)
                except BadInput:
                    if not anyway:
                        raise
            found = _git_directory(place)
            if found is not None:
                common, ours = found
                if not ours:  # git would work there as in somebody else's repository; the folder is no part of that
                    path = place
                    break
                # A worktree's folder or a submodule is named for itself; .git and the like for what they lie in.
                root = common.parent if common.name.startswith(".") else common
                return ScopeRef(
                    path=_to_path_part(root.name.removesuffix(".git")), project=_printable_path(common), found="git"
                )
    return ScopeRef(path=_to_path_part(path.name), project=_printable_path(path), found="folder")


def _to_path_part(name: str) -> str:
    part = "-".join(_PART.findall(name)).encode()[:_MOST_FOUND_BYTES].decode("utf-8", "ignore")
    return part if part.strip() not in ("", ".", "..") else "unnamed"


def _printable_path(path: Path) -> str:
    """A path as the store can keep it: bytes that are no UTF-8 are written out."""
    return str(escape_surrogates(str(path)))


def _resolved(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (ValueError, RecursionError):  # no file can have this name; or a chain of links that no system follows
        return path


def _scope_in(settings: Path) -> str:
    try:
        scope = read_toml(settings, _MOST_SETTINGS_BYTES).get("scope")
    except OSError as error:
        raise BadSettings(path=_printable_path(settings), why=error.strerror or type(error).__name__) from error
    except ValueError as error:
        raise BadSettings(path=_printable_path(settings), why=str(error)) from error
    name = f"scope in {_printable_path(settings)}"
    if not isinstance(scope, str) or not scope.strip("/"):
        given = scope if isinstance(scope, str | None) else type(scope).__name__  # a number may be too long to be told
        raise InvalidValue(name=name, value=given, why="it names no scope", expected='scope = "a/b"')
    return normalize_scope_path(scope, name)


def _git_directory(place: Path) -> tuple[Path, bool] | None:
    """The git directory that all worktrees of a folder's repository share, and whether it is the folder's own.

    A repository is reached through a ``.git``, as git finds it (gitrepository-layout(5)). That may be a file or a link
    which somebody packed, so what it leads to lies in the folder itself, or has to name the folder in turn: a
    worktree's directory does so in ``gitdir``, a submodule's in ``core.worktree``. What cannot be read is no
    repository: git would not work there.

    Args:
        place: a folder, without links.
    """
    own = place / ".git"
    if not os.path.lexists(own):  # as nearly everywhere: following links asks for every folder above
        return None
    line = _first_line(own) or ""
    found = _resolved(place / line.removeprefix("gitdir:").strip() if line.startswith("gitdir:") else own)
    if found.parent == place:
        return (found, True) if _is_git_directory(found) else None
    common = found.parent.parent
    if found.parent.name == "worktrees" and _is_git_directory(common):
        return common, _resolved(found / (_first_line(found / "gitdir") or "")) == own
    if not _is_git_directory(found):
        return None
    return found, _resolved(found / (_worktree_setting(found) or "")) == place


def _is_git_directory(folder: Path) -> bool:
    return all(os.path.lexists(folder / name) for name in _GIT_FOLDER)


def _worktree_setting(folder: Path) -> str | None:
    """`core.worktree` of a git directory; git writes it bare, or in quotation marks where it has to."""
    try:
        text = read_regular(folder / "config", _MOST_CONFIG_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return None
    found = _WORKTREE.search(text)
    return found and found[1].strip().strip('"')


def _first_line(path: Path) -> str | None:
    try:
        return read_regular(path, _MOST_POINTER_BYTES).decode("utf-8", "surrogateescape").strip()
    except (OSError, ValueError):
        return None


IGNORE_FILE = ".mnemicignore"


def is_ignored(folder: str | None) -> bool:
    """Whether a folder is silenced now, there or not: the file may have been made a moment ago.

    A folder that is no absolute path is of another machine: it is not silenced.
    """
    if folder is None or not os.path.isabs(folder):
        return False
    path = PurePath(existing_part(folder))
    return any(os.path.lexists(place / IGNORE_FILE) for place in (path, *path.parents))


def disabled_by_environment(environment: Mapping[str, str]) -> str:
    """What ``MNEMIC_OFF`` switches off: ``capture``, ``recall``, ``both``, or nothing; what is not known is both."""
    value = environment.get("MNEMIC_OFF", "")
    if value in ("", "0"):
        return ""
    return value if value in ("capture", "recall") else "both"


# --- git's index ---------------------------------------------------------------------------------------------------


def is_tracked(file: Path) -> bool:
    """Whether a repository around a file lists it, or may."""
    return any(_index_lists(folder, file) for folder in file.parents)


def _index_lists(folder: Path, file: Path) -> bool:
    git = folder / ".git"
    try:
        if git.is_file():  # of a worktree or a submodule: it says where its git folder is
            pointer = read_regular(git, _MOST_POINTER_BYTES).decode("utf-8", "surrogateescape")
            git = folder / pointer.removeprefix(_POINTER).strip()
        index = read_regular(git / "index", _MOST_INDEX_BYTES)
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
    place = -1
    for _ in range(_MOST_MATCHES):
        place = lowered.find(name.lower() + b"\0", place + 1)
        if place < 0:
            return False
        flags, further = (int.from_bytes(index[place - back : place - back + 2], "big") for back in (2, 4))
        if flags & _LONGEST == size or (further & _EXTENDED and further & _LONGEST == size):
            return True
    return True  # who has so many files of that name has not put each of them there
