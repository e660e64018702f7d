"""The newest of each thing is told, by the sentence that says it; what a newer sentence stands for is not."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from mnemic.actors.brief.current_sentences import StatedText, current_sentences

DAY = date(2026, 3, 2)
CHATTER = (
    "the harbour was calm this morning",
    "Gesine brought cake",
    "a long walk along the quay",
    "paint dries slowly",
)


def told(*texts: str, kept: bool = False) -> list[str]:
    """What stands of texts that were said a day apart, among chatter; newest first."""
    said = [*CHATTER, *texts]
    texts = [
        StatedText(
            key, text, is_owners=True, is_kept=kept and text in texts, is_correction=False, day=DAY + timedelta(key)
        )
        for key, text in enumerate(said)
    ]
    return [said[one.key][one.start : one.stop] for one in current_sentences(texts)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("our database is postgres 16", "the database is mysql 9 now"),
        (
            "checkout goes over stripe, keys are in the vault",
            "stripe is history. checkout goes over mollie since today",
        ),
        ("From now on an unpaid basket holds for 30 minutes", "From now on an unpaid basket holds for 2 hours"),
        (
            "From now on we use retrofit with moshi",
            "our client is ktor now, retrofit and moshi are out",
        ),
        ("Always release on Tuesdays", "Releases move from Tuesday to Wednesday from now on"),
    ],
)
def test_the_newer_statement_stands_for_the_older(older: str, newer: str) -> None:
    assert older in "".join(told(older))
    assert older not in told(older, newer)
    assert told(older, newer)[0] in newer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("staging listens on port 4010", "production listens on port 4000"),
        ("From now on we paint pier 3 green", "From now on we paint pier 4 green"),
        ("our database is postgres 16", "the linter is biome, config in biome.json"),
    ],
)
def test_two_things_of_a_kind_both_stand(one: str, other: str) -> None:
    assert told(one, other) == [other, one]


def test_the_sentence_is_told_and_what_passes_is_not() -> None:
    said = "What a day. Our staging host is kogge-2 since Saturday. The e2e tests fail on it, can you look?"
    assert told(said) == ["Our staging host is kogge-2 since Saturday."]
    assert told("is our database postgres 16?", "I think the api is slow") == []


def test_what_was_kept_is_told_without_a_cue_and_not_once_its_day_is_over() -> None:
    assert told("the lantern is green", kept=True) == ["the lantern is green"]
    assert told("the lantern must be green by 3 March", kept=True) == ["the lantern must be green by 3 March"]
    assert told("the pier is closed until 8 March", *(f"paint boat {n}" for n in range(9)), kept=True)[-1] != (
        "the pier is closed until 8 March"
    )


def test_what_points_back_is_told_with_what_it_points_at() -> None:
    said = "New wish: a bar rota. I said no. Write it down as declined."
    assert told(said) == [said]
