"""Which memories are of some speakers, assistants, roles, branches and tools, or touched some files.

Below `mnemic.actors.index.recall_index`. What is equal of many memories is kept once: a memory costs the four bytes of
a number, and what that stands for some hundred bytes however many have it. It is read when a question first asks for
any of it, and then followed by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.errors import UnknownFilter
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.message import Message
from mnemic.actors.kernel.scope_paths import did_you_mean
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.log.queries import MemoryAttributes

_PAGE = 20_000  # memories read at once
_MOST_NAMED = 8
_GLOB_SIGNS = frozenset("*?[")


class AttributeFilters(Message, frozen=True):
    """What a question asks for; several values of a field are alternatives, and an empty one asks for nothing.

    The fields are named as those of `mnemic.actors.recall.messages.Recall`.
    """

    roles: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    assistants: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """What is asked for, one of each in words: ``role``, ``speaker``, …"""
        return [_FIELDS[name].word for name in self.__struct_fields__ if getattr(self, name)]


class _Field(Message, frozen=True, kw_only=True):
    word: str
    """What one value of it is called."""
    values: Callable[[MemoryAttributes], Sequence[str | None]]
    """A memory's own."""
    matches: Callable[[str, str], bool]
    """Whether a memory's value is what is asked for, which comes second."""


def _is_same(own: str, asked: str) -> bool:
    return own == asked


def _is_same_name(own: str, asked: str) -> bool:
    return own.casefold() == asked.strip().casefold()


def is_file_asked(own: str, asked: str) -> bool:
    """Whether a file is the one asked for: by its whole path, its last parts, or a pattern (``*``, ``?``, ``[…]``) of
    either; a folder, which ends with a slash, stands for what is below it. Capitals count.
    """
    path, pattern = own.replace("\\", "/"), asked.replace("\\", "/").removeprefix("./")
    pattern += "*" if pattern.endswith("/") else ""
    if _GLOB_SIGNS.isdisjoint(pattern):
        return path == pattern or path.endswith(f"/{pattern}")
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


_FIELDS = {
    "roles": _Field(word="role", values=lambda one: (one.role,), matches=_is_same),
    "speakers": _Field(word="speaker", values=lambda one: (one.speaker,), matches=_is_same_name),
    "assistants": _Field(word="assistant", values=lambda one: (one.assistant,), matches=_is_same_name),
    "files": _Field(word="file", values=lambda one: one.files, matches=is_file_asked),
    "branches": _Field(word="branch", values=lambda one: (one.branch,), matches=_is_same),
    "tools": _Field(word="tool", values=lambda one: (one.tool,), matches=_is_same),
}


class AttributeIndex:
    """Follows the store by row, as its owner asks."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all memories."""
        self._numbers: dict[MemoryAttributes, int] = {}
        self._number_of = np.empty(0, np.int32)

    def select(
        self, asked: AttributeFilters, snapshot: Snapshot, rows: NDArray[np.int64], among: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """The memories that have one of the values of each field, ``(n,) bool``.

        Args:
            rows: ``(n,)``: of all memories, those that are known already first.
            among: ``(n,) bool``: those whose values may be named to whoever asks.

        Raises:
            UnknownFilter: none of those has a value that is asked for.
        """
        self._follow(snapshot, rows)
        known = list(self._numbers)
        counts = np.bincount(self._number_of[among], minlength=len(known))
        fitting = np.ones(len(known), np.bool_)
        for name, field in _FIELDS.items():
            wanted = [str(escape_surrogates(one)) for one in getattr(asked, name)]
            if not wanted:
                continue
            of_field = np.zeros(len(known), np.bool_)
            for value in wanted:
                has = np.array(
                    [
                        any(one is not None and field.matches(one, value) for one in field.values(each))
                        for each in known
                    ],
                    np.bool_,
                )
                if not counts[has].any():
                    raise _unknown(field, value, dict(zip(known, counts.tolist(), strict=True)))
                of_field |= has
            fitting &= of_field
        return fitting[self._number_of]

    def _follow(self, snapshot: Snapshot, rows: NDArray[np.int64]) -> None:
        new = [self._number_of]
        for first in range(len(self._number_of), len(rows), _PAGE):
            page = snapshot.memory_attributes(int(rows[first]), int(rows[min(first + _PAGE, len(rows)) - 1]))
            numbers = (self._numbers.setdefault(one, len(self._numbers)) for one in page)
            new.append(np.fromiter(numbers, np.int32, len(page)))
        self._number_of = np.concatenate(new) if len(new) > 1 else self._number_of


def _unknown(field: _Field, value: str, counts: Mapping[MemoryAttributes, int]) -> UnknownFilter:
    """What is raised for a value that no memory has; those that most have are named, and those that are spelt so."""
    there: Counter[str] = Counter()
    for each, count in counts.items():
        for one in filter(None, field.values(each)) if count else ():
            there[one.replace("\\", "/").rpartition("/")[2] if field.word == "file" else one] += count
    near = get_close_matches(value.rpartition("/")[2] if field.word == "file" else value, there, _MOST_NAMED)
    named = [one for one, _ in there.most_common(_MOST_NAMED)]
    more = f" and {len(there) - len(named)} more" if len(there) > len(named) else ""
    known = f"Those that are there: {', '.join(named)}{more}" if named else f"No memory here has a {field.word}"
    return UnknownFilter(what=field.word, value=value, near=did_you_mean(near[:3]), known=known)
