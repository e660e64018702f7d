"""Which scope (project) a folder belongs to: by .mnemic.toml, by its git repository, or by its path.

A project is its common git directory, so that worktrees and subfolders are one project and two folders of the same
name are two; or, without one, the folder itself. A repository at the user's own home folder (dotfiles) holds all else
and is no project, unless a scope exists for it. A ``.mnemic.toml`` names a scope by hand, and counts only where the
home's owner confirmed that very scope for that very folder, since whoever may write into a folder can put one there.
What was confirmed stands in the home; `mnemic.runtime.minds.scope_trust` writes it.

A file ``.mnemicignore`` in a folder silences it and all below it. Hooks look for it themselves, before they write
(docs/spool.md); what is taken from transcripts in the background is asked here. For one shell there is ``MNEMIC_OFF``,
which hooks read by themselves, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

from mnemic.actors.kernel.errors import BadInput, BadSettings, InvalidValue
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.scope_paths import _PART, ScopeRef, is_everywhere, normalize_scope_path
from mnemic.runtime.files.foreign import read_regular, read_toml

NO_SCOPE = ScopeRef(path="", project=None, found="none")
"""Where what belongs to no project goes."""
SETTINGS = ".mnemic.toml"
"""The file that names a folder's scope."""
TRUST_FILE = "trusted-folders.json"
"""The file of a home that holds what its owner confirmed: scopes by folder, a folder as it is without links."""
TRUST_VERSION = 1
"""Of its format."""
PassedOver = Callable[[Path, str], None]
"""Told a folder and the scope that a file there names, which nobody confirmed."""
IsProject = Callable[[str], bool]
"""Whether a mind has a scope for a project."""

_MOST_TRUST_BYTES = 1 << 24
_MOST_SETTINGS_BYTES = 1 << 12  # it holds a key or two
_MOST_CONFIG_BYTES = 1 << 16
_MOST_FOUND_BYTES = 255  # as long as a file system lets a folder's name be, and short enough for a number behind it
_GIT_FOLDER = ("HEAD", "objects", "refs")
_MOST_POINTER_BYTES = 1 << 13  # a path has 4,096 bytes at most
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_MOST_PATH_BYTES = 4095  # what systems take at most: PATH_MAX counts a NUL


def resolve_scope(
    scope: str | None,
    folder: str | None,
    *,
    anyway: bool = False,
    home: Path | None = None,
    passed_over: PassedOver | None = None,
    is_project: IsProject = lambda project: False,
) -> ScopeRef:
    """The scope named, else the one of the folder as it is now, else none; with a home, fulfils
    `mnemic.actors.kernel.ports.ResolveScope`.

    Args:
        anyway: whether a ``.mnemic.toml`` that says nothing that can be understood is passed over, and a folder whose
            name is too long is none.
        home: where it stands which ``.mnemic.toml`` counts; without one, none does.
        passed_over: told of the nearest one that does not count, where it names a scope.
        is_project: asked of the repository at the user's home folder alone, where one is met.

    Raises:
        InvalidValue: the scope is no path, here or in a ``.mnemic.toml`` of a folder that its owner trusts; or the
            folder's name is too long for one.
        BadSettings: a ``.mnemic.toml`` of a folder that its owner trusts cannot be read.
    """
    if scope is not None:
        return ScopeRef(path=normalize_scope_path(scope), project=None, found="named")
    if folder and _is_too_long(folder):
        if not anyway:
            expected = f"a path of at most {_MOST_PATH_BYTES} bytes"
            raise InvalidValue(name="the folder", value=folder, why="no path is so long", expected=expected)
        folder = None
    return _scope_of_folder(folder, home, passed_over, is_project, anyway=anyway) if folder else NO_SCOPE


def read_trusted(home: Path) -> dict[str, str]:
    """The scopes that the owner of a home confirmed, by folder.

    Raises:
        BadSettings: the file cannot be read; then nothing is confirmed.
    """
    path = home / TRUST_FILE
    why = f"it is no list of trusted folders, and until it is, no {SETTINGS} counts"
    try:
        written = json.loads(read_regular(path, _MOST_TRUST_BYTES))  # other readers take no name that is no UTF-8
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadSettings(path=str(path), why=f"{error.strerror}, and until it is, no {SETTINGS} counts") from error
    except (ValueError, RecursionError) as error:
        raise BadSettings(path=str(path), why=why) from error
    known = isinstance(written, dict)
    if known and isinstance(written.get("version"), int) and written["version"] > TRUST_VERSION:
        newer = f"a newer Mnemic wrote it (version {written['version']}; this one knows {TRUST_VERSION})"
        raise BadSettings(path=str(path), why=f"{newer}, and until then no {SETTINGS} counts", remedy="Update Mnemic")
    folders = written.get("folders") if known and written.get("version") == TRUST_VERSION else None
    if not isinstance(folders, dict) or not all(isinstance(scope, str) for scope in folders.values()):
        raise BadSettings(path=str(path), why=why)
    return folders


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
    return None if found is None else (printable_path(found[0]), found[1])


def home_repository() -> Path | None:
    """The git directory of the repository at the user's own home folder; ``None`` where there is none."""
    own = _user_home()
    found = None if own is None else _git_directory(own)
    return None if found is None else found[0]


def _user_home() -> Path | None:
    own = os.path.expanduser("~")
    return _resolved(Path(own)) if os.path.isabs(own) else None


def is_gone_folder(folder: str) -> bool:
    """Say whether a folder of this machine is not there any more; a path that is not absolute is of another machine."""
    return os.path.isabs(folder) and not os.path.isdir(folder)


def _scope_of_folder(
    folder: str, home: Path | None, passed_over: PassedOver | None, is_project: IsProject, *, anyway: bool
) -> ScopeRef:
    """The place of a folder, there or not. One that is no absolute path is of another machine, and not looked up."""
    path = Path(folder)
    if path.is_absolute():
        trusted: dict[str, str] | None = None  # read once, and only where such a file is met
        path = _resolved(path)
        for place in (path, *path.parents):
            if os.path.lexists(place / SETTINGS):
                trusted = _read_what_is_trusted(home) if trusted is None else trusted
                confirmed = trusted.get(str(place))
                try:
                    named = scope_in(place) if confirmed is not None or passed_over is not None else None
                except BadInput:
                    if confirmed is not None and not anyway:
                        raise
                    named = None
                if named is not None and named == confirmed:
                    return ScopeRef(path=named, project=None, found=SETTINGS)
                if named is not None and passed_over is not None:
                    passed_over(place, named)
                    passed_over = None
            found = _git_directory(place)
            if found is not None:
                common, ours = found
                own = _user_home()
                if own in (place, common.parent) and not (ours and is_project(printable_path(common))):
                    if place == own:
                        continue
                    ours = ours and common.name != ".git"  # a worktree of it is a folder by itself
                if not ours:  # git would work there as in somebody else's repository; the folder is no part of that
                    path = place
                    break
                # A worktree's folder or a submodule is named for itself; .git and the like for what they lie in.
                root = common.parent if common.name.startswith(".") else common
                return ScopeRef(
                    path=_to_path_part(root.name.removesuffix(".git")), project=printable_path(common), found="git"
                )
    return ScopeRef(path=_to_path_part(path.name), project=printable_path(path), found="folder")


def _read_what_is_trusted(home: Path | None) -> dict[str, str]:
    try:
        return {} if home is None else read_trusted(home)
    except BadSettings:  # whoever asks here can do nothing about it; the doctor and `mnemic scope` say it
        return {}


def _to_path_part(name: str) -> str:
    part = "-".join(_PART.findall(name)).encode()[:_MOST_FOUND_BYTES].decode("utf-8", "ignore")
    return part if part.strip() not in ("", ".", "..") else "unnamed"


def printable_path(path: Path) -> str:
    """A path as the store can keep it: bytes that are no UTF-8 are written out."""
    return str(escape_surrogates(str(path)))


def _resolved(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (ValueError, RecursionError):  # no file can have this name; or a chain of links that no system follows
        return path


def resolve_folder(folder: str | os.PathLike[str], name: str = "the folder") -> Path:
    """Where the folder that somebody names is, there or not.

    Raises:
        InvalidValue: no folder can be named so, or no system follows its chain of links.
    """
    try:
        return Path(os.path.realpath(os.path.expanduser(folder)))
    except ValueError as error:
        raise InvalidValue(name=name, value=os.fspath(folder), why=str(error), expected="a folder's path") from error
    except RecursionError:
        why = "its links lead from one to the next too often"
        raise InvalidValue(name=name, value=os.fspath(folder), why=why, expected="a folder's path") from None


def scope_in(folder: Path) -> str:
    """The scope that the ``.mnemic.toml`` of a folder names, whoever wrote it.

    Raises:
        InvalidValue: it names none.
        BadSettings: it cannot be read.
    """
    settings = folder / SETTINGS
    try:
        scope = read_toml(settings, _MOST_SETTINGS_BYTES).get("scope")
    except OSError as error:
        raise BadSettings(path=printable_path(settings), why=error.strerror or type(error).__name__) from error
    except ValueError as error:
        raise BadSettings(path=printable_path(settings), why=str(error)) from error
    name = f"scope in {printable_path(settings)}"
    if not isinstance(scope, str) or not scope.strip("/"):
        given = scope if isinstance(scope, str | None) else type(scope).__name__  # a number may be too long to be told
        raise InvalidValue(name=name, value=given, why="it names no scope", expected='scope = "a/b"')
    path = normalize_scope_path(scope, name)
    if is_everywhere(path):  # no file makes what is said in its folder be told in every project
        raise InvalidValue(name=name, value=path, why="that is what is kept for every project", expected="another path")
    return path


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
    """Whether a folder is ignored now, there or not: the file may have been made a moment ago.

    A folder that is no absolute path is of another machine: it is not ignored.
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
