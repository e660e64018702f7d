"""Hits: a memory as it is given to whoever asked, and what the log keeps of that.

Below `mnemic.actors.retriever` and `mnemic.actors.shaping`.
"""

from __future__ import annotations

from mnemic.actors.changes import Part
from mnemic.actors.messages import Hit, Memory

__all__ = ["hit_of", "part_of"]


def hit_of(
    memory: Memory,
    part: bytes,
    offset: int,
    why: dict[str, float],
    newer: list[bytes],
    older: list[bytes],
    score: float | None = None,
) -> Hit:
    """A memory as it is given.

    Args:
        part: what is given of its text, from byte `offset` on.
        newer: the id of what stands for it now, if anything does.
        older: ids of what it stands for.
        score: the sum of `why`, unless it says otherwise.
    """
    return Hit(
        id=memory.id,
        source_id=memory.source_id,
        text=part,
        start_byte=offset,
        size_bytes=len(memory.text),
        tier="episodic",
        kind=memory.kind,
        role=memory.role,
        speaker=memory.speaker,
        session=memory.session,
        scope=memory.scope,
        said_at=memory.said_at,
        score=sum(why.values()) if score is None else score,
        why=why,
        superseded_by=newer[0] if newer else None,
        supersedes=tuple(older),
    )


def part_of(hit: Hit) -> Part:
    """What was given of a memory, and why: what each signal contributed."""
    why = ", ".join(f"{name} {share:.2f}" for name, share in hit.why.items())
    return Part(memory=hit.id, start=hit.start_byte, stop=hit.start_byte + len(hit.text), why=why)
