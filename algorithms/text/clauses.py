"""Splits English text into asserted clauses, leaving out questions, conditions, code and quotations.

Below `mnemic.algorithms.knowledge.triples`. Questions, conditions, code and quotations are left out, and so is what
stands after ``that``, ``if``, ``which`` and the like, to the next comma: it need not hold, or is said of something
else.

Verbs: which forms of which verbs say something of their subject, and with which word after them. English.

Below `mnemic.algorithms.knowledge.triples`. Only verbs are here that say what holds or what happened; those of
thinking, wishing and promising are not, since what follows them need not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONJUNCTIONS = _words("and but so because although though while however then nor yet")
"""What comes after such a word is said where what comes before it is."""
SUBORDINATORS = _words("""
that since which who whom whose where when if unless until before after whether or as than how why what
""")
"""What comes after such a word need not hold, or is said of something else."""
SENTENCE_OPENERS = _words(
    "also well yes yeah no currently today yesterday recently actually oh now finally btw ok okay again"
)
"""What may stand before a subject."""
_ADVERBS = _words("""
already just recently finally always also really still now currently usually often actually both mostly only even ever
definitely absolutely totally generally typically mainly primarily especially originally personally
therefore thus hereby
""")
"""What may stand between a subject and its verb, or a verb and its object."""
HEDGES = _words("""
probably possibly apparently supposedly allegedly presumably seemingly likely hopefully potentially theoretically almost
nearly hardly barely rarely scarcely partly partially maybe perhaps supply comply multiply
""")
"""What may stand there as well, but then it need not hold, or holds in part; and verbs that look like that."""
OBJECT_TERMINATORS = _words("""
for with since from by at in on to into onto over instead rather during every last next this these today yesterday
tomorrow now too again anymore already lately recently there here together yet about without per via using not ago back
soon tonight if when through after before until around between because while where which who each like
'cause i he she we they you under above below later is are was were has have had will
""")
"""Where an object ends."""
NON_OBJECT_WORDS = _words("""
it that this these those them him his her hers you your me us how what why where when to going not been being there here
so too i we he she they their its like just about up out off down over away more less one something anything nothing
everything someone somebody anyone everyone in on at for with from by as of and or such able gonna around back into
through together way lot lots ton tons bit blast few plenty couple thing things sure glad one ones else another am is
are was were be has have had do does did will can could would should may might must
""")
"""What no object begins with."""
LEADING_MODIFIERS = _words("a an the some our very own such really quite") | _ADVERBS
"""What says nothing at the start of an object."""
PRONOUNS = _words("it this that them him her these those one ones they he she us you me")
"""What stands for something else; what is said with them here says nothing elsewhere."""
VAGUE_NOUNS = _words("""
thing things one ones way ways reason time day point following latter former whoever whatever whichever nobody everybody
everyone somebody someone others rest same
""")
"""What no subject is made of, and what no object ends in: what follows says of which one it is, or nothing does."""
COMPLEMENT_WORDS = _words(
    "about above as at below by for from in into of on onto over than that to under via with without"
)
"""What goes on with what stands before it, which may then be half of what is said."""
RELATIVE_PRONOUNS = _words("that which who whom whose where when i he she we they you")
"""What says which one is meant, after ``the``."""
COMPLEMENT_VERBS = _words("keep take leave give find")
"""Verbs that say little with a word alone, where more belongs to it: ``keep booleans as 0 and 1``."""
CONTRAST_PREPOSITIONS = {"prefer": _words("over to"), "choose": _words("over"), "pick": _words("over")}
"""Verbs of taking one thing before another, and what stands between the two: both are their object."""
TIME_NOUNS = _words(
    "weekend week month year years summer winter spring autumn holiday holidays christmas lunch dinner night phone"
)
"""What after ``over`` says when or how, and is no other thing."""
COPULA_PARTICLES = (
    *("called", "named", "written in", "based on", "based in", "made of", "part of", "owned by", "allergic to"),
    *("set to", "limited to", "pinned to", "deployed to", "mapped to", "bound to"),
    *("married to", "afraid of", "responsible for", "born in", "due on", "due", "from", "in", "at", "on"),
)
"""What may follow ``is`` and belongs to it."""
FIRST_PERSON_PREDICATES = _words("a an the vegan vegetarian married single divorced engaged pregnant retired")
"""What one says with ``I am`` that is no mood."""
_IRREGULAR_PARTICIPLES = _words(
    "bound caught cut done gone held hidden hit known made put read said seen sent set shown shut thrown told"
)
"""Participles that do not end in ``ed``, beside those of the verbs below."""
PARTICIPLE_PREPOSITIONS = _words("at by for in on with")
"""What after a participle says where or by what something is done, which holds as what something is."""

_REGULAR = """
add adopt attend ban belong cancel cause check collect connect contain cook cost create dance decide default delete
depend deploy dislike drop enjoy enter expire explore expose extend finish fix graduate handle hate hire implement
import install introduce invite join last launch learn like listen live love manage merge migrate move need open
organize own paint pass perform pick plan plant play point practice prefer publish raise reach receive reject release
relocate rely remove rename replace report require retire return save settle ship start store struggle support switch
train travel try update upgrade use validate visit volunteer want work wrap
"""
_IRREGULAR = """
become: becomes became
begin: begins began begun
break: breaks broke broken
build: builds built
buy: buys bought
cancel: cancelled cancelling
choose: chooses chose chosen
come: comes came
dislike: dislikes
drive: drives drove
eat: eats ate eaten
find: finds found
get: gets got gotten
give: gives gave given
go: goes went
grow: grows grew grown
have: has had
keep: keeps kept
leave: leaves left
lose: loses lost
marry: marries married
meet: meets met
pay: pays paid
quit: quits
read: reads
run: runs ran
sell: sells sold
sing: sings sang
speak: speaks spoke
spend: spends spent
study: studies studied
switch: switches
take: takes took taken
teach: teaches taught
throw: throws threw thrown
travel: travelled travelling
wear: wears wore
win: wins won
write: writes wrote written
"""

REQUIRED_PARTICLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("move", "relocate", "migrate", "travel", "go", "switch", "belong", "default"), ("to",)),
    "begin": ("with",),
    "come": ("from",),
    "connect": ("to",),
    "cost": ("",),
    "decide": ("to", "on", "against"),
    "depend": ("on",),
    "expire": ("after", "in", "on"),
    "get": ("a", "an", "into", "married"),
    "graduate": ("from",),
    "grow": ("up in",),
    "last": ("for", ""),
    "listen": ("on",),
    "live": ("in", "at", "on", "near", "with"),
    "plan": ("to", "on"),
    "point": ("to", "at"),
    "rely": ("on",),
    "run": ("on", "in", "under", "with", ""),
    "settle": ("on", "in"),
    "start": ("with", ""),
    "struggle": ("with",),
    "try": ("out",),
    "upgrade": ("to", "from", ""),
    "volunteer": ("at", "for", "with"),
    "want": ("a", "an", "the", "no"),
    "need": ("a", "an", "the", "no", ""),
    "have": ("a", "an", "no", "two", "three", "four", "five", "six", "one", "many", "several"),
    "work": ("at", "for", "in", "as", "on", "with", "from"),
}
"""What has to follow a verb; ``""`` where it may be nothing. Articles are no part of the relation. All other verbs need
nothing."""
RELATION_SYNONYMS = {"last": "last for"}
"""Relations that say the same without the word that may follow, each as it is written then."""


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for lemma in _REGULAR.split():
        stem = lemma[:-1] if lemma.endswith("e") else lemma
        doubled = stem + stem[-1] if lemma in ("ship", "drop", "plan", "ban", "prefer", "wrap") else stem
        past = stem[:-1] + "i" if lemma.endswith("y") and lemma[-2] not in "aeo" else doubled
        plural = f"{past}es" if past.endswith("i") or lemma.endswith(("s", "sh", "ch", "x")) else f"{lemma}s"
        forms |= {lemma: lemma, plural: lemma, f"{past}ed": lemma, f"{doubled}ing": lemma}
    for line in _IRREGULAR.strip().splitlines():
        lemma, _, others = line.partition(": ")
        forms |= dict.fromkeys([lemma, *others.split()], lemma)
    del forms["last"]  # "since we last talked"
    return forms


LEMMAS: dict[str, str] = _forms()
"""Each form to its verb, as a dictionary lists it."""
_STATIVE_TEXT = """
belong contain depend default dislike hate have like live love need own point prefer rely require support use want work
"""
STATIVE_VERBS = {
    lemma: next(
        form for form, verb in LEMMAS.items() if verb == lemma and form != lemma and form.endswith(("ed", "had"))
    )
    for lemma in _STATIVE_TEXT.split()
}
"""Verbs that say what holds, each with its past: what held once need not hold now, so that is a relation of its own."""
_LY = re.compile(r"[a-z]{4,}ly")


def is_adverb(word: str) -> bool:
    """Whether a word may stand between a subject and its verb and change nothing; with a capital it is a name."""
    return word.lower() in _ADVERBS or (bool(_LY.fullmatch(word)) and word not in HEDGES)


def is_participle(word: str) -> bool:
    """Whether a word after ``is``, lower case, says that something is done to the subject."""
    return word in LEMMAS or word in _IRREGULAR_PARTICIPLES or (word.endswith("ed") and not word.endswith("eed"))


class Clause(NamedTuple):
    """A part of a sentence."""

    words: tuple[str, ...]
    """Its words as they are written; short forms (``don't``) are written out."""
    separator: str
    """The word or the mark that parts it from the next one; ``""`` at the end of a sentence."""


_NOT_PROSE = re.compile(r"```.*?(?:```|\Z)|^[ \t]*(?:>|\||\$ )[^\n]*$|^(?: {4}|\t)[^\n]*$", re.DOTALL | re.MULTILINE)
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{0,500}\)|<(https?://[^<>\s]{1,500})>")
_MARKDOWN_MARKS = re.compile(r"\*\*|`|^[ \t]*(?:[-*•+]|\d+[.)]|#+)[ \t]+", re.MULTILINE)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s.!?\"'”)]))+[.!?]*")
_LINKS = "|".join(sorted(CONJUNCTIONS | SUBORDINATORS))
_CLAUSE = re.compile(
    rf"\s*(?:([;()–—…\"“”]|,(?!\d)|:(?=\s|$)|\s-+\s)|(?<![\w-])({_LINKS})(?![\w'’-]))\s*", re.IGNORECASE
)
_BLANKS = re.compile(r"\s{2,}")
_CONDITIONS = frozenset(
    ("if", "when", "unless", "suppose", "imagine", "assuming", "should", "maybe", "perhaps", "once")
)
_CONTRACTED = re.compile(r"\b(can|won|[a-z]+n)['’]t\b|['’](m|ve|re|ll|d)\b", re.IGNORECASE)
_EXPANSIONS = {"m": " am", "ve": " have", "re": " are", "ll": " will", "d": " would"}


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text that are asserted, in order."""
    plain = _MARKDOWN_MARKS.sub("", _MARKDOWN_LINK.sub(r"\1\2", _NOT_PROSE.sub("\n", text)))
    for sentence in _SENTENCE.findall(_CONTRACTED.sub(_expand_contraction, plain)):
        sentence = _BLANKS.sub(" ", sentence)  # else what looks for a mark behind blanks takes the square of a run
        words = sentence.split(None, 1)
        if not words or sentence.endswith("?") or words[0].lower() in _CONDITIONS:
            continue
        start, said = 0, True
        for cut in _CLAUSE.finditer(sentence):
            link = (cut[1] or cut[2]).strip().lower()
            if said:
                yield Clause(tuple(sentence[start : cut.start()].split()), link)
            start, said = cut.end(), link not in SUBORDINATORS and (said or link not in CONJUNCTIONS)
        if said:
            yield Clause(tuple(sentence[start:].rstrip(".!").split()), "")


def _expand_contraction(one: re.Match[str]) -> str:
    if one[2]:
        return _EXPANSIONS[one[2].lower()]
    verb = one[1].lower()
    return "can not" if verb == "can" else f"{one[1].removesuffix('n')} not"
