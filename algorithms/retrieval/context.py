"""What the words of a text and its neighbours in a conversation add to how well it answers a question.

Above stands `mnemic.actors.recall.ranking.reranker`, which looks at the best memories of a first pass in this way;
below stands NumPy alone. Two things that the first pass cannot see: a question's word that a text meets by another word
of nearly the same meaning, and an answer that is understood only by what was said before it. What both rest on was
measured on unlike data: docs/decisions/0013-recall.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WORD_FLOOR = 0.3
"""The cosine of two words' vectors up to which they have nothing to do with each other."""
NEIGHBOUR_WEIGHT = 0.5
"""How much of a neighbour's vector is mixed into a text's, where both are of one matter."""

Floats = NDArray[np.float64]


def word_similarities(
    asked: NDArray[np.float32],
    words: NDArray[np.float32],
    same: NDArray[np.bool_],
    literal: NDArray[np.bool_],
) -> Floats:
    """How well each word meets each word of a question, 0 to 1.

    Args:
        asked: ``(q, d) float32``: vectors of the question's words, of unit length; shorter ones meet others less.
        words: ``(w, d) float32``: those of the words.
        same: ``(q, w) bool``: which are the same word, whatever their vectors; they meet wholly.
        literal: ``(q,) bool``: which of the question's words (names, numbers) are met by themselves alone.

    Returns:
        ``(q, w) float64``.
    """
    # Not `@`: threads of a BLAS that has several wait for each other, 60 ms on a busy machine, and this takes 0.3.
    cosines = np.einsum("qd,wd->qw", asked, words)
    similar: Floats = np.clip((cosines - WORD_FLOOR) / (1.0 - WORD_FLOOR), 0.0, 1.0).astype(np.float64)
    similar[literal] = 0.0
    similar[same] = 1.0
    return similar


def best_matches(similar: Floats, words: NDArray[np.integer], lengths: NDArray[np.integer]) -> Floats:
    """For each text and each word of a question how well the nearest of the text's words meets it.

    Args:
        similar: ``(q, w)``, as `word_similarities` gives it.
        words: which of the `w` words the texts hold, text after text.
        lengths: ``(texts,)``: how many of them are of each.

    Returns:
        ``(texts, q) float64``; 0 for a text without words.
    """
    found = np.zeros((len(lengths), len(similar)), np.float64)
    filled = np.flatnonzero(lengths)
    if len(filled):
        starts = (np.cumsum(lengths) - lengths)[filled]
        found[filled] = np.maximum.reduceat(similar[:, words], starts, 1).T
    return found


def relatedness(cosines: Floats, background: float) -> Floats:
    """How far neighbours are of one matter: 0 where they are as alike as any two texts, 1 from halfway to equal.

    Args:
        cosines: of each text and its neighbour; NaN where there is no neighbour, which gives 0.
        background: the mean cosine of two texts of this mind, below 1.
    """
    related: Floats = np.clip(
        2.0 * (np.nan_to_num(cosines, nan=-1.0) - background) / max(1.0 - background, 1e-6), 0.0, 1.0
    )
    return related


def context_cosine(cosine: Floats, neighbours: Sequence[tuple[Floats, Floats, Floats]]) -> Floats:
    """The cosine of a question with each text mixed with its neighbours, as far as they are of one matter.

    The mixture is the sum of the unit vectors, a neighbour's times `NEIGHBOUR_WEIGHT` and its relatedness; that two
    neighbours are like each other is left out of its length.

    Args:
        cosine: ``(n,)``: of the question and each text.
        neighbours: for the one before and the one after: the question's cosine with it, the text's, and how related
            they are; what stands where the last is 0 does not matter, but must be a number.
    """
    mixed, square = cosine.copy(), np.ones(len(cosine), np.float64)
    for asked, own, related in neighbours:
        weight = NEIGHBOUR_WEIGHT * related
        mixed += weight * asked
        square += weight * weight + 2.0 * weight * own
    return mixed / np.sqrt(np.maximum(square, 1e-6))
