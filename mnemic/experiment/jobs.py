"""What an arm is given to live, and what comes of it; both travel between processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mnemic.experiment.lives import Life
from mnemic.experiment.measures import Measure

TOLD = 10
"""So many hits of each answer are kept, by their ids."""


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """One question, asked after some nights."""

    question: str
    """Its id."""
    nights: int
    """After how many."""
    measured: dict[str, float]
    """By measure; without those that say nothing of it."""
    hits: tuple[str, ...]
    """Ids of the first `TOLD` hits."""


class NightTaken(msgspec.Struct, frozen=True, array_like=True):
    """One night."""

    changes: int
    """How many changes it made."""
    took_s: float
    """Of the machine's time."""


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an arm for a seed."""

    arm: str
    """Its name."""
    seed: int
    """The seed."""
    answers: tuple[Answered, ...]
    """In the order of asking."""
    degraded: tuple[str, ...]
    """What recalls said of themselves that they could not do."""
    notes: tuple[str, ...]
    """What each stage said of itself last, such as that its exam failed."""
    stage_failures: tuple[str, ...]
    """Of each stage that failed in a night, when first and why."""
    used: int
    """How many questions an assistant asked in the course of the nights."""
    opened: int
    """To how many of these it found what answers, and opened it."""
    nights: tuple[NightTaken, ...]
    """In order."""
    took_s: float
    """All of it, of the machine's time."""
    peak_mib: float
    """The most resident memory of its process, which may have held other things."""
    store_bytes: int
    """What its mind weighs in the end."""


class ArmJob(msgspec.Struct, frozen=True, kw_only=True):
    """All that an arm needs to live, in any process."""

    arm: str
    """Its name."""
    seed: int
    """The seed."""
    settings: dict[str, Any]
    """In force, by full name."""
    nights: bool
    """Whether it has nights."""
    after: int
    """Nights after the life."""
    life: Life
    """What it lives through."""
    lived: int
    """How many events of it were lived already, and are in `mind`."""
    asked_at: tuple[int, ...]
    """After which nights it is asked."""
    used: frozenset[str]
    """Ids of questions that an assistant asks meanwhile."""
    depth: int
    """Hits asked for."""
    measures: Mapping[str, Measure]
    """By name."""
    mind: bytes
    """The home that it starts with, packed by `mnemic.experiment.replay.pack_home`."""
    vectors: bytes
    """Of a `mnemic.experiment.embeddings.VectorCache`."""
