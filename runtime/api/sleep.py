"""Verbs of sleep: have a night now, list nights, show one, take some back, give digests.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.facts` below has those of what holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.sleep.changes import DigestKind
from mnemic.actors.sleep.messages import (
    DerivedListed,
    DigestsListed,
    ListDerived,
    ListDigests,
    ListNights,
    ListProcedures,
    NightReport,
    NightShown,
    NightsUndone,
    ShowNight,
    ShowProfile,
    Sleep,
    UndoNights,
)
from mnemic.actors.store.messages import Count
from mnemic.runtime.api.facts import FactVerbs
from mnemic.runtime.api.questions import question, verb
from mnemic.runtime.api.verbs import Progress

NIGHT_S = 60.0
"""Of one that is asked for: so long at most, unless it is asked for longer."""
_STEP_S = 60.0  # a step that is begun may end


class SleepVerbs(FactVerbs):
    """The verbs. What each argument means, its message says in `mnemic.actors.sleep.messages`."""

    nights = verb(ListNights, "nights")
    procedures = verb(ListProcedures, "procedures")
    profile = verb(ShowProfile, "profile")

    def sleep(
        self,
        *,
        stages: Sequence[str] = (),
        dry_run: bool = False,
        again: bool = False,
        budget_s: float = NIGHT_S,
        progress: Progress | None = None,
    ) -> NightReport:
        """Have a night now: derive digests of what came or changed, and have other actors go on with their work.

        Args:
            stages: these alone.
            dry_run: say what it would change, and change nothing.
            again: derive anew what was taken back, though nothing was captured since.
            budget_s: it lasts at most so long, seconds.
            progress: told which stage it is in, how much of that is done, and how much there is.

        Raises:
            InvalidValue: a stage is not there.
        """
        asked = Sleep(
            run=f"asked-{self._ask(Count()).seq}",
            budget_s=budget_s,
            reason="asked",
            stages=tuple(stages),
            dry_run=dry_run,
            again=again,
        )
        totals: dict[str, int] = {}
        while True:
            report = self._ask(asked, timeout_s=budget_s + _STEP_S)
            if report.finished or report.ended:
                return report
            at = next((one.stage for one in report.stages if not one.state), "")
            totals[at] = max(totals.get(at, 0), report.behind)
            if progress is not None:
                progress(at, totals[at] - report.behind, totals[at])

    def night(self, id: int, *, k: int = 200) -> NightShown:
        """Show what a night changed.

        Raises:
            UnknownNight: there is none of that number.
        """
        return self._ask(question(ShowNight, id=id, k=k))

    def undo_nights(self, id: int | None = None) -> NightsUndone:
        """Take back a night and every later one; without a number the newest.

        Raises:
            UnknownNight: that night does not stand, or is too long ago.
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

    def derived(self, stage: str, *, scope: Scopes = "*", k: int = 12) -> DerivedListed:
        """Give what nights derived by a stage, a package's above all.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ListDerived, stage=stage, scope=scope, k=k))
