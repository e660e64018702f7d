"""The words of memories and their vectors, kept as recalls come upon them.

A cache of what the store and the Embedder would say again; `mnemic.actors.recall.ranking.reranker` asks it. A mind's
words are few beside its memories, so most recalls find all of theirs here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.windows import GrowableArray
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import NotEmbeddable
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.messages import EmbedWords
from mnemic.algorithms.text.terms import telling_words

_MOST_WORDS = 30_000  # 46 MB of vectors, a quarter more as they grow; then it begins anew
_MOST_MEMORIES = 20_000
_MOST_BYTES = 1 << 14  # of a longer text the words of its start
_TIMEOUT_S = 10.0
_MOST_OF_ONE = 400  # different words of one memory
_JOINED = re.compile(r"[_./:-]\w")  # what has none of these has no compound, and is seen so in a tenth of the time
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[_./:-]++[^\W_]++)+")


def compounds(text: str) -> list[str]:
    """What is written as one though the word index cuts it: identifiers, paths and their last parts, times."""
    if not _JOINED.search(text):
        return []
    found = [match[0].lower() for match in _COMPOUND.finditer(text)]
    return found + [last for one in found if _COMPOUND.fullmatch(last := one.rpartition("/")[2]) and last != one]


class _Numbers(dict[str, int]):
    """The number of each word; one never met before gets the next."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class Vocabulary:
    """Words by number, each with its vector; memories by row, each with the numbers of its words."""

    def __init__(self) -> None:
        self._generation = -1
        self._encoder: EncoderName | None = None
        self._vectors = GrowableArray(np.empty((0, 0), np.float32))
        self._clear()

    def sync(self, generation: int, encoder: EncoderName) -> None:
        """Forget everything that is not of this generation of the store and this model, or where it grew too large."""
        if (generation, encoder) != (self._generation, self._encoder) or (
            len(self._numbers) > _MOST_WORDS or len(self._memories) > _MOST_MEMORIES
        ):
            self._generation, self._encoder = generation, encoder
            self._clear()

    def words_of(self, rows: Sequence[int], snapshot: Snapshot) -> list[NDArray[np.int32]]:
        """The numbers of each memory's words, stop words left out, each word once."""
        unknown = [row for row in rows if row not in self._memories]
        for row, text in zip(unknown, snapshot.text_starts(unknown, _MOST_BYTES), strict=True):
            words = list(dict.fromkeys([*compounds(text), *telling_words(text)]))
            self._memories[row] = self.numbers_of(words[:_MOST_OF_ONE])
        return [self._memories[row] for row in rows]

    def numbers_of(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of some words; those never met before get theirs."""
        return np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))

    def distinct(self, *numbers: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which words are among some, ascending, and, for the number of each, which of these it is."""
        among = np.zeros(len(self._numbers), np.bool_)
        for some in numbers:
            among[some] = True
        return np.flatnonzero(among), np.cumsum(among) - 1

    def load_vectors(self, context: Context) -> None:
        """Ask the Embedder for the vectors of all words that have none yet.

        Raises:
            ModelError, RuntimeFault: there are none to be had.
        """
        missing = list(self._numbers)[len(self._vectors.view()) :]
        if not missing:
            return
        answer = context.ask(EmbedWords(words=tuple(missing)), _TIMEOUT_S)
        if answer.encoder != self._encoder:  # the next recall begins anew with it
            raise NotEmbeddable(cause="another model has just taken its place")
        vectors = np.frombuffer(answer.vectors, np.float32).reshape(len(missing), -1)
        if not len(self._vectors.view()):
            self._vectors = GrowableArray(np.empty((0, vectors.shape[1]), np.float32))
        self._vectors.append(vectors)

    def vectors_of(self, numbers: NDArray[np.integer]) -> NDArray[np.float32]:
        """The vectors of words, ``(m, dimensions)``; zeros for a word that the model knows nothing of."""
        vectors: NDArray[np.float32] = self._vectors.view()[numbers]
        return vectors

    def _clear(self) -> None:
        self._numbers = _Numbers()
        self._vectors = GrowableArray(np.empty((0, 0), np.float32))
        self._memories: dict[int, NDArray[np.int32]] = {}
