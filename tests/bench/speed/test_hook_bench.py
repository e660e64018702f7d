"""The hook bench on a few small events: each figure has its baseline, and nothing is lost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.speed import hook_bench
from tests.paths import built_hook

OWN = "mnemic-hook"
TRUE = "baseline: true"


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    built_hook()
    monkeypatch.setattr(hook_bench, "SIZES", (2_000, 150_000))
    monkeypatch.setattr(hook_bench, "WHOLE", 3_000_000)
    monkeypatch.setattr(hook_bench, "TURNS", 3)
    return list(hook_bench.run(rounds=1))


def test_every_event_is_timed_beside_true(rows: list[dict[str, Any]]) -> None:
    for size in (2_000, 150_000):
        timed = {row["of"]: row for row in rows if row["what"] == "event" and row["event_bytes"] == size}
        assert timed.keys() == {TRUE, OWN}
        assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in timed.values())
    assert {row["of"] for row in rows if row["what"] == "event" and row["event_bytes"] == 3_000_000} == {OWN}


def test_what_was_fired_is_read_back_and_counted(rows: list[dict[str, Any]]) -> None:
    kept = rows[-1]
    assert kept == {"what": "what is kept", "state": "ok", "events": 3 + 1 + 2 + 2, "lost": 0, "other": 0}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the memory of a process that is over")
def test_memory_is_counted_for_the_hook_alone(rows: list[dict[str, Any]]) -> None:
    peaks = [row for row in rows if row["what"] == "peak resident memory"]
    assert len(peaks) == 3
    assert all(row["mib"] > 0 for row in peaks)
    for row in peaks:
        if row["event_bytes"] < 1_000_000:
            assert row["mib"] < 16


def test_where_nothing_was_built_the_bench_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_bench, "EXECUTABLE", Path("/not/there"))
    (only,) = hook_bench.run(rounds=1)
    assert only == {"what": "all", "of": "mnemic-hook", "state": "skipped", "why": "/not/there was not built"}


def test_events_have_the_size_that_is_asked_for_and_are_all_different() -> None:
    events = [hook_bench.event(number, size, "/a folder") for number in range(3) for size in (500, 2_000, 2_001)]
    assert [len(event) for event in events] == [500, 2_000, 2_001] * 3
    assert len(set(events)) == len(events)
