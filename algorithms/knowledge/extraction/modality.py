"""Tells by cue words what status a sentence gives to what it says: asserted, asked, planned, ended and so on.

Above it stand `mnemic.algorithms.knowledge.extraction.clause_status`, which knows the verbs of a clause as well, and
recall, which asks for each candidate. English only: in other languages no cue is found, so all is asserted there. The
first that fits counts, in the order of `MODALITIES`: what is asked is not told, what another one said is not said by
this one, and so on down to what is asserted, which has no cue at all.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

Modality = Literal["asked", "quoted", "wished", "hypothetical", "planned", "temporary", "ended", "past", "asserted"]
"""asked: in a question. quoted: a claim of somebody else. wished: somebody would like it so. hypothetical: only if, or
perhaps. planned: not yet. temporary: for a time that ends. ended: was so until something was done. past: was so once.
asserted: all the rest, told as true now."""
MODALITIES: tuple[Modality, ...] = get_args(Modality)
"""In the order in which they are decided: the first that fits counts."""
MAX_SENTENCE_CHARS = 1_000
"""Characters of a sentence that `status_of` looks at."""


class _Cue(NamedTuple):
    modality: Modality
    triggers: frozenset[str]
    """One of these words has to stand there, or the pattern is not tried: looking up words is cheap."""
    pattern: re.Pattern[str]


def _cue(modality: Modality, triggers: str, *patterns: str) -> _Cue:
    return _Cue(modality, frozenset(triggers.split()), re.compile("|".join(patterns), re.IGNORECASE))


_ASKERS = (
    "am is are was were do does did can could will would shall should has have had may might isn't aren't wasn't"
    " weren't don't doesn't didn't hasn't haven't won't can't couldn't shouldn't wouldn't"
)
_QUESTION_WORDS = "who whose whom which where when why how what"
_OPENERS = "so and but ok okay hey well wait sorry also"
_WHOM = r"(?:me|us|him|her|them|everyone|people)"
_PERCEIVE = "(?:hear|see|feel|smell|taste|open|find|get|reach|reproduce|confirm)"  # "could hear it", as one does
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SEASON = r"(?:week|weekend|month|year|sprint|quarter|term|semester|season|summer|winter|spring|autumn)"
_ASKING = re.compile(
    rf"^\W*(?:(?:{_OPENERS.replace(' ', '|')})\b[ ,]+)*(?:"
    # an auxiliary with its subject after it; what begins with one and leaves its subject out is no question
    rf"(?!do (?!i\b|you|we|they))(?!ha(?:ve|d) (?!i\b|you|we|they))(?!c(?:an|ould)(?:n't)? {_PERCEIVE}\b)"
    rf"(?:{_ASKERS.replace(' ', '|')})"
    r" (?!(?:not|now|also|still|just|so|very|on|in|at|to|be|been|you)\b|\w+(?:ing|ed)\b)"
    rf"(?:\w+(?:'s)? +)(?!now\b)\w|(?:{_ASKERS.replace(' ', '|')}) you\b"
    rf"|(?:{_QUESTION_WORDS.replace(' ', '|')})(?!(?:'s)? if\b)(?:'s|'re| (?:{_ASKERS.replace(' ', '|')}))\b)",
    re.IGNORECASE,
)
"""A question by how it begins, with or without its mark; apostrophes are straight."""
_CUES: tuple[_Cue, ...] = (
    _cue(
        "asked",
        "wonder wondering wondered know sure unsure tell remember idea clue",
        r"\b(?:i|we)(?:'m| am|'re| are)? (?:\w+ )?(?:wonder(?:ing|ed)?|not sure|unsure)\b",
        r"\b(?:know|tell me|remember|idea|sure|clue) (?:if|whether)\b",
    ),
    _cue(
        "quoted",
        "according apparently supposedly allegedly reportedly rumour rumor heard hear told per",
        r"\baccording to\b|^\W*per the\b|\b(?:apparently|supposedly|allegedly|reportedly|rumou?r has it)\b",
        r"\bi(?:'ve| have)? (?:just )?heard\b|\bi hear\b|\b(?:i|we) (?:was|were) told\b|\btold (?:me|us)\b",
    ),
    _cue(
        "quoted",
        "say says said tells told claim claims claimed mentions mentioned insist insists insisted reckon reckons"
        " reckoned thinks believes warns warned states stated reports reported promises promised explains"
        " explained swears swore writes wrote reads announced argues argued suggests suggested complains complained"
        " read recommends predicts",
        # a verb of saying with a subject that is not the speaker
        r"(?<!\bi )(?<!\bwe )(?<!\bi just )(?<!\bi already )\b(?:says|said|claims|claimed|mentioned|mentions|insists"
        rf"|insisted|reckons|reckoned|thinks|believes|(?:tells|told) {_WHOM})\b(?! (?:to|up|by|off)\b)",
        r"\b(?:recommends|predicts) \w|\bswears (?!by\b)",
        r"\b(?:they|you|people|docs|doctors) (?:say|claim|insist|reckon)\b",
        r"\b(?:warn(?:s|ed)|state[sd]|report(?:s|ed)|promise[sd]|explain(?:s|ed)|swears|swore|writes|wrote|announced"
        r"|argue[sd]|suggest(?:s|ed)|complain(?:s|ed)|read)(?: \w+)? that\b|\breads:",
    ),
    _cue(
        "wished",
        "wish wishes wished hope hopes hoping hopefully ought should shouldn't rather want wants wanted love like"
        " prefer only help happier happy lovely nice great good better glad keen dream appreciate handy cool",
        r"\b(?:i|we|he|she|they|you) (?:really |also |still |just |do |don't )?(?:wish|hope|want)\b",
        r"\b(?:wants|wishes|hopes|hopefully|hoping|keen to)\b|\bwish(?:es|ed)? (?:to|that|the|i|we|for)\b",
        r"\bwant(?:ed)? (?:to|a|an|the)\b|\bdream(?:ing)? of\b|\b(?:should|shouldn't|ought)\b|\bif only\b",
        r"(?:\bwould|'d) (?:\w+ )?(?:love|like|rather|prefer|want|wish|help|appreciate"
        r"|be (?:\w+ )?(?:happier|happy|nice|lovely|great|good|better|glad|cool|wonderful|handy))\b",
    ),
    _cue("wished", "need needs have has", r"\b(?:i|we|he|she|they) (?:really )?(?:need|have|has|needs) to\b"),
    _cue(
        "hypothetical",
        "if unless might could may maybe perhaps suppose supposing assuming assume say would wouldn't imagine possibly"
        " 'd doubt",
        rf"\b(?:if(?! you (?:like|want|can|could|don))|unless|might|could(?! {_PERCEIVE}\b)|maybe|perhaps|supposing"
        r"|assuming|possibly)\b",
        r"\bmay (?!\d)(?<!in may )(?<!of may )(?<!since may )(?<!until may )(?<!\d may )\w",
        r"\bi doubt\b",
        r"^\W*(?:(?:let's|so|just) )?(?:suppose|say|imagine|assume)\b|\bwould(?:n't)?\b",
        r"\b(?:i|we|you|he|she|it|they)'d (?:\w+ly )?(?!better|been\b|had\b|\w+ed\b)\w+",
    ),
    _cue(
        "planned",
        "will won't wont going gonna plan plans planning planned intend intends intending due about 'll tomorrow next"
        " scheduled shall monday tuesday wednesday thursday friday saturday sunday",
        r"(?<!['\w])(?:will|won't|shall)\b|\w'll\b|\b(?:going to|gonna) (?!the\b|a\b|my\b|our\b)\w+",
        r"\bplan(?:s|ning|ned)? (?:to|on|for)\b|\b(?:am|are|is) planning\b|\bintend(?:s|ing)? to\b",
        r"\b(?:due|about|scheduled) to (?!\d)[a-z]+|\btomorrow\b",
        rf"(?<!\bthe )(?<!\buntil )(?<!\btill )\bnext (?:{_SEASON}|{_WEEKDAY})\b",
        rf"(?:\b(?:am|is|are)|'(?:m|s|re)) \w+ing\b.{{0,60}} on {_WEEKDAY}\b",
        rf"\b(?:from|as of) {_WEEKDAY}\b(?!,)",
    ),
    _cue(
        "past",
        "until till past used was were had lived worked owned ran rented drove played",
        r"\b(?:used|was|were|had|lived|worked|owned|ran|rented|drove|played)\b.{0,60} (?:until|till?)\b",
        r"\buntil (?:last|\d{4}).{0,40}\b(?:was|were|had|used|\w+ed)\b|\bin the past\b",
    ),
    _cue(
        "temporary",
        "until till this today moment now being temporarily meantime interim while tonight meanwhile next coming",
        rf"\bthis {_SEASON}\b(?!'s)|\b(?:today|tonight)\b(?!'s)|\bfor (?:now|the moment|the time being)\b",
        r"\bat the moment\b|\btemporarily\b|\b(?:in the|the) (?:meantime|interim)\b|\bmeanwhile\b|\bwhile\b",
        r"(?<!not )\b(?:un)?till?\b(?! (?:some|any)(?:body|one)\b)|\b(?:for|over) the (?:next|coming)\b",
    ),
    _cue(
        "ended",
        "longer anymore more stopped dropped quit cancelled canceled rid gave given up off ditched abandoned scrapped"
        " retired decommissioned phased moved switched shut closed",
        r"\bno longer\b|\b(?:any ?more|any longer)\b|\b(?:stopped|quit|ditched|abandoned|scrapped|decommissioned)\b",
        r"\b(?:dropped|cancell?ed|retired(?= (?:the|our|my|an?|that|this)\b))\b(?! (?:by|to|from|in)\b)"
        r"|\bgot(?:ten)? rid of\b|\b(?:gave|given) up\b",
        r"\bcalled off\b|\bphased out\b|\b(?:moved|switched) (?:off|away from|out of)\b",
        r"\b(?:shut|closed) down\b",
    ),
    _cue(
        "past",
        "used back formerly previously was were had lived worked owned belonged smoked studied commuted cycled",
        r"\bused to (?!it\b|the\b)[a-z]+|\bback (?:then|when|in)\b|\b(?:formerly|previously)\b",
        r"\b(?:i|we|he|she|it|they|you) used\b",
        r"(?<!have )(?<!has )(?<!'ve )\b(?:lived|worked|owned|belonged|smoked|studied|commuted|cycled)\b",
        r"\bhad\b(?! (?:to|been|\w+ed)\b)|\b(?:was|were)\b(?! (?:born|made|built|founded|\w+ed|written)\b)",
    ),
    _cue("past", "from", r"from (?:19|20)\d\d to (?:19|20)\d\d\b"),
)


def _triggered() -> dict[str, int]:
    """Each word to the cues that it triggers, one bit each."""
    found: dict[str, int] = {}
    for place, cue in enumerate(_CUES):
        for word in cue.triggers:
            found[word] = found.get(word, 0) | 1 << place
    return found


_TRIGGERED = _triggered()
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_MAY_ASK = frozenset(f"{_ASKERS} {_QUESTION_WORDS} {_OPENERS} what's who's where's how's when's".split())


def status_of(sentence: str) -> Modality:
    """The status that a whole sentence gives to what it says; takes some microseconds.

    A sentence of several clauses has that of its strongest cue, in the order of `MODALITIES`; `statements` tells them
    apart. An empty sentence is asserted.
    """
    sentence = sentence[:MAX_SENTENCE_CHARS].replace("’", "'")
    words = _WORD.findall(sentence.lower())
    if not words:
        return "asserted"
    if sentence.rstrip().endswith("?"):
        return "hypothetical" if words[:2] == ["what", "if"] else "asked"
    if words[0] in _MAY_ASK and _ASKING.match(sentence):
        return "asked"
    triggered = 0
    for word in words:
        triggered |= _TRIGGERED.get(word, 0)
        if "'" in word:  # "we'll"
            triggered |= _TRIGGERED.get(word[word.index("'") :], 0)
    place = 0
    while triggered:
        if triggered & 1 and _CUES[place].pattern.search(sentence):
            return _CUES[place].modality
        triggered >>= 1
        place += 1
    return "asserted"
