"""What later statements make of earlier ones: what replaces by itself is right, and little is asked of a person."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.entities.keys import subject_key
from mnemic.algorithms.knowledge.extraction.statements import statements
from mnemic.algorithms.knowledge.replacement import (
    RULES,
    Graded,
    ended_value,
    grade,
)
from mnemic.algorithms.knowledge.said import Said, change_cue, normal_value, read_said, value_name

REPLACED = {
    "handover": (
        ("Anouk's doctor is Dr Dumont", "Anouk's doctor changed from Dr Dumont to Dr Haas"),
        ("Lantern uses Jenkins", "lantern left Jenkins for Buildkite"),
        ("Application logs are kept 30 days.", "Application logs are kept 90 days instead of 30, compressed."),
        ("The code of moss is on Codeberg", "moss left Codeberg for Gitea"),
        ("Pelican depends on serilog", "we replaced serilog with slf4j in pelican"),
        ("The glass bin is collected on Saturday", "the glass bin moved from Saturday to Monday"),
        ("Backups run every 4 hours.", "Backups went from every 4 hours to every 6 hours."),
        ("The orders sit in one Derby file.", "Derby has made way for Oracle 23."),
        ("Redis holds the carts", "Redis was replaced by Valkey"),  # what is over did something for others
        ("The main branch is called develop", "I renamed develop to stable"),
        ("Our queue is RabbitMQ", "NATS has replaced RabbitMQ"),
        ("The database is Derby for now, and it runs on Gcore", "From now on the database is Oracle 23, not Derby."),
        ("TeamCity builds every pull request of sundial", "Sundial replaced TeamCity with Jenkins for its pipelines"),
    ),
    "ended": (
        ("Samira plays the drums", "Samira doesn't play the drums anymore"),
        ("uncle Bernd has a subscription to Joyn", "uncle Bernd cancelled Joyn"),
        ("I use Falkon", "I uninstalled Falkon"),
        ("The server runs Debian in a cupboard", "the server no longer runs Debian"),
        ("The demo is on a tiny Heroku dyno", "we dropped Heroku when the free plan ended"),
        ("Alerts end up in Nagios", "Also we said goodbye to Nagios"),
        ("Redis holds the carts", "Redis is retired"),
        ("TeamCity builds every pull request of pelican", "we cancelled TeamCity for pelican"),
    ),
    "same words": (
        ("The gate closes 10 minutes before departure.", "The gate closes 15 minutes before departure from now on."),
        ("Decision: our database is SQLite in WAL mode, one file.", "Decision: our database becomes Postgres 17."),
        ("Mateo plays the ukulele", "Mateo plays the cello these days"),
        ("I live in Bologna", "I live in Ghent now, boxes everywhere."),
    ),
    "moved": (
        ("The retro is at 9:30", "the retro has moved to 11:15 for Ida's school run"),
        ("The retro is every Monday", "the retro has moved to Thursdays"),
        ("The upload limit is 10 MB", "I raised the upload limit to 25 MB"),
        ("Mara lives in Tartu", "Mara has moved to Bologna meanwhile, for love and cheaper rent"),
    ),
}
CONFLICTS = (("The gate closes 10 minutes before departure.", "The gate closes 12 minutes before departure."),)
NEITHER = (
    ("Mateo plays the ukulele", "Mateo plays the cello in his dreams, if he could"),  # supposed
    ("Mateo plays the ukulele", "Mateo will play the cello from now on"),  # planned
    ("Mateo plays the ukulele", "does Mateo play the cello now?"),  # asked
    ("Mateo plays the ukulele", "Lucia says Mateo plays the cello now"),  # told by another one
    ("Mateo plays the ukulele", "Mateo also plays the cello now"),  # beside it
    ("Mateo plays the ukulele", "Lucia plays the cello now"),  # another subject
    ("Mateo plays the ukulele", "Mateo studies history now"),  # another attribute
    ("Mateo plays the ukulele", "Mateo still plays the ukulele"),
    ("I love hiking", "I love chess now"),  # of oneself one says much with one verb
    ("the tests of harbor use Mocha", "the tests of moss use Jest now"),
    ("we copy lantern every day", "we copy moss every hour from now on"),
    ("Anouk switched to Dr Haas", "Anouk has switched to the cello"),  # two changes, of two things
    ("The mill house was heated by coal", "the mill house is heated by gas now"),  # the older one is of the past
    ("I bought a second whistle", "I dropped my whistle into a puddle"),
    ("the internet at the hut is from Vodacell", "the garden house changed internet from Vodacell to Nordnet"),
    ("For the farm we buy Windhof", "we dropped Windhof at the flat"),
    ("backups run every 6 hours", "backups no longer need a password"),
    ("Siemens runs the plant", "Nadia moved from Siemens to Bosch"),  # who leaves a company ends nothing of it
    ("Siemens runs the plant", "I left Siemens"),
    ("Nadia sits in the Lyon office", "we moved from Lyon to Paris"),
    ("Redis holds the carts", "the search went from Redis to Dragonfly"),  # another one that used it
    ("Redis holds the carts", "atlas has no cache any more, Redis is gone there"),
    ("atlas runs on Postgres", "MongoDB has replaced Postgres under ledger"),
    ("Karim's laptop is a ThinkPad", "My ThinkPad was swapped for a Framework"),
    ("Maro lives in Tartu", "I said goodbye to Tartu"),
    ("I live in Tartu", "I moved to Bologna in 2015"),  # it may have been before
    ("The retro is at 9:30", "the retro has moved to Thursdays"),  # another sort of value
    ("Mara lives in Tartu", "Mara has moved to the next task"),
)


def read(text: str, said_at: int, speaker: str | None = None) -> list[Said]:
    """The statements of a text."""
    found = statements(text, speaker, date(2026, 3, 2))
    return read_said(text, said_at, found, [subject_key(one.subject, speaker, "user") for one in found])


def best(older: str, newer: str, speakers: tuple[str, str] = ("", "")) -> Graded | None:
    """The most probable verdict on two texts."""
    pairs = [(a, b) for a in read(older, 1, speakers[0] or None) for b in read(newer, 2, speakers[1] or None)]
    graded = [one for a, b in pairs if (one := grade(a, b)) is not None]
    return max(graded, key=lambda one: one.probability, default=None)


@pytest.mark.parametrize(("rule", "older", "newer"), [(rule, *pair) for rule in REPLACED for pair in REPLACED[rule]])
def test_what_is_named_as_over_or_said_anew_in_the_same_words_is_replaced(rule: str, older: str, newer: str) -> None:
    found = best(older, newer)
    assert found is not None
    assert (found.verdict, found.probability) == RULES[rule][:2]


@pytest.mark.parametrize(("older", "newer"), CONFLICTS)
def test_another_value_without_a_word_of_change_is_a_conflict(older: str, newer: str) -> None:
    found = best(older, newer)
    assert found is not None
    assert found == RULES["same words, no cue"]


def test_who_works_in_one_place_and_moved_to_another_is_asked_about() -> None:
    found = best("Lena works out of Vienna", "Lena has moved to Graz")
    assert found is not None
    assert found.verdict == "conflict"


@pytest.mark.parametrize(("older", "newer"), NEITHER)
def test_what_asserts_nothing_new_of_the_same_leaves_it_as_it_is(older: str, newer: str) -> None:
    assert best(older, newer) is None


def test_length_does_not_matter_where_words_decide() -> None:
    talk = " And so we went on for a while about the garden and the weather, as one does." * 20
    found = best(f"Well. Lantern uses Jenkins.{talk}", f"{talk} Lantern left Jenkins for Buildkite.")
    assert found is not None
    assert found.verdict == "replaced"


def test_what_two_speakers_call_alike_may_be_two_things() -> None:
    texts = "the office opens at 7:00", "the office opens at 8:00 now"
    assert best(*texts, speakers=("ines", "ines")) is not None
    assert best(*texts, speakers=("ines", "bela")) is None


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Lantern uses Jest now", "now"),
        ("Lantern still uses Jest", ""),
        ("Lantern switched to Jest", "switched"),
        ("our database becomes Postgres", "become"),
        ("Lantern uses Jest", ""),
    ],
)
def test_words_of_change_are_found_in_the_clause_of_a_statement(text: str, cue: str) -> None:
    assert change_cue(text, read(text, 1)[0].statement) == cue


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("one small Derby file", "derby"),
        ("Derby in WAL mode", "derby"),
        ("daemon called ledgerd", "ledgerd"),
        ("old steel Peugeot", "peugeot"),
        ("Postgres 17 cluster", "postgres 17"),
        ("both Redis and Derby", "both redis and derby"),
        ("Friday shift", "friday shift"),
        ("two weeks", "two weeks"),
        ("", ""),
    ],
)
def test_the_only_name_in_a_value_stands_for_it(value: str, name: str) -> None:
    assert value_name(value) == name


@pytest.mark.parametrize(
    ("value", "normal"),
    [
        ("the `Postgres 17`", "postgres 17"),
        ("Every 4 hours", "every 4 hours"),
        ("two weeks", "two weeks"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_values_are_compared_without_articles_case_and_marks(value: str, normal: str) -> None:
    assert normal_value(value) == normal


def test_a_change_names_the_value_that_it_ends() -> None:
    ended, new = read("lantern left Jenkins for Buildkite", 1)
    assert (ended_value(ended), ended_value(new)) == ("jenkins", "jenkins")
    assert ended_value(read("lantern uses Jenkins", 1)[0]) == ""


@given(
    st.sampled_from([text for pairs in REPLACED.values() for pair in pairs for text in pair]),
    st.sampled_from([text for pair in (*CONFLICTS, *NEITHER) for text in pair]),
)
def test_nothing_is_replaced_by_itself_or_by_what_is_older(one: str, other: str) -> None:
    for a in read(one, 2):
        assert grade(a, a) is None
        assert all(grade(a, b) is None for b in read(other, 2) + read(other, 1))
        same = [grade(a, again) for again in read(one, 3)]
        assert all(found is None or found.verdict == "replaced" for found in same)
