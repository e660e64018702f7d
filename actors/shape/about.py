"""Scores how near memories are to a text in a structural query, by embedding cosine and BM25.

A hypervector of a dozen pairs holds an embedding with noise, and no words at all. The Retriever has both. So among the
records that have what is exact, the cosine of the memory's best window and BM25 of its words and of its session's are
fused; only where a memory has no vector does the projection in its hypervector stand in. Unlike recall's, each signal
stays on its own scale: a cosine of 1 and words that say all that was asked are full marks, whatever else is there. So
a nearness means the same in every question, and confidence may rest on it (docs/decisions/0011-structural-signal.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.meaning.messages import QueryEmbedded
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.recall.query import question_words
from mnemic.actors.recall.recall_index import RecallIndex
from mnemic.algorithms.retrieval.bm25 import bm25, bm25_grouped, inverse_document_frequency
from mnemic.algorithms.retrieval.fusion import SignalScores, fuse
from mnemic.algorithms.retrieval.scan import RESCORE_ROWS
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.query import RecordVectors, meaning_scores
from mnemic.hd.records import Pair

Floats = NDArray[np.float64]

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


class AboutQuery:
    """What is asked about, and how near memories are to it."""

    def __init__(self, embedded: QueryEmbedded | None, words: WordScores, memory: RecallIndex) -> None:
        self.embedded, self._words, self._memory = embedded, words, memory
        self._without_vector = 0

    @classmethod
    def prepare(
        cls,
        text: str,
        embedded: QueryEmbedded | None,
        snapshot: Snapshot,
        memory: RecallIndex,
        visible: NDArray[np.bool_],
        degraded: list[str],
    ) -> Self | None:
        """What is asked about; ``None`` where nothing can be said: there is no vector, and no memory has a word of it.

        Args:
            text: it, in somebody's words.
            embedded: its vector, where there is a model.
            memory: has followed the vectors of that model.
            visible: ``(n,) bool``: which memories count.
            degraded: told, in a sentence each, what takes no part.
        """
        words = WordScores.score(text, snapshot, memory, visible, degraded)
        if not words.known_share:
            left = "it took no part" if embedded is None else "its meaning alone told how near they are"
            degraded.append(f"about: no memory has a word of it that tells anything, so {left}")
            if embedded is None:
                return None
        return cls(embedded, words, memory)

    def warnings(self) -> Iterator[str]:
        """What took no part in the nearness told last, one sentence each."""
        if self._without_vector:
            of_them = "memory has no vector" if self._without_vector == 1 else "memories have no vectors"
            yield f"about: {self._without_vector} {of_them} yet; hypervectors or words alone spoke there"

    def projected_cosines(self, codes: RecordVectors, places: NDArray[np.int64], encoders: RecordEncoder) -> Floats:
        """The cosines that hypervectors show of some records, ``(m,)``; NaN where they hold those of another model."""
        if self.embedded is None or self.embedded.encoder.model != encoders.space.model:
            return np.full(len(places), np.nan)
        near = encoders.encode_pairs([Pair("about", np.frombuffer(self.embedded.vector, np.float32))])
        return meaning_scores(codes, places, near, encoders.algebra)[:, 0]

    def nearness(self, memories: NDArray[np.int64], projected: Callable[[NDArray[np.int64]], Floats]) -> Floats:
        """How near the memories of some records are, 0 to 1.

        Args:
            memories: ``(m,) int64``: the position of each record's memory.
            projected: the cosines that the hypervectors show of some of these records, where their memories have no
                vector; NaN where they show none.
        """
        words = WordScores(
            self._words.memory[memories], self._words.session[memories], self._words.full_score, self._words.known_share
        )
        if self.embedded is None:
            return nearness(None, words)
        looked = np.zeros(len(self._memory.columns.row), np.bool_)
        looked[memories] = True
        cosines = self._memory.cosines(self.embedded.vector, looked, RESCORE_ROWS).best[memories].astype(np.float64)
        lacking = np.flatnonzero(np.isnan(cosines))
        if len(lacking):
            cosines[lacking] = projected(lacking)
        self._without_vector = len(lacking)
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
