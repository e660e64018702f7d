"""The capture section of `mnemic status`: what waits in the spool, what was lost or not understood.

Silence is the one fault nobody forgives here: whatever waits for long, was lost or could not be understood is said in
a sentence of its own. Above stand `mnemic.runtime.api.mind` and `mnemic.runtime.api.reports`; below,
`mnemic.runtime.spool.pending` looks at files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from mnemic.actors.protocol.ambient_messages import CaptureProgress
from mnemic.actors.protocol.times import to_iso
from mnemic.runtime.spool.pending import Backlog, Losses, measure_backlog, read_losses

__all__ = ["STALE_S", "CaptureStatus", "capture_status"]

STALE_S = 600.0
"""What waits for longer than so is not on its way any more."""


class CaptureStatus(msgspec.Struct, kw_only=True):
    """What hooks wrote and nobody has taken in yet, and what became of the rest."""

    backlog: Backlog
    """What waits in the spool."""
    waits_s: float | None
    """For how long the oldest of it waits; ``None`` where nothing does."""
    losses: Losses
    """What will not be taken in."""
    records: int
    """Records of hooks taken in so far."""
    torn: int
    """Places of the spool that held no whole record."""
    set_aside: int
    """Records that could not be understood, and are kept aside."""
    scrubbed: dict[str, int]
    """Secrets taken out of texts, by type."""
    left_out: tuple[str, ...] = ()
    """What the settings leave out, a phrase each."""
    transcripts: int
    """Transcripts that wait to be taken in."""
    transcripts_bytes: int
    """How long they are together."""
    transcripts_later: int
    """Transcripts of sessions that may still be going on."""
    transcripts_failed: int
    """Transcripts that could not be read; at most 20 are counted."""

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield f"hooks: {_pluralize(self.records, 'record')} taken in"
        if self.waits_s is not None:
            yield f"  {_format_size(self.backlog.size_bytes)} wait in the spool, for {self.waits_s:.0f} s"
        if self.torn:
            yield f"  {_pluralize(self.torn, 'place')} of the spool held no whole record"
        if self.left_out:
            yield f"  left out by the settings: {'; '.join(self.left_out)}"
        if self.scrubbed:
            kinds = ", ".join(f"{kind} {count}" for kind, count in self.scrubbed.items())
            yield f"  secrets taken out: {kinds}"
        if self.transcripts or self.transcripts_later:
            size = _format_size(self.transcripts_bytes)
            yield f"  transcripts to take in: {self.transcripts} now ({size}), {self.transcripts_later} later"

    def warnings(self) -> Iterator[str]:
        """What is not as it should be, a sentence each."""
        if self.waits_s is not None and self.waits_s > STALE_S:
            size, minutes = _format_size(self.backlog.size_bytes), round(self.waits_s / 60)
            yield f"hooks: {size} that they kept have waited for {minutes} minutes; `mnemic doctor` says why"
        if self.losses.lost:
            when = "" if self.losses.lost_at is None else f", the last at {to_iso(self.losses.lost_at)}"
            yield f"hooks: {_pluralize(self.losses.lost, 'event')} could not be written and were lost{when}"
        if self.losses.foreign:
            yield f"hooks: {_pluralize(len(self.losses.foreign), 'spool file')} of another key, not taken in"
        if self.losses.aside:
            yield f"hooks: {_pluralize(len(self.losses.aside), 'spool file')} held what cannot be opened"
        if self.backlog.unreadable:
            yield f"hooks: {_pluralize(len(self.backlog.unreadable), 'spool file')} cannot be read"
        if self.set_aside:
            yield f"hooks: {_pluralize(self.set_aside, 'record')} could not be understood; `mnemic doctor` shows them"
        if self.transcripts_failed:
            yield f"transcripts: {self.transcripts_failed} could not be read; `mnemic doctor` shows them"


def capture_status(spool: Path, waiting: CaptureProgress, now: int) -> CaptureStatus:
    """Look at a mind's spool, beside what its store knows.

    Args:
        now: world time, microseconds.
    """
    found = measure_backlog(spool, waiting.offsets)
    oldest_at = found.oldest_at if waiting.oldest_at is None or found.oldest_at is None else waiting.oldest_at
    return CaptureStatus(
        backlog=found,
        waits_s=None if oldest_at is None else max(0.0, (now - oldest_at) / 1e6),
        losses=read_losses(spool),
        records=waiting.records,
        torn=waiting.torn,
        set_aside=waiting.set_aside_count,
        scrubbed=waiting.scrubbed,
        left_out=waiting.left_out,
        transcripts=waiting.transcripts,
        transcripts_bytes=waiting.transcripts_bytes,
        transcripts_later=waiting.transcripts_later,
        transcripts_failed=len(waiting.transcripts_failed),
    )


def _pluralize(number: int, one: str) -> str:
    return f"{number} {one}{'' if number == 1 else 's'}"


def _format_size(size_bytes: int) -> str:
    if size_bytes < 1000:
        return _pluralize(size_bytes, "byte")
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e5 else f"{size_bytes / 1e3:.1f} kB"
