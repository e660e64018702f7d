"""What a session was told that does not hold any more: it hears once what stands for it now.

Below `mnemic.actors.brief.brief`; what was given to whom is in the log of what was given. Once the new statement is
given, too, there is nothing left to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice

import msgspec

from mnemic.actors.brief.messages import Quote, QuotedPair
from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.knowledge.facts import begins, last_successor
from mnemic.actors.knowledge.queries import StatementRecord
from mnemic.actors.recall.messages import Memory
from mnemic.algorithms.text.same_words import word_form

_START_BYTES = 240
MOST_UPDATES = 2
"""So many at most beside one prompt; the next prompt brings the others."""


def replaced_since(
    told: Mapping[bytes, Sequence[tuple[int, int]]], own: str, scopes: Collection[int], now_us: int, snapshot: Snapshot
) -> list[QuotedPair]:
    """Statements that a session was told and that were replaced since, each with what stands for it in the end.

    Args:
        told: by id the memories that it was told, and which bytes of each.
        own: its name; what it said itself it knows.
        scopes: numbers of those where it works: nothing of another one is told.
        now_us: world time, microseconds.
    """
    corrected, replaced = _corrected(told, own, scopes, snapshot), _replaced(told, own, scopes, now_us, snapshot)
    return list(islice(chain(corrected, replaced), MOST_UPDATES))


def _corrected(
    told: Mapping[bytes, Sequence[tuple[int, int]]], own: str, scopes: Collection[int], snapshot: Snapshot
) -> Iterator[QuotedPair]:
    """Memories that the session was told and that somebody corrected since, each with what corrects it in the end."""
    links, retired = snapshot.superseded(), set(snapshot.retired().row.tolist())
    newer = dict(zip(links.old.tolist(), links.new.tolist(), strict=True))
    paths = {path for number, path in snapshot.scopes().items() if number in scopes}
    for row in snapshot.rows_of(sorted(told)) if newer else ():
        successor, seen = row, {row}
        while newer.get(successor, successor) not in seen:
            successor = newer[successor]
            seen.add(successor)
        if successor == row or successor in retired or row in retired:
            continue
        old, new = snapshot.load_memories([row, successor])
        is_ours = {old.scope, new.scope} <= paths and new.author != "other" and new.session.partition("/")[0] != own
        if is_ours and new.id not in told:
            yield QuotedPair(older=_start(old), newer=_start(new))


def _start(memory: Memory) -> Quote:
    """Tell how a memory begins, as it is quoted."""
    return msgspec.structs.replace(Quote.of(memory, 0, _START_BYTES), size_bytes=len(memory.data))


def _replaced(
    told: Mapping[bytes, Sequence[tuple[int, int]]], own: str, scopes: Collection[int], now_us: int, snapshot: Snapshot
) -> Iterator[QuotedPair]:
    rows = snapshot.graded_rows(snapshot.rows_of(sorted(told)))
    seen = set[tuple[bytes, int]]()
    pairs = [(one, last_successor(one.number, snapshot)) for one in snapshot.statements_of(rows)]
    heard = {_words(one) for one, pair in pairs if pair is None}
    for gone, pair in pairs:
        start, stop = gone.said.clause
        if pair is None or not any(first <= start and stop <= last for first, last in told[gone.memory]):
            continue
        (successor,) = snapshot.successors([pair.successor]) or (None,)
        if successor is None or begins(successor) > now_us or not {gone.scope, successor.scope} <= set(scopes):
            continue
        if successor.role == "other" or successor.memory in told or _words(successor) in heard:
            continue
        if (successor.memory, start) in seen:
            continue  # two rules found the same
        memories = snapshot.load_memories([gone.row, successor.row])
        if memories[1].session.partition("/")[0] != own:
            seen.add((successor.memory, start))
            quotes = [_clause(one, memory) for one, memory in zip((gone, successor), memories, strict=True)]
            yield QuotedPair(older=quotes[0], newer=quotes[1])


def _words(one: StatementRecord) -> str:
    """The words of its clause: what a session was told and what holds it does not hear again, whoever repeats it."""
    return word_form(to_text(one.text[slice(*one.said.clause)]))


def _clause(one: StatementRecord, memory: Memory) -> Quote:
    """The clause of a statement, as it is quoted."""
    return msgspec.structs.replace(Quote.of(memory, *one.said.clause), at=one.said_at, role=one.role)
