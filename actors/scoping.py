"""Messages of scopes: which there are, and which project belongs to which, after it changed its folder or its name.

Beside `mnemic.actors.messages`, whose rules hold here too. `mnemic.actors.rescoping` plans what `Rescope` asks for.
"""

from __future__ import annotations

from typing import Union

import msgspec

from mnemic.actors.changes import MergeScopes, MoveProject, RenameScope, SplitScope

__all__ = ["RESCOPED", "UNSCOPED", "Known", "ListScopes", "Rescope", "Rescoped", "Rescoping", "Scopes"]

RESCOPED = "scopes"
"""The author of what changes scopes."""
UNSCOPED = "scopes.undo"
"""The author of what takes such a change back."""

Rescoping = Union[RenameScope, MergeScopes, SplitScope, MoveProject]  # noqa: UP007 - decoders need unions
"""A change of scopes; each is taken back by one of them."""


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    pass


class ListScopes(_Message, frozen=True, kw_only=True):
    """Say which scopes there are."""


class Known(_Message, frozen=True, kw_only=True):
    """One scope."""

    path: str
    """Its path."""
    found: str
    """How it was found: ``named``, ``.mnemic.toml``, ``git``, ``folder`` or ``none``."""
    project: str | None
    """What makes its project itself, its common git directory or its folder; ``None`` where it was named."""
    projects: tuple[str, ...] = ()
    """Further projects that were merged into it."""
    memories: int
    """How many memories it holds, those that were forgotten too."""
    last_at: int | None
    """World time of the newest of them, microseconds."""


class Scopes(_Message, frozen=True, kw_only=True):
    """Answer to `ListScopes`."""

    scopes: tuple[Known, ...]
    """By path."""
    undo: tuple[Rescoping, ...] = ()
    """What takes back the last change of scopes that is not taken back yet; empty where there is none."""


class Rescope(_Message, frozen=True, kw_only=True):
    """Change which scopes there are, or which project belongs to which: all of it or nothing."""

    changes: tuple[Rescoping, ...]
    """In order."""
    undoes: bool = False
    """Whether this is the `Scopes.undo` of before: what it takes back is not taken back a second time."""


class Rescoped(_Message, frozen=True, kw_only=True):
    """Answer to `Rescope`."""

    changed: tuple[bool, ...]
    """For each change, in order, whether it did anything."""
