"""The soak bench: its slope, and a short run."""

from __future__ import annotations

from argparse import Namespace

import pytest

from mnemic.bench.speed.soak_bench import Sample, run, slope


def sample(requests: int, rss_mib: float) -> Sample:
    return Sample(requests=requests, rss_mib=rss_mib, pss_mib=rss_mib, files=10)


def test_the_slope_is_that_of_the_second_half() -> None:
    warming_up = [sample(1000 * number, 100 + 50 * number) for number in range(10)]
    assert slope([*warming_up, *(sample(1000 * number, 600) for number in range(10, 20))]) == pytest.approx(0)
    assert slope([*warming_up, *(sample(1000 * number, 600 + number) for number in range(10, 20))]) == pytest.approx(10)


def test_fewer_than_two_samples_have_no_slope() -> None:
    assert slope([]) == 0
    assert slope([sample(0, 100)]) == 0


@pytest.mark.system
def test_a_short_run_leaves_as_many_memories_and_descriptors_as_it_found() -> None:
    rows = run(Namespace(engine="embedded", requests=200, seed=0, no_model=True))
    total = rows[0]
    assert (total["what"], total["requests"], total["engine"]) == ("soak", 200, "embedded")
    assert total["memories"] == 1200
    assert abs(total["files_end"] - total["files_start"]) <= 6
    requests = {row["of"]: row for row in rows if row["what"] == "request"}
    assert set(requests) == {"recall", "capture", "get", "status", "count"}
    assert sum(row["n"] for row in requests.values()) == 200
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in requests.values())
    assert len([row for row in rows if row["what"] == "sample"]) == 41


def test_it_runs_on_one_engine() -> None:
    with pytest.raises(ValueError, match="one engine"):
        run(Namespace(engine="both", requests=1, seed=0, no_model=True))
