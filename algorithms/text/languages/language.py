"""What a module of `mnemic.algorithms.text.languages` says of its language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Language:
    """One language, as far as recall needs it; words in lower case, written as they are written."""

    code: str
    """ISO 639-1."""
    name: str
    """In English."""
    stop_words: frozenset[str]
    """What tells nothing about which memory answers a question: articles, pronouns, question words, auxiliaries. They
    are also what a text's language is told by. Cut as `mnemic.algorithms.text.terms` cuts words: at apostrophes. Of a
    language without spaces what ends a run of a question; nothing of one character that other words hold."""
    stemmer: str | None = None
    """Snowball's name for it; ``None``: its words are kept as they are, or it has no spaces."""
    homographs: frozenset[str] = frozenset()
    """Other words of it that are function words elsewhere: where they stand, they tell no language."""
    letters: str = ""
    """Those with accents that its words have often, in lower case; they tell it, too."""
    capital_nouns: bool = False
    """Whether nouns are written with a capital, so that a capital makes no name."""
