"""What is named ends where a time, another thing or a verb begins; a subject begins after what frames it."""

from __future__ import annotations

import pytest

from mnemic.algorithms.knowledge.extraction.noun_phrases import (
    PLACE_WORDS,
    is_clock,
    is_time,
    noun_end,
    skip_leading,
    skip_openers,
    subject,
)
from mnemic.algorithms.knowledge.extraction.sentences import sentences


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("view of the river", "view of the river"),
        ("bucket in eu-west-3 now", "bucket in eu-west-3"),
        ("pnpm in March", "pnpm"),
        ("Monday between 8 and 10", "monday between 8 and 10"),
        ("45 euros a month for power", "45 euros a month"),
        ("more than 100 requests", "more than 100 requests"),
        ("my mother's flat in Bremen", "my mother's flat in bremen"),
        ("balcony that faces south", "balcony that faces south"),
        ("pnpm one of these days", "pnpm"),
        ("tea every morning", "tea"),
        ("bike two years ago", "bike"),
        ("43 and a half", "43 and a half"),
        ("car the", "car"),
        ("of", ""),
    ],
)
def test_a_thing_ends_where_something_else_begins(text: str, named: str) -> None:
    one = next(sentences(text))
    assert " ".join(one.words[: noun_end(one, 0, len(one.words), PLACE_WORDS, 1)]) == named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            (one, True)
            for one in ("now", "every summer", "this week", "two years ago", "at the moment", "any more", "as well")
        ),
        *(
            (one, False)
            for one in ("this box", "every user", "two years", "at home", "the week", "too slow", "one box")
        ),
    ],
)
def test_words_of_time_are_known(text: str, expected: bool) -> None:
    one = next(sentences(text))
    assert is_time(one, 0, len(one.words)) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("March", True), ("3 May", True), ("1999", True), ("30", False), ("the box", False)]
)
def test_days_months_and_years_are_known(text: str, expected: bool) -> None:
    one = next(sentences(text))
    assert is_clock(one, 0, len(one.words)) is expected


@pytest.mark.parametrize(
    ("text", "verb", "expected"),
    [
        ("The tap in the bathroom drips", "drips", "the tap in the bathroom"),
        ("This week Anneliese covers it", "covers", "anneliese"),
        ("with heavy hearts we gave up", "gave", "we"),
        ("Since the flood the cellar smells", "smells", "the cellar"),
        ("Support no longer answers", "answers", "support"),
        ("Honestly, so I really run", "run", "i"),
        ("runs on it", "runs", ""),
        ("On Monday Aunt Gisela comes", "comes", "aunt gisela"),
    ],
)
def test_a_subject_begins_after_what_frames_it(text: str, verb: str, expected: str) -> None:
    one = next(sentences(text))
    first, last = subject(one, 0, one.words.index(verb))
    assert " ".join(one.words[first:last]) == expected


def test_what_says_nothing_is_passed() -> None:
    one = next(sentences("no, well, the only just right outside"))
    assert skip_openers(one, 0, len(one.words)) == 1
    one = next(sentences("not only the door"))
    assert skip_leading(one, 0, 4) == (3, True)
