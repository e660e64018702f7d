"""Relevance gate: decides by absolute thresholds whether a memory may be shown with a prompt unasked. Pure.

The score of a recall is relative: the best of what was looked through is 1, however little it has to do with the
question. What is told unasked must be right on its own. No cosine alone tells that: of prompts on LoCoMo's
conversations, at most two thirds of what any threshold lets through comes from a session that holds the answer. Shared
words do, where they are many and rare (docs/decisions/0009-prompt-recall.md has the figures).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["LEAST_COSINE", "LEAST_COVERAGE", "LEAST_RARITY", "is_relevant", "rarity"]

LEAST_COSINE = 0.40
"""Between the prompt and the memory's best window; what has no vector yet is not told."""
LEAST_COVERAGE = 0.55
"""How much of the rarity of the prompt's words is that of words it shares with the memory."""
LEAST_RARITY = 14.0
"""How rare the shared words are together, nats: about two words that hardly any other of some thousand memories has."""


def rarity(memories: int, holding: int) -> float:
    """How much it says that two texts share a word, nats; BM25's weight of a word (Robertson and Zaragoza 2009, 3.4.3).

    Args:
        memories: how many there are.
        holding: how many of them hold the word.
    """
    return math.log1p((memories - holding + 0.5) / (holding + 0.5))


def is_relevant(cosine: float | None, rarities: Mapping[str, float], held: set[str]) -> bool:
    """Whether a memory may be told unasked.

    Args:
        cosine: of prompt and memory; ``None`` where the memory has no vector.
        rarities: the rarity of each of the prompt's terms.
        held: the terms of what would be told.
    """
    whole = sum(rarities.values())
    shared = sum(weight for term, weight in rarities.items() if term in held)
    return cosine is not None and cosine >= LEAST_COSINE and shared >= LEAST_RARITY and shared >= LEAST_COVERAGE * whole
