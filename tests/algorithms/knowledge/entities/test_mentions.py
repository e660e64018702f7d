"""Mentions are the names that a text holds, with what they are of; ordinary words with a capital are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.entities.mentions import MAX_CHARS, mentions

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=200)
PIECES = (
    *(
        "Nadia",
        "Nadia Keller",
        "San Marco",
        "our designer",
        "my bike",
        "the DB",
        "`auth.py`",
        "`a b`",
        "src/a/b.py",
        "I",
    ),
    *("Dr.", "Uncle", "New York", "Postgres 17", "Node.js", "falcon-api", "SLIP-4", "iPhone", "mum", "project", "the"),
    *("called", "named", "ledger", '"The Long Day"', "“", '"', "`", "of", "de", "and", ",", ".", ":", "?", "\n", "- "),
    *("said", "lives in", "is", "'s", "'", "BEGIN IMMEDIATE", "```", "<tag>", "C++", "a/b", "x_y", "A", "É", "van der"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


def named(text: str) -> list[str]:
    return [f"{one.name} | {one.kind}" for one in mentions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yesterday Nadia Keller called.", ["Nadia Keller | thing"]),
        ("We met in San Marco and ate soup", ["San Marco | thing"]),
        ("Nadia, our designer, is ill", ["Nadia | person", "designer | person"]),
        ("We asked our designer Nadia about it", ["designer | person", "Nadia | person"]),
        ("My sister's bike is red", ["sister | person"]),
        ("My little brother and my best friend came", ["little brother | person", "best friend | person"]),
        ("We run a service called Ledger", ["Ledger | service"]),
        ("We run a service called ledger", ["ledger | service"]),
        ("our dog is called Rex", ["dog | thing", "Rex | thing"]),
        ("The Ledger service is down. Restart Ledger now", ["Ledger | service", "Ledger | service"]),
        ("He works on project Atlas", ["Atlas | project"]),
        ("The DB is slow, our new staging server too", ["DB | service", "staging server | service"]),
        ("my bike was stolen", ["bike | thing"]),
        ("Dr. Weber and Uncle Bernd agree", ["Weber | person", "Bernd | person"]),
        ("Hey Clara! Thanks, Tomasz!", ["Clara | person", "Tomasz | person"]),
        ("Mum called, but her mum did not", ["Mum | person"]),
        ("She lives in Lisbon and moved to New York City", ["Lisbon | place", "New York City | place"]),
        ("We swam in Lake Como", ["Lake Como | place"]),
        ("The Bank of England and Ludwig van Beethoven", ["Bank of England | thing", "Ludwig van Beethoven | thing"]),
        ("A book by Ursula K. Le Guin", ["Ursula K. Le Guin | thing"]),
        ('She read "The Long Day" twice', ["Long Day | thing"]),
        (
            "Fixed `auth.py`, `session_ttl` and `issue_link(address)`",
            ["auth.py | file", "session_ttl | thing", "issue_link | thing"],
        ),
        (
            "See src/auth/login.py, README.md and ~/.bashrc",
            ["src/auth/login.py | file", "README.md | file", "~/.bashrc | file"],
        ),
        ("bin/ship calls pg_dump", ["bin/ship | file", "pg_dump | thing"]),
        ("Use falcon-api, not SessionStore", ["falcon-api | service", "SessionStore | thing"]),
        (
            "we went from MySQL to Postgres 17 and python 3.11",
            ["MySQL | tool", "Postgres 17 | tool", "python 3.11 | tool"],
        ),
        ("Node.js reads GitHub", ["Node.js | tool", "GitHub | tool"]),
        ("SLIP-44 is open", ["SLIP-44 | thing"]),
        ("Ravi lives here", ["Ravi | person"]),
        ("Paper Moon rehearsed", ["Paper Moon | thing"]),
        ("I saw Dunlin. Dunlin, then?", ["Dunlin | thing", "Dunlin | thing"]),
    ],
)
def test_what_is_named_is_found_with_its_kind(text: str, expected: list[str]) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Coffee helps. Passwords are out. Declined, dated and committed.",
        "Containers or not? Boring: a timer. Tides. Heights become whole.",
        "I told you on Monday, in March, that it is OK. NEVER do that!",
        "BEGIN IMMEDIATE would close it",
        "it is 5 GB and/or TCP/IP, e.g. at 10:30, see https://example.com/a/b.py or ines@example.com",
        "her sister met his boss; she likes your bike and their server",
        "my last job, our other server, my favourite bike",
        "the way to do it is the question",
        "the server room migration of the database schema",
        "The word `git push --force` is a command, c40e2f8 a commit",
        "Write it down. Said no. Save it!",
        "```\nclass Nadia: pass\n```\n> Nadia said so",
        "Dinner on Friday, Christmas in Winter",
        "Done. Fixed. Lovely! Wow, amazing",
    ],
)
def test_ordinary_words_are_no_mentions(text: str) -> None:
    assert named(text) == []


def test_a_plain_word_at_the_start_counts_only_where_the_text_shows_that_it_is_a_name() -> None:
    assert named("Dunlin? No idea") == []
    assert named("Dunlin? We booked Dunlin") == ["Dunlin | thing"] * 2
    assert named("Heron? We saw Heron and a heron there") == ["Heron | thing"]


def test_a_first_name_has_the_kind_of_the_full_name_in_the_text() -> None:
    assert named("We asked Nadia Keller. So Nadia came") == ["Nadia Keller | person", "Nadia | person"]


def test_only_the_first_characters_are_looked_at() -> None:
    assert mentions("a " * (MAX_CHARS // 2) + "we met Nadia") == []


@given(ANYTHING | TEXTS)
def test_each_mention_is_cut_out_of_the_text_in_order_and_without_overlap(text: str) -> None:
    found = mentions(text)
    end = 0
    for one in found:
        assert end <= one.start < one.end <= len(text)
        assert one.name == text[one.start : one.end]
        assert one.name == one.name.strip()
        end = one.end
    assert found == mentions(text)


def test_a_turn_takes_a_few_milliseconds_at_most() -> None:
    text = (
        "Nadia and I moved the bookings from SQLite to Postgres 17 last week, since two people could book one boat. "
        "The constraint lives in src/bookings/schema.sql, and `issue_link` refuses naive times now. Our designer Bea "
        "wants the boathouse tablet to forget who was signed in, so the session lasts thirty minutes."
    )
    best = min(_seconds(text) for _ in range(20))
    assert best < 0.005


def _seconds(text: str) -> float:
    start = time.perf_counter()
    mentions(text)
    return time.perf_counter() - start


@pytest.mark.parametrize(
    "said", ["no longer works", "now lives", "doesn't live", "went", "still has work", "won't work"]
)
def test_a_verb_in_the_singular_tells_a_name_before_it(said: str) -> None:
    assert [one.name for one in mentions(f"Ravi {said} there.")] == ["Ravi"]


@pytest.mark.parametrize("said", ["no longer work", "now live", "don't live", "went", "still have work", "won't work"])
def test_a_plural_at_the_start_is_no_name(said: str) -> None:
    assert named(f"Containers {said} there.") == []
