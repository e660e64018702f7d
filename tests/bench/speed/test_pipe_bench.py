"""The pipe bench on a small home: every hop is there, beside the same recall without any."""

from __future__ import annotations

import pytest

from mnemic.bench.speed.pipe_bench import ADDED_GOAL_MS, run


@pytest.mark.system
def test_a_recall_by_each_way_stands_beside_the_same_one_in_process_and_the_bare_hops() -> None:
    rows = list(run(memories=60, questions=5, no_model=True))
    recalls = {row["of"]: row for row in rows if row["what"] == "recall"}
    assert set(recalls) == {
        "baseline: in this process",
        "MCP, mcp.sock",
        "MCP, mnemic mcp",
        "MCP, mnemic mcp, the SDK's client",
    }
    assert all(0 < row["best_ms"] <= row["p50_ms"] <= row["p95_ms"] and row["n"] == 5 for row in recalls.values())
    here, pipe = recalls["baseline: in this process"], recalls["MCP, mnemic mcp"]
    assert pipe["goal_p95_ms"] == pytest.approx(here["p95_ms"] + ADDED_GOAL_MS)
    assert pipe["met"] == (pipe["p95_ms"] <= pipe["goal_p95_ms"])
    assert "added_p50_ms" not in here
    (answer,) = (row for row in rows if row["what"] == "answer")
    assert answer["line_bytes"] > 2 * answer["text_bytes"] > 0 < answer["hits"]
    hops = {row["of"]: row["p50_ms"] for row in rows if row["what"] == "hop"}
    assert len(hops) == 6
    assert all(taken_ms > 0 for taken_ms in hops.values())
