"""Scopes (project paths): as they are named, listed and changed; and what is forgotten by them or otherwise.

`mnemic.actors.scopes.rescope` plans what
`ChangeScopes` asks for; `mnemic.runtime.transfer.erase` goes by the same selections.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, Union

import msgspec

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.message import safe_operand
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope

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


class ScopeRef(msgspec.Struct, frozen=True):
    """Which scope something belongs to, and how that is known."""

    path: str
    """The scope's path, such as ``workspace/project``; ``""`` for what belongs to no project."""
    project: str | None
    """What makes the project itself: its common git directory or its folder; ``None`` for a scope given by name.
    Two projects of one name get two paths (``shelf`` and ``shelf~2``)."""
    found: str
    """How it was found: ``named``, ``.mnemic.toml``, ``git``, ``folder`` or ``none``."""


Scopes = str | tuple[str, ...]
"""One scope's path, or several."""
