"""A question is told by how it begins, and what somebody says is in what follows."""

from __future__ import annotations

import pytest

from mnemic.algorithms.knowledge.extraction.clause_parts import parts
from mnemic.algorithms.knowledge.extraction.clauses import Reading
from mnemic.algorithms.knowledge.extraction.questions_and_reports import asks_for_unnamed, is_inverted
from mnemic.algorithms.knowledge.extraction.sentence_reader import read_sentence
from mnemic.algorithms.knowledge.extraction.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where does it live", True),
        ("which port is it", True),
        ("what is that", True),
        ("what if it rains?", False),
        ("when it rains we stay", False),
        ("it rains?", False),
    ],
)
def test_a_question_word_asks_for_what_is_not_named(text: str, expected: bool) -> None:
    assert asks_for_unnamed(next(sentences(text)), 0) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("does the tram stop", True),
        ("is Anna here", True),
        ("is lunch at noon today", True),
        ("is great", False),
        ("do that now", False),
        ("do you smoke", True),
        ("have a look", False),
        ("have you seen it", True),
        ("is", False),
    ],
)
def test_an_auxiliary_before_its_subject_asks(text: str, expected: bool) -> None:
    one = next(sentences(text))
    assert is_inverted(Reading(one), parts(one)[0], 0) is expected


@pytest.mark.parametrize(
    ("text", "forced"),
    [
        ("Tom says the shop is shut", ["quoted"]),
        ("Tom thinks the shop is shut", ["quoted"]),
        ("I think the shop is shut", [None]),
        ("I hope the shop is shut", ["wished"]),
        ("I wonder if the shop is shut", ["asked"]),
        ("I doubt that the shop is shut", ["hypothetical"]),
        ("I heard that the shop is shut", ["quoted"]),
        ("It turns out the shop is shut", [None]),
        ("Rumour has it that the shop is shut", ["quoted"]),
        ("The shop is shut, says Tom", ["quoted"]),
    ],
)
def test_what_is_said_or_thought_has_the_status_of_that(text: str, forced: list[str | None]) -> None:
    found = [one for one in read_sentence(next(sentences(text))).clauses if one.drafts]
    assert [one.forced for one in found] == forced
    assert [draft.relation for one in found for draft in one.drafts] == ["be"]
