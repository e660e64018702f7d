"""Extracts key phrases from English text by a variant of RAKE, without a model.

After RAKE (Rose, Engel, Cramer, Cowley 2010: Automatic keyword extraction from individual documents): candidates are
the runs of words between stop words and punctuation. Here a run also ends at bland words (``really``, ``want``), no
phrase is longer than two words, since only what comes again can be asked for, and what is named in capitals or written
like code counts before plain words, what comes twice before what comes once. A plain word alone says nothing right
after ``I``, ``they``, ``who``, where it is a verb, nor where it opens a sentence before a mark (``Brilliant!``), unless
the text says nothing else.

Five phrases a turn were asked for by the words of 760 questions of LoCoMo: they brought a turn with the answer among
the first five for 41.3 % of them; RAKE's own (rake-nltk 1.0, of two words at most) did for 20.7 %, YAKE's for 27.6 % in
sixty times the time, the five longest words for 29.7 %, and all words of the turn for 57.6 %. Without plain words alone
of less than five letters it is 39.5 %: a short noun said in passing (``bell``) cannot be told from one that matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from mnemic.algorithms.text.languages.en import ENGLISH

STOP_WORDS = ENGLISH.stop_words
"""Where phrases end: the words that say nothing of what a text is about."""

MAX_CHARS = 4_000
"""Characters of a text that are looked at; what a long one is about, it says soon."""

_LOW_CONTENT_TEXT = """
a able about absolutely across actually after afterwards again ago agree ahead almost alone along already alright
always amazing and anybody anyone anything anytime anyway anyways anywhere apart around as ask asked away awesome aww
back bad barely basically beautiful become before began begin believe besides best bet better big bigger bit bring
bringing btw busy bye call came care case cause certainly change cheers chose clear close closer come comes coming
common completely congrats congratulations cool couple course current currently day days deal dear decide decided
definitely different do down earlier easier easy else end enjoy enough especially even everybody everyone everything
everywhere exactly excited exciting extra fact fantastic far faster favorite feel feeling feels felt few finally find
finding fine first forward found fun gave get gets getting give given gives glad go goes going gonna good got gotta
great guess guy guys half hand happen happened happy hard harder hear heard hello help helped helpful helping helps
hey hi higher hope hopefully hour hours huge huh idea important incredible inside inspiring instead interesting keep
keeps kept kind knew know known larger last lately later learn least left less let lets life like liked likely little
long longer look looked looking looks lot lots love loved lovely lower made main make makes making many matter maybe
mean means meant meantime mention mentioned minute minutes moment month months more most much name near nearly need
needed needs never new newer next nice nobody nope nothing now nowhere off often oh ok okay old older once only oof
open ords others out outside over own part past people perfect perhaps person phrase place plan please plus point
possible pretty probably put question quick quite rather read ready real really recent recently remember reminds right
said same say saying says second see seem seems seen share sharing short shorter show since slower small smaller
somebody someone something sometime sometimes somewhere soon sooner sorry sort sound sounds special start started
starting stay step still stop stronger stuff super sure take takes taking talk talking tell thank thanks that thing
things think thinking third though thought three time times today together told tomorrow tonight too took total
totally tried true truly try trying turn turned two type understand unfortunately us use used useful using usually
wait wanna want wanted wanting wants watch way ways week weeks welcome well went whatever whenever wherever whoa whole
wish woah wonderful woohoo word words work worked working works world worst worth wow wrong yay yeah year years yep
yesterday yet yum yup
"""
LOW_CONTENT_WORDS = frozenset(_LOW_CONTENT_TEXT.split())
"""Words that end a phrase as stop words do: common, and about nothing."""
_PHRASE_BOUNDARIES = STOP_WORDS | LOW_CONTENT_WORDS
_SUBJECTS = frozenset(("i", "we", "you", "he", "she", "it", "they", "who"))
"""What stands right after one of these is a verb."""
_TOKEN = re.compile(r"[^\W_](?:[\w'./+-]*\w)?(?:\(\))?|\n\s*\n|[^\w\s]")
_CODE_LIKE = re.compile(r".*(?:[_./]|[a-z][A-Z]|\w\(\)|\d)")
_NEW_SENTENCE = frozenset(".!?:\n")


class _CandidatePhrase(NamedTuple):
    """Words between stop words and punctuation."""

    words: list[str]
    """They, lower case."""
    name_count: float
    """How many of them are names or code."""
    before: str
    """The word or mark before them; ``.`` at the start."""
    after: str
    """The word or mark after them; ``.`` at the end."""


def key_phrases(text: str, most: int) -> list[str]:
    """At most so many phrases of one or two words, lower case, the most telling first; each once.

    The same text always gives the same ones. Takes some tens of microseconds for a turn of a hundred words.
    """
    if most <= 0:
        return []
    weights: dict[str, float] = {}
    alone: dict[str, float] = {}
    for run in _candidates(text):
        plain = len(run.words) == 1 and not run.name_count
        if not (plain and run.before in _SUBJECTS):
            exclaimed = plain and run.before in _NEW_SENTENCE and not run.after[0].isalnum()
            _count(alone if exclaimed else weights, run)
    weights = weights or alone
    ranked = sorted(weights, key=lambda phrase: -weights[phrase])
    return ranked[:most]


def _candidates(text: str) -> Iterator[_CandidatePhrase]:
    words: list[str] = []
    starts = True
    named = 0.0
    last = before = "."
    start = text if len(text) <= MAX_CHARS else text[:MAX_CHARS].rpartition(" ")[0]
    for token in _TOKEN.findall(start.replace("’", "'")):
        word = token.lower().removesuffix("'s")
        if word in _PHRASE_BOUNDARIES or len(word) < 3 or not word[0].isalpha() or "'" in word:
            if words:
                yield _CandidatePhrase(words, named, before, word)
                words, named = [], 0.0
            starts = token[0] in _NEW_SENTENCE
            last = token[0] if starts else word
            continue
        if not words:
            before = last
        words.append(word)
        if _CODE_LIKE.match(token) or (token[0].isupper() and not starts):
            named += 1.0
        starts = False
    if words:
        yield _CandidatePhrase(words, named, before, ".")


def _count(weights: dict[str, float], run: _CandidatePhrase) -> None:
    """Count a run: whole where it is short, else its last two words, which in English hold what it is."""
    phrase = " ".join(run.words[-2:])
    weights[phrase] = weights.get(phrase, 0.0) + 1.0 + 0.5 * (len(run.words) > 1) + min(run.name_count, 2.0)
