"""Allow and deny patterns: which projects may be captured, by scope or by folder.

A pattern that starts with ``/`` or ``~`` is of a folder, any other one of a scope. ``*``, ``?`` and ``[…]`` stand for
what they stand for in a shell, and ``*`` for slashes too. A pattern that fits a scope or a folder fits what is below
it. Above stands `mnemic.actors.capture.capture_filter`, through its port.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from mnemic.runtime.minds.projects import existing_part, git_directory_of


class AllowDenyRules:
    """Says whether a project is let in."""

    def __init__(self, allow: Sequence[str], deny: Sequence[str]) -> None:
        """Take the patterns of both settings; a ``~`` in them is the home of whoever runs this."""
        self._allow = Patterns(allow)
        self._deny = Patterns(deny)

    def allows(self, scopes: Sequence[str], folders: Sequence[str]) -> bool:
        """Whether what belongs there is captured: nothing that is denied, and where anything is allowed, only that.

        Args:
            scopes: every path that its scope goes by.
            folders: every folder that it goes by; each counts as it is written, as it is without links, and by the
                repository that it is of. One that only leads to a repository is denied with it, and not allowed.
        """
        if not self._deny and not self._allow:
            return True
        folders = [existing_part(folder) for folder in folders]
        named = [name for folder in folders for name in (folder, _resolved(folder))]
        found = [git for folder in folders if (git := git_directory_of(folder)) is not None]
        if self._deny.matches(scopes, [*named, *(git for git, _ in found)]):
            return False
        return not self._allow or self._allow.matches(scopes, [*named, *(git for git, ours in found if ours)])


class Patterns:
    """Patterns of scopes and folders."""

    def __init__(self, patterns: Iterable[str]) -> None:
        given = [pattern.strip() for pattern in patterns]
        folders = [_strip_trailing_slash(os.path.expanduser(one)) for one in given if one.startswith(("/", "~"))]
        self._folders = list(dict.fromkeys(name for one in folders for name in (one, _resolve_links(one))))
        self._scopes = [one.strip("/") for one in given if not one.startswith(("/", "~"))]

    def __bool__(self) -> bool:
        return bool(self._folders or self._scopes)

    def matches(self, scopes: Sequence[str], folders: Sequence[str]) -> bool:
        """Whether one of them fits a scope or a folder, or what that is below."""
        return any(
            fnmatchcase(name, pattern)
            for patterns, names in ((self._scopes, scopes), (self._folders, folders))
            for one in names
            for name in _with_parents(one)
            for pattern in patterns
        )


def _with_parents(name: str) -> Iterator[str]:
    """A path and those above it; the empty scope is itself."""
    yield name
    for above in PurePosixPath(name).parents:
        if str(above) not in (".", name):
            yield str(above)


def _strip_trailing_slash(pattern: str) -> str:
    return pattern.rstrip("/") or "/"


def _resolve_links(pattern: str) -> str:
    """A pattern of folders with the links followed that it names in full: most hosts say where they lead to."""
    place = next((place for place, character in enumerate(pattern) if character in "*?["), None)
    if place is None or not pattern.startswith("/"):  # of somebody who has no home here
        return _resolved(pattern)
    named = pattern[: pattern.rindex("/", 0, place)]
    return _resolved(named or "/").rstrip("/") + pattern[len(named) :]


def _resolved(folder: str) -> str:
    try:
        return os.path.realpath(folder) if os.path.isabs(folder) else folder
    except (ValueError, RecursionError):  # no file can have this name; or a chain of links that no system follows
        return folder
