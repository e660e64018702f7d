"""Decides with what status a clause says what it states, and for which days.

Above it stands `mnemic.algorithms.knowledge.extraction.statements`; below it
`mnemic.algorithms.knowledge.extraction.clause_reader` and `mnemic.algorithms.knowledge.extraction.holding_days`. The
order is that of `mnemic.algorithms.knowledge.extraction.modality`, whose `status_of` looks at whole sentences; here the
verb is known, and so is what the sentence around it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from mnemic.algorithms.knowledge.extraction.clauses import Clause, Draft, Reading
from mnemic.algorithms.knowledge.extraction.holding_days import DayPhrase
from mnemic.algorithms.knowledge.extraction.modality import Modality
from mnemic.algorithms.knowledge.extraction.questions_and_reports import THOUGHT
from mnemic.algorithms.knowledge.extraction.sentences import CLOCK_WORDS, Sentence, word_set
from mnemic.algorithms.knowledge.extraction.verb_groups import (
    COULD,
    DENIED,
    GOING,
    MIGHT,
    NO_LONGER,
    OBLIGED,
    PASSIVE,
    PERFECT,
    SHOULD,
    STOPPED,
    USED_TO,
    WANTED,
    WAS,
    WILL,
    WOULD,
)

_DROPPING = word_set("""
drop quit cancel ditch abandon scrap decommission retire deprecate sunset stop end sell remove uninstall rename
""")
"""Verbs that say, in the past, that their object is over."""
_DROPPING_TIES = {
    "give": ("up",),
    "call": ("off",),
    "get": ("rid",),
    "kick": ("out",),
    "phase": ("out",),
    "say": ("goodbye",),
    "throw": ("out", "away"),
    "shut": ("down",),
    "close": ("down",),
    "turn": ("off",),
    "unsubscribe": ("from",),
}
_OBSOLETE = word_set("dead history legacy obsolete outdated superseded")
"""What is said in the present of something that is over."""
_LEAVING = word_set("move switch migrate")
_LEAVING_TIES = ("off", "off of", "away from", "out of", "from")
_STATES = word_set("""
live have own use work belong like love hate run cost need want know keep hold store contain support drive play speak
wear teach study eat drink cycle commute smoke collect lead host rely depend sit stand lie stay weigh be bike ride
happen default require consist share rent deploy serve listen manage feel taste smell prefer do
""")
"""Verbs whose past tense tells of what held once, and of no event."""
_PASSIVE_STATES = word_set("call name base host locate use store keep allow pin set limit cap own deploy bind")
_HEARSAY = word_set("apparently supposedly allegedly reportedly according")
_PERHAPS = word_set("maybe perhaps possibly")
_ONCE = word_set("formerly previously originally")
_FOR_NOW = word_set("temporarily meanwhile until till tonight today")
_SPANS_FOR = word_set("moment next coming weekend summer winter")  # "for the next"
_WISH_NOUNS = word_set("dream wish hope goal")
_COMING_PREPOSITIONS = word_set("on in by")
_PASSED_DAYS = 6  # "in my student days" stands among the first words


class Status(NamedTuple):
    """How a clause says what it states."""

    modality: Modality
    rule: str
    """What decided it."""


def clause_days(
    reading: Reading, clause: Clause, phrases: Sequence[DayPhrase], said_on: date
) -> tuple[date | None, date | None]:
    """The first day on which what a clause states holds, and the first on which it does no longer, where it is told."""
    if not phrases:
        return None, None
    first: date | None = None
    stop: date | None = None
    for phrase in _within(reading, clause, phrases):
        one, other = phrase.days(said_on, past=bool(clause.group.flags & (WAS | USED_TO)))
        first, stop = first or one, stop or other
    return (first, stop) if not (first and stop) or first < stop else (None, None)


def _within(reading: Reading, clause: Clause, phrases: Sequence[DayPhrase]) -> list[DayPhrase]:
    if not phrases:
        return []
    low, high = reading.sentence.starts[clause.low], reading.sentence.ends[clause.high - 1]
    return [phrase for phrase in phrases if low <= phrase.start < high]


def clause_status(reading: Reading, clause: Clause, phrases: Sequence[DayPhrase], said_on: date) -> Status:
    """The status of a clause: the first that fits, in the order of `modality.MODALITIES`.

    What the clause thought and another one corrects is denied thereby.
    """
    sentence, flags = reading.sentence, clause.group.flags
    words = sentence.words[clause.low : clause.high]
    here = frozenset(words)
    if clause.part.link == THOUGHT and reading.forced is None:
        if reading.clauses[-1] is clause:
            return Status("hypothetical", "thought")
        for draft in clause.drafts:
            draft.negative = True
        return Status("asserted", "thought, but")
    all_asked = sentence.asked and not reading.is_what_if and (not reading.is_inverted or reading.is_conditional)
    if clause.forced == "asked" or all_asked:
        return Status("asked", clause.rule or "question mark")
    if clause.forced == "quoted" or here & _HEARSAY:
        return Status("quoted", clause.rule or "hearsay")
    if clause.forced in ("wished", "hypothetical"):
        return Status(clause.forced, clause.rule)
    noun = sentence.words[clause.subject[1] - 1] if clause.subject[1] > clause.subject[0] else ""
    if flags & (SHOULD | WANTED | OBLIGED) or "hopefully" in here:
        return Status("wished", "wish" if flags & WANTED else "should")
    if clause.group.lemma == "be" and noun in _WISH_NOUNS:
        return Status("wished", "wish noun")
    if reading.is_conditional:
        return Status("hypothetical", "condition")
    if flags & (MIGHT | COULD | WOULD) or here & _PERHAPS:
        return Status("hypothetical", "would" if flags & WOULD else "might")
    if flags & WILL or (clause.group.lemma == "be" and noun == "plan"):
        return Status("planned", "future")
    if flags & (WAS | USED_TO):
        return _over(reading.sentence, clause, words, here) or _past(reading, clause, words, here, phrases)
    return (
        _bound(reading, clause, words, here, phrases, said_on)
        or _over(reading.sentence, clause, words, here)
        or Status("asserted", "plain")
    )


def _bound(
    reading: Reading,
    clause: Clause,
    words: list[str],
    here: frozenset[str],
    phrases: Sequence[DayPhrase],
    said_on: date,
) -> Status | None:
    """What lies ahead, or holds for a time that ends; ``None`` for what does neither."""
    near = _within(reading, clause, phrases)
    if near:
        first, stop = clause_days(reading, clause, near, said_on)
        if first is not None and first > said_on:
            return Status("planned", "holds from a coming day")
    if not clause.group.flags & PERFECT and _is_coming(words, clause.group.flags):
        return Status("planned", "coming time")
    if near and stop is not None and stop > said_on:
        return Status("temporary", "holds to a coming day")
    in_while = any(one.scope == "while" for one in reading.clauses)
    is_since = bool(clause.group.flags & PERFECT)  # "has moved to Graz meanwhile"
    for_now = here & (_FOR_NOW - {"meanwhile"} if is_since else _FOR_NOW)
    if clause.scope in ("until", "while") or in_while or for_now or _is_for_now(words):
        return Status("temporary", clause.scope or "for now")
    return None


def _over(sentence: Sentence, clause: Clause, words: list[str], here: frozenset[str]) -> Status | None:
    """What was ended; ``None`` for what was not."""
    group = clause.group
    if group.flags & (NO_LONGER | STOPPED):
        return Status("ended", "no longer")
    if group.flags & DENIED:
        is_over = "anymore" in here or _follows(words, "any", ("more", "longer"))
        return Status("ended", "not any more") if is_over else None
    if group.lemma == "be" and any(_said(sentence, draft) in _OBSOLETE for draft in clause.drafts):
        return Status("ended", "obsolete")
    if not group.flags & (WAS | PERFECT | PASSIVE) and group.lemma != "quit":
        return None
    ties = [draft.value.tie for draft in clause.drafts]
    if group.lemma in _DROPPING:
        if group.flags & PASSIVE or any(not tie or tie.startswith("support") for tie in ties):
            return Status("ended", "dropped")
    elif group.lemma in ("be", "go") and any(sentence.words[draft.value.start] == "gone" for draft in clause.drafts):
        return Status("ended", "gone")
    elif any(tie.startswith(_DROPPING_TIES.get(group.lemma, ("\0",))) for tie in ties):
        return Status("ended", "dropped")
    elif len(ties) == 1 and not group.flags & PASSIVE and _has_left(clause, words):
        return Status("ended", "left")
    return None


def _said(sentence: Sentence, draft: Draft) -> str:
    """The value of a draft where it is one word; else ``""``."""
    return sentence.words[draft.value.start] if draft.value.end == draft.value.start + 1 else ""


def _has_left(clause: Clause, words: list[str]) -> bool:
    """Whether somebody left what the clause names: ``left the choir``, ``moved off Heroku``."""
    value = clause.drafts[0].value
    if clause.group.lemma in _LEAVING:
        return value.tie in _LEAVING_TIES
    before = words[value.start - clause.low - 1] if value.start > clause.low else ""
    is_thing = not value.tie and before not in ("a", "an", "for")
    return clause.group.lemma == "leave" and is_thing and clause.part.end - value.end <= 3


def _past(
    reading: Reading, clause: Clause, words: list[str], here: frozenset[str], phrases: Sequence[DayPhrase]
) -> Status:
    """What held once, or happened: an event in the past tense is told as a fact."""
    group = clause.group
    if group.flags & USED_TO:
        return Status("past", "used to")
    back = (
        here & _ONCE
        or ("past" in here and _follows(words, "the", ("past",)))
        or _follows(words, "back", ("then", "when", "in", "at"))
    )
    if back or words[:2] in (["as", "a"], ["as", "an"]) or clause.scope == "when":
        return Status("past", "back then")
    if group.flags & PASSIVE:
        return Status("past", "was") if group.lemma in _PASSIVE_STATES else Status("asserted", "event")
    if group.lemma in _STATES or group.flags & GOING:
        return Status("past", "state in the past tense")
    told = "until" in here or "till" in here or "ago" in here or _follows(words, "every", CLOCK_WORDS)
    if (
        told
        or reading.clauses[0].scope == "when"
        or _within(reading, clause, phrases)
        or "days" in words[:_PASSED_DAYS]
    ):
        return Status("past", "told of a time")
    return Status("asserted", "event")


def _follows(words: list[str], word: str, following: Iterable[str]) -> bool:
    """Whether one of these stands right after a word."""
    if word not in words:
        return False
    after = words.index(word) + 1
    return after < len(words) and words[after] in following


def _is_for_now(words: list[str]) -> bool:
    """Whether words say that something holds for a time: ``this week``, ``for now``, ``at the moment``."""
    for place, word in enumerate(words[:-1]):
        after = words[place + 1]
        if word == "this" and after in CLOCK_WORDS:
            return True
        if word == "for" and (after == "now" or words[place + 1 : place + 4] == ["the", "time", "being"]):
            return True
        third = words[place + 2 : place + 3]
        if after == "the" and (
            (word == "for" and third and third[0] in _SPANS_FOR) or (word, third) == ("at", ["moment"])
        ):
            return True
    return False


def _is_coming(words: list[str], flags: int) -> bool:
    """Whether words name a time that lies ahead of a present tense: ``tomorrow``, ``is coming on Tuesday``."""
    if "tomorrow" in words:
        return True
    for place, word in enumerate(words[:-1]):
        after = words[place + 1]
        if word == "next" and after in CLOCK_WORDS and (not place or words[place - 1] not in ("the", "until", "till")):
            return True
        is_day = after == "may" or (after in CLOCK_WORDS and not after.endswith("s"))
        if flags & GOING and word in _COMING_PREPOSITIONS and is_day:
            return True
    return False
