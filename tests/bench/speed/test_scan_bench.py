"""The scan bench runs whole on few vectors, names what it left out, and judges only where there is a goal."""

from __future__ import annotations

import numpy as np
import pytest

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.bench.speed import scan_bench
from mnemic.bench.speed.scan_bench import QUERIES, draw, run


@pytest.mark.system
def test_every_instruction_set_and_competitor_has_a_row_with_its_recall() -> None:
    rows = list(run(vectors=(300,)))
    names = {row["of"] for row in rows}
    assert {f"mnemic, native-{name}" for name in ("avx512", "avxvnni", "avx2", "portable")} <= names
    assert {"competitor: NumPy, float32", "competitor: sqlite-vec", "competitor: usearch, HNSW"} <= names
    for row in rows:
        assert row["vectors"] == 300
        if row.get("state") == "skipped":
            assert row["why"]
        else:
            assert "state" not in row, row
            assert 0 < row["best_ms"] <= row["p50_ms"]
            assert "met" not in row
        if "recall_at_10" in row and "HNSW" not in row["of"]:
            assert row["recall_at_10"] == 1
    if NATIVE:
        assert [row["allowed"] for row in rows if row["of"] == "mnemic, native-portable"] == ["all", "10 %", "1 %"]


@pytest.mark.system
def test_without_native_code_its_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_bench, "NATIVE", False)
    rows = [row for row in run(vectors=(1,)) if "mnemic" in row["of"]]
    assert [row["why"] for row in rows] == ["native code is not built"] * 4


def test_what_is_drawn_is_the_same_again_and_of_unit_length() -> None:
    drawn, again = draw(250), draw(250)
    assert np.array_equal(drawn.vectors, again.vectors)
    assert np.array_equal(drawn.queries, again.queries)
    assert drawn.queries.shape == (QUERIES, 384)
    assert np.allclose(np.linalg.norm(drawn.vectors, axis=1), 1, atol=1e-5)


def test_a_goal_is_met_by_time_and_recall_together() -> None:
    rows = [{"p50_ms": 2.9, "recall_at_10": recall} for recall in (0.9995, 0.99)]
    for row in rows:
        scan_bench._judge(row, 100_000)
    assert [(row["goal_ms"], row["met"]) for row in rows] == [(3.0, True), (3.0, False)]
