"""Says why each memory was told, in a few words for its owner. Pure.

It is kept beside what was told (`mnemic.actors.log.changes.RecordDelivery`); `mnemic log --injected` prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mnemic.actors.brief.messages import BriefingSources, LastSession, Quote
from mnemic.actors.brief.page import PROFILE_LINES, format_day
from mnemic.actors.kernel.times import UTC_ZONE, Zone

_MOST_WORDS = 8


def session_start_reasons(material: BriefingSources, zone: Zone = UTC_ZONE) -> dict[bytes, str]:
    """Why each memory is told at the start of a session, by id; of one that was chosen twice, both reasons."""
    found: dict[bytes, list[str]] = {}
    if material.last_session is not None:
        for memory, why in _last_session_reasons(material.last_session, zone):
            found.setdefault(memory, []).append(why)
    for quote in material.in_force:
        found.setdefault(quote.id, []).append(_in_force_reason(quote))
    for quote in material.profile[:PROFILE_LINES]:
        found.setdefault(quote.id, []).append("the user says it of themselves, and it is to last")
    for quote in material.open:
        found.setdefault(quote.id, []).append("it says what is open, and nothing later says that this is done")
    for quote in material.digest:
        found.setdefault(quote.id, []).append("a night chose it as telling most of what is said again and again")
    if material.conflict is not None:
        for quote in (material.conflict.older, material.conflict.newer):
            found.setdefault(quote.id, []).append("it contradicts another statement, and nobody settled which holds")
    return {memory: "; ".join(dict.fromkeys(reasons)) for memory, reasons in found.items()}


def prompt_reason(cosine: float | None, rarities: Mapping[str, float], held: set[str]) -> str:
    """Why a memory is told beside a prompt: how near it is by meaning, and the words that both have, rarest first.

    Args:
        cosine, rarities, held: as `mnemic.actors.brief.relevance.is_relevant` has them.
    """
    shared = sorted((term for term in rarities if term in held), key=lambda term: (-rarities[term], term))
    words = ", ".join(shared[:_MOST_WORDS]) + (", …" if len(shared) > _MOST_WORDS else "")
    near = "" if cosine is None else f", meaning {cosine:.2f}"
    return f"surely about the prompt: both say {words}{near}"


def _last_session_reasons(left: LastSession, zone: Zone) -> Iterator[tuple[bytes, str]]:
    session = f"the last session of this project ({format_day(left.at, zone)}, {left.assistant})"
    if left.prompt is not None:
        yield left.prompt.id, f"what the user said last in {session}"
    for place, reply in enumerate(left.replies):
        yield reply.id, f"{'what the assistant said last' if not place else 'left open by the assistant'} in {session}"
    if left.failure is not None:
        if left.failure.call is not None:
            yield left.failure.call.id, f"failed in {session}, and nothing like it has succeeded since"
        yield left.failure.answer, f"the answer to a call that failed in {session}"


def _in_force_reason(quote: Quote) -> str:
    whose = "every project" if quote.is_everywhere else "this project"
    if quote.is_correction:
        return f"it corrects an earlier memory of {whose}"
    if quote.kind == "turn":
        return f"the {quote.role} stated it in {whose} as something that goes on"
    return f"a {quote.kind} that was kept for {whose}"
