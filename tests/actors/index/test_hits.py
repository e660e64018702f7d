"""An excerpt is a verbatim stretch inside its limit that holds the place sought and cuts no character."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.index.hits import densest_excerpt, excerpt, token_count
from mnemic.actors.kernel.events import to_bytes, to_text

TEXT = st.text(st.sampled_from("ab é€😀\ud800\n"), max_size=300)


@given(text=TEXT, limit=st.integers(8, 200), share=st.floats(0, 1))
def test_it_is_a_stretch_of_whole_characters_inside_the_limit_that_holds_the_place(
    text: str, limit: int, share: float
) -> None:
    whole = to_bytes(text)
    start = int(share * max(0, len(text) - 1))
    part, first = excerpt(whole, limit, start, ())
    assert len(part) <= limit
    assert whole[first : first + len(part)] == part
    assert to_bytes(to_text(part)) == part  # decodes: no character is cut
    place = len(to_bytes(text[:start]))
    assert first <= place
    assert place + len(to_bytes(text[start : start + 1])) <= first + len(part)
    if len(whole) > limit:
        assert len(part) > limit - 7  # what is short of it is a character that did not fit, at either end


def test_a_short_text_is_given_whole() -> None:
    assert excerpt(b"a" * 10, 10, 5, ()) == (b"a" * 10, 0)
    assert excerpt(b"", 8, -1, ("x",)) == (b"", 0)


def test_it_starts_with_the_line_where_that_is_near_and_with_the_place_where_it_is_not() -> None:
    text = b"x" * 100 + b"\n" + b"y" * 20 + b"PLACE" + b"z" * 100
    assert excerpt(text, 60, 121, ())[0].startswith(b"y" * 20 + b"PLACE")
    assert excerpt(text, 30, 121, ())[0].startswith(b"PLACE")


def test_a_place_near_the_start_or_the_end_shows_as_much_as_any_other() -> None:
    text = bytes(range(97, 107)) * 10
    assert excerpt(text, 40, 3, ()) == (text[:40], 0)
    assert excerpt(text, 40, 99, ()) == (text[60:], 60)


@pytest.mark.parametrize("before", ["x" * 50, "İ" * 50, "😀" * 50, "\ud800" * 50, "\n" * 50])
def test_without_a_window_the_first_word_that_is_found_marks_the_place_whatever_comes_before(before: str) -> None:
    part, first = excerpt(to_bytes(f"{before} Kettle " + "y" * 300), 16, -1, ("missing", "kettl"))
    assert b"Kettle" in part
    assert first <= len(to_bytes(before)) + 1


def test_of_a_window_longer_than_the_limit_the_part_is_shown_that_holds_the_most_of_the_terms() -> None:
    window = b"The pier is long. " + b"x" * 300 + b" The otter sleeps on the pier. " + b"y" * 200
    text = b"otter otter pier. " * 50 + window
    part, first = excerpt(text, 64, len(text) - len(window), ("otter", "pier", "sleep"))
    assert b"The otter sleeps on the pier." in part
    assert text[first : first + len(part)] == part
    assert excerpt(text, 64, len(text) - len(window), ("whale",)) == (window[:64], len(text) - len(window))


def test_without_a_window_or_a_word_it_is_the_beginning() -> None:
    assert excerpt(b"abc" * 100, 30, -1, ("zebra",)) == (b"abc" * 10, 0)
    assert excerpt(b"abc" * 100, 30, -1, ()) == (b"abc" * 10, 0)


def test_words_are_sought_as_they_are_written_not_as_patterns() -> None:
    assert excerpt(b"a" * 100 + b"x.y" + b"b" * 100, 12, -1, ("x.y",))[0].startswith(b"x.y")
    with pytest.raises(re.error):
        re.compile("(")
    assert excerpt(b"a" * 100, 8, -1, ("(",)) == (b"a" * 8, 0)


@given(st.binary(max_size=50))
def test_four_bytes_count_as_a_token_and_a_begun_one_counts_whole(text: bytes) -> None:
    assert 4 * token_count(text) - 3 <= max(1, len(text)) and token_count(text) * 4 >= len(text)  # noqa: PT018 - one law
    assert (token_count(b""), token_count(b"abcd"), token_count(b"abcde")) == (0, 1, 2)


@given(text=TEXT, limit=st.integers(8, 200))
def test_the_densest_stretch_is_one_of_whole_characters_inside_the_limit(text: str, limit: int) -> None:
    whole = to_bytes(text)
    part, first = densest_excerpt(whole, limit, {"a": 2.0, "é": 1.0, "b": 0.5})
    assert len(part) <= limit
    assert whole[first : first + len(part)] == part
    assert to_bytes(to_text(part)) == part
    if len(whole) > limit:
        assert len(part) > limit - 7


def test_the_densest_stretch_holds_the_terms_that_weigh_most_together() -> None:
    text = b"otter " + b"x" * 50 + b" pier and tide " + b"x" * 50 + b" PIER, otter, tide " + b"x" * 50
    weights = {"otter": 2.0, "pier": 2.0, "tide": 1.0}
    assert b"PIER, otter, tide" in densest_excerpt(text, 40, weights)[0]
    assert densest_excerpt(text, 40, {}) == (text[:40], 0)
    around = densest_excerpt(b"o" * 50 + b" the pier, and so on " + b"x" * 50, 20, {"pier": 1.0})
    assert around == (b"the pier, and so on ", 51)
    assert densest_excerpt(b"short", 40, weights) == (b"short", 0)
    assert b"pier and tide" in densest_excerpt(text, 20, {"pier": 1.0, "tide": 1.0})[0]


def test_a_word_is_found_with_its_accents_by_a_term_without_and_the_stretch_begins_where_it_says() -> None:
    text = to_bytes("ä" * 60 + " das Häuschen am Fluß " + "日本" * 40)
    part, first = densest_excerpt(text, 64, {"hauschen": 1.0, "a term that is longer than what is shown" * 3: 9.0})
    assert "Häuschen".encode() in part
    assert (len(part) <= 64, text[first : first + len(part)] == part) == (True, True)


@pytest.mark.parametrize("limit", [64, 200, 4096])
def test_behind_all_windows_a_word_that_found_the_text_is_shown(limit: int) -> None:
    text = (
        b"The weather in the valley was fair, and the harbour lay still. " * 200 + b"The key is QX-7741. " + b"x " * 900
    )
    part, first = excerpt(text, limit, 0, ["qx", "7741"])
    assert b"QX-7741" in part
    assert (len(part) <= limit, text[first : first + len(part)] == part) == (True, True)
    assert b"QX" not in excerpt(text, limit, 0, ["weather", "valley", "harbour", "7741"])[0], (
        "the window has most of it"
    )
