"""Stop words: the words of a question that say nothing about which memory answers it.

Above it stands `mnemic.actors.recall.retriever`, which drops them from a query before it asks the word index; they stay
in the index itself, so the list may change without touching what is stored. English only: a query in another language
loses nothing but a word or two that happens to be spelled alike.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["STOP_WORDS", "content_words"]

_ARTICLES_AND_QUANTITIES = """
a an the this that these those some any each every either neither both all such same other another
"""
_PRONOUNS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
we us our ours ourselves they them their theirs themselves one ones
"""
_QUESTIONS = """
what which who whom whose when where why how
"""
_AUXILIARIES = """
am is are was were be been being do does did doing done has have had having can could will would shall should
may might must ought s t d m ll re ve don didn doesn isn aren wasn weren hasn haven hadn won wouldn couldn
shouldn ain
"""
_PREPOSITIONS = """
of in on at by for from to into onto with without about as between through during until upon within per
"""
_CONJUNCTIONS_AND_PARTICLES = """
and or but nor if then than so because while though although whether not no yes also too very just there here
ever
"""

STOP_WORDS: frozenset[str] = frozenset(
    (
        _ARTICLES_AND_QUANTITIES + _PRONOUNS + _QUESTIONS + _AUXILIARIES + _PREPOSITIONS + _CONJUNCTIONS_AND_PARTICLES
    ).split()
)
"""Lower case, unstemmed, cut as FTS5's unicode61 cuts words: at apostrophes, so that ``didn't`` leaves two."""


def content_words(words: Sequence[str]) -> list[str]:
    """Drop the stop words, in order; where nothing else is there (``who are you``), keep them all.

    Args:
        words: a query's words, lower case, before stemming (``was`` is a stop word, its stem ``wa`` is not).
    """
    kept = [word for word in words if word not in STOP_WORDS]
    return kept or list(words)
