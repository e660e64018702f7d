"""Tells by a fingerprint which texts say the same: near-duplicates that differ in nothing that tells anything.

Above stands `mnemic.actors.recall.folding`, which folds the hits of a recall; below stands nothing. Two texts say the
same where the sequence of their words is the same once what tells nothing is taken away: capitals, the marks of
sentences, quotation marks, white space, Unicode's forms of a letter, the article "the", a greeting or a "please", and
how a number or a contraction is written ("ten", "10"; "don't", "do not"). One adverbial clause that a comma sets off at
the start may stand at the end ("On Mondays, we deploy").

So whatever is left has to agree, each number, name, negation, tense, unit, preposition and the order of words, and no
two texts are the same because they are alike: shingles and their resemblance (Broder 1997, "On the resemblance and
containment of documents"), or the cosine of embeddings, put "port 5432" next to "port 5433". What is given up is every
paraphrase. It is an equivalence, so groups depend neither on order nor on chance. The words it knows are English; a
text in another language is compared by its letters all the same. Measured on labelled pairs
(``tests/fixtures/near-duplicates.jsonl``; docs/decisions/0013-recall.md).
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from hashlib import blake2b

_MOST_CHARS = 1 << 14  # a longer text says the same as its equal alone
_INDENTED = re.compile(r"\n[ \t]+\S")
"""Code, and what else means something by where it stands in a line."""
_ASIDE = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "—": " "})
_BULLET = re.compile(r"^[-*•] +", re.MULTILINE)
_QUOTES = "\"'`"
_LAST = re.compile(rf"(?<=[\w)\]}}%{_QUOTES}])[.,;:!?…{_QUOTES}]+$")
"""The marks of sentences after a word; of a path such as ``./...`` they are a part."""
_PLAIN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_COUNTED = re.compile(r"(\d+(?:\.\d+)?)(ms|secs?|s|mins?|hrs?|h|%)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_OTHER_IN_CAPITALS = frozenset({"US", "IT", "WHO"})
_NUMBERS_TEXT = """
zero 0 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 twelve 12 fifteen 15 twenty 20
thirty 30
"""
_NUMBERS = dict(zip(_NUMBERS_TEXT.split()[::2], _NUMBERS_TEXT.split()[1::2], strict=True))
_UNITS_TEXT = """
ms milliseconds s seconds sec seconds secs seconds min minutes mins minutes h hours hr hours hrs hours % percent
"""
_UNITS = dict(zip(_UNITS_TEXT.split()[::2], _UNITS_TEXT.split()[1::2], strict=True))
_CONTRACTIONS = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}
_IS = frozenset({"it", "that", "there", "here", "he", "she", "what", "who", "where", "how"})
"""Words after which ``'s`` is "is"; after a name it may be whose something is."""
_OPENINGS_TEXT = "ok okay well so hey hi hello yes yeah yep right also thanks"
_OPENINGS = frozenset(_OPENINGS_TEXT.split())
"""What says nothing before a mark, and may be a word of the sentence without one ("well water")."""
_OPENING_PHRASES = tuple(
    tuple(phrase.split())
    for phrase in ("please", "fyi", "btw", "by way", "note that", "remember that", "for record", "thank you")
)
_ANSWERS = frozenset({"no", "not", "never"})
_CLOSINGS = (("please",), ("thanks",), ("thank", "you"))
_ADVERBIAL_TEXT = "on in at since from for if when after before because as until by with without during while"
_ADVERBIAL = frozenset(_ADVERBIAL_TEXT.split())
_RELATIVE_TEXT = """
today tomorrow tonight yesterday now currently this last next ago morning afternoon evening monday tuesday wednesday
thursday friday saturday sunday
"""
_RELATIVE = frozenset(_RELATIVE_TEXT.split())
"""Words that mean something else where they are said on another day."""
_FROM_NOW = re.compile(r"\bin (?:\d+|an?|one|few) (?:minute|hour|day|week|month|year)s?\b|\b\d+(?:st|nd|rd|th)\b")
_MONTHS = frozenset(name.lower() for name in calendar.month_name if name)

Words = tuple[str, ...]


def fingerprint(text: str, said_on: date) -> bytes:
    """16 bytes that are equal for texts that say the same.

    Args:
        said_on: the day: "tomorrow" is another one each day, and "in May" each year.
    """
    if len(text) > _MOST_CHARS or _INDENTED.search(text.strip()):
        said: tuple[str, ...] = (text.strip(),)
    else:
        words = telling_words(text)
        said = ("", *words)
        if _RELATIVE.intersection(words) or _FROM_NOW.search(" ".join(words)):
            said = (said_on.isoformat(), *words)
        elif _MONTHS.intersection(words) and not any(map(_YEAR.fullmatch, words)):
            said = (str(said_on.year), *words)
    return blake2b("\0".join(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def telling_words(text: str) -> Words:
    """The words of a text without what tells nothing, in an order that does not depend on one clause's place."""
    plain = unicodedata.normalize("NFKC", text).translate(_ASIDE)
    shouted = plain == plain.upper()
    words: list[str] = []
    marks: list[str] = []
    for token in _BULLET.sub("", plain.strip()).split():
        bare = token.lstrip(_QUOTES)
        found = _LAST.search(bare)
        mark = found[0] if found else ""
        for word in _words_of(bare.removesuffix(mark) or token, shouted, words[-1] if words else ""):
            words.append(word)
            marks.append("")
        if words:
            marks[-1] += mark
    kept = _without_asides(words, marks)
    return _in_one_order([words[at] for at in kept], [marks[at] for at in kept]) or tuple(words)


def _words_of(token: str, shouted: bool, before: str) -> list[str]:
    """What one written word is in the form that all ways of writing it have."""
    if not _PLAIN.fullmatch(token):
        counted = _COUNTED.fullmatch(token)
        return [counted[1], _UNITS[counted[2]]] if counted else [_THOUSANDS.sub("", token)]
    is_unit = bool(_NUMBER.fullmatch(before)) and len(token) <= 3
    if is_unit or (not shouted and (token in _OTHER_IN_CAPITALS or not (token[1:].islower() or token.isupper()))):
        word = token if len(token) > 1 or is_unit else token.casefold()  # Mb and MB, userId
    else:
        word = token.casefold()
    if is_unit:
        return [_UNITS.get(word, word)]
    if word.endswith("n't"):
        stem = word.removesuffix("n't")
        return [{"ca": "can", "wo": "will", "sha": "shall"}.get(stem, stem), "not"]
    head, apostrophe, tail = word.rpartition("'")
    if apostrophe and f"'{tail}" in _CONTRACTIONS:
        return [head, _CONTRACTIONS[f"'{tail}"]]
    if apostrophe and tail == "s" and head in _IS:
        return [head, "is"]
    return ["can", "not"] if word == "cannot" else [_NUMBERS.get(word, word)]


def _without_asides(words: Sequence[str], marks: Sequence[str]) -> list[int]:
    """Places of the words that are left without articles, greetings and the like."""
    kept = [place for place, word in enumerate(words) if word != "the" or "?" in marks[place]]
    while kept:
        said = tuple(words[place] for place in kept)
        opening = next((phrase for phrase in _OPENING_PHRASES if said[: len(phrase)] == phrase), ())
        if not opening and said[0] in _OPENINGS and marks[kept[0]]:
            opening = said[:1]
        closing = next((phrase for phrase in _CLOSINGS if said[-len(phrase) :] == phrase), ())
        if not opening and not closing:
            break
        kept = kept[len(opening) : len(kept) - len(closing)]
    return kept


def _in_one_order(words: list[str], marks: list[str]) -> Words:
    """The words, and where one sentence ends and the next begins, or a question; of a single sentence with one comma,
    after an adverbial clause, that clause last.
    """
    said: list[str] = []
    for place, (word, mark) in enumerate(zip(words, marks, strict=True), start=1):
        # "No, tests pass" is not "No tests pass"
        is_answer = word in _ANSWERS and mark.strip(_QUOTES) and place < len(words)
        said += [word, *("?" if "?" in mark else "," if is_answer else "." if set(mark) & {".", "!"} else "")]
    commas = [place for place, mark in enumerate(marks[:-1]) if "," in mark]
    said = said[:-1] if said and said[-1] == "." else said
    if len(commas) == 1 and len(said) == len(words) and words[0] in _ADVERBIAL:
        return (*said[commas[0] + 1 :], *said[: commas[0] + 1])
    return tuple(said)
