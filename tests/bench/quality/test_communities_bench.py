"""Rows of the communities bench, on small graphs: each detector beside ours, what changes cost, what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.bench.harness.plot import draw_lines
from mnemic.bench.quality.communities.size import mind_lines, mind_rows
from mnemic.bench.quality.communities.speed import boundary_rows, cold_rows, identity_rows, update_rows
from mnemic.bench.quality.communities_bench import karate_rows, lfr_rows, run
from tests.drawn import drawn_lines

pytestmark = pytest.mark.skipif(not NATIVE, reason="the native extension is not built")
ARMS = {
    "mosaic",
    "competitor: leidenalg, CPM",
    "competitor: igraph, CPM",
    "competitor: networkx, Louvain",
    "competitor: leidenalg, modularity",
}


def by_arm(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {row["of"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def need_research() -> None:
    for package in ("igraph", "leidenalg", "networkx"):
        pytest.importorskip(package, reason="it comes with the extra research")


@pytest.mark.research
def test_all_detectors_are_measured_on_the_same_graphs_and_over_all() -> None:
    need_research()
    rows = list(lfr_rows((300,), 2, 0, (0.1,)))
    arms = by_arm([row for row in rows if row["what"] == "LFR"])
    assert arms.keys() == ARMS
    assert all((row["nodes"], row["mixing"], row["graphs"]) == (300, 0.1, 2) for row in arms.values())
    assert min(row["nmi"] for row in arms.values()) > 0.9
    assert min(row["ari"] for row in arms.values()) > 0.8
    mosaic = arms["mosaic"]
    assert mosaic["met"] == (mosaic["best_other_cpm_nmi"] - mosaic["nmi"] <= 0.01)
    assert arms["competitor: igraph, CPM"]["resolution"] == mosaic["resolution"]
    means = by_arm([row for row in rows if row["what"] == "LFR, all"])
    assert means.keys() == ARMS
    assert means["mosaic"]["mosaic_minus_this_nmi"] == 0


@pytest.mark.research
def test_the_karate_club_comes_apart() -> None:
    need_research()
    arms = by_arm(list(karate_rows(0)))
    assert arms.keys() == ARMS
    assert arms["mosaic"]["planted"] == 2
    assert all(0.3 < row["nmi"] < 1 for row in arms.values())


@pytest.mark.research
def test_a_run_from_nothing_is_told_with_what_it_reached() -> None:
    need_research()
    arms = by_arm(list(cold_rows(500, 3_000, 1, 0)))
    assert arms.keys() == {"mosaic", "mosaic, 2 passes", "competitor: igraph, CPM", "competitor: leidenalg, CPM"}
    assert max(row["of_best"] for row in arms.values()) == 1
    assert min(row["of_best"] for row in arms.values()) > 0.9
    assert arms["mosaic, 2 passes"]["goal_ms"] == arms["competitor: igraph, CPM"]["p50_ms"]


def test_a_package_that_is_missing_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("igraph", "leidenalg", "networkx"):
        monkeypatch.setitem(sys.modules, package, None)
    for parts in ("lfr", "karate"):
        (row,) = run(parts=(parts,), quick=True)  # type: ignore[arg-type]
        assert (row["state"], row["why"]) == ("skipped", "networkx is not installed: mnemic[research]")
    *ours, igraph, leidenalg = cold_rows(200, 1_000, 1, 0)
    assert max(row["of_best"] for row in ours) == 1
    assert [(row["of"], row["state"]) for row in (igraph, leidenalg)] == [
        ("competitor: igraph, CPM", "skipped"),
        ("competitor: leidenalg, CPM", "skipped"),
    ]


@pytest.mark.research
def test_a_detector_without_its_package_is_a_row_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("networkx", reason="it comes with the extra research")
    monkeypatch.setitem(sys.modules, "leidenalg", None)
    monkeypatch.setitem(sys.modules, "igraph", None)
    arms = by_arm(list(karate_rows(0)))
    assert arms.keys() == ARMS
    left_out = {arm for arm, row in arms.items() if row.get("state") == "skipped"}
    assert left_out == ARMS - {"mosaic", "competitor: networkx, Louvain"}
    assert "goal_nmi_below_best" not in arms["mosaic"]


def test_each_change_is_told_beside_a_run_from_nothing() -> None:
    rows = list(update_rows(500, 4_000, 1, 0))
    assert [row["change"] for row in rows] == ["50 new nodes", "0.1 % of edges", "1 % of edges", "10 % of edges"]
    for row in rows:
        assert row["times_faster"] == row["cold_ms"] / row["update_ms"]
        assert 0.95 < row["of_cold_objective"] < 1.05
    assert ["met" in row for row in rows] == [True, False, True, False]


def test_boundaries_and_ids_are_told_with_their_goals() -> None:
    (lasting,) = boundary_rows(300, 10, 0)
    assert (lasting["boundaries"], lasting["nodes"]) == (10, 310)
    assert 0.95 < lasting["least_of_cold_objective"] <= lasting["of_cold_objective"]
    (ids,) = identity_rows(400, 20, 3, 0)
    assert (ids["members"], ids["changed"], ids["goal_ms"]) == (400, 3, 100.0)
    assert ids["best_ms"] <= ids["p50_ms"]


@pytest.mark.research
def test_agreement_is_drawn_by_mixing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_research()
    monkeypatch.setattr("mnemic.bench.quality.communities_bench._GRAPHS", 1)
    monkeypatch.setattr("mnemic.bench.quality.communities_bench.MIXING", (0.1, 0.4))
    plot = tmp_path / "plot.svg"
    assert list(run(parts=("lfr",), quick=True, plot=plot))
    assert [len(points) for points in drawn_lines(plot).values()] == [2] * len(ARMS)


def test_a_mind_is_brought_up_to_date_from_nothing_and_then_with_a_session(tmp_path: Path) -> None:
    rows = list(mind_rows((120,), (1, 2), 0))
    assert [(row["memories"], row["projects"], row["of"]) for row in rows] == [
        (120, among, of) for among in (1, 2) for of in ("from nothing", "50 new memories")
    ]
    assert all(0 < row["longest_step_s"] <= row["s"] and row["topics"] > 1 for row in rows)
    draw_lines(tmp_path / "plot.svg", "seconds", "memories", mind_lines(rows))
    assert "50 new memories, 2 projects" in (tmp_path / "plot.svg").read_text("utf-8")
