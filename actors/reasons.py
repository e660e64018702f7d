"""Reasons: why a memory is told unasked, in a few words for its owner. Pure.

They go into the log beside what was told (`mnemic.actors.changes.RecordGiven`); `mnemic log --injected` prints them.
Above stand `mnemic.actors.unasked`, and `mnemic.session_start` where no process runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mnemic.actors.briefing import day
from mnemic.actors.material import LeftOff, Material, Quote

__all__ = ["why_at_start", "why_beside_prompt"]

_MOST_WORDS = 8


def why_at_start(material: Material, memories: tuple[bytes, ...]) -> tuple[str, ...]:
    """Why each of these memories is told at the start of a session; of one that was chosen twice, both reasons."""
    found: dict[bytes, list[str]] = {}
    if material.left_off is not None:
        for quote, why in _left_off(material.left_off):
            found.setdefault(quote.id, []).append(why)
    for quote in material.holds:
        found.setdefault(quote.id, []).append(_holds(quote))
    return tuple("; ".join(dict.fromkeys(found.get(memory, ()))) for memory in memories)


def why_beside_prompt(cosine: float | None, rarities: Mapping[str, float], held: set[str]) -> str:
    """Why a memory is told beside a prompt: how near it is by meaning, and the words that both have, rarest first.

    Args:
        cosine, rarities, held: as `mnemic.actors.sureness.sure` has them.
    """
    shared = sorted((term for term in rarities if term in held), key=lambda term: (-rarities[term], term))
    words = ", ".join(shared[:_MOST_WORDS]) + (", …" if len(shared) > _MOST_WORDS else "")
    near = "" if cosine is None else f", meaning {cosine:.2f}"
    return f"surely about the prompt: both say {words}{near}"


def _left_off(left: LeftOff) -> Iterator[tuple[Quote, str]]:
    session = f"the last session of this project ({day(left.at)}, {left.assistant})"
    if left.prompt is not None:
        yield left.prompt, f"what the user said last in {session}"
    for place, reply in enumerate(left.replies):
        yield reply, f"{'what the assistant said last' if not place else 'left open by the assistant'} in {session}"
    if left.failure is not None:
        if left.failure.call is not None:
            yield left.failure.call, f"failed in {session}, and nothing like it has succeeded since"
        yield left.failure.result, f"the answer to a call that failed in {session}"


def _holds(quote: Quote) -> str:
    if quote.corrects:
        return "it corrects an earlier memory of this project"
    if quote.kind == "turn":
        return f"the {quote.role} stated it in this project as something that goes on"
    return f"a {quote.kind} that was kept for this project"
