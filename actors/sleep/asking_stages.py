"""The stages that have another actor go on with its own work: labels, meaning, statements, communities.

What these do is their actors' own. All but labels goes on awake too, and is not taken back with a night.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from mnemic.actors.capture.messages import MendLabels
from mnemic.actors.communities.changes import BoundaryReason
from mnemic.actors.communities.messages import UpdateCommunities
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ModelError, ModelOff
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.knowledge.messages import UpdateFacts
from mnemic.actors.meaning.messages import EmbedPending
from mnemic.actors.sleep.changes import NightReason
from mnemic.actors.sleep.stages import Asked


class Labels:
    """Has memories that were kept before memories had labels looked at, once: whose words they hold."""

    name: ClassVar[str] = "labels"

    def __init__(self) -> None:
        self._run = ""
        self._reason: NightReason = "idle"
        self._again = False

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def begin(self, run: str, reason: NightReason, *, again: bool) -> None:
        """Have what is changed from now on belong to a night."""
        self._run, self._reason, self._again = run, reason, again

    def waiting(self, snapshot: Snapshot) -> int:
        """Memories that have no labels yet."""
        return snapshot.unlabelled_count(again=self._again)

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Label a few memories."""
        message = MendLabels(run=self._run, reason=self._reason, again=self._again)
        mended = context.ask(message, timeout_s=timeout_s)
        return Asked(mended.changed, mended.pending)


class Meaning:
    """Has what waits for its meaning embedded: what comes after builds on it."""

    name: ClassVar[str] = "meaning"

    def __init__(self) -> None:
        self._last = -1

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def waiting(self, snapshot: Snapshot) -> int:
        """Memories that are found by their words alone so far."""
        return snapshot.counts(None).pending

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Embed a batch; what cannot be embedded now is left."""
        try:
            pending = context.ask(EmbedPending(), timeout_s=timeout_s).pending
        except ModelOff:
            return Asked(0, 0)
        except ModelError as error:
            return Asked(0, 0, str(error))
        stuck = not is_first and pending >= self._last  # of what is left, nothing can be
        self._last = pending
        return Asked(0, 0 if stuck else pending)


class Facts:
    """Has statements read and graded: pairs that waking work left open are settled or become conflicts."""

    name: ClassVar[str] = "facts"

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def waiting(self, snapshot: Snapshot) -> int:
        """Memories whose statements are not read or graded yet."""
        return sum(snapshot.knowledge_waiting())

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Read or grade a few memories."""
        return Asked(0, context.ask(UpdateFacts(), timeout_s=timeout_s).pending)


class Communities:
    """Has communities brought up to date with what came since they were found."""

    name: ClassVar[str] = "communities"

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def waiting(self, snapshot: Snapshot) -> int:
        """Memories that came or changed since the last boundary."""
        return snapshot.graph_waiting()[0]

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Mark a boundary, if anything has changed since the last one; then take a step towards it."""
        mark: BoundaryReason | None = "night" if is_first else None
        step = context.ask(UpdateCommunities(mark=mark), timeout_s=timeout_s)
        return Asked(step.changes, step.pending, step.why_not)
