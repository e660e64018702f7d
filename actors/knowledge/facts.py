"""Makes facts of statements: which of them hold as of a day, and what stands for the others.

Pure, and quick to load: what an assistant is told at the start of a session rests on it. Above stand
`mnemic.actors.knowledge.fact_views`, recall and the briefing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from mnemic.actors.knowledge.changes import StatementRow
from mnemic.actors.knowledge.messages import Fact, FactState
from mnemic.actors.knowledge.queries import Correction, KnowledgeSnapshot, PairRecord, StatementRecord
from mnemic.actors.recall.messages import FactRef

_HOLDING = ("asserted", "temporary")


def make_facts(
    found: Sequence[StatementRecord], at: int, snapshot: KnowledgeSnapshot, pairs: Iterable[PairRecord] | None = None
) -> Iterator[Fact]:
    """Statements as facts, in their order.

    Args:
        at: the world time as of which they are told.
        pairs: those that they are in, where they are known.
    """
    graded = snapshot.pairs_of([one.number for one in found]) if pairs is None else pairs
    taken = replacements(graded)
    numbers = sorted({pair.successor for some in taken.values() for pair in some})
    successors = {one.number: one for one in snapshot.successors(numbers)}
    for one in found:
        by = [pair for pair in taken.get(one.number, ()) if pair.successor in successors]
        first = min(by, key=lambda pair: _rank(pair, successors[pair.successor]), default=None)
        yield _fact(one, at, first, None if first is None else successors[first.successor])


def _rank(pair: PairRecord, successor: StatementRecord) -> tuple[int, bool, float, int]:
    """Least of the first that replaced a statement; of what was said at one time, of what holds and is not over."""
    return begins(successor), successor.said.modality == "ended", -pair.probability, pair.successor


def replacements(pairs: Iterable[PairRecord]) -> dict[int, list[PairRecord]]:
    """By the statement that holds no more, the pairs that say so.

    What a person said holds over a statement is replaced by none that was said before that one.
    """
    pairs = list(pairs)
    held: dict[int, int] = {}  # by number, when that was said of which somebody said that this holds instead
    for pair in pairs:
        if pair.verdict and pair.replaced:
            said_at = pair.newer_at if pair.replaced == pair.newer else pair.older_at
            held[pair.successor] = max(held.get(pair.successor, said_at), said_at)
    found: dict[int, list[PairRecord]] = {}
    for pair in pairs:
        is_outdone = not pair.verdict and pair.replaced in held and held[pair.replaced] >= pair.newer_at
        if pair.replaced and not is_outdone:
            found.setdefault(pair.replaced, []).append(pair)
    return found


def open_pairs(pairs: Sequence[PairRecord], snapshot: KnowledgeSnapshot) -> list[PairRecord]:
    """Of some pairs those that somebody should settle: both statements hold, as far as is known."""
    waiting = [pair for pair in pairs if pair.is_open]
    sides = sorted({number for pair in waiting for number in (pair.older, pair.newer)})
    over = replacements(snapshot.pairs_of(sides)) if sides else {}
    return [pair for pair in waiting if pair.older not in over and pair.newer not in over]


def last_successor(number: int, snapshot: KnowledgeSnapshot) -> PairRecord | None:
    """The pair that tells what stands for a statement in the end, where one replaced the other in turn."""
    seen, found = {number}, None
    while True:
        some = replacements(snapshot.pairs_of([number])).get(number, [])
        onward = [pair for pair in some if pair.successor not in seen]
        if not onward:
            return found
        found = max(onward, key=lambda pair: (pair.newer_at, pair.probability, pair.newer))
        number = found.successor
        seen.add(number)


def _fact(one: StatementRecord, at: int, pair: PairRecord | None, successor: StatementRecord | None) -> Fact:
    said, ref = one.said, None
    since = begins(one)
    until = one.holds_to
    if one.correction is not None:
        ref = _corrected_by(one.correction)
    elif pair is not None and successor is not None:
        ref = fact_ref(pair, one, successor)
    if ref is not None:
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
        text_byte=clause[0],
        state=_state(said, since, until, at, replaced=ref is not None and ref.at <= at),
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


def _corrected_by(correction: Correction) -> FactRef:
    """The memory that somebody said instead of a statement's, as what stands for it."""
    memory, at, text = correction
    return FactRef(memory=memory, start_byte=0, value=text, at=at, probability=1.0, why="somebody corrected it", id="")


def _state(said: StatementRow, since: int, until: int | None, at: int, *, replaced: bool) -> FactState:
    if said.modality in _HOLDING or (said.modality == "planned" and said.holds_from is not None):
        if replaced:
            return "replaced"
        if since > at:
            return "planned"
        return "held" if until is not None and until <= at else "holds"
    if said.modality in ("ended", "planned"):
        return said.modality  # type: ignore[return-value]  # one of the two
    return "held" if said.modality == "past" else "unsure"


def fact_ref(pair: PairRecord, one: StatementRecord, successor: StatementRecord) -> FactRef:
    """The other statement of a pair, as it is named beside one."""
    older, newer = (one, successor) if one.number == pair.older else (successor, one)
    by = f"{pair.by} said so" if pair.verdict else pair.why
    return FactRef(
        memory=successor.memory,
        start_byte=successor.said.value[0],
        value=successor.text[slice(*successor.said.value)],
        at=begins(successor),
        probability=1.0 if pair.verdict else pair.probability,
        why=by,
        id=pair_id((older.memory, older.said.value[0]), (newer.memory, newer.said.value[0])),
    )


def over_clauses(
    rows: Sequence[int], at: int, snapshot: KnowledgeSnapshot
) -> Iterator[tuple[int, tuple[bytes, list[tuple[int, int]]]]]:
    """Of memories that state what was replaced, or is over by its own words: the row, how the text begins, and the
    clauses that say so.

    Args:
        at: the world time as of which it is told.
    """
    for row in snapshot.graded_rows(rows):
        own = snapshot.statements_of([row])
        facts = zip(own, make_facts(own, at, snapshot), strict=True)
        over = [one.said.clause for one, fact in facts if _is_over(fact)]
        if over:
            yield row, (own[0].text, over)


def _is_over(fact: Fact) -> bool:
    """Whether a statement was meant to hold, and does no more."""
    return fact.state in ("replaced", "held") and fact.modality != "past"


MOSTLY = 0.5
"""A text of which so much holds no more says little else."""


def share_over(stretch: tuple[int, int], clauses: Iterable[tuple[int, int]]) -> float:
    """How much of a stretch of a text lies in some clauses, 0 to 1."""
    first, last = stretch
    covered, reached = 0, first
    for start, stop in sorted(clauses):
        covered += max(0, min(stop, last) - max(start, reached))
        reached = max(reached, stop)
    return covered / max(1, last - first)


def is_mostly(clauses: Iterable[tuple[int, int]], text: bytes) -> bool:
    """Whether some stretches of a text are at least half of it."""
    return share_over((0, len(text)), clauses) >= MOSTLY


def begins(one: StatementRecord) -> int:
    """World time from which a statement holds, microseconds."""
    return one.said_at if one.holds_from is None else one.holds_from


def pair_id(older: tuple[bytes, int], newer: tuple[bytes, int]) -> str:
    """Eight characters that tell a pair from others, and stay when all is read anew.

    Args:
        older: id of the memory of the one said earlier, and the byte at which its value begins; likewise `newer`.
    """
    digest = hashlib.sha256()
    for memory, start in (older, newer):
        digest.update(memory + start.to_bytes(8, "little"))
    return digest.hexdigest()[:8]
