"""Statements that only point at something, or tell what is over, are told apart from those that can be read alone."""

from __future__ import annotations

from datetime import date

import pytest

from mnemic.algorithms.knowledge.extraction.statements import statements
from mnemic.algorithms.knowledge.self_contained import is_self_contained

SAID_ON = date(2026, 3, 2)


def told(text: str, *, by_user: bool = True) -> list[str]:
    """The clauses of a text that can be read alone."""
    return [
        text[one.clause_start : one.clause_end]
        for one in statements(text, None, SAID_ON)
        if is_self_contained(
            one.subject,
            one.relation or "",
            one.value,
            text[one.clause_start : one.clause_end],
            happened=one.rule == "event",
            by_user=by_user,
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The boat is moored at the long pier",
        "our database is Postgres 17",
        "it's Postgres now",
        "From now on Postgres",
        "I live in Ghent",
        "We moved to Hetzner",
        "I bought a red bike",
        "The token is in her profile",
        "Rae mailed me the tide table",
        "C9 is the one with the wreck in it",
        "Nothing secret is stored in the clear",
        "The boathouse tablet stays signed in as whoever touched it last",
        "I have one more at home",
        "Class sizes are limited to 20",
        "The repository is private",
        "Sorry, our port is now 8081",
        "Thanks, our owner is Ines",
        "Hello Kitty is our mascot",
        "Hi Ines, the boat is moored at the long pier",
        "2) Our database is MySQL",
        "b) our cache is Redis",
        "Done :) our port is 8081",
        "Our brand color is green",
        "Our theme colour is red",
        "The dark mode flag is off",
        "The rate is fixed",
        "I start work at 9",
        "I feel sick from peanuts",
    ],
)
def test_what_names_thing_and_value_can_be_read_alone(text: str) -> None:
    assert told(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "the loader accepts that",
        "The phone number stands above them",
        "Every pier gets a real one",
        "Mollie's dashboard does it in two clicks",
        "That failure is the old decision",
        "such bookings are marked grey",
        "the thing is blue",
        "const port = 9000; // the port is 9000",
        "a, lantern) as well, so that the page depends on the key",
        "a) lantern) as well, so that the page depends on the key",
        "thanks, the loader accepts that",
        "CI is red",
        "I say two hours before high water",
        "the tests are green",
        "The lantern was painted by Rae",
        "Rae asked about the lantern",
    ],
)
def test_what_points_elsewhere_or_is_over_can_not(text: str) -> None:
    assert told(text) == []


def test_what_an_assistant_did_is_over_and_what_it_made_of_something_stays() -> None:
    did, made = "I restored the backup on your laptop", "I made the loader strict"
    assert told(did, by_user=False) == []
    assert told(made, by_user=False) == [made]
    assert told(did) == [did]


def test_what_an_assistant_feels_or_starts_is_of_the_moment_and_what_its_user_does_stays() -> None:
    for text in ("I owe you the honest cause", "I start work at 9", "I feel sick from peanuts"):
        assert (told(text, by_user=False), told(text)) == ([], [text])
