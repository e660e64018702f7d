"""Changes of scopes (a project's path): rename, merge, split, and memories or projects that move."""

from __future__ import annotations

from mnemic.actors.kernel.message import ChangeBase


class RenameScope(ChangeBase, frozen=True, kw_only=True, tag="rename_scope"):
    """Give a scope another path. Refused where another one has that path, or lies below it and would be mixed in."""

    path: str
    """The path it has."""
    to: str
    """The path it gets."""
    below: bool = True
    """Whether what is below it goes with it; such a path need be no scope itself."""


class MergeScopes(ChangeBase, frozen=True, kw_only=True, tag="merge_scopes"):
    """Put all memories of one scope into another one, and from now on what its project brings."""

    path: str
    """The scope that goes."""
    into: str
    """The scope that stays."""


class SplitScope(ChangeBase, frozen=True, kw_only=True, tag="split_scope"):
    """Take back a `MergeScopes`."""

    path: str
    """The scope that comes back."""
    found: str
    """How it was found."""
    project: str | None
    """Its project, if it had one."""
    projects: tuple[str, ...]
    """Projects that had been merged into it before."""
    into: str
    """The scope it had been put into."""
    memories: tuple[bytes, ...]
    """Ids of the memories that were its own; those that are not in `into` stay where they are."""


class MoveProject(ChangeBase, frozen=True, kw_only=True, tag="move_project"):
    """Say that a project of a scope has another folder now. Refused where that is another scope's."""

    path: str
    """The scope."""
    project: str | None
    """What makes the project itself from now on; see `ScopeRef.project`. ``None`` where it has no folder any more."""
    was: str | None = None
    """The project that this was; ``None`` where the scope had none of its own."""


class MoveMemories(ChangeBase, frozen=True, kw_only=True, tag="move_memories"):
    """Have memories of one scope belong to another one, which is made where it is not there.

    A scope that was named and holds nothing then goes.
    """

    memories: tuple[bytes, ...] | None
    """Their ids; ``None`` for all of the scope. Those that are not in it stay where they are."""
    path: str
    """The scope that they are in; empty for what belongs to no project."""
    to: str
    """The scope that they are to be in."""
