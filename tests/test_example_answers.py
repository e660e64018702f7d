"""Every question of the example is asked, with the model that ships, and no kind is answered worse than it was."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.events import DEFAULT_KINDS
from mnemic.actors.kernel.times import UTC_ZONE, parse_time
from mnemic.bench.harness.metrics import reciprocal_rank
from tests.processes.faces import EXAMPLE, Outcome

QUESTIONS: list[dict[str, Any]] = json.loads((EXAMPLE / "questions.json").read_text("utf-8"))
K = 10
FIRST_RIGHT = {"meaning": 7, "words": 7, "changed": 2, "time": 3}
"""Questions, by kind, whose first hit is the answer; what a better recall adds is written here."""
MEAN_RECIPROCAL_RANK = {"meaning": 0.77, "words": 0.83, "changed": 0.6, "time": 0.79}


@pytest.fixture(scope="module")
def rankings(
    captured_example: tuple[Path, Outcome], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[list[bool]]]:
    """By kind, for each question, which of its hits are the answer."""
    home = Path(shutil.copytree(captured_example[0], tmp_path_factory.mktemp("asked") / "home"))
    found = defaultdict(list)
    with mnemic.open(home) as mind:
        for one in QUESTIONS:
            window = {name: parse_time(one[name], UTC_ZONE) for name in ("since", "until") if name in one}
            recalled = mind.recall(one["question"], K, kinds=one.get("kinds", DEFAULT_KINDS), observe=False, **window)
            assert recalled.degraded == ()
            found[one["kind"]].append(
                [hit.session == one["answer_session"] and one["answer_contains"] in hit.text for hit in recalled.hits]
            )
    return found


def test_every_question_is_asked(rankings: dict[str, list[list[bool]]]) -> None:
    assert sum(map(len, rankings.values())) == len(QUESTIONS) == 31
    assert rankings.keys() == FIRST_RIGHT.keys() == MEAN_RECIPROCAL_RANK.keys()


@pytest.mark.parametrize("kind", FIRST_RIGHT)
def test_no_kind_of_question_is_answered_worse_than_it_was(rankings: dict[str, list[list[bool]]], kind: str) -> None:
    first = sum(ranking[:1] == [True] for ranking in rankings[kind])
    mean = sum(reciprocal_rank(ranking, {True}) for ranking in rankings[kind]) / len(rankings[kind])
    assert (first >= FIRST_RIGHT[kind], mean >= MEAN_RECIPROCAL_RANK[kind]) == (True, True), (first, mean)


def test_what_corrects_stands_above_all_that_it_stands_for(
    captured_example: tuple[Path, Outcome], tmp_path: Path
) -> None:
    home = Path(shutil.copytree(captured_example[0], tmp_path / "home"))
    with mnemic.open(home) as mind:
        question = "How long does the session token last?"
        old = next(hit for hit in mind.recall(question, K, observe=False).hits if "30 minutes of idling" in hit.text)
        mind.remember("The session token lasts 10 minutes from today.", supersedes=old.id, scope="slipway")
        hits = mind.recall(question, K, observe=False).hits
    assert "10 minutes" in hits[0].text
    assert hits[1].id == old.id
