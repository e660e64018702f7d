"""Cuts a sentence into parts that may be clauses, and finds the verb of a part.

Above it stand `mnemic.algorithms.knowledge.extraction.verb_groups` and
`mnemic.algorithms.knowledge.extraction.sentence_reader`; below it `mnemic.algorithms.knowledge.extraction.sentences`. A
part lies between two joints: punctuation, a conjunction, or a word that begins a clause which depends on another.
English is full of words that are verbs and nouns alike, so what stands before and after a word decides (``the build
takes``, ``the test runs take``), and not the table alone.
"""

from __future__ import annotations

from typing import NamedTuple

from mnemic.algorithms.knowledge.extraction.sentences import (
    ADVERB,
    ARTICLE,
    AUX,
    BASE,
    BE,
    BELIEF,
    DETERMINER,
    FINITE,
    HAVE,
    JOIN,
    MARK,
    OBJECT,
    PARTICIPLE,
    PAST,
    PLURALS,
    PREPOSITION,
    REPORT,
    SUBJECT,
    THIRD,
    TIME,
    UNDER,
    WISH,
    Sentence,
    word_set,
)

IF_WORDS = word_set("if unless supposing assuming")
"""What begins a condition."""
RELATIVES = word_set("that which who")
"""What begins a clause that says which one is meant."""
_JOINTS = IF_WORDS | word_set("whether whenever while whereas although because but nor when where")
_JOINTS_AT_FRONT = word_set("yet then plus so")
_CONTENT_AFTER = word_set("""
read hear heard learned learnt found shows showed here says it so sure glad afraid noted given fact now certain aware
happy sorry true think clear turns reads means out likely
""")  # after them "that" begins what is said or known
_PERSONS = word_set("i we you he she they")
_CLAUSE_WORDS = 9  # so far a clause after "until" is looked for
_SAID_WORDS = 4  # so near before "that" stands a verb of saying: "wrote to us that"
_NO_ADVERBS = word_set("""
family assembly anomaly monopoly butterfly homily lovely friendly lonely elderly likely costly deadly lively chilly
woolly cuddly beverly unruly orderly motherly gangly measly prickly wobbly disorderly unlikely unfriendly
""")
_NOUNS = word_set("""
support access care part place time work space name help need change control power water traffic port sleep sugar fish
milk music exercise
""")  # forms of verbs that are things after a verb: "drops support for"


class Part(NamedTuple):
    """A part of a sentence between two joints."""

    start: int
    """Its first word."""
    end: int
    """The word after its last one."""
    link: str
    """The word that joins it to what stands before: ``and``, ``if``; ``""`` where none does."""
    mark: str
    """The punctuation before it; ``""`` where there is none."""


def is_adverb(word: str, kind: int) -> bool:
    """Whether a word may stand between a subject and its verb."""
    return bool(kind & ADVERB) or (
        not kind and word.endswith("ly") and len(word) > 5 and word.isalpha() and word not in _NO_ADVERBS
    )


def parts(sentence: Sentence) -> list[Part]:
    """The parts of a sentence, in order."""
    words, kinds = sentence.words, sentence.kinds
    found: list[Part] = []
    start, link, mark = 0, "", ""
    for place, kind in enumerate(kinds):
        if not kind & (MARK | JOIN | UNDER) or (not kind & MARK and not _is_joint(sentence, place, start, mark)):
            continue
        word = words[place]
        if place > start:
            found.append(Part(start, place, link, mark))
            link = mark = ""
        if kind & MARK:
            mark = word
        elif word == "so" or not (
            link and ((kind & JOIN and not kind & UNDER) or (word == "that" and link in _JOINTS))
        ):
            link = f"{link} {word}" if link in ("what", "as", "so", "even", "back") else word
        start = place + 1
    if start < len(words):
        found.append(Part(start, len(words), link, mark))
    return found


def _is_joint(sentence: Sentence, place: int, start: int, mark: str) -> bool:
    """Whether a word joins what follows it to what stands before."""
    words, kinds = sentence.words, sentence.kinds
    word = words[place]
    after, after_kind = (words[place + 1], kinds[place + 1]) if place + 1 < len(words) else ("", MARK)
    if word in ("and", "or"):
        if sentence.has(place + 1, "a", "half"):
            return False
        return "between" not in words[start:place] or "and" in words[start:place]
    if word in _JOINTS:
        return True
    if word in _JOINTS_AT_FRONT:
        begins_clause = word == "so" and bool(after_kind & (SUBJECT | DETERMINER))
        return place == start or begins_clause or after in ("please", "that")
    if word == "that":
        return place > 0 and _is_content(sentence, place, start, after_kind)
    if word in ("who", "which", "whose"):
        return place == start > 0 and bool(mark)
    if word in ("how", "why", "what"):
        return place == 0 or bool(kinds[place - 1] & (REPORT | BELIEF | OBJECT))
    if word == "as":
        measures = after in ("soon", "long", "far") and "as" in words[place + 1 : place + 4]
        return measures or bool(after_kind & SUBJECT and not after_kind & DETERMINER)
    if word == "though":
        return after != ""
    # until, till, before, after, since, once, provided: only where a clause follows, and no time
    return _clause_follows(sentence, place + 1)


def _is_content(sentence: Sentence, place: int, start: int, after_kind: int) -> bool:
    """Whether ``that`` begins what is said or known, and does not say which one is meant."""
    words, kinds = sentence.words, sentence.kinds
    before = kinds[place - 1]
    if after_kind & (AUX | MARK) and not before & OBJECT:
        return False
    return (
        bool(before & (REPORT | BELIEF | WISH | OBJECT))
        or words[place - 1] in _CONTENT_AFTER
        or any(
            kinds[one] & REPORT or words[one] in ("read", "heard", "hear")
            for one in range(max(start, place - _SAID_WORDS), place)
        )
    )


def _clause_follows(sentence: Sentence, start: int) -> bool:
    """Whether a clause with one subject begins there: ``until the flat is ready``, not ``since May the flat is``."""
    words, kinds = sentence.words, sentence.kinds
    end = start
    while end < min(len(words), start + _CLAUSE_WORDS) and not kinds[end] & MARK and words[end] not in ("and", "but"):
        end += 1
    verb = find_verb(sentence, start, end) if end > start else -1
    return verb > start and not any(
        kinds[one] & (DETERMINER | SUBJECT)
        and words[one] not in ("that", "both", "all")
        and not kinds[one - 1] & (DETERMINER | PREPOSITION | ADVERB | JOIN)
        for one in range(start + 1, verb)
    )


def find_verb(sentence: Sentence, start: int, end: int, *, joined: bool = False) -> int:
    """The first word from `start` on and before `end` that is a finite verb; -1 where none is.

    A verb at `start` counts only where there is no other: it has no subject here.

    Args:
        joined: whether what stands before these words belongs to the subject, so that it is more than one.
    """
    words, kinds = sentence.words, sentence.kinds
    first = -1
    for place in range(start, end):
        kind = kinds[place]
        if kind & AUX:
            if _is_finite_auxiliary(sentence, place, start):
                return place
        elif kind & FINITE:
            if place == start:
                first = place
            elif is_finite(sentence, place, start, end, joined=joined):
                later = -1
                if kind & PARTICIPLE and kind & PAST and not kinds[place - 1] & SUBJECT:
                    later = _verb_after_participle(sentence, place, end)
                elif words[place - 1] in _PERSONS and place - 2 >= start:
                    later = _verb_after_contact(sentence, place, start, end)
                return later if later >= 0 else place
        elif not kind and place > start and _looks_finite(sentence, place, start, end):
            return place
    return first


def _is_finite_auxiliary(sentence: Sentence, place: int, start: int) -> bool:
    words, kind = sentence.words, sentence.kinds[place]
    if kind & (BE | HAVE) and words[place] in ("been", "being", "be", "having"):
        return False
    if place - 1 > start and words[place - 1] in RELATIVES:
        return False
    return not (words[place] == "have" and place > start and words[place - 1] in ("to", "not"))


def _verb_after_contact(sentence: Sentence, place: int, start: int, end: int) -> int:
    """The verb of ``the flat we rent has``, as seen from ``rent``; -1 where there is none."""
    kinds = sentence.kinds
    before = kinds[place - 2]
    if kinds[start] & (PREPOSITION | TIME) or before & (PREPOSITION | MARK | JOIN | ADVERB | TIME):
        return -1
    for later in range(place + 1, min(place + 3, end)):
        if kinds[later] & AUX or (kinds[later] & THIRD and not kinds[later - 1] & DETERMINER):
            return later
    return -1


def _verb_after_participle(sentence: Sentence, place: int, end: int) -> int:
    """The verb of ``the box rented by X is``, as seen from ``rented``; -1 where there is none."""
    words, kinds = sentence.words, sentence.kinds
    if place + 1 < end and words[place + 1] in ("by", "in", "from", "for", "at", "on", "with"):
        for later in range(place + 3, min(end, place + 8)):
            if kinds[later] & AUX and not kinds[later - 1] & (SUBJECT | PREPOSITION):
                return later
    return -1


def is_finite(sentence: Sentence, place: int, start: int, end: int, *, joined: bool = False) -> bool:
    """Whether a form of a verb is the verb of a clause there, as what stands before and after it shows."""
    words, kinds = sentence.words, sentence.kinds
    kind = kinds[place]
    before = place - 1
    while before > start and is_adverb(words[before], kinds[before]) and not kinds[before] & SUBJECT:
        before -= 1
    if before > start + 1 and sentence.has(before - 1, "no", "longer"):
        before -= 2
    last, last_kind = words[before], kinds[before]
    if last in RELATIVES:
        return before == start
    if last_kind & SUBJECT and not last_kind & DETERMINER:  # a pronoun; "it" may be an object as well
        return not (last == "it" and before > start and kinds[before - 1] & (PREPOSITION | FINITE) and kind & BASE)
    if last_kind & (PREPOSITION | MARK | JOIN | ARTICLE) or last == "to":
        return False
    if last_kind & DETERMINER and not last_kind & SUBJECT:
        return False
    if last_kind & DETERMINER and last in ("this", "these", "those", "both", "neither") and not kind & PAST:
        return bool(kind & THIRD) == (last == "this") and place + 1 < end
    if is_adverb(last, last_kind):
        return False
    if kind & THIRD:
        return _is_third_person(sentence, place, start, end)
    if kind & PAST or joined or last in PLURALS or "and" in words[max(start, before - 3) : before]:
        return True
    return last.endswith("s") and not last.endswith(("ss", "us", "is", "'s"))


def _is_third_person(sentence: Sentence, place: int, start: int, end: int) -> bool:
    """Whether a form in ``s`` after a noun is its verb, and no noun itself: ``the release notes say``."""
    words, kinds = sentence.words, sentence.kinds
    if place + 1 >= end:  # no verb ends what only lists: "semantic versioning and conventional commits"
        listed = start > 1 and words[start - 1] in ("and", "or") and not kinds[start] & (DETERMINER | SUBJECT)
        return not listed or sentence.is_capital(start)
    after, after_kind = words[place + 1], kinds[place + 1]
    later = kinds[place + 2] if place + 2 < end else 0
    if after in _PERSONS or after == "it":  # "in the release notes it says"
        return not later & (FINITE | AUX) or bool(kinds[place] & (REPORT | BELIEF) and words[place] != "notes")
    if kinds[place] & REPORT or after_kind & (DETERMINER | PREPOSITION | ADVERB) or after in _NOUNS:
        return True
    if after_kind & AUX:
        return False
    opens_value = place + 2 < end and (bool(later & (DETERMINER | PREPOSITION)) or words[place + 2][0].isdigit())
    return not (after_kind & FINITE and after_kind & (BASE | PAST) and opens_value)


def _looks_finite(sentence: Sentence, place: int, start: int, end: int) -> bool:
    """Whether a word that is in no table is a verb: by what stands before it and how it ends."""
    words, kinds = sentence.words, sentence.kinds
    word = words[place]
    before = place - 1
    while before > start and is_adverb(words[before], kinds[before]):
        before -= 1
    last, last_kind = words[before], kinds[before]
    if not word.isalpha() or len(word) < 3 or is_adverb(word, 0):
        return False
    inflected = word.endswith(("s", "ed"))
    if last in _PERSONS and last != "you" and not sentence.is_capital(place):
        return last in ("i", "we", "they") or inflected
    if last in ("it", "that", "this") and before == start and place + 1 < end and inflected:
        return True
    if last_kind & (DETERMINER | PREPOSITION | MARK | JOIN | AUX | FINITE) or is_adverb(last, last_kind):
        return False
    return (
        inflected
        and place + 1 < end
        and bool(kinds[place + 1] & DETERMINER)
        and words[place + 1] != "that"
        and word != "ones"
        and not word.endswith(("ss", "us", "is"))
        and not sentence.is_capital(place)
        and (bool(kinds[start] & DETERMINER) or sentence.is_capital(start))
    )
