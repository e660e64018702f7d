"""The Consolidator actor: runs while the mind is idle. The built-in one does nothing; it keeps the slot usable.

A night's work joins with its own issue; until then, and wherever nothing is to be done, its report says so.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from mnemic.actors.protocol.contract import CONTRACT, Context, Setting
from mnemic.actors.protocol.messages import NightReport, Preempt, Sleep
from mnemic.actors.protocol.ports import Ports


class ConsolidatorActor:
    """Sleeps, and changes nothing."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Sleep, Preempt)
    settings: ClassVar[tuple[Setting, ...]] = ()

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Take nothing."""
        return cls()

    def handle(self, message: Any, context: Context) -> NightReport | None:
        """Report a night in which nothing was to be done; there is no step that could be cut short."""
        if isinstance(message, Preempt):
            return None
        assert isinstance(message, Sleep)
        return NightReport(run=message.run, steps=(), changes=0, finished=True)
