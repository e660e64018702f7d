"""Says which memories are surely about a prompt, and which of them answer it.

Below `mnemic.actors.brief.brief`. Two things make sure: many rare shared words, or one exact key that hardly any other
memory holds. What only asks the same, or only reports the failure that a key names, answers nothing; where the prompt
asks what helped, what followed it in its conversation is told in its place
(docs/decisions/0009-prompt-recall.md has the figures).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from mnemic.actors.brief.reasons import prompt_reason
from mnemic.actors.index.hits import densest_excerpt
from mnemic.actors.index.query import QuestionWord
from mnemic.actors.kernel.events import to_text
from mnemic.actors.recall.messages import Hit
from mnemic.algorithms.knowledge.answering import AnswerReading
from mnemic.algorithms.text.exact_keys import shared_keys
from mnemic.algorithms.text.terms import index_terms, stem_of

LEAST_COSINE = 0.40
"""Between the prompt and the memory's best window; what has no vector yet is not told."""
LEAST_COVERAGE = 0.55
"""How much of the rarity of the prompt's words is that of words it shares with the memory."""
LEAST_RARITY = 14.0
"""How rare the shared words are together, nats: about two words that hardly any other of some thousand memories has."""
MOST_HOLDERS, FEW_HOLDERS = 8, 5
"""So many memories at most hold a key that is rare; in a small mind a tenth of them, but five in any."""
RECALLED_BYTES = 600
"""Of a longer memory the best stretch; only what it holds counts for whether it is told."""
_LEAST_ASKED = 0.5  # of what a text has in common with the prompt
_DONE = ("tool_call", "tool_result")


class Prompt(NamedTuple):
    """A prompt, as memories are held against it."""

    words: Sequence[QuestionWord]
    """Its telling words."""
    rarities: Mapping[str, float]
    """How rare each of them is, by its stem."""
    keys: list[str]
    """The exact keys in it that hardly any memory holds."""
    wants_remedy: bool
    """Whether it asks what helped."""


def relevant_answer(hit: Hit, cosine: float | None, prompt: Prompt, hits: Sequence[Hit]) -> tuple[Hit, str]:
    """The memory to tell for one that a recall found: itself, or what followed it; and why, empty where none is sure.

    Args:
        cosine: of prompt and memory; ``None`` where the memory has no vector.
        hits: all that the recall found, best first.
    """
    part, _ = densest_excerpt(hit.data, RECALLED_BYTES, prompt.rarities)
    terms = {*index_terms(hit.speaker or ""), *index_terms(to_text(part))}
    held = {stem_of(one.terms[0]) for one in prompt.words if not terms.isdisjoint(one.terms)}
    shared = shared_keys(prompt.keys, to_text(hit.data))
    if not shared and not is_relevant(cosine, prompt.rarities, held):
        return hit, ""
    why = f"it holds {shared[0]}" if shared else prompt_reason(cosine, prompt.rarities, held)
    asked = frozenset(term for one in prompt.words for term in one.terms)
    if not answers_nothing(hit, asked, key=bool(shared), remedy=prompt.wants_remedy):
        return hit, why
    answer = answer_after(hit, hits, asked) if prompt.wants_remedy else None
    return (hit, "") if answer is None else (answer, f"it follows what told of it: {why}")


def rarity(memories: int, holding: int) -> float:
    """How much it says that two texts share a word, nats; BM25's weight of a word (Robertson and Zaragoza 2009, 3.4.3).

    Args:
        memories: how many there are.
        holding: how many of them hold the word.
    """
    return math.log1p((memories - holding + 0.5) / (holding + 0.5))


def is_relevant(cosine: float | None, rarities: Mapping[str, float], held: set[str]) -> bool:
    """Say whether a memory may be told unasked, by the words that it shares with a prompt.

    Args:
        cosine: of prompt and memory; ``None`` where the memory has no vector.
        rarities: the rarity of each of the prompt's terms.
        held: the terms of what would be told.
    """
    whole = sum(rarities.values())
    shared = sum(weight for term, weight in rarities.items() if term in held)
    return cosine is not None and cosine >= LEAST_COSINE and shared >= LEAST_RARITY and shared >= LEAST_COVERAGE * whole


def is_rare_key(memories: int, holding: Sequence[int]) -> bool:
    """Say whether hardly any memory holds a key.

    Args:
        memories: how many there are.
        holding: how many of them hold each of its words.
    """
    return 0 < min(holding, default=0) <= min(MOST_HOLDERS, max(FEW_HOLDERS, memories // 10))


def answers_nothing(hit: Hit, terms: Collection[str], *, key: bool, remedy: bool) -> bool:
    """Say whether a memory only asks what a prompt asks, and so is no answer.

    Args:
        terms: what the prompt's words may be kept under.
        key: whether it is told for a key: what a tool said, a try and a report of the failure tell nothing then.
        remedy: whether the prompt asks what helped: nor does what a user said of anything else but that it did.
    """
    read = AnswerReading(to_text(hit.data))
    if read.asked_share(terms) >= _LEAST_ASKED:
        return True
    if hit.role == "user":
        return (remedy and read.outcome <= 0) or (key and read.outcome < 0)
    return (key or remedy) and (hit.kind in _DONE or (read.outcome <= 0 and read.sets_out))


def answer_after(asking: Hit, hits: Sequence[Hit], terms: Collection[str]) -> Hit | None:
    """The best of the hits that follows one that asks, in its conversation, and tells something.

    Args:
        hits: of a recall, best first.
        terms: what the prompt's words may be kept under.
    """
    for hit in hits:
        later = (hit.said_at or 0, hit.id) > (asking.said_at or 0, asking.id)
        if hit.session == asking.session and later and hit.kind not in _DONE and hit.role != "user":
            read = AnswerReading(to_text(hit.data))
            if read.asked_share(terms) < _LEAST_ASKED and not read.sets_out:
                return hit
    return None
