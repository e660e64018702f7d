"""Triples say what a text says of whom, and nothing where it asks, wishes, supposes or quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.triples import MAX_OBJECT_WORDS, Triple, triples

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=200)
PIECES = (
    *("I", "we", "my dog", "the session token", "Anna", "auth.py", "He", "do not", "never", "no longer", "have", "is"),
    *("am", "was", "like", "uses", "moved to", "works at", "decided to", "tea", "a nurse", "Berlin", "it", "reading"),
    *("and", "because", "that", "if", ",", ".", "?", "\n", "not", "about tides", "last week", "of"),
)
CLAUSES = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


def said(text: str) -> list[str]:
    return [" | ".join(one) for one in triples(text, "ines")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I like tea.", "ines | like | tea"),
        ("I really prefer tabs over spaces", "ines | prefer | tabs over spaces"),
        ("I prefer tea to the strong coffee in the morning", "ines | prefer | tea to the strong coffee"),
        ("I don't prefer tabs over spaces", "ines | not prefer | tabs over spaces"),
        ("We chose Postgres over MySQL for the bookings", "we | choose | postgres over mysql"),
        (
            "We chose Postgres over it. We picked a logo over the weekend",
            ["we | choose | postgres", "we | pick | logo"],
        ),
        ("The crew carries the boat. We use tabs over spaces", "we | use | tabs"),
        ("The key is not in the vault", "key | is not in | vault"),
        ("The door is not named Rex. Rex is no longer a puppy", ["door | is not named | rex", "rex | is not | puppy"]),
        ("I've recently moved to Berlin with my sister.", "ines | move to | berlin"),
        ("I'm a nurse.", "ines | is | nurse"),
        ("I am allergic to cats", "ines | is allergic to | cats"),
        ("I work at Acme in Paris", "ines | work at | acme"),
        ("I'm working on a new painting", "ines | work on | new painting"),
        ("I love reading about tides", "ines | love | reading about tides"),
        ("I have two kids", "ines | have | two kids"),
        ("I got a new job", "ines | get | new job"),
        ("My dog is called Rex.", "ines's dog | is called | rex"),
        ("We lost my keys", "we | lose | ines's keys"),
        ("We use Postgres for the bookings.", "we | use | postgres"),
        ("We decided to use SQLite, since nobody can nurse a server.", "we | decide to | use sqlite"),
        ("Our database is written in Rust.", "database | is written in | rust"),
        ("The session token lasts 30 minutes of idling", "session token | last for | 30 minutes of idling"),
        ("The session token lasts for 30 days", "session token | last for | 30 days"),
        ("The timeout is set to 30 seconds in prod", "timeout | is set to | 30 seconds"),
        ("The backups are now stored in Frankfurt", "backups | is stored in | frankfurt"),
        ("Our own server listens on port 8080", "server | listen on | port 8080"),
        ("Our database is SQLite in WAL mode", "database | is | sqlite"),
        ("The file holds 12,000 rows. The month page needs 12,000 rows", "month page | need | 12,000 rows"),
        ("The docs live at [docs.example.com](https://docs.example.com/a?b=1).", "docs | live at | docs.example.com"),
        ("The app automatically replaces old keys", "app | replace | old keys"),
        ("Emily uses vim. Anna Kelly uses vim", ["emily | use | vim", "anna kelly | use | vim"]),
        ("Ruff is a linter written in Rust", "ruff | is | linter"),
        ("auth.py imports the settings lazily", "auth.py | import | settings"),
        ("The tests run on CI", "tests | run on | ci"),
        ("`auth.py` depends on `tokens.py`", "auth.py | depend on | tokens.py"),
        ("Anna Berg joined a gym last week", "anna berg | join | gym"),
        ("- **Postgres** supports exclusion constraints", "postgres | support | exclusion constraints"),
        ("So now I live in Oslo", "ines | live in | oslo"),
        ("It rains, but I like it here and I visited the harbour two days ago", "ines | visit | harbour"),
    ],
)
def test_a_plain_statement_is_read(text: str, expected: str | list[str]) -> None:
    assert said(text) == ([expected] if isinstance(expected, str) else expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The database was MySQL", "database | was | mysql"),
        ("The flags were not documented in time. The owner was not Ines", "owner | was not | ines"),
        ("We used MySQL. I lived in Oslo", ["we | used | mysql", "ines | lived in | oslo"]),
        ("We had used MySQL", "we | used | mysql"),
        ("I have used vim. I've lived in Oslo", ["ines | use | vim", "ines | live in | oslo"]),
        ("I moved to Oslo. I fixed the build", ["ines | move to | oslo", "ines | fix | build"]),
        ("I was using vim. We were moving to Rust", []),
    ],
)
def test_what_held_once_is_not_said_to_hold_now(text: str, expected: str | list[str]) -> None:
    assert said(text) == ([expected] if isinstance(expected, str) else expected)


@pytest.mark.parametrize(
    ("half", "whole"),
    [
        ("ids.py is the only module that reads the clock", "ids.py is the module"),
        ("ids.py is the path we watch", "ids.py is the path"),
        ("SQLite keeps booleans as 0 and 1", "SQLite keeps booleans"),
        ("I take high water from the tide", "I take high water"),
        ("The generated output is compatible with version 3", "The generated output is compatible"),
        ("The tests are flaky on Windows", "The tests are flaky"),
        ("The parser is faster than before", "The parser is fast"),
    ],
)
def test_half_of_what_is_said_is_left_out(half: str, whole: str) -> None:
    assert said(half) == []
    assert len(said(whole)) == 1


def test_a_possessive_is_no_subject_and_own_no_verb() -> None:
    assert said("The prompt's own line stays. The card's own check fails.") == []


def test_an_order_is_nobodys_habit() -> None:
    assert said("Fix support for aliases. Use constraints files. Keep the logs.") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't like coffee", "ines | not like | coffee"),
        ("I do not use Docker", "ines | not use | docker"),
        ("I never use mocks for the database", "ines | not use | mocks"),
        ("I no longer use vim", "ines | not use | vim"),
        ("We haven't moved to Postgres", "we | not move to | postgres"),
        ("My sister doesn’t own a car", "ines's sister | not own | car"),
        ("The build isn't slow", "build | is not | slow"),
        ("I'm not a lawyer", "ines | is not | lawyer"),
    ],
)
def test_what_is_denied_keeps_its_not(text: str, expected: str) -> None:
    assert said(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "Do I like tea?",
        "I like tea?",
        "If I moved to Berlin, I would work at Acme.",
        "When we use Postgres, the tests run on CI.",
        "I hope that the build is green.",
        "I hope the build is green.",
        "I would like a cat. I'd like a dog. I might use vim. I can't use Docker. I'll move to Oslo.",
        "I need to go. I want to sleep. I want the painting to be blue.",
        "He likes tea. She moved to Berlin. They use vim. It is a bug. That is a lie. There is a hole.",
        "I like it. I love them. I'm a big fan of this.",
        "I'm happy. We're lucky. I'm going home. The main character is dealing with loss.",
        "```\nI like tea\n```\n> I like tea\n    I like tea\n$ I like tea",
        "since we last talked",
        "the thing Tomasz reads aloud",
        "I have. We are. The is. My dog. Anna. I",
        "so-so, not-so-great, I",
        "The file is probably generated. The job possibly uses Redis. The disk is nearly full.",
        "Nobody uses Docker. Whoever uses Docker. The following are uses. Tools like ruff need a file.",
        "It crashes if the cache is empty and the list is long.",
        "My last reply was cut off. The lock is gone. The lock is released.",
    ],
)
def test_what_is_asked_wished_supposed_quoted_or_left_open_says_nothing(text: str) -> None:
    assert said(text) == []


def test_i_is_nobody_where_the_speaker_is_not_known() -> None:
    assert triples("I like tea. My dog is called Rex. Anna likes tea.", None) == [Triple("anna", "like", "tea")]


def test_each_triple_is_found_once_in_the_order_said() -> None:
    assert said("I like tea. We use vim. I like tea!") == ["ines | like | tea", "we | use | vim"]


@given(ANYTHING | CLAUSES, st.none() | st.just("ines"))
def test_whatever_is_said_a_triple_is_whole_and_short(text: str, speaker: str | None) -> None:
    found = triples(text, speaker)
    assert found == list(dict.fromkeys(triples(text, speaker)))
    for one in found:
        assert all(part.strip() == part and part for part in one)
        assert len(one.object.split()) <= MAX_OBJECT_WORDS


@given(CLAUSES)
def test_a_question_says_nothing(text: str) -> None:
    flat = text.replace("\n", " ").replace(".", " ").replace("?", " ")
    assert triples(f"{flat}?", "ines") == []


def test_a_name_of_many_parts_is_read_and_one_that_ends_wrongly_is_none() -> None:
    name = "a_" * 60 + "b"
    assert triples(f"{name} uses Redis.", None) == [Triple(name, "use", "redis")]
    assert triples(f"{name}$ uses Redis.", None) == []
