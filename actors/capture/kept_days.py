"""Gives memories that were kept before offsets were the day that their owner would name.

They were dated by UTC: a day alone was that day's midnight there. Pure; a night logs what comes of it as
`mnemic.actors.capture.changes.Relabel`.
"""

from __future__ import annotations

import msgspec

from mnemic.actors.capture.changes import MemoryLabels
from mnemic.actors.kernel.times import DAY_US, Zone, from_local

_DOCUMENTS = "generic"
"""The assistant that documents and plain lines are kept under; a time of other memories is never a day alone."""


def with_local_day(labels: MemoryLabels, assistant: str, recorded_at: int, zone: Zone) -> MemoryLabels:
    """The labels with an offset, and one that was dated by a day alone at that day's midnight in a zone.

    Args:
        labels: of a memory that was kept without an offset; others are given as they are.
        assistant: which host it came by.
        recorded_at: when it was kept: an undated memory has the offset of then.
        zone: the machine's.
    """
    if labels.utc_offset_min is not None:
        return labels
    said_at = labels.said_at
    if said_at is not None and said_at % DAY_US == 0 and assistant == _DOCUMENTS:
        said_at = from_local(said_at, zone)
    offset_min = zone.utc_offset_min(recorded_at if said_at is None else said_at)
    return msgspec.structs.replace(labels, said_at=said_at, utc_offset_min=offset_min)
