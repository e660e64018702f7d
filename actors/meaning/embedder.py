"""The Embedder actor: computes embedding vectors for memories in the background, and for queries at once.

It follows the log: whatever is committed is embedded later, in steps of as many tokens as the encoder takes at once
with profit, and a question waits behind one step at most. What was embedded is kept in bundles; a kill costs at most
one bundle's work and loses nothing.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.background import BackgroundWorker, WorkOn
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import DeviceExhausted, MnemicError, NotEmbeddable
from mnemic.actors.kernel.events import DEFAULT_KINDS, to_text
from mnemic.actors.kernel.message import format_id
from mnemic.actors.kernel.ports import IMPLEMENTATIONS, Encoder, Ports, Window
from mnemic.actors.meaning.changes import AddEncoder, AddVectors, DropEncoder, EmbeddedWindows, EncoderName
from mnemic.actors.meaning.messages import (
    MODEL_OFF,
    DescribeEncoder,
    EmbedPending,
    EmbedProgress,
    EmbedQuery,
    EmbedWords,
    EncoderDescribed,
    QueryEmbedded,
    Rerank,
    Reranked,
    WordsEmbedded,
)
from mnemic.actors.meaning.queries import Pending
from mnemic.actors.meaning.second_reader import SETTING, SecondReader
from mnemic.actors.store.messages import Committed

_FETCH = 8  # memories read at once: a text may be as long as it likes
_BUNDLE_WINDOWS = 64  # windows kept by one transaction
_PROBE_TEXT = "a"  # what every encoder can embed that can embed anything

_log = logging.getLogger("mnemic.embedder")


class EmbedderActor:
    """Embeds what is pending, and queries before it."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (
        *(EmbedQuery, EmbedWords, Rerank, DescribeEncoder, EmbedPending, Committed, WorkOn),
    )
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting(
            "embedder.implementation",
            "",
            "-",
            f"Who computes: {', '.join(IMPLEMENTATIONS)}; empty means the best that is there.",
            choices=("", *IMPLEMENTATIONS),
        ),
        Setting(
            "embedder.threads",
            0,
            "threads",
            "The most that native code embeds with, up to the cores there are; 0 is half of them, and all while "
            "somebody waits for what was captured. 2048 tokens are a step at most, so that no question waits for long.",
            0,
        ),
        Setting(
            "embedder.model",
            "",
            "path",
            "Folder of another BERT-family model; empty means the default one, off means words alone.",
        ),
        Setting("embedder.max_windows", 16, "windows", "A longer text is embedded so far; its words find the rest.", 1),
        Setting("embedder.bulk_windows", 2, "windows", "The same for tool output and other bulk.", 1),
        SETTING,
    )
    pinned: ClassVar[bool] = True

    def __init__(self, ports: Ports) -> None:
        settings = ports.settings
        self._load = ports.load_encoder
        self._second_reader = SecondReader(ports)
        self._source = ports.open_snapshots()
        self._max_windows = settings["embedder.max_windows"]
        self._bulk_windows = settings["embedder.bulk_windows"]
        self._encoder: Encoder | None = None
        self._name = EncoderName("", "")
        self._is_off = settings["embedder.model"] == MODEL_OFF
        self._was_missing = False  # whether the model was, when it was needed
        self._worker = BackgroundWorker("embedder", self._step, leaves_to_caller=True)
        self._queue: deque[Pending] = deque()
        self._cursor = {False: 0, True: 0}  # by bulk or not: the last row fetched
        self._in_progress: deque[_InProgress] = deque()
        self._finished: list[_InProgress] = []
        self._counted: EmbedProgress | None = None  # to count at each bundle would cost more the larger the mind is

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading; the model is loaded when it is first needed."""
        return cls(ports)

    def handle(
        self, message: Any, context: Context
    ) -> QueryEmbedded | WordsEmbedded | Reranked | EncoderDescribed | EmbedProgress | None:
        """Embed a question or words, read texts again, take one step, or follow the log in the background.

        Raises:
            ModelError: the model cannot be used, or fails on the question.
        """
        if self._was_missing and isinstance(message, EmbedQuery | EmbedWords | DescribeEncoder):
            self._loaded_encoder()
            self._worker.wake(context)  # it was installed meanwhile: what waits for it is embedded, too
        if isinstance(message, EmbedQuery):
            return self._embed_query(message)
        if isinstance(message, EmbedWords):
            return self._embed_words(message)
        if isinstance(message, Rerank):
            return self._second_reader.score(message)
        if isinstance(message, DescribeEncoder):
            dimensions = self._loaded_encoder().dimensions
            return EncoderDescribed(encoder=self._name, dimensions=dimensions)
        if isinstance(message, EmbedPending):
            self._step(context, waited_for=True)
            progress = self._progress(context)
            self._worker.caller_stepped(progress.pending, context)
            return progress
        if isinstance(message, Committed):
            self._counted = None
            self._worker.wake(context)
            return None
        self._worker.work_on(context)
        return None

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()

    def _loaded_encoder(self) -> Encoder:
        if self._encoder is None:
            self._was_missing = True
            self._encoder = self._load()
            self._was_missing = False
            self._name = EncoderName(self._encoder.implementation, self._encoder.model)
        return self._encoder

    def _embed_query(self, query: EmbedQuery) -> QueryEmbedded:
        encoder = self._loaded_encoder()
        try:
            vector = _encode_alone(encoder, _windows(encoder, query.text, 1, is_question=query.is_question)[0][0])
        except _NotThisText as error:
            raise NotEmbeddable(cause=str(error)) from None
        return QueryEmbedded(vector=vector.tobytes(), encoder=self._name)

    def _embed_words(self, asked: EmbedWords) -> WordsEmbedded:
        encoder = self._loaded_encoder()

        def embed(words: Sequence[str]) -> NDArray[np.float32]:
            return _isolated(lambda: encoder.word_vectors(words), lambda: encoder.word_vectors([_PROBE_TEXT]))

        try:
            vectors = embed(asked.words)
        except _NotThisText:  # one of them, which has no vector then
            vectors = np.zeros((len(asked.words), encoder.dimensions), np.float32)
            for vector, word in zip(vectors, asked.words, strict=True):
                with contextlib.suppress(_NotThisText):
                    vector[:] = embed([word])[0]
        return WordsEmbedded(vectors=vectors.tobytes(), encoder=self._name)

    def _step(self, context: Context, *, waited_for: bool = False) -> bool:
        """Embed as many tokens as the encoder takes at once; returns whether there may be more."""
        if self._is_off and not waited_for:
            return False
        encoder = self._loaded_encoder()
        most = encoder.bulk_tokens if waited_for else encoder.batch_tokens
        if context.cancelled():
            self._flush(context)
            return False
        if sum(max(1, len(one.windows)) for one in self._finished) >= _BUNDLE_WINDOWS:
            self._flush(context)
        if not self._fill(encoder, most):
            self._flush(context)
            self._cursor = {False: 0, True: 0}  # after a rebuild, or a drop by another process, some wait behind it
            if not self._fill(encoder, most):
                self._counted = None  # what waited when it was counted may have been forgotten since
                self._retire_others(context)
                return False
        self._embed(encoder, most)
        while self._in_progress and len(self._in_progress[0].vectors) == len(self._in_progress[0].windows):
            self._finished.append(self._in_progress.popleft())
        if context.cancelled():  # no step may come after this one
            self._flush(context)
        return True

    def _fill(self, encoder: Encoder, most: int) -> bool:
        """Begin memories until there are tokens enough for a step; returns whether there is anything to do."""
        waiting = sum(one.tokens_left() for one in self._in_progress)
        while waiting < most:
            if not self._queue:
                self._fetch()
            if not self._queue:
                break
            self._in_progress.append(self._begin(encoder, self._queue.popleft()))
            waiting += max(1, self._in_progress[-1].tokens_left())
        return bool(self._in_progress)

    def _embed(self, encoder: Encoder, most: int) -> None:
        """Embed the next windows of what is begun, of so many tokens at most; a memory with one that cannot be has no
        meaning.
        """
        following = ((one, window) for one in self._in_progress for window in one.windows[len(one.vectors) :])
        taken: list[tuple[_InProgress, Window]] = []
        tokens = 0
        for one, window in following:
            tokens += len(window.token_ids)
            if taken and tokens > most:
                break
            taken.append((one, window))
        for (one, _), vector in zip(taken, _encode_each(encoder, [window for _, window in taken]), strict=True):
            if one.windows and not isinstance(vector, _NotThisText):
                one.vectors.append(vector)
            elif one.windows:
                one.mark_unembeddable(str(vector))

    def _begin(self, encoder: Encoder, pending: Pending) -> _InProgress:
        limit = self._max_windows if pending.kind in DEFAULT_KINDS else self._bulk_windows
        text = to_text(pending.text)
        name = f"{pending.speaker}: " if pending.speaker else ""
        try:
            windows, covered = _windows(encoder, name + text, limit)
        except _NotThisText as error:
            unreadable = _InProgress(pending, [], 0, 0, len(text))
            unreadable.mark_unembeddable(str(error))
            return unreadable
        return _InProgress(pending, windows, len(name), max(0, covered - len(name)), len(text))

    def _fetch(self) -> None:
        with self._source.snapshot() as snapshot:
            for bulk in (False, True):
                found = snapshot.pending_embeddings(self._name, self._cursor[bulk], bulk, _FETCH)
                if found:
                    self._cursor[bulk] = found[-1].row
                    self._queue.extend(found)
                    return

    def _flush(self, context: Context) -> None:
        if not self._finished:
            return
        with self._source.snapshot() as snapshot:
            seq = snapshot.seq
        meanings = tuple(one.meaning() for one in self._finished)
        vectors = [vector for one in self._finished for vector in one.vectors]
        packed = np.stack(vectors).tobytes() if vectors else b""
        # The encoder each time: a rebuild or another process may have dropped it since anybody looked.
        room = AddEncoder(encoder=self._name, dimensions=self._loaded_encoder().dimensions)
        vectors_change = AddVectors(encoder=self._name, meanings=meanings, vectors=packed)
        self._worker.apply([room, vectors_change], seq, context)
        if self._counted is not None:
            kept, partly = len(meanings), sum(meaning.covered < meaning.total for meaning in meanings)
            done, pending = self._counted.done + kept, self._counted.pending - kept
            self._counted = EmbedProgress(done=done, pending=pending, partly=self._counted.partly + partly)
        self._finished.clear()

    def _retire_others(self, context: Context) -> None:
        """Once everything is embedded by this encoder, the vectors of earlier ones go."""
        with self._source.snapshot() as snapshot:
            names = snapshot.encoders()
            others = [name for name in names if name != self._name]
            whole = others and self._name in names and snapshot.embed_progress(self._name).pending == 0
            seq = snapshot.seq
        if whole:
            self._worker.apply([DropEncoder(encoder=name) for name in others], seq, context)

    def _progress(self, context: Context) -> EmbedProgress:
        """How far it is: counted once, then kept as bundles are, and counted once more where nothing seems to wait."""
        if self._count().pending <= len(self._finished):  # nothing is done before it is kept
            self._flush(context)
            self._counted = None
            if not self._count().pending:
                self._retire_others(context)
        counted, unkept = self._count(), len(self._finished)
        return EmbedProgress(done=counted.done + unkept, pending=counted.pending - unkept, partly=counted.partly)

    def _count(self) -> EmbedProgress:
        if self._counted is None:
            with self._source.snapshot() as snapshot:
                self._counted = snapshot.embed_progress(self._name)
        return self._counted


class _InProgress:
    """A memory that is being embedded."""

    def __init__(self, pending: Pending, windows: list[Window], shift: int, covered: int, total: int) -> None:
        self.pending = pending
        self.windows = windows
        self.shift = shift  # length of the speaker's name before the text
        self.covered = covered
        self.total = total
        self.vectors: list[NDArray[np.float32]] = []

    def tokens_left(self) -> int:
        """Tokens of the windows that have no vector yet."""
        return sum(len(window.token_ids) for window in self.windows[len(self.vectors) :])

    def mark_unembeddable(self, why: str) -> None:
        """A text that the model fails on is kept with no windows, as partly embedded, so that it holds up no other."""
        memory = format_id(self.pending.id)
        _log.warning("memory %s is found by its words only: the model fails on it (%s)", memory, why)
        self.windows, self.vectors = [], []
        self.covered, self.total = 0, max(1, self.total)

    def meaning(self) -> EmbeddedWindows:
        """Where its windows lie in its own text."""
        spans = tuple((max(0, w.start - self.shift), max(0, w.end - self.shift)) for w in self.windows)
        return EmbeddedWindows(memory=self.pending.id, spans=spans, covered=self.covered, total=self.total)


class _NotThisText(Exception):
    """The model fails on one text and not on a plain one; says the kind of failure, and no word of the text."""


T = TypeVar("T")


def _isolated(call: Callable[[], T], plain: Callable[[], object]) -> T:
    """What a call gives whose failure may be its text's fault or the encoder's: the same with a plain text tells.

    Raises:
        _NotThisText: it fails on this text, and not on the plain one.
        ModelError: as the call does; whatever it raises where it fails on the plain one as well.
    """
    try:
        return call()
    except MnemicError:
        raise
    except ValueError as error:  # a text that cannot be embedded, as encoders say it
        raise _NotThisText(type(error).__name__) from error
    except Exception:
        plain()
    try:  # it works again or still: what is given up is not tried another time, so a passing fault must not count
        return call()
    except MnemicError:
        raise
    except Exception as error:
        raise _NotThisText(type(error).__name__) from error


def _windows(encoder: Encoder, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
    """The windows of a text, as `Encoder.windows` gives them. Raises as `_isolated`."""
    return _isolated(
        lambda: encoder.windows(text, limit, is_question=is_question), lambda: encoder.windows(_PROBE_TEXT, 1)
    )


def _encode(encoder: Encoder, windows: Sequence[Window]) -> list[NDArray[np.float32] | _NotThisText]:
    """The vector of each window, or why what came is none. Raises as `Encoder.encode`."""
    vectors = encoder.encode(windows).astype("<f4")
    return [vector if np.isfinite(vector).all() else _NotThisText("no finite vector") for vector in vectors]


def _encode_alone(encoder: Encoder, window: Window) -> NDArray[np.float32]:
    """The vector of one window. Raises as `_isolated`."""
    plain = lambda: _encode(encoder, encoder.windows(_PROBE_TEXT, 1)[0])  # noqa: E731
    (vector,) = _isolated(lambda: _encode(encoder, [window]), plain)
    if isinstance(vector, _NotThisText):
        raise vector
    return vector


def _encode_each(encoder: Encoder, windows: Sequence[Window]) -> list[NDArray[np.float32] | _NotThisText]:
    """The same of several, and why not for each that the encoder fails on: halves, and halves of these, tell which.

    Raises:
        DeviceExhausted: there is no room for one of them alone.
        ModelError: the model cannot be used; whatever the encoder raises where it fails on a plain window as well.
    """
    if not windows:
        return []
    if len(windows) == 1:
        try:
            return [_encode_alone(encoder, windows[0])]
        except _NotThisText as error:
            return [error]
    try:
        return _encode(encoder, windows)
    except Exception as error:  # of one of them, or of all together: each half tells for itself
        if isinstance(error, MnemicError) and not isinstance(error, DeviceExhausted):
            raise
    middle = len(windows) // 2
    return [*_encode_each(encoder, windows[:middle]), *_encode_each(encoder, windows[middle:])]
