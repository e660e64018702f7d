"""How alike memories are in what happened: how many of a memory's pairs others have, over all its records.

Episode, facts and step of a memory are compared each with its kind, a step with the steps before it. Circumstances
(who, when, where, on which file) are left out, for the same kind of event happens to others elsewhere. Hypervectors
estimate the same from one distance, with noise, and found less (`docs/decisions/0024-tables-and-hypervectors.md`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.hd.roles import TIERS, Tier

Floats = NDArray[np.float64]

CIRCUMSTANCES = ("who", "to", "subject", "date", "hour", "weekday", "project", "workspace", "branch", "file", "size")
"""Roles that say to whom, when and where something happened."""


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
