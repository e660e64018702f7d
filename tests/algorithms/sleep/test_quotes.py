"""A reply takes a memory up where it says what nobody else had said to it; labelled before it was tried."""

from __future__ import annotations

import pytest

from mnemic.algorithms.sleep.quotes import takes_up as terms_taken_up
from mnemic.algorithms.text.terms import telling_terms

PORT = "The booking API listens on port 8443 in production since Lukas moved it."
DUMP = "Before each release we dump the database with pg_dump --clean and keep three copies on the harbour NAS."
TEA = "Nadia drinks Darjeeling without milk, never coffee after noon."
FLAKE = "test_tide_table fails when it runs at midnight UTC, because the almanac rolls over; freeze the clock at 11:30."


def takes_up(reply: str, memory: str, otherwise: list[str]) -> bool:
    """By the words of texts."""
    known = {term for text in otherwise for term in telling_terms(text)}
    return terms_taken_up(telling_terms(reply), telling_terms(memory), known)


@pytest.mark.parametrize(
    ("reply", "memory", "question"),
    [
        ("It listens on port 8443 in production.", PORT, "which port does the booking API use"),
        ("Lukas moved the booking API, so production answers on 8443 now.", PORT, "where is the API"),
        ("Run pg_dump --clean first and keep three copies on the NAS.", DUMP, "what do we do before a release"),
        ("I dumped the database with pg_dump --clean; three copies are on the harbour NAS.", DUMP, "release it please"),
        ("Darjeeling without milk, and never coffee after noon.", TEA, "what does Nadia drink"),
        ("I'd make Darjeeling for Nadia, without milk.", TEA, "tea for whom?"),
        ("That test fails at midnight because the almanac rolls over. I froze the clock at 11:30.", FLAKE, "fix CI"),
        ("The failure is the known one: the almanac rolls over at midnight UTC.", FLAKE, "why is test_tide_table red"),
    ],
)
def test_a_reply_that_rests_on_a_memory_takes_it_up(reply: str, memory: str, question: str) -> None:
    assert takes_up(reply, memory, [question])


@pytest.mark.parametrize(
    ("reply", "memory", "question"),
    [
        ("I could not find the port of the booking API.", PORT, "which port does the booking API listen on"),
        (
            "The booking API listens on whatever is configured.",
            PORT,
            "which port does the booking API listen on",
        ),
        ("Production is deployed on Thursdays.", PORT, "when do we deploy"),
        ("Done: the release is tagged and pushed.", DUMP, "release it please"),
        ("I restored the database from the dump.", DUMP, "restore the database"),
        ("I don't know what Nadia drinks.", TEA, "what does Nadia drink"),
        ("Coffee is in the kitchen.", TEA, "where is the coffee"),
        ("All tests pass now.", FLAKE, "run the tests"),
        ("The clock widget shows UTC.", FLAKE, "what does the clock widget show"),
        ("", TEA, "what does Nadia drink"),
    ],
)
def test_one_that_does_not_takes_nothing_up(reply: str, memory: str, question: str) -> None:
    assert not takes_up(reply, memory, [question])


def test_what_the_user_said_meanwhile_is_not_taken_from_memory() -> None:
    reply = "Then it is Darjeeling without milk for Nadia, and never coffee after noon."
    assert takes_up(reply, TEA, ["what do I serve"])
    assert not takes_up(
        reply, TEA, ["what do I serve", "Nadia takes Darjeeling, no milk, never coffee after noon, drinks it hot"]
    )
