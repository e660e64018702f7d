"""Stop words leave a query, unless nothing else is in it."""

from __future__ import annotations

from mnemic.algorithms.text.stopwords import STOP_WORDS, content_words


def test_the_words_that_say_something_stay_in_order() -> None:
    assert content_words(["when", "did", "ana", "s", "parser", "break", "the", "parser"]) == [
        "ana",
        "parser",
        "break",
        "parser",
    ]


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert content_words(["who", "are", "you"]) == ["who", "are", "you"]
    assert content_words([]) == []


def test_the_list_is_words_as_the_tokenizer_cuts_them() -> None:
    assert all(word.isalpha() and word == word.lower() for word in STOP_WORDS)
