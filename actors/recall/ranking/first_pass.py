"""The first pass of a recall: what meaning, words and conversations say of every memory that is looked through.

Part of `mnemic.actors.recall.recaller`. The cosines are exact for the windows that fit best, and off by 0.0005 or so
for the others, which are scored by their codes of one byte a value (`mnemic.algorithms.retrieval.scan`). Windows of one
text have one cosine, however many they are, so the newest of them come first. Windows that are not looked through are
not read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.query import QuestionWord
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.index.windows import Cosines
from mnemic.actors.index.word_index import WORDS_DAMAGED
from mnemic.actors.meaning.messages import QueryEmbedded
from mnemic.actors.recall.messages import Recall
from mnemic.actors.recall.ranking.reranker import DENSE_WEIGHT, FirstPass
from mnemic.algorithms.retrieval.bm25 import bm25, full_score, full_score_of, telling_share
from mnemic.algorithms.retrieval.fusion import SignalScores
from mnemic.algorithms.retrieval.scan import NATIVE, RESCORE_ROWS

NOT_NATIVE = "native code is not built: NumPy scans instead, slower"
_RERANKED_WORDS = 64  # of a question; what is longer is pasted


def first_signals(
    index: RecallIndex,
    recall: Recall,
    k: int,
    words: list[QuestionWord],
    visible: NDArray[np.bool_],
    asked: QueryEmbedded | None,
    degraded: list[str],
) -> tuple[list[SignalScores], FirstPass | None, Cosines | None]:
    """The signals of the first pass, what the second one goes on with where there is one, and what meaning knows of the
    visible memories, if anything.

    Args:
        k: so many hits are wanted.
        words: the question's.
        visible: ``(n,)``: which memories are looked through.
        asked: the question's vector; ``None`` where words alone answer.
        degraded: is told what does not take part, and why.
    """
    columns = index.columns
    signals: list[SignalScores] = []
    found = None
    if asked is not None:
        matched = index.cosines(asked.vector, visible, max(RESCORE_ROWS, 4 * k))
        unknown = np.isnan(matched.best)
        pending = visible & unknown
        if not unknown.all():
            found = matched
            # what nobody knows yet is as any other
            mean = float(matched.best[~unknown].mean(dtype=np.float64)) if pending.any() else 0.0
            cosines = np.where(unknown, np.float32(mean), matched.best)
            signals.append(SignalScores("dense", cosines, DENSE_WEIGHT))
        if pending.any():
            degraded.append(
                f"meaning: {np.count_nonzero(pending)} of the memories looked through are found by their words only"
                " so far"
            )
        if not NATIVE:
            degraded.append(NOT_NATIVE)
    by_words, by_session = "lexical" in recall.signals, "session" in recall.signals
    if not (words and (by_words or by_session)):
        return signals, None, found
    if index.words.damaged:
        degraded.append(WORDS_DAMAGED)
    matches = index.words.search([one.terms for one in words], visible, columns, by_session)
    documents = int(np.count_nonzero(visible))
    telling = telling_share(matches.holding, documents)
    if by_words:
        signals.append(SignalScores("lexical", telling * matches.scores / full_score_of(matches.holding, documents)))
    if matches.groups is not None:
        shares = telling * bm25(*matches.groups) / full_score(matches.groups.postings, matches.groups.visible)
        of_session = shares[columns.session] * index.in_session() if len(shares) else np.zeros(0)
        signals.append(SignalScores("session", of_session))
    if asked is None or found is None:
        return signals, None, found
    most = _RERANKED_WORDS if by_words else 0
    first = FirstPass(
        recall.query, words[:most], matches.holding[:most], matches.groups, cosines, asked.encoder, visible
    )
    return signals, first, found
