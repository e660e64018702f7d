"""The next step and what helps are told from what lay before each moment, and beside other ways."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.shape.here import LEVELS, hint_rows, mend_rows, next_rows
from tests.paths import ROOT

FAILURES = ROOT / "tests" / "fixtures" / "failures"
FAMILIES = ("missing-dependency", "push-rejected", "outside-repository")


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A home, and the part of the labelled failures that it holds."""
    folder, home = tmp_path_factory.mktemp("failures"), tmp_path_factory.mktemp("here") / "home"
    labels = [one for one in json.loads((FAILURES / "labels.json").read_text("utf-8")) if one["family"] in FAMILIES]
    (folder / "labels.json").write_text(json.dumps(labels), "utf-8")
    (folder / "sessions").mkdir()
    for path in (FAILURES / "sessions").glob("*.jsonl"):
        if any(one["session"] in path.read_text("utf-8") for one in labels):
            shutil.copy(path, folder / "sessions")
    home.mkdir(mode=0o700)
    run_mnemic(home, "capture", folder / "sessions")
    return home, folder


def test_the_next_step_is_told_by_each_way(captured: tuple[Path, Path]) -> None:
    rows = list(next_rows(captured[0], "failures"))
    assert [row["by"] for row in rows] == ["shape --here", "hypervectors", "Markov table", "most frequent"]
    assert len({row["steps"] for row in rows}) == 1
    assert all(0 <= row["right"] <= 1 and 0 <= row["told"] <= 1 for row in rows)
    assert "p" not in rows[0]
    assert all(0 < row["p"] <= 1 for row in rows[1:])


def test_what_helped_before_is_of_the_kind_that_helps(captured: tuple[Path, Path]) -> None:
    home, folder = captured
    rows = {(row["half"], row["by"], row["level"]): row for row in mend_rows(home, folder)}
    assert len(rows) == 3 * 4 * len(LEVELS)
    labels = json.loads((folder / "labels.json").read_text("utf-8"))
    every = rows["all", "shape --here", 0.0]
    assert (
        every["failures"]
        == len(labels)
        == rows["a", "shape --here", 0.0]["failures"] + rows["b", "shape --here", 0.0]["failures"]
    )
    sure = rows["all", "shape --here", 0.5]
    assert sure["told"] >= 3
    assert sure["precision"] == 1.0  # three kinds that say what they are
    assert sure["low"] < 1.0
    assert sure["told"] <= every["told"]


def test_a_hint_is_short_and_a_label_without_its_call_is_named(captured: tuple[Path, Path], tmp_path: Path) -> None:
    home, folder = captured
    with actors_of(home) as actors:
        (row,) = hint_rows(home, folder, actors)
    assert 0 < row["tokens_most"] <= 120
    assert row["told"] > 0
    shutil.copytree(folder, tmp_path / "other")
    wrong = [{"session": "s", "failure": "toolu_none", "family": "f", "half": "a", "fix": [], "precedent": False}]
    (tmp_path / "other" / "labels.json").write_text(json.dumps(wrong), "utf-8")
    with pytest.raises(ValueError, match="no call that was captured is toolu_none"):
        list(mend_rows(home, tmp_path / "other"))
