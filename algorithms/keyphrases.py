"""Key phrases: what a text is about, in a few of its own words. Pure, English, no model.

After RAKE (Rose, Engel, Cramer, Cowley 2010: Automatic keyword extraction from individual documents): candidates are
the runs of words between stop words and punctuation. Here a run also ends at bland words (``really``, ``want``), no
phrase is longer than two words, since only what comes again can be asked for, and what is named in capitals or written
like code counts before plain words, what comes twice before what comes once.

Five phrases a turn were asked for by the words of 760 questions of LoCoMo: they brought a turn with the answer among
the first five for 38.8 % of them; RAKE's own (rake-nltk 1.0, of two words at most) did for 20.7 %, YAKE's for 27.6 % in
sixty times the time, the five longest words for 29.7 %, and all words of the turn for 57.6 %.
"""

from __future__ import annotations

import re

from mnemic.algorithms.stopwords import STOP_WORDS

__all__ = ["BLAND", "key_phrases"]

LOOKED_AT = 4_000
"""Characters of a text that are looked at; what a long one is about, it says soon."""

_BLAND_WORDS = """
a able about actually after again agree almost alone already alright always amazing and anyway apart around as ask
asked away awesome back bad barely basically beautiful become before began begin best better big bit bring bringing
busy call came care case cause certainly change chose clear close come comes coming common completely cool couple
course current currently day days deal decide decided definitely different do easy else end enjoy enough especially
even exactly excited exciting extra fact fantastic far favorite feel feeling feels felt few fine first found fun get
gets getting give given gives glad go goes going gonna good got gotta great guess guy guys half hand happen happened
happy hard hear heard hello help helped helpful helping helps hey hi hope hour hours huge idea important incredible
inspiring instead interesting keep keeps kept kind knew know known last lately later learn least left less let lets
life like liked likely little long look looked looking looks lot lots love loved lovely made main make makes making
many matter maybe mean means meant mention mentioned minute minutes moment month months more most much name near
nearly need needed needs never new next nice nope nothing now oh ok okay old once only open ords own part past people
perfect perhaps person phrase place plan plus point possible pretty probably put question quick quite rather read
ready real really recent recently reminds right said same say saying says second see seem seems seen share sharing
short show since small somebody someone something sometimes soon sorry sort sound sounds special start started
starting stay step still stop stuff super sure take takes taking talk talking tell thank thanks that thing things
think thinking third though thought three time times today together told tomorrow tonight too took total totally tried
true truly try trying turn turned two type understand us use used useful using usually wait want wanted wanting wants
watch way ways week weeks welcome well went whole wish wonderful word words work worked working works world worst
worth wow wrong yeah year years yep yesterday yet
"""
BLAND = frozenset(_BLAND_WORDS.split())
"""Words that end a phrase as stop words do: common, and about nothing."""
_ENDS = STOP_WORDS | BLAND
_TOKEN = re.compile(r"[^\W_](?:[\w'./+-]*\w)?(?:\(\))?|\n\s*\n|[^\w\s]")
_CODE_LIKE = re.compile(r".*(?:[_./]|[a-z][A-Z]|\w\(\)|\d)")
_NEW_SENTENCE = frozenset(".!?:\n")


def key_phrases(text: str, most: int) -> list[str]:
    """At most so many phrases of one or two words, lower case, the most telling first; each once.

    The same text always gives the same ones. Takes some tens of microseconds for a turn of a hundred words.
    """
    if most <= 0:
        return []
    weights: dict[str, float] = {}
    run: list[str] = []
    starts = True
    named = 0.0
    start = text if len(text) <= LOOKED_AT else text[:LOOKED_AT].rpartition(" ")[0]
    for token in _TOKEN.findall(start.replace("’", "'")):
        word = token.lower().removesuffix("'s")
        if word in _ENDS or len(word) < 3 or not word[0].isalpha() or "'" in word:
            if run:
                _count(weights, run, named)
                run, named = [], 0.0
            starts = token[0] in _NEW_SENTENCE
            continue
        run.append(word)
        if _CODE_LIKE.match(token) or (token[0].isupper() and not starts):
            named += 1.0
        starts = False
    if run:
        _count(weights, run, named)
    ranked = sorted(weights, key=lambda phrase: -weights[phrase])
    return ranked[:most]


def _count(weights: dict[str, float], run: list[str], named: float) -> None:
    """Count a run: whole where it is short, else its last two words, which in English hold what it is."""
    phrase = " ".join(run[-2:])
    weights[phrase] = weights.get(phrase, 0.0) + 1.0 + 0.5 * (len(run) > 1) + min(named, 2.0)
