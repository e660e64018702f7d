"""Verbs of a mind that list, rename, merge and move scopes (the projects that memories belong to).

Verbs of `mnemic.runtime.api.mind.Mind`, by way of `mnemic.runtime.api.correct` above.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from mnemic.actors.capture.rescope import ScopeOutcome, plan_merge, plan_move, scopes_under, summarize_changes
from mnemic.actors.protocol.changes import MoveProject, RenameScope
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.events import escape_surrogates
from mnemic.actors.protocol.scopes import (
    ChangeScopes,
    ListScopes,
    ScopeChange,
    ScopeInfo,
    ScopesListed,
    normalize_scope_path,
)
from mnemic.runtime.api.verbs import MindVerbs
from mnemic.runtime.minds.projects import resolve_scope

__all__ = ["ScopeVerbs"]

_GIT = "/.git"


class ScopeVerbs(MindVerbs):
    """The verbs."""

    def scopes(self) -> ScopesListed:
        """Which scopes there are, by path, and what would take back the last change of them."""
        return self._ask(ListScopes())

    def rename_scope(self, path: str, to: str) -> tuple[ScopeOutcome, ...]:
        """Give a scope, and those below it, another path. `undo_scope_change` takes it back.

        Raises:
            UnknownScope: there is none of that path, nor below it.
            InvalidValue: a path is none, or something is at the new one.
        """
        path, to = normalize_scope_path(path), normalize_scope_path(to, "the new path")
        known = self.scopes().scopes
        scopes_under(known, path)
        return self._rescope(known, () if path == to else (RenameScope(path=path, to=to),))

    def merge_scopes(self, path: str, into: str) -> tuple[ScopeOutcome, ...]:
        """Put a scope, and those below it, into another one, and from now on what their projects bring.

        Raises:
            UnknownScope: there is none of one of the paths, nor below it.
            InvalidValue: a path is none, or the one lies within the other.
        """
        known = self.scopes().scopes
        return self._rescope(known, plan_merge(known, normalize_scope_path(path), normalize_scope_path(into)))

    def move_scope(self, what: str, folder: str | os.PathLike[str]) -> tuple[ScopeOutcome, ...]:
        """Say where the project of a scope is now, or all projects that were in a folder.

        The old folder is nobody's afterwards, also where the new one belongs to the same scope already: the two were
        merged.

        Args:
            what: a scope's path; or the folder as it was, absolute or starting with ``~`` or ``.``.
            folder: where it is now.

        Raises:
            UnknownScope: there is no such scope.
            InvalidValue: the folder is not there, holds another scope's project, or names its scope itself; or no
                project that is known was where `what` says.
        """
        new = os.path.realpath(os.path.expanduser(folder))
        if not os.path.isdir(new):
            raise InvalidValue(
                name="the new folder",
                value=os.fspath(folder),
                why="there is no such folder",
                expected="the folder where the project is now",
            )
        known = self.scopes().scopes
        if what.startswith(("/", "~", ".")):
            moves = tuple(_folder_moves(known, escape_surrogates(os.path.realpath(os.path.expanduser(what))), new))
            if not moves:
                raise InvalidValue(
                    name="the old folder",
                    value=what,
                    why="no project that is known here was in it",
                    expected="the path of a scope, or a folder that `mnemic scope list` shows",
                )
        else:
            path = normalize_scope_path(what)
            one = next((one for one in known if one.path == path), None)
            if one is None:
                below = scopes_under(known, path)
                raise InvalidValue(
                    name="the scope",
                    value=path,
                    why="it holds nothing itself, and has no project",
                    expected=f"one below it, such as {below[0]!r}",
                )
            sole = one.projects[0] if one.project is None and len(one.projects) == 1 else None
            moves = (MoveProject(path=path, project=_project_at(new), was=sole or one.project),)
        for move in moves:
            holder = next((one.path for one in known if move.project in _projects(one)), move.path)
            if holder != move.path:
                root = str(move.project).removesuffix(_GIT)
                merge = self.command("scope", "merge", holder, move.path)
                raise InvalidValue(
                    name="the new folder",
                    value=os.fspath(folder),
                    why=f"{'it' if root == escape_surrogates(new) else root} is the project of {holder!r}",
                    expected=f"another one, or have both be one project by `{merge}`",
                )
        return self._rescope(known, tuple(change for move in moves for change in plan_move(known, move)))

    def moved_folders(self, path: str) -> tuple[tuple[str, str], ...]:
        """Folders of a scope that are not there any more, each with the only one that is: perhaps the project moved.

        `move_scope` of the one to the other says that it did.
        """
        projects = [project for one in self.scopes().scopes if one.path == path for project in _projects(one)]
        there = [project for project in projects if os.path.lexists(project)]
        if len(there) != 1:
            return ()
        gone = [project for project in projects if project not in there]
        return tuple((project.removesuffix(_GIT), there[0].removesuffix(_GIT)) for project in gone)

    def undo_scope_change(self) -> tuple[ScopeOutcome, ...]:
        """Take back the last change of scopes that is not taken back yet; what was captured since stays where it is.

        Raises:
            InvalidValue: something has come since to where it was.
        """
        scopes = self.scopes()
        return self._rescope(scopes.scopes, scopes.undo, undoes=True)

    def _rescope(
        self, known: Sequence[ScopeInfo], changes: tuple[ScopeChange, ...], *, undoes: bool = False
    ) -> tuple[ScopeOutcome, ...]:
        answer = self._ask(ChangeScopes(changes=changes, is_undo=undoes))
        return summarize_changes(known, [one for one, changed in zip(changes, answer.changed, strict=True) if changed])


def _project_at(folder: str) -> str:
    """What makes the project of a folder itself.

    Raises:
        InvalidValue: a ``.mnemic.toml`` there says which scope it is.
    """
    place = resolve_scope(None, folder)
    if place.project is None:
        raise InvalidValue(
            name="the new folder",
            value=folder,
            why=f"its .mnemic.toml says that it is {place.path!r}",
            expected="that path to the scope, by `mnemic scope rename` or `merge`",
        )
    return place.project


def _folder_moves(known: Sequence[ScopeInfo], old: str, new: str) -> Iterator[MoveProject]:
    """What says that all projects that were in a folder are in another one now."""
    for one in known:
        for project in (one.project, *one.projects):
            root = "" if project is None else project.removesuffix(_GIT)
            if root == old or root.startswith(f"{old}/"):
                there = new + root.removeprefix(old)
                # What is not there yet, or no longer, is where the other folder's name says.
                now = (
                    _project_at(there)
                    if os.path.isdir(there)
                    else escape_surrogates(new + str(project).removeprefix(old))
                )
                yield MoveProject(path=one.path, project=now, was=project)


def _projects(one: ScopeInfo) -> list[str]:
    """All projects of a scope: its own, and those that were merged into it."""
    return [project for project in (one.project, *one.projects) if project is not None]
