"""Where the words of all memories are, in memory: follows the store by row, and proves that it has what the store has.

Below `mnemic.actors.index.recall_index`, which brings it up to a snapshot. The store keeps a checksum over the terms
of all memories, changed with each of them; what is kept here adds up to the same, or it is read anew, and the log says
so.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.log.queries import Columns
from mnemic.algorithms.retrieval.bm25 import Postings
from mnemic.algorithms.retrieval.inverted_index import Matches, make_inverted_index
from mnemic.algorithms.retrieval.term_codes import CHECKSUM_MASK, term_number

WORDS_DAMAGED = "words: the word index is not as it was kept; `mnemic doctor --repair` makes it again"
_PAGE = 20_000  # memories read at once, 3 MB

_log = logging.getLogger("mnemic.recall")

Stems = Sequence[str]
"""What a question's word may be kept under; where it is kept under several, any of them."""


class WordIndex:
    """Finds words by their stems, in memories by their place in the columns."""

    def __init__(self) -> None:
        self.clear()

    @property
    def damaged(self) -> bool:
        """Whether what the store has is not what it was when it was written."""
        return self._gap != (0, 0)

    def clear(self) -> None:
        """Forget all memories."""
        self._index = make_inverted_index()
        self._indexed = 0  # memories whose terms the store has
        self._gap = (0, 0)  # between what the store has and what it should have

    def sync(self, snapshot: Snapshot, rows: NDArray[np.int64]) -> None:
        """Bring it up to a snapshot.

        Args:
            rows: ``(n,)``: of all memories, those that are known already first.
        """
        began = not self._index.documents
        self._append(snapshot, rows)
        gap = self._missing(snapshot)
        if gap == self._gap:
            return
        if not began:
            _log.warning("the word index in memory is not as the store's: it is read anew")
            self.clear()
            self._append(snapshot, rows)
            gap = self._missing(snapshot)
        if gap != (0, 0):
            _log.error("%s", WORDS_DAMAGED)
        self._gap = gap

    def postings(self, stems: Stems) -> Postings:
        """Where a word is, and how often."""
        return self._index.postings(list(map(term_number, stems)))

    def holds(self, words: Sequence[Stems], positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which words the memories at some positions hold, ``(words, m)``."""
        return self._index.counts_at(_numbers(words), positions) > 0

    def count_memories(self, words: Sequence[Stems]) -> tuple[int, list[int]]:
        """How many memories there are, and how many of them hold each word."""
        return self._index.documents, [len(self.postings(stems)[0]) for stems in words]

    def search(self, words: Sequence[Stems], visible: NDArray[np.bool_], columns: Columns, by_session: bool) -> Matches:
        """Score memories by the words of a question.

        Args:
            visible: ``(n,) bool``: what is looked through.
            columns: what the index has followed.
            by_session: whether the words of whole sessions are wanted, too.
        """
        sessions = columns.session if by_session else None
        count = int(columns.session.max(initial=-1)) + 1
        return self._index.search(_numbers(words), visible, columns.words, sessions, count)

    def _append(self, snapshot: Snapshot, rows: NDArray[np.int64]) -> None:
        """Append what the store has of the memories that are not known yet."""
        while self._index.documents < len(rows):
            first = self._index.documents
            new = rows[first : first + _PAGE]
            block = snapshot.memory_terms(int(new[0]) - 1, len(new))
            there = block.row <= new[-1]  # where the store lacks the terms of one, others come instead
            sizes = np.zeros(len(new), np.int64)
            sizes[np.searchsorted(new, block.row[there])] = np.diff(block.end, prepend=0)[there]
            ends = np.cumsum(sizes)
            self._index.append(new, ends, block.codes[: int(ends[-1])])
            self._indexed += int(np.count_nonzero(there))

    def _missing(self, snapshot: Snapshot) -> tuple[int, int]:
        totals = snapshot.term_totals()
        return totals.memories - self._indexed, (totals.checksum - self._index.checksum) & CHECKSUM_MASK


def _numbers(words: Sequence[Stems]) -> list[list[int]]:
    return [list(map(term_number, stems)) for stems in words]
