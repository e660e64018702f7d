"""What items of nights do to recalls, and how their values say so.

A stage with an `effect` (`mnemic.actors.sleep.stages`) derives such items; recalls go by them once the stage has passed
its exam (`mnemic.actors.sleep.exam`).
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Literal

import msgspec

from mnemic.actors.sleep.changes import SourceSpan

RecallEffect = Literal["weigh", "fold"]
"""``weigh``: items add to the scores of memories; their values are of `MemoryWeight`, one for each source. ``fold``:
they have memories stand for each other that say the same; their values tell how many of their sources each group has.
"""
MOST_WEIGHT = 1.0
"""A weight lies between this and its negative."""
RECENT_USES = 16
"""Of so many uses of a memory the times are kept."""

_MOST = (1 << 62) - 1


class MemoryWeight(msgspec.Struct, frozen=True, array_like=True):
    """What a stage adds to the score of a memory wherever it is found."""

    weight: float = 0.0
    """Added to the log-odds that it answers, from -1 to 1."""
    uses: int = 0
    """How often it was of use; what that adds, `mnemic.algorithms.sleep.activation` tells."""
    first_at: int = 0
    """System time of the first use, microseconds."""
    recent: tuple[int, ...] = ()
    """System times of the last uses, `RECENT_USES` at most, the newest first."""


class Trial(msgspec.Struct, frozen=True, array_like=True):
    """A stage that is examined: a recall goes by what it has derived by now, or by nothing of it."""

    stage: str
    """The stage."""
    effect: RecallEffect
    """What its items do to recalls."""
    night: int
    """Number of the night after which its items stand so; 0 for none of them."""


encode_effect = msgspec.msgpack.Encoder().encode
"""Makes the value of an item of a sequence of weights, or of sizes of groups."""
_decode_weights = msgspec.msgpack.Decoder(tuple[MemoryWeight, ...]).decode
_decode_sizes = msgspec.msgpack.Decoder(tuple[int, ...]).decode


def decode_weights(value: bytes, sources: tuple[SourceSpan, ...]) -> tuple[MemoryWeight, ...]:
    """The weight of each source.

    Raises:
        ValueError: The value is none of such an item (`msgspec.DecodeError` is one), or it does not fit the sources.
    """
    weights = _decode_weights(value)
    if len(weights) != len(sources):
        raise ValueError(f"{len(weights)} weights of {len(sources)} sources")
    for one in weights:
        if not math.isfinite(one.weight) or abs(one.weight) > MOST_WEIGHT:
            raise ValueError(f"a weight of {one.weight}: it has to lie between -{MOST_WEIGHT:g} and {MOST_WEIGHT:g}")
        times = (one.first_at, *one.recent)
        are_known = len(one.recent) <= min(RECENT_USES, one.uses) and one.uses <= _MOST
        if not are_known or not 0 <= min(times) <= max(times) <= _MOST:
            raise ValueError(f"{one.uses} uses of which {len(one.recent)} have a time, the first at {one.first_at}")
    return weights


def decode_groups(value: bytes, sources: tuple[SourceSpan, ...]) -> list[list[int]]:
    """Rows of the memories of each group.

    Raises:
        ValueError: As `decode_weights`.
    """
    sizes, rows = _decode_sizes(value), [one.row for one in sources]
    if sum(sizes) != len(rows) or min(sizes, default=2) < 2:
        raise ValueError(f"groups of {list(sizes)[:9]} memories of {len(rows)} sources")
    return [rows[end - size : end] for end, size in zip(accumulate(sizes), sizes, strict=True)]
