"""How alike memories are in what happened: whole records are the probes, and one scan compares all roles at once.

What two records share is estimated from the distance of their hypervectors: a bundle of K pairs is like each of them by
c(K), so two that share m pairs are alike by m c(K) c(K'), and what is nearly the same counts in part. Episode, facts
and step of a memory are compared each with its kind, a step with the steps before it. Circumstances (who, when, where,
on which file) are taken out of the probe, for the same kind of event happens to others elsewhere. A table can count
which names are the same, but not what is near (`docs/decisions/0024-tables-and-hypervectors.md` compares them).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.hd.evidence import bit_agreements
from mnemic.hd.roles import TIERS, Tier

Floats = NDArray[np.float64]

CIRCUMSTANCES = ("who", "to", "subject", "date", "hour", "weekday", "project", "workspace", "branch", "file", "size")
"""Roles that say to whom, when and where something happened, and which are left out unless they are asked for."""


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
    return np.clip(total / max(1, count), 0.0, 1.0)


def _in_tier(looking: ShapeSearch, tier: Tier, probe: int, left_out: Collection[str]) -> tuple[Floats, int]:
    """How many pairs each memory shares with the records that a probe has in a tier, and how many these are."""
    records, places = looking.index.records[tier], looking.visible(tier)
    found, count = np.zeros(len(looking.visible_memories)), 0
    alone = np.zeros(len(found), np.bool_)
    alone[probe] = True
    for own in records.visible(alone).tolist():
        codes = looking.index.vectors(tier, looking.snapshot)
        without = [pair for pair in looking.pairs(tier, own) if pair.role in left_out and not pair.shift]
        pairs = int(codes.pairs[own]) - len(without)
        if pairs <= 0:
            continue
        queries = np.concatenate([codes.codes[own][None], looking.encoders.encode_pairs(without)])
        distances = codes.distances(places, queries, looking.index.algebra)
        shows = 2 * bit_agreements(codes.pairs) - 1
        alike = (1 - 2 * distances / codes.dimensions) / shows[places][:, None]
        best = np.zeros(len(found))
        np.maximum.at(best, records.position[places], alike[:, 0] / shows[own] - alike[:, 1:].sum(axis=1))
        found, count = found + best, count + pairs
    return found, count
