"""The page has a row for every figure, with commit, machine, parameters, unit and interval, and draws what it can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mnemic.bench.harness.figures import OURS, Figure, finished, mean_figure
from mnemic.bench.report.stored_run import read_history, store_run
from mnemic.bench.report.table import write_page
from tests.drawn import drawn_lines

QUALITY: dict[str, Any] = {"part": "quality", "what": "a set: MRR", "unit": "share", "parameters": {"from": "a|b"}}
LATENCY: dict[str, Any] = {"part": "latency", "unit": "ms, 95th percentile", "better": "less"}
GIVEN = [
    mean_figure([1.0, 0.5, 1.0], of=OURS, **QUALITY),
    msgspec.structs.replace(mean_figure([0.5, 0.5, 0.5], of="other", **QUALITY), p=0.04),
    *(Figure(what=f"find, {n:,} memories", of=OURS, values=(n / 1000,), **LATENCY) for n in (1_000, 10_000)),
    Figure(what="find, 1,000 memories", of="other", values=(2.0,), **LATENCY),
    Figure(part="latency", what="find", of="a peer", unit="", state="skipped", why="it is not here"),
]


def test_every_figure_has_a_row_and_what_it_takes_to_judge_it(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    for machine in ("a machine", "another"):
        stored = store_run(folder, finished(GIVEN, "abc", machine), True, {"python": "3.11"})
    write_page(tmp_path / "page.md", folder, stored, read_history(folder))
    lines = (tmp_path / "page.md").read_text("utf-8").splitlines()
    assert "* Machine 1: another" in lines
    assert "* Versions: python 3.11" in lines
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    head, _, *figures = rows
    assert len(figures) == len(GIVEN)
    ours, other, *_, peer = (dict(zip(head, row, strict=True)) for row in figures)
    assert (ours["value"], ours["unit"], ours["n"], ours["interval"]) == ("0.833", "share", "3", "0.5 – 1")
    assert (ours["commit"], ours["machine"], ours["parameters"]) == ("abc", "1", "from a/b")
    assert (other["mnemic by this"], other["p"]) == ("1.67 (1 – 2)", "0.04")
    assert peer["value"] == "skipped: it is not here"


def test_quality_latency_and_history_are_drawn(tmp_path: Path) -> None:
    for _ in range(2):
        stored = store_run(tmp_path, finished(GIVEN, "abc", "a machine"), True, {})
    write_page(tmp_path / "page.md", tmp_path, stored, read_history(tmp_path))
    assert drawn_lines(tmp_path / "quality.svg").keys() >= {"a set: mnemic", "a set: other"}
    latency = drawn_lines(tmp_path / "latency.svg")
    assert (len(latency[OURS]), len(latency["other"])) == (2, 1)
    history = drawn_lines(tmp_path / "history.svg")
    assert {len(points) for points in history.values()} == {2}
    assert set(history) == {
        "quick, quality: a set: MRR, share, other",
        "quick, latency: find, 1,000 memories, ms, 95th percentile, other",
    }


def test_what_cannot_be_drawn_is_not_pointed_to(tmp_path: Path) -> None:
    stored = store_run(tmp_path, finished(GIVEN[-1:], "abc", "a machine"), True, {})
    write_page(tmp_path / "page.md", tmp_path, stored, read_history(tmp_path))
    assert ".svg" not in (tmp_path / "page.md").read_text("utf-8")
