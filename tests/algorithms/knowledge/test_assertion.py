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
        ("Great. And do you still go to the gym?", "asked"),
        ("The pool is closed on Mondays", "asserted"),
        ("I left the car keys in the kitchen drawer", "asserted"),
        ("My father is retired", "asserted"),
        ("The rent is 950 euros a month", "asserted"),
        ("Postgres 16 is tested in CI", "asserted"),
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
    assert all(0 <= one <= 1 for one in read.on(FRIDAY)[:3])
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
    rate = read_assertion(text, FRIDAY).on(day).rate
    assert rate > 0.95 if holds else rate <= 0.1


def test_what_happened_today_is_not_over_tomorrow() -> None:
    read = read_assertion("the spare key went to Karin today", FRIDAY)
    assert read.on(date(2025, 6, 14)) == read


def test_a_plan_hardly_takes_the_place_of_what_holds() -> None:
    assert read_assertion("We plan to deploy on Mondays one day", FRIDAY).takes < 0.3


def test_days_of_every_week_are_not_those_of_one() -> None:
    for text in ("The bakery is open from Monday to Friday", "the hut is closed from October to March"):
        assert read_assertion(text, FRIDAY).windows == ()


def test_what_has_ended_takes_the_place_of_what_it_ends() -> None:
    read = read_assertion("We don't use Redis any more", FRIDAY)
    assert read.takes > 0.8 > read.rate
    assert read.told_past > 0


_PHRASES = st.lists(
    st.sampled_from(
        [
            "from",
            "until",
            "since",
            "to",
            "9999-12-30",
            "0001-01-01",
            "Monday",
            "March",
            "the 5th",
            "for the next six weeks",
        ]
    ),
    max_size=12,
).map(" ".join)


@given(_PHRASES, st.dates())
def test_no_days_are_too_far_away_to_be_read(text: str, said_on: date) -> None:
    read = read_assertion(f"the licence is valid {text}", said_on)
    assert all(0 <= one <= 1 for one in read.on(said_on)[:3])


def test_words_that_tell_no_day_leave_the_rate_as_it_is() -> None:
    read = read_assertion("Nadia works at Philips", FRIDAY)
    assert read.windows == ()
    assert read.on(date(1999, 1, 1)) == read
    assert read.rate == RATES["asserted"]
