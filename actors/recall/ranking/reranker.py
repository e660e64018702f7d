"""The second look of a recall: its best memories again, by the meaning of single words and by what stands around them.

`mnemic.actors.recall.recaller` brings the best of a first pass, which compares whole texts and equal words. Here a
question's word is met by a word of nearly the same meaning, too (``sings`` by ``choir``); what a memory leaves unsaid
may stand in the one before or after it, or elsewhere in its conversation; and a text counts together with its
neighbours, as far as they are of one matter. What is added up is in `mnemic.algorithms.retrieval.context`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.query import QuestionWord
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.index.vocabulary import Vocabulary, compounds
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ModelError, ModelOff, RuntimeFault
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.changes import EncoderName
from mnemic.algorithms.retrieval.bm25 import GroupedPostings, inverse_document_frequency, saturation, telling_share
from mnemic.algorithms.retrieval.context import best_matches, context_cosine, relatedness, word_similarities
from mnemic.algorithms.text.languages.table import DEFAULT
from mnemic.algorithms.text.terms import index_terms

DENSE_WEIGHT = 2.0
"""What a cosine counts."""
_WORDS_WEIGHT = 1.5  # of the question's words that the memory itself meets
_NEIGHBOUR_WORDS_WEIGHT = 0.5  # of those that the memory before or after it meets better
_UNKNOWN_LENGTH = 0.8  # a shorter vector is of a word that the model makes of three pieces or more
_QUESTION_CHARS, _MOST_WHOLE = 1 << 13, 64  # of a question, what is looked at for what is written as one
_SESSION_WORDS_WEIGHT = 1.0  # of those that its conversation has and it has not

Floats = NDArray[np.float64]


class FirstPass(NamedTuple):
    """What the first pass knows of a question."""

    question: str
    """As it is asked."""
    words: Sequence[QuestionWord]
    """It is looked up by; none where words take no part."""
    holding: NDArray[np.int64]
    """Of each word, how many of the visible memories hold it."""
    sessions: GroupedPostings | None
    """The same of conversations; ``None`` where neither they nor neighbours take part."""
    cosines: NDArray[np.float32]
    """``(n,)``: with all memories, without NaN."""
    encoder: EncoderName
    """Whose cosines they are."""
    visible: NDArray[np.bool_]
    """``(n,)``: what is looked through."""


class Reranked(NamedTuple):
    """What a second look says."""

    contributions: dict[str, Floats]
    """What each signal contributes for each candidate, ``(m,)``."""
    unknown: float
    """How much of what the question's words tell no memory holds, nor has the model a word for it, 0 to 1."""


class Reranker:
    """Looks at the best of a first pass again."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index
        self._vocabulary = Vocabulary()

    def look(
        self, candidates: NDArray[np.int64], first: FirstPass, snapshot: Snapshot, context: Context, degraded: list[str]
    ) -> Reranked:
        """Look at the candidates of a first pass.

        Args:
            candidates: ``(m,)``: positions of memories.
            snapshot: which the index is as of.
            degraded: told, in a sentence, what takes no part.
        """
        cosine = first.cosines[candidates].astype(np.float64)
        found = {"dense": DENSE_WEIGHT * cosine}
        in_session = self._index.in_session()[candidates]
        neighbours = tuple(np.where(in_session, one, -1) for one in self._index.neighbours(candidates, first.visible))
        related = self._related(candidates, neighbours, first)
        if first.sessions is not None:
            found["session"] = DENSE_WEIGHT * (context_cosine(cosine, related) - cosine)
        if not first.words:
            return Reranked(found, 0.0)
        whole = list(dict.fromkeys(compounds(first.question[:_QUESTION_CHARS])))[:_MOST_WHOLE]
        weights = _shares(first, whole)
        met, around, pieced = self._matches(candidates, neighbours, first, whole, snapshot, context, degraded)
        found["lexical"] = _WORDS_WEIGHT * (met @ weights)
        if first.sessions is not None:
            one_matter = np.maximum(related[0][2], related[1][2])
            found["session"] += _NEIGHBOUR_WORDS_WEIGHT * one_matter * (np.maximum(around - met, 0.0) @ weights)
            words = len(first.words)  # of what is written as one a conversation has the parts
            said = saturation(first.sessions, self._index.columns.session[candidates])[:, :words]
            found["session"] += _SESSION_WORDS_WEIGHT * in_session * (((1.0 - met[:, :words]) * said) @ weights[:words])
        told = _weights(first)
        unknown = pieced[: len(told)] & (first.holding == 0)
        return Reranked(found, float(told[unknown].sum() / told.sum()))

    def _related(
        self, candidates: NDArray[np.int64], neighbours: tuple[NDArray[np.int64], ...], first: FirstPass
    ) -> list[tuple[Floats, Floats, Floats]]:
        """Of each side what `context_cosine` wants to know of the neighbours there."""
        background = self._index.background(first.visible)
        own = self._index.first_vectors(candidates).astype(np.float64)
        found = []
        for beside in neighbours:
            alike = np.where(beside < 0, np.nan, (own * self._index.first_vectors(beside)).sum(axis=1))
            found.append(
                (first.cosines[beside].astype(np.float64), np.nan_to_num(alike), relatedness(alike, background))
            )
        return found

    def _matches(
        self,
        candidates: NDArray[np.int64],
        neighbours: tuple[NDArray[np.int64], ...],
        first: FirstPass,
        whole: Sequence[str],
        snapshot: Snapshot,
        context: Context,
        degraded: list[str],
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """How well each candidate, and the better of its neighbours, meets each word, and what is written as one:
        ``(m, words)`` each; and which of these words the model makes of pieces, ``(words,)``.
        """
        known = self._vocabulary
        known.sync(snapshot.generation, first.encoder)
        looked = np.unique(np.concatenate([candidates, *neighbours]))
        looked = looked[looked >= 0]
        texts = known.words_of(self._index.columns.row[looked].tolist(), snapshot)
        asked = known.numbers_of([*(one.word for one in first.words), *whole])
        said = np.concatenate([asked[:0], *texts])
        numbers, place_of = known.distinct(asked, said)
        same = asked[:, None] == numbers[None, :]  # of the same stem is what the index knows, below
        try:
            known.load_vectors(context)
            literal = np.array([*(one.literal for one in first.words), *(True for _ in whole)])
            vectors = known.vectors_of(asked)
            similar = word_similarities(vectors, known.vectors_of(numbers), same, literal)
            pieced = np.linalg.norm(vectors, axis=1) < _UNKNOWN_LENGTH
        except (ModelError, RuntimeFault) as error:
            if not isinstance(error, ModelOff):
                degraded.append(f"words: {error} Only the same words counted.")
            similar, pieced = same.astype(np.float64), np.zeros(len(asked), np.bool_)
        met = best_matches(similar, place_of[said], np.array([*map(len, texts)], np.int64))
        of_each = np.vstack([met, np.zeros(len(asked))])  # the last for a neighbour that is not there
        at = [np.where(one < 0, len(looked), np.searchsorted(looked, one)) for one in (candidates, *neighbours)]
        held = self._index.words.holds([one.terms for one in first.words], looked)
        of_each[: len(looked), : len(first.words)][held.T] = 1.0  # what the index knows, wherever it stands in a text
        return of_each[at[0]], np.maximum(of_each[at[1]], of_each[at[2]]), pieced


def _shares(first: FirstPass, whole: Sequence[str]) -> Floats:
    """How much of what a question's words tell each of them tells, ``(words,)``; they add up to 1, or less where all of
    them together tell little.

    What is written as one tells once more what its parts tell.
    """
    own = _weights(first)
    of_words = list(zip(first.words, own.tolist(), strict=True))
    parts = [frozenset(index_terms(one, DEFAULT)) for one in whole]
    joined = [sum(weight for word, weight in of_words if not terms.isdisjoint(word.terms)) for terms in parts]
    weights = np.concatenate([own, np.array(joined)])
    shares: Floats = weights / weights.sum()
    return telling_share(first.holding.tolist(), int(np.count_nonzero(first.visible))) * shares


def _weights(first: FirstPass) -> Floats:
    """How much each word of a question tells, ``(words,)``."""
    documents = int(np.count_nonzero(first.visible))
    return np.array([inverse_document_frequency(int(count), documents) for count in first.holding])
