"""What a module of `mnemic.algorithms.text.languages` says of its language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["day", "week", "month", "year"]
Span = Literal["weekend", "week", "month", "year"]


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class DateWords:
    """How a language names days; lower case, with its accents, which a question may lack.

    A pattern is a regular expression that is met by whole words, whatever their case. A name in braces stands for any
    of the words that are given here: ``{month}``, ``{weekday}``, ``{count}``, ``{unit}``, ``{span}``, ``{in}`` for
    `month_prepositions`; ``{day}`` and ``{number}`` for a day and a month in digits, ``{year}`` for four digits.
    """

    months: Mapping[str, int]
    """Names and abbreviations of the months, 1 to 12."""
    also_words: frozenset[str] = frozenset()
    """Months that are another word, too, where no year, capital or preposition says otherwise (``may``)."""
    month_prepositions: str
    """A pattern of what stands before a month or year that is meant as a time, with the space after it (``in ``)."""
    month_parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Words right before a month that mean a part of it, and the first and last day of that (``early``: 1, 10)."""
    bounds: str
    """A pattern of what makes a day a bound, which tells nothing of how near an answer was said (``since the``)."""
    dates: tuple[str, ...]
    """Patterns of days, months and years, in order; each stretch of a question is read once."""
    days_back: Mapping[str, int]
    """Phrases for a single day, and how many days before today it is (``yesterday``: 1)."""
    counts: Mapping[str, int]
    """Numbers as words (``two``)."""
    units: Mapping[str, Unit]
    """What is counted back from today, one and many (``weeks``: ``"week"``)."""
    spans: Mapping[str, Span]
    """What today lies in, as a whole (``weekend``)."""
    ago: tuple[str, ...]
    """Patterns of so many units before today (``{count} {unit} ago``)."""
    this: tuple[str, ...]
    """Patterns of the span that today is in (``this {span}``)."""
    last: tuple[str, ...]
    """Patterns of the span before it (``last {span}``)."""
    weekdays: Mapping[str, int]
    """Monday is 0."""
    on_weekday: tuple[str, ...]
    """Patterns of the nearest such day, which may be today (``on {weekday}``)."""
    last_weekday: tuple[str, ...]
    """Patterns of the one before today (``last {weekday}``)."""


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
    dates: DateWords | None = None
    """How it names days; without it, only ISO 8601 is read."""
