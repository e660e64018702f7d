"""Sentences are cut at punctuation and line ends, keep their place, and leave out what is quoted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.sentences import plain_sentences


def test_a_text_is_cut_at_sentence_ends_and_lines() -> None:
    text = "We moved. It took a day!\n- Lukas helped (a lot).  Done?"
    assert [sentence for _, sentence in plain_sentences(text)] == [
        "We moved.",
        "It took a day!",
        "Lukas helped (a lot).",
        "Done?",
    ]


def test_code_and_quoted_lines_are_left_out() -> None:
    text = "Run this.\n```\nrm -rf build.\n```\n> he said so.\nThen `make run`."
    assert "".join(sentence for _, sentence in plain_sentences(text)) == "Run this.Then           ."


def test_quoted_lines_after_blank_ones_are_left_out() -> None:
    assert list(plain_sentences("One.\n \n\t\n  > he said so.\nTwo.")) == [(0, "One."), (25, "Two.")]


@given(st.text(max_size=300))
def test_each_sentence_stands_where_it_is_said_to(text: str) -> None:
    for start, sentence in plain_sentences(text):
        there = text[start : start + len(sentence)]
        assert len(there) == len(sentence)
        assert all(a == b or b == " " for a, b in zip(there, sentence, strict=True))
