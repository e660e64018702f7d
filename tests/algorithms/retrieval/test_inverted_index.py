"""Both implementations answer as a plain dict does, however their documents come, and score as BM25 is defined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.bm25 import bm25, group_postings
from mnemic.algorithms.retrieval.inverted_index import (
    InvertedIndex,
    NativeInvertedIndex,
    NumpyInvertedIndex,
    make_inverted_index,
)
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.retrieval.term_codes import CHECKSUM_MASK, CODE_BYTES, checksum_share

MAKERS = [
    pytest.param(NativeInvertedIndex, marks=pytest.mark.skipif(not NATIVE, reason="the native extension is not built")),
    NumpyInvertedIndex,
]
BIG = (1 << 48) - 1

Document = Sequence[int]
Make = Callable[[], InvertedIndex]

terms = st.sampled_from([0, 1, 2, 255, 256, BIG])
minds = st.lists(st.lists(terms, max_size=6), max_size=12)
questions = st.lists(st.lists(terms, min_size=1, max_size=3), max_size=4)


def codes(document: Document) -> bytes:
    return b"".join((1 << 48 | term).to_bytes(CODE_BYTES, "little") for term in document)


def append(index: InvertedIndex, documents: Sequence[Document], first_row: int) -> None:
    """Append documents of rows from one on; a term stands once for each time it occurs, in any order."""
    ends = np.cumsum([CODE_BYTES * len(document) for document in documents], dtype=np.int64)
    rows = np.arange(first_row, first_row + len(documents))
    index.append(rows, ends, b"".join(map(codes, documents)))


def built(make: Make, documents: Sequence[Document], parts: int = 2) -> InvertedIndex:
    index = make()
    size = max(1, -(-len(documents) // parts))
    for start in range(0, len(documents), size):
        append(index, documents[start : start + size], start + 1)
    return index


def occurrences(documents: Sequence[Document], word: Sequence[int]) -> dict[int, int]:
    """Where any of some terms is and how often, by a plain dict."""
    found: dict[int, int] = {}
    for position, document in enumerate(documents):
        counts = Counter(document)
        often = sum(counts[term] for term in set(word))
        if often:
            found[position] = often
    return found


@pytest.mark.parametrize("make", MAKERS)
@given(minds, questions, st.integers(1, 4))
def test_it_answers_as_a_plain_dict_does(
    make: Make, documents: list[list[int]], question: list[list[int]], parts: int
) -> None:
    index = built(make, documents, parts)
    assert index.documents == len(documents)
    everywhere = np.arange(-1, len(documents) + 2)
    counts = index.counts_at(question, everywhere)
    assert counts.shape == (len(question), len(everywhere))
    for word, own in zip(question, counts.tolist(), strict=True):
        expected = occurrences(documents, word)
        positions, often = index.postings(word)
        assert (positions.dtype, often.dtype) == (np.int64, np.float32)
        assert dict(zip(positions.tolist(), often.tolist(), strict=True)) == expected
        assert positions.tolist() == sorted(expected)
        assert own == [expected.get(position, 0) for position in everywhere.tolist()]
    shares = (checksum_share(row, codes(document)) for row, document in enumerate(documents, 1))
    assert index.checksum == sum(shares) & CHECKSUM_MASK


@pytest.mark.parametrize("make", MAKERS)
@given(st.lists(st.tuples(st.lists(terms, max_size=6), st.booleans(), st.integers(0, 3)), max_size=12), questions)
def test_it_scores_as_bm25_and_sums_groups(
    make: Make, mind: list[tuple[list[int], bool, int]], question: list[list[int]]
) -> None:
    documents = [document for document, _, _ in mind]
    visible = np.array([seen for _, seen, _ in mind], np.bool_)
    groups = np.array([group for _, _, group in mind], np.int64)
    lengths = np.array([len(document) for document in documents], np.int64)
    postings = []
    for word in question:
        known = occurrences(documents, word)
        postings.append((np.array(list(known), np.int64), np.array(list(known.values()), np.float32)))
    found = built(make, documents).search(question, visible, lengths, groups, 5)
    assert found.scores == pytest.approx(bm25(postings, lengths, visible, b=0.0), rel=1e-12)
    assert found.holding.tolist() == [np.count_nonzero(visible[rows]) for rows, _ in postings]
    expected = group_postings(postings, lengths, visible, groups, 5)
    assert found.groups is not None
    assert found.groups.lengths.tolist() == expected.lengths.tolist()
    assert found.groups.visible.tolist() == expected.visible.tolist()
    for (own, often), (theirs, as_often) in zip(found.groups.postings, expected.postings, strict=True):
        assert (own.tolist(), often.tolist()) == (theirs.tolist(), as_often.tolist())
        assert often.dtype == np.float32
    assert built(make, documents).search(question, visible, lengths, None, 0).groups is None


@pytest.mark.parametrize("make", MAKERS)
def test_long_lists_are_read_whole_and_looked_up_in_the_middle(make: Make) -> None:
    random = np.random.default_rng(1)
    documents = [[7] * int(often) + [9] for often in random.integers(0, 2, 3000) * random.integers(1, 300, 3000)]
    index = built(make, documents, parts=7)
    append(index, [[9], [7, 7]], 3001)  # behind what is sorted by term already
    documents += [[9], [7, 7]]
    expected = occurrences(documents, [7])
    positions, often = index.postings([7])
    assert dict(zip(positions.tolist(), often.tolist(), strict=True)) == expected
    wanted = random.integers(0, 3002, 400)
    assert index.counts_at([[7]], wanted).tolist() == [[expected.get(int(at), 0) for at in wanted]]
    assert len(index.postings([9])[0]) == 3001


@pytest.mark.parametrize("make", MAKERS)
def test_counts_add_up_and_what_stands_behind_whole_terms_does_not_count(make: Make) -> None:
    index = make()
    told = b"".join((count << 48 | 3).to_bytes(CODE_BYTES, "little") for count in (255, 45, 0))
    nothing = (8).to_bytes(CODE_BYTES, "little")
    index.append(np.array([4, 5]), np.array([2, 2 + len(told + nothing) + 1]), b"\1\2" + told + nothing + b"\xff")
    assert [part.tolist() for part in index.postings([3])] == [[1], [300.0]]
    assert [part.tolist() for part in index.postings([8])] == [[], []]
    shares = (checksum_share(row, part) for row, part in ((4, b"\1\2"), (5, told + nothing + b"\xff")))
    assert index.checksum == sum(shares) & CHECKSUM_MASK


@pytest.mark.parametrize("make", MAKERS)
def test_what_does_not_fit_is_refused(make: Make) -> None:
    index = built(make, [[1], [2]])
    for rows, ends, packed in (([3], [], b""), ([3, 4], [14, 7], bytes(7)), ([3], [7], b""), ([3], [-6], b"")):
        with pytest.raises(ValueError, match=r"ends|were to be"):
            index.append(np.array(rows, np.int64), np.array(ends, np.int64), packed)
    assert index.documents == 2
    lengths, visible = np.ones(2, np.int64), np.ones(2, np.bool_)
    for size, groups, count in ((1, None, 0), (2, [0, -1], 1), (2, [0, 1], 1), (2, [0], 1)):
        of = None if groups is None else np.array(groups, np.int64)
        with pytest.raises(ValueError, match=r"were to be|documents|group|shape"):
            index.search([[1]], visible[:size], lengths[:size], of, count)


def test_the_native_one_is_taken_where_it_was_built() -> None:
    assert isinstance(make_inverted_index(), NativeInvertedIndex if NATIVE else NumpyInvertedIndex)
