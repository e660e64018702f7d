"""Windows cover a text from its start, without gaps, within their limits, and never cost more than they are worth."""

from __future__ import annotations

import re
from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.windows import Tokenization, TokenSpan, cut_windows, tokenizable

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=300)
WORDS = st.lists(st.text("abc", min_size=1, max_size=5), max_size=300).map(" ".join)
SHAPES = st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, (size - 1) // 2)))


def pieces_of_two(text: str) -> Tokenization:
    """Tokenize each word into pieces of at most two characters; a word of over 20 becomes one token, as in BERT."""
    ids, starts, words = [], [], []
    for number, word in enumerate(re.finditer(r"\S+", text)):
        step = 2 if len(word[0]) <= 20 else len(word[0])
        for start in range(word.start(), word.end(), step):
            ids.append(crc32(text[start : min(start + step, word.end())].encode("utf-8")))
            starts.append(start)
            words.append(number)
    return Tokenization(ids, starts, words)


def assert_covers(spans: list[TokenSpan], end: int) -> None:
    assert spans[0].start == 0
    assert spans[-1].end == end
    for before, after in pairwise(spans):
        assert before.start < after.start <= before.end < after.end


class TestCut:
    @given(ANYTHING | WORDS, SHAPES)
    def test_enough_windows_cover_the_whole_text(self, text: str, shape: tuple[int, int]) -> None:
        size, overlap = shape
        spans = cut_windows(text, pieces_of_two, size=size, overlap=overlap, limit=10_000)
        assert_covers(spans, len(text))
        assert all(len(span.token_ids) <= size for span in spans)

    @given(ANYTHING | WORDS, SHAPES, st.integers(1, 5))
    def test_a_limit_is_honoured_and_what_is_covered_has_no_gap(
        self, text: str, shape: tuple[int, int], limit: int
    ) -> None:
        size, overlap = shape
        spans = cut_windows(text, pieces_of_two, size=size, overlap=overlap, limit=limit)
        assert 1 <= len(spans) <= limit
        assert_covers(spans, spans[-1].end)
        assert cut_windows(text, pieces_of_two, size=size, overlap=overlap, limit=limit) == spans

    @given(WORDS, SHAPES, st.integers(1, 5))
    def test_a_tighter_limit_leaves_windows_out_and_changes_none(
        self, text: str, shape: tuple[int, int], limit: int
    ) -> None:
        size, overlap = shape
        everything = cut_windows(text, pieces_of_two, size=size, overlap=overlap, limit=10_000)
        assert cut_windows(text, pieces_of_two, size=size, overlap=overlap, limit=limit) == everything[:limit]

    @given(WORDS, SHAPES)
    def test_a_window_has_the_tokens_of_its_own_characters(self, text: str, shape: tuple[int, int]) -> None:
        size, overlap = shape
        whole = pieces_of_two(text)
        for span in cut_windows(text, pieces_of_two, size=size, overlap=overlap, limit=10_000):
            inside = [id for id, start in zip(whole.ids, whole.starts, strict=True) if span.start <= start < span.end]
            assert list(span.token_ids) == inside

    @given(WORDS, st.integers(7, 20))
    def test_windows_begin_and_end_between_words_where_the_overlap_holds_a_word(self, text: str, size: int) -> None:
        for span in cut_windows(text, pieces_of_two, size=size, overlap=3, limit=10_000):
            assert span.start == 0 or text[span.start - 1] == " "
            assert span.end == len(text) or text[span.end - 1] == " "

    @pytest.mark.parametrize("text", ["", " ", "\n\n\t"])
    def test_a_text_without_tokens_has_one_window_without_tokens(self, text: str) -> None:
        assert cut_windows(text, pieces_of_two, size=8, overlap=2, limit=3) == [TokenSpan(0, len(text), ())]

    def test_a_text_that_just_fills_a_window_has_one(self) -> None:
        assert len(cut_windows("ab " * 8, pieces_of_two, size=8, overlap=2, limit=3)) == 1
        assert len(cut_windows("ab " * 9, pieces_of_two, size=8, overlap=2, limit=3)) == 2

    @pytest.mark.parametrize("text", ["ab " * 3_500_000, "z" * 10_000_000, " " * 10_000_000, "z" * 5_000_000 + " b"])
    def test_ten_megabytes_are_not_tokenized_for_a_few_windows(self, text: str) -> None:
        seen = 0

        def count(prefix: str) -> Tokenization:
            nonlocal seen
            seen += len(prefix)
            return pieces_of_two(prefix)

        spans = cut_windows(text, count, size=100, overlap=10, limit=4)
        assert seen <= 22 * 100 * 4
        assert_covers(spans, spans[-1].end)

    def test_sparse_text_before_dense_text_is_read_further(self) -> None:
        spans = cut_windows(" " * 700 + "ab " * 1000, pieces_of_two, size=100, overlap=10, limit=1)
        assert len(spans[0].token_ids) == 100

    def test_a_word_that_the_prefix_may_have_cut_is_left_out(self) -> None:
        text = "ab " + " " * 60 + "c" * 200  # 16 characters for each of 4 tokens end inside the second word
        spans = cut_windows(text, pieces_of_two, size=4, overlap=1, limit=1)
        assert spans == [TokenSpan(0, 63, tuple(pieces_of_two("ab").ids))]

    def test_a_single_word_without_end_is_still_embedded(self) -> None:
        spans = cut_windows("z" * 1000, pieces_of_two, size=4, overlap=1, limit=1)
        assert [(span.start, span.end, len(span.token_ids)) for span in spans] == [(0, 64, 1)]

    @given(st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 3)), max_size=40), SHAPES)
    def test_offsets_that_step_back_leave_no_gap(
        self, tokens: list[tuple[int, int | None]], shape: tuple[int, int]
    ) -> None:
        odd = Tokenization(range(len(tokens)), [start for start, _ in tokens], [word for _, word in tokens])
        spans = cut_windows("x" * 30, lambda _: odd, size=shape[0], overlap=shape[1], limit=10_000)
        assert (spans[0].start, spans[-1].end) == (0, 30)
        assert all(after.start <= before.end for before, after in pairwise(spans))
        assert {id for span in spans for id in span.token_ids} == set(range(len(tokens)))

    @pytest.mark.parametrize(("size", "overlap", "limit"), [(0, 0, 1), (4, 2, 1), (4, -1, 1), (4, 1, 0)])
    def test_windows_that_cannot_advance_are_refused(self, size: int, overlap: int, limit: int) -> None:
        with pytest.raises(ValueError, match="no windows can be cut"):
            cut_windows("text", pieces_of_two, size=size, overlap=overlap, limit=limit)


class TestTokenizable:
    @given(ANYTHING)
    def test_every_character_keeps_its_place(self, text: str) -> None:
        cleaned = tokenizable(text)
        cleaned.encode("utf-8")
        assert len(cleaned) == len(text)
        for was, now in zip(text, cleaned, strict=True):
            assert now == ("\ufffd" if was == "\x00" or "\ud800" <= was <= "\udfff" else was)
