"""BM25 equals its definition written out, counts only what is visible, and agrees with SQLite's FTS5."""

from __future__ import annotations

import math

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.retrieval.bm25 import (
    K1,
    B,
    Postings,
    bm25,
    bm25_grouped,
    full_score,
    group_postings,
    inverse_document_frequency,
    saturation,
    telling_share,
)

TERMS = "abcde"


def twin(documents: list[str], query: str, k1: float, b: float) -> list[float]:
    """The definition, a document and a term at a time; each letter of a document is a word."""
    average = sum(map(len, documents)) / len(documents) if documents else 0.0
    scores = []
    for document in documents:
        score = 0.0
        for term in query:
            frequency = document.count(term)
            if frequency:
                holding = sum(term in other for other in documents)
                weight = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
                score += weight * frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * len(document) / average))
        scores.append(score)
    return scores


def post(documents: list[str], query: str) -> tuple[list[Postings], NDArray[np.int64]]:
    postings: list[Postings] = []
    for term in query:
        rows = [row for row, document in enumerate(documents) if term in document]
        counts = [documents[row].count(term) for row in rows]
        postings.append((np.array(rows, np.int64), np.array(counts, np.float32)))
    return postings, np.array([len(document) for document in documents], np.int64)


minds = st.lists(st.tuples(st.text(TERMS, max_size=8), st.booleans(), st.integers(0, 3)), max_size=12)
queries = st.text(TERMS, max_size=4)
saturations = st.floats(0, 3)
corrections = st.floats(0, 1)


@given(minds, queries, saturations, corrections)
def test_scores_are_the_definition_over_the_visible_documents(
    mind: list[tuple[str, bool, int]], query: str, k1: float, b: float
) -> None:
    documents, visible = [text for text, _, _ in mind], np.array([shown for _, shown, _ in mind], bool)
    postings, lengths = post(documents, query)
    scores = bm25(postings, lengths, visible, k1=k1, b=b)
    assert scores.shape == (len(mind),)
    assert scores.dtype == np.float64
    expected = twin([text for text, shown, _ in mind if shown], query, k1, b)
    np.testing.assert_allclose(scores[visible], expected, rtol=1e-9)
    assert not scores[~visible].any()


@given(minds, queries, saturations, corrections)
def test_a_group_scores_as_one_document_made_of_its_visible_rows(
    mind: list[tuple[str, bool, int]], query: str, k1: float, b: float
) -> None:
    documents, visible = [text for text, _, _ in mind], np.array([shown for _, shown, _ in mind], bool)
    groups = np.array([group for _, _, group in mind], np.int64)
    postings, lengths = post(documents, query)
    scores = bm25_grouped(postings, lengths, visible, groups, k1=k1, b=b)
    assert scores.shape == (len(mind),)
    assert scores.dtype == np.float64
    shown = sorted({group for _, seen, group in mind if seen})
    whole = ["".join(text for text, seen, group in mind if seen and group == one) for one in shown]
    by_group = dict(zip(shown, twin(whole, query, k1, b), strict=True))
    expected = [by_group[group] if seen else 0.0 for _, seen, group in mind]
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


@given(minds, queries)
def test_what_is_not_visible_changes_nothing(mind: list[tuple[str, bool, int]], query: str) -> None:
    visible = np.array([shown for _, shown, _ in mind], bool)
    groups = np.array([group for _, _, group in mind], np.int64)
    postings, lengths = post([text for text, _, _ in mind], query)
    alone_postings, alone_lengths = post([text for text, shown, _ in mind if shown], query)
    everything = np.ones(len(alone_lengths), bool)
    np.testing.assert_array_equal(
        bm25(postings, lengths, visible)[visible], bm25(alone_postings, alone_lengths, everything)
    )
    np.testing.assert_array_equal(
        bm25_grouped(postings, lengths, visible, groups)[visible],
        bm25_grouped(alone_postings, alone_lengths, everything, groups[visible]),
    )


@given(minds, queries)
def test_groups_of_one_row_score_as_rows(mind: list[tuple[str, bool, int]], query: str) -> None:
    visible = np.array([shown for _, shown, _ in mind], bool)
    postings, lengths = post([text for text, _, _ in mind], query)
    single = np.arange(len(mind), dtype=np.int64)
    np.testing.assert_allclose(
        bm25_grouped(postings, lengths, visible, single), bm25(postings, lengths, visible), rtol=1e-12
    )


@given(minds, queries, st.sampled_from([0.0, 0.75]))
def test_no_score_exceeds_the_full_one_which_counts_what_nobody_said(
    mind: list[tuple[str, bool, int]], query: str, b: float
) -> None:
    visible = np.array([shown for _, shown, _ in mind], bool)
    postings, lengths = post([text for text, _, _ in mind], query)
    full = full_score(postings, visible)
    assert (bm25(postings, lengths, visible, b=b) <= full + 1e-9).all()
    nobody: Postings = (np.zeros(0, np.int64), np.zeros(0, np.float32))
    assert full_score([*postings, nobody], visible) > full


@given(minds, queries)
def test_saturation_weighted_is_the_score_of_the_group(mind: list[tuple[str, bool, int]], query: str) -> None:
    visible = np.array([shown for _, shown, _ in mind], bool)
    groups = np.array([group for _, _, group in mind], np.int64)
    postings, lengths = post([text for text, _, _ in mind], query)
    grouped = group_postings(postings, lengths, visible, groups)
    said = saturation(grouped, groups[visible])
    assert ((said >= 0) & (said < 1)).all()
    documents = int(np.count_nonzero(grouped.visible))
    weights = [inverse_document_frequency(len(holding), documents) for holding, _ in grouped.postings]
    expected = bm25_grouped(postings, lengths, visible, groups)[visible]
    np.testing.assert_allclose((K1 + 1) * said @ np.array(weights).reshape(-1), expected, atol=1e-9)


def test_a_term_that_every_document_holds_still_counts() -> None:
    assert inverse_document_frequency(1, 1) > 0
    postings, lengths = post(["a"], "a")
    assert bm25(postings, lengths, np.array([True]))[0] > 0


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(50, 1000))
def test_terms_tell_the_more_the_rarer_they_are_and_wholly_where_one_document_holds_one(
    holding: list[int], documents: int
) -> None:
    share = telling_share(holding, documents)
    assert 0 < share <= 1
    assert telling_share([*holding, documents], documents) >= share
    assert telling_share([*holding, 1], documents) == 1
    assert telling_share([one + 1 for one in holding], documents + 50) <= 1


def test_what_all_documents_hold_tells_little_and_nothing_is_told_of_none() -> None:
    assert telling_share([900], 1000) < 0.05
    assert telling_share([100], 1000) == pytest.approx(0.35, abs=0.02)
    assert telling_share([100] * 3, 1000) == 1
    assert telling_share([1], 1) == telling_share([0], 0) == 1


def test_an_empty_mind_has_no_scores() -> None:
    nothing = np.zeros(0, np.int64)
    none: list[Postings] = [(nothing, np.zeros(0, np.float32))]
    assert bm25(none, nothing, np.zeros(0, bool)).shape == (0,)
    assert bm25_grouped(none, nothing, np.zeros(0, bool), nothing).shape == (0,)


def test_documents_without_words_score_nothing() -> None:
    postings, lengths = post(["", ""], "a")
    assert not bm25(postings, lengths, np.array([True, True])).any()


@pytest.mark.parametrize(("k1", "b"), [(-0.1, 0.5), (1.2, -0.1), (1.2, 1.1)])
def test_parameters_outside_their_range_are_refused(k1: float, b: float) -> None:
    with pytest.raises(ValueError, match="k1"):
        bm25([], np.zeros(1, np.int64), np.ones(1, bool), k1=k1, b=b)


def test_arrays_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="visible"):
        bm25([], np.zeros(2, np.int64), np.ones(1, bool))
    with pytest.raises(ValueError, match="groups"):
        bm25_grouped([], np.zeros(2, np.int64), np.ones(2, bool), np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="negative"):
        bm25_grouped([], np.zeros(1, np.int64), np.ones(1, bool), np.array([-1]))


TURNS = [
    ("Ana", "The parser fails on nested quotes"),
    ("Ben", "Then fix the quoting in the parser first, the parser is what everybody calls"),
    ("Ana", "Running the tests again"),
    ("Ben", "They ran green, all of them"),
    ("Ana", "Shipping it on Friday"),
    ("Cleo", "Was the café menu translated?"),
    ("Ana", "Not yet; the menu waits for Ben"),
    ("Cleo", "Ask him on Monday"),
]


def test_scores_are_those_of_fts5_but_for_the_weight_of_common_terms() -> None:
    """FTS5 weighs a term ``log((N - n + 0.5) / (n + 0.5))``, at least ``1e-6``; the rest is the same formula."""
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5(text, speaker, tokenize='porter unicode61 remove_diacritics 2')"
    )
    connection.execute("CREATE VIRTUAL TABLE instances USING fts5vocab(words, 'instance')")
    connection.executemany(
        "INSERT INTO words(rowid, speaker, text) VALUES (?, ?, ?)", [(i, *t) for i, t in enumerate(TURNS)]
    )
    lengths = np.array(connection.execute("SELECT count(*) FROM instances GROUP BY doc ORDER BY doc").fetchall())[:, 0]
    visible = np.ones(len(TURNS), bool)

    terms = ["parser", "quot", "menu", "ben", "cafe", "the"]
    ours = np.zeros(len(TURNS))
    for term in terms:
        found = connection.execute(
            "SELECT doc, count(*) FROM instances WHERE term = ? GROUP BY doc", (term,)
        ).fetchall()
        posting = np.array([row for row, _ in found], np.int64), np.array([count for _, count in found], np.float32)
        assert len(found) > 0
        fts5_weight = max(1e-6, math.log((len(TURNS) - len(found) + 0.5) / (len(found) + 0.5)))
        ours += bm25([posting], lengths, visible, k1=K1, b=B) * (
            fts5_weight / inverse_document_frequency(len(found), len(TURNS))
        )
    theirs = np.zeros(len(TURNS))
    for row, score in connection.execute(
        "SELECT rowid, bm25(words) FROM words WHERE words MATCH ?", (" OR ".join(terms),)
    ):
        theirs[row] = -score
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert 0 < theirs[2] < 1e-5 < theirs[0]  # one row holds only the term that FTS5 floors
