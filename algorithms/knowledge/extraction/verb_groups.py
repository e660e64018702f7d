"""Reads the verb of a clause with its auxiliaries, and how it is said: future, denied, wished, no longer.

Above it stands `mnemic.algorithms.knowledge.extraction.clause_values`; below it
`mnemic.algorithms.knowledge.extraction.clause_parts`. A verb that only says how another one is meant (``plans to use``,
``stopped taking``, ``used to live``) hands its sense to that one and leaves a flag.
"""

from __future__ import annotations

from typing import NamedTuple

from mnemic.algorithms.knowledge.extraction.clause_parts import is_adverb
from mnemic.algorithms.knowledge.extraction.sentences import (
    AUX,
    BASE,
    BE,
    DETERMINER,
    DO,
    HAVE,
    ING,
    LEMMAS,
    MODAL,
    NOT,
    PARTICIPLE,
    PAST,
    PAST_AUX,
    PREPOSITION,
    VERB,
    Sentence,
    word_set,
)

WILL, WOULD, COULD, MIGHT, SHOULD, MUST, OBLIGED, WANTED = (1 << bit for bit in range(8))
"""Flags: what is to come, would be, could be, may be, should be, must be, has to be, is wished."""
DENIED, NO_LONGER, STOPPED, WAS, USED_TO, PERFECT, PASSIVE, GOING = (1 << bit for bit in range(8, 16))
"""Flags: ``not``; ``no longer``; ``stopped doing``; the past tense; ``used to``; ``has done``; ``is done``; ``is
doing``."""
_MODALS = {
    **dict.fromkeys(("will", "'ll", "won't", "wont", "i'll"), WILL),
    **dict.fromkeys(("would", "wouldn't", "'d", "wouldnt"), WOULD),
    **dict.fromkeys(("could", "couldn't", "couldnt"), COULD),
    **dict.fromkeys(("may", "might", "mightn't"), MIGHT),
    **dict.fromkeys(("should", "ought", "shouldn't", "shouldnt", "shall"), SHOULD),
    **dict.fromkeys(("must", "mustn't", "needn't"), MUST),
}
_WANTING = word_set("want wish hope")
_WANTING_WITH_WOULD = word_set("like love prefer rather dream") | _WANTING
_LONGING = word_set("die wait long yearn")  # "can't wait to"
_PLANNING = word_set("plan intend aim expect prepare")
_OBLIGING = word_set("need have")
_TRANSPARENT = word_set("""
try start begin decide agree manage tend continue refuse forget remember learn choose offer get seem help happen come
use
""")  # verbs whose infinitive says what is done
_CONSIDERING = word_set("think consider talk dream")
_GOING_ON = word_set("keep start begin continue")
_STOPPING = word_set("stop quit")
_TO_COME = word_set("about due scheduled supposed")  # "due to move"


class VerbGroup(NamedTuple):
    """The verb of a clause, with its auxiliaries."""

    start: int
    """Its first word."""
    end: int
    """The word after it, where what it says begins."""
    lemma: str
    """The verb that carries the sense, as a dictionary lists it."""
    flags: int
    """How it is said: the flags of this module."""
    word: int
    """The place of the verb that carries the sense."""

    def adds(self, flags: int) -> VerbGroup:
        """The same with more flags."""
        return self._replace(flags=self.flags | flags)


def read_group(sentence: Sentence, start: int, end: int) -> VerbGroup:
    """The group whose first word stands at `start`."""
    words, kinds = sentence.words, sentence.kinds
    flags, place, last = 0, start, -1  # the last auxiliary
    while place < end:
        word, kind = words[place], kinds[place]
        if kind & HAVE and last >= 0 and (kinds[last] & HAVE or word == "having"):
            break
        if kind & AUX and not (kind & MODAL and last >= 0 and not kinds[last] & DO):
            flags |= _MODALS.get(word, 0) | (DENIED if kind & NOT else 0) | (WAS if kind & PAST_AUX else 0)
            last = place
        elif word == "no" and sentence.has(place, "no", "longer"):
            flags |= NO_LONGER
            place += 1
        elif word in ("not", "never"):
            flags |= DENIED
        elif word == "rather" and flags & WOULD:
            flags |= WANTED
        elif word == "about" or not is_adverb(word, kind) or (kind & VERB and last >= 0):
            break
        place += 1
    if last >= 0:
        group = _after_auxiliary(sentence, VerbGroup(start, place, "", flags, last), end)
    elif place >= end:
        return VerbGroup(start, end, "be", flags, end - 1)
    else:
        word, kind = words[place], kinds[place]
        is_past = (kind & PAST and not kind & BASE) or (not kind and word.endswith("ed"))
        group = VerbGroup(start, place + 1, LEMMAS.get(word, word), flags | (WAS if is_past else 0), place)
    return _inner(sentence, group, end)


def _after_auxiliary(sentence: Sentence, group: VerbGroup, end: int) -> VerbGroup:
    """The group with its main verb, which is the auxiliary itself where no other follows.

    Args:
        group: as far as it is read: its word is the last auxiliary.
    """
    words, kinds = sentence.words, sentence.kinds
    start, place, _, flags, last = group
    auxiliary, is_modal = words[last], bool(kinds[last] & MODAL)
    if is_modal and auxiliary == "ought" and place < end and words[place] == "to":
        place += 1
    word, kind = (words[place], kinds[place]) if place < end else ("", 0)
    verb = VerbGroup(start, place + 1, LEMMAS.get(word, word), flags, place)
    own_lemma = "be" if kinds[last] & BE else "have" if kinds[last] & HAVE else "do"
    alone = VerbGroup(start, last + 1, own_lemma, flags, last)
    if auxiliary == "'d" and kind & PARTICIPLE and not kind & BASE:  # had
        return verb._replace(flags=flags & ~WOULD | WAS)
    if kinds[last] & (MODAL | DO):
        return verb if kind & BASE or (word.isalpha() and not kind and is_modal) else alone
    if kinds[last] & HAVE:
        if word == "had":
            return verb._replace(flags=flags & ~WAS | PERFECT)
        if not kind & PARTICIPLE:
            return alone
        if word == "got" and not sentence.has(place, "got", "rid"):
            verb = verb._replace(lemma="have")
        return verb._replace(flags=flags & ~WAS | PERFECT | (WAS if auxiliary in ("had", "hadn't") else 0))
    if word == "gonna" or sentence.has(place, "going", "to") or (word in _TO_COME and sentence.has(place + 1, "to")):
        to = place + (1 if word == "gonna" else 2)
        if to < end and kinds[to] & (BASE | BE | HAVE) and not kinds[to] & DETERMINER and words[to].isalpha():
            return _infinitive(sentence, start, to, end, flags | (SHOULD if word == "supposed" else WILL))
    if (kind & ING and word != "being") or (not kind and word.endswith("ing") and len(word) > 5):
        return verb.adds(GOING)
    if kind & PARTICIPLE or (not kind and word.endswith("ed") and len(word) > 4):
        return verb.adds(PASSIVE)
    return alone


def _infinitive(sentence: Sentence, start: int, place: int, end: int, flags: int) -> VerbGroup:
    """The group whose sense is an infinitive at `place`."""
    inner = read_group(sentence, place, end)
    return inner._replace(start=start, flags=flags | inner.flags & ~WAS)


def _inner(sentence: Sentence, group: VerbGroup, end: int) -> VerbGroup:
    """The group of the verb that a verb of wanting, planning, stopping hands its sense to; else the same."""
    words, kinds = sentence.words, sentence.kinds
    start, place, lemma, flags, _ = group
    if place >= end or flags & PASSIVE:
        return group
    after, kind = words[place], kinds[place]
    if lemma == "use" and flags & WAS and after == "to" and place + 1 < end:
        return _infinitive(sentence, start, place + 1, end, flags | USED_TO)
    if lemma in _WANTING or (flags & WOULD and lemma in _WANTING_WITH_WOULD):
        flags |= WANTED
    if after == "to" and place + 1 < end and kinds[place + 1] & (BASE | BE | HAVE | DO):
        if lemma in _PLANNING:
            flags |= WILL
        elif lemma in _OBLIGING:
            flags |= OBLIGED
        elif lemma in _LONGING:
            flags = flags & ~DENIED | WANTED
        elif not (flags & WANTED and lemma in _WANTING_WITH_WOULD) and lemma not in _TRANSPARENT:
            return group
        return _infinitive(sentence, start, place + 1, end, flags)
    if lemma == "get" and kind & PARTICIPLE and not kind & PREPOSITION:
        return VerbGroup(start, place + 1, LEMMAS[after], flags | PASSIVE, place)
    if lemma in _CONSIDERING and flags & (GOING | PERFECT):
        ing = place + (after in ("of", "about"))
        if lemma == "consider" and not kind & ING:
            return group._replace(flags=flags | MIGHT)
        if ing < end and kinds[ing] & ING:
            return VerbGroup(start, ing + 1, LEMMAS[words[ing]], flags | (WANTED if lemma == "dream" else MIGHT), ing)
    if kind & ING and lemma in _GOING_ON | _STOPPING:
        flags |= STOPPED if lemma in _STOPPING else 0
        if lemma == "quit" and not _has_object(sentence, place + 1, end):
            return group._replace(flags=flags)  # "quit smoking": the gerund is all there is
        return VerbGroup(start, place + 1, LEMMAS[after], flags, place)
    return group._replace(flags=flags)


def _has_object(sentence: Sentence, place: int, end: int) -> bool:
    """Whether a thing is named there, and no time."""
    if place >= end or "ago" in sentence.words[place : place + 4]:
        return False
    kind = sentence.kinds[place]
    return bool(kind & DETERMINER) or not kind
