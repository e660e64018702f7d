"""The sleep bench: whether nights help the next session and its recalls, and what they cost.

Its parts are in `mnemic.bench.quality.sleep`: briefings, recalls after 1, 2 and 30 nights, and time and memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mnemic.bench.harness.measure import Row
from mnemic.bench.quality.facts.change_sets import made_lives, quiet_changes
from mnemic.bench.quality.locomo import convert
from mnemic.bench.quality.question_sets import developers_set, locomo_set
from mnemic.bench.quality.sleep.briefing import brief_rows
from mnemic.bench.quality.sleep.cost import cost_rows
from mnemic.bench.quality.sleep.recall import recall_rows
from mnemic.runtime.models.encoders import load_encoder

_LIVES = (1, 2, 3, 4)


def run(
    *,
    locomo: Path | None = None,
    developers: Path | None = None,
    changes: Path | None = None,
    sizes: tuple[int, ...] = (1_000, 10_000),
    seed: int = 0,
) -> Iterator[Row]:
    """Brief and recall in each set that is named, and recall in made lives; then time nights over so many memories.

    Args:
        locomo: a file of LoCoMo's.
        developers: a folder of developers' conversations.
        changes: a file of quiet changes; their chatter comes from LoCoMo's file, which has to be named, too.
        sizes: of minds whose nights are timed.
        seed: of what is drawn.

    Raises:
        ValueError: a file holds something else, or LoCoMo's is missing.
        OSError: a file cannot be read.
    """
    if changes is not None and locomo is None:
        raise ValueError("quiet changes are mixed with chatter: name a file of LoCoMo's as well")
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
        changing = {"lives": made_lives(_LIVES)}
        if changes is not None and locomo is not None:
            changing["quiet changes"] = quiet_changes(changes, locomo)
        yield from recall_rows(sets, changing, seed)
    texts = [str(turn["text"]) for turn in convert(locomo)] if locomo is not None else []
    for size in sizes:
        yield from cost_rows(size, texts, seed)
