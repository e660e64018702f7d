"""Whether a text asserts what it says."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.assertion import MAX_CHARS, RATES, Status, read_assertion, status

FRIDAY = date(2025, 6, 13)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nadia works at Philips", "asserted"),
        ("the letterbox key was behind the clock and is in the blue drawer from now on", "asserted"),
        ("moved harbor from #sandbox to #dev-lounge", "changed"),
        ("with Marta it's not soy any more but strawberries", "changed"),
        ("Shall we try Python 3.14 for pelican?", "asked"),
        ("Tom says the office moves to Ghent", "quoted"),
        ("I would love to have a cello", "wished"),
        ("maybe Theo could lead it", "hypothetical"),
        ("maybe the tests are moved to pytest", "hypothetical"),
        ("I will buy a Fiat", "planned"),
        ("tried JUnit on tinderbox, went back the same day", "passing"),
        ("Left the van in the garage for an hour", "passing"),
        ("Posted about falcon-api in #ops-room by mistake", "passing"),
        ("Theo stands in at Night Ferry for one gig", "passing"),
        ("no more pytest in gridlock", "ended"),
        ("cinder is gone from GitLab", "ended"),
        ("my flatmate had Netflix when the kids were small", "past"),
        ("tinderbox started out on Python 3.10", "past"),
        ("", "asked"),
    ],
)
def test_cue_words_tell_what_a_text_makes_of_what_it_says(text: str, expected: Status) -> None:
    assert status(text) == expected


def test_of_several_clauses_that_counts_which_asserts_the_most() -> None:
    assert status("I adopted a dog! And what about you?") == "asserted"


def test_a_long_text_asserts_something_unread() -> None:
    assert status("was it? " * (MAX_CHARS // 8 + 1)) == "asserted"


@given(st.text(max_size=400))
def test_every_text_has_a_rate(text: str) -> None:
    read = read_assertion(text, FRIDAY)
    assert 0 < read.rate_on(FRIDAY) < 1
    assert read.rate == RATES[status(text)]


@pytest.mark.parametrize(
    ("text", "day", "holds"),
    [
        ("Theo covers tinderbox until 20 June", FRIDAY, True),
        ("Theo covers tinderbox until 20 June", date(2025, 6, 20), False),
        ("From 1 July we use Postgres", FRIDAY, False),
        ("From 1 July we use Postgres", date(2025, 7, 1), True),
        ("moss has been on port 9000 since May", date(2025, 4, 30), False),
        ("moss has been on port 9000 since May", FRIDAY, True),
    ],
)
def test_the_day_asked_for_decides_where_the_words_tell_days(text: str, day: date, holds: bool) -> None:
    rate = read_assertion(text, FRIDAY).rate_on(day)
    assert rate > 0.95 if holds else rate <= 0.1


def test_what_happened_today_is_not_over_tomorrow() -> None:
    read = read_assertion("the spare key went to Karin today", FRIDAY)
    assert read.rate_on(date(2025, 6, 14)) == read.rate


def test_words_that_tell_no_day_leave_the_rate_as_it_is() -> None:
    read = read_assertion("Nadia works at Philips", FRIDAY)
    assert read.windows == ()
    assert read.rate_on(date(1999, 1, 1)) == read.rate == RATES["asserted"]
