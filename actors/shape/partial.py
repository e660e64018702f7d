"""Ranks records by how much of a pattern they fit, where not all of it is right: some cue may be wrong or misspelt.

Each cue that a record fits adds evidence, the more the rarer what it fits (`mnemic.hd.evidence.cue_evidence`), and one
that it does not fit adds none: a wrong cue costs rank, not the answer. What is near fits in part: a day beside, an hour
beside, and of a name that nobody has, the names that are spelt like it. Filters (scope, session, times, a community)
are no cues, and stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.snapshot import filler_term
from mnemic.actors.shape.fillers import Sample, ShapeSearch
from mnemic.actors.shape.patterns import PatternPair
from mnemic.hd.encoders import match_kind
from mnemic.hd.evidence import MIN_SIMILARITY, WRONG_CUE, cue_evidence
from mnemic.hd.query import Matches
from mnemic.hd.records import Pair
from mnemic.hd.roles import Tier

Floats = NDArray[np.float64]

_MIN_FIT = 0.35
"""A record that fits less of what is asked is no hit."""
_NEAR_POWER, _SPELLING_POWER, _MEANING_POWER = 6, 6, 3
"""How much sooner a filler is the one meant than one that is less like it: in proportion to this power of likeness."""
_LEAST_LIKE = 1e-4
"""What is less like is not the one meant."""
_NO_CUES = ("worked",)
_WHOLE, _DIGITS = 0.999, 6
NOTHING = "nothing"
"""What is said to fill a role that a record has not got."""
_MIN_SUPPORT = 0.01
"""A record less probably meant than this supports no answer."""
_UNLIKE, _SAME = 0.15, 0.45
"""How alike names are spelt of which the one is not meant by the other, and surely is: of the names of the example, the
nearest other one is so like; and half of those with a letter wrong."""
_MISSPELT = 0.99
"""How like the name that was meant is to a misspelt one, beside 1 for the very same."""
_MIN_EVIDENCE = 0.01
"""Nats under which a filler is not looked up."""


class Cue(NamedTuple):
    """What one cue tells of the records of a tier."""

    role: str
    """What it was asked by."""
    pair: Pair | None
    """What was asked for; ``None`` for a text that they are near to."""
    evidence: Floats
    """``(n,)``, nats: of each record, dead ones too."""
    most: float
    """What a record that fits it whole would have."""


def read_cues(looking: ShapeSearch, tier: Tier, asked: Sequence[PatternPair]) -> list[Cue]:
    """What each pair of a pattern that has a name tells."""
    return [_cue(looking, tier, one) for one in asked]


def meaning_cue(looking: ShapeSearch, tier: Tier, role: str, near: Floats) -> Cue:
    """What a text tells that records are near to.

    Args:
        near: ``(v,)``, 0 to 1: how near each of the records looked through is.
    """
    evidence, places = np.zeros(len(looking.index.records[tier].row)), looking.visible(tier)
    if not len(places):
        return Cue(role, None, evidence, 0.0)
    told = cue_evidence(np.append(near**_MEANING_POWER, 1.0), np.append(np.full(len(near), 1 / len(near)), 0.0))
    evidence[places] = told[:-1]
    return Cue(role, None, evidence, float(told[-1]))


def partial_matches(
    looking: ShapeSearch, tier: Tier, cues: Sequence[Cue], without: NDArray[np.int64], most: int
) -> tuple[Matches, Sample]:
    """The records looked through that fit most of some cues, the best first, and those to be read for answers.

    `Matches.nearness` is how much of the evidence each has that one that fits all would have, 0 to 1. In the sample
    each counts as it is probable to be the one meant, if one of them is.

    Args:
        without: ``(f,) int64``: records that are told already.
        most: at most so many.
    """
    records, whole = looking.index.records[tier], sum(one.most for one in cues)
    total = np.sum([one.evidence for one in cues], axis=0) if cues else np.zeros(len(records.row))
    total[without] = 0.0
    for one in cues:  # what worked is asked for by those who want no other
        if one.role in _NO_CUES:
            total[one.evidence == 0] = 0.0
    places = records.among(np.flatnonzero(total >= max(_MIN_FIT * whole, _MIN_EVIDENCE)), looking.visible_memories)
    places = places[np.lexsort((-places, -np.round(total[places], _DIGITS)))][:most]
    shares = np.array([one.evidence[places] / max(one.most, _MIN_EVIDENCE) for one in cues]).reshape(len(cues), -1).T
    evidence = total[places]
    fit, probable = evidence / max(whole, _MIN_EVIDENCE), np.exp(evidence - evidence.max(initial=0.0))
    weights = fit.max(initial=0.0) * probable / max(probable.sum(), 1.0)
    return Matches(places, fit, shares), Sample(places, weights, weights > _MIN_SUPPORT)


def differences(looking: ShapeSearch, tier: Tier, cues: Sequence[Cue], place: int, shares: Floats) -> dict[str, str]:
    """What fills the roles of a record in which it differs from what was asked for.

    Args:
        shares: ``(c,)``: how well it fits each cue, 0 to 1.
    """
    found: dict[str, list[str]] = {}
    alone = Sample(np.array([place]), np.ones(1), np.ones(1, np.bool_))
    for cue, share in zip(cues, shares.tolist(), strict=True):
        if cue.pair is not None and share < _WHOLE:
            found.setdefault(cue.role, []).extend(looking.fill(tier, cue.pair.role, alone, cue.pair.shift))
    return {role: ", ".join(dict.fromkeys(names)) or NOTHING for role, names in found.items()}


def _cue(looking: ShapeSearch, tier: Tier, asked: PatternPair) -> Cue:
    records, pair = looking.index.records[tier], asked.pair
    count = max(1, records.alive_count)
    having, likeness, right = _like(looking, tier, pair)
    told = cue_evidence(likeness, np.array([len(one) / count for one in having], np.float64), right)
    evidence = np.zeros(len(records.row))
    for place in np.argsort(told):  # of several fillers of a record the best counts
        evidence[having[place]] = told[place]
    # what nobody has is as rare as anything can be
    rarest = float(cue_evidence(np.ones(1), np.array([1 / count]))[0])
    return Cue(asked.asked_role, pair, evidence, float(told.max()) if likeness.max(initial=0.0) == 1.0 else rarest)


def _like(looking: ShapeSearch, tier: Tier, pair: Pair) -> tuple[list[NDArray[np.int64]], Floats, float]:
    """Of each filler that may be the one meant the records that have it, and how like it is to the one asked for; and
    how probable it is that one of them is meant.
    """
    records = looking.index.records[tier]

    def having(numbers: Sequence[int]) -> NDArray[np.int64]:
        return records.having([filler_term(one, pair.shift) for one in numbers])

    if match_kind(pair.role) == "exact" and looking.knows(pair):
        return [having(looking.numbers(pair))], np.ones(1), 1 - WRONG_CUE
    items, right = looking.items(pair.role), 1 - WRONG_CUE
    if match_kind(pair.role) == "near":
        alike = looking.encoders.similarities(pair.role, items.names, str(pair.filler))
        alike = np.where(alike > MIN_SIMILARITY, alike**_NEAR_POWER, 0.0)
    else:
        alike = looking.spelt_like(pair)
        best = float(alike.max(initial=0.0))
        alike = _MISSPELT * (alike / max(best, MIN_SIMILARITY)) ** _SPELLING_POWER
        right *= min(1.0, max(0.0, best - _UNLIKE) / (_SAME - _UNLIKE))
    found: list[int] = np.flatnonzero(alike > _LEAST_LIKE).tolist() if right else []
    read = [having(items.numbers[place]) for place in found]
    kept = [place for place, one in enumerate(read) if len(one)]
    return [read[place] for place in kept], np.array([alike[found[place]] for place in kept], np.float64), right
