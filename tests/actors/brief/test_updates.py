"""No session is told what was replaced or is over; one that was told it earlier hears once what stands for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.recall.retriever import RetrieverActor
from tests.actors.knowledge.test_knowledge import BOARD, DAY_US, SHELF, harness, read, say
from tests.harness import START_US, ActorHarness
from tests.waiting import until

OLD = "Decision: our database is SQLite."
NEW = "Decision: our database becomes Postgres 17."


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with harness(tmp_path) as mind:
        yield mind


def brief(mind: ActorHarness, session: str, **fields: Any) -> Briefed:
    read(mind)
    given = {"occasion": "session-start", "place": SHELF, "assistant": "codex", "session": session}
    told = mind.ask(Brief(**(given | fields)))
    assert isinstance(told, Briefed)
    return told


def prompt(mind: ActorHarness, session: str, **fields: Any) -> Briefed:
    return brief(mind, session, occasion="prompt", prompt="go on", **fields)


def wait_until_recorded(mind: ActorHarness, told: Briefed) -> None:
    """Wait until it is kept what the running session was told: whoever asks for updates alone is answered before."""
    until(lambda: mind.look(lambda now: set(told.memories) <= now.delivered_spans("codex", "running").keys()))


def holds(told: Briefed) -> str:
    """The part of it that says what holds."""
    return told.text.partition("What holds here:")[2]


def test_what_was_replaced_is_not_told_as_what_holds(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    say(mind, NEW, 9, session="b")
    say(mind, "Thanks, that is all.", 10, session="c")
    assert "SQLite" not in holds(brief(mind, "new"))
    assert "Postgres 17" in holds(brief(mind, "new"))


def test_of_a_memory_that_says_more_the_part_that_stands_is_told(mind: ActorHarness) -> None:
    say(mind, f"{OLD} Never use mocks, and always run the whole suite before a commit.", session="a")
    say(mind, NEW, 9, session="b")
    assert "SQLite" not in brief(mind, "new").text
    assert '"Never use mocks, and always run the whole suite before a commit."' in holds(brief(mind, "new"))


def test_what_is_over_by_its_own_words_is_not_told(mind: ActorHarness) -> None:
    say(mind, "Decision: the office is closed until 20 October 2025.", session="a")
    say(mind, "Thanks, that is all.", 1, session="b")
    assert "closed" not in holds(brief(mind, "new"))


def test_one_conflict_is_told_as_one_line(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    say(mind, NEW, 9, session="b", role="assistant")
    lines = brief(mind, "new").text.splitlines()
    (line,) = [one for one in lines if "SQLite" in one]
    assert "(2025-10-18), before that" in line
    heading = "Not settled whether the newer stands for the older; ask where it matters:"
    assert lines[lines.index(line) - 1] == heading


def test_a_session_that_was_told_hears_once_what_stands_for_it_now(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    assert "SQLite" in brief(mind, "running").text
    assert prompt(mind, "running").text == ""
    new = say(mind, NEW, 9, session="b")
    told = prompt(mind, "running")
    assert f'- you were told "{OLD.rstrip(".")}"; since 2025-10-18: "{NEW.rstrip(".")}"' in told.text
    assert new in told.memories
    assert prompt(mind, "running").text == "", "once"
    assert prompt(mind, "another").text == "", "and nobody else"


def test_a_prompt_that_asks_for_updates_alone_hears_them_and_no_memory(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    brief(mind, "running")
    asked: dict[str, Any] = {"updates_only": True}
    assert brief(mind, "stranger", occasion="prompt", prompt=OLD, **asked).text == ""
    say(mind, NEW, 9, session="b")
    late = prompt(mind, "running", **asked, answer_by=START_US)
    assert late.text == "", "nobody waits for it any more, so it is not told"
    told = prompt(mind, "running", **asked)
    assert "you were told" in told.text
    wait_until_recorded(mind, told)
    assert prompt(mind, "running", **asked).text == "", "once"
    question = Brief(occasion="prompt", place=SHELF, updates_only=True)
    assert (RetrieverActor.foresees(question), len(RetrieverActor.foresees(Brief(occasion="prompt", place=SHELF)))) == (
        (),
        1,
    )


def test_updates_can_be_switched_off(tmp_path: Path) -> None:
    with harness(tmp_path, **{"brief.updates": False}) as mind:
        say(mind, OLD, session="a")
        brief(mind, "running")
        say(mind, NEW, 9, session="b")
        assert prompt(mind, "running", updates_only=True).text == ""


def test_what_a_session_said_itself_it_is_not_told(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    assert "SQLite" in brief(mind, "running").text
    say(mind, NEW, 9, session="running")
    assert prompt(mind, "running").text == ""


def test_what_is_to_hold_later_is_no_news_yet(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    brief(mind, "running")
    say(mind, NEW, 200, session="b")
    assert mind.clock.now_us() < START_US + 200 * DAY_US
    assert prompt(mind, "running").text == ""


def test_nothing_of_another_project_is_told_though_the_session_was_told_of_it(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    assert "SQLite" in brief(mind, "running").text
    say(mind, NEW, 9, session="b")
    elsewhere = prompt(mind, "running", place=BOARD)
    assert elsewhere.text == ""
    assert "Postgres 17" in prompt(mind, "running").text


def test_of_a_chain_the_end_is_told_in_one_line(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    brief(mind, "running")
    say(mind, NEW, 9, session="b")
    say(mind, "Decision: our database becomes MySQL 9.", 20, session="c")
    told = prompt(mind, "running").text
    assert told.count("you were told") == 1
    assert "MySQL 9" in told
    assert "Postgres" not in told
    assert prompt(mind, "running").text == ""


def test_words_that_were_not_given_were_not_told(mind: ActorHarness) -> None:
    text = f"Always use {'very ' * 90} few mocks, since it is so that our database is SQLite."
    say(mind, text, session="a")
    assert "SQLite" not in brief(mind, "running").text
    say(mind, NEW, 9, session="b")
    assert prompt(mind, "running").text == ""


def test_what_tells_of_the_past_in_a_decision_that_stands_leaves_it_out_of_nothing(mind: ActorHarness) -> None:
    say(mind, "Decision: our CI is Jenkins.", session="a")
    say(mind, "Decision: we used to run the regression suite on old agents in the basement. Our CI is GitHub.", 9)
    assert "GitHub" in brief(mind, "new").text


def test_what_stands_for_it_is_heard_once_however_often_it_is_said(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    brief(mind, "running")
    say(mind, NEW, 9, session="b")
    assert "Postgres 17" in prompt(mind, "running").text
    for number, text in enumerate((NEW, "decision: our database becomes Postgres 17!", f"Also, {NEW}")):
        say(mind, text, 20 + number, session=f"c{number}")
        assert prompt(mind, "running").text == ""


def test_what_is_taken_back_is_told_though_the_session_heard_it_before(mind: ActorHarness) -> None:
    say(mind, OLD, session="a")
    brief(mind, "running")
    say(mind, NEW, 9, session="b")
    assert "since 2025-10-18" in prompt(mind, "running").text
    say(mind, "Decision: our database becomes SQLite.", 20, session="c")
    assert "SQLite" in prompt(mind, "running").text.partition("since 2025-10-29")[2]
    assert prompt(mind, "running").text == ""


def test_a_session_that_was_told_hears_once_what_a_person_corrected(mind: ActorHarness) -> None:
    rule = say(mind, "From now on never deploy on Fridays.", session="a")
    assert "Fridays" in brief(mind, "running").text
    newer = say(mind, "From now on deploy on any day before noon.", 9, session="b", supersedes=rule)
    told = prompt(mind, "running", updates_only=True)
    assert '- you were told "From now on never deploy on Fridays."' in told.text
    assert newer in told.memories
    wait_until_recorded(mind, told)
    assert prompt(mind, "running", updates_only=True).text == "", "once"
    assert prompt(mind, "another", updates_only=True).text == "", "and nobody else"
