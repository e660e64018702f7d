"""Scopes (project paths): as they are named, listed and changed; and what is forgotten by them or otherwise.

`mnemic.actors.capture.rescope` plans what
`ChangeScopes` asks for; `mnemic.runtime.transfer.erase` goes by the same selections.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, Union

from mnemic.actors.protocol.capture.messages import Retirement
from mnemic.actors.protocol.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.message import Id, Message, Time, Verb, safe_operand
from mnemic.actors.protocol.recall.messages import Scopes
from mnemic.actors.protocol.store.messages import ScopeCount

_PART = re.compile(r"[^\x00-\x1f/*\ud800-\udfff]+")
_MOST_BYTES = 512
_MOST_PARTS = 16

EVERYWHERE = "everywhere"
"""The scope of what is found and told in every project. No folder comes to that name, and no file in one names it."""

_MOST_NEAR, _LEAST_RATIO = 3, 0.75
_NAMES = "names joined by '/', such as work/shelf"


def normalize_scope_path(scope: str, name: str = "a scope") -> str:
    """A scope's path, without slashes at its ends.

    Raises:
        InvalidValue: it is no text, or a part is blank, ``.`` or ``..``, or holds ``*``, a control character or a lone
            surrogate; or it is longer than 512 bytes or 16 parts.
    """
    given: Any = scope  # by programs, it may be anything
    if not isinstance(given, str):
        raise InvalidValue(name=name, value=safe_operand(given), why="it is no text", expected=_NAMES)
    path = scope.strip("/")
    if path and not all(_PART.fullmatch(part) and part.strip() not in ("", ".", "..") for part in path.split("/")):
        raise InvalidValue(name=name, value=scope, why="it is no path", expected=_NAMES)
    if len(path.encode()) > _MOST_BYTES or path.count("/") >= _MOST_PARTS:
        expected = f"a path of at most {_MOST_BYTES} bytes and {_MOST_PARTS} names"
        raise InvalidValue(name=name, value=scope, why="it is too long", expected=expected)
    return path


def is_everywhere(path: str) -> bool:
    """Whether a scope's path is `EVERYWHERE`, or lies below it."""
    return path == EVERYWHERE or path.startswith(f"{EVERYWHERE}/")


def normalize_scopes(scope: Scopes) -> Scopes:
    """One scope's path or several, each without slashes at its ends and once; ``*`` where that is one of them.

    Raises:
        InvalidValue: one is no path, or none is given.
    """
    given: Any = scope
    if isinstance(given, str) or not isinstance(given, Iterable):
        return given if given == "*" else normalize_scope_path(given)
    paths = asked_scopes(tuple(one if one == "*" else normalize_scope_path(one) for one in given))
    return "*" if paths is None else paths if len(paths) > 1 else paths[0]


def asked_scopes(scope: Scopes) -> tuple[str, ...] | None:
    """The paths that are asked for, each once; ``None`` for everything.

    Raises:
        InvalidValue: they are none.
    """
    paths = (scope,) if isinstance(scope, str) else tuple(dict.fromkeys(scope))
    if not paths:
        raise InvalidValue(name="a scope", value="", why="none is given", expected=f"{_NAMES}, or * for everything")
    return None if "*" in paths else paths


def suggest_scopes(scope: str, known: Iterable[str]) -> str:
    """A question for whoever has named a scope that is not there: the three at most that are nearest, closest first.

    A path is as near as the whole of it, or as its last names, as many as `scope` has; capitals do not count.
    """
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(scope.lower())
    names = scope.count("/") + 1
    near = []
    for path in known:
        ratio = 0.0
        for text in {path.lower(), "/".join(path.lower().split("/")[-names:])}:
            matcher.set_seq1(text)
            if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= _LEAST_RATIO:
                ratio = max(ratio, matcher.ratio())
        if ratio >= _LEAST_RATIO:
            near.append((-ratio, path))
    return did_you_mean(path for _, path in sorted(near)[:_MOST_NEAR])


def suggest_sessions(session: str, known: Iterable[str]) -> str:
    """The same for a conversation: those that begin so, else what `suggest_scopes` finds near."""
    known = list(known)
    begun = [name for name in known if session and name.startswith(session)][:_MOST_NEAR]
    return did_you_mean(begun) or suggest_scopes(session, known)


def did_you_mean(names: Iterable[str]) -> str:
    """A question for whoever named what is not there; nothing where nothing is near."""
    quoted = [repr(name) for name in names]
    return (
        f"Did you mean {' or '.join([', '.join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)}? "
        if quoted
        else ""
    )


MCP_RIGHTS = ("read-all", "write-all")
"""What an owner may allow an assistant by MCP: to read the memories of every project; to keep and forget memories in
every project, as anybody's words and of any time."""
SCOPES_AUTHOR = "scopes"
"""The author of what changes scopes."""
SCOPES_UNDO_AUTHOR = "scopes.undo"
"""The author of what takes such a change back."""

ScopeChange = Union[RenameScope, MergeScopes, SplitScope, MoveProject, MoveMemories]  # noqa: UP007 - decoders need unions
"""A change of scopes; each is taken back by one of them."""


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


class Selection(Message, frozen=True, kw_only=True):
    """Which memories are meant: those that are named, or else all that fulfil every condition that is given."""

    ids: tuple[Id, ...] = ()
    """These, and no others; all of them must be there."""
    scope: str | None = None
    """In this scope or below it; ``*`` is everything."""
    session: str | None = None
    """Of the conversation of that name, and of those that its subagents had."""
    since: Time | None = None
    """Said at or after; what its source gave no time is left out."""
    until: Time | None = None
    """Said before; what its source gave no time is left out."""
    forgotten_at: Time | None = None
    """Those that were forgotten at that very moment."""

    @property
    def empty(self) -> bool:
        """Whether nothing is said of which are meant."""
        return self == Selection()


class BackupCopy(Message, frozen=True, kw_only=True):
    """A backup or an export that was made when a memory was there."""

    path: str
    """Where it was written."""
    what: str
    """``backup`` or ``export``."""
    at: Time
    """When, system time."""


class Survey(Verb["Surveyed"], frozen=True, kw_only=True):
    """Say what a selection holds."""

    selection: Selection
    """Which memories."""
    shown: int = 10
    """So many of them at most are shown."""


class Surveyed(Message, frozen=True, kw_only=True):
    """Answer to `Survey`."""

    memories: int
    """How many there are."""
    retired: int
    """Of those, memories that were forgotten."""
    size_bytes: int
    """How long their texts are together."""
    sessions: int
    """How many conversations they are of."""
    scopes: tuple[ScopeCount, ...]
    """How many of them are in which scope, by path."""
    oldest: Time | None
    """World time of the oldest."""
    newest: Time | None
    """World time of the newest."""
    first: tuple[Retirement, ...]
    """The newest of them, and how each begins; `Retirement.changed` says nothing here."""
    originals: int
    """Words kept as they were before secrets were taken out of them."""
    given: int
    """How often an assistant was given one of them, or a recall found one."""
    corrected: int
    """Memories beside them that one of them replaces, and that will stand for themselves again."""
    copies: tuple[BackupCopy, ...]
    """Backups and exports in which some of them are, newest first."""
    generation: int
    """With `last_row`, which state this is: what is kept from now on is not in it."""
    last_row: int
    """Highest row of the mind's memories."""


class ForgetSelection(Verb["SelectionForgotten"], frozen=True, kw_only=True):
    """Hide all memories of a selection from recall, or take that back."""

    selection: Selection
    """Which memories."""
    reason: str = ""
    """Why they are hidden."""
    restore: bool = False
    """Whether they are found again."""


class SelectionForgotten(Message, frozen=True, kw_only=True):
    """Answer to `ForgetSelection`."""

    changed: int
    """Memories that stood otherwise before."""
    unchanged: int
    """Memories that stood so already."""
    at: Time | None
    """System time at which they were forgotten: what takes just this back goes by it."""
