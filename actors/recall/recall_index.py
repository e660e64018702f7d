"""The Retriever's in-memory index: columns and vectors of all memories, kept in step with the log.

Beside each vector of float32 lie its codes (`mnemic.algorithms.retrieval.scan`), a quarter of its size, made as it
comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.changes import EncoderName
from mnemic.actors.protocol.events import KINDS, escape_surrogates
from mnemic.actors.protocol.messages import Scopes
from mnemic.actors.protocol.scopes import asked_scopes
from mnemic.actors.protocol.snapshot import Columns, Retired, Snapshot, Superseded
from mnemic.actors.recall.hits import Links
from mnemic.actors.recall.query import scopes_below
from mnemic.actors.recall.word_index import WordIndex
from mnemic.algorithms.retrieval.scan import QuantisedVectors, inner_products, pack_mask

_EMPTY = np.empty(0, np.int64)
_SAMPLE = 256  # memories from which the background is told
_MAX_INT = np.iinfo(np.int64).max


class GrowableArray:
    """An array that grows at its end; appending costs amortised time in proportion to what is appended."""

    def __init__(self, empty: NDArray[Any]) -> None:
        self._block = empty
        self._length = len(empty)

    def append(self, more: NDArray[Any]) -> None:
        length = self._length + len(more)
        if length > len(self._block):
            block = np.empty((max(length, 2 * self._length), *more.shape[1:]), more.dtype)
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


class RecallIndex:
    """Follows the log: after `sync`, everything here is as of that snapshot."""

    def __init__(self) -> None:
        self._generation = -1
        self._seq = -1
        self._seq_of_windows = -1
        self._last_window = 0
        self._encoder: EncoderName | None = None
        self._columns: tuple[GrowableArray, ...] = ()
        self._by_session: NDArray[np.int64] | None = None  # positions, sorted by it; made when it is asked for
        self._first_window: NDArray[np.int64] | None = None  # of each memory, -1 for none; likewise
        self.columns = Columns(*(_EMPTY for _ in Columns._fields))
        """All memories, column by column."""
        self.words = WordIndex()
        """Where their words are, by place in the columns."""
        self._clear()

    @property
    def empty(self) -> bool:
        """Whether it has followed nothing yet: the first time takes long."""
        return self._seq < 0

    def sync(
        self, snapshot: Snapshot, encoder: EncoderName | None, loaded: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        """Bring everything up to a snapshot; with another encoder, its vectors take the place of the old ones.

        Args:
            loaded: told how many of the two parts, columns and vectors, are there.
        """
        if snapshot.generation != self._generation:
            self._generation = snapshot.generation
            self._clear()
        if snapshot.seq != self._seq:
            last = int(self.columns.row[-1]) if len(self.columns.row) else 0
            for growing, more in zip(self._columns, snapshot.memory_columns(last), strict=True):
                growing.append(more)
            self.columns = Columns(*(growing.view() for growing in self._columns))
            self._superseded = snapshot.superseded()
            self._retired = snapshot.retired()
            self._by_session = self._first_window = None
            self.words.sync(snapshot, self.columns.row)
        loaded(1, 2)
        if encoder is not None and (encoder != self._encoder or snapshot.seq != self._seq_of_windows):
            self._sync_windows(snapshot, encoder)
        self._seq = snapshot.seq
        loaded(2, 2)

    def windows(self) -> tuple[QuantisedVectors, NDArray[np.int64], NDArray[np.int64]]:
        """The vectors of `w` windows, the position of each one's memory, and where its window starts."""
        coded = QuantisedVectors(self._vectors.view(), self._codes.view(), self._scales.view())
        return coded, self._memory_of_window.view(), self._start_of_window.view()

    def cosines(
        self, vector: bytes, visible: NDArray[np.bool_], exact: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """For each visible memory the cosine of its best window, NaN where it has none, and where that window starts.

        Args:
            vector: what they are compared with, ``(dimensions,) float32`` of unit length.
            exact: how many of the best windows have exact cosines, besides those that tie.
        """
        coded, memory, start = self.windows()
        best, where = np.full(len(visible), np.nan), np.full(len(visible), -1)
        looked = visible[memory]
        seen = np.flatnonzero(looked)
        if len(seen):
            query = np.frombuffer(vector, np.float32)
            cosines = inner_products(coded, query, allowed=pack_mask(looked), exact=exact)[seen]
            of, start = memory[seen], start[seen]
            if (of[1:] <= of[:-1]).any():  # some have several windows, which takes longer
                best[of], where[of] = -np.inf, _MAX_INT
                np.maximum.at(best, of, cosines)
                first = cosines == best[of]  # of equal windows of one memory the earliest
                np.minimum.at(where, of[first], start[first])
            else:
                best[of], where[of] = cosines, start
        return best, where

    def background(self, visible: NDArray[np.bool_]) -> float:
        """The mean cosine of two visible memories, whichever, from a sample: how alike the model finds what has nothing
        in common; 0 to 1.
        """
        shown = np.flatnonzero(visible)
        sample = shown[np.linspace(0, len(shown) - 1, min(len(shown), _SAMPLE)).astype(np.int64)]
        vectors = self.first_vectors(sample).astype(np.float64)
        vectors = vectors[~np.isnan(vectors[:, 0])]
        count, total = len(vectors), vectors.sum(axis=0)
        return float(np.clip((total @ total - count) / (count * (count - 1)), 0.0, 1.0)) if count > 1 else 0.0

    def first_vectors(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of the first windows of some memories, ``(m, dimensions)``; NaN for one that has none."""
        if self._first_window is None:
            memory = self._memory_of_window.view()
            self._first_window = np.full(len(self.columns.row), -1)
            self._first_window[memory[::-1]] = np.arange(len(memory))[::-1]
        windows = self._first_window[positions]
        if not len(self._vectors.view()):
            return np.full((len(positions), 1), np.nan, np.float32)
        vectors: NDArray[np.float32] = self._vectors.view()[windows].copy()
        vectors[windows < 0] = np.nan
        return vectors

    def neighbours(
        self, positions: NDArray[np.int64], visible: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The visible memories before and after some in their conversation, as they were kept; -1 for none."""
        if self._by_session is None:
            self._by_session = np.argsort(self.columns.session, kind="stable")
        order = self._by_session[visible[self._by_session]]
        place = np.empty(len(visible), np.int64)
        place[order] = np.arange(len(order))
        found = []
        for step in (-1, 1):
            at = place[positions] + step
            beside = order[np.clip(at, 0, len(order) - 1)]
            same = (at >= 0) & (at < len(order)) & (self.columns.session[beside] == self.columns.session[positions])
            found.append(np.where(same, beside, -1))
        return found[0], found[1]

    def visible(
        self,
        snapshot: Snapshot,
        scope: Scopes = "*",
        session: str | None = None,
        *,
        kinds: Sequence[str] = KINDS,
        since: int | None = None,
        until: int | None = None,
        as_of: int | None = None,
    ) -> NDArray[np.bool_]:
        """Which memories are looked through, ``(n,) bool``: not retired, and as `Recall` names what is asked for.

        Raises:
            UnknownScope, InvalidValue: as `within`.
        """
        columns = self.columns
        visible = ~self.retired_mask(as_of)
        if len(kinds) < len(KINDS):
            visible &= np.isin(columns.kind, [KINDS.index(kind) for kind in kinds])
        within = self.within(snapshot, scope)
        if within is not None:
            visible &= np.isin(columns.scope, sorted(within))
        if session is not None:
            visible &= np.isin(columns.session, snapshot.session_rows(escape_surrogates(session)))
        if since is not None:
            visible &= columns.said_at >= since
        if until is not None:
            visible &= columns.said_at < until
        if as_of is not None:
            visible &= columns.recorded_at <= as_of
        return visible

    def within(self, snapshot: Snapshot, scope: Scopes) -> frozenset[int] | None:
        """Numbers of the scopes that are asked for, and of those below them; ``None`` for everything.

        Raises:
            UnknownScope: no memory is in one of them.
            InvalidValue: none is named.
        """
        paths = asked_scopes(scope)
        return None if paths is None else frozenset(scopes_below(snapshot, paths))

    def links(
        self, row: int, snapshot: Snapshot, as_of: int | None = None, within: frozenset[int] | None = None
    ) -> Links:
        """What stood for the memory of a row then, and what it stood for; what lies in other scopes is not named."""
        newer, older = self.replacement(row, as_of), self.replaced(row, as_of)
        named = [newer] if newer is not None and self._is_inside(newer, within) else []
        return Links(
            newer=next(iter(snapshot.ids_of(named)), None),
            elsewhere=newer is not None and not named,
            older=tuple(snapshot.ids_of([one for one in older if self._is_inside(one, within)])),
        )

    def _is_inside(self, row: int, within: frozenset[int] | None) -> bool:
        return within is None or int(self.columns.scope[np.searchsorted(self.columns.row, row)]) in within

    def superseded(self) -> Iterator[tuple[int, int, int]]:
        """Positions of what is replaced and of what replaces it, and the time it was said; the oldest first."""
        order = np.lexsort((self._superseded.old, self._superseded.at))
        old = np.searchsorted(self.columns.row, self._superseded.old[order])
        new = np.searchsorted(self.columns.row, self._superseded.new[order])
        yield from zip(old.tolist(), new.tolist(), self._superseded.at[order].tolist(), strict=True)

    @property
    def retired_count(self) -> int:
        """How many memories are retired."""
        return len(self._retired.row)

    def retired_mask(self, as_of: int | None) -> NDArray[np.bool_]:
        """Which memories were retired by then, by position ``(n,) bool``."""
        gone = self._retired.row if as_of is None else self._retired.row[self._retired.at <= as_of]
        mask = np.zeros(len(self.columns.row), np.bool_)
        mask[np.searchsorted(self.columns.row, gone)] = True
        return mask

    def replacement(self, row: int, as_of: int | None) -> int | None:
        """The row of what stood for the memory of this row then: the next in its chain that was not retired."""
        while True:
            link = np.flatnonzero(self._superseded.old == row)
            if not len(link) or (as_of is not None and int(self._superseded.at[link[0]]) > as_of):
                return None
            row = int(self._superseded.new[link[0]])
            if not self._is_retired(row, as_of):
                return row

    def replaced(self, row: int, as_of: int | None) -> list[int]:
        """The rows of what the memory of this row stood for then, in the order they were kept."""
        if self._is_retired(row, as_of):
            return []
        found: list[int] = []
        waiting = [row]
        while waiting:
            new = waiting.pop()
            said = self._superseded.at <= (_MAX_INT if as_of is None else as_of)
            for old in self._superseded.old[(self._superseded.new == new) & said].tolist():
                found.append(old)
                if self._is_retired(old, as_of):  # what it had replaced is replaced by what replaced it
                    waiting.append(old)
        return sorted(found)

    def _is_retired(self, row: int, as_of: int | None) -> bool:
        """Whether the memory of a row was retired by then."""
        at = self._retired.at[self._retired.row == row]
        return bool(len(at)) and (as_of is None or int(at[0]) <= as_of)

    def _sync_windows(self, snapshot: Snapshot, encoder: EncoderName) -> None:
        if encoder != self._encoder:
            self._encoder = encoder
            self._clear_windows(0)
        block = snapshot.vectors(encoder, self._last_window)
        if len(block.window):
            if not self._last_window:
                self._clear_windows(block.vectors.shape[1])
            coded = QuantisedVectors.from_vectors(block.vectors)
            self._vectors.append(coded.vectors)
            self._codes.append(coded.codes)
            self._scales.append(coded.scales)
            self._memory_of_window.append(np.searchsorted(self.columns.row, block.row))
            self._start_of_window.append(block.start)
            self._first_window = None
            self._last_window = int(block.window[-1])
        self._seq_of_windows = snapshot.seq

    def _clear(self) -> None:
        self._seq = -1
        self._clear_windows(0)
        self._columns = tuple(GrowableArray(_EMPTY) for _ in Columns._fields)
        self.columns = Columns(*(growing.view() for growing in self._columns))
        self._superseded = Superseded(_EMPTY, _EMPTY, _EMPTY)
        self._retired = Retired(_EMPTY, _EMPTY)
        self._by_session = None
        self.words.clear()

    def _clear_windows(self, dimensions: int) -> None:
        self._last_window = 0
        self._seq_of_windows = -1
        self._vectors = GrowableArray(np.empty((0, dimensions), np.float32))
        self._codes = GrowableArray(np.empty((0, dimensions), np.int8))
        self._scales = GrowableArray(np.empty(0, np.float32))
        self._memory_of_window = GrowableArray(_EMPTY)
        self._start_of_window = GrowableArray(_EMPTY)
        self._first_window = None
