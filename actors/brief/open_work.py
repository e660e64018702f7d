"""Finds what was left open in the last sessions, and is not done yet. Pure; English, by cues that a reader can check.

Above stands `mnemic.actors.brief.gather`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from mnemic.actors.brief.statement_cues import is_open
from mnemic.algorithms.brief.sentences import told_sentences
from mnemic.algorithms.text.terms import telling_terms

MOST_CHARS = 4_000
"""A longer text is mostly pasted; nothing in it is taken for an open item."""
_CACHED = 1 << 12  # sentences
_LIST_CHARS = 400
"""So much of a list is told with the sentence that announces it."""
_DONE = re.compile(
    r"\b(?:done|merged|deleted|fixed|works?|working|shipped|closed|finished|ready|pushed|uploaded|complete[d]?|cancell?ed"
    r"|approved|handed over|arrived|live|landed|released|resolved|solved|sorted|off the list|empty|passed|pass|drawn"
    r"|installed|written|removed|migrated|set up|has (?:it|my|the|a)|(?:is|are) (?:in|out|up|on|off|gone|there|back)"
    r"|(?:is|are) (?:\w+ ){0,3}now|since today|(?:no longer|not) needed)\b",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:never ?mind|it was|turn(?:s|ed) out(?: (?:it was|to be))?|figured (?:it )?out|found (?:it|out)"
    r"|was the (?:cause|reason|culprit|problem))\b",
    re.IGNORECASE,
)
"""Says what something open came to: ``never mind, it was the proxy``."""
_SEARCHES = re.compile(
    r"\b(?:whether|why|which|what|who|where|how|cause|reason|culprit|find out|figure out|look into|investigate)\b",
    re.IGNORECASE,
)
"""Says that something is open because it is not known."""
_NOT_DONE = re.compile(
    r"\b(?:not(?! needed)|half|almost|nearly|never(?! mind)|until|when|once|if|should|will|would|can be)\b"
    r"|n['’]t\b|\?\s*$",
    re.IGNORECASE,
)
_PART = re.compile(r"[,;:]\s+|\s+and\s+|\n+")
_POINTS = re.compile(r"\W{0,8}(?:\w{1,24}(?:['’]\w{1,8})?\W{1,4}){0,4}(?:it|that|this|them|those)\b", re.IGNORECASE)
"""Says that what was said just before is left open."""
_CUES = re.compile(
    r"todo|open|still|left|remain|miss|next|later|tomorrow|then|right|summer|autumn|winter|spring|list|work|where|it|that"
    r"|this|what|also|us|me|we|i|the|for|at|in|now|only|ok|not|begun|note"
)
"""Words that say that something is open, and not what."""
_GONE = 0.3
"""A part is done where a later sentence of completion has so much of the rarity of its words."""
_AGAIN = 0.3
"""A later list that has so much of an item's words speaks of the same matter."""


class Turn(NamedTuple):
    """One memory, as the search sees it."""

    text: str
    session: int
    is_last: bool
    """Whether it is among the last words of one of the last sessions, or was kept on purpose since."""


class OpenItem(NamedTuple):
    """A stretch that says what is open."""

    turn: int
    """The place of its memory among those that were given."""
    start: int
    stop: int


class _Spoken(NamedTuple):
    place: int
    start: int
    text: str
    terms: frozenset[str]


def open_work(turns: Sequence[Turn], limit: int) -> list[OpenItem]:
    """Return what is open, newest first, at most so many.

    Args:
        turns: from the oldest to the newest; all of them say what is done.
    """
    spoken = [
        _Spoken(place, start, text, _terms(text))
        for place, turn in enumerate(turns)
        if len(turn.text) <= MOST_CHARS
        for start, text in told_sentences(turn.text)
    ]
    holding = Counter(term for one in spoken for term in one.terms)
    rarity = {term: math.log1p(len(spoken) / count) for term, count in holding.items()}
    done = [one for one in spoken if _says_done(one.text)]
    settled = [(one.place, terms) for one in spoken if (terms := _settled_terms(one.text))]
    found: list[OpenItem] = []
    lists: list[tuple[int, frozenset[str]]] = []
    for number in range(len(spoken) - 1, -1, -1):
        one = spoken[number]
        if not turns[one.place].is_last or not is_open(one.text) or one.text.rstrip().endswith("?"):
            continue
        start, stop, terms = _with_list(spoken, number)
        elsewhere = [other for place, other in lists if turns[place].session != turns[one.place].session]
        lists.append((one.place, terms))
        if stop <= start or any(_share(terms, other, rarity) >= _AGAIN for other in elsewhere):
            continue
        later = [other.terms for other in done if other.place > one.place]
        is_search = _SEARCHES.search(turns[one.place].text, start, stop) is not None
        if is_search and any(place > one.place and answer <= terms for place, answer in settled):
            continue
        if not _is_done(turns[one.place].text[start:stop], later, rarity):
            found.append(OpenItem(one.place, start, stop))
    return _joined(found)[:limit]


def is_answered(question: str, later: Sequence[str]) -> bool:
    """Say whether one of some later texts names a third of what a question asks about, and asks nothing itself."""
    asked = _terms(question[:MOST_CHARS])
    told = (_terms(one[:MOST_CHARS]) for one in later if not one.rstrip().endswith("?"))
    return bool(asked) and any(3 * len(asked & terms) >= len(asked) for terms in told)


def _with_list(spoken: Sequence[_Spoken], number: int) -> tuple[int, int, frozenset[str]]:
    """A sentence with the list that it announces, or with the sentence before that it points at, and their words.

    Empty where it points at what another text says.
    """
    one = spoken[number]
    start, stop, terms = one.start, one.start + len(one.text), one.terms
    if one.text.rstrip().endswith(":"):
        for other in spoken[number + 1 :]:
            end = other.start + len(other.text)
            if other.place != one.place or end - one.start > _LIST_CHARS:
                break
            stop, terms = end, terms | other.terms
    elif _POINTS.match(one.text):
        before = spoken[number - 1] if number else one
        if before.place != one.place or before is one:
            return 0, 0, terms
        start, terms = before.start, terms | before.terms
    return start, stop, terms


@lru_cache(_CACHED)
def _says_done(text: str) -> bool:
    return _DONE.search(text) is not None and _NOT_DONE.search(text) is None


@lru_cache(_CACHED)
def _settled_terms(text: str) -> frozenset[str]:
    """The words of what an open question came to; none where a sentence tells no such thing."""
    return _terms(_SETTLED.sub(" ", text)) if _SETTLED.search(text) and not text.rstrip().endswith("?") else frozenset()


@lru_cache(_CACHED)
def _terms(text: str) -> frozenset[str]:
    return frozenset(term for term in telling_terms(text) if not _CUES.fullmatch(term))


def _is_done(text: str, later: Sequence[frozenset[str]], rarity: dict[str, float]) -> bool:
    """Say whether later sentences tell that half of the parts of an item are done."""
    parts = [terms for part in _PART.split(text) if (terms := _terms(part) & rarity.keys())]
    over = sum(any(_share(terms, other, rarity) >= _GONE for other in later) for terms in parts)
    return bool(parts) and 2 * over >= len(parts)


def _share(terms: frozenset[str], other: frozenset[str], rarity: dict[str, float]) -> float:
    shared, whole = (math.fsum(rarity.get(term, 0.0) for term in sorted(some)) for some in (terms & other, terms))
    return shared / max(1e-9, whole)


def _joined(found: Sequence[OpenItem]) -> list[OpenItem]:
    """Neighbours of one memory in one."""
    joined: list[OpenItem] = []
    for one in found:
        if joined and joined[-1].turn == one.turn and 0 <= joined[-1].start - one.stop <= 2:
            joined[-1] = OpenItem(one.turn, one.start, joined[-1].stop)
        else:
            joined.append(one)
    return joined
