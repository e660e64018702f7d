"""Chooses the sentences of a project's memories that hold now: the newest of each thing. Pure.

A sentence is taken where cues say that it sets something (`mnemic.algorithms.brief.things`), or where its memory was
kept as a decision or a note. An older one is left out where a newer sentence tells that what it names is over, gives
the thing another value, or says the same: too many are left out rather than too few, for a stale line is worse than
none. Above stands `mnemic.actors.brief.gather`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from mnemic.actors.brief.statement_cues import MAX_STATEMENT_CHARS, directive_start, is_open
from mnemic.algorithms.brief.sentences import told_sentences
from mnemic.algorithms.brief.things import Reading, expires, read_sentence, sets_something

_SAME = 0.6
"""Of the rarity of its words: a sentence that shares so much with a newer one says the same."""
_CHANGED = 0.36
"""A sentence that shares so much with a newer one that tells of a change is replaced by it."""
_RIVAL = 0.25
"""A sentence that shares so much with a newer one and what stands around that is replaced by its other value."""
_RIVALS = 0.15
"""Likewise where values of several kinds differ."""
_TOLD = 0.12
"""A sentence that shares so much with a newer one that names its value as the one before is replaced by it."""
_RARE = 2.5
"""Of the rarity of a word: what names a thing is not said everywhere."""
_DAYS = frozenset(("date", "weekday", "clock"))
"""What many a sentence names without setting it."""
_LEAST_TERMS = 2
_CACHED = 1 << 12  # sentences, about 4 MB
_RULE, _KEPT, _CUED = 4, 3, 2
_POINTER = re.compile(r"^\W*(?:(?:please|and|so|then|ok)\W+)*(?:put|write|note|record)\s+(?:it|them|that|this)\b", re.I)
"""Says that what was said just before is to be kept."""


class StatedText(NamedTuple):
    """The text of one memory, and what is known of it."""

    key: int
    """Greater of what came later."""
    text: str
    is_owners: bool
    """Whether the user said it."""
    is_kept: bool
    """Whether it was kept as a decision or a note."""
    is_correction: bool
    """Whether it corrects another memory: it is told whatever it says."""
    day: date
    """When it was said."""
    successors: tuple[int, ...] = ()
    """Characters at which it states what replaced something."""


class CurrentStretch(NamedTuple):
    """A stretch of a text that holds now."""

    key: int
    start: int
    stop: int
    score: int
    """Greater of what tells it more surely."""


class _Sentence(NamedTuple):
    stated: StatedText
    reading: Reading
    score: int
    is_past: bool
    """Whether it announced something for a day that is over."""


def current_sentences(texts: Sequence[StatedText]) -> list[CurrentStretch]:
    """Return the stretches of some texts that hold now, newest first.

    Args:
        texts: from the oldest to the newest.
    """
    newest = max((stated.day for stated in texts), default=date.min)
    read = [_read(stated, newest) for stated in texts]
    newer = _Newer(_rarities(read))
    found: list[CurrentStretch] = []
    for sentences in reversed(read):
        stands = [bool(one.score) and not one.is_past and not newer.supersedes(one) for one in sentences]
        found += _stretches(sentences, stands)
        newer.add(sentences)
    return found


def _read(stated: StatedText, newest: date) -> list[_Sentence]:
    found = []
    whole = stated.text if stated.is_kept or len(stated.text) <= MAX_STATEMENT_CHARS else ""
    for start, text in _sentences(whole[:MAX_STATEMENT_CHARS]):
        if not stated.is_owners and not stated.is_kept and not _sets(text):
            continue
        reading = _reading(text)._replace(start=start, stop=start + len(text))
        found.append(_Sentence(stated, reading, _score(stated, reading), _is_past(text, stated.day, newest)))
    return found


# A process is asked again and again for a project of which little is new.
_sentences = lru_cache(_CACHED)(lambda text: tuple(told_sentences(text)))
_sets = lru_cache(_CACHED)(sets_something)
_reading = lru_cache(_CACHED)(read_sentence)
_is_open = lru_cache(_CACHED)(is_open)
_states_rule = lru_cache(_CACHED)(lambda text: directive_start(text) is not None)


def _is_past(text: str, said: date, newest: date) -> bool:
    """Say whether all that a sentence announced for days after it was said is over: the newest memory is later."""
    days = [_next(said, month, day) for month, day in expires(text)]
    announced = [day for day in days if day is not None and day > said]
    return bool(announced) and max(announced) < newest


def _next(said: date, month: int, day: int) -> date | None:
    """The day that a sentence names without a year: not long before it was said."""
    try:
        named = date(said.year, month, day)
        return named if named > said - timedelta(days=60) else named.replace(year=said.year + 1)
    except ValueError:  # 30 February
        return None


def _score(stated: StatedText, reading: Reading) -> int:
    """Tell how surely a sentence tells what stands; 0 where it does not."""
    if stated.is_correction:
        return _RULE
    if reading.is_asked or not (stated.is_kept or stated.is_owners):
        return 0
    text = stated.text[reading.start : reading.stop]
    tells = reading.is_change and bool(reading.things or reading.values)
    if stated.is_kept:
        return 0 if _is_open(text) or reading.is_work else _KEPT + tells
    if _states_rule(text):
        return _RULE
    if reading.is_passing or len(reading.terms) < _LEAST_TERMS or _is_open(text):
        return 0
    if any(reading.start <= successor < reading.stop for successor in stated.successors):
        return _KEPT
    if not tells and (reading.is_moment or not reading.is_standing):
        return 0
    return _CUED + (tells and reading.is_standing)


def _stretches(sentences: Sequence[_Sentence], stands: Sequence[bool]) -> list[CurrentStretch]:
    """Those that stand, neighbours in one; of what was kept nothing where what it tells most surely does not stand."""
    if not any(stands):
        return []
    stated = sentences[0].stated
    if stated.is_kept and not stated.is_correction:
        best = max(range(len(sentences)), key=lambda place: (sentences[place].score, -place))
        if not stands[best] or sentences[0].reading.is_work:
            return []
        if len(sentences) > 1 and not sentences[0].reading.terms:  # what it decides was said before
            return []
    found: list[CurrentStretch] = []
    last = -2
    for place, one in enumerate(sentences):
        if stands[place]:
            start, score = one.reading.start, one.score
            if place == last + 1:
                before = found.pop()
                start, score = before.start, max(score, before.score)
            elif score == _RULE and place and _POINTER.match(stated.text[start:]):
                start = sentences[max(0, place - 2)].reading.start
            found.append(CurrentStretch(stated.key, start, one.reading.stop, score))
            last = place
    return found[:1] if stated.is_kept else found


def _rarities(read: Sequence[Sequence[_Sentence]]) -> dict[str, float]:
    holding = Counter(term for sentences in read for term in {term for one in sentences for term in one.reading.terms})
    return {term: math.log1p(len(read) / count) for term, count in holding.items()}


class _Newer:
    """What was said later than a sentence, by its words."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._rare = min(_RARE, max(weights.values(), default=0.0) / 2)  # of few memories no word is rare
        self._by_term: dict[str, list[int]] = defaultdict(list)
        self._said: list[tuple[_Sentence, frozenset[str], float]] = []

    def add(self, sentences: Sequence[_Sentence]) -> None:
        """Take in a memory, of which each sentence is seen among its neighbours."""
        for place, one in enumerate(sentences):
            reading = one.reading
            if not (one.score or reading.is_change or reading.values or reading.past_values or reading.over):
                continue
            near = frozenset().union(*(other.reading.terms for other in sentences[max(0, place - 1) : place + 2]))
            for term in near:
                self._by_term[term].append(len(self._said))
            self._said.append((one, near, self._weight(reading.terms)))

    def supersedes(self, one: _Sentence) -> bool:
        """Say whether something newer stands for a sentence."""
        own = self._weight(one.reading.terms)
        candidates = sorted({number for term in one.reading.terms for number in self._by_term.get(term, ())})
        return any(self._is_superseded_by(one, own, *self._said[number]) for number in candidates)

    def _is_superseded_by(self, one: _Sentence, own: float, by: _Sentence, near: frozenset[str], weight: float) -> bool:
        new, old = by.reading, one.reading
        if any(gone <= old.terms and self._is_rare(gone) for gone in new.over - old.over):
            return not _are_other_versions(new, old)
        around = self._weight(old.terms & near) / max(1e-9, own)
        if new.past_values & old.values and around >= _TOLD:
            return True
        if new.is_asked or _tell_apart(old, new):
            return False
        if new.subjects & old.subjects and by.score:
            return True
        kinds = {kind for kind, _ in old.values if _differ(kind, new, old)}
        if (
            kinds
            and by.score
            and any(mine <= other or other <= mine for mine in new.subjects for other in old.subjects)
        ):
            return True
        shared = old.terms & new.terms
        part = self._weight(shared) / max(1e-9, min(own, weight))
        if by.score >= one.score and part >= _SAME and len(shared) >= _LEAST_TERMS:
            return True
        if kinds and around >= _least_shared(kinds, by):
            return True
        if not new.is_change or new.is_passing or not by.stated.is_owners | by.stated.is_kept:
            return False
        return part >= (_CHANGED if by.score else _SAME) and around >= _RIVAL and len(shared) >= _LEAST_TERMS

    def _is_rare(self, terms: frozenset[str]) -> bool:
        return max(self._weights.get(term, _RARE) for term in terms) >= self._rare

    def _weight(self, terms: Iterable[str]) -> float:
        return math.fsum(sorted(self._weights[term] for term in terms))


def _least_shared(kinds: frozenset[str] | set[str], by: _Sentence) -> float:
    """Tell how much of a sentence a newer one must share that gives other values of some kinds."""
    if not by.score and not by.reading.is_change:
        return 1.5 * _RIVAL
    if kinds <= _DAYS and not by.reading.is_change:
        return 2 * _RIVAL
    return _RIVAL if len(kinds) == 1 else _RIVALS


def _tell_apart(one: Reading, other: Reading) -> bool:
    """Say whether two sentences speak of two things of a kind: of staging and production, of pier 3 and pier 4."""
    return any(
        mine and theirs and mine.isdisjoint(theirs)
        for mine, theirs in ((one.qualifiers, other.qualifiers), (one.numbers, other.numbers))
    )


def _are_other_versions(new: Reading, old: Reading) -> bool:
    """Say whether two sentences name two versions of one thing: that the one is over says nothing of the other."""
    return any(kind.startswith("of ") and _differ(kind, new, old) for kind, _ in old.values)


def _differ(kind: str, new: Reading, old: Reading) -> bool:
    """Say whether two sentences give other values of a kind."""
    values = {value for one, value in new.values if one == kind}
    return bool(values) and values.isdisjoint(value for one, value in old.values if one == kind)
