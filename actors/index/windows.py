"""Arrays that grow, the windows of each memory, and how well memories fit a vector by their windows.

Above stands `mnemic.actors.index.recall_index`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class GrowableArray:
    """An array that grows at its end; appending costs amortised time in proportion to what is appended."""

    def __init__(self, empty: NDArray[Any]) -> None:
        self._block = empty
        self._length = len(empty)

    def append(self, more: NDArray[Any]) -> None:
        length = self._length + len(more)
        if length > len(self._block):
            # Room for what comes, from the first time on: what is not written to takes up no memory.
            block = np.empty((length + max(length // 4, 64), *more.shape[1:]), more.dtype)
            block[: self._length] = self._block[: self._length]
            self._block = block
        self._block[self._length : length] = more
        self._length = length

    def select(self, places: NDArray[np.int64]) -> None:
        """Keep some of what was appended, in the order of these places, and nothing else."""
        self._block = self._block[: self._length][places]
        self._length = len(places)

    def view(self) -> NDArray[Any]:
        """What was appended; not a copy."""
        return self._block[: self._length]


class WindowGroups(NamedTuple):
    """The windows of each memory: those of ``memory[i]`` are ``order[first[i] : first[i + 1]]``."""

    order: NDArray[np.int64] | None
    """``(w,)``: windows, those of one memory together, as they were embedded; ``None`` where they all lie so."""
    first: NDArray[np.int64]
    """``(m + 1,)``."""
    memory: NDArray[np.int64]
    """``(m,)``: positions of the memories that have any, ascending."""

    @classmethod
    def of(cls, memory_of_window: NDArray[np.int64]) -> WindowGroups:
        """Group ``(w,)`` windows by the position of each one's memory."""
        order = None
        if (memory_of_window[1:] < memory_of_window[:-1]).any():
            order = np.argsort(memory_of_window, kind="stable")
            memory_of_window = memory_of_window[order]
        begins = np.ones(len(memory_of_window) + 1, np.bool_)
        begins[1:-1] = memory_of_window[1:] != memory_of_window[:-1]
        first = np.flatnonzero(begins) if len(memory_of_window) else np.zeros(1, np.int64)
        return cls(order, first, memory_of_window[first[:-1]])

    def of_memory(self, position: int) -> NDArray[np.int64]:
        """The windows of one memory that has some, ``(k,)``."""
        at = int(np.searchsorted(self.memory, position))
        places = np.arange(self.first[at], self.first[at + 1])
        return places if self.order is None else self.order[places]


class Cosines:
    """How well each memory fits a vector."""

    def __init__(
        self, of_windows: NDArray[np.float32], starts: NDArray[np.int64], groups: WindowGroups, memories: int
    ) -> None:
        each = of_windows if groups.order is None else of_windows[groups.order]
        if len(groups.memory) < len(each):
            each = np.maximum.reduceat(each, groups.first[:-1])
        if len(groups.memory) < memories:
            each, some = np.full(memories, np.nan, np.float32), each
            each[groups.memory] = some
        self.best: NDArray[np.float32] = each
        """``(n,)``: the cosine of each memory's best window; NaN where it is not looked through or has none."""
        self._of_windows, self._starts, self._groups = of_windows, starts, groups

    def start_of_best(self, position: int) -> int:
        """Where the best window of a memory starts, the earliest of equal ones; -1 where it has none."""
        if np.isnan(self.best[position]):
            return -1
        windows = self._groups.of_memory(position)
        return int(self._starts[windows[self._of_windows[windows] == self.best[position]]].min())
