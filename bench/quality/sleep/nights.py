"""Whole nights over the actors of a bench's home."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.actors.sleep.messages import NightReport, Sleep
from mnemic.runtime.engine.supervisor import Supervisor


def have_night(actors: Supervisor, run: str, stages: Sequence[str] = ()) -> NightReport:
    """Have one until nothing is left to do; of some stages alone, or of those that the settings name."""
    while True:
        report = actors.ask(Sleep(run=run, budget_s=36_000.0, stages=tuple(stages)), 3600.0)
        assert isinstance(report, NightReport)
        if report.finished:
            return report
