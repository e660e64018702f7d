"""The sleep bench: whether nights help the next session and its recalls, and what they cost.

Its parts are in `mnemic.bench.quality.sleep`: briefings, recalls after 1, 2 and 30 nights, and time and memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mnemic.bench.harness.measure import Row
from mnemic.bench.quality.locomo import convert
from mnemic.bench.quality.question_sets import developers_set, locomo_set
from mnemic.bench.quality.sleep.briefing import brief_rows
from mnemic.bench.quality.sleep.cost import cost_rows
from mnemic.bench.quality.sleep.recall import recall_rows
from mnemic.runtime.models.encoders import load_encoder


def run(
    *,
    locomo: Path | None = None,
    developers: Path | None = None,
    sizes: tuple[int, ...] = (1_000, 10_000),
    seed: int = 0,
) -> Iterator[Row]:
    """Brief and recall in each set that is named, and in made lives; then time nights over minds of so many memories.

    Raises:
        ValueError: a file holds something else.
        OSError: a file cannot be read.
    """
    sets = []
    if locomo is not None:
        sets.append(locomo_set(locomo))
    if developers is not None:
        sets.append(developers_set(developers, held=False))
    encoder = load_encoder(None) if sets else None
    for one in sets:
        assert encoder is not None
        yield from brief_rows(one, encoder, seed)
    if sets:
        yield from recall_rows(sets, seed)
    texts = [str(turn["text"]) for turn in convert(locomo)] if locomo is not None else []
    for size in sizes:
        yield from cost_rows(size, texts, seed)
