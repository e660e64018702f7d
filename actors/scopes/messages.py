"""Messages about scopes (a project's path): how they are found, listed and changed."""

from __future__ import annotations

from mnemic.actors.kernel.message import Message, Time, Verb
from mnemic.actors.kernel.scope_paths import ScopeChange, ScopeRef
from mnemic.actors.scopes.changes import RenameScope


class FindScope(Verb["ScopeFound"], frozen=True, kw_only=True):
    """Say whether anything was captured in a place."""

    place: ScopeRef
    """What `mnemic.runtime.minds.projects` made of a folder or of a name."""


class ScopeFound(Message, frozen=True, kw_only=True):
    """Answer to `FindScope`."""

    path: str | None
    """The scope's path, or ``None`` where no memory is in it."""


class ListScopes(Verb["ScopesListed"], frozen=True, kw_only=True):
    """Say which scopes there are."""


class ScopeInfo(Message, frozen=True, kw_only=True):
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
    last_at: Time | None
    """World time of the newest of them."""

    @property
    def has_folder_name(self) -> bool:
        """Whether it is called as its project's folder is: by one name, which its owner never chose."""
        return self.project is not None and self.found in ("git", "folder") and "/" not in self.path


class ScopesListed(Message, frozen=True, kw_only=True):
    """Answer to `ListScopes`."""

    scopes: tuple[ScopeInfo, ...]
    """By path."""
    undo: tuple[ScopeChange, ...] = ()
    """What takes back the last change of scopes that is not taken back yet; empty where there is none."""


class ChangeScopes(Verb["ScopesChanged"], frozen=True, kw_only=True):
    """Change which scopes there are, or which project belongs to which: all of it or nothing."""

    changes: tuple[ScopeChange, ...]
    """In order."""
    is_undo: bool = False
    """Whether this is the `ScopesListed.undo` of before: what it takes back is not taken back a second time."""


class ScopesChanged(Message, frozen=True, kw_only=True):
    """Answer to `ChangeScopes`."""

    changed: tuple[bool, ...]
    """For each change, in order, whether it did anything."""
    made_way: tuple[RenameScope, ...] = ()
    """What was done first: projects that had only their folder's name have another path now."""
