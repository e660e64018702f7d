"""Tells English names by their capitals: which words are of one, and where it ends.

Above it stand `mnemic.algorithms.knowledge.entities.name_kinds` and `mnemic.algorithms.knowledge.entities.mentions`;
below it the word lists of `mnemic.algorithms.knowledge.entities.nouns`. Within a sentence a capital tells a name; at
its start, where each word has one, only a word counts that is in no list of ordinary words, and `is_told` says whether
what stands around it tells more.
"""

from __future__ import annotations

import re

from mnemic.algorithms.knowledge.entities.nouns import CLASS_NOUNS, HEADS, NO_NAMES, NOUNS_AT_START, ORDINARY, Kind
from mnemic.algorithms.knowledge.extraction.sentences import (
    ADVERB,
    AUX,
    BASE,
    BE,
    DETERMINER,
    JOIN,
    KINDS,
    MARK,
    NOT,
    OBJECT,
    OPENER,
    PARTICIPLE,
    PAST,
    PREPOSITION,
    SUBJECT,
    THIRD,
    TIME,
    UNDER,
    Sentence,
    word_set,
)

MAX_NAME_WORDS = 5
"""Words of a name."""
FUNCTION = SUBJECT | OBJECT | DETERMINER | PREPOSITION | JOIN | UNDER | AUX | NOT | OPENER | TIME
"""The classes of words that are no part of a name or a noun phrase."""
TITLES = word_set("mr mrs dr prof uncle aunt aunty auntie")
"""What stands before the name of a person and is no part of it."""
CAMEL = re.compile(r"[a-z]+[A-Z]\w*|[A-Z](?=\w*[a-z0-9][A-Z])\w*")
"""How names of programs are written within: ``GitHub``, ``iPhone``."""
_NAME_WORD = re.compile(r"(?!\w*_\Z)\w+(?:[.&'’+-]\w+)*[+#]*")
_STARTS = word_set(': ( " “ ” „ … — – - -- # ## ### #### > • + /')
_LINKS = word_set("of de van von der da del di du la")
_NAME_ADJECTIVES = word_set("new old great little big two three four five six seven first second")  # "New York"
_NEW_PLACES = word_set("york zealand orleans delhi jersey hampshire mexico england")
_BEFORE_VERB = word_set("no longer now")  # "Nadia no longer works"
_SINGULAR = word_set("is was has does isn't wasn't hasn't doesn't")
_COMMON_ENDING = re.compile(r"(?:ing|ed|ly|tion|sion|ness|ment|ity|ship|ism|ance|ence|able|ible|ful|less|est|ize|ise)$")


def bare(word: str) -> str:
    """A word without the ending of an owner."""
    if word[-1] in "'’":
        return word[:-1]
    return word[:-2] if word.endswith(("'s", "’s")) else word


def bare_end(sentence: Sentence, place: int) -> int:
    """Offset after a word without the ending of an owner, which may stand apart: ``Nadia 's``."""
    start, end, word = sentence.starts[place], sentence.ends[place], sentence.words[place]
    ending = len(word) - len(bare(word))
    return start + len(sentence.text[start : end - ending].rstrip()) if ending else end


def is_at_start(sentence: Sentence, place: int) -> bool:
    """Whether any word that stands there has a capital."""
    if place == 0 or sentence.words[place - 1] in _STARTS:
        return True
    start, before = sentence.starts[place], sentence.words[place - 1]
    if sentence.text[start - 1] == ">":
        return True  # after a tag
    return sentence.text[start - 2 : start] == ". " and len(before) > 1 and before not in TITLES and "." not in before


def is_name(sentence: Sentence, place: int) -> bool:
    """Whether a word with a capital is one of a name, where it does not stand at the start."""
    word = sentence.words[place]
    low = bare(word)
    written = sentence.text[sentence.starts[place] : sentence.ends[place]]
    if not written.isalpha() and not _NAME_WORD.fullmatch(written):
        return False
    if not written[0].isupper():
        return bool(CAMEL.fullmatch(written))
    if low in _NAME_ADJECTIVES:
        after = place + 1
        named = after < len(sentence.words) and sentence.is_capital(after) and is_name(sentence, after)
        return named and (place > 0 or sentence.words[after] in _NEW_PLACES)
    if low in NO_NAMES or not low[:1].isalpha():
        return False
    kind = sentence.kinds[place] if low == word else KINDS.get(low, 0)
    if kind & FUNCTION:
        return False
    if written.isupper() and len(low) > 1:
        return len(low) < 6 and not (
            low in ORDINARY or _is_shouted(sentence, place - 1) or _is_shouted(sentence, place + 1)
        )
    return not (kind and place and sentence.kinds[place - 1] & MARK)


def _is_shouted(sentence: Sentence, place: int) -> bool:
    """Whether there is a word that is no name in capitals: ``BEGIN IMMEDIATE``."""
    if not 0 <= place < len(sentence.words):
        return False
    written = sentence.text[sentence.starts[place] : sentence.ends[place]]
    return len(written) > 1 and written.isupper() and written.lower() in ORDINARY and written.lower() not in HEADS


def is_ordinary(sentence: Sentence, place: int) -> bool:
    """Whether a word at the start of a sentence is surely, or probably, no name."""
    low = bare(sentence.words[place])
    if low in ORDINARY:
        after = place + 1
        is_first = low in NOUNS_AT_START or low in CLASS_NOUNS or low == "new"  # "Paper Moon", "Lake Como"
        if not is_first or low.endswith("ing") or after >= len(sentence.words) or not sentence.is_capital(after):
            return True
        return not is_name(sentence, after) or (low == "new" and sentence.words[after] not in _NEW_PLACES)
    written = sentence.text[sentence.starts[place] : sentence.ends[place]]
    return bool(_COMMON_ENDING.search(low)) and not CAMEL.fullmatch(written)


def is_told(sentence: Sentence, place: int, kind: Kind) -> bool:
    """Whether what stands around a word at the start of a sentence tells that it is a name."""
    words, kinds = sentence.words, sentence.kinds
    word = words[place]
    written = sentence.text[sentence.starts[place] : sentence.ends[place]]
    plural = word.endswith("s") and not word.endswith(("ss", "us", "is", "as", "'s"))  # "Jonas"
    if (kind != "thing" and not plural) or CAMEL.fullmatch(written) or (written.isupper() and len(written) > 1):
        return True
    after = place + 1
    if after >= len(words) or "-" in word:
        return False
    if word.endswith("'s"):
        return not kinds[after] & (BE | PARTICIPLE)
    if words[after] == "and" and after + 1 < len(words):
        return sentence.is_capital(after + 1) and is_name(sentence, after + 1)
    while after + 1 < len(words) and (words[after] in _BEFORE_VERB or kinds[after] & ADVERB) and not kinds[after] & AUX:
        after += 1
    verb = kinds[after]
    if verb & AUX:
        return words[after] in _SINGULAR or not (
            plural or verb & BE or words[after] in ("have", "haven't", "do", "don't")
        )
    return bool(verb & THIRD) or (bool(verb & PAST) and not verb & BASE and not plural)


def name_end(sentence: Sentence, place: int) -> int:
    """Where the name that begins at a place ends."""
    text, words, starts, ends = sentence.text, sentence.words, sentence.starts, sentence.ends
    end = place + 1
    most = min(place + MAX_NAME_WORDS, len(words))
    while end < most and bare(words[end - 1]) == words[end - 1]:
        gap = text[ends[end - 1] : starts[end]]
        short = len(words[end - 1]) == 1 or "." in words[end - 1] or words[end - 1] in TITLES
        if gap != " " and not (gap == ". " and short):
            break
        reach = end
        while reach < most and (words[reach] in _LINKS or (reach > end and words[reach] == "the")):
            reach += 1
        if reach >= most or not text[starts[reach]].isupper() or not is_name(sentence, reach):
            break
        end = reach + 1
    return end
