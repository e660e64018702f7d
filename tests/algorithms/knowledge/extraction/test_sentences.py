"""Sentences are words that keep their place in the text; code and quoted lines are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.extraction.sentences import (
    BE,
    DETERMINER,
    KINDS,
    LEMMAS,
    MAX_WORDS,
    MODAL,
    PARTICIPLE,
    PAST,
    VERB,
    sentences,
)


def words(text: str) -> list[str]:
    return [" ".join(one.words) for one in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 9:15. We're here!", ["it 's 9:15", "we 're here"]),
        ("My mother’s flat is Anna's", ["my mother's flat is anna 's"]),
        ("The concert's on, the cat's a tabby", ["the concert 's on , the cat 's a tabby"]),
        ("The parents' evening", ["the parents' evening"]),
        ("I don't use C++, C# or node.js.", ["i don't use c++ , c# or node.js"]),
        ("See `make lint` in /etc/x.toml, please", ["see make lint in /etc/x.toml , please"]),
        ("Ask Dr. Weber. Now", ["ask dr weber", "now"]),
        ("It costs 1,200 francs at https://a.b/c?d", ["it costs 1,200 francs at https://a.b/c", "d"]),
        ('The network is "Red Fox"', ["the network is red fox"]),
        ("one\ntwo", ["one", "two"]),
        ("a ```x is 1``` b", ["a", "b"]),
        ("> a is b\n| c | d |\n$ e is f\n    g is h\ni", ["i"]),
        ("", []),
        ("...", []),
    ],
)
def test_words_are_cut_as_they_are_read(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_question_is_marked_and_so_is_what_somebody_said() -> None:
    assert [one.asked for one in sentences("Is it? It is.")] == [True, False]
    found = list(sentences('Priya said "the port is closed on all days of the week". "My uncle lives in Lyon."'))
    assert [one.quoted for one in found] == [False, True, False]
    assert found[1].words[:3] == ["the", "port", "is"]


@pytest.mark.parametrize(
    ("text", "word", "is_verb"),
    [
        ("we use Python and React", "react", False),
        ("they react at 3 am", "am", False),
        ("They react at once", "react", True),
        ("React to it", "react", True),
        ("it ends in May", "may", False),
        ("it may end", "may", True),
        ("since May 2024", "may", False),
    ],
)
def test_where_a_word_stands_tells_whether_it_is_a_verb(text: str, word: str, is_verb: bool) -> None:
    one = next(sentences(text))
    assert bool(one.kinds[one.words.index(word)] & (VERB | MODAL | BE)) is is_verb


def test_a_sentence_is_read_in_pieces_and_no_word_is_lost() -> None:
    found = list(sentences("word " * (2 * MAX_WORDS + 1)))
    assert [len(one.words) for one in found] == [MAX_WORDS, MAX_WORDS, 1]


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_every_word_stands_in_the_text_where_it_says(text: str) -> None:
    for one in sentences(text):
        assert one.words
        assert len(one.words) == len(one.kinds) == len(one.starts) == len(one.ends)
        assert all(start < end <= len(text) for start, end in zip(one.starts, one.ends, strict=True))
        assert one.starts == sorted(one.starts)


def test_the_table_knows_the_forms_of_a_verb() -> None:
    assert [LEMMAS[word] for word in ("ran", "running", "dropped", "carries", "lying", "has", "is", "cancelled")] == [
        *("run", "run", "drop", "carry", "lie", "have", "be", "cancel")
    ]
    assert KINDS["dropped"] & (PAST | PARTICIPLE) == PAST | PARTICIPLE
    assert KINDS["my"] & DETERMINER
    assert all(word == word.lower() for word in KINDS)
