"""The Retriever's in-memory index: columns and vectors of all memories, kept in step with the log.

Beside each vector of float32 lie its codes (`mnemic.algorithms.retrieval.scan`), a quarter of its size, made as it
comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.attribute_index import AttributeFilters, AttributeIndex
from mnemic.actors.index.hits import Links
from mnemic.actors.index.query import asked_scope_numbers, unknown_session
from mnemic.actors.index.windows import Cosines, GrowableArray, WindowGroups
from mnemic.actors.index.word_index import WordIndex
from mnemic.actors.kernel.events import DEFAULT_KINDS, KINDS, escape_surrogates
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.log.queries import Columns, Retired, Superseded
from mnemic.actors.meaning.changes import EncoderName
from mnemic.algorithms.retrieval.scan import QuantisedVectors, inner_products, pack_mask

_EMPTY = np.empty(0, np.int64)
_SAMPLE = 256  # memories from which the background is told
_NO_FILTERS = AttributeFilters()
_KEPT_ALONE = [KINDS.index(kind) for kind in ("note", "decision")]
_MAX_INT = np.iinfo(np.int64).max


@dataclass(slots=True)
class _Derived:
    """What is made of columns and windows when it is asked for, and kept until any come or change."""

    visible: tuple[tuple[object, ...], NDArray[np.bool_]] | None = None
    """What was asked for last, and which memories that is."""
    background: tuple[NDArray[np.bool_], float] | None = None
    """Of which memories, and theirs."""
    superseded_positions: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    conversations: NDArray[np.int64] | None = None
    """Positions by conversation."""
    neighbours: tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]] | None = None
    """Of which visible memories, these by conversation between two -1, and how many of them stand before each."""
    groups: WindowGroups | None = None
    first_window: NDArray[np.int64] | None = None
    """Of each memory, -1 for none."""
    in_session: NDArray[np.bool_] | None = None


class RecallIndex:
    """Follows the log: after `sync`, everything here is as of that snapshot."""

    def __init__(self) -> None:
        self._generation = -1
        self._seq = -1
        self._seq_of_windows = -1
        self._last_window = 0
        self._encoder: EncoderName | None = None
        self._columns: tuple[GrowableArray, ...] = ()
        self._superseded: Superseded
        self._retired: Retired
        self._log_row = -1
        self.columns = Columns(*(_EMPTY for _ in Columns._fields))
        """All memories, column by column."""
        self._attributes = AttributeIndex()
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
        if snapshot.log_row != self._log_row:
            self._sync_columns(snapshot)
            self.words.sync(snapshot, self.columns.row)
            self._log_row = snapshot.log_row  # last: where anything above fails, the next look goes on with it
        loaded(1, 2)
        if encoder is not None and (encoder != self._encoder or snapshot.seq != self._seq_of_windows):
            self._sync_windows(snapshot, encoder)
        self._seq = snapshot.seq
        loaded(2, 2)

    def windows(self) -> tuple[QuantisedVectors, NDArray[np.int64], NDArray[np.int64]]:
        """The vectors of `w` windows, the position of each one's memory, and where its window starts."""
        coded = QuantisedVectors(self._vectors.view(), self._codes.view(), self._scales.view())
        return coded, self._memory_of_window.view(), self._start_of_window.view()

    def cosines(self, vector: bytes, visible: NDArray[np.bool_], exact: int) -> Cosines:
        """For each visible memory the cosine of its best window, and where that window starts.

        Args:
            vector: what they are compared with, ``(dimensions,) float32`` of unit length.
            exact: how many of the best windows have exact cosines, besides those that tie.
        """
        coded, memory, starts = self.windows()
        found = np.empty(0, np.float32)
        if len(memory):
            looked = pack_mask(visible[memory])
            found = inner_products(coded, np.frombuffer(vector, np.float32), allowed=looked, exact=exact)
        return Cosines(found, starts, self._window_groups(), len(visible))

    def background(self, visible: NDArray[np.bool_]) -> float:
        """The mean cosine of two visible memories, whichever, from a sample: how alike the model finds what has nothing
        in common; 0 to 1.
        """
        if self._kept.background is None or self._kept.background[0] is not visible:
            shown = np.flatnonzero(visible)
            sample = shown[np.linspace(0, len(shown) - 1, min(len(shown), _SAMPLE)).astype(np.int64)]
            vectors = self.first_vectors(sample).astype(np.float64)
            vectors = vectors[~np.isnan(vectors[:, 0])]
            count, total = len(vectors), vectors.sum(axis=0)
            alike = (total @ total - count) / (count * (count - 1)) if count > 1 else 0.0
            self._kept.background = visible, float(np.clip(alike, 0.0, 1.0))
        return self._kept.background[1]

    def first_vectors(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of the first windows of some memories, ``(m, dimensions)``; NaN for one that has none."""
        if not len(self._vectors.view()):
            return np.full((len(positions), 1), np.nan, np.float32)
        if self._kept.first_window is None:
            groups = self._window_groups()
            self._kept.first_window = np.full(len(self.columns.row), -1)
            first = groups.first[:-1]
            self._kept.first_window[groups.memory] = first if groups.order is None else groups.order[first]
        windows = self._kept.first_window[positions]
        vectors: NDArray[np.float32] = self._vectors.view()[windows]
        vectors[windows < 0] = np.nan
        return vectors

    def in_session(self) -> NDArray[np.bool_]:
        """Tell which memories are of a conversation, ``(n,)``.

        Notes that were kept by themselves, one after the other, stand in none, whatever session they were kept in.
        """
        columns = self.columns
        if self._kept.in_session is None:
            said = columns.session[~np.isin(columns.kind, _KEPT_ALONE)]
            talks = np.bincount(said, minlength=int(columns.session.max(initial=-1)) + 1) > 0
            self._kept.in_session = talks[columns.session]
        return self._kept.in_session

    def neighbours(
        self, positions: NDArray[np.int64], visible: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The visible memories before and after some in their conversation, as they were kept; -1 for none."""
        if self._kept.neighbours is None or self._kept.neighbours[0] is not visible:
            if self._kept.conversations is None:
                self._kept.conversations = np.argsort(self.columns.session, kind="stable")
            order = self._kept.conversations
            seen = visible[order]
            place = np.empty_like(order)
            place[order] = np.cumsum(seen) - seen
            self._kept.neighbours = visible, np.concatenate([[-1], order[seen], [-1]]), place
        _, shown, place = self._kept.neighbours
        before = place[positions]  # so many visible ones stand before each; the first of `shown` stands for none
        session = self.columns.session
        found = []
        for beside in (shown[before], shown[before + 1 + visible[positions]]):
            same = (beside >= 0) & (session[beside] == session[positions])
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
        of: AttributeFilters = _NO_FILTERS,
    ) -> NDArray[np.bool_]:
        """Which memories are looked through, ``(n,) bool``: not retired, and as `Recall` names what is asked for.

        Where none of `kinds` that are looked through unless others are named has what `of` asks for, as no turn is a
        tool's, all kinds are.

        What is given is not to be written to: whoever asks the same again while nothing came is given the same array.

        Raises:
            UnknownScope, InvalidValue: as `mnemic.actors.index.query.asked_scope_numbers`.
            UnknownSession: no memory of these scopes is of it, those included that other filters leave out.
            UnknownFilter: the same of a speaker, a file and whatever else `of` asks for.
        """
        within = asked_scope_numbers(scope, snapshot)  # a path may name another scope by now
        asked = (within, session, tuple(kinds), since, until, as_of, of)
        if self._kept.visible is not None and self._kept.visible[0] == asked:
            return self._kept.visible[1]
        columns = self.columns
        visible = ~self.retired_mask(as_of)
        inside = np.ones(len(visible), np.bool_) if within is None else np.isin(columns.scope, sorted(within))
        visible &= inside
        if of != _NO_FILTERS:
            visible &= self._attributes.select(of, snapshot, columns.row, visible)
        if len(kinds) < len(KINDS):
            of_kind = np.isin(np.arange(len(KINDS)), [KINDS.index(kind) for kind in kinds])[columns.kind]
            if of == _NO_FILTERS or tuple(kinds) != DEFAULT_KINDS or (visible & of_kind).any():
                visible &= of_kind
        if session is not None:
            own = np.isin(columns.session, snapshot.session_rows(escape_surrogates(session)))
            if not (own & inside).any():
                raise unknown_session(session, np.unique(columns.session[inside]).tolist(), snapshot)
            visible &= own
        if since is not None or until is not None:
            visible &= columns.dated == 1  # what nobody dated was said at no time that could be asked for
        if since is not None:
            visible &= columns.said_at >= since
        if until is not None:
            visible &= columns.said_at < until
        if as_of is not None:
            visible &= columns.recorded_at <= as_of
        visible.flags.writeable = False
        self._kept.visible = asked, visible
        return visible

    def links(
        self, rows: Sequence[int], snapshot: Snapshot, as_of: int | None = None, within: frozenset[int] | None = None
    ) -> list[Links]:
        """Of each row what stood for its memory then, and what it stood for; what lies in other scopes is not named."""
        if not len(self._superseded.old):
            return [Links() for _ in rows]
        linked = [(self.replacement(row, as_of), self.replaced(row, as_of)) for row in rows]
        others = dict.fromkeys(one for newer, older in linked for one in (newer, *older) if one is not None)
        named = [one for one in others if self._is_inside(one, within)]
        ids = dict(zip(named, snapshot.ids_of(named), strict=True))
        return [
            Links(
                newer=None if newer is None else ids.get(newer),
                elsewhere=newer is not None and newer not in ids,
                older=tuple(ids[one] for one in older if one in ids),
            )
            for newer, older in linked
        ]

    def _is_inside(self, row: int, within: frozenset[int] | None) -> bool:
        return within is None or int(self.columns.scope[np.searchsorted(self.columns.row, row)]) in within

    def superseded(self, as_of: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of what was replaced by then, ascending, and of what replaces each."""
        if self._kept.superseded_positions is None:
            self._kept.superseded_positions = (
                np.searchsorted(self.columns.row, self._superseded.old),
                np.searchsorted(self.columns.row, self._superseded.new),
            )
        old, new = self._kept.superseded_positions
        said = slice(None) if as_of is None else self._superseded.at <= as_of
        return old[said], new[said]

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

    def _sync_columns(self, snapshot: Snapshot) -> None:
        """Follow what came and what was replaced or retired; what is made of these stays where nothing of it changed,
        as after most lines of the log, which tell that somebody recalled.
        """
        last = int(self.columns.row[-1]) if len(self.columns.row) else 0
        came, superseded, retired = snapshot.memory_columns(last), snapshot.superseded(), snapshot.retired()
        known = (*self._superseded, *self._retired)
        if len(came.row) or not all(map(np.array_equal, known, (*superseded, *retired))):
            for growing, more in zip(self._columns, came, strict=True):
                growing.append(more)
            self.columns = Columns(*(growing.view() for growing in self._columns))
            self._superseded, self._retired = superseded, retired
            self._forget_derived()

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
            self._forget_derived()
            self._last_window = int(block.window[-1])
        self._seq_of_windows = snapshot.seq

    def _window_groups(self) -> WindowGroups:
        if self._kept.groups is None:
            self._kept.groups = WindowGroups.of(self._memory_of_window.view())
        return self._kept.groups

    def _forget_derived(self) -> None:
        self._kept = _Derived()

    def _clear(self) -> None:
        self._seq = self._log_row = -1
        self._clear_windows(0)
        self._columns = tuple(GrowableArray(_EMPTY) for _ in Columns._fields)
        self.columns = Columns(*(growing.view() for growing in self._columns))
        self._superseded = Superseded(_EMPTY, _EMPTY, _EMPTY)
        self._retired = Retired(_EMPTY, _EMPTY)
        self._attributes.clear()
        self.words.clear()

    def _clear_windows(self, dimensions: int) -> None:
        self._last_window = 0
        self._seq_of_windows = -1
        self._vectors = GrowableArray(np.empty((0, dimensions), np.float32))
        self._codes = GrowableArray(np.empty((0, dimensions), np.int8))
        self._scales = GrowableArray(np.empty(0, np.float32))
        self._memory_of_window = GrowableArray(_EMPTY)
        self._start_of_window = GrowableArray(_EMPTY)
        self._forget_derived()
