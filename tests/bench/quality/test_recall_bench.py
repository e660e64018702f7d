"""Labelled questions are well formed; each set is asked in its own scopes and among all; scores are tried for truth."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemic.bench.quality.asking import RULES
from mnemic.bench.quality.question_sets import (
    LabelledQuestion,
    QuestionSet,
    changes_set,
    developers_set,
    languages_set,
)
from mnemic.bench.quality.recall_bench import auroc, calibration_error, mind_rows, run

DATA = Path(__file__).parents[2] / "fixtures/developers"
LANGUAGES = DATA.parent / "languages"


def project(**changed: Any) -> dict[str, Any]:
    turns = [
        {"id": "a-1", "at": "2026-03-02T09:00:00Z", "role": "user", "kind": "turn", "text": "The lantern is copper."},
        {"id": "a-2", "at": "2026-03-02T09:01:00Z", "role": "assistant", "kind": "turn", "text": "The pier is closed."},
    ]
    asked = {"question": "Is the pier open?", "kind": "words", "answers": ["a-2"], "held": False, "note": "it says so"}
    whole = {"project": "a", "sessions": [{"id": "a-s", "assistant": "codex", "turns": turns}], "questions": [asked]}
    return whole | changed


def another(name: str) -> dict[str, Any]:
    """The same project under another name, about something else."""
    written = (
        json.dumps(project())
        .replace('"a"', f'"{name}"')
        .replace('"a-', f'"{name}-')
        .replace("pier", "kiln")
        .replace("lantern", "violin")
    )
    return dict(json.loads(written))


def talk() -> list[dict[str, Any]]:
    """A file of LoCoMo's form, with one conversation."""
    turns = [{"speaker": "Ann", "dia_id": f"D1:{number}", "text": f"We talked of tea, {number}."} for number in (1, 2)]
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1": turns,
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    }
    asked = {"question": "What did Ann talk of?", "evidence": ["D1:1"], "category": 4}
    return [{"sample_id": "conv-1", "conversation": conversation, "qa": [asked]}]


def worlds() -> dict[str, Any]:
    """A file of quiet changes, with two worlds."""

    def world(name: str, half: str) -> dict[str, Any]:
        label = {"attribute": "lead", "subject": "gridlock"}
        said = {"role": "user", "said_at": "2024-02-04T14:45:02Z", "text": "Samira leads gridlock", "label": label}
        asked = [
            {"kind": kind, "question": "who leads gridlock?", "attribute": "lead", "subject": "gridlock"}
            for kind in ("now", "before")
        ]
        statements = [said | {"id": f"{name}/0", "session": f"{name}/day-1"}]
        return {"world": name, "half": half, "dense": False, "statements": statements, "questions": asked}

    return {"worlds": [world("a0", "a"), world("b0", "b")]}


def test_the_labelled_questions_name_turns_and_a_third_is_held() -> None:
    sets = {held: developers_set(DATA, held) for held in (False, True)}
    assert {held: len(of.questions) for held, of in sets.items()} == {False: 104, True: 48}
    asked = [one for of in sets.values() for one in of.questions]
    assert Counter(one.part for one in asked) == dict.fromkeys(("atlas", "choir", "ferry", "greenhouse"), 38)
    kinds = Counter(one.kind for one in asked)
    assert kinds == {"meaning": 56, "words": 24, "path": 20, "day": 16, "negation": 16, "change": 12, "two-hop": 8}
    assert len({(one.part, one.question) for one in asked}) == len(asked)


def test_a_scope_in_which_a_question_is_not_answered_is_of_another_part() -> None:
    of: QuestionSet = developers_set(DATA, held=False)
    elsewhere = of.elsewhere()
    assert len(elsewhere) == 4
    assert all(here != there for here, there in elsewhere.items())


def test_every_statement_about_what_is_asked_counts_and_chatter_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "locomo.json").write_text(json.dumps(talk()))
    (tmp_path / "changes.json").write_text(json.dumps(worlds()))
    of = changes_set(tmp_path / "changes.json", tmp_path / "locomo.json")
    assert [(one.scope, one.part, one.answers) for one in of.questions] == [
        ("changes/a0", "half a", {"changes/a0/a0/0"}),
        ("changes/b0", "half b", {"changes/b0/b0/0"}),
    ]
    assert Counter(turn["scope"] for turn in of.turns) == {"changes/a0": 3, "changes/b0": 3}
    assert of.elsewhere() == {"changes/a0": "changes/b0", "changes/b0": "changes/a0"}


def test_all_sets_are_asked_by_every_rule_in_their_scopes_and_among_all(tmp_path: Path) -> None:
    for name, whole in (("a", project()), ("b", another("b"))):
        (tmp_path / f"{name}.json").write_text(json.dumps(whole))
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "locomo.json").write_text(json.dumps(talk()))
    (tmp_path / "sets" / "changes.json").write_text(json.dumps(worlds()))
    files = {"locomo": tmp_path / "sets" / "locomo.json", "changes": tmp_path / "sets" / "changes.json"}
    rows = list(run(developers=tmp_path, **files))
    quality = [row for row in rows if row["what"] == "quality" and not {"kind", "part", "mind", "minds"} & row.keys()]
    places = {("locomo", "own scope"), ("locomo", "locomo"), ("locomo", "*"), ("changes", "own scope")}
    places |= {("developers", "own scope"), ("developers", "developers"), ("developers", "*")}
    assert Counter((row["set"], row["where"]) for row in quality) == dict.fromkeys(places, len(RULES))
    words = [row for row in quality if row["rule"] == "words alone"]
    assert all((row["mrr"], row["any@1"]) == (1.0, 1.0) for row in words)
    assert all({"fused_minus_this_mrr", "p"} <= row.keys() for row in words)
    minds = [row for row in rows if {"mind", "minds"} & row.keys()]
    assert [(row["set"], row.get("mind"), row["behind_any@1"]) for row in minds] == [
        ("changes", "changes/a0", 0.0),
        ("changes", "changes/b0", 0.0),
        ("changes", None, 0.0),
    ]
    assert minds[-1]["met"]
    foreign = {row["set"]: row for row in rows if row["what"] == "nothing fits"}
    assert foreign.keys() == {"developers", "changes"}  # there is but one conversation in the third
    assert foreign["developers"]["auroc"] == 1.0
    assert foreign["changes"]["auroc"] == 0.5  # both worlds say the same
    assert sum(row["hits"] for row in rows if row["what"] == "reliability" and row["set"] == "developers") == 8


@pytest.mark.parametrize(
    ("wrong", "behind", "met"), [(0, -0.02, True), (1, 0.0, True), (2, 0.02, True), (3, 0.04, False)]
)
def test_the_mind_that_lies_furthest_behind_the_cosine_decides(wrong: int, behind: float, met: bool) -> None:
    asked = [
        LabelledQuestion(question="?", kind="now", answers=frozenset(), scope=scope, part="half a")
        for scope in 50 * ["m/1"] + 50 * ["m/2"]
    ]
    right, missed = {"any@1": 1.0}, {"any@1": 0.0}
    cosine = [missed] + 49 * [right] + 25 * [missed] + 25 * [right]
    fused = wrong * [missed] + (50 - wrong) * [right] + 50 * [right]
    first, second, summary = mind_rows({"set": "m"}, asked, {"fused": fused, "meaning alone": cosine})
    assert (first["mind"], first["behind_any@1"]) == ("m/1", pytest.approx(behind))
    assert (first["won"], first["lost"]) == ((1, 0) if not wrong else (0, wrong - 1))
    assert (second["mind"], second["behind_any@1"]) == ("m/2", -0.5)
    assert (summary["worst"], summary["minds"], summary["met"]) == ("m/1", 2, met)


def test_it_is_how_often_one_of_the_first_kind_is_above_one_of_the_second() -> None:
    assert auroc([0.9, 0.5], [0.1, 0.5]) == (1 + 1 + 1 + 0.5) / 4
    assert auroc([0.1], [0.2]) == 0.0


def test_what_is_told_as_often_as_it_is_right_has_no_error() -> None:
    assert calibration_error(np.array([0.25] * 4), np.array([1.0, 0, 0, 0])) == 0.0
    assert calibration_error(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0


@pytest.mark.parametrize(
    ("whole", "why"),
    [
        ({"project": "a"}, "holds no conversations: 'sessions'"),
        (
            project(questions=[{"held": False, "question": "who?"}]),
            "holds no conversations: Object missing",
        ),
        (
            project(questions=[project()["questions"][0] | {"answers": ["b-9"]}]),
            "the question 'Is the pier open?' names no turn that is there",
        ),
    ],
)
def test_what_is_no_such_data_is_refused(tmp_path: Path, whole: Any, why: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=re.escape(why)):
        list(run(developers=tmp_path))
    (tmp_path / "a.json").unlink()
    with pytest.raises(ValueError, match="nothing that can be asked is named"):
        list(run(developers=tmp_path))


def test_questions_in_other_languages_are_well_formed_and_asked_in_a_home_of_their_own(tmp_path: Path) -> None:
    whole = languages_set(LANGUAGES)
    assert Counter(one.part for one in whole.questions) == dict.fromkeys(("de", "es", "fr", "pt"), 30) | dict.fromkeys(
        ("ja", "th", "zh"), 10
    )
    assert len({(one.part, one.question) for one in whole.questions}) == len(whole.questions)
    one = {name: value for name, value in project().items() if name != "project"} | {"language": "en"}
    (tmp_path / "en.json").write_text(json.dumps(one))
    rows = [row for row in run(languages=tmp_path) if row["what"] == "quality"]
    assert {(row["set"], row["where"]) for row in rows} == {("languages", "own scope")}
    assert {row["rule"] for row in rows} == RULES.keys()


def test_chatter_and_conversations_of_growing_minds_have_to_come_from_somewhere(tmp_path: Path) -> None:
    (tmp_path / "changes.json").write_text(json.dumps(worlds()))
    with pytest.raises(ValueError, match="name a file of LoCoMo's as well"):
        list(run(changes=tmp_path / "changes.json"))
    with pytest.raises(ValueError, match="name a file of them"):
        list(run(sizes=(10,)))
    with pytest.raises(ValueError, match="a plot is of sizes"):
        list(run(changes=tmp_path / "changes.json", plot=tmp_path / "plot.svg"))
