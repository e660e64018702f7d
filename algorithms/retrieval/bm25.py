"""BM25 over postings: how well the words of a query fit a memory, and how well they fit its whole session.

Above it stands `mnemic.actors.recall.recaller`, which reads the postings of a query's terms from the word index; below
it stands NumPy alone. All functions take their counts (documents, those that hold a term, the average length) from the
visible rows only. So a recall as of last week ranks as it did last week, and a scope's words never weigh in another.

Source: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The inverse
document frequency is ``log(1 + (N - n + 0.5) / (n + 0.5))``, which is never negative. SQLite's FTS5 leaves out the
``1 +`` and replaces what falls to 0 or below, for a term that half of the documents hold, by ``1e-6``: in a mind of
three memories it would hear almost nothing. Otherwise the two agree; FTS5 negates its score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Postings = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Where a term occurs: row indices, each once, and how often it occurs there; both ``(m,)``."""

K1 = 1.2
"""How soon a term's repetition stops counting: 0 hears only whether it is there."""
B = 0.75
"""How much a long document is held back: 0 not at all, 1 in proportion to its length."""


def inverse_document_frequency(holding: int, documents: int) -> float:
    """How much a term tells: ``log(1 + (N - n + 0.5) / (n + 0.5))`` where ``n`` of ``N`` documents hold it; > 0."""
    return float(np.log1p((documents - holding + 0.5) / (holding + 0.5)))


def full_score(postings: Sequence[Postings], visible: NDArray[np.bool_], *, k1: float = K1) -> float:
    """What no document scores: every term of a query, each as often as could be. A score over this is a share.

    A term that no visible row holds counts as the rarest: what nobody said is missing in every answer. Arguments as for
    `bm25`.
    """
    holding = [int(np.count_nonzero(visible[rows])) for rows, _ in postings]
    return full_score_of(holding, int(np.count_nonzero(visible)), k1=k1)


def full_score_of(holding: Iterable[int], documents: int, *, k1: float = K1) -> float:
    """The same, of how many of so many documents hold each term."""
    return (k1 + 1.0) * sum(inverse_document_frequency(int(count), documents) for count in holding)


def telling_share(holding: Iterable[int], documents: int) -> float:
    """How far the terms of a query tell one document from another, 0 to 1: 1 where all together are as rare as one that
    a single document holds, or rarer, and little where most documents hold each of them.

    A share of `full_score` says how much of what a query tells a document has, and not whether that is anything: of
    "what is it" nearly every document has all. Arguments as for `full_score_of`.
    """
    told = sum(inverse_document_frequency(int(count), documents) for count in holding)
    return min(1.0, told / inverse_document_frequency(1, max(1, documents)))


def bm25(
    postings: Sequence[Postings],
    lengths: NDArray[np.integer | np.floating],
    visible: NDArray[np.bool_],
    *,
    k1: float = K1,
    b: float = B,
) -> NDArray[np.float64]:
    """Score every row by the terms of a query.

    Args:
        postings: one entry for each term of the query; a term given twice counts twice.
        lengths: ``(n,)``, how many words each row holds, 0 or more.
        visible: ``(n,) bool``, the rows that are ranked; the others neither score nor count.
        k1: saturation, 0 or more.
        b: correction for length, 0 to 1.

    Returns:
        ``(n,) float64``, 0 or more; 0 for a row that holds no term, and for every row that is not visible.

    Raises:
        ValueError: `lengths` and `visible` differ in shape, `k1` is negative, or `b` lies outside 0 to 1.
    """
    _check(lengths, visible, k1, b)
    scores = np.zeros(len(lengths), np.float64)
    documents = int(np.count_nonzero(visible))
    words = float(lengths.sum(where=visible, dtype=np.float64))
    if not words:
        return scores
    for rows, counts in postings:
        seen = visible[rows]
        rows, frequency = rows[seen], counts[seen].astype(np.float64)
        weight = inverse_document_frequency(len(rows), documents)
        damping = k1 * (1.0 - b + b * lengths[rows] * (documents / words))
        scores[rows] += weight * (k1 + 1.0) * frequency / (frequency + damping)
    return scores


class GroupedPostings(NamedTuple):
    """Groups of rows (the turns of a session), each read as one document made of its visible rows."""

    postings: list[Postings]
    """Of each term the groups that hold it."""
    lengths: NDArray[np.float64]
    """``(g,)``: how many words each group's visible rows hold."""
    visible: NDArray[np.bool_]
    """``(g,)``: the groups that have a visible row."""


def group_postings(
    postings: Sequence[Postings],
    lengths: NDArray[np.integer | np.floating],
    visible: NDArray[np.bool_],
    groups: NDArray[np.int64],
    count: int | None = None,
) -> GroupedPostings:
    """Sum postings of rows to postings of groups, which `bm25` and the others take as they take those of rows.

    Args:
        postings: as for `bm25`.
        lengths: as for `bm25`.
        visible: as for `bm25`; a group is a document if at least one of its rows is visible.
        groups: ``(n,) int64``, the group of each row, 0 or more; dense numbers keep this fast.
        count: how many groups there are; ``None``: as many as are named.

    Raises:
        ValueError: the shapes differ, or a group's number is negative or not below `count`.
    """
    _check(lengths, visible, K1, B)
    if groups.shape != lengths.shape:
        raise ValueError(f"groups has shape {groups.shape}, lengths {lengths.shape}")
    if len(groups) and groups.min() < 0:
        raise ValueError("a group's number is negative")
    named = int(groups.max()) + 1 if len(groups) else 0
    size = named if count is None else count
    if named > size:
        raise ValueError(f"group {named - 1} is named, and there are {size}")
    shown = groups[visible]
    grouped: list[Postings] = []
    for rows, counts in postings:
        seen = visible[rows]
        totals = np.bincount(groups[rows[seen]], weights=counts[seen], minlength=size)
        holding = np.flatnonzero(totals)
        grouped.append((holding, totals[holding].astype(np.float32)))
    words = np.bincount(shown, weights=lengths[visible], minlength=size).astype(np.float64)
    return GroupedPostings(grouped, words, np.bincount(shown, minlength=size) > 0)


def saturation(
    grouped: GroupedPostings, groups: NDArray[np.int64], *, k1: float = K1, b: float = B
) -> NDArray[np.float64]:
    """How well some groups meet each term of a query, ``(m, terms)``, from 0 to below 1: `bm25` without the weights.

    Args:
        groups: ``(m,)``: which groups.
    """
    words = float(grouped.lengths[grouped.visible].sum())
    documents = int(np.count_nonzero(grouped.visible))
    found = np.zeros((len(groups), len(grouped.postings)), np.float64)
    if not words:
        return found
    damping = k1 * (1.0 - b + b * grouped.lengths[groups] * (documents / words))
    frequency = np.zeros(len(grouped.lengths), np.float64)
    for term, (holding, counts) in enumerate(grouped.postings):
        frequency[holding] = counts
        found[:, term] = frequency[groups] / (frequency[groups] + damping)
        frequency[holding] = 0.0
    return found


def bm25_grouped(
    postings: Sequence[Postings],
    lengths: NDArray[np.integer | np.floating],
    visible: NDArray[np.bool_],
    groups: NDArray[np.int64],
    *,
    k1: float = K1,
    b: float = B,
) -> NDArray[np.float64]:
    """Score groups of rows: arguments as for `group_postings` and `bm25`, which this is one after the other.

    Returns:
        ``(n,) float64``: for each visible row the score of its group; 0 for the others.
    """
    grouped = group_postings(postings, lengths, visible, groups)
    scores = bm25(*grouped, k1=k1, b=b)
    return np.where(visible, scores[groups], 0.0) if len(groups) else np.zeros(0, np.float64)


def _check(lengths: NDArray[np.integer | np.floating], visible: NDArray[np.bool_], k1: float, b: float) -> None:
    if lengths.ndim != 1 or lengths.shape != visible.shape:
        raise ValueError(f"lengths has shape {lengths.shape}, visible {visible.shape}; both must be (n,)")
    if k1 < 0 or not 0 <= b <= 1:
        raise ValueError(f"k1 = {k1} must be 0 or more and b = {b} within 0 to 1")
