"""A whole run writes the page, its plots, the run and a line of history; a second one adds to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mnemic.bench.harness.figures import OURS, Figure, finished
from mnemic.bench.report import all_bench
from mnemic.bench.report.all_bench import FOLDER, PAGE, run
from mnemic.bench.report.gate_bench import run as gate
from tests.bench.quality.test_longmemeval import entry, write_longmemeval
from tests.bench.test_main import MADE_UP
from tests.paths import FIXTURES


def measured(quick: bool) -> list[Figure]:
    both = [
        Figure(part="latency", what="find, 9 memories", of=of, unit="ms", better="less", values=(3.0, 4.0))
        for of in (OURS, "other")
    ]
    return finished(both, "quick" if quick else "full", "a machine")


def test_the_page_tells_the_last_full_run_and_the_history_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_bench, "measure", lambda plan, parts, rounds: measured(plan.quick))
    for quick, told in ((True, "quick"), (False, "full"), (True, "full")):
        rows = list(run(quick=quick, into=tmp_path / "docs"))
        assert rows[1] == {
            "part": "latency",
            "what": "find, 9 memories",
            "of": "other",
            "value": 3.5,
            "unit": "ms",
            "n": 1,
            "low": 3.0,
            "high": 4.0,
            "mnemic_by_this": 1.0,
            "by_this_low": 1.0,
            "by_this_high": 1.0,
        }
        page = (tmp_path / "docs" / PAGE).read_text("utf-8")
        assert f"| {told} | 1 |" in page
        assert f"]({FOLDER}/history.svg)" in page
    kept = tmp_path / "docs" / FOLDER
    assert len((kept / "history.jsonl").read_text("utf-8").splitlines()) == 3
    assert {path.name for path in kept.iterdir()} == {"full.json", "quick.json", "history.jsonl", "history.svg"}


def test_what_could_not_be_kept_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_bench, "measure", lambda *given: pytest.fail("it measured"))
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "quick.json").write_text("{}", "utf-8")
    with pytest.raises(ValueError, match="is no stored run"):
        list(run(quick=True, into=tmp_path))


def test_peers_are_found_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_MEM0", "/nowhere/python")
    plan, versions = all_bench.with_peers(all_bench.Plan(quick=True), None, None)
    assert (versions, plan.peers) == ({}, {})
    assert plan.missing["mem0"] == "/nowhere/python cannot be started: No such file or directory"


@pytest.mark.system
def test_a_small_run_measures_both_data_sets_and_its_own_gate_passes(tmp_path: Path) -> None:
    (tmp_path / "made up.json").write_text(json.dumps(MADE_UP), "utf-8")
    (tmp_path / "developers").mkdir()
    shutil.copy(FIXTURES / "developers" / "ferry.json", tmp_path / "developers")
    oracle = write_longmemeval(tmp_path / "oracle.json", entry("boat"), entry("violin"), entry("harp_abs"))
    given = {"locomo": tmp_path / "made up.json", "developers": tmp_path / "developers", "questions": 8}
    data = {"parts": ("quality",), "rounds": 1, "into": tmp_path, **given}
    rows = list(run(quick=True, longmemeval=(oracle,), **data))  # type: ignore[arg-type]
    assert not [row for row in rows if row.get("state") == "failed"]
    worth = {row["what"]: row["value"] for row in rows if row["of"] == OURS and row["what"].endswith(": MRR")}
    assert worth.keys() == {"LoCoMo: MRR", "Developers: MRR", "LongMemEval oracle: MRR"}
    assert worth["LoCoMo: MRR"] == worth["LongMemEval oracle: MRR"] == 1.0
    judged = {row["state"] for row in gate(**data)}  # type: ignore[arg-type]
    assert judged == {"ok", "not compared"}, "sizes and rates of a single run are not"
