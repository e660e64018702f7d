"""Makes facts of statements: which of them hold as of a day, and what stands for the others.

Pure, and quick to load: what an assistant is told at the start of a session rests on it. Above stand
`mnemic.actors.knowledge.fact_views`, recall and the briefing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from mnemic.actors.protocol.knowledge.messages import Fact, FactState
from mnemic.actors.protocol.knowledge.snapshot import PairRecord, StatementRecord
from mnemic.actors.protocol.messages import FactRef

_HOLDING = ("asserted", "temporary")


class StatementSource(Protocol):
    """Where the statements are that stand for others; a snapshot is one."""

    def statements(self, numbers: Sequence[int]) -> list[StatementRecord]:
        """Some statements; see `mnemic.actors.protocol.knowledge.snapshot.KnowledgeSnapshot`."""
        ...

    def pairs_of(self, numbers: Sequence[int]) -> list[PairRecord]:
        """The pairs that some are in; see there."""
        ...


def make_facts(
    found: Sequence[StatementRecord], at: int, snapshot: StatementSource, pairs: Iterable[PairRecord] | None = None
) -> Iterator[Fact]:
    """Statements as facts, in their order.

    Args:
        at: the world time as of which they are told.
        pairs: those that they are in, where they are known.
    """
    graded = snapshot.pairs_of([one.number for one in found]) if pairs is None else pairs
    taken: dict[int, list[PairRecord]] = {}
    for pair in graded:
        if pair.replaced:
            taken.setdefault(pair.replaced, []).append(pair)
    wanted = {pair.heir for some in taken.values() for pair in some}
    heirs = {one.number: one for one in snapshot.statements(sorted(wanted))}
    for one in found:
        by = [(begins(heirs[pair.heir]), pair) for pair in taken.get(one.number, ()) if pair.heir in heirs]
        first = min(by)[1] if by else None  # of those that replaced it one after the other
        yield _fact(one, at, first, None if first is None else heirs[first.heir])


def _fact(one: StatementRecord, at: int, pair: PairRecord | None, heir: StatementRecord | None) -> Fact:
    said, ref = one.said, None
    since = begins(one)
    until = said.holds_to
    if pair is not None and heir is not None:
        ref = fact_ref(pair, one, heir)
        ends = max(since, ref.at)
        until = ends if until is None else min(until, ends)
    clause, (first, last) = said.clause, said.subject_span
    return Fact(
        memory=one.memory,
        start_byte=said.value[0],
        subject=one.text[first:last],
        relation=said.relation,
        value=one.text[slice(*said.value)],
        text=one.text[slice(*clause)],
        state=_state(said.modality, since, until, at, replaced=ref is not None and ref.at <= at),
        negative=said.negative,
        modality=said.modality,
        rule=said.rule,
        said_at=one.said_at,
        holds_from=since,
        holds_to=until,
        replaced_by=ref,
        speaker=one.speaker,
        role=one.role,
        scope=one.path,
    )


def _state(modality: str, since: int, until: int | None, at: int, *, replaced: bool) -> FactState:
    if modality in _HOLDING:
        if replaced:
            return "replaced"
        if since > at:
            return "planned"
        return "held" if until is not None and until <= at else "holds"
    if modality in ("ended", "planned"):
        return modality  # type: ignore[return-value]  # one of the two
    return "held" if modality == "past" else "unsure"


def fact_ref(pair: PairRecord, one: StatementRecord, heir: StatementRecord) -> FactRef:
    """The other statement of a pair, as it is named beside one."""
    older, newer = (one, heir) if one.number == pair.older else (heir, one)
    by = f"{pair.by} said so" if pair.verdict else pair.why
    return FactRef(
        memory=heir.memory,
        start_byte=heir.said.value[0],
        value=heir.text[slice(*heir.said.value)],
        at=begins(heir),
        probability=1.0 if pair.verdict else pair.probability,
        why=by,
        id=pair_id(older, newer),
    )


def is_mostly(clauses: Iterable[tuple[int, int]], text: bytes) -> bool:
    """Whether some stretches of a text are at least half of it: it says little else."""
    covered, reached = 0, 0
    for start, stop in sorted(clauses):
        covered += max(0, stop - max(start, reached))
        reached = max(reached, stop)
    return covered > 0 and 2 * covered >= len(text)


def begins(one: StatementRecord) -> int:
    """World time from which a statement holds, microseconds."""
    return one.said_at if one.said.holds_from is None else one.said.holds_from


def pair_id(older: StatementRecord, newer: StatementRecord) -> str:
    """Eight characters that tell a pair from others, and stay when all is read anew."""
    digest = hashlib.sha256()
    for one in (older, newer):
        digest.update(one.memory + one.said.value[0].to_bytes(8, "little"))
    return digest.hexdigest()[:8]
