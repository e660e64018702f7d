"""Plans and applies changes of scopes: renaming, merging, splitting, and moving a project's folder.

Whoever asks plans from the scopes there are, and Capture has the Store do it, because it changes what is kept on
somebody's word, as a correction does. The Store refuses what would mix two scopes by mistake.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import InvalidValue, UnknownScope
from mnemic.actors.kernel.message import idempotency_key
from mnemic.actors.kernel.scope_paths import SCOPES_AUTHOR, SCOPES_UNDO_AUTHOR, ScopeChange, suggest_scopes
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.actors.scopes.messages import ChangeScopes, ScopeInfo, ScopesChanged
from mnemic.actors.store.messages import Apply


class ScopeOutcome(NamedTuple):
    """What became of one scope."""

    what: str
    """``renamed``, ``merged``, ``split``, ``moved``, or ``assigned``: memories of it belong to another one."""
    path: str
    """The path it had; of one that was split, the scope that it was in."""
    to: str
    """The path it has now; of one that was merged, the scope that it is in."""
    old_project: str | None = None
    """Of one whose project moved, the project before."""
    project: str | None = None
    """And the one it has now."""
    memories: int = 0
    """How many memories have another path now."""


def apply_scope_changes(message: ChangeScopes, context: Context) -> ScopesChanged:
    """Have the Store change scopes.

    Raises:
        UnknownScope: there is none of a path that is named.
        InvalidValue: it would mix two scopes, or cannot be taken back any more.
        StoreError: nothing was changed.
    """
    if not message.changes:
        return ScopesChanged(changed=())
    key = idempotency_key("rescope", context.trace, *(msgspec.msgpack.encode(change) for change in message.changes))
    author = SCOPES_UNDO_AUTHOR if message.is_undo else SCOPES_AUTHOR
    applied = context.ask(Apply(changes=message.changes, key=key, author=author, run=context.trace))
    return ScopesChanged(changed=applied.changed, made_way=applied.made_way)


def scopes_under(known: Sequence[ScopeInfo], path: str) -> list[str]:
    """Paths of a scope and of those below it, those above first.

    Raises:
        UnknownScope: there is none.
        InvalidValue: the path is empty.
    """
    if not path:
        raise InvalidValue(
            name="a scope",
            value=path,
            why="what belongs to no project has no name",
            expected="the path of a scope, such as work/shelf; `mnemic scope assign --unscoped SCOPE` gives it one",
        )
    found = [one.path for one in known if one.path == path or one.path.startswith(f"{path}/")]
    if not found:
        raise UnknownScope(scope=path, near=suggest_scopes(path, (one.path for one in known)))
    return sorted(found, key=lambda one: (one.count("/"), one))


def plan_merge(known: Sequence[ScopeInfo], path: str, into: str) -> tuple[ScopeChange, ...]:
    """What puts a scope, and those below it, into another one; those above come first, so that their paths are free.

    Raises:
        UnknownScope: there is none of either path.
        InvalidValue: a path is empty, or the one lies within the other that would go.
    """
    moved, there = scopes_under(known, path), {one.path for one in known}
    scopes_under(known, into)
    if into.startswith(f"{path}/"):
        raise InvalidValue(
            name="the scope to merge into",
            value=into,
            why=f"it lies below {path!r}, which would go",
            expected=f"the two the other way round, or a scope that is not below {path!r}",
        )
    if path == into:
        return ()
    changes: list[ScopeChange] = []
    for one in moved:
        to = into + one.removeprefix(path)
        there.remove(one)
        if to in there:
            changes.append(MergeScopes(path=one, into=to))
        else:
            changes.append(RenameScope(path=one, to=to, below=False))
            there.add(to)
    return tuple(changes)


def plan_move(known: Sequence[ScopeInfo], move: MoveProject) -> tuple[ScopeChange, ...]:
    """What says that a project has another folder now, one that belongs to its scope already among them.

    Such a one was merged into the scope, or the one that moved was. It is let go by a scope that takes it out, loses it
    and is merged again: each of these is taken back by what it is.
    """
    one = next(one for one in known if one.path == move.path)
    if move.project == move.was or move.project not in (one.project, *one.projects):
        return (move,)
    paths = {one.path for one in known}
    passing = next(path for path in (f"{move.path}~{number}" for number in itertools.count(2)) if path not in paths)
    goes = move.was if move.was in one.projects else move.project
    releases: tuple[ScopeChange, ...] = (
        SplitScope(path=passing, found="git", project=goes, projects=(), into=move.path, memories=()),
        MoveProject(path=passing, project=None, was=goes),
        MergeScopes(path=passing, into=move.path),
    )
    return releases if goes == move.was else (*releases, move)


def summarize_changes(known: Sequence[ScopeInfo], done: Sequence[ScopeChange]) -> tuple[ScopeOutcome, ...]:
    """What became of each scope, in the order in which it was done; of one that `plan_move` has pass, its folder alone.

    Args:
        known: the scopes there were before.
    """
    sizes = {one.path: one.memories for one in known}
    moved: list[ScopeOutcome] = []
    passing = {change.path: change.into for change in done if isinstance(change, SplitScope)}
    passing = {
        change.path: change.into for change in done if isinstance(change, MergeScopes) and change.path in passing
    }
    moves = [change for change in done if isinstance(change, MoveProject) and change.path not in passing]
    folders = {folder for change in moves for folder in (change.was, change.project)}
    for change in done:
        match change:
            case SplitScope() | MergeScopes() if change.path in passing:
                pass
            case RenameScope():
                renamed = {path: change.to + path.removeprefix(change.path) for path in sizes if _renames(change, path)}
                moved += [
                    ScopeOutcome("renamed", path, to, memories=sizes[path]) for path, to in sorted(renamed.items())
                ]
                sizes = {renamed.get(path, path): size for path, size in sizes.items()}
            case MergeScopes():
                size = sizes.pop(change.path, 0)
                sizes[change.into] = sizes.get(change.into, 0) + size
                moved.append(ScopeOutcome("merged", change.path, change.into, memories=size))
            case SplitScope():
                size = sizes[change.path] = len(change.memories)
                sizes[change.into] = sizes.get(change.into, size) - size
                moved.append(ScopeOutcome("split", change.into, change.path, memories=size))
            case MoveMemories():
                size = sizes.get(change.path, 0) if change.memories is None else len(change.memories)
                sizes[change.path] = sizes.get(change.path, size) - size
                sizes[change.to] = sizes.get(change.to, 0) + size
                moved.append(ScopeOutcome("assigned", change.path, change.to, memories=size))
            case MoveProject():
                path = passing.get(change.path, change.path)
                if path == change.path or (change.was or change.project) not in folders:
                    moved.append(ScopeOutcome("moved", path, path, old_project=change.was, project=change.project))
    return tuple(moved)


def _renames(change: RenameScope, path: str) -> bool:
    return path == change.path or (change.below and path.startswith(f"{change.path}/"))
