"""The brief bench: a short run, and what its rows say."""

from __future__ import annotations

from argparse import Namespace

import pytest

from mnemic.bench.speed import brief_bench
from mnemic.bench.speed.brief_bench import run


@pytest.mark.system
def test_a_short_run_tells_the_same_with_a_process_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brief_bench, "_REQUESTS", 3)
    monkeypatch.setattr(brief_bench, "_COMMANDS", 2)
    rows = run(Namespace(data=None, memories=200, seed=0, no_model=True))
    assert [row["what"] for row in rows] == [
        "session start, a process up",
        "session start, no process",
        "competitor: python -c pass",
    ]
    assert [row["n"] for row in rows] == [3, 2, 2]
    assert rows[0]["answer_bytes"] == rows[1]["answer_bytes"] > 2000
    assert [row.get("goal_p95_ms") for row in rows] == [20, 300, None]
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in rows)
