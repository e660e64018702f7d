"""What a text asks, denies and reports is told by its words; of a question, what it wants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.answering import AnswerReading, Wanted, asks, find_worked, read_wanted
from mnemic.algorithms.text.terms import index_terms


@pytest.mark.parametrize(
    "sentence",
    [
        "Where is the queue defined?",
        "how do we rotate the key",
        "question that bugs me: how can two boats lie at one berth",
        "and why did nobody notice?",
        "Mara: which port does staging use",
        "is the tide table in UTC",
        "can you look at the log",
        "Wo liegt der Schlüssel?",
        'he wrote "is it done?"',
        "what about the backups",
    ],
)
def test_a_question_asks_with_or_without_its_mark(sentence: str) -> None:
    assert asks(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "When I was there the lamp was dark.",
        "What we did was to lock the row.",
        "How the tide turns, nobody told her.",
        "The queue is defined in deploy/queue.toml.",
        "I do not know.",
        "Do it.",
        "",
    ],
)
def test_a_statement_that_begins_like_a_question_does_not_ask(sentence: str) -> None:
    assert not asks(sentence)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("Where is the queue defined?", 1.0, 1.0),
        ("The queue is defined in deploy/queue.toml.", 0.0, 0.0),
        ("Where is the queue defined? I need it for the text of the mail.", 0.6, 0.99),
        ("The queue is defined in deploy/queue.toml. Shall I move it?", 0.01, 0.3),
        ("", 0.0, 0.0),
    ],
)
def test_how_much_a_text_only_asks_is_told_by_what_it_shares_with_the_question(
    text: str, least: float, most: float
) -> None:
    terms = frozenset(index_terms("where is the queue defined"))
    assert least <= AnswerReading(text).asked_share(terms) <= most


@pytest.mark.parametrize(
    "text",
    [
        "This fixture does not define the production queue.",
        "The readme says nothing of the queue.",
        "It isn't the place where the queue is set.",
        "The runbook has a heading for the queue, but the section is empty.",
        "I looked through the compose file and could not tell.",
        "The thread about the queue was archived without a result.",
        "No decision was made about the queue.",
    ],
)
def test_what_says_that_it_does_not_say_it_denies(text: str) -> None:
    nearest = AnswerReading(text).nearest(frozenset(index_terms("queue")))
    assert nearest is not None
    assert nearest.denies


@pytest.mark.parametrize(
    "text",
    ["We don't use Redis.", "It names a folder that isn't there yet.", "I do not like rain.", "No, the port is 4010."],
)
def test_a_fact_that_is_worded_as_a_denial_tells_something(text: str) -> None:
    (only,) = AnswerReading(text).sentences[:1]
    assert not only.denies


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("yes!! days as strings, the calendar is correct now", 1),
        ("codegen did it, the release starts", 1),
        ("great, no more crashes", 1),
        ("no change, the shift is still there", -1),
        ("nope, that broke the minus signs", -1),
        ("the release build crashes at start", -1),
        ("I put the zone into the unit.", 0),
    ],
)
def test_what_worked_or_failed_is_told_by_what_comes_first(text: str, outcome: int) -> None:
    assert AnswerReading(text).outcome == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("three nights without a crash, solved", 1), ("scanned 40 boxes, no more errors", 1), ("all hosts green", 1)],
)
def test_a_failure_that_is_told_of_as_gone_is_none(text: str, outcome: int) -> None:
    assert AnswerReading(text).outcome == outcome


REPORT = "user: the scanner says E_CAMERA_BUSY"
FIRST, SECOND = "assistant: I release the camera in onPause.", "assistant: I rebind one provider per screen."


@pytest.mark.parametrize(
    ("turns", "worked", "last", "is_sure"),
    [
        ((REPORT, FIRST, "user: still E_CAMERA_BUSY", SECOND, "user: works!"), [3], 4, True),
        ((REPORT, FIRST, "user: still busy", SECOND, "user: ok"), [3], 4, True),
        ((FIRST, "user: still busy", SECOND, "user: great"), [2], 3, True),
        ((FIRST, "user: works!"), [], 1, True),  # what is begun with worked itself
        ((REPORT, "assistant: Let me look at the log.", SECOND, "user: works"), [2], 3, True),
        ((REPORT, SECOND, "assistant: The tests are green again."), [1, 2], 2, False),
        ((REPORT, SECOND, "assistant: All tests pass, it is fixed.", "user: make the logo blue"), [1, 2], 2, False),
        ((REPORT, FIRST, "user: nope", SECOND, "user: make the logo blue"), [3], 3, False),
        ((REPORT, FIRST, "user: make the logo blue", "assistant: It is blue.", "user: great"), [], 1, False),
        ((REPORT, FIRST, "user: starts no better"), [], 2, False),
        ((REPORT, FIRST, "user: ok, revert that", SECOND, "user: great, works"), [3], 4, True),
        ((REPORT, FIRST, "user: Thanks, exits 1 again"), [], 2, False),
        ((REPORT, FIRST, "user: ok so what now?"), [], 1, False),
        ((REPORT,), [], 0, False),
    ],
)
def test_what_worked_is_what_was_tried_since_the_last_failure(
    turns: tuple[str, ...], worked: list[int], last: int, is_sure: bool
) -> None:
    said = [(one.startswith("user: "), AnswerReading(one.partition(": ")[2])) for one in turns]
    found = find_worked(said)
    assert found.turns == worked
    if worked:
        assert (found.last, found.is_sure) == (last, is_sure)


def test_a_change_counts_anywhere_in_a_short_text_and_else_where_the_question_is() -> None:
    terms = frozenset(index_terms("compression codec"))
    assert AnswerReading("All files get zstd compression. It applies from now on.").changes(terms)
    assert not AnswerReading("All files get zstd compression.").changes(terms)
    assert not AnswerReading("The compression stays snappy for now.").changes(terms)
    far = "All files get zstd compression. " + "The boats lie in the harbour. " * 10 + "Tobi moved to Oslo."
    assert not AnswerReading(far).changes(terms)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("how did we fix the rotated photos", Wanted(remedy=True, reason=False, denial=False)),
        ("what got the tests running again", Wanted(remedy=True, reason=False, denial=False)),
        ("why did we leave Stripe", Wanted(remedy=False, reason=True, denial=False)),
        ("remind me, why is it under AGPL", Wanted(remedy=False, reason=True, denial=False)),
        ("which file does not define the queue", Wanted(remedy=False, reason=False, denial=True)),
        ("which database do we use", Wanted(remedy=False, reason=False, denial=False)),
    ],
)
def test_what_a_question_wants_is_told_by_its_words(question: str, wanted: Wanted) -> None:
    assert read_wanted(question) == wanted


@given(st.text(max_size=300), st.frozensets(st.text(min_size=1, max_size=8), max_size=5))
def test_a_share_lies_between_nothing_and_all(text: str, terms: frozenset[str]) -> None:
    read = AnswerReading(text)
    assert 0.0 <= read.asked_share(terms) <= 1.0
    assert read.outcome in (-1, 0, 1)


@pytest.mark.parametrize(
    "sentence",
    [
        "How to restart the gateway: systemctl restart gw.",
        "Who is on call: Anna.",
        "Do we have a rule: yes, two reviews.",
        "Should you see 203/EXEC, set the exec bit.",
    ],
)
def test_what_stands_under_a_heading_or_a_condition_tells(sentence: str) -> None:
    assert not asks(sentence)


@pytest.mark.parametrize(
    "text", ["not solved", "it is not fixed", "nothing helped", "it hasn't helped", "that never worked"]
)
def test_a_success_that_is_denied_is_a_failure(text: str) -> None:
    assert AnswerReading(text).outcome == -1


@pytest.mark.parametrize(
    "text", ["The licence does not cover Windows.", "The cache is empty.", "We don't list prices."]
)
def test_a_negative_fact_is_no_denial(text: str) -> None:
    (only,) = AnswerReading(text).sentences
    assert not only.denies


def test_whether_something_is_so_is_answered_by_a_denial_too() -> None:
    assert read_wanted("does the readme mention Windows").denial


def test_sentences_that_only_look_like_denials_or_questions_are_read_as_before() -> None:
    read = AnswerReading("So, hm, what about the port? It is 5432; who: nobody knows. Not defined here")
    assert [one.asks for one in read.sentences] == [True, False, False, False]
    assert [one.denies for one in read.sentences] == [False, False, True, True]
    assert not AnswerReading("We know the note, it is set.").denies(frozenset())
