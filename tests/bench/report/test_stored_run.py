"""A run that is kept is read back as it was, other parts stay, and each run adds a line to the history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.harness.figures import OURS, Figure, finished, mean_figure
from mnemic.bench.report.stored_run import read_history, read_run, run_path, store_run

VERSIONS = {"python": "3.11"}


def figures(part: str, *ours: float, commit: str = "abc", **fields: Any) -> list[Figure]:
    """Ours at some values, and one beside it at 1."""
    about: dict[str, Any] = {"part": part, "what": "find", "unit": "ms", "better": "less"} | fields
    other = Figure(of="other", values=(1.0,) * len(ours), **about)
    return finished([Figure(of=OURS, values=ours, **about), other], commit, "a machine")


def test_a_run_is_read_back_as_it_was_a_figure_a_line(tmp_path: Path) -> None:
    kept = figures("latency", 1.0, 2.0)
    stored = store_run(tmp_path / "new", kept, True, VERSIONS)
    path = run_path(tmp_path / "new", True)
    assert read_run(path) == stored
    assert stored.figures == tuple(kept)
    assert len(path.read_text("utf-8").splitlines()) == len(kept) + 2


def test_a_run_of_one_part_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    store_run(tmp_path, figures("latency", 1.0) + figures("sleep", 2.0), False, VERSIONS)
    stored = store_run(tmp_path, figures("latency", 3.0, commit="def"), False, VERSIONS)
    assert {(one.part, one.commit) for one in stored.figures} == {("sleep", "abc"), ("latency", "def")}
    assert not run_path(tmp_path, True).exists(), "sizes are kept apart"


def test_scores_of_questions_are_kept_of_quick_runs_alone(tmp_path: Path) -> None:
    about: dict[str, Any] = {"part": "quality", "what": "a set: MRR", "unit": "share", "of": OURS}
    (one,) = finished([mean_figure([0.0, 1.0, 1.0], ["a", "b", "c"], **about)], "abc", "a machine")
    (quick,) = store_run(tmp_path, [one], True, VERSIONS).figures
    (full,) = store_run(tmp_path, [one], False, VERSIONS).figures
    assert (quick.scores, full.scores, full.groups) == ((0.0, 1.0, 1.0), (), ())
    assert full.interval == quick.interval is not None


def test_each_run_adds_a_line_with_its_ratios(tmp_path: Path) -> None:
    for value in (2.0, 3.0):
        store_run(tmp_path, figures("latency", value), value == 2.0, VERSIONS)
    first, second = read_history(tmp_path)
    assert (first.quick, second.quick, first.commit) == (True, False, "abc")
    assert first.ratios == {"latency: find, ms, other": (2.0, 2.0, 2.0)}
    assert read_history(tmp_path / "nowhere") == []


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "quick.json").write_text("{}", "utf-8")
    with pytest.raises(ValueError, match=r"quick\.json is no stored run: "):
        read_run(tmp_path / "quick.json")
    (tmp_path / "history.jsonl").write_text("no JSON\n", "utf-8")
    with pytest.raises(ValueError, match=r"history\.jsonl is no history: "):
        read_history(tmp_path)
