"""What a sentence sets: its values and what they measure, what it says is over, and whether it tells what stands."""

from __future__ import annotations

import pytest

from mnemic.algorithms.brief.things import expires, read_sentence, sets_something


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a basket holds for 12 minutes", {("time", "720")}),
        ("she wants two hours", {("time", "7200")}),
        ("a night costs 15 €", {("money", "15")}),
        ("staging listens on port 4120", {("port", "4120"), ("of port", "4120")}),
        ("node 22 everywhere", {("of node", "22")}),
        ("at most 500", {("number", "500")}),
        ("releases move to Wednesday", {("weekday", "wednesday")}),
        ("pier 3 is green", set()),
    ],
)
def test_a_value_is_known_by_what_it_measures(text: str, values: set[tuple[str, str]]) -> None:
    assert read_sentence(text).values >= values
    assert bool(read_sentence(text).values) == bool(values)


def test_the_value_before_is_told_from_the_one_that_stands() -> None:
    found = read_sentence("Basket hold goes from 15 to 12 minutes")
    assert ("time", "720") in found.values
    assert ("time", "900") in found.past_values - found.values


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("stripe is history", {"stripe"}),
        ("retrofit and moshi are out of the gradle files", {"retrofit", "moshi"}),
        ("we moved from jenkins to buildkite", {"jenkin"}),
        ("Opus in place of AAC", {"aac"}),
        ("the old keys are revoked", set()),
        ("the cursor is off by a lot", set()),
    ],
)
def test_what_a_sentence_says_is_over_is_known_by_its_name(text: str, over: set[str]) -> None:
    assert {term for one in read_sentence(text).over for term in one} >= over
    assert bool(read_sentence(text).over) == bool(over)


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("our database is postgres 16", True),
        ("and license: AGPL", True),
        ("production listens on port 4000", True),
        ("icon for ios I do myself", False),
        ("lunch was good", False),
    ],
)
def test_a_clause_that_begins_with_a_thing_tells_how_it_is(text: str, tells: bool) -> None:
    assert read_sentence(text).is_standing == tells


def test_a_question_a_try_and_a_complaint_tell_nothing_that_stands() -> None:
    assert read_sentence("is our database postgres 16?").is_asked
    assert read_sentence("I think our database is slow").is_passing
    assert read_sentence("the e2e tests fail: build failed on main").is_passing
    assert read_sentence("Tried: the lock on port 4000").is_work


def test_days_by_which_something_ends_are_told_and_not_those_from_which_it_holds() -> None:
    assert expires("re-test on 17 June, freeze until May 3rd") == [(6, 17), (5, 3)]
    assert expires("from 6 July the app belongs to Jiri") == []


def test_a_quick_look_tells_what_may_replace_something() -> None:
    assert sets_something("it lasts 12 minutes")
    assert sets_something("stripe is history")
    assert not sets_something("let me look at the log")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("The tickets are sold on TicketBooth, the page went up on Monday.", {"ticket"}),
        ("Adult tickets are 16 pounds.", {"adult", "ticket"}),
        ("team vote: deploys happen Wednesday mornings, 9:30", {"deploy"}),
        ("Nordic shards: cap of 40 players.", {"nordic", "shard"}),
        ("Dr Lund signs the records.", {"sign", "record"}),
        ("Ben Okoro is our treasurer, elected yesterday.", {"treasur"}),
        ("We're on Hetzner.", set()),
    ],
)
def test_a_definite_thing_with_a_value_stands(text: str, subject: set[str]) -> None:
    read = read_sentence(text)
    assert read.is_standing
    assert not read.is_moment
    assert subject <= {term for one in read.subjects for term in one}


@pytest.mark.parametrize("text", ["the page went up", "the lamp is dim today", "Tom is at the dentist", "note: 3 left"])
def test_what_goes_by_or_has_no_value_does_not_stand(text: str) -> None:
    read = read_sentence(text)
    assert not read.is_standing or read.is_moment
