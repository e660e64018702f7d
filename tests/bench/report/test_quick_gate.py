"""The quick gate holds ratios to those of earlier runs, and to how far apart these were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.report import gate_bench, quick_gate
from mnemic.bench.report.quick_gate import KINDS, Reference, compare, limit, read_reference, write_reference
from tests.paths import ROOT

RUN = {"recall by FTS5": 6.0, "capture by the encoder alone": 2.0, "on disk": 5000.0, "quality": 0.6}


def reference(**runs: tuple[float, ...]) -> Reference:
    return Reference("a machine", "abc", {name: runs.get(name, (value,)) for name, value in RUN.items()})


def states(then: Reference, now: dict[str, float]) -> dict[str, str]:
    return {row["what"]: row["state"] for row in compare(then, now)}


def test_a_run_is_as_good_as_itself() -> None:
    assert states(reference(), RUN) == dict.fromkeys(RUN, "ok")


@pytest.mark.parametrize("name", KINDS)
def test_what_is_worse_than_its_limit_is_lost(name: str) -> None:
    worst, step = limit(name, (RUN[name],)), 0.001 if KINDS[name].better == "less" else -0.001
    assert states(reference(), RUN | {name: worst})[name] == "ok"
    lost = states(reference(), RUN | {name: worst + step})
    assert [one for one, state in lost.items() if state == "failed"] == [name]


def test_runs_that_lie_apart_allow_as_much_beyond_the_worst_of_them() -> None:
    assert limit("recall by FTS5", (5.0, 7.0)) == 9.0
    assert limit("quality", (0.60, 0.62)) == pytest.approx(0.58)


def test_a_figure_that_was_not_measured_then_is_told() -> None:
    assert states(Reference("a machine", "abc", {}), RUN) == dict.fromkeys(RUN, "not compared")


def test_runs_of_one_machine_and_code_are_kept_together_the_last_five(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "docs" / "gate.json"
    monkeypatch.setattr(quick_gate, "commit", lambda: "abc")
    for number in range(7):
        write_reference(path, {"quality": 0.1 * number})
    assert read_reference(path).runs == {"quality": (0.2, 0.3, 0.4, 0.5, 0.6)}
    monkeypatch.setattr(quick_gate, "commit", lambda: "def")
    write_reference(path, {"quality": 0.7})
    assert (read_reference(path).commit, read_reference(path).runs) == ("def", {"quality": (0.7,)})


def gate(monkeypatch: pytest.MonkeyPatch, into: Path, *measured: dict[str, float], **options: Any) -> list[Any]:
    turns = iter(measured)
    monkeypatch.setattr(quick_gate, "measure", lambda developers: next(turns))
    found = list(gate_bench.run(quick=True, developers=into, into=into, **options))
    assert next(turns, None) is None, "it measures no more often"
    return [row.get("state") for row in found]


def test_a_loss_is_one_where_it_is_measured_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate(monkeypatch, tmp_path, RUN, write=True)
    slow = RUN | {"recall by FTS5": 9.0}
    assert "failed" not in gate(monkeypatch, tmp_path, RUN)
    assert "failed" not in gate(monkeypatch, tmp_path, slow, RUN)
    assert "failed" in gate(monkeypatch, tmp_path, slow, slow)


def test_without_a_reference_or_conversations_it_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gate\.json is missing: `python -m mnemic\.bench gate --quick --write`"):
        list(gate_bench.run(quick=True, developers=tmp_path, into=tmp_path))
    with pytest.raises(ValueError, match="give --quick and --developers FOLDER"):
        list(gate_bench.run(quick=True, into=tmp_path))
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "gate.json").write_text("{}")
    with pytest.raises(ValueError, match="is no reference of the quick gate"):
        list(gate_bench.run(quick=True, developers=tmp_path, into=tmp_path))


def test_what_the_project_is_held_to_names_its_machine_and_all_figures() -> None:
    kept = read_reference(ROOT / "docs" / "benchmarks" / "gate.json")
    assert kept.machine
    assert kept.runs.keys() == KINDS.keys()
