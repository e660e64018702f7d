"""Analogies: A is to B as C is to what? What `mnemic.actors.shaping` does with three names.

A's records are bundled into a prototype, and the role that B fills in it is found by cleanup; in facts also the
relation in which the two stand. Then the records of C, of the same relation, are asked for what fills that role.
"""

from __future__ import annotations

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
    exact = [Pair(role, canonical(role, names[2]))]
    if tier == "fact" and "relation" not in (role, relation.filled):
        exact += _said(names, relation, looking)
    matches = looking.find(tier, exact)
    answers = looking.answers(tier, relation.filled, looking.meant(matches), k)
    return Analogy(tier, matches, tuple(one.role for one in exact), answers)


def _roles(name: str, looking: Looking) -> list[str]:
    """The roles that a name fills in any memory."""
    symbols = [role for role in looking.encoders.space.roles if match_of(role) == "exact"]
    found = [role for role in symbols if looking.items(role).having(canonical(role, name))]
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
    sample = looking.meant(looking.find(tier, [Pair(role, canonical(role, names[0]))]))
    others = [one for one in roles if tier in ROLES[one].tiers and (one != role or ROLES[one].many)]
    if not len(sample.places) or not others:
        return _Relation(0.0, tier, role, role)
    pairs = [Pair(one, canonical(one, names[1])) for one in others]
    best = filled_role(looking.common(tier, sample), looking.encoders.pairs(pairs), looking.index.algebra)
    return _Relation(len(sample.places) * looking.has(tier, pairs[best], sample), tier, role, others[best])


def _said(names: tuple[str, ...], relation: _Relation, looking: Looking) -> list[Pair]:
    """The relation that is said of A and B most, as a pair; none where nothing is."""
    both = [
        Pair(relation.role, canonical(relation.role, names[0])),
        Pair(relation.filled, canonical(relation.filled, names[1])),
    ]
    told = looking.answers("fact", "relation", looking.meant(looking.find("fact", both)), 1)
    return [Pair("relation", one.filler) for one in told]
