"""The Embedder actor: gives memories their meaning, window by window, and embeds questions.

It follows the log: whatever is committed is embedded later, in steps of one window, so that a question never waits
behind more than one. Every window is embedded alone, so its vector does not depend on what else is embedded. What was
embedded is kept in bundles; a kill costs at most one bundle's work and loses nothing.
"""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.changes import AddEncoder, AddVectors, Change, DropEncoder, EncoderName, Meaning
from mnemic.actors.contract import CONTRACT, Context, Setting
from mnemic.actors.errors import MnemicError, NotEmbeddable
from mnemic.actors.events import DEFAULT_KINDS, to_text
from mnemic.actors.messages import (
    Apply,
    Committed,
    Counts,
    Embedded,
    EmbedMore,
    EmbedPending,
    EmbedQuery,
    EncoderNamed,
    NameEncoder,
    QueryEmbedded,
)
from mnemic.actors.ports import Encoder, Ports, Window
from mnemic.actors.snapshot import Pending, SnapshotSource

__all__ = ["EmbedderActor"]

_FETCH = 8  # memories read at once: a text may be as long as it likes
_BUNDLE_WINDOWS = 64  # windows kept by one transaction

_log = logging.getLogger("mnemic.embedder")


class EmbedderActor:
    """Embeds what is pending, and queries before it."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (EmbedQuery, NameEncoder, EmbedPending, Committed, EmbedMore)
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("embedder.model", "", "path", "Folder of another BERT-family model; empty means the default one."),
        Setting("embedder.max_windows", 16, "windows", "A longer text is embedded so far; its words find the rest.", 1),
        Setting("embedder.bulk_windows", 2, "windows", "The same for tool output and other bulk.", 1),
    )
    pinned: ClassVar[bool] = True

    def __init__(
        self, load: Callable[[], Encoder], source: SnapshotSource, max_windows: int, bulk_windows: int
    ) -> None:
        self._load = load
        self._source = source
        self._max_windows = max_windows
        self._bulk_windows = bulk_windows
        self._encoder: Encoder | None = None
        self._name = EncoderName("", "")
        self._continuing = False  # whether a message to itself is under way
        self._driven = False  # whether somebody asks for step after step: two who do would be in a question's way
        self._queue: deque[Pending] = deque()
        self._cursor = {False: 0, True: 0}  # by bulk or not: the last row fetched
        self._current: _Current | None = None
        self._finished: list[_Current] = []
        self._looked: Counts | None = None  # what there is; to count it at each window would cost as much as a window

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading; the model is loaded when it is first needed."""
        settings = ports.settings
        return cls(
            ports.load_encoder,
            ports.open_snapshots(),
            settings["embedder.max_windows"],
            settings["embedder.bulk_windows"],
        )

    def handle(self, message: Any, context: Context) -> QueryEmbedded | EncoderNamed | Embedded | None:
        """Embed a question, take one step, or follow the log in the background.

        Raises:
            ModelError: the model cannot be used, or fails on the question.
        """
        if isinstance(message, EmbedQuery):
            return self._embed_query(message)
        if isinstance(message, NameEncoder):
            self._ready()
            return EncoderNamed(encoder=self._name)
        if isinstance(message, EmbedPending):
            self._step(context)
            progress = self._progress(context)
            self._driven = progress.pending > 0
            return progress
        if isinstance(message, Committed):
            self._driven = False
            self._continue(context)
            return None
        self._continuing = False
        if self._driven:
            return None
        try:
            more = self._step(context)
        except MnemicError:
            raise  # without a model, say: the message becomes a dead letter that says so
        except Exception:
            context.tell(EmbedMore())  # for the instance that comes after this one
            raise
        if more:
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

    def _embed_query(self, query: EmbedQuery) -> QueryEmbedded:
        encoder = self._ready()
        try:
            vector = _encode(encoder, encoder.windows(query.text, 1)[0][0])
        except ValueError as error:
            raise NotEmbeddable(cause=type(error).__name__) from None
        return QueryEmbedded(vector=vector.tobytes(), encoder=self._name)

    def _continue(self, context: Context) -> None:
        if not self._continuing and not context.cancelled():
            self._continuing = True
            context.tell(EmbedMore())

    # --- steps -------------------------------------------------------------------------------------------------------

    def _step(self, context: Context) -> bool:
        """Embed one window; returns whether there may be more."""
        encoder = self._ready()
        if context.cancelled():
            self._keep(context)
            return False
        if sum(max(1, len(one.windows)) for one in self._finished) >= _BUNDLE_WINDOWS:
            self._keep(context)
        if self._current is None:
            if not self._queue:
                self._fetch()
            if not self._queue:
                self._keep(context)
                self._cursor = {False: 0, True: 0}  # after a rebuild, or a drop by another process, some wait behind it
                self._fetch()
            if not self._queue:
                self._looked = None  # what waited when it was counted may have been forgotten since
                self._retire_others(context)
                return False
            self._current = self._begin(encoder, self._queue.popleft())
        current = self._current
        try:
            if current.windows:
                current.vectors.append(_encode(encoder, current.windows[len(current.vectors)]))
        except ValueError as error:
            current = _without_meaning(current.pending, error)
        if len(current.vectors) == len(current.windows):
            self._finished.append(current)
            self._current = None
        if context.cancelled():  # no step may come after this one
            self._keep(context)
        return True

    def _begin(self, encoder: Encoder, pending: Pending) -> _Current:
        limit = self._max_windows if pending.kind in DEFAULT_KINDS else self._bulk_windows
        text = to_text(pending.text)
        name = f"{pending.speaker}: " if pending.speaker else ""
        try:
            windows, covered = encoder.windows(name + text, limit)
        except ValueError as error:
            return _without_meaning(pending, error)
        return _Current(pending, windows, len(name), max(0, covered - len(name)), len(text))

    def _fetch(self) -> None:
        with self._source.snapshot() as snapshot:
            for bulk in (False, True):
                found = snapshot.pending(self._name, self._cursor[bulk], bulk, _FETCH)
                if found:
                    self._cursor[bulk] = found[-1].row
                    self._queue.extend(found)
                    return

    # --- what is kept ------------------------------------------------------------------------------------------------

    def _keep(self, context: Context) -> None:
        if not self._finished:
            return
        with self._source.snapshot() as snapshot:
            seq = snapshot.seq
        meanings = tuple(one.meaning() for one in self._finished)
        vectors = [vector for one in self._finished for vector in one.vectors]
        packed = np.stack(vectors).tobytes() if vectors else b""
        # The encoder each time: a rebuild or another process may have dropped it since anybody looked.
        room = AddEncoder(encoder=self._name, dimensions=self._ready().dimensions)
        self._apply([room, AddVectors(encoder=self._name, meanings=meanings, vectors=packed)], seq, context)
        self._finished.clear()
        self._looked = None

    def _retire_others(self, context: Context) -> None:
        """Once everything is embedded by this encoder, the vectors of earlier ones go."""
        with self._source.snapshot() as snapshot:
            names = snapshot.encoders()
            others = [name for name in names if name != self._name]
            whole = others and self._name in names and snapshot.counts(self._name).pending == 0
            seq = snapshot.seq
        if whole:
            self._apply([DropEncoder(encoder=name) for name in others], seq, context)

    def _apply(self, changes: list[Change], seq: int, context: Context) -> None:
        """Ask for changes that were decided on at a `seq`. It is in the key, and the log grows with them, so that the
        same ones decided on later (after a rebuild, or by way of another model) are not taken for these.
        """
        named = hashlib.sha256(repr((self._name, seq)).encode())
        for change in changes:
            if isinstance(change, AddVectors):
                named.update(b"".join(meaning.memory for meaning in change.meanings))
        key = b"embedder/" + named.digest()
        context.ask(Apply(changes=tuple(changes), key=key, author="embedder", run=context.trace))

    def _progress(self, context: Context) -> Embedded:
        counts = self._look()
        if counts.pending <= len(self._finished):  # nothing is done before it is kept
            self._keep(context)
            self._looked = None
            counts = self._look()
            if not counts.pending:
                self._retire_others(context)
        unkept = len(self._finished)
        return Embedded(done=counts.embedded + unkept, pending=counts.pending - unkept, partly=counts.partly)

    def _look(self) -> Counts:
        if self._looked is None:
            with self._source.snapshot() as snapshot:
                self._looked = snapshot.counts(self._name)
        return self._looked


class _Current:
    """A memory that is being embedded."""

    def __init__(self, pending: Pending, windows: list[Window], shift: int, covered: int, total: int) -> None:
        self.pending = pending
        self.windows = windows
        self.shift = shift  # length of the speaker's name before the text
        self.covered = covered
        self.total = total
        self.vectors: list[NDArray[np.float32]] = []

    def meaning(self) -> Meaning:
        """Where its windows lie in its own text."""
        spans = tuple((max(0, w.start - self.shift), max(0, w.end - self.shift)) for w in self.windows)
        return Meaning(memory=self.pending.id, spans=spans, covered=self.covered, total=self.total)


def _encode(encoder: Encoder, window: Window) -> NDArray[np.float32]:
    """A window's vector. Raises ValueError where the encoder fails on it, or gives what is no vector."""
    vector = encoder.encode(window).astype("<f4")
    if not np.isfinite(vector).all():
        raise ValueError("the vector is not finite")
    return vector


def _without_meaning(pending: Pending, error: ValueError) -> _Current:
    """A text that the model fails on is kept with no windows, as partly embedded, so that it holds up no other."""
    _log.warning("memory %s is found by its words only: %s", pending.id.hex(), type(error).__name__)
    return _Current(pending, [], 0, 0, max(1, len(to_text(pending.text))))
