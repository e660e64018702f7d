"""Phrases say for which days something holds, half-open, as told from the day on which it was said."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.extraction.holding_days import TRIGGERS, day_phrases

SAID_ON = date(2025, 10, 16)  # a Thursday


def holding_days(text: str, said_on: date, *, past: bool = False) -> tuple[date | None, date | None]:
    """The first day on which what a clause says holds, and the first on which it does no longer.

    Where several phrases say it, the first that says a side is taken.
    """
    first: date | None = None
    stop: date | None = None
    for phrase in day_phrases(text):
        one, other = phrase.days(said_on, past=past)
        first, stop = first or one, stop or other
    return (first, stop) if not (first and stop) or first < stop else (None, None)


@pytest.mark.parametrize(
    ("text", "first", "stop"),
    [
        ("until 2 Nov", None, "2025-11-02"),
        ("till Wednesday", None, "2025-10-22"),
        ("until Thursday", None, "2025-10-23"),
        ("until next Monday", None, "2025-10-20"),
        ("until tomorrow", None, "2025-10-17"),
        ("until 2023", None, "2023-01-01"),
        ("until June", None, "2026-06-01"),
        ("until 2025-12-24", None, "2025-12-24"),
        ("until the 14th", None, "2025-11-14"),
        ("until the end of June", None, "2026-07-01"),
        ("until the end of 2026", None, "2027-01-01"),
        ("until end of the month", None, "2025-11-01"),
        ("until the end of year", None, "2026-01-01"),
        ("until December 24th", None, "2025-12-24"),
        ("through Friday", None, "2025-10-18"),
        ("through March", None, "2026-04-01"),
        ("through the end of the month", None, "2025-11-01"),
        ("since Monday", "2025-10-13", None),
        ("since Thursday", "2025-10-09", None),
        ("since last week", "2025-10-06", None),
        ("since yesterday", "2025-10-15", None),
        ("since February 2024", "2024-02-01", None),
        ("since 2019", "2019-01-01", None),
        ("since March", "2025-03-01", None),
        ("since December", "2024-12-01", None),
        ("since 3 May 2024", "2024-05-03", None),
        ("since the 3rd", "2025-10-03", None),
        ("from next week", "2025-10-20", None),
        ("From Monday on", "2025-10-20", None),
        ("From April on", "2026-04-01", None),
        ("from 1 November", "2025-11-01", None),
        ("as of 1 October", "2025-10-01", None),
        ("As of Monday, 6 October,", "2025-10-06", None),
        ("as of 2025-11", "2025-11-01", None),
        ("starting on Monday", "2025-10-20", None),
        ("from 2016 to 2020", "2016-01-01", "2021-01-01"),
        ("from Monday to Wednesday", "2025-10-20", "2025-10-23"),
        ("from Monday through Friday", "2025-10-20", "2025-10-25"),
        ("from 3 to 14 May", "2026-05-03", "2026-05-15"),
        ("from 12 May 2024 to 3 June 2024", "2024-05-12", "2024-06-04"),
        ("from October to March", "2025-10-01", "2026-04-01"),
        ("this week", "2025-10-13", "2025-10-20"),
        ("this month", "2025-10-01", "2025-11-01"),
        ("just today", "2025-10-16", "2025-10-17"),
        ("for the next 3 weeks", "2025-10-16", "2025-11-06"),
        ("for the next three days", "2025-10-16", "2025-10-19"),
        ("for the next month", "2025-10-16", "2025-11-16"),
        ("over the next two years", "2025-10-16", "2027-10-16"),
        ("since May 2024 and until 1 Nov", "2024-05-01", "2025-11-01"),
    ],
)
def test_a_phrase_is_read_as_people_mean_it(text: str, first: str | None, stop: str | None) -> None:
    found = holding_days(f"It holds {text}", SAID_ON)
    assert [day and day.isoformat() for day in found] == [first, stop]
    assert not TRIGGERS.isdisjoint(text.lower().replace(",", "").split())


@pytest.mark.parametrize(
    ("text", "first", "stop"),
    [
        ("until March", None, "2025-03-01"),
        ("until 2 Nov", None, "2024-11-02"),
        ("from 3 to 14 May", "2025-05-03", "2025-05-15"),
    ],
)
def test_what_is_over_is_told_of_days_that_are_over(text: str, first: str | None, stop: str | None) -> None:
    assert [day and day.isoformat() for day in holding_days(text, SAID_ON, past=True)] == [first, stop]


@pytest.mark.parametrize(
    "text",
    [
        *("", "on 12 May", "by June", "tomorrow", "in 2011", "since spring", "until the flat is ready", "until 5 pm"),
        *(
            "since 31 June",
            "from 9 to 17",
            "from MySQL to Postgres",
            "until 12:30",
            "a Skoda from 2014",
            "today's mail",
        ),
        *("from 2020 to 2016", "for the next 900 weeks", "until week 3", "Untilled Monday", "next week", "this year"),
    ],
)
def test_what_no_calendar_tells_is_left_alone(text: str) -> None:
    assert holding_days(text, SAID_ON) == (None, None)


def test_a_phrase_knows_where_it_stands() -> None:
    text = "From Monday on, and until 2 Nov."
    assert [text[one.start : one.end] for one in day_phrases(text)] == ["From Monday on", "until 2 Nov."]
    assert [one.is_range for one in day_phrases("from Monday to Friday, since May")] == [True, False]


WORDS = st.sampled_from(
    (
        *("from", "to", "until", "till", "since", "as of", "through", "the", "next", "last", "this", "week", "month"),
        *("year", "2024", "2099", "31", "29", "Feb", "may", "monday", "9999-12-31", "0000-00-00", "0001-01", "end of"),
        *("for the next", "three", "500", "years", "today", "on", ",", "-", "1st", "99th"),
    )
)


@given(st.lists(WORDS, max_size=12).map(" ".join), st.dates(), st.booleans())
@example("until 29 Feb from 31 to 31 April", date(2024, 2, 29), False)
@example("for the next 500 years until 9999-12-31", date(9989, 12, 31), True)
@example("from 29 Feb to 29 Feb", date(2024, 3, 1), False)
def test_days_are_in_order_whatever_is_said(text: str, said_on: date, past: bool) -> None:
    first, stop = holding_days(text, said_on, past=past)
    assert first is None or stop is None or first < stop


@pytest.mark.parametrize("piece", ["from ", "from 3 ", "until the ", "since the end of ", "for the next ", "1 ", "a"])
def test_a_hostile_text_ends_soon(piece: str) -> None:
    began = time.perf_counter()
    holding_days(piece * 8_000, SAID_ON)
    assert time.perf_counter() - began < 3
