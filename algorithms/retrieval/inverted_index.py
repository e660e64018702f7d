"""An inverted index in memory: where each term occurs, natively or by NumPy; BM25 of a question in one pass.

Documents are known by position, in the order they are appended; terms by their numbers, as
`mnemic.algorithms.retrieval.term_codes` makes them. Both implementations give the same answers, but for the last bits
of a score. The native one keeps a posting in one or two bytes as a rule and appends to it where it stands. NumPy keeps
eight bytes, sorted by term, and looks through what was appended last until that is an eighth of all.

A question's word is looked up by one term or several: where any of them is, as often as all of them together. All
postings of a word are read, for how many visible documents hold it is part of its weight, so nothing is gained by
ending early (`docs/decisions/0014-latency.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.retrieval.bm25 import K1, GroupedPostings, Postings, bm25, group_postings
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.retrieval.term_codes import CHECKSUM_MASK, CODE_BYTES, checksum_share

Ints = NDArray[np.int64]
Words = Sequence[Sequence[int]]
"""Of each word the numbers of its terms."""
_SMALL_TAIL, _TAIL_SHARE = 1 << 14, 8


class Matches(NamedTuple):
    """What the words of a question are found in, `n` documents."""

    scores: NDArray[np.float64]
    """``(n,)``: BM25 with b = 0, as `mnemic.algorithms.retrieval.bm25` has it."""
    holding: Ints
    """``(words,)``: how many visible documents hold each word."""
    groups: GroupedPostings | None
    """The same of groups; ``None`` where they were not asked for."""


class InvertedIndex(Protocol):
    """Where each term occurs."""

    @property
    def documents(self) -> int:
        """How many there are."""

    @property
    def checksum(self) -> int:
        """Of all of them; see `mnemic.algorithms.retrieval.term_codes`."""

    def append(self, rows: Ints, ends: Ints, codes: bytes) -> None:
        """Append documents.

        Args:
            rows: ``(m,)``: the rows that the checksum knows them by.
            ends: ``(m,)``: where in `codes` the terms of each end.
            codes: of one document after the other, as `mnemic.algorithms.retrieval.term_codes.encode_terms` gives them.

        Raises:
            ValueError: the lengths differ, or the ends do not rise to the number of bytes.
        """

    def postings(self, terms: Sequence[int]) -> Postings:
        """The positions where any of some terms is, ascending, and how often all of them together."""

    def counts_at(self, words: Words, positions: Ints) -> NDArray[np.uint32]:
        """How often each word occurs in the documents at some positions, ``(words, m)``; 0 beyond the last one."""

    def search(
        self, words: Words, visible: NDArray[np.bool_], lengths: Ints, groups: Ints | None, group_count: int
    ) -> Matches:
        """Score a question.

        Args:
            visible: ``(n,) bool``: what is looked through; the rest neither scores nor counts.
            lengths: ``(n,)``: how many words each document holds.
            groups: ``(n,)``: the group of each document, from 0 to below `group_count`; ``None`` to ask for none.

        Raises:
            ValueError: a length is not the number of documents, or there is no such group.
        """


def make_inverted_index() -> InvertedIndex:
    """An empty one, native where that was built."""
    return NativeInvertedIndex() if NATIVE else NumpyInvertedIndex()


class NativeInvertedIndex:
    """By `mnemic._native`."""

    def __init__(self) -> None:
        from mnemic._native import InvertedIndex as Index  # here, since it is absent where there was no cargo

        self._index = Index()

    @property
    def documents(self) -> int:
        return self._index.documents

    @property
    def checksum(self) -> int:
        return self._index.checksum

    def append(self, rows: Ints, ends: Ints, codes: bytes) -> None:
        self._index.append(np.ascontiguousarray(rows), np.ascontiguousarray(ends), codes)

    def postings(self, terms: Sequence[int]) -> Postings:
        return self._index.postings(terms)

    def counts_at(self, words: Words, positions: Ints) -> NDArray[np.uint32]:
        return self._index.counts_at(words, np.ascontiguousarray(positions))

    def search(
        self, words: Words, visible: NDArray[np.bool_], lengths: Ints, groups: Ints | None, group_count: int
    ) -> Matches:
        of = None if groups is None else np.ascontiguousarray(groups)
        scores, holding, grouped, words_of_group, shown = self._index.search(
            words, np.ascontiguousarray(visible), K1, np.ascontiguousarray(lengths), of, group_count
        )
        return Matches(scores, holding, None if groups is None else GroupedPostings(grouped, words_of_group, shown))


class NumpyInvertedIndex:
    """By NumPy."""

    def __init__(self) -> None:
        self.documents = 0
        self.checksum = 0
        self._terms = np.empty(0, np.uint64)  # ascending; the postings of the i-th are from the i-th start on
        self._starts = np.zeros(1, np.int64)
        self._positions = np.empty(0, np.int32)
        self._counts = np.empty(0, np.uint32)
        self._tail: list[tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint32]]] = []

    def append(self, rows: Ints, ends: Ints, codes: bytes) -> None:
        sizes = np.diff(ends, prepend=0)
        if rows.shape != ends.shape:
            raise ValueError(f"rows has shape {rows.shape}, ends {ends.shape}")
        if (sizes < 0).any() or int(sizes.sum()) != len(codes):
            raise ValueError("the ends do not rise to the number of bytes")
        terms, often, of = _decode(sizes, codes)
        edges = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
        shares = (checksum_share(row, codes[a:b]) for row, (a, b) in zip(rows.tolist(), edges, strict=True))
        self.checksum = (self.checksum + sum(shares)) & CHECKSUM_MASK
        if ((terms[1:] < terms[:-1]) & (of[1:] == of[:-1])).any():
            order = np.lexsort((terms, of))
            terms, often = terms[order], often[order]
        starts = np.flatnonzero(np.r_[True, (terms[1:] != terms[:-1]) | (of[1:] != of[:-1])][: len(terms)])
        counts = np.add.reduceat(often, starts) if len(starts) else often
        held = starts[counts > 0]
        positions = (of[held] + self.documents).astype(np.int32)
        self._tail.append((terms[held], positions, counts[counts > 0].astype(np.uint32)))
        self.documents += len(rows)

    def postings(self, terms: Sequence[int]) -> Postings:
        self._merge_tail()
        found = [self._postings_of(term) for term in dict.fromkeys(terms)]
        if len(found) == 1:
            return found[0]
        rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in found)])
        counts = np.concatenate([np.empty(0, np.float32), *(counts for _, counts in found)])
        positions, which = np.unique(rows, return_inverse=True)
        return positions, np.bincount(which, weights=counts, minlength=len(positions)).astype(np.float32)

    def counts_at(self, words: Words, positions: Ints) -> NDArray[np.uint32]:
        counts = np.zeros((len(words), len(positions)), np.uint32)
        for own, terms in zip(counts, words, strict=True):
            rows, often = self.postings(terms)
            if len(rows):
                at = np.minimum(np.searchsorted(rows, positions), len(rows) - 1)
                own[:] = np.where(rows[at] == positions, often[at], 0)
        return counts

    def search(
        self, words: Words, visible: NDArray[np.bool_], lengths: Ints, groups: Ints | None, group_count: int
    ) -> Matches:
        if lengths.shape != (self.documents,):
            raise ValueError(f"lengths has shape {lengths.shape}; there are {self.documents} documents")
        postings = [self.postings(terms) for terms in words]
        holding = np.array([np.count_nonzero(visible[rows]) for rows, _ in postings], np.int64)
        grouped = None if groups is None else group_postings(postings, lengths, visible, groups, group_count)
        return Matches(bm25(postings, lengths, visible, b=0.0), holding, grouped)

    def _postings_of(self, term: int) -> Postings:
        place = int(np.searchsorted(self._terms, np.uint64(term)))
        known = place < len(self._terms) and int(self._terms[place]) == term
        own = slice(self._starts[place], self._starts[place + 1]) if known else slice(0)
        rows, counts = [self._positions[own]], [self._counts[own]]
        for terms, positions, often in self._tail:
            at = np.flatnonzero(terms == np.uint64(term))
            rows.append(positions[at])
            counts.append(often[at])
        return np.concatenate(rows).astype(np.int64), np.concatenate(counts).astype(np.float32)

    def _merge_tail(self) -> None:
        waiting = sum(len(terms) for terms, _, _ in self._tail)
        if waiting <= max(_SMALL_TAIL, len(self._positions) // _TAIL_SHARE):
            return
        terms = np.concatenate([np.repeat(self._terms, np.diff(self._starts)), *(one[0] for one in self._tail)])
        order = np.argsort(terms, kind="stable")
        self._positions = np.concatenate([self._positions, *(one[1] for one in self._tail)])[order]
        self._counts = np.concatenate([self._counts, *(one[2] for one in self._tail)])[order]
        self._terms, starts = np.unique(terms[order], return_index=True)
        self._starts = np.append(starts, len(terms)).astype(np.int64)
        self._tail = []


def _decode(sizes: Ints, codes: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Ints]:
    """The numbers of terms, how often each occurs, and its document, from 0; ``(t,)`` each."""
    packed = np.frombuffer(codes, np.uint8)
    if (sizes % CODE_BYTES).any():  # what is left behind whole codes does not count
        inside = np.arange(len(packed)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        packed = packed[inside < np.repeat(sizes // CODE_BYTES * CODE_BYTES, sizes)]
    padded = np.zeros((len(packed) // CODE_BYTES, 8), np.uint8)
    padded[:, :CODE_BYTES] = packed.reshape(-1, CODE_BYTES)
    both = padded.view("<u8").ravel().astype(np.uint64, copy=False)
    of = np.repeat(np.arange(len(sizes)), sizes // CODE_BYTES)
    return both & np.uint64((1 << 48) - 1), both >> np.uint64(48), of
