"""Reads what stands after a verb: the values that it names, and the words that tie them to it.

Above it stands `mnemic.algorithms.knowledge.extraction.clause_reader`; below it
`mnemic.algorithms.knowledge.extraction.noun_phrases` and `mnemic.algorithms.knowledge.extraction.verb_groups`. A
preposition right after the verb belongs to it (``runs on | Debian 12``); one after a thing goes on with that thing, or
ends it, by what both are. Of verbs of change the value is where something is moved or set to, and what is moved is what
the statement is about.
"""

from __future__ import annotations

from typing import NamedTuple

from mnemic.algorithms.knowledge.extraction.clause_parts import RELATIVES
from mnemic.algorithms.knowledge.extraction.noun_phrases import (
    DEGREES,
    OF_WORDS,
    PLACE_WORDS,
    WHEN_WORDS,
    is_clock,
    is_time,
    noun_end,
    skip_leading,
)
from mnemic.algorithms.knowledge.extraction.sentences import (
    ADVERB,
    ARTICLE,
    AUX,
    BASE,
    DETERMINER,
    FINITE,
    JOIN,
    MARK,
    PARTICLE,
    PREPOSITION,
    TIME,
    Sentence,
    word_set,
)
from mnemic.algorithms.knowledge.extraction.verb_groups import GOING, PASSIVE, VerbGroup

_TARGETED = word_set("""
move port rename pin bump mirror migrate switch upgrade downgrade convert change set transfer shift relocate redirect
point map rewrite turn translate raise lower increase reduce cut extend bind postpone push reschedule promote sync cache
put hang store park host route forward
""")
"""Verbs of change: what is moved or set is what the statement is about, and the target its value."""
CHANGES = _TARGETED | word_set("go drop rise fall grow")
"""Verbs after which ``from A to B`` names an old and a new state, and no days."""
_TARGETS = word_set("to into onto at in on opposite under behind beneath from")
_GETTING = word_set("have want like love prefer need buy rent own get use see adopt")  # "a flat with a garden"
_COMPLEMENTS = word_set("to of for with from about at")  # "allergic to"
_PRONOUNS = word_set("""
it them him her me us you this that these those there here one everything something
""")
_PARTICLES_BEFORE_THINGS = word_set("up off out over")
_PARTICLES_AFTER_THINGS = word_set("over up down back away out off")
_ROUNDING = word_set("about around over under up")
_NUMBERS = word_set("a two three four five six seven eight nine ten eleven twelve twenty thirty half")
_TIMES_AS_VALUES = word_set("tomorrow today tonight yesterday next this last")
_HALF_SAID = {
    "drop": "support",
    "get": "rid",
    "give": "way",
    "make": "way",
    "say": "goodbye",
    "take": "place",
}
"""Nouns that belong to their verb: ``dropped support for X``, ``got rid of X``, ``took the place of X``."""
_FROM_TO = ({"from", "to"}, {"from", "into"})


class Value(NamedTuple):
    """What a clause names, with the words that tie it to its verb."""

    start: int
    """Its first word."""
    end: int
    """The word after its last one."""
    tie: str
    """The particle and the preposition between verb and value (``up on``); ``""`` where none is."""
    moved: tuple[int, int] | None = None
    """The words of what is moved or set, where the value is what it is moved or set to."""


def values(sentence: Sentence, group: VerbGroup, end: int) -> tuple[list[Value], bool]:
    """The values that stand after a verb and before `end`, and whether ``no`` stands before one."""
    words, kinds = sentence.words, sentence.kinds
    is_be = group.lemma == "be" and not group.flags & (GOING | PASSIVE)
    place, denied = _skip_times(sentence, group.end, end)
    if is_be and place < end and kinds[place] & PARTICLE and (place + 1 >= end or is_time(sentence, place + 1, end)):
        return [Value(place, place + 1, "")], denied  # "the site is down"
    tie: list[str] = []
    while not is_be and place < end - 1 and kinds[place] & PARTICLE:
        is_tied = not kinds[place] & PREPOSITION or kinds[place + 1] & PREPOSITION
        if not is_tied and words[place] not in _PARTICLES_BEFORE_THINGS:
            break
        tie.append(words[place])
        place += 1
    if tie:
        place, more = skip_leading(sentence, place, end)
        denied = denied or more
    if (
        place < end
        and _HALF_SAID.get(group.lemma) == words[place]
        and (place + 1 >= end or _is_preposition(sentence, place + 1))
    ):
        tie.append(words[place])
        place += 1
    if place >= end:
        return [], denied
    if _is_preposition(sentence, place) and not _is_amount(sentence, place, end):
        return _prepositional(sentence, group, place, end, tie), denied
    if sentence.has(place, "next", "to"):
        return _prepositional(sentence, group, place + 1, end, [*tie, "next"]), denied
    if is_time(sentence, place, end):
        return _time(sentence, group, place, end, tie, is_be=is_be), denied
    if is_be:
        return _complement(sentence, place, end), denied
    return _object(sentence, group, place, end, tie), denied


def _skip_times(sentence: Sentence, start: int, end: int) -> tuple[int, bool]:
    """The first word that counts, times before it passed where more than times follow; and whether ``no`` was."""
    words, kinds = sentence.words, sentence.kinds
    place, denied = skip_leading(sentence, start, end)
    while (
        place < end - 1
        and kinds[place] & TIME
        and words[place] not in DEGREES
        and not all(kind & TIME for kind in kinds[place:end])
    ):
        place, more = skip_leading(sentence, place + 1, end)
        denied = denied or more
    return place, denied


def _is_preposition(sentence: Sentence, place: int) -> bool:
    return bool(sentence.kinds[place] & PREPOSITION) or sentence.words[place] == "to"


def _is_amount(sentence: Sentence, place: int, end: int) -> bool:
    """Whether a preposition only rounds a number: ``about 40 minutes``."""
    words = sentence.words
    if words[place] not in _ROUNDING or place + 1 >= end:
        return False
    return words[place + 1][0].isdigit() or words[place + 1] in _NUMBERS


def _time(sentence: Sentence, group: VerbGroup, place: int, end: int, tie: list[str], *, is_be: bool) -> list[Value]:
    """The value of a verb after which a time stands: what follows the time, or the time where it is all there is."""
    words, kinds = sentence.words, sentence.kinds
    if is_be:
        if words[place] not in _TIMES_AS_VALUES | {"every", "each"}:
            return []
        length = 1 if kinds[place] & TIME else 2
        return [Value(place, min(place + length, end), "")]
    until = place + 1
    if group.lemma == "spend":  # "spend every summer in Brittany"
        until = next((at for at in range(place, end) if kinds[at] & PREPOSITION), end)
        return _prepositional(sentence, group, until, end, [*tie, *words[place:until]])
    if words[place] not in ("every", "each"):
        return []
    until = next((at for at in range(place + 1, end) if kinds[at] & (PREPOSITION | MARK | JOIN | TIME)), end)
    if until < end and kinds[until] & PREPOSITION:
        return _prepositional(sentence, group, until, end, tie)
    return [Value(place, until, " ".join(tie))]


def _prepositional(sentence: Sentence, group: VerbGroup, place: int, end: int, tie: list[str]) -> list[Value]:
    """The values after prepositions: one, or two of ``from A to B`` and ``live in A with B``."""
    words = sentence.words
    found: list[Value] = []
    while place < end and _is_preposition(sentence, place) and len(found) < 2:
        own = [*tie]
        while place < end and _is_preposition(sentence, place):
            own.append(words[place])
            place += 1
            if own[-1] == "at" and place < end and words[place] in ("most", "least"):
                own.append(words[place])
                place += 1
        start, _ = skip_leading(sentence, place, end)
        within = PLACE_WORDS
        if own[-1] == "from":
            within -= {"to", "by"}
        elif own[-1] in ("to", "into") and group.lemma in CHANGES:
            within -= {"from"}
        until = noun_end(sentence, start, end, within)
        if until <= start:
            break
        if words[start] not in _PRONOUNS or until > start + 1:
            found.append(Value(start, until, " ".join(own)))
        place, tie = until, []
        again = words[place] if place < end else ""
        if {own[-1], again} not in _FROM_TO and not (again == "with" and group.lemma == "live"):
            break
    return found


def _complement(sentence: Sentence, place: int, end: int) -> list[Value]:
    """What something is."""
    words, kinds = sentence.words, sentence.kinds
    if "than" in words[place : min(end, place + 4)]:
        than = words.index("than", place)
        start, _ = skip_leading(sentence, than + 1, end)
        until = noun_end(sentence, start, end)
        return [Value(start, until, " ".join(words[place : than + 1]))] if until > start else []
    if words[place] in _PRONOUNS and not kinds[place] & DETERMINER and words[place] != "one":
        return []
    if place + 2 < end and _is_tied_adjective(sentence, place, end):
        group = VerbGroup(place, place + 1, "be", 0, place)
        if tied := _prepositional(sentence, group, place + 1, end, [words[place]]):
            return tied
    if words[place - 1] in ("a", "an") and place + 1 < end and words[place + 1] in ("at", "for"):
        return [Value(place, place + 1, "")]  # "a swimmer at school"
    until = noun_end(sentence, place, end, PLACE_WORDS - {"at"}, 2)
    return [Value(place, until, "")] if until > place else []


def _is_tied_adjective(sentence: Sentence, place: int, end: int) -> bool:
    """Whether the preposition after a word belongs to it: ``allergic to``, ``free on Monday``."""
    words, kinds = sentence.words, sentence.kinds
    if kinds[place - 1] & ARTICLE or kinds[place] & DETERMINER:
        return False
    after = words[place + 1]
    if after in WHEN_WORDS and is_clock(sentence, place + 2, end):
        return True
    is_infinitive = after == "to" and bool(kinds[place + 2] & BASE)
    return (
        after in _COMPLEMENTS
        and sentence.is_plain(place)
        and not is_infinitive
        and not is_time(sentence, place + 2, end)
    )


def _object(sentence: Sentence, group: VerbGroup, start: int, end: int, tie: list[str]) -> list[Value]:
    """What something is done to, or where that is put."""
    words, kinds = sentence.words, sentence.kinds
    if words[start] in _PRONOUNS and (
        start + 1 >= end
        or kinds[start + 1] & (PREPOSITION | MARK | ADVERB | TIME | PARTICLE)
        or words[start + 1] == "to"
    ):
        place = start + 1
        while place < end and kinds[place] & PARTICLE and not kinds[place] & PREPOSITION:
            place += 1
        if place < end and _is_preposition(sentence, place):
            return _prepositional(sentence, group, place, end, [*tie, words[start]])
        return []
    until = noun_end(sentence, start, end, OF_WORDS, 0)
    if until <= start:
        return []
    if group.lemma in ("call", "name") and (name := _given_name(sentence, start, until)):
        return [name]
    after = until
    while after < end and words[after] in _PARTICLES_AFTER_THINGS:
        after += 1
    if group.lemma in _TARGETED and after < end and words[after] in _TARGETS:
        first = start - 1 if start > group.end and kinds[start - 1] & ARTICLE else start
        if found := _prepositional(sentence, group, after, end, tie):
            return [one._replace(moved=(first, until)) for one in found]
    return _object_with_place(sentence, group, start, until, after, end, tie)


def _given_name(sentence: Sentence, start: int, until: int) -> Value | None:
    """The name after whom it is given to: ``call her Mimi``, ``call my car Betsy``."""
    if until <= start + 1:
        return None
    is_pronoun = sentence.words[start] in _PRONOUNS
    name = next((at for at in range(start + 1, until) if is_pronoun or sentence.is_capital(at)), 0)
    return Value(name, until, "", (start, name)) if name else None


def _object_with_place(
    sentence: Sentence, group: VerbGroup, start: int, until: int, after: int, end: int, tie: list[str]
) -> list[Value]:
    """An object, with what follows it where that belongs to it: ``a view of the river``, ``children to school``.

    Args:
        until: where the thing itself ends.
        after: the first word after it and its particles.
    """
    words, kinds = sentence.words, sentence.kinds
    word = words[after] if after < end else ""
    has_article = start > group.end and bool(kinds[start - 1] & DETERMINER)
    is_single = until == start + 1
    is_bare = is_single and not has_article and not kinds[start] & DETERMINER and sentence.is_plain(start)
    if is_bare and word in ("in", "at", "from", "on") and not is_time(sentence, after + 1, end):
        if found := _prepositional(sentence, group, after, end, [*tie, words[start]]):
            return found[:1]  # "answers tickets in | French"
    elif word == "with" and group.lemma in _GETTING and words[start - 1] in ("a", "an") and after == until:
        until = noun_end(sentence, start, end, PLACE_WORDS | {"with"})
    elif word in PLACE_WORDS - OF_WORDS and (
        (is_single and has_article and word != "from") or (is_bare and word == "to")
    ):
        until = noun_end(sentence, start, end, PLACE_WORDS - {"from"})
    elif word in RELATIVES and after + 1 < end and kinds[after + 1] & (FINITE | AUX):
        until = noun_end(sentence, start, end)
    return [Value(start, until, " ".join(tie))]
