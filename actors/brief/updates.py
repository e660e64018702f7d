"""What a session was told that does not hold any more: it hears once what stands for it now.

Below `mnemic.actors.brief.brief`; what was given to whom is in the log of what was given. Once the new statement is
given, too, there is nothing left to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from mnemic.actors.knowledge.facts import begins, pair_id
from mnemic.actors.protocol.ambient_messages import Quote, QuotedPair
from mnemic.actors.protocol.knowledge.snapshot import StatementRecord
from mnemic.actors.protocol.messages import Memory
from mnemic.actors.protocol.snapshot import Snapshot

MOST_UPDATES = 2
"""So many at most beside one prompt; the next prompt brings the others."""


def replaced_since(known: Collection[bytes], own: str, now_us: int, snapshot: Snapshot) -> list[QuotedPair]:
    """Statements that a session was told and that were replaced since, each with what stands for it.

    Args:
        known: ids of the memories that it was told.
        own: its name; what it said itself it knows.
        now_us: world time, microseconds.
    """
    return list(islice(_replaced(known, own, now_us, snapshot), MOST_UPDATES))


def _replaced(known: Collection[bytes], own: str, now_us: int, snapshot: Snapshot) -> Iterator[QuotedPair]:
    told = snapshot.statements_of(snapshot.graded_rows(snapshot.rows_of(sorted(known))))
    statements = {one.number: one for one in told}
    pairs = [pair for pair in snapshot.pairs_of(list(statements)) if pair.replaced in statements]
    heirs = {one.number: one for one in snapshot.statements(sorted({pair.heir for pair in pairs}))}
    for pair in pairs:
        gone, heir = statements[pair.replaced], heirs.get(pair.heir)
        if heir is None or heir.memory in known or begins(heir) > now_us:
            continue
        memories = snapshot.load_memories([gone.row, heir.row])
        if memories[1].session.partition("/")[0] == own:
            continue
        older, newer = (gone, heir) if pair.replaced == pair.older else (heir, gone)
        quotes = [_clause(one, memory) for one, memory in zip((gone, heir), memories, strict=True)]
        yield QuotedPair(id=pair_id(older, newer), older=quotes[0], newer=quotes[1])


def _clause(one: StatementRecord, memory: Memory) -> Quote:
    """The clause of a statement, as it is quoted."""
    start, stop = one.said.clause
    return Quote(
        id=one.memory,
        text=one.text[start:stop],
        start_byte=start,
        size_bytes=stop - start,
        at=one.said_at,
        role=one.role,
        kind=memory.kind,
        assistant=memory.assistant,
    )
