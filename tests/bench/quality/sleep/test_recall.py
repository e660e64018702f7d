"""The sleep bench's recalls: what is asked by day changes what is measured after nights, each compared with itself."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.bench.quality.facts.change_sets import ChangeQuestion, ChangeSet
from mnemic.bench.quality.question_sets import LabelledQuestion, QuestionSet
from mnemic.bench.quality.sleep import recall

THINGS = ("crane", "kettle", "ledger", "buoy", "lamp", "rope")
TURNS = [
    {
        "id": f"{thing}-{place}",
        "session": f"{thing} {place}",
        "scope": "made/one",
        "role": "user",
        "said_at": f"2026-05-0{number + 1}T10:00:00Z",
        "text": f"The {thing} stands in the {place} these days.",
    }
    for number, thing in enumerate(THINGS)
    for place in ("harbour", "attic")
]


def made_set() -> QuestionSet:
    questions = [
        LabelledQuestion(
            question=f"tell me of the {thing} {n}",
            kind="made",
            answers=frozenset({f"{thing}-attic"}),
            scope="made/one",
            part="one",
        )
        for thing in THINGS
        for n in range(2)
    ]
    return QuestionSet(name="made", turns=TURNS, questions=questions)


def test_each_arm_is_told_before_and_after_nights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "DAYS", 1)
    monkeypatch.setattr(recall, "_TOLD_AFTER", (0, 1))
    rows: list[dict[str, Any]] = list(recall.recall_rows([made_set()], {"changing": _changing()}, 0))
    told = [row for row in rows if row["set"] == "made" and "nights" in row]
    assert [(row["of"], row["nights"]) for row in told] == [
        (arm, nights) for nights in (0, 1) for arm in ("mnemic", "cosine, folded", "BM25")
    ]
    assert {row["questions"] for row in told} == {12}
    assert all(row["mrr_low"] <= row["mrr"] <= row["mrr_high"] for row in told)
    assert all("poison@1" not in row for row in told), "nothing is stale here"
    after = {row["of"]: row["mrr_minus_before"] for row in told if row["nights"] == 1}
    assert after["mnemic"] > 0, "what was used once is asked for once more"
    assert after["cosine, folded"] == after["BM25"] == 0
    assert all("poison@1" in row for row in rows if row["set"] == "changing" and "nights" in row)
    (changes,) = [row["changes"] for row in rows if row["set"] == "made" and "changes" in row]
    assert changes


def _changing() -> ChangeSet:
    slot, gold = ("made/one", "place", "crane"), frozenset({"crane-attic"})
    asked = ChangeQuestion("where is the crane", "now", gold, frozenset({"crane-harbour"}), frozenset(), slot, "x")
    return ChangeSet(TURNS[:4], {}, [asked] * 4)


def test_a_twentieth_is_said_again_and_answers_as_well() -> None:
    of = made_set()
    asked = [recall._Asked(one.question, one.scope, one.answers, frozenset()) for one in of.questions]
    turns, found = recall._with_copies(of, asked)
    (copy,) = [turn for turn in turns if turn["id"].endswith("/again")]
    assert copy["text"].strip() == "The crane stands in the harbour these days"
    assert found[0].gold == {"crane-attic"}
    again = recall._with_copies(of, [asked[0]._replace(gold=frozenset({"crane-harbour"}))])[1]
    assert again[0].gold == {"crane-harbour", "crane-harbour/again"}
