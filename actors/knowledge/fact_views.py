"""Facts and conflicts as they are listed, read from one snapshot.

A fact is a statement with the state that it has as of a day: what replaced it counts from when that was said, what its
words say of days counts from these. Below `mnemic.actors.knowledge.knowledge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemic.actors.knowledge.entity_views import EntityNames, neighbours
from mnemic.actors.knowledge.facts import make_facts, pair_id
from mnemic.actors.protocol.errors import UnknownConflict
from mnemic.actors.protocol.knowledge.changes import SettleStatements
from mnemic.actors.protocol.knowledge.messages import (
    Conflict,
    ConflictSettled,
    ConflictsListed,
    EntityShown,
    FactsListed,
    FactState,
    ListConflicts,
    ListFacts,
    SettleConflict,
    ShowEntity,
)
from mnemic.actors.protocol.knowledge.snapshot import PairRecord
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.recall.query import asked_scope_numbers, where_asked
from mnemic.actors.recall.validate import check_count

_LOOKED_THROUGH = 2_000  # statements, where no thing is named
_CURRENT: tuple[FactState, ...] = ("holds",)


def list_facts(asked: ListFacts, snapshot: Snapshot, names: EntityNames, now_us: int) -> FactsListed:
    """List what holds, and on request what held.

    Raises:
        UnknownScope, UnknownEntity, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    within = asked_scope_numbers(asked.scope, snapshot)
    entity, also, numbers = "", tuple[str, ...](), None
    if asked.entity:
        thing = names.find(asked.entity, within, snapshot, where_asked(asked.scope))
        entity, also, numbers = thing.entity.name, thing.entity.also_called, thing.numbers
    at = now_us if asked.at is None else asked.at
    relation = asked.relation.strip().casefold()
    limit = _LOOKED_THROUGH if numbers is None else -1
    found = snapshot.statements_about(numbers, within, relation, limit)
    facts = [one for one in make_facts(found, at, snapshot) if asked.history or one.state in _CURRENT]
    told = facts[: asked.k]
    shown = {(one.memory, one.start_byte) for one in told}
    mine = [one.number for one in found if (one.memory, one.said.value[0]) in shown]
    pairs = [pair for pair in snapshot.pairs_of(mine) if pair.is_open]
    return FactsListed(
        facts=tuple(told),
        entity=entity,
        also_called=also,
        total=len(facts),
        conflicts=tuple(_conflicts(pairs, at, snapshot)),
        waiting=snapshot.knowledge_waiting()[0],
    )


def show_entity(asked: ShowEntity, snapshot: Snapshot, names: EntityNames, now_us: int) -> EntityShown:
    """Show a thing with all that is known of it.

    Raises:
        UnknownScope, UnknownEntity, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    within = asked_scope_numbers(asked.scope, snapshot)
    thing = names.find(asked.name, within, snapshot, where_asked(asked.scope))
    facts = list(make_facts(snapshot.statements_about(thing.numbers, within, "", -1), now_us, snapshot))
    facts.sort(key=lambda one: one.state not in _CURRENT)  # the newest first, each
    return EntityShown(
        entity=thing.entity,
        facts=tuple(facts[: asked.k]),
        names=tuple(names.explained(thing, within, snapshot)),
        neighbours=neighbours(thing, asked.k, within, snapshot, names),
        memories=tuple(snapshot.ids_of(thing.rows[::-1][: asked.k])),
    )


def list_conflicts(asked: ListConflicts, snapshot: Snapshot, now_us: int) -> ConflictsListed:
    """List what a person should settle, or what was settled.

    Raises:
        UnknownScope, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    pairs = snapshot.pairs(asked_scope_numbers(asked.scope, snapshot), is_open=not asked.replaced)
    return ConflictsListed(
        conflicts=tuple(_conflicts(pairs[: asked.k], now_us, snapshot)),
        total=len(pairs),
        waiting=snapshot.knowledge_waiting()[0],
    )


def settle(asked: SettleConflict, snapshot: Snapshot) -> SettleStatements:
    """What is to be kept of a verdict.

    Raises:
        UnknownScope, UnknownConflict: what was asked for cannot be.
    """
    pair = _pair_named(asked, snapshot)
    older, newer = snapshot.statements([pair.older, pair.newer])
    if older.number != pair.older:
        older, newer = newer, older
    return SettleStatements(
        older=older.memory,
        older_start=older.said.value[0],
        newer=newer.memory,
        newer_start=newer.said.value[0],
        verdict=asked.verdict,
        by=asked.by,
    )


def settled(asked: SettleConflict, snapshot: Snapshot, now_us: int, changed: bool) -> ConflictSettled:
    """A pair as it is once a verdict is kept."""
    (conflict,) = _conflicts([_pair_named(asked, snapshot)], now_us, snapshot)
    return ConflictSettled(conflict=conflict, changed=changed)


def _conflicts(pairs: Sequence[PairRecord], at: int, snapshot: Snapshot) -> Iterator[Conflict]:
    numbers = {number for pair in pairs for number in (pair.older, pair.newer)}
    found = {one.number: one for one in snapshot.statements(sorted(numbers))}
    whole = [pair for pair in pairs if pair.older in found and pair.newer in found]
    for pair in whole:
        both = [found[pair.older], found[pair.newer]]
        older, newer = make_facts(both, at, snapshot, [pair])
        yield Conflict(
            id=pair_id(*both),
            older=older,
            newer=newer,
            grade=pair.grade or "conflict",
            probability=pair.probability,
            why=pair.why,
            verdict=pair.verdict,
            by=pair.by,
        )


def _pair_named(asked: SettleConflict, snapshot: Snapshot) -> PairRecord:
    within = asked_scope_numbers(asked.scope, snapshot)
    wanted = asked.id.strip().casefold()
    every = [*snapshot.pairs(within, is_open=True), *snapshot.pairs(within, is_open=False)]
    numbers = sorted({number for pair in every for number in (pair.older, pair.newer)})
    found = {one.number: one for one in snapshot.statements(numbers)}
    for pair in every:
        if wanted and pair_id(found[pair.older], found[pair.newer]) == wanted:
            return pair
    raise UnknownConflict(id=asked.id, where=where_asked(asked.scope))
