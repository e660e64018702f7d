"""The Communities actor: keeps the graph of memories partitioned as it grows, boundary by boundary.

It follows the log. Where enough memories have come or changed, it has a boundary marked, which the log keeps; then it
finds the communities of that boundary (`mnemic.actors.communities.boundary_work`), in steps between which questions
pass, and the Store keeps what has changed. What is found depends on the graphs of the boundaries, in order, alone: who
is killed goes on from the last one that was kept, and a log that is replayed brings the same communities.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from mnemic.actors.communities.boundary_work import BoundaryWork, detector_from_settings
from mnemic.actors.communities.changes import BoundaryReason, MarkBoundary
from mnemic.actors.communities.community_views import list_communities, show_community
from mnemic.actors.communities.messages import (
    CommunitiesListed,
    CommunityProgress,
    CommunityShown,
    ListCommunities,
    ShowCommunity,
    UpdateCommunities,
)
from mnemic.actors.kernel.background import BackgroundWorker, MindOpened, WorkOn
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.shape.messages import VectorsChanged
from mnemic.actors.store.messages import Committed
from mnemic.algorithms.graph.backends import BACKENDS

_GROWTH = 16  # of a larger mind, a boundary is due once one in so many memories has changed: not one for each 256


class CommunitiesActor:
    """Finds communities, lists them, shows one."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (
        UpdateCommunities,
        ListCommunities,
        ShowCommunity,
        Committed,
        VectorsChanged,
        MindOpened,
        WorkOn,
    )
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting(
            "communities.backend",
            BACKENDS[0],
            "-",
            f"Who finds communities: {', '.join(BACKENDS)}; all but the first need `pip install mnemic[research]`.",
            choices=BACKENDS,
        ),
        Setting(
            "communities.every",
            256,
            "memories",
            f"So many came or changed, or one in {_GROWTH} of all if that is more: find communities anew.",
            1,
        ),
    )

    def __init__(self, ports: Ports) -> None:
        """Open the store for reading."""
        self._every = ports.settings["communities.every"]
        detector = detector_from_settings(ports.settings)
        self._source = ports.open_snapshots()
        self._work = BoundaryWork(self._source, detector, ports.seed)
        self._worker = BackgroundWorker("communities", lambda context: self._step(context).pending > 0)
        self._unreported = 0  # changes since the last answer

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading."""
        return cls(ports)

    def handle(self, message: Any, context: Context) -> CommunitiesListed | CommunityShown | CommunityProgress | None:
        """List communities, show one, take one step, or follow the log in the background.

        Raises:
            UnknownScope, UnknownCommunity: what was asked for is not there.
        """
        if isinstance(message, ListCommunities):
            with self._source.snapshot() as snapshot:
                return list_communities(message, snapshot, self._work.why_not)
        if isinstance(message, ShowCommunity):
            with self._source.snapshot() as snapshot:
                return show_community(message, snapshot)
        if isinstance(message, UpdateCommunities):
            if message.mark is not None:
                self._mark(message.mark, context)
            progress = self._step(context)
            self._unreported = 0
            self._worker.caller_stepped(progress.pending, context)
            return progress
        if isinstance(message, WorkOn):
            self._worker.work_on(context)
            return None
        if isinstance(message, Committed | VectorsChanged):
            self._work.retry()  # what kept it from going on may be over
            if self._is_due():
                self._mark("commits", context)
        self._worker.wake(context)
        return None

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()

    def _is_due(self) -> bool:
        with self._source.snapshot() as snapshot:
            waiting, nodes = snapshot.graph_waiting()
        return bool(waiting >= max(self._every, nodes // _GROWTH))

    def _mark(self, reason: BoundaryReason, context: Context) -> None:
        """Have a boundary marked, if anything has changed."""
        with self._source.snapshot() as snapshot:
            waiting, seq = snapshot.graph_waiting()[0], snapshot.seq
        if waiting:
            self._apply(MarkBoundary(reason=reason), seq, context)

    def _step(self, context: Context) -> CommunityProgress:
        """Take one step, and say how far it is."""
        found = self._work.step(context)
        if found is not None:
            self._apply(found, found.boundary, context)
        with self._source.snapshot() as snapshot:
            last, waiting = snapshot.last_done_boundary(), snapshot.open_boundaries()
        why_not = self._work.why_not
        return CommunityProgress(
            done=0 if last is None else last.number,
            pending=0 if why_not else waiting,
            changes=self._unreported,
            why_not=why_not,
        )

    def _apply(self, change: Change, seq: int, context: Context) -> None:
        # One that is not wanted any more is none.
        self._unreported += sum(self._worker.apply([change], seq, context).changed)
