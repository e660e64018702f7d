"""The consolidator that burns: it can fill its slot, says that it burns, and ends with its budget or when told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.messages import NightReport, Preempt, Sleep
from mnemic.bench.harness.load import BusyConsolidator
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.settings import load_settings


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
    path.write_text('[actors]\nconsolidator = "mnemic.bench.harness.load:BusyConsolidator"\n', "utf-8")
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
