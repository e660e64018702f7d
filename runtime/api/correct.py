"""Verbs of a mind that store a text on purpose, correct a memory, name near-duplicates, and rename and move scopes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.capture.messages import CaptureText, TextCaptured
from mnemic.actors.kernel.errors import InvalidValue, MnemicError
from mnemic.actors.kernel.events import escape_surrogates, to_bytes
from mnemic.actors.kernel.message import MemoryId, id_bytes, ids_bytes
from mnemic.actors.kernel.scope_paths import ScopeChange, ScopeRef, normalize_scope_path
from mnemic.actors.recall.messages import FindSimilar, GetMemories, Memory, SimilarFound
from mnemic.actors.scopes.changes import MoveMemories, MoveProject, RenameScope
from mnemic.actors.scopes.messages import ChangeScopes, FindScope, ListScopes, ScopeInfo, ScopesListed
from mnemic.actors.scopes.rescope import ScopeOutcome, plan_merge, plan_move, scopes_under, summarize_changes
from mnemic.runtime.api.verbs import MindVerbs, fields_as_parameters
from mnemic.runtime.minds.projects import resolve_folder, resolve_scope

_GIT = "/.git"


class CorrectionVerbs(MindVerbs):
    """The verbs."""

    @fields_as_parameters(CaptureText, "place", "occurrence")
    def remember(
        self,
        text: str,
        *,
        scope: ScopeRef | str | None = None,
        supersedes: MemoryId | None = None,
        similar: bool = True,
        **asked: Any,
    ) -> TextCaptured:
        """Keep one text; with `supersedes`, it replaces an earlier memory and outranks it from then on.

        Args:
            scope: where it belongs; where absent, the scope of what it replaces, else none.
            supersedes: id of what it replaces: the 16 bytes, the UUID or its text.
            similar: whether what says nearly the same is named with the answer; that takes as long as a recall.

        Raises:
            InvalidValue: the text is empty, an argument is not of its kind, or the memory would replace itself or one
                of another scope.
            NoSuchMemory: there is nothing of the id to replace.
        """
        place = scope if isinstance(scope, ScopeRef) else resolve_scope(scope, None)
        replaced = None if supersedes is None else id_bytes(supersedes)
        if replaced is not None:
            there = self._get_memory(replaced).scope
            if scope is None:
                place = ScopeRef(path=there, project=None, found="named")
            elif self._find_scope_path(place) != there:
                raise InvalidValue(
                    name="scope",
                    value=place.path,
                    why="what is replaced is in another scope, where this would not be seen",
                    expected="the scope of what is replaced, or none",
                )
        kept = self._capture_text(CaptureText(text=to_bytes(text), place=place, supersedes=replaced, **asked))
        return self._with_similar(kept, text, replaced) if similar and not kept.erased else kept

    def correct(self, memory: MemoryId, text: str, **asked: Any) -> TextCaptured:
        """Say what holds instead of a memory: it outranks that one at once, which stays readable as the past.

        It belongs to the same scope; it is a decision where that was one, and else a note. All else is as in
        `remember`.

        Args:
            memory: the 16 bytes of its id, the UUID or its text.

        Raises:
            NoSuchMemory: there is nothing of the id.
            InvalidValue: the text is empty, or the id is none.
        """
        old = self._get_memory(id_bytes(memory))
        kind = "decision" if old.kind == "decision" else "note"
        return self.remember(text, kind=kind, supersedes=memory, **asked)

    def similar(self, text: str, *, scope: str, exclude: Iterable[MemoryId] = (), limit: int = 3) -> SimilarFound:
        """Name the memories of a scope, and of those below it, that say nearly the same as a text.

        Args:
            exclude: ids of memories that are not to be named, nor what they replaced.

        Raises:
            UnknownScope: no memory is in the scope.
            InvalidValue: the limit is less than 1.
        """
        return self._ask(
            FindSimilar(text=text, scope=normalize_scope_path(scope), exclude=ids_bytes(exclude), limit=limit)
        )

    def _capture_text(self, message: CaptureText) -> TextCaptured:
        """Have a text kept: where it belongs, though the same was said elsewhere, and on top of what it replaces."""
        while True:
            kept = self._ask(message)
            if kept.created or kept.erased:
                return kept
            if message.supersedes is None:
                if kept.scope == self._find_scope_path(message.place):
                    return kept
                message = msgspec.structs.replace(message, occurrence=message.occurrence + 1)
            elif kept.superseded_by is None or kept.retired_at is not None:
                return kept
            else:  # it was said before, and is the past by now: whoever says it again means it anew
                message = msgspec.structs.replace(message, supersedes=kept.superseded_by)

    def _with_similar(self, kept: TextCaptured, text: str, supersedes: bytes | None) -> TextCaptured:
        """The answer, with what says nearly the same; the text is kept, whatever becomes of that."""
        but = (kept.id,) if supersedes is None else (kept.id, supersedes)
        try:
            found = self.similar(text, scope=kept.scope, exclude=but)
        except MnemicError as error:
            return msgspec.structs.replace(kept, degraded=(f"nothing was looked for that is similar: {error}",))
        return msgspec.structs.replace(kept, similar=found.similar, degraded=found.degraded)

    def _get_memory(self, memory: bytes) -> Memory:
        answer = self._ask(GetMemories(ids=(memory,)))
        return answer.memories[0]

    def _find_scope_path(self, place: ScopeRef) -> str | None:
        answer = self._ask(FindScope(place=place))
        return answer.path

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
        new = str(resolve_folder(folder, "the new folder"))
        if not os.path.isdir(new):
            raise InvalidValue(
                name="the new folder",
                value=os.fspath(folder),
                why="there is no such folder",
                expected="the folder where the project is now",
            )
        known = self.scopes().scopes
        if what.startswith(("/", "~", ".")):
            moves = tuple(
                _folder_moves(self._home, known, escape_surrogates(str(resolve_folder(what, "the old folder"))), new)
            )
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
            moves = (MoveProject(path=path, project=_project_at(self._home, new), was=sole or one.project),)
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

    def assign_scope(self, memories: Iterable[MemoryId], scope: str) -> tuple[ScopeOutcome, ...]:
        """Have memories belong to another scope, with what they replace and what replaces them.

        A scope that is not there is made. `undo_scope_change` takes it back.

        Args:
            memories: of each the 16 bytes of its id, the UUID or its text.

        Raises:
            NoSuchMemory: there is nothing of an id.
            InvalidValue: the scope is no path, or none.
        """
        to = _scope_to_assign(scope)
        known, found = self.scopes().scopes, dict[bytes, str]()
        waiting = list(dict.fromkeys(ids_bytes(memories)))
        while waiting:
            there = self._ask(GetMemories(ids=tuple(waiting))).memories
            found |= {one.id: one.scope for one in there}
            linked = dict.fromkeys(id for one in there for id in (one.superseded_by, *one.supersedes) if id is not None)
            waiting = [id for id in linked if id not in found]
        by_scope: dict[str, list[bytes]] = {}
        for id, path in found.items():
            by_scope.setdefault(path, []).append(id)
        moves = (MoveMemories(memories=tuple(ids), path=path, to=to) for path, ids in sorted(by_scope.items()))
        return self._rescope(known, tuple(one for one in moves if one.path != to))

    def assign_unscoped(self, scope: str) -> tuple[ScopeOutcome, ...]:
        """Have all memories that belong to no project belong to a scope; see `assign_scope`.

        Raises:
            InvalidValue: the scope is no path, or none.
        """
        move = MoveMemories(memories=None, path="", to=_scope_to_assign(scope))
        return self._rescope(self.scopes().scopes, (move,))

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
        done = [one for one, changed in zip(changes, answer.changed, strict=True) if changed]
        return summarize_changes(known, [*answer.made_way, *done])


def _scope_to_assign(scope: str) -> str:
    path = normalize_scope_path(scope)
    if not path:
        raise InvalidValue(name="the scope", value=scope, why="it is empty", expected="a path, such as work/shelf")
    return path


def _project_at(home: Path, folder: str) -> str:
    """What makes the project of a folder itself.

    Raises:
        InvalidValue: a ``.mnemic.toml`` that counts there says which scope it is.
    """
    place = resolve_scope(None, folder, home=home)
    if place.project is None:
        raise InvalidValue(
            name="the new folder",
            value=folder,
            why=f"its .mnemic.toml says that it is {place.path!r}",
            expected="that path to the scope, by `mnemic scope rename` or `merge`",
        )
    return place.project


def _folder_moves(home: Path, known: Sequence[ScopeInfo], old: str, new: str) -> Iterator[MoveProject]:
    """What says that all projects that were in a folder are in another one now."""
    for one in known:
        for project in (one.project, *one.projects):
            root = "" if project is None else project.removesuffix(_GIT)
            if root == old or root.startswith(f"{old}/"):
                there = new + root.removeprefix(old)
                # What is not there yet, or no longer, is where the other folder's name says.
                now = (
                    _project_at(home, there)
                    if os.path.isdir(there)
                    else escape_surrogates(new + str(project).removeprefix(old))
                )
                yield MoveProject(path=one.path, project=now, was=project)


def _projects(one: ScopeInfo) -> list[str]:
    """All projects of a scope: its own, and those that were merged into it."""
    return [project for project in (one.project, *one.projects) if project is not None]
