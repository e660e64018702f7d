"""What was replaced stands right below what stands for it, marked; what contradicts is told; a person's word counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.knowledge.messages import ListConflicts, SettleConflict
from mnemic.actors.recall.messages import Hit
from tests.actors.knowledge.test_knowledge import DAY_US, POSTGRES, SQLITE, harness, read, say
from tests.harness import START_US, ActorHarness

LONG = f"{SQLITE} It is one file, and the backup of it goes out every night at two, by the timer of the old server."
QUESTION = "Which database is our database, SQLite?"
"""Nearer to what is replaced than to what stands for it."""

RETENTION = b"The retention of logs is 14 days"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with harness(tmp_path) as mind:
        yield mind


def hits(mind: ActorHarness, query: str = QUESTION, **asked: Any) -> list[Hit]:
    read(mind)
    return list(mind.recall(query, **asked).hits)


def texts(found: list[Hit]) -> list[str]:
    return [hit.text for hit in found]


def test_what_stands_for_a_memory_comes_right_above_it_and_that_is_marked(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    new = say(mind, POSTGRES, 9)
    say(mind, "Which database do others use?", 10)
    now, then, *_ = hits(mind)
    assert (now.text, then.text) == (POSTGRES, SQLITE)
    assert now.replaced == ()
    (by,) = then.replaced
    assert (by.memory, by.value, by.at) == (new, b"Postgres 17", START_US + 9 * DAY_US)


def test_asked_for_what_held_before_the_old_one_stays_where_it_was(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    first, *_ = hits(mind, "What was our database before?")
    assert first.text == SQLITE
    assert [one.value for one in first.replaced] == [b"Postgres 17"]


def test_asked_for_a_day_what_held_that_day_comes_first_and_is_not_marked(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    first, *_ = hits(mind, at=START_US + 2 * DAY_US)
    assert (first.text, first.replaced) == (SQLITE, ())
    assert texts(hits(mind, at=START_US + 20 * DAY_US))[0] == POSTGRES


def test_what_was_known_earlier_knows_of_no_replacement(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    read(mind)
    then = mind.clock.now_us()
    say(mind, POSTGRES, 9)
    (only,) = hits(mind, as_of=then)
    assert (only.text, only.replaced) == (SQLITE, ())
    (pair,) = mind.ask(ListConflicts(replaced=True)).conflicts
    now = mind.clock.now_us()
    before = hits(mind, as_of=now)
    mind.ask(SettleConflict(id=pair.id, verdict="older"))
    assert hits(mind, as_of=now) == before, "nor of what was said later"


def test_a_memory_that_says_more_is_marked_and_stays_where_it_was(mind: ActorHarness) -> None:
    say(mind, LONG)
    say(mind, POSTGRES, 9)
    first, *_ = hits(mind, "when does the backup of it go out, every night at two?")
    assert first.text == LONG
    assert [one.value for one in first.replaced] == [b"Postgres 17"]


def test_of_a_memory_that_says_more_the_clause_that_is_asked_for_counts(mind: ActorHarness) -> None:
    say(mind, f"The staging server listens on 8081. {'It rains in Porto, and the boats stay in the harbour. ' * 3}")
    say(mind, "The staging server listens on 8090 now.", 9)
    now, then, *_ = hits(mind, "which port does the staging server listen on?")
    assert now.text == "The staging server listens on 8090 now."
    assert [one.value for one in then.replaced] == [b"8090"]
    elsewhere, *_ = hits(mind, "do the boats of the staging server stay in the harbour of Porto?")
    assert elsewhere.text.startswith("The staging server listens on 8081."), "more than that clause is asked for"


def test_a_mark_names_the_clause_that_it_concerns_where_its_memory_says_more(mind: ActorHarness) -> None:
    say(mind, "The worker uses Celery. The web server uses gunicorn. The team uses Linear.")
    say(mind, "The team uses Jira now instead of Linear.", 3)
    say(mind, "The web server uses uvicorn now instead of gunicorn.", 9)
    (worker, *_) = hits(mind, "what does the worker use")
    assert {one.of for one in worker.replaced} == {b"The web server uses gunicorn", b"The team uses Linear"}
    asked = {"what does the team use": b"Linear", "what does the web server use": b"gunicorn"}
    for question, value in asked.items():
        (told,) = [hit for hit in hits(mind, question) if hit.text.startswith("The worker")]
        assert told.replaced[0].of.endswith(value), "the clause that is asked for first"
    assert [(one.of, one.value) for hit in hits(mind) for one in hit.replaced if hit.text == SQLITE] == []


def test_a_mark_of_what_says_nothing_else_names_no_words(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    (then,) = [hit for hit in hits(mind) if hit.text == SQLITE]
    assert [(one.of, one.value) for one in then.replaced] == [(b"", b"Postgres 17")]


def test_a_clause_that_is_not_asked_for_makes_no_hit_the_newest_and_lifts_nothing(mind: ActorHarness) -> None:
    say(mind, "We use Sentry for errors. The retention of logs is 14 days.")
    say(mind, "The retention of logs is 30 days now.", 9)
    first, *rest = hits(mind, "do we use Sentry for errors?")
    assert (first.text.split(".")[0], first.replaced[0].of) == ("We use Sentry for errors", RETENTION)
    assert [hit.newest for hit in (first, *rest)] == [False, False]
    first, *_ = hits(mind, "what is the retention of logs?")
    assert (first.text, first.newest) == ("The retention of logs is 30 days now.", True)


def test_without_validity_nothing_is_lifted(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    assert texts(hits(mind, signals=("lexical",)))[0] == SQLITE


def test_what_contradicts_is_told_of_both_until_it_is_settled(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9, role="assistant")
    found = {hit.text: hit for hit in hits(mind)}
    assert [one.value for one in found[SQLITE].contradicts] == [b"Postgres 17"]
    assert [one.value for one in found[POSTGRES].contradicts] == [b"SQLite"]
    (pair,) = mind.ask(ListConflicts()).conflicts
    mind.ask(SettleConflict(id=pair.id, verdict="newer"))
    now, then, *_ = hits(mind)
    assert (now.text, now.contradicts, then.contradicts) == (POSTGRES, (), ())
    assert [one.why for one in then.replaced] == ["user said so"]


def test_asked_for_now_the_newer_of_two_that_contradict_each_other_comes_first(mind: ActorHarness) -> None:
    say(mind, "Our database is SQLite in one file.")
    say(mind, "Our database is MySQL.", 9)
    now, then, *_ = hits(mind, "which database is our database, SQLite?")
    assert (now.text, then.text) == ("Our database is MySQL.", "Our database is SQLite in one file.")
    assert [one.value for one in then.contradicts] == [b"MySQL"]
    before, *_ = hits(mind, "which database is our database, SQLite?", at=START_US + 2 * DAY_US)
    assert before.text.startswith("Our database is SQLite"), "the other was said after that day"


def test_a_question_that_shares_one_word_with_a_decision_among_others_gets_its_heir(mind: ActorHarness) -> None:
    talk = "The club has 212 members, and on a busy morning they write a few dozen rows, all from one process. "
    say(mind, f"{talk} Decision: our database is SQLite. {talk}")
    say(mind, f"{talk} Decision: our database becomes Postgres 17. {talk}", 9)
    say(mind, "Never use mocks for the database.", 10)
    for question in ("what is our database", "which database do we use", "current db", "what database are we on now"):
        now, *rest = hits(mind, question)
        assert "Postgres 17" in now.text, question
        assert any("SQLite" in one.text for one in rest), question


def test_what_somebody_said_is_no_change_takes_nothing_from_the_other(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    read(mind)
    (pair,) = mind.ask(ListConflicts(replaced=True)).conflicts
    mind.ask(SettleConflict(id=pair.id, verdict="both"))
    first, *_ = hits(mind)
    assert (first.text, first.replaced) == (SQLITE, ())


def test_the_last_of_a_chain_stands_above_all(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    say(mind, "Our database becomes MySQL 9 now.", 20)
    found = texts(hits(mind))
    assert found.index("Our database becomes MySQL 9 now.") < found.index(POSTGRES) < found.index(SQLITE)


def test_what_stands_for_a_memory_in_no_scope_that_is_looked_through_lifts_nothing(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    assert texts(hits(mind, until=START_US + DAY_US)) == [SQLITE]
