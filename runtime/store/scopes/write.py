"""Applying changes of scopes (a project's path): rename, merge, split, and a project whose folder moved.

Beside `mnemic.runtime.store.log.write`. A memory keeps its row and its words; what moves is the scope it belongs
to. Whoever holds in memory which that is loads it again, since the generation grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from mnemic.actors.kernel.changes import Change, Logged
from mnemic.actors.kernel.errors import InvalidValue, UnknownScope
from mnemic.actors.kernel.scope_paths import EVERYWHERE, ScopeChange, ScopeRef, normalize_scope_path
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.runtime.store.apply_context import UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.scopes.read import has_folder_name, made_way_since, project_scope, scopes_below, seq_to_undo

_decode_change = msgspec.msgpack.Decoder(Logged).decode


def move_found_scope(context: ApplyContext, place: ScopeRef, at: int) -> tuple[RenameScope, ScopeChange] | None:
    """Give a project that has its folder's name another path where a ``.mnemic.toml`` names that, or what lies below.

    Else that project would be told what its owner named, as it would not be had it come second. A folder's name is one
    part; a project whose owner renamed it to several stays. So does one at what is named by hand, since that is how a
    project is addressed.

    Returns:
        The rename and what takes it back; ``None`` where nothing was in the way.
    """
    return _make_way(context, place.path, at) if place.found == ".mnemic.toml" else None


def _make_way(context: ApplyContext, path: str, at: int) -> tuple[RenameScope, ScopeChange] | None:
    change = rename_that_makes_way(context.db, path)
    if change is None:
        return None
    undo = _rename(context, change, at).undo
    assert isinstance(undo, RenameScope)
    return change, undo


def rename_that_makes_way(db: apsw.Connection, path: str) -> RenameScope | None:
    """What gives a project another path that has its folder's name, where that is the first of a path's names."""
    first = _first(path)
    return RenameScope(path=first, to=free_path(db, first), below=False) if has_folder_name(db, first) else None


def check_undo(db: apsw.Connection, changes: Sequence[Change]) -> None:
    """Refuse to take back a change of scopes where its paths mean something else by now.

    Raises:
        InvalidValue: a project made way since, and another one has its path; or one that has its folder's name would
            come to stand above what came since.
    """
    made_way = {one.path: one.to for one in made_way_since(db, seq_to_undo(db))}
    renames = [change for change in changes if isinstance(change, RenameScope)]
    for change in changes:
        for path in (getattr(change, name, "") for name in ("path", "to", "into")):
            if path in made_way:
                raise InvalidValue(
                    name="the change to take back",
                    value=path,
                    why=f"what was called so made way since, and is {made_way[path]!r}",
                    expected=f"{made_way[path]!r} another path, by renaming or merging it",
                )
        if isinstance(change, RenameScope) and _holds_named_since(db, change):
            raise InvalidValue(
                name="the path that comes back",
                value=change.to,
                why=f"what a file calls {change.path!r} was kept in it since",
                expected=f"{change.path!r} to stay, or rename it yourself",
            )
        back = ""
        if isinstance(change, RenameScope) and has_folder_name(db, change.path):
            back = change.to
        elif isinstance(change, SplitScope) and change.project is not None and change.found in ("git", "folder"):
            back = change.path
        for _, path in scopes_below(db, back) if back and "/" not in back else ():
            goes = any(path == one.path or (one.below and path.startswith(f"{one.path}/")) for one in renames)
            if path != back and not goes:
                raise InvalidValue(
                    name="the path that comes back",
                    value=back,
                    why=f"{path!r} came to lie below it since",
                    expected=f"{path!r} another path, by renaming it",
                )


def _holds_named_since(db: apsw.Connection, undo: RenameScope) -> bool:
    """Say whether a project that would have its folder's name again holds what a ``.mnemic.toml`` named."""
    project = "SELECT 1 FROM scopes WHERE path = ? AND project IS NOT NULL AND found IN ('git', 'folder')"
    if "/" in undo.to or db.execute(project, (undo.path,)).get is None:
        return False
    added = (_decode_change(one) for (one,) in db.execute("SELECT change FROM log WHERE seq > ?", (seq_to_undo(db),)))
    named = (one.place.path for one in added if isinstance(one, AddMemory) and one.place.found == ".mnemic.toml")
    return any(path == undo.path or (undo.below and path.startswith(f"{undo.path}/")) for path in named)


def free_path(db: apsw.Connection, path: str) -> str:
    """A path at which nothing is, nor below it: the one given, or with the first number behind it that makes it so.

    Nor is it what is kept for every project, which no folder's name makes anything a part of.
    """
    free, number = path, 1
    while free == EVERYWHERE or scopes_below(db, free):
        number += 1
        free = f"{path}~{number}"
    return free


def _rename(context: ApplyContext, change: RenameScope, at: int) -> ChangeResult:
    if change.path == change.to:
        return UNCHANGED
    if not context.is_replaying and (not change.to or normalize_scope_path(change.to) != change.to):
        raise InvalidValue(
            name="the new path", value=change.to, why="it is none", expected="a path, such as work/shelf"
        )
    moved = (
        scopes_below(context.db, change.path)
        if change.path and change.below
        else [_find_scope(context.db, change.path)]
    )
    if not moved:
        raise UnknownScope(scope=change.path, near="")
    if not context.is_replaying:
        for _, path in moved:  # one that is too long could not be asked for
            normalize_scope_path(change.to + path.removeprefix(change.path), f"the new path of {path!r}")
    before = None
    if change.below and not context.is_replaying and _first(change.path) != _first(change.to) != change.to:
        before = _make_way(context, change.to, at)  # what is put below it is not to be told to it
    numbers = {number for number, _ in moved}
    others = [path for number, path in scopes_below(context.db, change.to) if number not in numbers]
    taken = next((path for path in others if change.below or path == change.to), None)
    if taken is not None:
        raise InvalidValue(
            name="the new path",
            value=change.to,
            why="something is there" if taken == change.to else f"{taken!r} lies below it",
            expected="a path that is free, or merge the two",
        )
    for number, path in moved:  # in two steps: one may get the path that another is about to leave
        context.db.execute("UPDATE scopes SET path = ? WHERE id = ?", (f"\x1f{path}", number))
    for number, path in moved:
        context.db.execute(
            "UPDATE scopes SET path = ? WHERE id = ?", (change.to + path.removeprefix(change.path), number)
        )
    context.rebind_queue.scopes_changed(numbers)
    return ChangeResult(undo=RenameScope(path=change.to, to=change.path, below=change.below), before=before)


def _first(path: str) -> str:
    return path.partition("/")[0]


def _merge(context: ApplyContext, change: MergeScopes, at: int) -> ChangeResult:
    (number, path), (into, _) = _find_scope(context.db, change.path), _find_scope(context.db, change.into)
    if number == into:
        return UNCHANGED
    found, project = next(context.db.execute("SELECT found, project FROM scopes WHERE id = ?", (number,)))
    projects: list[Any] = context.db.execute(
        "SELECT project FROM projects WHERE scope = ? ORDER BY project", (number,)
    ).fetchall()
    memories: list[Any] = context.db.execute(
        "SELECT uuid FROM memories WHERE scope = ? ORDER BY id", (number,)
    ).fetchall()
    context.rebind_queue.scopes_changed([number])  # as long as it tells which memories they are
    context.db.execute("UPDATE memories SET scope = ? WHERE scope = ?", (into, number))
    context.db.execute("UPDATE projects SET scope = ? WHERE scope = ?", (into, number))
    context.db.execute("DELETE FROM scopes WHERE id = ?", (number,))
    if project is not None:
        context.db.execute("INSERT INTO projects(project, scope) VALUES(?, ?)", (project, into))
    bump_generation(context.db)
    undo = SplitScope(
        path=path,
        found=found,
        project=project,
        projects=tuple(one for (one,) in projects),
        into=change.into,
        memories=tuple(uuid for (uuid,) in memories),
    )
    return ChangeResult(undo=undo)


def _split(context: ApplyContext, change: SplitScope, at: int) -> ChangeResult:
    into, _ = _find_scope(context.db, change.into)
    if context.db.execute("SELECT 1 FROM scopes WHERE path = ?", (change.path,)).get is not None:
        raise InvalidValue(
            name="the scope that comes back",
            value=change.path,
            why="another one has been made of that path since",
            expected="it another path first, by renaming it",
        )
    for project in (change.project, *change.projects):
        context.db.execute("DELETE FROM projects WHERE project = ? AND scope = ?", (project, into))
        there = None if project is None else project_scope(context.db, project)
        if there is not None:
            raise InvalidValue(
                name="the scope that comes back",
                value=change.path,
                why=f"its project is the one of {there[1]!r} since",
                expected=f"{there[1]!r} another folder first, by moving it",
            )
    context.db.execute(
        "INSERT INTO scopes(path, project, found) VALUES(?, ?, ?)", (change.path, change.project, change.found)
    )
    number = context.db.last_insert_rowid()
    for project in change.projects:
        context.db.execute("INSERT INTO projects(project, scope) VALUES(?, ?)", (project, number))
    for memory in change.memories:
        context.db.execute("UPDATE memories SET scope = ? WHERE uuid = ? AND scope = ?", (number, memory, into))
    context.rebind_queue.scopes_changed([number])
    bump_generation(context.db)
    return ChangeResult(undo=MergeScopes(path=change.path, into=change.into))


def _move(context: ApplyContext, change: MoveProject, at: int) -> ChangeResult:
    number, path = _find_scope(context.db, change.path)
    own = context.db.execute("SELECT project FROM scopes WHERE id = ?", (number,)).get
    merged = change.was is not None and change.project is not None  # what was merged into it always has a folder
    if change.was != own and not (merged and project_scope(context.db, str(change.was)) == (number, path)):
        raise InvalidValue(
            name="the project that moved",
            value=change.was,
            why=f"it is not the one of {path!r}",
            expected="one that `mnemic scope list` shows",
        )
    there = None if change.project is None else project_scope(context.db, change.project)
    if there is not None and there[0] != number:
        raise InvalidValue(
            name="the new folder",
            value=change.project,
            why=f"it is the project of {there[1]!r}",
            expected=f"another one, or merge {there[1]!r} and {path!r}",
        )
    if there is not None or change.project == change.was:
        return UNCHANGED
    if change.was == own:
        context.db.execute("UPDATE scopes SET project = ? WHERE id = ?", (change.project, number))
    else:
        context.db.execute("UPDATE projects SET project = ? WHERE project = ?", (change.project, change.was))
    return ChangeResult(undo=MoveProject(path=change.path, project=change.was, was=change.project))


def _move_memories(context: ApplyContext, change: MoveMemories, at: int) -> ChangeResult:
    """Move what is in the scope; the log, and what takes it back, name the memories that were."""
    db = context.db
    asked = "SELECT m.id, m.uuid FROM memories m JOIN scopes s ON s.id = m.scope WHERE s.path = ? ORDER BY m.id"
    wanted = None if change.memories is None else frozenset(change.memories)
    there: list[Any] = db.execute(asked, (change.path,)).fetchall()
    rows = [(int(row), bytes(uuid)) for row, uuid in there if wanted is None or uuid in wanted]
    if not rows or change.path == change.to:
        return UNCHANGED
    if not context.is_replaying and normalize_scope_path(change.to, "the new scope") != change.to:
        raise InvalidValue(name="the new scope", value=change.to, why="it is none", expected="a path")
    db.execute(
        "INSERT OR IGNORE INTO scopes(path, project, found) VALUES(?, NULL, ?)",
        (change.to, "named" if change.to else "none"),
    )
    to = db.execute("SELECT id FROM scopes WHERE path = ?", (change.to,)).get
    for row, _ in rows:
        db.execute("UPDATE memories SET scope = ? WHERE id = ?", (to, row))
        context.rebind_queue.enqueue(row)
    db.execute(  # a name that holds nothing is none; what is a project's, or a file names, comes again
        "DELETE FROM scopes WHERE path = ? AND found IN ('named', 'none') AND project IS NULL"
        " AND id NOT IN (SELECT scope FROM memories UNION SELECT scope FROM projects)",
        (change.path,),
    )
    bump_generation(db)
    ids = tuple(uuid for _, uuid in rows)
    moved = MoveMemories(memories=ids, path=change.path, to=change.to)
    return ChangeResult(logged=moved, undo=MoveMemories(memories=ids, path=change.to, to=change.path))


def _find_scope(db: apsw.Connection, path: str) -> tuple[int, str]:
    if not path:
        raise InvalidValue(
            name="a scope", value=path, why="what belongs to no project stays there", expected="the path of a scope"
        )
    found = db.execute("SELECT id FROM scopes WHERE path = ?", (path,)).get
    if found is None:
        raise UnknownScope(scope=path, near="")
    return int(found), path


def bump_generation(db: apsw.Connection) -> None:
    """Have what is held in memory loaded again: memories belong to another scope than they did."""
    db.execute("UPDATE generation SET number = number + 1")


SCOPE_HANDLERS: dict[type, Handler] = {
    RenameScope: _rename,
    MergeScopes: _merge,
    SplitScope: _split,
    MoveProject: _move,
    MoveMemories: _move_memories,
}
