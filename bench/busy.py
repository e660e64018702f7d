"""A consolidator that burns: the heavy job beside which recalls are measured.

`[actors] consolidator = "mnemic.bench.busy:BusyConsolidator"` puts it into the slot. It stands for a night's work: half
of its time in Python, which holds the interpreter's lock, and half in NumPy, which lets go of it now and then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mnemic.actors.consolidator import ConsolidatorActor
from mnemic.actors.contract import Context
from mnemic.actors.messages import NightReport, Preempt, Sleep

__all__ = ["BusyConsolidator"]

_SIZE = 192
_ROUNDS = 20_000


class BusyConsolidator(ConsolidatorActor):
    """Computes nothing of use, for as long as the night's budget is."""

    def handle(self, message: Any, context: Context) -> NightReport | None:
        """Burn until the budget is used up."""
        if isinstance(message, Preempt):
            return None
        assert isinstance(message, Sleep)
        matrix = np.ones((_SIZE, _SIZE), np.float32)
        until_s = context.clock.monotonic_s() + message.budget_s
        while (left_s := until_s - context.clock.monotonic_s()) > 0 and not context.cancelled():
            context.progress(round(message.budget_s - left_s), round(message.budget_s))
            total = 0
            for number in range(_ROUNDS):
                total += number * number % 7
            matrix = np.tanh(matrix @ matrix / np.float32(_SIZE * (1 + total % 2)))
        return NightReport(run=message.run, steps=("burn",), changes=0, finished=True)
