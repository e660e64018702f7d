"""The latency bench on a small mind: every row is there, and what it asks is found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mnemic.bench.harness.homes import fill_home
from mnemic.bench.speed import latency_bench
from mnemic.bench.speed.latency.mind import measure
from mnemic.bench.speed.latency_bench import Corpus, run
from tests.bench.test_main import MADE_UP
from tests.harness import BagEncoder

TURNS = ["the heron stands in the reeds", "two boats lie at the pier", "rain came in the night"]


@pytest.mark.system
def test_a_short_run_has_every_row_and_draws_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency_bench, "QUESTIONS", 6)
    monkeypatch.setattr(latency_bench, "WARM", 2)
    rows = list(run(memories=(60, 90), plot=tmp_path / "plot.svg"))
    for count in (60, 90):
        found = {row.get("of", row["what"]): row for row in rows if row["memories"] == count}
        assert list(found)[:6] == [
            "open",
            "recall",
            "resident memory",
            "recall, a day named",
            "baseline: the question's vector alone",
            "disk",
        ]
        assert sum(name.startswith("competitor: ") for name in found) == len(latency_bench.COMPETITORS)
        assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in found.values() if "p50_ms" in row)
        assert found["recall"]["n"] == 4
        assert found["disk"]["bound"]
        assert found["disk"]["bytes"] > 1536, "a vector alone takes as much"
    assert "mnemic, recall" in (tmp_path / "plot.svg").read_text("utf-8")


@pytest.mark.system
def test_locomos_turns_and_questions_are_taken_where_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "made up.json").write_text(json.dumps(MADE_UP), "utf-8")
    rows = {row["what"]: row for row in run(memories=(20,), data=tmp_path / "made up.json")}
    assert rows["recall"]["n"] == 1, "the others warm it up"


def test_later_turns_are_like_earlier_ones_and_none_comes_twice() -> None:
    texts = Corpus(0, BagEncoder(), TURNS).texts(12)
    assert texts[:3] == TURNS
    assert all(text.startswith(TURNS[number % 3]) for number, text in enumerate(texts))
    assert len(texts[5].split()) == len(TURNS[2].split()) + 2
    assert texts == Corpus(0, BagEncoder(), TURNS).texts(12)


def test_vectors_crowd_around_those_of_texts() -> None:
    encoder = BagEncoder()
    corpus = Corpus(0, encoder, TURNS)
    centres = np.concatenate([encoder.encode(encoder.windows(text, 1)[0]) for text in corpus.texts(3)])
    vectors = corpus.vectors(200, encoder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors @ centres.T).max(axis=1).mean() > 0.6


@pytest.mark.system
def test_a_question_that_is_not_wholly_answered_is_no_measure(tmp_path: Path) -> None:
    fill_home(tmp_path, 30, seed=0, encoder=None)
    with pytest.raises(ValueError, match="Words alone answered"):
        measure(tmp_path, ["what is it", "and this"], 1, kept=True)
