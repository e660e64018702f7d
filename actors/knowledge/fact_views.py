"""Facts and conflicts as they are listed, read from one snapshot.

A fact is a statement with the state that it has as of a day: what replaced it counts from when that was said, what its
words say of days counts from these. Below `mnemic.actors.knowledge.knowledge`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mnemic.actors.index.query import asked_scope_numbers, where_asked
from mnemic.actors.index.validate import check_count
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import InvalidValue, UnknownConflict, UnknownEntity
from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.message import Message
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.kernel.times import day_end, local_day
from mnemic.actors.knowledge.changes import SettleStatements
from mnemic.actors.knowledge.entity_views import EntityNames, list_entities, neighbours
from mnemic.actors.knowledge.facts import make_facts, open_pairs, pair_id
from mnemic.actors.knowledge.messages import (
    Conflict,
    ConflictSettled,
    ConflictsListed,
    EntityShown,
    Fact,
    FactsListed,
    FactState,
    ListConflicts,
    ListEntities,
    ListFacts,
    SettleConflict,
    ShowEntity,
)
from mnemic.actors.knowledge.queries import PairRecord, StatementRecord
from mnemic.actors.knowledge.read import said_of
from mnemic.algorithms.knowledge.contradiction import kind_slot
from mnemic.algorithms.knowledge.said import BECOMING, normal_value
from mnemic.algorithms.knowledge.self_contained import is_self_contained
from mnemic.algorithms.knowledge.slots import noun_of_name

_LOOKED_THROUGH = 2_000  # statements, where no thing is named
_MOST_NAMED = 4  # things with a longer name that are listed
_MOST_BY = 64  # letters of a name
_CURRENT: tuple[FactState, ...] = ("holds",)
_NUMBERED = re.compile(r"^(?:port|version|number) (?=\d)")  # "on port 8000" and "on 8000" are one


def list_facts(asked: ListFacts, snapshot: Snapshot, names: EntityNames, clock: Clock) -> FactsListed:
    """List what holds, and on request what held. The day asked for is one of the clock's zone.

    Raises:
        UnknownScope, UnknownEntity, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    within = asked_scope_numbers(asked.scope, snapshot)
    at = clock.now_us() if asked.at is None else day_end(local_day(asked.at, clock), clock) - 1
    relation = asked.relation.strip().casefold()
    entity, also = "", tuple[str, ...]()
    if not asked.entity:
        found = snapshot.statements_about(None, within, relation, _LOOKED_THROUGH, at, corrected=True)
    else:
        entity, also, found = _find_about(asked, relation, within, snapshot, names)
    told = _told_once(found, at, snapshot)
    facts = [one for one in told if asked.history or _is_listed(one)]
    shown, once = ({_clause(one) for one in some} for some in (facts[: asked.k], told))
    mine = [one.number for one in found if (one.memory, one.said.clause[0]) in shown]
    again = {one.number for one in found if (one.memory, one.said.clause[0]) not in once}
    open_now = open_pairs(snapshot.pairs_of(mine), snapshot)
    pairs = [one for one in open_now if one.older not in again and one.newer not in again]
    return FactsListed(
        facts=tuple(facts[: asked.k]),
        entity=entity,
        also_called=also,
        total=len(facts),
        conflicts=tuple(_conflicts(pairs, at, snapshot)),
        waiting=snapshot.knowledge_waiting()[0],
    )


def _find_about(
    asked: ListFacts, relation: str, within: frozenset[int] | None, snapshot: Snapshot, names: EntityNames
) -> tuple[str, tuple[str, ...], list[StatementRecord]]:
    """The thing that is asked for, its other names, and the statements that name it, the newest first.

    Where no statement names it, all count whose subject has its words in a longer name: ``staging host`` for ``host``.
    """
    error, entity, also, found = None, "", tuple[str, ...](), list[StatementRecord]()
    try:
        thing = names.find(asked.entity, within, snapshot, where_asked(asked.scope))
        entity, also = thing.entity.name, thing.entity.also_called
        found = statements_naming(thing.numbers, within, relation, snapshot)
    except UnknownEntity as unknown:
        error = unknown
    if not found and (longer := names.longer(asked.entity)):
        found = snapshot.statements_about(longer, within, relation, -1, corrected=True)
        subjects = list(dict.fromkeys(one.said.subject for one in found))
        if subjects:
            return ", ".join(subjects[:_MOST_NAMED] + ["…"] * (len(subjects) > _MOST_NAMED)), (), found
    if error is not None:
        raise error
    return entity, also, found


def _told_once(found: Sequence[StatementRecord], at: int, snapshot: Snapshot) -> list[Fact]:
    """Statements as facts, each thing that holds once: as it was said last, and since when it was said first.

    What one clause tells is one line: ``spans are days, not instants``.

    Args:
        found: the newest first.
    """
    pairs = snapshot.pairs_of([one.number for one in found])
    asked = {number for pair in open_pairs(pairs, snapshot) for number in (pair.older, pair.newer)}
    facts = list(zip(found, make_facts(found, at, snapshot, pairs), strict=True))
    told: dict[tuple[bytes, int], set[Any]] = {}  # by clause
    for one, fact in facts:
        if fact.state in _CURRENT and one.said.subject:
            what = (fact.modality, fact.holds_to, one.scope, *_told(one), fact.negative)
            told.setdefault(_clause(fact), set()).add(what)
    once: dict[Any, list[Fact]] = {}
    for one, fact in facts:
        is_known = fact.state in _CURRENT and one.said.subject
        same = frozenset(told[_clause(fact)]) if is_known else (fact.memory, fact.start_byte)
        asking = msgspec.structs.replace(fact, in_question=one.number in asked)
        once.setdefault(same, []).append(asking)
    return [_once(some) for some in once.values()]


def _once(some: Sequence[Fact]) -> Fact:
    """Return what several statements say in the words of the newest: of the user's newest, where the user says it."""
    said = [fact for fact in some if fact.role == "user"] or some
    newest = [fact for fact in said if _clause(fact) == _clause(said[0])]
    return msgspec.structs.replace(
        min(newest, key=lambda fact: (fact.negative, fact.start_byte)),
        holds_from=min(fact.holds_from for fact in some),
        in_question=any(fact.in_question for fact in some),
        times=len({fact.memory for fact in some}),
    )


def _clause(fact: Fact) -> tuple[bytes, int]:
    return fact.memory, fact.text_byte


def _told(one: StatementRecord) -> tuple[str, str, str]:
    """Subject, relation and value, the same for what says the same in other words: ``we use Postgres``."""
    written = to_text(one.text[slice(*one.said.value)])
    if noun_of_name(written) and (noun := kind_slot(said_of(one))):
        return noun, "be", normal_value(written)
    subject, relation = one.said.subject, BECOMING.get(one.said.relation, one.said.relation)
    if subject.endswith("'s name") and relation == "be":
        subject, relation = subject.removesuffix("'s name"), "call"
    return subject, relation, _NUMBERED.sub("", normal_value(written))


def _is_listed(fact: Fact) -> bool:
    """Say whether a fact is told as one that holds: it does, and can be read alone or is to be settled."""
    subject, value, clause = map(to_text, (fact.subject, fact.value, fact.text))
    happened, by_user = fact.rule == "event", fact.role == "user"
    return fact.state in _CURRENT and (
        fact.in_question or is_self_contained(subject, fact.relation, value, clause, happened=happened, by_user=by_user)
    )


def statements_naming(
    numbers: frozenset[int], within: frozenset[int] | None, relation: str, snapshot: Snapshot
) -> list[StatementRecord]:
    """Statements about a thing, and those whose value names it, the newest first.

    Args:
        numbers: of all its names.
    """
    found = {one.number: one for one in snapshot.statements_about(numbers, within, relation, -1, corrected=True)}
    places: dict[int, list[tuple[int, int]]] = {}
    for mention in snapshot.mentions(within, numbers, named=False):
        places.setdefault(mention.row, []).append(mention.span)
    newest = sorted(places)[-_LOOKED_THROUGH:]
    for one in snapshot.statements_of(newest):
        start, stop = one.said.value
        is_named = any(start <= first and last <= stop for first, last in places[one.row])
        if is_named and one.said.subject and (not relation or one.said.relation.casefold() == relation):
            found[one.number] = one
    return sorted(found.values(), key=lambda one: (one.said_at, one.number), reverse=True)


def show_entity(asked: ShowEntity, snapshot: Snapshot, names: EntityNames, clock: Clock) -> EntityShown:
    """Show a thing with all that is known of it.

    Raises:
        UnknownScope, UnknownEntity, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    within = asked_scope_numbers(asked.scope, snapshot)
    thing = names.find(asked.name, within, snapshot, where_asked(asked.scope))
    found = statements_naming(thing.numbers, within, "", snapshot)
    facts = [one for one in _told_once(found, clock.now_us(), snapshot) if one.state not in _CURRENT or _is_listed(one)]
    facts.sort(key=lambda one: one.state not in _CURRENT)  # the newest first, each
    return EntityShown(
        entity=thing.entity,
        facts=tuple(facts[: asked.k]),
        names=tuple(names.explained(thing, within, snapshot)),
        neighbours=neighbours(thing, asked.k, within, snapshot, names),
        memories=tuple(snapshot.ids_of(thing.rows[::-1][: asked.k])),
    )


def list_conflicts(asked: ListConflicts, snapshot: Snapshot, _: EntityNames, clock: Clock) -> ConflictsListed:
    """List what a person should settle, or what was settled.

    Raises:
        UnknownScope, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    pairs = snapshot.pairs(asked_scope_numbers(asked.scope, snapshot), is_open=not asked.replaced)
    if not asked.replaced:
        pairs = open_pairs(pairs, snapshot)
    return ConflictsListed(
        conflicts=tuple(_conflicts(pairs[: asked.k], clock.now_us(), snapshot)),
        total=len(pairs),
        waiting=snapshot.knowledge_waiting()[0],
    )


FACT_QUESTIONS: Mapping[type, Callable[[Any, Snapshot, EntityNames, Clock], Message]] = {
    ListFacts: list_facts,
    ListConflicts: list_conflicts,
    ListEntities: list_entities,
    ShowEntity: show_entity,
}
"""The messages that only ask, with what answers each."""


def settle(asked: SettleConflict, snapshot: Snapshot) -> tuple[SettleStatements, PairRecord]:
    """What is to be kept of a verdict, and the pair that it is about.

    Raises:
        UnknownScope, UnknownConflict, InvalidValue: what was asked for cannot be.
    """
    if not asked.by.strip() or len(asked.by) > _MOST_BY or not asked.by.isprintable():
        why, expected = "it is no name", f"who says so, in at most {_MOST_BY} letters"
        raise InvalidValue(name="by", value=asked.by[:_MOST_BY], why=why, expected=expected)
    pair = _pair_named(asked, snapshot)
    places = snapshot.places_of([pair.older, pair.newer])
    (older, older_start), (newer, newer_start) = places[pair.older], places[pair.newer]
    change = SettleStatements(
        older=older,
        older_start=older_start,
        newer=newer,
        newer_start=newer_start,
        verdict=asked.verdict,
        by=asked.by,
    )
    return change, pair


def settled(pair: PairRecord, snapshot: Snapshot, now_us: int, changed: bool) -> ConflictSettled:
    """A pair as it is once a verdict is kept."""
    found = [one for one in snapshot.pairs_of([pair.older]) if one.newer == pair.newer]
    (conflict,) = _conflicts(found or [pair._replace(verdict="", by="")], now_us, snapshot)
    return ConflictSettled(conflict=conflict, changed=changed)


def _conflicts(pairs: Sequence[PairRecord], at: int, snapshot: Snapshot) -> Iterator[Conflict]:
    numbers = {number for pair in pairs for number in (pair.older, pair.newer)}
    found = {one.number: one for one in snapshot.successors(sorted(numbers))}
    for pair in pairs:
        both = [found[pair.older], found[pair.newer]]
        older, newer = make_facts(both, at, snapshot, [pair])
        yield Conflict(
            id=pair_id((both[0].memory, both[0].said.value[0]), (both[1].memory, both[1].said.value[0])),
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
    for is_open in (True, False):
        pairs = snapshot.pairs(within, is_open=is_open)
        places = snapshot.places_of({number for pair in pairs for number in (pair.older, pair.newer)})
        for pair in pairs:
            if pair_id(places[pair.older], places[pair.newer]) == wanted:
                return pair
    raise UnknownConflict(id=asked.id[:_MOST_BY], where=where_asked(asked.scope))
