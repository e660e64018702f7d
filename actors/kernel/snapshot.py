"""Read interface of the store: one consistent state, as arrays and records, never SQL.

`mnemic.runtime.store.reader` holds the real ones. All reads from one snapshot see the same state, whatever is
written meanwhile.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from mnemic.actors.brief.queries import BriefSnapshot
from mnemic.actors.capture.queries import CaptureSnapshot
from mnemic.actors.communities.queries import GraphSnapshot
from mnemic.actors.log.queries import LogSnapshot
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.queries import MeaningSnapshot
from mnemic.actors.shape.queries import ShapeSnapshot
from mnemic.actors.store.messages import Counts


class Snapshot(
    BriefSnapshot,
    LogSnapshot,
    CaptureSnapshot,
    MeaningSnapshot,
    ShapeSnapshot,
    GraphSnapshot,
    Protocol,
):
    """The state as of one `seq`."""

    seq: int
    """Number of the newest transaction; it grows with whatever is written."""
    log_row: int
    """Number of the newest line of the log; 0 where there is none. Memories, scopes, and what replaces or hides what
    change with it alone, or with the generation.
    """
    generation: int
    """Grows when what is derived is made anew: rows and windows seen before may mean something else then."""

    def counts(self, encoder: EncoderName | None) -> Counts:
        """What is there; embedded by `encoder`, or by the newest where it is ``None``."""


class SnapshotSource(Protocol):
    """Gives snapshots."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The newest state, held while the context lasts; keep it short, since the write-ahead log cannot shrink."""

    def close(self) -> None:
        """Let go of the store."""
