"""Answers "A is to B as C is to what?" from the records of the memories.

The role that B fills in most of A's records is found; in facts also the
relation in which the two stand. Then the records of C, of the same relation, are asked for what fills that role. A
name may be a day, an hour or a number too: then only those count that have the very same.

Facts answer where A and B are parts of one, or where a path of several leads from A to B
(`mnemic.actors.shape.questions.fact_paths`), steps where one of the two is told of steps alone. What every memory has,
such as who and date, episodes answer: a fact was said on that day, but the day is no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.shape.fillers import MAX_MATCHES, ShapeSearch
from mnemic.actors.shape.messages import Answer
from mnemic.actors.shape.questions.fact_paths import FactGraph
from mnemic.hd.encoders import canonical, match_kind
from mnemic.hd.query import Matches, best_matches
from mnemic.hd.records import Pair
from mnemic.hd.roles import ROLES, Tier


class _RelationPattern(NamedTuple):
    """A way in which two names may belong together: the roles that they fill in records of a tier."""

    tier: Tier
    min_own_roles: int
    """At least so many of the two roles are those of this tier alone, as subject and object are a fact's."""
    is_loose: bool = False
    """Whether it says little: one name is a part of a fact in which the other has none, or a topic among others."""


_FACT = _RelationPattern("fact", min_own_roles=2)
_RELATION_PATTERNS = (
    _FACT,
    _RelationPattern("step", min_own_roles=1),
    _RelationPattern("episode", min_own_roles=0),
    _RelationPattern("fact", min_own_roles=1, is_loose=True),
    _RelationPattern("episode", min_own_roles=0, is_loose=True),
)
"""In this order. Where one of the others relates the first two, no loose one is tried."""
_TOPIC = "topic"
"""A role in which names merely stand beside each other."""
_THING: dict[Tier, str] = {"fact": "fact", "step": "step", "episode": "memory"}
_MIN_RECORDS = 0.5
"""Of fewer records nothing is known."""
_RELATIONS = 5
"""So many relations in which A and B stand are looked for at C, the most frequent first."""


class AnalogyResult(NamedTuple):
    """What an analogy comes to."""

    tier: Tier
    """The records that it was found in."""
    matches: Matches
    """C's records."""
    pair_roles: tuple[str, ...]
    """What each column of the matches' shares is."""
    answers: list[Answer]
    """What C has where A has B, the most confident first."""
    missing_reason: str
    """Where nothing is answered: what C lacks, a sentence for a person; else empty."""


class _Relation(NamedTuple):
    """How the first two stand to each other in the records of a tier."""

    records: float
    """How many of A's records probably have B in the role `filled`."""
    tier: Tier
    role: str
    filled: str


def solve(names: tuple[str, ...], looking: ShapeSearch, k: int) -> AnalogyResult | None:
    """Solve an analogy; ``None`` where no record relates the first two in a role that the third has in any.

    Raises:
        InvalidValue: a name is one that no memory has.
    """
    filled = [_roles_filled_by(name, looking) for name in names]
    if not all(filled):  # it may be a part of what facts say: `norway` of "the capital of Norway"
        found = _over_facts(names, looking, k)
        return found or _refuse(names[filled.index([])], looking)
    first, second, third = filled
    shared = [role for role in first if role in third]
    lacking: AnalogyResult | None = None
    for way in _RELATION_PATTERNS:
        if way.is_loose and lacking is not None:
            break
        relation = _best_relation(names, second, way, shared, looking)
        if relation is None and way == _FACT:  # that a fact says it is known, whatever C is
            could = [role for role in first if _canonical_or_none(role, names[2]) is not None]
            relation = _best_relation(names, second, way, could, looking)
        found = None if relation is None else _query_third(names, relation, looking, k)
        if found is not None and found.answers:
            return found
        lacking = lacking or found
        if way == _FACT:  # what no fact says itself, several together may
            over_facts = _over_facts(names, looking, k)
            if over_facts is not None:
                return over_facts
    return lacking


def _over_facts(names: tuple[str, ...], looking: ShapeSearch, k: int) -> AnalogyResult | None:
    """The same path of relations followed from C that leads from A to B; ``None`` where none does."""
    kept = [_canonical_or_none("subject", name) for name in names]
    if None in kept:
        return None
    first, second, third = (str(one).lower() for one in kept)
    graph = FactGraph(looking)
    if not all(one in graph for one in (first, second, third)):
        return None
    found = graph.solve(first, second, third, k)
    if not found.answers:
        return None
    places = np.array(found.places, np.int64)
    matches = best_matches(places, np.ones((len(places), 1)), MAX_MATCHES)
    return AnalogyResult("fact", matches, ("fact",), found.answers, "")


def _query_third(names: tuple[str, ...], relation: _Relation, looking: ShapeSearch, k: int) -> AnalogyResult:
    """Ask C's records for what the relation of the first two says."""
    tier, role = relation.tier, relation.role
    third, said = Pair(role, canonical(role, names[2])), []
    if tier == "fact" and "relation" not in (role, relation.filled):
        said = _stated_relations(names, relation, looking)
    for also in [[one] for one in said] or [[]]:
        matches = _find(tier, [third, *also], looking)
        if len(matches.row):
            break
    found = looking.answers(tier, relation.filled, looking.sample_matches(matches), k)
    answers = [one for one in found if one.filler.lower() != names[2].strip().lower()]  # C is no answer for itself
    lacking = "" if answers else _missing_reason(names, relation, said)
    return AnalogyResult(tier, matches, tuple(one.role for one in _in_order([third, *also])), answers, lacking)


def _missing_reason(names: tuple[str, ...], relation: _Relation, said: Sequence[Pair]) -> str:
    records, role, filled = f"no {_THING[relation.tier]} looked through", relation.role, relation.filled
    known = f"{names[1]!r} is the {filled} where {names[0]!r} is the {role}"
    if not said:
        return f"{known}; {records} that has {names[2]!r} as its {role} has any {filled}"
    relations = " or ".join(repr(one.filler) for one in said)
    return f"{known}, in the relation {relations}; {records} has {names[2]!r} as its {role} in such a relation"


def _find(tier: Tier, pairs: Sequence[Pair], looking: ShapeSearch) -> Matches:
    """The records that have all of some pairs; what is matched by nearness comes last, and has to be the very same."""
    ordered = _in_order(pairs)
    places = looking.having(tier, ordered)
    return best_matches(places, np.ones((len(places), len(ordered))), MAX_MATCHES)


def _in_order(pairs: Sequence[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda one: match_kind(one.role) != "exact")


def _canonical_or_none(role: str, name: str) -> str | None:
    """A name as records hold it in a role; ``None`` where it can be none of its fillers."""
    try:
        return canonical(role, name)
    except ValueError:
        return None


def _roles_filled_by(name: str, looking: ShapeSearch) -> list[str]:
    """The roles that a name fills in any memory of the scopes asked for; none where no memory has it."""
    named = {
        role: _canonical_or_none(role, name) for role in looking.encoders.space.roles if match_kind(role) != "meaning"
    }
    return [role for role, kept in named.items() if kept is not None and looking.knows(Pair(role, kept))]


def _refuse(name: str, looking: ShapeSearch) -> NoReturn:
    raise InvalidValue(
        name="the analogy",
        value=name,
        why=f"no memory {'' if looking.within is None else 'of the scopes looked through '}has it in any role",
        expected="three names that memories have; `mnemic shape --roles` shows some",
    )


def _best_relation(
    names: tuple[str, ...], filled: list[str], way: _RelationPattern, roles: list[str], looking: ShapeSearch
) -> _Relation | None:
    """How the first two belong together in a way in which A fills one of some roles; ``None`` where they do not."""
    found = [_relation(names, filled, way, role, looking) for role in roles if way.tier in ROLES[role].tiers]
    best = max(found, key=lambda one: one.records, default=None)
    return best if best is not None and best.records > _MIN_RECORDS else None


def _relation(
    names: tuple[str, ...], filled: list[str], way: _RelationPattern, role: str, looking: ShapeSearch
) -> _Relation:
    """The role that B fills where A fills one."""
    tier = way.tier
    others = [
        one
        for one in filled
        if tier in ROLES[one].tiers
        and (one != role or ROLES[one].many)
        and (one != _TOPIC or way.is_loose)
        and sum(ROLES[each].tiers == (tier,) for each in (role, one)) >= way.min_own_roles
    ]
    if not others:
        return _Relation(0.0, tier, role, role)
    sample = looking.sample_matches(_find(tier, [Pair(role, canonical(role, names[0]))], looking))
    if not len(sample.indices):
        return _Relation(0.0, tier, role, role)
    pairs = [Pair(one, canonical(one, names[1])) for one in others]
    shares = [looking.share(tier, one, sample) for one in pairs]
    best = int(np.argmax(shares))
    return _Relation(len(sample.indices) * shares[best], tier, role, others[best])


def _stated_relations(names: tuple[str, ...], relation: _Relation, looking: ShapeSearch) -> list[Pair]:
    """The relations that are said of A and B, as pairs, what is said most first; none where nothing is."""
    both = [
        Pair(relation.role, canonical(relation.role, names[0])),
        Pair(relation.filled, canonical(relation.filled, names[1])),
    ]
    told = looking.answers("fact", "relation", looking.sample_matches(_find("fact", both, looking)), _RELATIONS)
    return [Pair("relation", one.filler) for one in told]
