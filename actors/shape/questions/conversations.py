"""Which conversation had all of these? The cues of a pattern are looked for in whole conversations, not in one memory.

What had all of it comes first. Else, and among those, each cue speaks for a conversation by how often it was there
beside how often it is anywhere, as for a query and a document (J. Ponte and W. Croft, "A language modeling approach to
information retrieval", 1998): a wrong one costs rank, not the answer. Cues may be of several kinds of records: a fact,
a step and a file that were there at some time of the same conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.log.queries import Columns
from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.messages import Answer
from mnemic.actors.shape.patterns import SESSION, PatternPair
from mnemic.actors.shape.questions.partial import Cue, read_cues
from mnemic.hd.evidence import WRONG_CUE
from mnemic.hd.query import Matches
from mnemic.hd.roles import ROLES, Tier

Floats = NDArray[np.float64]

_MIN_FIT = 0.35
"""A conversation that fits less of what is asked is no answer."""
_WHOLE, _DIGITS = 0.999, 6
_ALL_NATS = 4.0
"""How much it says, beyond each cue, that a conversation had all of them."""
_MAX_IDS = 5


class Conversations(NamedTuple):
    """Conversations that had most of a pattern, the best first."""

    answers: list[Answer]
    """Each by its name, as probable as it is the one meant."""
    matches: Matches
    """Of each the memory that has most of the pattern, by its episode; nearness and shares are the conversation's."""
    roles: list[str]
    """What each column of the matches' shares was asked by."""
    whole: bool
    """Whether any has all of it."""


def find_conversations(
    looking: ShapeSearch, columns: Columns, asked: Sequence[PatternPair], k: int, *, strict: bool
) -> Conversations:
    """The conversations looked through that had all of some pairs, or most of them.

    Args:
        asked: what was in them, in whichever of their memories.
        k: at most so many.
        strict: whether only those with all of it count.
    """
    tiers: dict[Tier, list[PatternPair]] = {}
    for one in asked:
        tiers.setdefault(_tier_of(one), []).append(one)
    cues = [(tier, cue) for tier, pairs in tiers.items() for cue in read_cues(looking, tier, pairs)]
    told = [_by_memory(looking, tier, cue) for tier, cue in cues]
    whole = sum(cue.most for _, cue in cues)
    visible = np.flatnonzero(looking.visible_memories)
    sessions, which = np.unique(columns.session[visible], return_inverse=True)
    fitting, likely, own = np.zeros(len(sessions)), np.zeros(len(sessions)), np.zeros(len(visible))
    shares, sizes = np.zeros((len(sessions), len(cues))), np.bincount(which, minlength=len(sessions))
    for place, (evidence, fit) in enumerate(told):
        best = np.zeros(len(sessions))
        np.maximum.at(best, which, evidence[visible])
        np.maximum.at(shares[:, place], which, fit[visible])
        fitting += best
        often = np.bincount(which, fit[visible], len(sessions))
        likely += often_evidence(often / np.maximum(sizes, 1), often.sum() / max(1, len(visible)))
        own += evidence[visible]
    score = fitting / max(whole, 1e-9)
    order = np.lexsort((-sessions, -np.round(likely, _DIGITS), -(score >= _WHOLE).astype(np.int64)))
    order = order[score[order] >= (_WHOLE if strict else _MIN_FIT)][:k]
    likely += np.where((score < _WHOLE).any() & (score >= _WHOLE), _ALL_NATS, 0.0)
    probable = np.exp(likely - likely.max(initial=0.0))
    probable *= score.max(initial=0.0) / max(float(probable.sum()), 1.0)
    answers, best_places = [], []
    for place in order.tolist():
        members = np.flatnonzero(which == place)
        ranked = members[np.lexsort((members, -own[members]))]
        ranked = ranked[own[ranked] > 0]
        best_places.append(int(visible[ranked[0]]))
        rows = columns.row[visible[ranked]].tolist()
        (likest,) = looking.snapshot.load_memories(rows[:1])
        answers.append(
            Answer(
                role=SESSION,
                filler=likest.session,
                confidence=round(float(probable[place]), _DIGITS),
                support=len(rows),
                memories=tuple(looking.snapshot.ids_of(rows[:_MAX_IDS])),
            )
        )
    episodes = looking.index.records["episode"]
    at = np.full(len(columns.row), -1, np.int64)
    at[episodes.position[looking.visible("episode")]] = looking.visible("episode")
    kept = np.array([at[one] for one in best_places], np.int64)
    matches = Matches(kept[kept >= 0], score[order][kept >= 0], shares[order][kept >= 0])
    roles = [cue.role for _, cue in cues]
    return Conversations(answers, matches, roles, bool(len(order)) and float(score[order[0]]) >= _WHOLE)


def often_evidence(shares: Floats, anywhere: float) -> Floats:
    """What it says for conversations that a cue was in so many of their memories, nats.

    Args:
        shares: ``(s,)``: in which part of each one's memories it was.
        anywhere: in which part of all.
    """
    return np.asarray(np.log1p((1 - WRONG_CUE) / WRONG_CUE * shares / max(anywhere, 1e-12)), np.float64)


def _tier_of(asked: PatternPair) -> Tier:
    """The records in which a pair is looked for: episodes where these can have it."""
    tiers = ROLES[asked.pair.role].tiers
    return "episode" if "episode" in tiers and asked.asked_role == asked.pair.role else tiers[-1]


def _by_memory(looking: ShapeSearch, tier: Tier, cue: Cue) -> tuple[Floats, Floats]:
    """What a cue tells of each memory, by the record of it that fits best: evidence and fit, ``(n,)`` each."""
    records = looking.index.records[tier]
    places = looking.visible(tier)
    evidence, fit = np.zeros(len(looking.visible_memories)), np.zeros(len(looking.visible_memories))
    np.maximum.at(evidence, records.position[places], cue.evidence[places])
    np.maximum.at(fit, records.position[places], cue.fit[places])
    return evidence, fit
