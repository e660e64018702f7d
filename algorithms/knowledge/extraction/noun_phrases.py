"""Tells where what is named begins and ends: subjects, values, and the words of time that belong to neither.

Above it stands `mnemic.algorithms.knowledge.extraction.clause_values`; below it
`mnemic.algorithms.knowledge.extraction.clause_parts`.
"""

from __future__ import annotations

from mnemic.algorithms.knowledge.extraction.clause_parts import RELATIVES, is_adverb
from mnemic.algorithms.knowledge.extraction.sentences import (
    ARTICLE,
    AUX,
    CLOCK_WORDS,
    DETERMINER,
    JOIN,
    MARK,
    OBJECT,
    OPENER,
    PARTICLE,
    PREPOSITION,
    SUBJECT,
    TIME,
    UNITS_OF_TIME,
    VERB,
    Sentence,
    word_set,
)

DEGREES = word_set("too very so quite rather pretty almost nearly exactly roughly about around all either")
"""Adverbs that say how much of something: they belong to it."""
OF_WORDS = word_set("of per")
"""Prepositions that always go on with a thing."""
PLACE_WORDS = OF_WORDS | word_set("""
past on in at from to between above below near opposite by over under behind beside into
""")
"""Prepositions that may go on with a thing."""
WHEN_WORDS = word_set("in on at by before after during since")
"""Prepositions that stand before days and months."""
_LEADING = word_set("only just both also already always even")
_ENDING_ADVERBS = word_set("only instead then both")
_COMPARED = word_set("more less fewer better later other")
_FILLERS = word_set("look listen note update so")  # no openers where a preposition follows: "look at"
_TIMES_BY_TWO = {
    ("as", "well"),
    ("as", "usual"),
    ("at", "all"),
    ("at", "least"),
    ("at", "once"),
    ("right", "now"),
    ("for", "now"),
    ("so", "far"),
    ("ages", "ago"),
    ("any", "more"),
    ("any", "longer"),
}
_COUNTS = word_set("a two three four five six ten")


def is_time(sentence: Sentence, place: int, end: int) -> bool:
    """Whether words that say when, how often or until when begin there."""
    if place >= end:
        return False
    words, kinds = sentence.words, sentence.kinds
    word = words[place]
    if kinds[place] & TIME and word != "either":
        return not (word in DEGREES and place + 1 < end and not kinds[place + 1] & MARK)
    after = words[place + 1] if place + 1 < end else ""
    if word in ("every", "each"):
        two = words[place + 1 : min(place + 3, end)]
        return not (CLOCK_WORDS.isdisjoint(two) and UNITS_OF_TIME.isdisjoint(two)) or after in ("time", "other")
    if word in ("this", "next", "last", "these", "the", "all"):
        return after in CLOCK_WORDS and (word != "the" or words[place + 2 : place + 3] in (["after"], ["before"]))
    if word == "one":
        return sentence.has(place, "one", "of", "these")
    if word in UNITS_OF_TIME:
        return after == "ago"
    if word in _COUNTS or word.isdigit():
        return "ago" in words[place + 1 : min(place + 4, end)]
    return word == "once" or (word, after) in _TIMES_BY_TWO or sentence.has(place, "at", "the", "moment")


def is_clock(sentence: Sentence, place: int, end: int) -> bool:
    """Whether a day, a month or a year is named there."""
    words = sentence.words
    while place < end and words[place] in ("the", "early", "late", "mid", "next", "last", "this"):
        place += 1
    if place >= end:
        return False
    word = words[place]
    if word in CLOCK_WORDS or (word == "may" and not sentence.kinds[place]):
        return True
    if not word.isdigit():
        return False
    is_year = len(word) == 4 and word[:2] in ("19", "20")
    return is_year or (len(word) < 3 and place + 1 < end and words[place + 1] in CLOCK_WORDS | {"may"})


def noun_end(sentence: Sentence, start: int, end: int, within: frozenset[str] = PLACE_WORDS, most: int = 1) -> int:
    """Where the thing that is named from `start` on ends; `start` where none is.

    Args:
        within: prepositions that go on with it; those of `OF_WORDS` always do.
        most: how many of the others at most.
    """
    words, kinds = sentence.words, sentence.kinds
    place = start
    fresh = True  # whether a noun is still to come
    while place < end:
        word, kind = words[place], kinds[place]
        if not fresh and is_time(sentence, place, end):
            break
        if kind & PREPOSITION or word == "to":
            if fresh:
                if place > start and word not in ("about", "around", "over", "under", "up"):
                    break
            elif word == "than" and words[place - 1] in _COMPARED:
                fresh = True
            elif _goes_on(sentence, place, start, end, within, most):
                most -= word not in OF_WORDS
                fresh = True
            else:
                break
        elif word == "and" and sentence.has(place, "and", "a", "half"):
            place += 2
        elif not fresh and word == "a" and place + 1 < end and words[place + 1] in UNITS_OF_TIME:
            place += 1  # "45 euros a month"
        elif _is_end(sentence, place, fresh=fresh):
            break
        elif word.endswith(("'s", "'")):
            fresh = True
        elif not kind & DETERMINER:
            fresh = False
        place += 1
    place = min(place, end)
    while place > start and (kinds[place - 1] & (PREPOSITION | ARTICLE) or _says_nothing(sentence, place - 1)):
        place -= 1
    return place


def _is_end(sentence: Sentence, place: int, *, fresh: bool) -> bool:
    """Whether a word ends what is named before it.

    Args:
        fresh: whether a noun is still to come.
    """
    word, kind = sentence.words[place], sentence.kinds[place]
    if kind & MARK or word == "not" or (kind & JOIN and word not in ("and", "or")):
        return True
    if fresh:
        return False
    if kind & AUX and sentence.words[place - 1] not in RELATIVES:
        return True
    if word in _ENDING_ADVERBS:
        return True
    is_other = bool(kind & (DETERMINER | SUBJECT | OBJECT)) and word not in RELATIVES and word != "one"
    return is_other and not word.endswith(("'s", "'"))


def _goes_on(sentence: Sentence, place: int, start: int, end: int, within: frozenset[str], most: int) -> bool:
    """Whether a preposition goes on with what is named before it."""
    word = sentence.words[place]
    if word not in within or (word not in OF_WORDS and most <= 0):
        return False
    if word in WHEN_WORDS and is_clock(sentence, place + 1, end) and not is_clock(sentence, start, end):
        return False
    return place + 1 < end and not is_time(sentence, place + 1, end) and not sentence.kinds[place + 1] & (MARK | JOIN)


def _says_nothing(sentence: Sentence, place: int) -> bool:
    """Whether a word says nothing at the end of a value."""
    word, kind = sentence.words[place], sentence.kinds[place]
    adverb = is_adverb(word, kind) and not kind & (VERB | PARTICLE)
    return adverb or word in ("to", "and", "or", "that", "honestly") or not any(map(str.isalnum, word))


def skip_leading(sentence: Sentence, place: int, end: int) -> tuple[int, bool]:
    """The first word that counts from `place` on, and whether ``no`` or ``not`` was passed."""
    words, kinds = sentence.words, sentence.kinds
    denied = False
    while place < end:
        word, kind = words[place], kinds[place]
        if word in ("no", "not", "neither"):
            denied = True
        elif word == "right" and place + 1 < end and kinds[place + 1] & PREPOSITION:
            pass  # "right outside"
        elif word in DEGREES or not (kind & ARTICLE or word in _LEADING or (is_adverb(word, kind) and not kind & VERB)):
            break
        place += 1
    return place, denied


def skip_openers(sentence: Sentence, start: int, end: int) -> int:
    """The first word after those that may stand before all: ``well``, ``so``, ``please``."""
    words, kinds = sentence.words, sentence.kinds
    while start < end:
        word, kind = words[start], kinds[start]
        after = kinds[start + 1] if start + 1 < end else MARK
        if not kind & OPENER and (not is_adverb(word, kind) or kind & (SUBJECT | VERB | DETERMINER)):
            break
        if (word == "no" and not after & MARK) or (word in _FILLERS and after & PREPOSITION):
            break
        start += 1
    return start


def subject(sentence: Sentence, start: int, verb: int) -> tuple[int, int]:
    """The words of the subject of a verb: the first, and the one after the last; equal where there is none."""
    words, kinds = sentence.words, sentence.kinds
    start = skip_openers(sentence, start, verb)
    end = verb
    while end > start and is_adverb(words[end - 1], kinds[end - 1]) and not kinds[end - 1] & SUBJECT:
        end -= 1
    if end - 1 > start and sentence.has(end - 2, "no", "longer"):
        end -= 2
    if end <= start:
        return start, start
    last = kinds[end - 1]
    if last & SUBJECT and not last & DETERMINER and words[end - 1] not in ("who", "one", "mine"):
        return end - 1, end
    if kinds[start] & PREPOSITION or words[start] in ("back", "to") or is_time(sentence, start, end):
        return _subject_after_frame(sentence, start, end), end
    return start, end


def _subject_after_frame(sentence: Sentence, start: int, end: int) -> int:
    """The first word of a subject before which something else stands: it is the last thing that begins anew."""
    words, kinds = sentence.words, sentence.kinds
    first = end - 1
    for place in range(end - 1, start, -1):
        if kinds[place] & (DETERMINER | SUBJECT) and not words[place].endswith(("'s", "'")):
            first = place
            if not kinds[place - 1] & PREPOSITION or place - 1 <= start + 1:
                break
    if first == end - 1 and not kinds[first] & DETERMINER:
        while first - 1 > start and sentence.is_capital(first - 1) and words[first - 1] not in CLOCK_WORDS:
            first -= 1
    return first
