"""The rules take what states something standing, on the example's turns labelled by hand, and rather too little."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.brief.statement_cues import (
    MAX_STATEMENT_CHARS,
    directive_start,
    final_question,
    holds_cue,
    is_open,
)
from mnemic.actors.kernel.events import Event, to_text
from mnemic.algorithms.text.sentences import plain_sentences
from mnemic.hooks.read.formats import find_transcripts, open_transcript
from tests.processes.faces import EXAMPLE

LABELLED = {  # every turn of the example's users that states something standing, and whether the rules take it
    "Decision: our database becomes Postgres 17": True,
    "Decision: we deploy a plain venv under systemd": True,
    "nothing goes out on a Friday evening": False,
    "Let the backup timer go off at 01:30 local time": False,
    "Make the session token last 24 hours": False,
    "I said no. Write it down as declined": True,
    "Put them down as decisions": True,
    "Two open bookings per member at a time": False,
    "lasts 30 minutes of idling from now on": True,
    "A test that passes on the second try is lying to me": False,
    "Decision: our database is SQLite in WAL mode": True,
    "ULID as the key, plus a five-letter code": False,
    "never use mocks for the database": True,
    "commit messages in present tense": False,
    "moves from 01:30 local to 04:10 UTC": False,
    "raise the limit from two to three": False,
    "Agreed: no page cache": True,
    "keep the boathouse door code off the pages": False,
    "free to cancel until two hours before high water": False,
    "until two hours before high water, and after that they have to talk to me": False,
}


def said_by_users() -> list[str]:
    events = []
    for path in find_transcripts(str(EXAMPLE)):
        with closing(open_transcript(path, "auto")) as source:
            events += list(source)
    turns = [event for event in events if isinstance(event, Event) and (event.kind, event.role) == ("turn", "user")]
    return [to_text(event.text) for event in turns]


def test_on_the_example_all_that_is_taken_is_right_and_two_fifths_of_what_is_there_is_taken() -> None:
    turns = said_by_users()
    taken = [turn for turn in turns if directive_start(turn) is not None]
    labels = {label: [turn for turn in turns if label in turn] for label in LABELLED}
    assert {label: len(found) for label, found in labels.items() if len(found) != 1} == {}
    assert sorted(taken) == sorted(labels[label][0] for label, is_taken in LABELLED.items() if is_taken)
    assert len(turns) == 65
    assert (len(taken), len(LABELLED)) == (8, 20)


@pytest.mark.parametrize(
    ("text", "from_there"),
    [
        ("Always run the linter before you commit.", "Always"),
        ("ok, please never push to main", "ok"),
        ("From now on use tabs.", "From"),
        ("Thanks. Going forward, answer in German.", "Going"),
        ("We decided to keep SQLite.", "We"),
        ("Well, we've agreed on squash merges.", "Well"),
        ("We decided: tabs, not spaces.", "We"),
        ("ok, we've decided, tabs it is", "ok"),
        ("Remember that Bea has the only key.", "Remember"),
        ("remember: no emoji", "remember"),
        ("I prefer short functions.", "I"),
        ("I strongly prefer pytest over unittest", "I"),
        ("You should always read the log first.", "You"),
        ("We never ship on a Friday.", "We"),
        ("Our convention is snake case.", "Our"),
        ("Rule: one idea a file.", "Rule"),
        ("Stop adding comments that say nothing.", "Stop"),
        ("Don't ever commit the key.", "Don't"),
        ("Look at this:\n```\nassert x\n```\nFrom now on tests come first.", "From"),
    ],
)
def test_what_states_something_standing_is_taken_from_the_sentence_that_does(text: str, from_there: str) -> None:
    assert directive_start(text) == text.index(from_there)


@pytest.mark.parametrize(
    "text",
    [
        "Should we always run the linter?",
        "Do you remember that bug?",
        "I remember that we had a test for this.",
        "never mind",
        "It never worked.",
        "That has always been so.",
        "Never heard of it.",
        "If we decided to move, what would break?",
        "When we decided, nobody had measured it.",
        "That is what they said we decided, I think.",
        "What did we decide about the database?",
        "Maybe we should always retry.",
        "It says the link is always used already.",
        "> always use tabs",
        "```\n# never do this\nnever use mocks\n```",
        "the docs say `always: true`",
        "docs/decisions.md has the house rules.",
        "I'd prefer that for now, but do as you like, is that fine?",
        "run the tests",
        "",
        "x" * MAX_STATEMENT_CHARS + " from now on use tabs.",
    ],
)
def test_what_only_sounds_like_it_is_not_taken(text: str) -> None:
    assert directive_start(text) is None


@given(
    st.lists(
        st.sampled_from(["always", "use", "never", "we", "decided", "to", "from now on", ".", "?", "\n", "rule:", "a"])
    ).map(" ".join)
)
def test_whatever_is_taken_holds_one_of_the_words_by_which_it_is_looked_up(text: str) -> None:
    if directive_start(text) is not None:
        assert holds_cue(text)


@pytest.mark.parametrize("text", ["every alwaysland", "prerule", "", "rule " * MAX_STATEMENT_CHARS])
def test_what_holds_none_of_them_or_is_too_long_is_not_looked_up(text: str) -> None:
    assert not holds_cue(text)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Done. Shall I push it?", "Shall I push it?"),
        ("Two ways:\n- one\n- two\n\n**Which of them should stay?**", "Which of them should stay?**"),
        ("Shall I? I will.", None),
        ("`really?`", None),
        ("", None),
    ],
)
def test_a_question_counts_where_a_text_ends_with_it(text: str, question: str | None) -> None:
    found = final_question(text)
    assert (found or "").removeprefix("**") == (question or "")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("All green. TODO: the migration.", ["TODO: the migration."]),
        (
            "It works. One loose end: the backup. Next steps: ship it.",
            ["One loose end: the backup.", "Next steps: ship it."],
        ),
        ("Still to write: the docs", ["Still to write: the docs"]),
        ("- [ ] not yet tested\n- [x] done", ["[ ] not yet tested"]),
        ("Please look tomorrow that a file is there.", ["Please look tomorrow that a file is there."]),
        ("We'll we'll see" + " and see" * 90 + " later on.", ["We'll we'll see" + " and see" * 90 + " later on."]),
        ("It is for later on, so please look.", []),
        ("By tomorrow evening all of them are on the new rule.", []),
        ("Open: the docs.", ["Open: the docs."]),
        ("right, still open for us: the docs", ["right, still open for us: the docs"]),
        ("What's left is the Dutch text.", ["What's left is the Dutch text."]),
        ("ok map tomorrow then", ["ok map tomorrow then"]),
        ("several cards (families!) is for summer, not begun", ["is for summer, not begun"]),
        ("stopping here, the role is half done.", ["stopping here, the role is half done."]),
        ("I got as far as a failing test.", ["I got as far as a failing test."]),
        ("The mapping isn't changed yet.", ["The mapping isn't changed yet."]),
        ("The bus stops at the pier.", []),
        ("He cranked the roof open by hand at 15:05.", []),
        ("More room for the winter squad.", []),
        ("Everything is done.", []),
        ("```\n# TODO: nothing of yours\n```", []),
    ],
)
def test_what_is_left_to_do_is_found_by_what_says_so(text: str, left: list[str]) -> None:
    assert [sentence for _, sentence in plain_sentences(text) if is_open(sentence)] == left
