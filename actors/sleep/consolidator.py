"""The Consolidator actor: runs while the mind is idle, and has communities brought up to date with what came since.

A night has a boundary marked (`mnemic.actors.communities.communities`), if anything has changed since the last one, and
asks for one step after the other. What else nights do joins with its own issue.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from mnemic.actors.protocol.community_changes import BoundaryReason
from mnemic.actors.protocol.community_messages import UpdateCommunities
from mnemic.actors.protocol.contract import CONTRACT, Context, Setting
from mnemic.actors.protocol.errors import DeadlineExceeded
from mnemic.actors.protocol.messages import NightReport, Preempt, Sleep
from mnemic.actors.protocol.ports import Ports

_STEP = "communities"


class ConsolidatorActor:
    """Sleeps."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Sleep, Preempt)
    settings: ClassVar[tuple[Setting, ...]] = ()
    _run = ""  # the night that is on, for which a boundary was marked
    _changes = 0

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Take nothing."""
        return cls()

    def handle(self, message: Any, context: Context) -> NightReport | None:
        """Take one step of a night, and report all that it did so far. Between two steps `Preempt` comes through."""
        if isinstance(message, Preempt):
            return None
        assert isinstance(message, Sleep)
        mark: BoundaryReason | None = None
        if message.run != self._run:
            self._run, self._changes, mark = message.run, 0, "night"
        try:
            step = context.ask(UpdateCommunities(mark=mark), timeout_s=message.budget_s)
        except DeadlineExceeded:  # the step goes on by itself, and the next night finds what came of it
            return self._report(finished=False)
        self._changes += step.changes
        return self._report(finished=not step.pending)

    def _report(self, *, finished: bool) -> NightReport:
        steps = (_STEP,) if self._changes else ()
        return NightReport(run=self._run, steps=steps, changes=self._changes, finished=finished)
