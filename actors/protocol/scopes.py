"""Looks up scopes (project paths) in a snapshot: one project's scope, or a path with all below it."""

from __future__ import annotations

import difflib
import re
from typing import Any

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.errors import InvalidValue, UnknownScope
from mnemic.actors.protocol.events import escape_surrogates
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.protocol.validation_text import safe_operand

__all__ = ["existing_scope", "normalize_scope_path", "scopes_below"]


def existing_scope(snapshot: Snapshot, place: ScopeRef) -> str | None:
    """The path of a place's scope, or ``None`` where no memory is in it."""
    if place.project is not None:
        return snapshot.project_scope_path(escape_surrogates(place.project))
    path = str(escape_surrogates(place.path))
    return path if path in snapshot.scopes().values() else None


def scopes_below(snapshot: Snapshot, scope: str) -> list[int]:
    """Numbers of a scope and of those below it.

    Raises:
        UnknownScope: there is none of that path.
    """
    paths = snapshot.scopes()
    found = [number for number, path in paths.items() if path == scope or (scope and path.startswith(f"{scope}/"))]
    if not found:
        # Near misses only: to an assistant in one project, the names of all others are none of its business.
        near = difflib.get_close_matches(scope, paths.values(), n=1, cutoff=0.75)
        raise UnknownScope(scope=scope, near=f"Did you mean {near[0]!r}? " if near else "")
    return found


_PART = re.compile(r"[^\x00-\x1f/*\ud800-\udfff]+")


_NAMES = "names joined by '/', such as work/shelf"


def normalize_scope_path(scope: str, name: str = "a scope") -> str:
    """A scope's path, without slashes at its ends.

    Raises:
        InvalidValue: it is no text, or a part is blank, ``.`` or ``..``, or holds ``*``, a control character or a lone
            surrogate.
    """
    given: Any = scope  # by programs, it may be anything
    if not isinstance(given, str):
        raise InvalidValue(name=name, value=safe_operand(given), why="it is no text", expected=_NAMES)
    path = scope.strip("/")
    if path and not all(_PART.fullmatch(part) and part.strip() not in ("", ".", "..") for part in path.split("/")):
        raise InvalidValue(name=name, value=scope, why="it is no path", expected=_NAMES)
    return path
