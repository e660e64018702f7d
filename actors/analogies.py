"""Analogies: A is to B as C is to what? What `mnemic.actors.shaping` does with three names.

A's records are bundled into a prototype, and the role that B fills in it is found by cleanup; in facts also the
relation in which the two stand. Then the records of C, of the same relation, are asked for what fills that role. A
name may be a day, an hour or a number too: those that have the very same are the nearest to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mnemic.actors.errors import InvalidValue
from mnemic.actors.shape_reading import Looking
from mnemic.actors.shapes import Answer
from mnemic.hd.encoders import canonical, match_of
from mnemic.hd.prototypes import filled_role
from mnemic.hd.query import Matches
from mnemic.hd.records import Pair
from mnemic.hd.roles import ROLES, Tier

__all__ = ["Analogy", "solve"]

_TIERS: tuple[Tier, ...] = ("fact", "step", "episode")
"""In this order: a fact relates two names, an episode merely has both."""
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
    """Solve an analogy; ``None`` where no record relates the first two, or none has the third in the first's role.

    Raises:
        InvalidValue: a name is one that no memory has.
    """
    first, second, third = (_roles(name, looking) for name in names)
    shared = [role for role in first if role in third]
    for tier in _TIERS:
        found = [_relation(names, second, tier, role, looking) for role in shared if tier in ROLES[role].tiers]
        relation = max(found, key=lambda one: one.records, default=None)
        if relation is not None and relation.records > _LEAST:
            break
    else:
        return None
    tier, role = relation.tier, relation.role
    third_one, said = Pair(role, canonical(role, names[2])), []
    if tier == "fact" and "relation" not in (role, relation.filled):
        said = _said(names, relation, looking)
    for also in [[one] for one in said] or [[]]:
        matches = _find(tier, [third_one, *also], looking)
        if (matches.probability * matches.nearness).max(initial=0.0) > _LEAST:
            break
    answers = looking.answers(tier, relation.filled, looking.meant(matches), k)
    lacking = ""
    if not answers:
        where = f", in the relation {' or '.join(repr(one.filler) for one in said)}" if said else ""
        lacking = (
            f"{names[1]!r} is the {relation.filled} where {names[0]!r} is the {role}{where}; {names[2]!r} has no such"
        )
    return Analogy(tier, matches, tuple(one.role for one in _in_order([third_one, *also])), answers, lacking)


def _find(tier: Tier, pairs: Sequence[Pair], looking: Looking) -> Matches:
    """The records that have all of some pairs; what is matched by nearness comes last."""
    ordered = _in_order(pairs)
    exact = [one for one in ordered if match_of(one.role) == "exact"]
    return looking.find(tier, exact, ordered[len(exact) :])


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


def _relation(names: tuple[str, ...], roles: list[str], tier: Tier, role: str, looking: Looking) -> _Relation:
    """The role that B fills where A fills one."""
    sample = looking.meant(_find(tier, [Pair(role, canonical(role, names[0]))], looking))
    others = [one for one in roles if tier in ROLES[one].tiers and (one != role or ROLES[one].many)]
    if not len(sample.places) or not others:
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
