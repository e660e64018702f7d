"""The engine bench on a small home: every figure is there, beside what it is compared with."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.contract import Context
from mnemic.actors.sleep.messages import NightReport, Preempt, Sleep
from mnemic.bench.speed.engine_bench import BusyConsolidator, run
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.settings import load_settings


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for row in run(engine="embedded", memories=60, seconds=1.0, no_model=True):
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


@pytest.mark.system
def test_a_recall_beside_a_heavy_job_is_compared_with_one_beside_none(rows: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = rows["recall beside a heavy job"]
    assert row["p95_ratio"] == pytest.approx(row["busy_p95_ms"] / row["idle_p95_ms"])
    assert row["busy_n"] > 0
    assert row["idle_n"] > 0


@pytest.mark.system
def test_starts_and_resident_memory_are_measured(rows: dict[str, list[dict[str, Any]]]) -> None:
    starts = {row["of"]: row for row in rows["start"]}
    assert starts["mnemic mcp, on demand"]["answer_s"] >= starts["mnemic mcp, on demand"]["ready_s"] > 0
    assert starts["mnemic serve"]["answer_s"] > 0
    assert starts["competitor: python -c pass"]["p50_ms"] > 0
    (memory,) = rows["resident memory (PSS)"]
    assert memory["mib"] > 20
    assert rows["home"][0]["memories"] == 60


# --- the consolidator that burns -------------------------------------------------------------------------------------


def context(told: list[tuple[int, int | None]], *, rounds: int) -> Context:
    """A context that is cancelled after so many rounds."""

    def ask(message: object, timeout_s: float) -> object:
        raise AssertionError(f"it asked for {message}")

    return Context(
        trace="t",
        now=0,
        clock=SystemClock(),
        seed=b"seed",
        ask=ask,
        tell=lambda message: None,
        progress=lambda done, total: told.append((done, total)),
        cancelled=lambda: len(told) >= rounds,
    )


def test_it_can_fill_the_slot(tmp_path: Path) -> None:
    path = tmp_path / "mnemic.toml"
    path.write_text('[actors]\nconsolidator = "mnemic.bench.speed.engine_bench:BusyConsolidator"\n', "utf-8")
    assert load_settings(path).actors["consolidator"] is BusyConsolidator


@pytest.mark.parametrize(("budget_s", "rounds"), [(0.02, 10_000), (600.0, 3)])
def test_it_burns_until_its_budget_is_used_up_or_it_is_told_to_end(budget_s: float, rounds: int) -> None:
    told: list[tuple[int, int | None]] = []
    sleep = Sleep(run="night", seed=bytes(32), budget_s=budget_s)
    report = BusyConsolidator().handle(sleep, context(told, rounds=rounds))
    assert report == NightReport(run="night", steps=("burn",), changes=0, finished=True)
    assert 1 <= len(told) <= rounds


def test_it_has_nothing_to_say_to_who_wakes_it() -> None:
    assert BusyConsolidator().handle(Preempt(run="night"), context([], rounds=1)) is None
