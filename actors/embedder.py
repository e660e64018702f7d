"""The Embedder actor: gives memories their meaning, window by window, and embeds questions.

It follows the log: whatever is committed is embedded later, in steps of one window, so that a question never waits
behind more than one. Every window is embedded alone, so its vector does not depend on what else is embedded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.changes import AddEncoder, AddVectors, Change, DropEncoder, EncoderName, Meaning
from mnemic.actors.contract import CONTRACT, Context, Setting
from mnemic.actors.events import DEFAULT_KINDS, to_text
from mnemic.actors.messages import (
    Apply,
    Committed,
    Embedded,
    EmbedMore,
    EmbedPending,
    EmbedQuery,
    QueryEmbedded,
)
from mnemic.actors.ports import Encoder, Window
from mnemic.actors.snapshot import Pending, SnapshotSource

__all__ = ["EmbedderActor"]

_FETCH = 64  # memories read at once
_FLUSH_WINDOWS = 64  # windows kept by one transaction


class EmbedderActor:
    """Embeds what is pending, and queries before it."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (EmbedQuery, EmbedPending, Committed, EmbedMore)
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("embedder.model", "", "path", "Folder of another BERT-family model; empty means the default one."),
        Setting("embedder.max_windows", 16, "windows", "A longer text is embedded so far; its words find the rest.", 1),
        Setting("embedder.bulk_windows", 2, "windows", "The same for tool output and other bulk.", 1),
    )

    def __init__(
        self, load: Callable[[], Encoder], source: SnapshotSource, max_windows: int, bulk_windows: int
    ) -> None:
        self._load = load
        self._source = source
        self._max_windows = max_windows
        self._bulk_windows = bulk_windows
        self._encoder: Encoder | None = None
        self._name = EncoderName("", "")
        self._continuing = False
        self._queue: deque[Pending] = deque()
        self._generation = -1
        self._cursor = {False: 0, True: 0}  # by bulk or not: the last row fetched
        self._current: _Current | None = None
        self._finished: list[_Current] = []
        self._flushes = 0

    def handle(self, message: Any, context: Context) -> QueryEmbedded | Embedded | None:
        """Embed a question, take one step, or follow the log in the background.

        Raises:
            ModelError: the model cannot be used.
        """
        if isinstance(message, EmbedQuery):
            encoder = self._ready()
            window = encoder.windows(message.text, 1)[0][0]
            return QueryEmbedded(vector=encoder.encode(window).tobytes(), encoder=self._name)
        if isinstance(message, EmbedPending):
            self._step(context)
            return self._progress()
        if isinstance(message, Committed):
            self._continue(context)
            return None
        self._continuing = False
        if self._step(context):  # without a model this raises, and the message becomes a dead letter that says so
            self._continue(context)
        return None

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()

    def _ready(self) -> Encoder:
        if self._encoder is None:
            self._encoder = self._load()
            self._name = EncoderName(self._encoder.implementation, self._encoder.model)
        return self._encoder

    def _continue(self, context: Context) -> None:
        if not self._continuing and not context.cancelled():
            self._continuing = True
            context.tell(EmbedMore())

    def _step(self, context: Context) -> bool:
        """Embed one window; returns whether there is more."""
        encoder = self._ready()
        if self._current is None:
            if not self._queue:
                self._fetch()
            if not self._queue:
                self._flush(context)
                self._retire_others(context)
                return False
            self._current = self._begin(encoder, self._queue.popleft())
        current = self._current
        current.vectors.append(encoder.encode(current.windows[len(current.vectors)]))
        if len(current.vectors) == len(current.windows):
            self._finished.append(current)
            self._current = None
        windows = sum(len(one.windows) for one in self._finished)
        if windows >= _FLUSH_WINDOWS or (context.cancelled() and self._finished):
            self._flush(context)
        return True

    def _begin(self, encoder: Encoder, pending: Pending) -> _Current:
        limit = self._max_windows if pending.kind in DEFAULT_KINDS else self._bulk_windows
        text = to_text(pending.text)
        name = f"{pending.speaker}: " if pending.speaker else ""
        windows, covered = encoder.windows(name + text, limit)
        return _Current(pending, windows, len(name), covered - len(name), len(text))

    def _fetch(self) -> None:
        with self._source.snapshot() as snapshot:
            if snapshot.generation != self._generation:
                self._generation = snapshot.generation
                self._cursor = {False: 0, True: 0}
            for bulk in (False, True):
                found = snapshot.pending(self._name, self._cursor[bulk], bulk, _FETCH)
                if found:
                    self._cursor[bulk] = found[-1].row
                    self._queue.extend(found)
                    return

    def _flush(self, context: Context) -> None:
        if not self._finished:
            return
        with self._source.snapshot() as snapshot:
            added = self._name in snapshot.encoders()
        meanings = tuple(
            Meaning(
                memory=one.pending.id,
                spans=tuple((max(0, w.start - one.shift), max(0, w.end - one.shift)) for w in one.windows),
                covered=one.covered,
                total=one.total,
            )
            for one in self._finished
        )
        vectors = np.concatenate([np.stack(one.vectors) for one in self._finished]).astype("<f4")
        changes: list[Change] = [
            AddVectors(encoder=self._name, meanings=meanings, vectors=vectors.tobytes()),
        ]
        if not added:
            changes.insert(0, AddEncoder(encoder=self._name, dimensions=self._ready().dimensions))
        self._apply(changes, context)
        self._finished.clear()

    def _retire_others(self, context: Context) -> None:
        """Once everything is embedded by this encoder, the vectors of earlier ones go."""
        with self._source.snapshot() as snapshot:
            names = snapshot.encoders()
            others = [name for name in names if name != self._name]
            whole = self._name in names and snapshot.counts(self._name).pending == 0
        if others and whole:
            self._apply([DropEncoder(encoder=name) for name in others], context)

    def _apply(self, changes: list[Change], context: Context) -> None:
        self._flushes += 1
        key = f"embedder/{context.trace}/{self._flushes}".encode()
        context.ask(Apply(changes=tuple(changes), key=key, author="embedder", run=context.trace))

    def _progress(self) -> Embedded:
        with self._source.snapshot() as snapshot:
            counts = snapshot.counts(self._name)
            partly = snapshot.partly_embedded(self._name)
        waiting = len(self._finished)  # embedded, not yet committed
        return Embedded(done=counts.embedded + waiting, pending=counts.pending, partly=partly)


class _Current:
    """A memory that is being embedded."""

    def __init__(self, pending: Pending, windows: list[Window], shift: int, covered: int, total: int) -> None:
        self.pending = pending
        self.windows = windows
        self.shift = shift  # length of the speaker's name before the text
        self.covered = covered
        self.total = total
        self.vectors: list[NDArray[np.float32]] = []
