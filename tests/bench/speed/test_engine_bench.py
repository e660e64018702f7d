"""The engine bench on a small home: every figure is there, beside what it is compared with."""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from typing import Any

import pytest

from mnemic.bench.speed.engine_bench import ENGINES, chosen_engines, run


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    arguments = Namespace(engine="embedded", memories=60, seconds=1.0, no_model=True)
    found = defaultdict(list)
    for row in run(arguments):
        found[row["what"]].append(row)
    return found


@pytest.mark.system
def test_recalls_are_measured_beside_the_same_recall_without_a_process(rows: dict[str, list[dict[str, Any]]]) -> None:
    recalls = {row["of"]: row for row in rows["recall"]}
    assert set(recalls) == {
        "embedded: MCP, raw stream",
        "embedded: MCP, HTTP",
        "baseline: mind.recall in this process",
        "competitor: FTS5",
    }
    assert all(0 < row["p50_ms"] <= row["p95_ms"] and row["n"] == 300 for row in recalls.values())


def test_a_recall_beside_a_heavy_job_is_compared_with_one_beside_none(rows: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = rows["recall beside a heavy job"]
    assert row["p95_ratio"] == pytest.approx(row["busy_p95_ms"] / row["idle_p95_ms"])
    assert row["busy_n"] > 0
    assert row["idle_n"] > 0


def test_starts_and_resident_memory_are_measured(rows: dict[str, list[dict[str, Any]]]) -> None:
    starts = {row["of"]: row for row in rows["start"]}
    assert starts["mnemic mcp, on demand"]["answer_s"] >= starts["mnemic mcp, on demand"]["ready_s"] > 0
    assert starts["mnemic serve"]["answer_s"] > 0
    assert starts["competitor: python -c pass"]["p50_ms"] > 0
    (memory,) = rows["resident memory (PSS)"]
    assert memory["mib"] > 20
    assert rows["home"][0]["memories"] == 60


def test_engines_go_by_name() -> None:
    assert chosen_engines("both") == ENGINES
    assert chosen_engines("ray") == ("ray",)
    with pytest.raises(ValueError, match="there is no engine 'steam'"):
        chosen_engines("steam")
