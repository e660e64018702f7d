"""Analogies: A is to B as C is to what? What `mnemic.actors.shape.shape_recall` does with three names.

A's records are bundled into a prototype, and the role that B fills in it is found by cleanup; in facts also the
relation in which the two stand. Then the records of C, of the same relation, are asked for what fills that role. A
name may be a day, an hour or a number too: then only those count that have the very same.

Facts answer where A and B are parts of one, steps where one of the two is told of steps alone. What every memory has,
such as who and date, episodes answer: a fact was said on that day, but the day is no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.shape_messages import Answer
from mnemic.actors.shape.fillers import Looking
from mnemic.hd.encoders import canonical, match_of
from mnemic.hd.query import Matches
from mnemic.hd.records import Pair, filled_role
from mnemic.hd.roles import ROLES, Tier

__all__ = ["Analogy", "solve"]


class _Way(NamedTuple):
    """A way in which two names may belong together: the roles that they fill in records of a tier."""

    tier: Tier
    own: int
    """At least so many of the two roles are those of this tier alone, as subject and object are a fact's."""
    loose: bool = False
    """Whether it says little: one name is a part of a fact in which the other has none, or a topic among others."""


_FACT = _Way("fact", own=2)
_WAYS = (
    _FACT,
    _Way("step", own=1),
    _Way("episode", own=0),
    _Way("fact", own=1, loose=True),
    _Way("episode", own=0, loose=True),
)
"""In this order. Where one of the others relates the first two, no loose one is tried."""
_TOPIC = "topic"
"""A role in which names merely stand beside each other."""
_THING: dict[Tier, str] = {"fact": "fact", "step": "step", "episode": "memory"}
_LEAST = 0.5
"""Of fewer records nothing is known."""
_RELATIONS = 5
"""So many relations in which A and B stand are looked for at C, the most frequent first."""


class Analogy(NamedTuple):
    """What an analogy comes to."""

    tier: Tier
    """The records that it was found in."""
    matches: Matches
    """C's records."""
    asked: tuple[str, ...]
    """What each column of the matches' shares is."""
    answers: list[Answer]
    """What C has where A has B, the most confident first."""
    lacking: str
    """Where nothing is answered: what C lacks, a sentence for a person; else empty."""


class _Relation(NamedTuple):
    """How the first two stand to each other in the records of a tier."""

    records: float
    """How many of A's records probably have B in the role `filled`."""
    tier: Tier
    role: str
    filled: str


def solve(names: tuple[str, ...], looking: Looking, k: int) -> Analogy | None:
    """Solve an analogy; ``None`` where no record relates the first two in a role that the third has in any.

    Raises:
        InvalidValue: a name is one that no memory has.
    """
    first, second, third = (_roles(name, looking) for name in names)
    shared = [role for role in first if role in third]
    lacking: Analogy | None = None
    for way in _WAYS:
        if way.loose and lacking is not None:
            break
        relation = _related(names, second, way, shared, looking)
        if relation is None and way == _FACT:  # that a fact says it is known, whatever C is
            could = [role for role in first if _kept(role, names[2]) is not None]
            relation = _related(names, second, way, could, looking)
        if relation is None:
            continue
        found = _asked(names, relation, looking, k)
        if found.answers:
            return found
        lacking = lacking or found
    return lacking


def _asked(names: tuple[str, ...], relation: _Relation, looking: Looking, k: int) -> Analogy:
    """Ask C's records for what the relation of the first two says."""
    tier, role = relation.tier, relation.role
    third, said = Pair(role, canonical(role, names[2])), []
    if tier == "fact" and "relation" not in (role, relation.filled):
        said = _said(names, relation, looking)
    for also in [[one] for one in said] or [[]]:
        matches = _find(tier, [third, *also], looking)
        if (matches.probability * matches.nearness).max(initial=0.0) > _LEAST:
            break
    answers = looking.answers(tier, relation.filled, looking.meant(matches), k)
    lacking = "" if answers else _lacking(names, relation, said)
    return Analogy(tier, matches, tuple(one.role for one in _in_order([third, *also])), answers, lacking)


def _lacking(names: tuple[str, ...], relation: _Relation, said: Sequence[Pair]) -> str:
    records, role, filled = f"no {_THING[relation.tier]} looked through", relation.role, relation.filled
    known = f"{names[1]!r} is the {filled} where {names[0]!r} is the {role}"
    if not said:
        return f"{known}; {records} that has {names[2]!r} as its {role} has any {filled}"
    relations = " or ".join(repr(one.filler) for one in said)
    return f"{known}, in the relation {relations}; {records} has {names[2]!r} as its {role} in such a relation"


def _find(tier: Tier, pairs: Sequence[Pair], looking: Looking) -> Matches:
    """The records that have all of some pairs; what is matched by nearness comes last, and has to be the very same."""
    ordered = _in_order(pairs)
    exact = [one for one in ordered if match_of(one.role) == "exact"]
    near = ordered[len(exact) :]
    matches = looking.find(tier, exact, near)
    if near:  # where none has that day, those of the nearest one are found
        sample = looking.meant(matches)
        if not all(looking.has(tier, one, sample) > _LEAST for one in near):
            return Matches(matches.place[:0], matches.probability[:0], matches.nearness[:0], matches.shares[:0])
    return matches


def _in_order(pairs: Sequence[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda one: match_of(one.role) != "exact")


def _kept(role: str, name: str) -> str | None:
    """A name as records hold it in a role; ``None`` where it can be none of its fillers."""
    try:
        return canonical(role, name)
    except ValueError:
        return None


def _roles(name: str, looking: Looking) -> list[str]:
    """The roles that a name fills in any memory."""
    named = {role: _kept(role, name) for role in looking.encoders.space.roles if match_of(role) != "meaning"}
    found = [role for role, kept in named.items() if kept is not None and looking.items(role).having(kept)]
    if not found:
        raise InvalidValue(
            name="the analogy",
            value=name,
            why="no memory has it in any role",
            expected="three names that memories have; `mnemic shape --roles` shows some",
        )
    return found


def _related(
    names: tuple[str, ...], filled: list[str], way: _Way, roles: list[str], looking: Looking
) -> _Relation | None:
    """How the first two belong together in a way in which A fills one of some roles; ``None`` where they do not."""
    found = [_relation(names, filled, way, role, looking) for role in roles if way.tier in ROLES[role].tiers]
    best = max(found, key=lambda one: one.records, default=None)
    return best if best is not None and best.records > _LEAST else None


def _relation(names: tuple[str, ...], filled: list[str], way: _Way, role: str, looking: Looking) -> _Relation:
    """The role that B fills where A fills one."""
    tier = way.tier
    others = [
        one
        for one in filled
        if tier in ROLES[one].tiers
        and (one != role or ROLES[one].many)
        and (one != _TOPIC or way.loose)
        and sum(ROLES[each].tiers == (tier,) for each in (role, one)) >= way.own
    ]
    if not others:
        return _Relation(0.0, tier, role, role)
    sample = looking.meant(_find(tier, [Pair(role, canonical(role, names[0]))], looking))
    if not len(sample.places):
        return _Relation(0.0, tier, role, role)
    pairs = [Pair(one, canonical(one, names[1])) for one in others]
    best = filled_role(looking.common(tier, sample), looking.encoders.pairs(pairs), looking.index.algebra)
    return _Relation(len(sample.places) * looking.has(tier, pairs[best], sample), tier, role, others[best])


def _said(names: tuple[str, ...], relation: _Relation, looking: Looking) -> list[Pair]:
    """The relations that are said of A and B, as pairs, what is said most first; none where nothing is."""
    both = [
        Pair(relation.role, canonical(relation.role, names[0])),
        Pair(relation.filled, canonical(relation.filled, names[1])),
    ]
    told = looking.answers("fact", "relation", looking.meant(_find("fact", both, looking)), _RELATIONS)
    return [Pair("relation", one.filler) for one in told]
