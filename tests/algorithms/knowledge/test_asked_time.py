"""The time that a question asks for."""

from __future__ import annotations

import pytest

from mnemic.algorithms.knowledge.asked_time import (
    AskedTime,
    Predecessor,
    asked_predecessor,
    asked_time,
    asks_for_newest,
)


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("which database do we use?", "now"),
        ("What is the port of moss these days?", "now"),
        ("Where does Nadia work?", "now"),
        ("Who owns billing?", "now"),
        ("How long does the session token last?", "now"),
        ("Which team looks after billing?", "now"),
        ("Since when has Yusuf had his present vehicle?", "now"),
        ("who approves code before it lands in quokka?", "any"),
        ("Which port did billing bind before the one it has today?", "before"),
        ("Who looked through the diffs prior to the present person?", "before"),
        ("where was the motorbike parked before?", "before"),
        ("where did Elif use to live?", "before"),
        ("what was the old port of moss?", "before"),
        ("What did we use originally?", "before"),
        ("What does Joanna use to remember her dog?", "now"),
        ("What is the name of John's one-year-old child?", "now"),
        ("What has Melanie painted?", "any"),
        ("When is Joanna going to make ice cream?", "any"),
        ("What did Maria do the week before the marathon?", "any"),
        ("Which city was John in before travelling to Chicago?", "any"),
        ("What did Melanie paint last week?", "any"),
        ("Welche Datenbank nehmen wir?", "any"),
        ("", "any"),
        ("Which command is used to deploy?", "any"),
        ("what did we say earlier about the parser?", "any"),
        ("summarize the previous session", "any"),
        ("Have we seen this error before?", "any"),
        ("Who is 12 years old?", "now"),
        ("do you remember the port of moss?", "any"),
        ("John's decision about Redis", "any"),
        ("What changed since May?", "any"),
        ("Wohin fahren wir am Wochenende?", "any"),
        ("current linter", "now"),
        ("prod host?", "now"),
        ("active region of the bucket", "now"),
        ("latest price plan", "now"),
        ("Could we schedule bartenders?", "any"),
        ("lisbon trip", "any"),
        ("error log", "any"),
        ("thank you", "any"),
        ("226/NAMESPACE error", "any"),
        ("O que disse o João do banco?", "any"),
    ],
)
def test_the_words_of_a_question_tell_its_time(question: str, time: AskedTime) -> None:
    assert asked_time(question, names_days=False) == time


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("What hourly quota did mailer grant on 16 April?", "day"),
        ("Who coached Nuria on 29 May?", "day"),
        ("What did we decide on 14 April?", "any"),
        ("What happened on 17 June?", "any"),
        ("What was mended on 18 March?", "any"),
        ("what was the order cutoff on 3 May 2026", "day"),
        ("what was the deployment region as of 2026-05-03", "day"),
        ("deployment region on 2026-05-03", "day"),
        ("what was the decision on 3 May", "any"),
        ("Where was the site hosted on 18 March?", "day"),
        ("Which port does moss have today?", "now"),
        ("Since when does Yusuf have today's car?", "now"),
        ("What did we do today?", "any"),
        ("Who called yesterday?", "any"),
        ("Which tests failed yesterday?", "any"),
        ("What did we have on Sunday?", "any"),
        ("Was ist am 20. März passiert?", "any"),
        ("Qu'avons-nous décidé hier?", "any"),
        ("Which port did moss originally have in March?", "before"),
    ],
)
def test_a_day_asks_for_what_held_unless_for_an_event(question: str, time: AskedTime) -> None:
    assert asked_time(question, names_days=True) == time


@pytest.mark.parametrize("piece", ["is ", "did ", "used to ", "before ", "what was ", "has a "])
def test_a_long_question_asks_for_no_time_and_is_told_so_at_once(piece: str) -> None:
    assert asked_time(piece * 400_000, names_days=False) == "any"
    asked_time(piece * 150, names_days=True)  # within what is looked at


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("which payment provider did we have before mollie", ("which payment provider did we have", "mollie")),
        ("What was our database before Postgres 17?", ("What was our database", "Postgres 17")),
        ("where did CI run before we moved to GitLab", ("where did CI run", "GitLab")),
        ("what did we use before that?", None),
        ("what did we use before the move", None),
        ("what did you say before lunch", None),
        ("what did we eat before dinner?", None),
        ("which host did we use before June?", None),
        ("what was broken before version 2", None),
        ("is there a check before deploys", None),
    ],
)
def test_what_came_before_a_thing_is_asked_by_its_name(question: str, asked: tuple[str, str] | None) -> None:
    assert asked_predecessor(question) == (asked and Predecessor(*asked))


@pytest.mark.parametrize(
    ("question", "newest"),
    [
        ("which port does moss have now", True),
        ("do I still add a slice?", True),
        ("job scheduler?", True),
        ("which port does moss have", False),
        ("why is it so slow", False),
    ],
)
def test_the_newest_is_asked_for_in_so_many_words_or_in_a_bare_name(question: str, newest: bool) -> None:
    assert asks_for_newest(question) == newest
