"""Counting: how often a text was said that has no id of its host's, where hooks and transcripts each tell a part.

Half of the identity rule (docs/decisions/0001-identity.md). A transcript is counted from its start. What hooks report
has no start, so its count is kept, and beside it how many more the transcript had told when it was last read: what a
hook reports from then on comes after those. Above stand `mnemic.actors.draining` and `mnemic.actors.transcribing`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mnemic.actors.changes import Change, Counted, CountOccurrences
from mnemic.actors.snapshot import Snapshot

__all__ = ["Counting"]

_MARGIN_US = 2_000_000
"""A hook may run after its host has written the same text to the transcript; by less than so."""


class Counting:
    """Counts on, from what a snapshot knows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._counted: dict[bytes, Counted] = {}

    def reported(self, first: bytes, at: int) -> int:
        """Count one more report of a hook, and say which occurrence of its text that is.

        Args:
            first: the identity of the text's first occurrence.
            at: world time of the report, microseconds.
        """
        known = self._counted.get(first) or self._snapshot.occurrences([first]).get(first) or Counted(identity=first)
        # What the transcript had told already, this hook tells of late: it is one of those that were missed.
        late = known.missed > 0 and at <= known.read_at + _MARGIN_US
        known = msgspec.structs.replace(known, hooks=known.hooks + 1, missed=known.missed - late)
        self._counted[first] = known
        return known.hooks + known.missed

    def read(self, counts: Mapping[bytes, int], at: int) -> None:
        """Take over how often texts occurred in a transcript that was read to its end.

        Args:
            counts: by the identity of the first occurrence.
            at: world time of that, microseconds.
        """
        known = self._snapshot.occurrences(list(counts))
        for first, count in counts.items():
            before = known.get(first) or Counted(identity=first)
            if count > before.hooks + before.missed:
                missed = count - before.hooks
                self._counted[first] = msgspec.structs.replace(before, missed=missed, read_at=at)

    def changes(self) -> list[Change]:
        """What keeps the counts that have changed."""
        return [CountOccurrences(counts=tuple(self._counted.values()))] if self._counted else []
