"""The soak bench: its slope, and a short run."""

from __future__ import annotations

import pytest

from mnemic.bench.speed.soak_bench import run, slope


def test_the_slope_is_that_of_the_second_half() -> None:
    requests = [1000 * number for number in range(20)]
    warming_up = [100.0 + 50 * number for number in range(10)]
    assert slope(requests, [*warming_up, *([600.0] * 10)]) == pytest.approx(0)
    assert slope(requests, [*warming_up, *(600.0 + number for number in range(10, 20))]) == pytest.approx(10)


def test_fewer_than_two_samples_have_no_slope() -> None:
    assert slope([], []) == 0
    assert slope([0], [100.0]) == 0


@pytest.mark.system
def test_a_short_run_leaves_as_many_memories_and_descriptors_as_it_found() -> None:
    rows = list(run(requests=200, no_model=True))
    total = rows[0]
    assert (total["what"], total["requests"], total["engine"]) == ("soak", 200, "embedded")
    assert total["memories"] == 1200
    assert abs(total["files_end"] - total["files_start"]) <= 6
    requests = {row["of"]: row for row in rows if row["what"] == "request"}
    assert set(requests) == {"recall", "capture", "get", "status", "count"}
    assert sum(row["n"] for row in requests.values()) == 200
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in requests.values())
    assert len([row for row in rows if row["what"] == "sample"]) == 41
