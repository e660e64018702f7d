"""Extractive digests: of some texts the sentences that together say most of what they say again and again.

A digest within a budget is the set of sentences that covers most of the weight of the texts' terms, each term once (Lin
and Bilmes 2011, "A class of submodular functions for document summarization"). The function is monotone and submodular,
so the greedy choice by gain over scaled cost, taken lazily (Minoux 1978), comes near the best there is; nothing is
worded anew. A term weighs the more, the more sentences hold it, and the fewer of all: one that a single
sentence holds weighs nothing, so what was said once, in passing, is not in a digest.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mnemic.algorithms.text.sentences import plain_sentences
from mnemic.algorithms.text.terms import telling_terms

LEAST_CHARS, MOST_CHARS = 20, 300
"""Of a sentence: a shorter one says nothing by itself, a longer one is hardly one."""
LEAST_TERMS = 5
"""Of a sentence in a digest: one that tells less ("Three things stand out.") says nothing without what is around it."""
_DANGLING = re.compile(
    r"(?:he|she|it|they|that|this|these|those|its|his|her|their|and|but|so|or|yes|no|then|also)\b", re.IGNORECASE
)
_COST_POWER = 0.7  # of a sentence's bytes: at 1 the shortest sentences win, at .5 few long ones
_OVERHEAD_BYTES = 24  # of a sentence in a digest: where it stands and when it was said


class Sentence(NamedTuple):
    """A sentence of a text."""

    text: int
    """Place of the text."""
    start: int
    """The byte it starts at, UTF-8."""
    stop: int
    """The byte after it."""
    terms: frozenset[str]
    """What it tells, as the word index has it, without stop words."""
    stands: bool = True
    """Whether it says something by itself."""

    @property
    def cost_bytes(self) -> int:
        """What it takes of a budget."""
        return self.stop - self.start + _OVERHEAD_BYTES


def digest_sentences(texts: Iterable[str]) -> list[Sentence]:
    """The sentences of texts that a digest may hold, in order; of equal ones the first."""
    found: dict[str, Sentence] = {}
    for place, text in enumerate(texts):
        for start, sentence in plain_sentences(text):
            if LEAST_CHARS <= len(sentence) <= MOST_CHARS and sentence not in found:
                first = len(text[:start].encode("utf-8", "surrogatepass"))
                size = len(sentence.encode("utf-8", "surrogatepass"))
                terms = frozenset(telling_terms(sentence))
                found[sentence] = Sentence(place, first, first + size, terms, _stands(sentence, terms))
    return list(found.values())


def _stands(sentence: str, terms: frozenset[str]) -> bool:
    """Whether a sentence says something without what stood around it: no question, nor what begins with a pronoun."""
    is_question = sentence.rstrip("\"'”’)]*_ ").endswith("?")
    return len(terms) >= LEAST_TERMS and not is_question and _DANGLING.match(sentence) is None


def covering_sentences(sentences: Sequence[Sentence], budget_bytes: int, *, are_chosen: bool = False) -> list[int]:
    """Places of the sentences that cover most within a budget, the most telling first.

    At each step the sentence that adds most weight over its scaled cost; of equal ones the first. What covers
    nothing new is never taken, so fewer may be given than there is room for.

    Args:
        budget_bytes: what they may cost together.
        are_chosen: whether they were chosen among many already: then what one of them alone says weighs, too.
    """
    holding = Counter(term for one in sentences for term in one.terms)
    once = 0 if are_chosen else 1
    weights = {
        term: (count - once) * math.log1p(len(sentences) / count) for term, count in holding.items() if count > once
    }
    covered: set[str] = set()

    def gain(place: int) -> float:
        # in one order, whatever the hashes of strings are: a sum depends on it in its last bits
        new = sorted(term for term in sentences[place].terms if term in weights and term not in covered)
        return math.fsum(weights[term] for term in new) / math.pow(sentences[place].cost_bytes, _COST_POWER)

    waiting = [(-gain(place), place) for place, one in enumerate(sentences) if one.stands]
    heapq.heapify(waiting)
    chosen: list[int] = []
    left = budget_bytes
    while waiting:
        _, place = heapq.heappop(waiting)
        if sentences[place].cost_bytes > left:
            continue
        now = -gain(place)
        if now >= 0.0:
            continue
        if waiting and (now, place) > waiting[0]:  # it covers less by now: others may be better
            heapq.heappush(waiting, (now, place))
            continue
        chosen.append(place)
        covered |= sentences[place].terms
        left -= sentences[place].cost_bytes
    return chosen
