"""Tells what a name is of by the words in it and around it: ``our designer Nadia``, ``Ledger service``.

Above it stands `mnemic.algorithms.knowledge.entities.mentions`; below it `mnemic.algorithms.knowledge.entities.names`
and the word lists of `mnemic.algorithms.knowledge.entities.nouns`. Where the words tell nothing, the kind is ``thing``.
"""

from __future__ import annotations

from mnemic.algorithms.knowledge.entities.names import bare
from mnemic.algorithms.knowledge.entities.nouns import (
    CAPITAL_TOOLS,
    CLASS_NOUNS,
    COMPANION_NOUNS,
    HEADS,
    LEADING_NOUNS,
    PERSON_VERBS,
    PERSONS_OWN,
    PLACE_CUES,
    TELLING_VERBS,
    Kind,
)
from mnemic.algorithms.knowledge.extraction.sentences import MARK, OPENER, PREPOSITION, UNDER, Sentence, word_set
from mnemic.algorithms.text.keyphrases import LOW_CONTENT_WORDS

_APPOSED = word_set("our my the a an his her their")
_ALL_PERSONS = word_set("customer client")  # beside a name they may be of a company


def kind_of(sentence: Sentence, place: int, end: int) -> Kind:
    """What the words in a name and around it tell that it is."""
    words, kinds = sentence.words, sentence.kinds
    first, last = words[place], bare(words[end - 1])
    if end - place > 1 and (first in LEADING_NOUNS or last in CLASS_NOUNS):
        return CLASS_NOUNS[first if first in LEADING_NOUNS else last]
    if first in CAPITAL_TOOLS or last in CAPITAL_TOOLS:
        return "tool"
    owner = last != words[end - 1]
    if not owner and (told := kind_after(sentence, end)) != "thing":
        return told
    if place and (told := kind_before(sentence, place)) != "thing":
        return told
    after = words[end] if end < len(words) else ""
    if (owner and (after in PERSONS_OWN or HEADS.get(after) == "person")) or after in PERSON_VERBS:
        return "person"
    if after in ("works", "worked") and words[end + 1 : end + 2] in (["at"], ["for"]):
        return "person"
    if place:
        before = words[place - 1]
        if before in TELLING_VERBS or (before == "," and _is_called_out(sentence, place, end)):
            return "person"
        if before in PLACE_CUES and place > 1 and words[place - 2] in PLACE_CUES[before]:
            return "place"
    if after == "," and words[end + 1 : end + 2] and words[end + 1] in _APPOSED:
        return _apposed(words, kinds, end + 2)
    return "thing"


def kind_before(sentence: Sentence, place: int) -> Kind:
    """What the noun before a name tells: ``our designer Nadia``, ``a service called Ledger``."""
    words = sentence.words
    before = place - 1
    if before > 0 and words[before] in ("called", "named"):
        before -= 1
        if before > 0 and words[before] in ("is", "was", "are"):
            before -= 1
    if before < 0 or words[before] in _ALL_PERSONS:
        return "thing"
    return CLASS_NOUNS.get(words[before], "thing")


def kind_after(sentence: Sentence, place: int) -> Kind:
    """What the noun right after a name tells: ``Ledger service``."""
    words = sentence.words
    if place >= len(words) or sentence.text[sentence.ends[place - 1] : sentence.starts[place]] not in (" ", "` "):
        return "thing"
    return COMPANION_NOUNS.get(bare(words[place]), "thing")


def _is_called_out(sentence: Sentence, place: int, end: int) -> bool:
    """Whether a name after a comma is that of the one who is spoken to: ``Thanks, Nadia!``."""
    words, kinds = sentence.words, sentence.kinds
    if end >= len(words) and ("you" in words or "your" in words):
        return words.count(",") == 1
    is_greeted = place == 2 and (bool(kinds[0] & OPENER) or words[0] in LOW_CONTENT_WORDS)
    return is_greeted and (end >= len(words) or bool(kinds[end] & MARK))


def _apposed(words: list[str], kinds: list[int], place: int) -> Kind:
    """What the noun of an apposition that begins at a place tells: ``Nadia, our designer``."""
    for at in range(place, min(place + 4, len(words))):
        ends_there = at + 1 >= len(words) or kinds[at + 1] & (MARK | PREPOSITION | UNDER)
        if ends_there:
            return CLASS_NOUNS.get(words[at], "thing")
        if kinds[at] & MARK:
            break
    return "thing"
