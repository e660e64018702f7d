"""Projects: which scope a folder belongs to, without running git.

A project is its common git directory, so that worktrees and subfolders are one project and two folders of the same
name are two; or the folder of a ``.mnemic.toml`` that names a scope; or, where neither is there, the folder itself.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from mnemic.actors.changes import Place
from mnemic.actors.errors import InvalidValue

__all__ = ["NO_PLACE", "Locator", "clean_scope"]

NO_PLACE = Place(path="", project=None, found="none")
"""Where what belongs to no project goes."""
_SETTINGS = ".mnemic.toml"
_PART = re.compile(r"[^\x00-\x1f/*]+")


class Locator:
    """Finds scopes, and remembers what it found for as long as it lives."""

    def __init__(self) -> None:
        self._found: dict[str, Place] = {}

    def __call__(self, scope: str | None, folder: str | None) -> Place:
        """The scope named, else the one of the folder, else none.

        Raises:
            InvalidValue: the scope is no path, here or in a ``.mnemic.toml``.
        """
        if scope is not None:
            return Place(path=clean_scope(scope), project=None, found="named")
        if not folder:
            return NO_PLACE
        if folder not in self._found:
            self._found[folder] = _find(folder)
        return self._found[folder]


def clean_scope(scope: str) -> str:
    """A scope's path, without slashes at its ends.

    Raises:
        InvalidValue: a part is empty or holds a control character or ``*``.
    """
    path = scope.strip("/")
    if path and not all(_PART.fullmatch(part) and part not in (".", "..") for part in path.split("/")):
        raise InvalidValue(
            name="a scope", value=scope, why="it is no path", expected="names joined by '/', such as work/shelf"
        )
    return path


def _find(folder: str) -> Place:
    path = Path(folder)
    for place in (path, *path.parents):
        settings = place / _SETTINGS
        if settings.is_file():
            return Place(path=_scope_in(settings), project=None, found=_SETTINGS)
        common = _common_git_folder(place / ".git")
        if common is not None:
            root = common.parent if common.name == ".git" else common
            name = root.name.removesuffix(".git") or root.name
            return Place(path=_as_part(name), project=str(common), found="git")
    return Place(path=_as_part(path.name), project=str(path), found="folder")


def _as_part(name: str) -> str:
    return "-".join(_PART.findall(name)) or "unnamed"


def _scope_in(settings: Path) -> str:
    try:
        scope = tomllib.loads(settings.read_text("utf-8")).get("scope")
    except (OSError, ValueError) as error:
        raise InvalidValue(
            name=str(settings), value="", why=f"it cannot be read ({type(error).__name__})", expected='scope = "a/b"'
        ) from error
    if not isinstance(scope, str) or not scope.strip("/"):
        raise InvalidValue(name=f"scope in {settings}", value=scope, why="it names no scope", expected='scope = "a/b"')
    return clean_scope(scope)


def _common_git_folder(dot_git: Path) -> Path | None:
    """The git directory that all worktrees of a checkout share, read as git reads it (gitrepository-layout(5))."""
    if dot_git.is_dir():
        folder = dot_git
    elif dot_git.is_file():
        line = dot_git.read_text("utf-8", "surrogateescape").strip()
        if not line.startswith("gitdir:"):
            return None
        folder = dot_git.parent / line.removeprefix("gitdir:").strip()
    else:
        return None
    common = folder / "commondir"
    if common.is_file():
        folder = folder / common.read_text("utf-8", "surrogateescape").strip()
    return folder.resolve()
