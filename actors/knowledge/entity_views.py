"""Things that memories name, as they are listed and shown, read from one snapshot; and which names are of one thing.

Names that mean the same are found by `mnemic.algorithms.knowledge.entities.aliases`, of what stands in the scopes that
are asked for alone, and what a person merged goes before that. Below `mnemic.actors.knowledge.knowledge`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, get_args

from mnemic.actors.index.query import asked_scope_numbers
from mnemic.actors.index.validate import check_count
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import InvalidValue, UnknownEntity
from mnemic.actors.kernel.scope_paths import did_you_mean
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.knowledge.changes import MergeEntities
from mnemic.actors.knowledge.messages import (
    EntitiesListed,
    Entity,
    EntityName,
    EntityNeighbour,
    ListEntities,
    MergeNames,
    NamesMerged,
)
from mnemic.actors.knowledge.queries import EntityRecord, MentionRecord
from mnemic.algorithms.knowledge.entities.aliases import AliasLink, EntitySeen, alias_links, resolve
from mnemic.algorithms.knowledge.entities.keys import entity_key, subject_key
from mnemic.algorithms.knowledge.entities.nouns import Kind

_MOST_NEAR = 3
_MOST_NAME = 80  # letters of a name that is not there that are said back
_KINDS = get_args(Kind)
_ME = "@user"
_OTHERS = ("@we", "@assistant", "@system", "@tool")
_MERGED = "you merged them"


class Thing(NamedTuple):
    """A thing that is named within some scopes."""

    key: str
    """Normal form of the name that it goes by."""
    numbers: frozenset[int]
    """Numbers of all its names."""
    entity: Entity
    """As it is told."""
    rows: tuple[int, ...]
    """Rows of the memories that name it, ascending."""


class EntityNames:
    """Which names are of one thing, as far as some scopes tell; kept until the store changes."""

    def __init__(self) -> None:
        self._of: Any = None
        self._records: dict[str, EntityRecord] = {}
        self._owned: dict[str, list[str]] = {}
        self._stands_for: dict[str, str] = {}
        self._links: list[AliasLink] = []

    def sync(self, within: Collection[int] | None, snapshot: Snapshot) -> None:
        """Find them as of a snapshot, by what stands within some scopes alone: no name of others tells anything."""
        of = (snapshot.generation, snapshot.seq, None if within is None else frozenset(within))
        if self._of == of:
            return
        mentioned = snapshot.mentions(within, None, named=False)
        here = {one.entity for one in mentioned} | snapshot.subjects(within)
        records = {one.key: one for one in snapshot.entities() if one.number in here}
        marks = {one.mark: one.key for one in records.values()}
        merges = [
            (marks[one], marks[other]) for one, other in snapshot.entity_merges() if one in marks and other in marks
        ]
        self._links = alias_links(_seen(records.values(), mentioned))
        self._stands_for = resolve(self._links, merges)
        self._links += [AliasLink(key, into, _MERGED) for key, into in merges]
        self._owned = {}
        for key in records:
            if key.startswith("@") and "'s " in key:
                tail = key.partition("'s ")[2]
                for name in {tail, tail.rpartition(" ")[2]}:  # "my wife Nora" is found by "Nora", too
                    self._owned.setdefault(name, []).append(key)
        self._records, self._of = records, of

    def numbers(self, key: str) -> frozenset[int]:
        """Numbers of all names of what a name, given in its normal form, stands for; with what somebody of that name
        says of themselves, and what is somebody's own of that name (``my sister``).
        """
        main = self._stands_for.get(key, key)
        same = {one for one, other in self._stands_for.items() if other == main} | {main}
        own = {each for one in same for each in (f"@{one}", *self._owned.get(one, ()))}
        if key == _ME and key not in self._records:  # whoever is named as the speaker of what a user says
            own |= {one for one in self._records if one.startswith("@") and "'s " not in one and one not in _OTHERS}
        return frozenset(self._records[one].number for one in same | own if one in self._records)

    def record(self, name: str) -> EntityRecord | None:
        """A name as it is kept."""
        return self._records.get(entity_key(name))

    def find(self, name: str, within: Collection[int] | None, snapshot: Snapshot, where: str = "") -> Thing:
        """What a name stands for within some scopes.

        Raises:
            UnknownEntity: nothing of that name is there.
        """
        self.sync(within, snapshot)
        key = entity_key(name) or subject_key(name.strip(), None, "user")  # "me", "we"
        numbers = self.numbers(key)
        found = snapshot.mentions(within, numbers, named=True) if numbers else []
        if not found and not (numbers and snapshot.statements_about(numbers, within, "", 1)):
            raise UnknownEntity(name=name[:_MOST_NAME], where=where, near=self._near(key, within, snapshot))
        return self._thing(self._stands_for.get(key, key), numbers, found, name.strip())

    def longer(self, name: str) -> frozenset[int]:
        """Numbers of the longer names, in the scopes of the last `sync`, that hold all words of a name."""
        words = set(entity_key(name).split())
        return frozenset(one.number for one in self._records.values() if words and words < set(one.key.split()))

    def things(self, within: Collection[int] | None, snapshot: Snapshot) -> list[tuple[str, set[int], str]]:
        """The things named within some scopes: key, rows of memories, and kind; those named most first."""
        self.sync(within, snapshot)
        key_of = {one.number: one.key for one in self._records.values()}
        rows: dict[str, set[int]] = defaultdict(set)
        kinds: dict[str, Counter[str]] = defaultdict(Counter)
        for one in snapshot.mentions(within, None, named=False):
            main = self._stands_for.get(key_of[one.entity], key_of[one.entity])
            rows[main].add(one.row)
            kinds[main][one.kind] += 1
        order = sorted(rows, key=lambda key: (-len(rows[key]), key))
        return [(key, rows[key], _kind(kinds[key])) for key in order]

    def thing(self, key: str, within: Collection[int] | None, snapshot: Snapshot) -> Thing:
        """One of `things`, with its names."""
        numbers = self.numbers(key)
        return self._thing(key, numbers, snapshot.mentions(within, numbers, named=True), key)

    def explained(self, thing: Thing, within: Collection[int] | None, snapshot: Snapshot) -> list[EntityName]:
        """Why the names of a thing are taken for one, as far as they stand in some scopes."""
        spelled = _spellings(snapshot.mentions(within, thing.numbers, named=True))
        by_key = {one.key: one.number for one in self._records.values() if one.number in thing.numbers}
        told = [EntityName(name=thing.entity.name, why="")]
        for link in self._links:
            number = by_key.get(link.key)
            if number in spelled and link.into in by_key:
                told.append(EntityName(name=spelled[number].most_common(1)[0][0], why=link.why))
        return told

    def merged(self, asked: MergeNames, snapshot: Snapshot, changed: bool) -> NamesMerged:
        """What a name stands for, once that is kept."""
        return NamesMerged(entity=self.find(asked.name, None, snapshot).entity, changed=changed)

    def _thing(self, key: str, numbers: frozenset[int], found: Sequence[MentionRecord], asked: str) -> Thing:
        """What has some names, by those that were found; where none was, by the one that was asked for: another may
        stand in another scope alone.
        """
        spelled = _spellings(found)
        own = self._records.get(key)
        names = Counter[str]()
        for each in spelled.values():
            names.update(each)
        of_own = spelled.get(own.number) if own is not None else None
        name = (of_own or names).most_common(1)[0][0] if names else asked
        others = {entity_key(one) for one in names} - {entity_key(name)}
        also = [one for one, _ in names.most_common() if entity_key(one) in others]
        kinds = Counter(one.kind for one in found)
        rows = tuple(sorted({one.row for one in found}))
        entity = Entity(
            name=name,
            kind=_kind(kinds),
            memories=len(rows),
            also_called=tuple({entity_key(one): one for one in reversed(also)}.values())[::-1],
            last_at=max((one.said_at for one in found), default=None),
        )
        return Thing(key, numbers, entity, rows)

    def _near(self, key: str, within: Collection[int] | None, snapshot: Snapshot) -> str:
        named = {one.entity for one in snapshot.mentions(within, None, named=False)}
        here = {one.key: one.name for one in self._records.values() if one.number in named}  # no "@user" among them
        return did_you_mean(here[one] for one in get_close_matches(key, here, _MOST_NEAR))


def list_entities(asked: ListEntities, snapshot: Snapshot, names: EntityNames, _: Clock) -> EntitiesListed:
    """List what is named, most often first.

    Raises:
        UnknownScope, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    within = asked_scope_numbers(asked.scope, snapshot)
    kind = asked.kind.strip().casefold()
    if kind and kind not in _KINDS:
        raise InvalidValue(
            name="a kind", value=asked.kind, why="it is not known", expected=f"one of {', '.join(_KINDS)}"
        )
    every = [key for key, _, its in names.things(within, snapshot) if kind in ("", its)]
    return EntitiesListed(
        entities=tuple(names.thing(key, within, snapshot).entity for key in every[: asked.k]),
        total=len(every),
        waiting=snapshot.knowledge_waiting()[0],
    )


def neighbours(
    thing: Thing, k: int, within: Collection[int] | None, snapshot: Snapshot, names: EntityNames
) -> tuple[EntityNeighbour, ...]:
    """What is named beside a thing, in most memories first."""
    mine = set(thing.rows)
    beside = [(key, len(rows & mine)) for key, rows, _ in names.things(within, snapshot) if key != thing.key]
    best = sorted((one for one in beside if one[1]), key=lambda one: (-one[1], one[0]))[:k]
    found = []
    for key, shared in best:
        entity = names.thing(key, within, snapshot).entity
        found.append(EntityNeighbour(name=entity.name, kind=entity.kind, memories=shared))
    return tuple(found)


def merge_names(asked: MergeNames, snapshot: Snapshot, names: EntityNames) -> MergeEntities:
    """What is to be kept where a person says that two names are of one thing.

    Raises:
        UnknownEntity: one of them is not known.
        InvalidValue: they are one name already.
    """
    names.sync(None, snapshot)
    marks = []
    for name in (asked.name, asked.into) if asked.into else (asked.name,):
        record = names.record(name)
        if record is None:
            names.find(name, None, snapshot)  # which says what is near
            raise UnknownEntity(name=name, where="", near="")
        marks.append(record.mark)
    if len(set(marks)) < len(marks):
        why, expected = "it is the same name", "another name"
        raise InvalidValue(name="the other name", value=asked.into, why=why, expected=expected)
    return MergeEntities(entity=marks[0], into=marks[1] if asked.into else b"")


def _seen(records: Iterable[EntityRecord], mentions: Sequence[MentionRecord]) -> list[EntitySeen]:
    sessions: dict[int, set[int]] = defaultdict(set)
    kinds: dict[int, Counter[str]] = defaultdict(Counter)
    for one in mentions:
        sessions[one.entity].add(one.session)
        kinds[one.entity][one.kind] += 1
    return [
        EntitySeen(
            key=one.key,
            name=one.name,
            kind=_kind(kinds[one.number]),
            sessions=frozenset(sessions[one.number]),
        )
        for one in records
    ]


def _kind(kinds: Counter[str]) -> str:
    """What most of its mentions tell it is, if any tells."""
    told = [(count, kind) for kind, count in kinds.items() if kind != "thing"]
    return max(told)[1] if told else "thing"


def _spellings(found: Sequence[MentionRecord]) -> dict[int, Counter[str]]:
    spelled: dict[int, Counter[str]] = defaultdict(Counter)
    for one in found:
        spelled[one.entity][one.name] += 1
    return spelled
