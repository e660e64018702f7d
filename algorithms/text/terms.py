"""Where words begin and end, and what each is kept under in the word index: the one place that decides.

A word is lower case (Unicode's case folding, of compatible forms such as full width letters as well), without accents,
and stemmed by Snowball as its text's language does, so that ``Häuser`` and ``haus`` are one. Which language that is,
its function words tell; where they don't (code, a name, three words), it is taken for English. What has a digit is
kept as it is. Scripts without spaces (Chinese, Japanese, Thai) are kept by overlapping pairs of characters, as the
analysers of Lucene keep them, Japanese cut where its script changes, for there most words begin and end.

A question has the stems of each of its words by its own language and by all that a mind's texts are of, for few
questions tell their language, and a text is kept under the stems of one alone.

Stemmers: M. Porter, "Snowball: A language for stemming algorithms" (2001), by PyStemmer. Above stand the store, which
keeps what `index_terms` gives, and `mnemic.actors.index.query`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from math import fsum
from typing import NamedTuple

import Stemmer

from mnemic.algorithms.text.languages.language import Language
from mnemic.algorithms.text.languages.table import DEFAULT, WITH_SPACES, WITHOUT_SPACES

MAX_CHARS = 128
"""Characters of a word; a longer one is kept under its start."""
_SLICE_CHARS = 1 << 15
_MOST_CACHED = 1 << 16  # words of a language, about 10 MB; then it begins anew
_MARK = "·"  # before the language of a stem; no word holds it
_LEAST_MET = 2  # "soy" and "Notre-Dame" are of one
_HOMOGRAPH = 0.5  # what a word that is a function word elsewhere, and another word here, counts
_LEAST_EVIDENCE = 1.0  # "Wer war das?" has 2.5; "Los Angeles" and "die hard" have less
_ACCENT = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)  # of Latin, Greek, Cyrillic, Hebrew and Arabic; elsewhere a mark is a vowel
_LETTERS = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h", "ı": "i"})
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f"
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_THAI = "\u0e01-\u0e3a\u0e40-\u0e4e"
_RUN = f"[{_HAN}]+|[{_HIRAGANA}][{_HIRAGANA}\u30fc]*|[{_KATAKANA}]+|[{_THAI}]+"
_SPACELESS = re.compile(f"[{_HAN}{_HIRAGANA}{_KATAKANA}{_THAI}]")
_CHARACTER = re.compile(".[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a]*")  # with the marks that stand on it
_LATIN_WORD = re.compile(r"[^\W_]+")
_OTHER_SCRIPT = re.compile("[^\0-\u02ff\u2000-\u2bff]")  # said by what it is not, which is ten times as quick to make
_MARKED_FROM = ((0x0300, 0x1E00), (0x20D0, 0x2100), (0x2CEF, 0x2E00), (0xA66F, 0xABFF), (0xFE20, 0xFE30))


class QuestionTerm(NamedTuple):
    """A word of a question, and what texts may be kept under that have it."""

    word: str
    """As `split_words` gives it."""
    terms: tuple[str, ...]
    """Its stems, each once: first by the question's own language, then by those of the texts."""
    has_spaces: bool
    """Whether it is a word, and not a pair of characters."""


def index_terms(text: str, language: Language | None = None) -> list[str]:
    """What the words of a text are kept under in the word index, in order, each as often as it comes.

    Any string has some or none, the same composed or decomposed (NFC, NFD), in upper or lower case. Of an accented word
    whose stem is another one where it is typed without accents, there are both. Stems say which language they are of
    (``haus·de``), but for the default, so that a German stem finds German texts alone.

    Args:
        language: of the text, where it is known (`language_of`).
    """
    words = _words(text)
    terms = _terms_by(language or _told_by(words))
    return list(chain.from_iterable(map(terms.__getitem__, words)))


def split_words(text: str) -> list[str]:
    """The words of a text, lower case, without accents, not stemmed; pairs of characters where there are no spaces."""
    words = _words(text)
    return words if text.isascii() else list(chain.from_iterable(map(_BARE.__getitem__, words)))


def question_terms(text: str, languages: Iterable[Language]) -> list[QuestionTerm]:
    """The words of a question, in order, without the stop words of its language; all, where it has no others.

    A word whose stem a stop word shares counts as one, for the index cannot tell them apart.

    Args:
        languages: those that texts are of; the question's own one and the default are added.
    """
    words = _words(text)
    languages = tuple(languages)
    own = _told_by(words, languages)
    every = [_terms_by(one) for one in dict.fromkeys((own, DEFAULT, *languages))]
    stopped, stems = stop_words(own), _stop_terms(own)
    found: list[QuestionTerm] = []
    telling: list[QuestionTerm] = []
    for word in words:
        if _SPACELESS.match(word):
            found += [QuestionTerm(pair, (pair,), False) for pair in _pairs(word)]
            telling += [QuestionTerm(pair, (pair,), False) for part in _telling_parts(word) for pair in _pairs(part)]
        else:
            terms = tuple(dict.fromkeys(chain.from_iterable(by[word] for by in every)))
            found.append(QuestionTerm(_BARE[word][0], terms, True))
            if found[-1].word not in stopped and terms[0] not in stems:
                telling.append(found[-1])
    return telling or found


def telling_terms(text: str) -> list[str]:
    """What `index_terms` gives, each once, without stop words; all, where there are no others."""
    words = _words(text)
    own = _told_by(words)
    terms = dict.fromkeys(chain.from_iterable(map(_terms_by(own).__getitem__, words)))
    return [term for term in terms if term not in _stop_terms(own)] or list(terms)


def telling_words(text: str) -> list[str]:
    """The words of a text, as `split_words` gives them, each once, without the stop words of its language and pairs."""
    words = _words(text)
    stopped = stop_words(_told_by(words))
    if text.isascii() and max(map(len, words), default=0) <= MAX_CHARS:
        bare = dict.fromkeys(words)
    else:
        bare = dict.fromkeys(_BARE[word][0] for word in words if not _SPACELESS.match(word))
    return [word for word in bare if word not in stopped]


def stem_of(term: str) -> str:
    """A term as far as it stands in texts, without the language that its stem is of."""
    return term.partition(_MARK)[0]


def language_of(text: str, likely: Collection[Language] = ()) -> Language:
    """The language that a text's function words tell, among those with spaces; else the default.

    Args:
        likely: what one function word is enough for: of a question, the languages of the texts.
    """
    return _told_by(_words(text), likely)


def has_no_spaces(text: str) -> bool:
    """Whether some of a text is in a script that sets no spaces between words."""
    return not text.isascii() and bool(_SPACELESS.search(text))


def fold(word: str) -> str:
    """A word of lower case without its accents."""
    if word.isascii():
        return word
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", word)).translate(_LETTERS)
    return unicodedata.normalize("NFC", bare)


def fold_letters(text: str) -> str:
    """A text letter by letter in lower case without accents, so that every place in it stays where it is."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _FoldedLetters(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = letter = fold(chr(code).lower())[:1] or chr(code)
        return letter


_FOLDED = _FoldedLetters()


def _words(text: str) -> list[str]:
    """The words of a text in lower case, with their accents; a run of one script where there are no spaces."""
    if text.isascii():
        return _found(_LATIN_WORD, text.lower())
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _found(_any_word() if _OTHER_SCRIPT.search(text) else _LATIN_WORD, text)


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    """What `findall` gives, slice by slice: a single call over a long text would hold up every other thread."""
    words: list[str] = []
    start = 0
    while (stop := start + _SLICE_CHARS) < len(text):
        found = pattern.findall(text, start, stop)
        start = stop
        if found and text.endswith(found[-1], start - len(found[-1]), stop):  # it may go on behind the slice
            whole = pattern.match(text, stop - len(found[-1]))
            assert whole is not None  # a word begins there
            found[-1], start = whole[0], whole.end()
        words += found
    return words + pattern.findall(text, start)


@cache
def _any_word() -> re.Pattern[str]:
    """Words of any script, the marks that belong to their letters included."""
    marks = "".join(
        chr(code)
        for first, last in _MARKED_FROM
        for code in range(first, last)
        if unicodedata.category(chr(code)).startswith("M") and not _SPACELESS.match(chr(code))
    )
    return re.compile(f"{_RUN}|(?:[^\\W_{_HAN}{_HIRAGANA}{_KATAKANA}{_THAI}][{marks}]*)+")


def _pairs(run: str) -> list[str]:
    """Overlapping pairs of characters; the only one where there is but one."""
    characters = _CHARACTER.findall(run)
    return [first + second for first, second in pairwise(characters)] or characters


def _telling_parts(run: str) -> list[str]:
    """What a question's run of characters says between its stop words."""
    parts = _spaceless_stop_words().split(run)
    return [part for part in parts if part and not any(part in one.stop_words for one in WITHOUT_SPACES)]


@cache
def _spaceless_stop_words() -> re.Pattern[str]:
    """Those of more than one character, which other words do not hold, the longest first."""
    words = {word for one in WITHOUT_SPACES for word in one.stop_words if len(_CHARACTER.findall(word)) > 1}
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


class _TermsByWord(dict[str, Sequence[str]]):
    """What words are kept under, as a language stems them: made when they are first met, and then kept."""

    def __init__(self, language: Language | None) -> None:
        super().__init__()
        self._stemmer = language.stemmer if language else None
        self._mark = "" if language in (None, DEFAULT) else f"{_MARK}{language.code}"

    def __missing__(self, word: str) -> Sequence[str]:
        if _SPACELESS.match(word):
            return _pairs(word)
        terms = self._terms(word[:MAX_CHARS])
        if len(self) >= _MOST_CACHED:
            self.clear()
        self[word] = terms
        return terms

    def _terms(self, word: str) -> tuple[str, ...]:
        bare = fold(word)
        if self._stemmer is None or any(sign.isdigit() for sign in word):
            return (bare,)
        stemmer = Stemmer.Stemmer(self._stemmer, 0)  # half a microsecond; one is nothing for two threads
        stem = fold(stemmer.stemWord(word))
        stems = dict.fromkeys((stem, stem if word == bare else stemmer.stemWord(bare)))
        return tuple(one + self._mark for one in stems)


_BARE = _TermsByWord(None)


@cache
def _terms_by(language: Language) -> _TermsByWord:
    return _TermsByWord(language)


@cache
def stop_words(language: Language) -> frozenset[str]:
    """The stop words of a language without their accents, as whoever is in a hurry types them."""
    return frozenset(map(fold, language.stop_words))


@cache
def _stop_terms(language: Language) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_terms_by(language).__getitem__, language.stop_words)))


def _told_by(words: Sequence[str], likely: Collection[Language] = ()) -> Language:
    """The language that most function words and letters speak for, each once; the default where few speak.

    One that several languages have counts a part for each. English has words that are function words elsewhere
    (``die``, ``war``, ``plus``): these speak for English as well. Letters alone are a name's.
    """
    telling, foreign = _evidence()
    together = "".join(words)
    spoken = words if together.isascii() else {*words, *together}
    if foreign.isdisjoint(spoken):  # so it is with most English texts
        return DEFAULT
    met = telling.keys() & set(spoken)
    weights: dict[Language, list[float]] = {language: [] for language in WITH_SPACES}
    for word in met:
        for language in telling[word]:
            shared = _HOMOGRAPH if word in language.homographs else 1.0
            weights[language].append(shared / len(telling[word]))
    best = max(WITH_SPACES, key=lambda language: fsum(weights[language]))  # exact: a set has no order
    has_word = any(len(word) > 1 and best in telling[word] for word in met)
    is_clear = len(weights[best]) >= _LEAST_MET and fsum(weights[best]) >= _LEAST_EVIDENCE
    return best if has_word and (is_clear or best in likely) else DEFAULT


@cache
def _evidence() -> tuple[dict[str, list[Language]], frozenset[str]]:
    """Which languages have each function word, and each letter that few have; and those that the default has not.

    A word that none writes so is one that lacks its accents.
    """
    written: dict[str, list[Language]] = {}
    bare: dict[str, list[Language]] = {}
    for language in WITH_SPACES:
        words = {word for word in language.stop_words | language.homographs if len(word) > 1}
        for word in (*words, *language.letters):
            written.setdefault(word, []).append(language)
        for word in set(map(fold, words)):
            bare.setdefault(word, []).append(language)
    telling = bare | written
    return telling, frozenset(word for word, of in telling.items() if DEFAULT not in of)
