"""Scores how near memories are to a text in a structural query, by embedding cosine and BM25.

A hypervector of a dozen pairs holds an embedding with noise, and no words at all. The Retriever has both. So among the
records that have what is exact, the cosine of the memory's best window and BM25 of its words and of its session's are
fused; and of what was said before or after, those of the turn beside it. Unlike recall's, each signal stays on its own
scale: a cosine of 1 and words that say all that was asked are full marks, whatever else is there. So a nearness means
the same in every question, and confidence may rest on it (docs/decisions/0011-structural-signal.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.query import question_words
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.events import KINDS
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.messages import QueryEmbedded
from mnemic.algorithms.retrieval.bm25 import bm25, bm25_grouped, inverse_document_frequency
from mnemic.algorithms.retrieval.fusion import SignalScores, fuse
from mnemic.algorithms.retrieval.scan import RESCORE_ROWS

Floats = NDArray[np.float64]

_TURN = KINDS.index("turn")
TEMPERATURE = 0.035
"""How fast memories count less the farther they are from the nearest: chosen on every other one of LoCoMo's
observations, and right on the rest."""
_WORD_WEIGHT = 1.5
"""How much a memory's words, and its session's, count beside its meaning: words that are not those of the question
seldom reach half of their full marks. Chosen likewise."""


class WordScores(NamedTuple):
    """What the words of a question say of all memories, `n` of them."""

    memory: Floats
    """``(n,)``: BM25 of each memory."""
    session: Floats
    """``(n,)``: BM25 of its session."""
    full_score: float
    """The score of a memory of average length that has each word once that any has: full marks."""
    known_share: float
    """How much of what the words tell is told by those that any memory has, 0 to 1; 0 where there is none."""

    @classmethod
    def score(
        cls, text: str, snapshot: Snapshot, memory: RecallIndex, visible: NDArray[np.bool_], degraded: list[str]
    ) -> Self:
        """Look them up.

        Args:
            visible: ``(n,) bool``: which memories count.
            degraded: told, in a sentence, which words were left out.
        """
        columns, documents = memory.columns, int(np.count_nonzero(visible))
        words = question_words(text, snapshot, degraded)
        postings = [memory.words.postings(one.terms) for one in words]
        having = [int(np.count_nonzero(visible[rows])) for rows, _ in postings]
        telling = [inverse_document_frequency(count, documents) for count in having]
        whole = sum(weight for weight, count in zip(telling, having, strict=True) if count)
        known = [one for one, count in zip(postings, having, strict=True) if count]
        return cls(
            bm25(known, columns.words, visible),
            bm25_grouped(known, columns.words, visible, columns.session),
            whole,
            whole / sum(telling) if whole else 0.0,
        )


class TextQuery:
    """A text that something in a pattern is about, and how near memories, or the turns beside them, are to it."""

    def __init__(
        self, role: str, embedded: QueryEmbedded | None, words: WordScores, memory: RecallIndex, of: NDArray[np.int64]
    ) -> None:
        """Take what is known of it.

        Args:
            of: ``(n,) int64``: of each memory the one whose text counts for it; -1 where there is none.
        """
        self.role, self.embedded = role, embedded
        self._words, self._memory, self._of = words, memory, of
        self._without_vector = 0

    @classmethod
    def prepare(
        cls,
        role: str,
        text: str,
        embedded: QueryEmbedded | None,
        snapshot: Snapshot,
        memory: RecallIndex,
        visible: NDArray[np.bool_],
        degraded: list[str],
    ) -> Self | None:
        """What is asked by a role; ``None`` where nothing can be said: there is no vector, and no memory has a word of
        it.

        Args:
            role: ``about``, ``previous`` or ``next``.
            text: it, in somebody's words.
            embedded: its vector, where there is a model.
            memory: has followed the vectors of that model.
            visible: ``(n,) bool``: which memories count.
            degraded: told, in a sentence each, what takes no part.
        """
        words = WordScores.score(text, snapshot, memory, visible, degraded)
        if not words.known_share:
            left = "it took no part" if embedded is None else "its meaning alone told how near they are"
            degraded.append(f"{role}: no memory has a word of it that tells anything, so {left}")
            if embedded is None:
                return None
        of = np.arange(len(memory.columns.row))
        if role != "about":
            turns = visible & (memory.columns.kind == _TURN)
            of = memory.neighbours(of, turns)[role == "next"]
        return cls(role, embedded, words, memory, of)

    def warnings(self) -> Iterator[str]:
        """What took no part in the nearness told last, one sentence each."""
        if self._without_vector:
            of_them = "memory has no vector" if self._without_vector == 1 else "memories have no vectors"
            yield f"{self.role}: {self._without_vector} {of_them} yet; words alone spoke there"

    def nearness(self, memories: NDArray[np.int64]) -> Floats:
        """How near the memories of some records are, 0 to 1.

        Args:
            memories: ``(m,) int64``: the position of each record's memory.
        """
        found, known = np.zeros(len(memories)), self._of[memories] >= 0
        found[known] = self._nearness(self._of[memories[known]])
        return found

    def _nearness(self, memories: NDArray[np.int64]) -> Floats:
        words = WordScores(
            self._words.memory[memories], self._words.session[memories], self._words.full_score, self._words.known_share
        )
        if self.embedded is None:
            return nearness(None, words)
        looked = np.zeros(len(self._memory.columns.row), np.bool_)
        looked[memories] = True
        cosines = self._memory.cosines(self.embedded.vector, looked, RESCORE_ROWS).best[memories].astype(np.float64)
        self._without_vector = int(np.count_nonzero(np.isnan(cosines)))
        return nearness(cosines, words)


def nearness(cosines: Floats | None, words: WordScores) -> Floats:
    """Fuse what meaning says with what words say, ``(m,)``, 0 to 1.

    Words count the less the fewer of them any memory has: of a question in another language, meaning alone tells.

    Args:
        cosines: ``(m,)``, NaN where there is none; ``None`` without a model.
    """
    signals = []
    if cosines is not None and not np.isnan(cosines).all():
        signals.append(SignalScores("dense", np.clip(cosines, 0.0, 1.0)))
    if words.known_share:
        weight = _WORD_WEIGHT * words.known_share
        for name, scores in (("lexical", words.memory), ("session", words.session)):
            signals.append(SignalScores(name, np.clip(scores / words.full_score, 0.0, 1.0), weight))
    everything = np.ones(len(words.memory), np.bool_)
    fused: Floats = fuse(signals, everything).scores.astype(np.float64)
    return fused / max(sum(one.weight for one in signals), np.finfo(float).tiny)
