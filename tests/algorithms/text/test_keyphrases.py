"""Key phrases are a text's own words, few, each once, the most telling first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.keyphrases import LOW_CONTENT_WORDS, MAX_CHARS, STOP_WORDS, key_phrases

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=200)
WORDS = st.lists(st.sampled_from(["token", "Rotation", "the", "really", "auth.py", "Bea", ",", ".", "30"]), max_size=40)


@given(ANYTHING | WORDS.map(" ".join), st.integers(-1, 6))
def test_phrases_are_few_and_each_once_and_the_same_every_time(text: str, most: int) -> None:
    found = key_phrases(text, most)
    assert len(found) <= max(most, 0)
    assert len(set(found)) == len(found)
    assert found == key_phrases(text, most)


@given(WORDS)
def test_phrases_are_one_or_two_words_of_the_text_and_none_of_them_is_bland(words: list[str]) -> None:
    said = {word.lower() for word in words}
    for phrase in key_phrases(" ".join(words), 9):
        parts = phrase.split()
        assert 1 <= len(parts) <= 2
        assert said.issuperset(parts)
        assert (STOP_WORDS | LOW_CONTENT_WORDS).isdisjoint(parts)


@given(WORDS, st.integers(0, 6))
def test_fewer_phrases_are_the_first_of_more(words: list[str], most: int) -> None:
    text = " ".join(words)
    assert key_phrases(text, most) == key_phrases(text, 9)[:most]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("The token rotation is broken. Let's look at the token rotation first.", ["token rotation", "broken"]),
        ("We really want to go there again, don't you?", []),
        ("I ran a charity race for mental health", ["charity race", "mental health"]),
        ("and then rotate_token() never revokes the refresh token", ["rotate_token()", "refresh token", "revokes"]),
        ("I moved the bookings from SQLite to Postgres", ["sqlite", "postgres", "bookings"]),
        ("Bea’s boathouse door code", ["door code"]),
        ("café in Zürich", ["zürich", "café"]),
        ("Anybody there, please? Make the letters bigger", ["letters"]),
        ("They cancelled. Who printed it? The vicar rang the bell", ["vicar rang", "bell"]),
        ("They cancelled it for Postgres; they Cancelled", ["postgres", "cancelled"]),
        ("Brilliant! The harbour. Tides, then the harbour", ["harbour"]),
        ("Brilliant! Tides", ["brilliant", "tides"]),
        ("postgres", ["postgres"]),
        ("12 000, 30 %!", []),
        ("", []),
    ],
)
def test_what_is_named_comes_before_plain_words_and_what_is_said_twice_before_what_is_said_once(
    text: str, phrases: list[str]
) -> None:
    assert key_phrases(text, 5) == phrases


def test_of_a_long_text_the_start_is_looked_at() -> None:
    assert key_phrases("really " * MAX_CHARS + "boathouse", 5) == []
