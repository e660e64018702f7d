"""Parts are told in one form, those that break leave the others alone, and what is not there is told of."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.bench.harness.figures import OURS, Figure
from mnemic.bench.report import parts
from mnemic.bench.report.parts import Plan, measure, peers_there


def test_times_are_measured_in_each_round_and_a_part_that_breaks_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = iter(range(1, 9))

    def latency(plan: Plan, first: bool) -> Iterator[Figure]:
        yield Figure(part="latency", what="find", of=OURS, unit="ms", values=(float(next(rounds)),))

    def sleep(plan: Plan, first: bool) -> Iterator[Figure]:
        raise IndexError("index -1 is out of bounds")
        yield

    monkeypatch.setitem(parts._RUN, "latency", latency)
    monkeypatch.setitem(parts._RUN, "sleep", sleep)
    find, broken = measure(Plan(quick=True, seed=7), ("latency", "sleep"), 3)
    assert (find.values, find.interval, find.parameters) == ((1.0, 2.0, 3.0), (1.0, 3.0), {"seed": 7})
    assert (broken.part, broken.state, broken.why) == ("sleep", "failed", "index -1 is out of bounds")
    told = capsys.readouterr().err
    assert told.count("bench: sleep") == told.count("IndexError: ") == 1, "it is no part of the later rounds"
    assert find.commit
    assert find.machine


def test_what_has_no_data_is_told_as_skipped() -> None:
    figures = measure(Plan(quick=True), ("quality", "ingest"), 2)
    assert [(one.what, one.state) for one in figures] == [
        *((name, "skipped") for name in ("LoCoMo", "Developers", "LongMemEval")),
        ("taken in", "skipped"),
    ]
    assert [one.why for one in figures if one.what == "LongMemEval"] == ["nothing is named: --longmemeval PATH"]


def test_peers_that_are_not_there_are_told_with_the_remedy() -> None:
    peers, missing, versions = peers_there({"MemPalace": None, "mem0": Path(sys.executable)})
    assert (peers, versions) == ({}, {})
    assert missing["MemPalace"] == "no environment with it is named: --mempalace PYTHON, or MNEMIC_MEMPALACE"
    assert missing["mem0"].startswith("mem0ai is not installed for ")


def test_two_files_that_ask_the_same_have_a_digest_in_common(tmp_path: Path) -> None:
    for name, content in (("a", "[1]"), ("b", "[1]"), ("c", "[2]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.json").write_text(content, "utf-8")
    assert parts._digest(tmp_path / "a") == parts._digest(tmp_path / "b") != parts._digest(tmp_path / "c")
    assert parts._digest(tmp_path / "a") == parts._digest(tmp_path / "a" / "one.json")


@pytest.mark.system
def test_rows_of_benches_are_figures_beside_ours() -> None:
    figures = measure(Plan(quick=True, memories=(60,)), ("latency",), 1)
    by_name = {(one.what, one.of, one.unit): one for one in figures}
    ours = by_name["find, 60 memories", OURS, "ms, 95th percentile"]
    assert ours.better == "less"
    beside = {of for what, of, _ in by_name if what == "find, 60 memories"}
    assert beside > {OURS, "SQLite FTS5, words alone", "NumPy, meaning alone, embedded before"}
    assert by_name["find, 60 memories", "SQLite FTS5, words alone", "ms, median"].ratio is not None
    footprint = {what for what, of, _ in by_name if what.startswith("footprint")}
    assert footprint == {"footprint: resident memory, 60 memories", "footprint: on disk, 60 memories"}
    assert {one.of for one in figures if one.state == "skipped"} == set(), (
        "which peers are not there is the plan's to say"
    )
