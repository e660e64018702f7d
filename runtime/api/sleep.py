"""Verbs of sleep: have a night now, list nights, show one, take some back, give digests.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.facts` below has those of what holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mnemic.actors.protocol.messages import Count, Scopes
from mnemic.actors.protocol.sleep.changes import DigestKind
from mnemic.actors.protocol.sleep.messages import (
    DigestsListed,
    ListDigests,
    ListNights,
    ListProcedures,
    NightReport,
    NightShown,
    NightsListed,
    NightsUndone,
    Preempt,
    ProceduresListed,
    ProfileShown,
    ShowNight,
    ShowProfile,
    Sleep,
    UndoNights,
)
from mnemic.runtime.api.facts import FactVerbs
from mnemic.runtime.api.questions import question

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and how much there is."""
NIGHT_S = 60.0
"""Of one that is asked for: so long at most, unless it is asked for longer."""


class SleepVerbs(FactVerbs):
    """The verbs. What each argument means, its message says in `mnemic.actors.protocol.sleep.messages`."""

    def sleep(
        self,
        *,
        stages: Sequence[str] = (),
        dry_run: bool = False,
        more: Callable[[], bool] = lambda: True,
        progress: Progress | None = None,
    ) -> NightReport:
        """Have a night now: derive digests of what came or changed, and have other actors go on with their work.

        Args:
            more: asked before each bounded while but the first whether there is time for it.
            progress: told which stage it is in, how much of that is done, and how much there is.

        Raises:
            InvalidValue: a stage is not there.
        """
        run = f"asked-{self._ask(Count()).seq}"
        night = Sleep(run=run, budget_s=NIGHT_S, reason="asked", stages=tuple(stages), dry_run=dry_run)
        report = self._ask(night)
        while not report.finished and more():
            if progress is not None:
                at = next((one.stage for one in report.stages if not one.state), "")
                progress(at, 0, report.behind)
            report = self._ask(night)
        if not report.finished:
            self.actor_system.tell(Preempt(run=run))
        return report

    def nights(self, *, k: int = 30) -> NightsListed:
        """List the nights that changed something, the newest first.

        Raises:
            InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ListNights, k=k))

    def night(self, id: int) -> NightShown:
        """Show what a night changed.

        Raises:
            InvalidValue: there is none of that number.
        """
        return self._ask(question(ShowNight, id=id))

    def undo_nights(self, id: int = 0) -> NightsUndone:
        """Take back a night and every later one; without a number the newest.

        Raises:
            InvalidValue: that night does not stand, or is too long ago.
        """
        return self._ask(question(UndoNights, id=id))

    def digests(
        self, of: DigestKind = "project", *, scope: Scopes = "*", k: int = 10, sentences: int = 12
    ) -> DigestsListed:
        """Give digests: of projects, of their conversations or of their topics.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ListDigests, of=of, scope=scope, k=k, sentences=sentences))

    def procedures(self, *, scope: Scopes = "*", k: int = 12) -> ProceduresListed:
        """Give what is done again and again in projects, and how often it worked.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ListProcedures, scope=scope, k=k))

    def profile(self, *, scope: Scopes = "*", k: int = 20) -> ProfileShown:
        """Give what users said of themselves that is to last.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ShowProfile, scope=scope, k=k))
