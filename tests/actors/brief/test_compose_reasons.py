"""Each memory that is told unasked has its reasons, in words its owner understands."""

from __future__ import annotations

from hypothesis import given

from mnemic.actors.brief.compose import compose_session_start
from mnemic.actors.brief.messages import BriefingSources, LastSession, Quote, UnresolvedFailure
from mnemic.actors.brief.reasons import prompt_reason, session_start_reasons
from tests.actors.brief.test_compose import MATERIALS

AT = 1_760_000_000_000_000


def quote(number: int, **fields: object) -> Quote:
    given = {"id": bytes([number]) * 16, "text": b"text", "size_bytes": 4, "at": AT, "role": "user", "kind": "turn"}
    return Quote(**(given | fields))  # type: ignore[arg-type]


def ids(*numbers: int) -> tuple[bytes, ...]:
    return tuple(bytes([number]) * 16 for number in numbers)


def test_each_place_of_a_session_start_has_its_reason() -> None:
    left = LastSession(
        assistant="codex",
        at=AT,
        prompt=quote(1),
        replies=(quote(2), quote(3)),
        answered=True,
        failure=UnresolvedFailure(tool="Bash", call=quote(4), answer=quote(5).id),
    )
    holds = (quote(6, kind="decision"), quote(7, kind="note", is_correction=True), quote(8), quote(1))
    why = session_start_reasons(BriefingSources(last_session=left, in_force=holds))
    session = "the last session of this project (2025-10-09, codex)"
    assert tuple(why[memory] for memory in ids(1, 2, 3, 4, 5, 6, 7, 8)) == (
        f"what the user said last in {session}; the user stated it in this project as something that goes on",
        f"what the assistant said last in {session}",
        f"left open by the assistant in {session}",
        f"failed in {session}, and nothing like it has succeeded since",
        f"the answer to a call that failed in {session}",
        "a decision that was kept for this project",
        "it corrects an earlier memory of this project",
        "the user stated it in this project as something that goes on",
    )


@given(material=MATERIALS)
def test_whatever_is_told_at_a_start_has_a_reason(material: BriefingSources) -> None:
    _, parts = compose_session_start(material, 4000)
    why = session_start_reasons(material)
    assert all(why[part.memory] for part in parts)


def test_beside_a_prompt_the_words_that_both_have_are_named_the_rarest_first() -> None:
    rarities = {"lantern": 5.0, "copper": 6.0, "the": 0.1, "pilot": 7.0}
    assert prompt_reason(0.714, rarities, {"lantern", "copper", "the", "more"}) == (
        "surely about the prompt: both say copper, lantern, the, meaning 0.71"
    )
    many = {f"w{number}": float(number) for number in range(12)}
    assert prompt_reason(None, many, set(many)) == (
        "surely about the prompt: both say w11, w10, w9, w8, w7, w6, w5, w4, …"
    )
