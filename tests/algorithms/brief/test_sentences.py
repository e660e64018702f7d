"""An abbreviation and an aside in brackets end no sentence; a line does."""

from __future__ import annotations

import pytest

from mnemic.algorithms.brief.sentences import told_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("my vet is Dr. hentschel. He is kind.", ["my vet is Dr. hentschel.", "He is kind."]),
        ("several cards (families!) is for summer", ["several cards (families!) is for summer"]),
        ("Done (all of it.) Next one.", ["Done (all of it.", "Next one."]),
        ("one\ntwo", ["one", "two"]),
        ("", []),
    ],
)
def test_a_text_is_cut_where_a_sentence_ends(text: str, sentences: list[str]) -> None:
    found = list(told_sentences(text))
    assert [sentence for _, sentence in found] == sentences
    assert all(text[start:].startswith(sentence) for start, sentence in found)
