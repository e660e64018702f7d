"""Labelled conversations of developers are well formed, and asked both in one mind and each in its own scope."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.quality.developers_bench import RULES, read_project, run

DATA = Path(__file__).parents[2] / "fixtures/developers"


def project(**changed: Any) -> dict[str, Any]:
    turns = [
        {"id": "a-1", "at": "2026-03-02T09:00:00Z", "role": "user", "kind": "turn", "text": "The lantern is copper."},
        {"id": "a-2", "at": "2026-03-02T09:01:00Z", "role": "assistant", "kind": "turn", "text": "The pier is closed."},
    ]
    asked = {"question": "Is the pier open?", "kind": "words", "answers": ["a-2"], "held": False, "note": "it says so"}
    whole = {"project": "a", "sessions": [{"id": "a-s", "assistant": "codex", "turns": turns}], "questions": [asked]}
    return whole | changed


def test_the_labelled_questions_name_turns_and_a_third_is_held() -> None:
    asked = [one for path in sorted(DATA.glob("*.json")) for one in read_project(path)[1]]
    assert Counter(one.project for one in asked) == dict.fromkeys(("atlas", "choir", "ferry", "greenhouse"), 38)
    assert Counter(one.held for one in asked) == {False: 104, True: 48}
    kinds = Counter(one.kind for one in asked)
    assert kinds == {"meaning": 56, "words": 24, "path": 20, "day": 16, "negation": 16, "change": 12, "two-hop": 8}
    assert len({(one.project, one.question) for one in asked}) == len(asked)


def test_each_rule_is_asked_pooled_and_in_the_projects_own_scope(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(project()))
    rows = list(run(data=tmp_path))
    for what in ("quality, pooled", "quality, own scope"):
        of_it = {row["rule"]: row for row in rows if row["what"] == what}
        assert of_it.keys() == RULES.keys()
        assert (of_it["words only"]["questions"], of_it["words only"]["mrr"]) == (1, 1.0)
        assert {"fused_minus_this_mrr", "p"} <= of_it["dense only"].keys()
        assert [row["kind"] for row in rows if row["what"] == f"{what}, by kind"] == ["words"]


@pytest.mark.parametrize(
    ("whole", "why"),
    [
        ({"project": "a"}, "holds no conversations of developers: 'sessions'"),
        (project(questions=[{"question": "who?"}]), "holds no conversations of developers: Object missing"),
        (
            project(questions=[project()["questions"][0] | {"answers": ["b-9"]}]),
            "the question 'Is the pier open?' names no turn that is there",
        ),
    ],
)
def test_what_is_no_such_data_is_refused(tmp_path: Path, whole: Any, why: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=re.escape(why)):
        list(run(data=tmp_path))
    (tmp_path / "a.json").unlink()
    with pytest.raises(ValueError, match="asks nothing that can be measured"):
        list(run(data=tmp_path))
