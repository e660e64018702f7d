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

from mnemic.actors.shape.about import TextQuery
from mnemic.actors.shape.fillers import Sample, ShapeSearch
from mnemic.actors.shape.patterns import PatternPair
from mnemic.actors.shape.queries import filler_term
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
_UNLIKE, _SAME = 0.3, 0.5
"""How alike names are spelt of which the one is not meant by the other, and surely is: of the names of the example, the
nearest other one is so like; and half of those with a letter wrong."""
_SUGGESTED = 0.5
"""How probable it is that one name is meant by another which is told in its place."""
_MISSPELT = 0.99
"""How like the name that was probably meant is to the one that was asked for, beside 1 for the very same."""
_RIGHT, _SURE = 1 - WRONG_CUE, 0.7
"""How probable it is that a cue is right; and that a name is meant by one that is spelt most like it."""
_NO_CUES = ("worked",)
"""What is asked for by those who want no other."""
_WHOLE, _DIGITS = 0.999, 6
_MIN_SUPPORT = 0.01
"""A record less probably meant than this supports no answer."""
_MIN_EVIDENCE = 0.01
"""Nats that are none."""


class Cue(NamedTuple):
    """What one cue tells of the records of a tier, `n` of them."""

    role: str
    """What it was asked by."""
    pairs: tuple[Pair, ...]
    """What was asked for: several of steps, which a record fits together or not at all; none for a text."""
    evidence: Floats
    """``(n,)``, nats: of each record, dead ones too."""
    most: float
    """What a record that fits it whole would have."""
    fit: Floats
    """``(n,)``: how well each fits it, 0 to 1; of what is matched by nearness, how near it is."""


def read_cues(looking: ShapeSearch, tier: Tier, asked: Sequence[PatternPair]) -> list[Cue]:
    """What each role of a pattern that has names tells."""
    by_role: dict[str, list[Pair]] = {}
    for one in asked:
        by_role.setdefault(one.asked_role, []).append(one.pair)
    return [_cue(looking, tier, role, tuple(pairs)) for role, pairs in by_role.items()]


def text_cue(looking: ShapeSearch, tier: Tier, text: TextQuery) -> Cue:
    """What a text tells that records are near to."""
    records, places = looking.index.records[tier], looking.visible(tier)
    near, role = text.nearness(records.position[places]), text.role
    evidence, fit = np.zeros(len(records.row)), np.zeros(len(records.row))
    if not len(places):
        return Cue(role, (), evidence, 0.0, fit)
    told = cue_evidence(np.append(near**_MEANING_POWER, 1.0), np.append(np.full(len(near), 1 / len(near)), 0.0))
    evidence[places], fit[places] = told[:-1], near
    return Cue(role, (), evidence, float(told[-1]), fit)


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
    records, whole = looking.index.records[tier], sum(one.most for one in cues if one.role not in _NO_CUES)
    total = np.zeros(len(records.row))
    for one in cues:
        total += 0.0 if one.role in _NO_CUES else one.evidence
    for one in cues:
        if one.role in _NO_CUES:
            total[one.evidence <= 0] = 0.0
    total[without] = 0.0
    places = records.among(np.flatnonzero(total >= max(_MIN_FIT * whole, _MIN_EVIDENCE)), looking.visible_memories)
    places = places[np.lexsort((-places, -np.round(total[places], _DIGITS)))][:most]
    shares = np.array([one.fit[places] for one in cues]).reshape(len(cues), -1).T
    evidence = total[places]
    score, probable = evidence / max(whole, _MIN_EVIDENCE), np.exp(evidence - evidence.max(initial=0.0))
    weights = score.max(initial=0.0) * probable / max(probable.sum(), 1.0)
    return Matches(places, score, shares), Sample(places, weights, weights > _MIN_SUPPORT)


def differences(looking: ShapeSearch, tier: Tier, cues: Sequence[Cue], place: int, shares: Floats) -> dict[str, str]:
    """What fills the roles of a record in which it differs from what was asked for; empty where nothing does.

    Args:
        shares: ``(c,)``: how well it fits each cue, 0 to 1.
    """
    alone = Sample(np.array([place]), np.ones(1), np.ones(1, np.bool_))
    found = {}
    for cue, share in zip(cues, shares.tolist(), strict=True):
        if cue.pairs and share < _WHOLE:
            steps: dict[int, list[str]] = {}
            for pair in cue.pairs:
                steps.setdefault(pair.shift, []).extend(looking.fill(tier, pair.role, alone, pair.shift))
            apart = " " if len(cue.pairs) > 1 else ", "
            found[cue.role] = ", ".join(apart.join(dict.fromkeys(names)) for names in steps.values())
    return found


def _cue(looking: ShapeSearch, tier: Tier, role: str, pairs: tuple[Pair, ...]) -> Cue:
    """What a cue tells of each record, beside the memories of the scopes asked for: no other counts."""
    records, count = looking.index.records[tier], max(1, looking.reach_count(tier))
    having, likeness, right = _like(looking, tier, pairs)
    shares = np.array([len(one) / count for one in having], np.float64)
    if not (
        likeness == 1.0
    ).any():  # what nobody has is as rare as anything can be, and takes its share of what is like it
        likeness, shares, having = np.append(likeness, 1.0), np.append(shares, 1 / count), [*having, _NONE]
    told, best = cue_evidence(likeness, shares, right), cue_evidence(likeness, shares, _RIGHT)
    evidence, fit = np.zeros(len(records.row)), np.zeros(len(records.row))
    most = float(best[likeness == 1.0][0])
    for place in np.argsort(told):  # of several fillers of a record the best counts
        evidence[having[place]] = told[place]
        near = match_kind(pairs[0].role) == "near"
        fit[having[place]] = likeness[place] ** (1 / _NEAR_POWER) if near else min(1.0, told[place] / most)
    return Cue(role, pairs, evidence, most, fit)


_NONE = np.empty(0, np.int64)


def _like(looking: ShapeSearch, tier: Tier, pairs: tuple[Pair, ...]) -> tuple[list[NDArray[np.int64]], Floats, float]:
    """Of each filler that may be the one meant the records that have it, and how like it is to the one asked for; and
    how probable it is that one of them is meant.
    """
    records, pair = looking.index.records[tier], pairs[0]

    def having(numbers: Sequence[int]) -> NDArray[np.int64]:
        return records.among(records.having([filler_term(one, pair.shift) for one in numbers]), looking.reach)

    if len(pairs) > 1 or (match_kind(pair.role) == "exact" and looking.knows(pair)):
        found = looking.having(tier, pairs, looking.reach)
        return [found] if len(found) else [], np.ones(int(len(found) > 0)), _RIGHT
    items = looking.items(pair.role)
    if match_kind(pair.role) == "near":
        alike = looking.encoders.similarities(pair.role, items.names, str(pair.filler))
        alike, right = np.where(alike > MIN_SIMILARITY, alike**_NEAR_POWER, 0.0), _RIGHT
    else:
        spelt = looking.spelt_like(pair)
        best = float(spelt.max(initial=0.0))
        # the likest takes the place of the one asked for, as probably as that was misspelt
        alike, right = _MISSPELT * (spelt / max(best, MIN_SIMILARITY)) ** _SPELLING_POWER, _SURE * _meant(best)
    places: list[int] = np.flatnonzero(alike > _LEAST_LIKE).tolist() if right else []
    read = [having(items.numbers[place]) for place in places]
    kept = [place for place, one in enumerate(read) if len(one)]
    return [read[place] for place in kept], np.array([alike[places[place]] for place in kept], np.float64), right


def _meant(likeness: float) -> float:
    """How probable it is that one name is meant by another that is spelt so like it."""
    return min(1.0, max(0.0, likeness - _UNLIKE) / (_SAME - _UNLIKE))


def meant_by(looking: ShapeSearch, pair: Pair, most: int) -> list[str]:
    """The names that may be meant by one that nobody has, the likest first."""
    spelt = looking.spelt_like(pair)
    order = np.argsort(-spelt, kind="stable")[:most].tolist()
    return [looking.items(pair.role).names[place] for place in order if _meant(float(spelt[place])) >= _SUGGESTED]
