"""The gate lets pass what is as good as it was, within noise, and names what is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.harness.figures import OURS, Figure, finished, mean_figure
from mnemic.bench.report import gate_bench
from mnemic.bench.report.gate_bench import compare, run
from mnemic.bench.report.stored_run import store_run

SAME = [1.0, 0.5, 0.25, 1.0, 0.5, 1.0, 0.0, 1.0]
NAME = "latency: find, ms, other"


def quality(scores: Sequence[float], digest: str = "d") -> list[Figure]:
    about: dict[str, Any] = {"part": "quality", "what": "a set: MRR", "unit": "share", "parameters": {"digest": digest}}
    other = mean_figure([0.5] * len(scores), of="other", **about)
    return finished([mean_figure(scores, of=OURS, **about), other], "abc", "a machine")


def times(*ours: float, better: str = "less") -> list[Figure]:
    about: dict[str, Any] = {"part": "latency", "what": "find", "unit": "ms", "better": better}
    other = Figure(of="other", values=(1.0,) * len(ours), **about)
    return finished([Figure(of=OURS, values=ours, **about), other], "abc", "a machine")


def state(then: list[Figure], now: list[Figure]) -> str:
    (row,) = compare(then, now)
    return str(row["state"])


def test_a_run_is_as_good_as_itself() -> None:
    assert state(quality(SAME), quality(SAME)) == "ok"
    assert state(times(1.0, 2.0, 3.0), times(1.0, 2.0, 3.0)) == "ok"


def test_answers_that_are_worse_question_by_question_are_a_loss_and_single_ones_are_not() -> None:
    (row,) = compare(quality(SAME), quality([score / 2 for score in SAME]))
    assert (row["part"], row["what"], row["state"]) == ("quality", "quality: a set: MRR, share, other", "failed")
    assert row["why"].startswith("less ahead than it was by ")
    assert state(quality(SAME), quality([0.0, *SAME[1:]])) == "ok"
    assert state(quality([score / 2 for score in SAME]), quality(SAME)) == "ok"


def test_other_questions_are_not_compared() -> None:
    assert state(quality(SAME), quality(SAME, "e")) == "not compared"
    assert state(quality(SAME), quality(SAME[:-1])) == "not compared"


def test_times_are_lost_where_every_run_is_slower_and_by_more_than_a_tenth() -> None:
    assert state(times(1.0, 1.1, 1.2), times(1.5, 1.6, 1.7)) == "failed"
    assert state(times(1.0, 1.1, 1.2), times(1.2, 1.6, 1.7)) == "ok", "one run was as fast"
    assert state(times(1.0, 1.01, 1.02), times(1.03, 1.04, 1.05)) == "ok", "less than a tenth"
    assert state(times(1.5, 1.6, 1.7), times(1.0, 1.1, 1.2)) == "ok"


def test_rates_are_lost_where_every_run_is_less() -> None:
    fast, slow = times(1.5, 1.6, 1.7, better="more"), times(1.0, 1.1, 1.2, better="more")
    assert (state(fast, slow), state(slow, fast)) == ("failed", "ok")


def test_two_runs_tell_no_spread_and_what_is_on_one_side_alone_is_told() -> None:
    assert state(times(1.0, 1.0), times(9.0, 9.0, 9.0)) == "not compared"
    assert [row["why"] for row in compare(times(1.0), [])] == ["it was not measured now"]
    assert [row["why"] for row in compare([], times(1.0))] == ["it was not measured then"]


def test_ours_by_what_takes_next_to_no_time_is_not_compared() -> None:
    def beside(other_ms: float, ours_ms: float) -> list[Figure]:
        about: dict[str, Any] = {"part": "latency", "what": "find", "unit": "ms, median", "better": "less"}
        other = Figure(of="other", values=(other_ms,) * 3, **about)
        return finished([Figure(of=OURS, values=(ours_ms,) * 3, **about), other], "abc", "a machine")

    assert state(beside(0.03, 7.0), beside(0.03, 9.0)) == "not compared"
    assert state(beside(0.6, 7.0), beside(0.6, 9.0)) == "failed"


def gate(monkeypatch: pytest.MonkeyPatch, folder: Path, *measured: list[Figure]) -> list[dict[str, Any]]:
    """Run it, measuring these in turn."""
    turns = iter(measured)
    monkeypatch.setattr(gate_bench, "measure", lambda plan, parts, rounds: next(turns))
    found = list(run(into=folder))
    assert next(turns, None) is None, "it measures no more often"
    return found


def test_a_loss_is_one_where_it_is_measured_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_run(tmp_path / gate_bench.FOLDER, times(1.0, 1.1, 1.2), True, {})
    slow, fast = times(2.0, 2.1, 2.2), times(1.0, 1.1, 1.2)
    assert [row["state"] for row in gate(monkeypatch, tmp_path, fast)] == ["ok"]
    assert [row["state"] for row in gate(monkeypatch, tmp_path, slow, fast)] == ["ok"]
    (row,) = gate(monkeypatch, tmp_path, slow, slow)
    assert (row["what"], row["state"], row["then"], row["now"]) == (NAME, "failed", 1.1, 2.1)


def test_a_part_that_broke_fails_beside_what_could_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_run(tmp_path / gate_bench.FOLDER, times(1.0, 1.1, 1.2), True, {})
    broken = Figure(part="sleep", what="all", of=OURS, unit="", state="failed", why="no model")
    rows = gate(monkeypatch, tmp_path, [*times(1.0, 1.1, 1.2), broken])
    assert [(row["state"], row.get("why")) for row in rows] == [("failed", "no model"), ("ok", None)]


def test_nothing_to_compare_with_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"no quick run is stored as .*quick\.json: run `python -m mnemic\.bench all"):
        list(run(into=tmp_path))
    store_run(tmp_path / gate_bench.FOLDER, times(1.0), True, {})
    with pytest.raises(ValueError, match="nothing of this run can be compared with"):
        gate(monkeypatch, tmp_path, quality(SAME))
