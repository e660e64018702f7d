"""Every question of the conversations in other languages is asked of a real mind; none is answered worse than it was.

Words alone, in one mind of all languages, each asked in its own scope; and the whole, with the model that ships, which
was trained on English.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

import mnemic
from mnemic.actors.recall.messages import SignalName
from mnemic.bench.harness.metrics import reciprocal_rank
from mnemic.bench.quality.question_sets import languages_set
from tests.paths import ROOT
from tests.processes.faces import run

SET = languages_set(ROOT / "tests/fixtures/languages")
WORDS: tuple[SignalName, ...] = ("lexical", "session")
BY_WORDS = {"de": 0.68, "es": 0.90, "fr": 0.93, "ja": 0.94, "pt": 0.88, "th": 0.99, "zh": 0.99}
"""Mean reciprocal rank of the turn that answers, no less; what a better recall adds is written here."""
BY_ALL = {"de": 0.72, "es": 0.86, "fr": 0.94, "ja": 0.93, "pt": 0.85, "th": 0.77, "zh": 0.99}
"""The same of all signals together."""
BY_DAY = 0.8
"""The same of questions that name a day, by words and days, in the four languages with a table of days."""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds all conversations, with their meaning."""
    folder = tmp_path_factory.mktemp("languages")
    file = folder / "turns.jsonl"
    file.write_text("".join(json.dumps(turn) + "\n" for turn in SET.turns), "utf-8")
    (folder / "home").mkdir()
    assert run("capture", file, "--home", folder / "home").code == 0
    return folder / "home"


def ranks(home: Path, signals: tuple[SignalName, ...], kind: str = "") -> dict[str, float]:
    """By language, the mean reciprocal rank of the questions of a kind, or of all."""
    found = defaultdict(list)
    with mnemic.open(home) as mind:
        for one in SET.questions:
            if one.kind.startswith(kind):
                recalled = mind.recall(one.question, 20, scope=one.scope, signals=signals, observe=False)
                assert recalled.degraded == ()
                found[one.part].append(reciprocal_rank([hit.source_id for hit in recalled.hits], one.answers))
    return {code: sum(each) / len(each) for code, each in found.items()}


@pytest.mark.parametrize(
    ("signals", "floors"),
    [(WORDS, BY_WORDS), (("dense", *WORDS, "structural"), BY_ALL)],
    ids=["words", "all"],
)
def test_no_language_is_answered_worse_than_it_was(
    captured: Path, tmp_path: Path, signals: tuple[SignalName, ...], floors: dict[str, float]
) -> None:
    home = Path(shutil.copytree(captured, tmp_path / "home"))
    found = ranks(home, signals)
    assert found.keys() == floors.keys()
    assert {code: mean for code, mean in found.items() if mean < floors[code]} == {}


def test_a_day_that_a_question_names_counts_in_its_language(captured: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(captured, tmp_path / "home"))
    without, found = ranks(home, WORDS, "days"), ranks(home, (*WORDS, "structural"), "days")
    assert found.keys() == {"de", "es", "fr", "pt"}
    assert sum(found.values()) / 4 >= BY_DAY > sum(without.values()) / 4
