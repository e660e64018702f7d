"""Scopes: which of those that hold anything is meant. Below `mnemic.actors.retriever`."""

from __future__ import annotations

import difflib

from mnemic.actors.changes import Place
from mnemic.actors.errors import UnknownScope
from mnemic.actors.events import printable
from mnemic.actors.snapshot import Snapshot

__all__ = ["existing_scope", "scopes_below"]


def existing_scope(snapshot: Snapshot, place: Place) -> str | None:
    """The path of a place's scope, or ``None`` where no memory is in it."""
    if place.project is not None:
        return snapshot.scope_of(printable(place.project))
    path = str(printable(place.path))
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
