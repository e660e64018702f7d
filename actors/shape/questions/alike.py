"""How alike memories are in what happened: how many of a memory's pairs others have, over all its records.

Episode, facts and step of a memory are compared each with its kind, a step with the steps before it. Circumstances
(who, when, where, on which file) are left out, for the same kind of event happens to others elsewhere. Hypervectors
estimate the same from one distance, with noise, and found less (`docs/decisions/0024-tables-and-hypervectors.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.errors import InvalidValue, NoSuchMemory
from mnemic.actors.kernel.message import format_id
from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.patterns import PatternQuery
from mnemic.algorithms.retrieval.scan import RESCORE_ROWS
from mnemic.hd.query import Matches
from mnemic.hd.roles import TIERS, Tier

Floats = NDArray[np.float64]

CIRCUMSTANCES = ("who", "to", "subject", "date", "hour", "weekday", "project", "workspace", "branch", "file", "size")
"""Roles that say to whom, when and where something happened."""


_DIGITS = 6  # of a score; what is beyond them tells nothing


def alike_matches(
    looking: ShapeSearch, recall: RecallIndex, like: Sequence[bytes], question: PatternQuery
) -> tuple[Matches, list[str]]:
    """The memories that are most like some others, by their episodes, and what each column of the shares is.

    Args:
        recall: has followed the vectors of a model, if there is one.
        like: ids of the memories that they are to be like.
        question: what they have instead.

    Raises:
        InvalidValue: there is no such memory in the scopes asked for, or a text stands in the pattern.
    """
    if question.similar_texts:
        role, text = question.similar_texts[0]
        why = "what it is about a memory says itself, and no text in its place"
        raise InvalidValue(name=f"the role {role}", value=text, why=why, expected="roles that have names")
    rows = [_row(looking, recall, one) for one in like]
    places = np.searchsorted(recall.columns.row, np.unique(rows))
    instead = [one.pair for one in (*question.exact, *question.near)]
    roles = {one.role for one in instead}
    shares, names = [np.mean([shared_part(looking, place, roles) for place in places.tolist()], axis=0)], ["shape"]
    vectors = recall.first_vectors(places)
    known = vectors[~np.isnan(vectors[:, 0])]
    if len(known):
        told = [recall.cosines(one.tobytes(), looking.visible_memories, RESCORE_ROWS).best for one in known]
        shares.append(np.clip(np.nan_to_num(np.mean(told, axis=0)), 0.0, 1.0))
        names.append("about")
    records, searched = looking.index.records, looking.visible("episode")
    otherwise = records[question.tier].row[looking.having(question.tier, instead)]
    if len(searched) and not len(otherwise):
        looking.warn("no memory looked through is otherwise in this way")
    of = records["episode"].row[searched]
    searched = searched[~np.isin(of, rows) & np.isin(of, otherwise)]
    told_shares = np.stack(shares, axis=1)[records["episode"].position[searched]]
    scores = told_shares.mean(axis=1)
    order = np.lexsort((-searched, -np.round(scores, _DIGITS)))
    return Matches(searched[order], scores[order], told_shares[order]), names


def _row(looking: ShapeSearch, recall: RecallIndex, memory: bytes) -> int:
    """The row of a memory; one of another scope is as unknown as one that never was."""
    try:
        (row,) = looking.snapshot.rows_of([memory])
    except NoSuchMemory:
        row = -1
    if row < 0 or not looking.reach[np.searchsorted(recall.columns.row, row)]:
        raise InvalidValue(
            name="a memory",
            value=str(format_id(memory)),
            why="no memory in the scope looked through has this id",
            expected="an id as hits show it; `--scope '*'` looks through everything",
        )
    return row


def shared_part(looking: ShapeSearch, probe: int, otherwise: Collection[str]) -> Floats:
    """How much of what happened in one memory happened in each, ``(n,)``, 0 to 1.

    Args:
        probe: its position among the `n` memories.
        otherwise: further roles that are left out.
    """
    total, count = np.zeros(len(looking.visible_memories)), 0
    for tier in TIERS:
        shared, pairs = _in_tier(looking, tier, probe, {*CIRCUMSTANCES, *otherwise})
        total, count = total + shared, count + pairs
    return total / max(1, count)


def _in_tier(looking: ShapeSearch, tier: Tier, probe: int, left_out: Collection[str]) -> tuple[Floats, int]:
    """How many pairs each memory shares with the records that a probe has in a tier, and how many these are."""
    records = looking.index.records[tier]
    found, count = np.zeros(len(looking.visible_memories)), 0
    alone = np.zeros(len(found), np.bool_)
    alone[probe] = True
    for own in records.visible(alone).tolist():
        terms = [term for term, pair in looking.pairs(tier, own) if pair.shift or pair.role not in left_out]
        shared = np.zeros(len(records.row))
        for term in terms:
            shared[records.having([term])] += 1
        best = np.zeros(len(found))
        places = records.among(np.flatnonzero(shared), looking.visible_memories)
        np.maximum.at(best, records.position[places], shared[places])
        found, count = found + best, count + len(terms)
    return found, count
