"""How probably a text asserts what it says, as a rate by its cue words.

What somebody plans, asks, quotes, did once or had for a while is worded much like what holds, and stands as near to a
question. So `mnemic.actors.recall.ranking.validity` weighs each candidate by the share of the statements with such cues
that asserted something for good. A rate and no filter: a third of what is told as past tells what holds as well ("it
was in the garage, now it is by the church"). Where the words tell for which days it holds ("until Friday", "from 1
December"), the day asked for decides. English; what is in other languages counts as asserted. Below it stand
`mnemic.algorithms.knowledge.extraction.modality`, which reads one clause, and
`mnemic.algorithms.knowledge.extraction.statements`.

Of made lives, whose author had not seen these cues, of 2,500 statements read as asserted or changed 86 % asserted
something, of 1,000 others 24 % (docs/decisions/0019-what-holds-now.md).
"""

from __future__ import annotations

import calendar
import functools
import re
from datetime import date, timedelta
from typing import Literal, NamedTuple

from mnemic.algorithms.knowledge.extraction.holding_days import TRIGGERS
from mnemic.algorithms.knowledge.extraction.modality import Modality, status_of
from mnemic.algorithms.knowledge.extraction.statements import statements

Status = Literal[
    "asserted", "changed", "asked", "quoted", "wished", "hypothetical", "planned", "passing", "ended", "past"
]
"""What a text makes of what it says: a `mnemic.algorithms.knowledge.extraction.modality.Modality`, where ``changed``
names what holds together with what held, and ``passing`` is what was for a while or by way of trial, temporary states
included."""
MAX_CHARS = 150
"""Characters; of a longer text some part asserts something, so it counts as asserted unread."""
RATES: dict[Status, float] = {
    "asserted": 0.96,
    "changed": 0.95,
    "asked": 0.01,
    "quoted": 0.67,
    "wished": 0.46,
    "hypothetical": 0.13,
    "planned": 0.50,
    "passing": 0.22,
    "ended": 0.30,
    "past": 0.15,
}
"""How many of the statements with such cues asserted something for good: counted in a file of quiet changes, by the
rule of succession (the facts bench does: docs/benches.md), but for four. What has ended and what is planned are not
told by counting (0.01, since nobody asked whether it had; 0.76, since what is announced there comes), what is changed
was less sure in made lives (0.75 beside 0.998), and what is read as a question and is none (0.06) is misread."""
_TAKES: dict[Status, float] = {"ended": 0.90, "planned": 0.20}
"""How probably these take the place of what was said before, where that is not their rate: what has ended does, though
it tells no other, and what is planned does once it is done."""
_TOLD_PAST = 0.2  # what is told as past or ended may answer what held before; what was replaced does more probably

_WITHIN, _OUTSIDE = 0.98, 0.05
"""The same of those that tell the days for which they hold, on one of these days and on another: of such statements of
quiet changes 90 of 90 and none of 34, of made lives 53 of 53 and 7 of 211."""
_TELLING: tuple[Modality, ...] = ("asserted", "temporary", "planned")  # whose days tell when it holds
_WORD = re.compile(r"\w+")
_NAMES = "|".join((*calendar.day_name, *calendar.month_name[1:]))
_RECURRING = re.compile(
    rf"\bfrom\s+(?:{_NAMES})s?\s*(?:to|until|till|through|-|–)\s*(?:{_NAMES})\b(?!,?\s+\d)", re.IGNORECASE
)
"""Days of every week, or months of every year ("open from Monday to Friday"), are not those of one."""
_CLAUSE_END = re.compile(
    r"(?<=[.!?;:…])\s+|\n+|,\s+(?=(?:and|but|so|now|today|then)\b)"
    r"|\s+(?:and|but)\s+(?=(?:is|are|has|leases|now|today|went back)\b)"
)
_PART_END = re.compile(r",\s+|;\s+|\s+(?:and|but|so)\s+")
_TELLING_WORDS = 3  # of a part that tells something by itself
NOW_WORDS = re.compile(
    r"\b(?:now|from now on|these days|nowadays|(?:from|as of) (?:today|now|this \w+)|today is|since|already|currently"
    r"|at last|in the end|finally|still|instead|took up)\b",
    re.IGNORECASE,
)
TAKEN_OVER = re.compile(
    r"\b(?:swapp?ed|traded|switch(?:ed|es)|mov(?:ed|es)|replac(?:ed|es)|went from|chang(?:ed|es)|migrat(?:ed|es)"
    r"|convert(?:ed|s)|rewritten|not \S+(?: any ?more)? but|so (?:it|he|she|they|\w+) (?:is|got|has))\b(?! out\b)",
    re.IGNORECASE,
)
_PASSING = r"""
      \b(?:tried|tries|trial)\b | \bwent\s+back\b | \bby\s+mistake\b | \bonce\b(?!\s+(?:a|an|every|per)\b)
    | \bfor\s+(?:an?|one|two|three|the)\s+(?:single\s+)?(?:hours?|days?|nights?|weeks?|weekend|gig|concert|party|show
        |session|moment|evening|morning|while|trip|time\s+being)\b
    | \bjust\s+for\b | \bduring\s+the\s+(?:vacation|holidays?|trip|outage|move)\b
    | \bover\s+the\s+(?:holidays?|weekend|summer|winter)\b
    | \bspends?\s+the\s+(?:holidays?|weekend|summer|winter)\b | \bborrow(?:ed|s|ing)?\b
    | \b(?:stand|stood|stands|standing|fill|fills|filled|filling|step|steps|stepped)[\s-]in\b | \bstand-?in\b
    | \b(?:begs?|begged|suspect\w*|propos\w*|recommend\w*|suggest\w*|interview\w*|consider\w*|tempted|toy\w*\s+with)\b
    | \bno\s+way\b | \bvoted\s+down\b | \bnot\s+(?:convinc\w+|sold|worth)\b
    | \b(?:over-?priced|too\s+expensive|boring)\b | \bjust\s+curious\b | \bread\s+(?:a\s+thread|about|up)\b
    | \blooks?\s+(?:like|shiny|nice|tempting|good)\b
    | \balmost\b | \bnearly\b | \bthought\s+about\b | \bas\s+a\s+courtesy\b | \btonight\b
    """
_ENDED = re.compile(
    r"^\W*no\s+more\b|\b(?:is|are)\s+gone\b|\bmoved\s+out\b|\bstepped\s+down\b"
    r"|\b(?:outgrew|uninstalled|resigned|cancelled|scrapped)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"""
      \b(?:began|started(?:\s+(?:out|off))?)\s+(?:with|on|in|as|at)\b | \bin\s+the\s+(?:old\s+days|beginning|past)\b
    | \bin\s+the\s+\w+\s+(?:era|days|times)\b | \byears?\s+ago\b | \bold\s+(?:photos?|pictures?|days|times)\b
    | \bas\s+a\s+(?:child|kid|student|boy|girl|teenager)\b | \blast\s+year\b | \bhad\s+(?:been|\w+ed|\w+en|\w+ght)\b
    | \bwhen\s+\w+(?:\s+\w+)?\s+(?:was|were)\b | \bfirst\s+version\b | \bback\s+in\b | \bonce\s+upon\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def status(text: str) -> Status:
    """What a text makes of what it says; that of its clause which most probably asserts something.

    Takes some ten microseconds for a sentence.
    """
    if len(text) > MAX_CHARS:
        return "asserted"
    clauses = [one for one in _CLAUSE_END.split(text) if one and any(map(str.isalnum, one))]
    telling = [one for one in clauses if len(one.split()) >= _TELLING_WORDS]  # "Great. And do you still go there?"
    found = [_of_clause(one) for one in telling or clauses]
    if "passing" in found and "changed" not in found:
        return "passing"  # "tried it, went back": what follows takes it back
    return max(found, key=RATES.__getitem__, default="asked")


class Assertion(NamedTuple):
    """How probably a text asserts what it says."""

    rate: float
    """That, 0 to 1, where nobody asks for a day."""
    takes: float
    """How probably it takes the place of what was said earlier of the same."""
    told_past: float
    """How probably it tells in so many words what held before, and does no more."""
    windows: tuple[tuple[date | None, date | None], ...] = ()
    """The days for which it says that it holds, half-open, if it does."""
    hands_over: bool = False
    """Whether it tells of something that ended, or of what came in its place."""

    def on(self, day: date) -> Assertion:
        """The same of one day."""
        if not self.windows:
            return self
        if any((first is None or first <= day) and (end is None or day < end) for first, end in self.windows):
            return self._replace(rate=max(self.rate, _WITHIN), takes=max(self.takes, _WITHIN))
        is_over = all(end is not None and end <= day for _, end in self.windows)
        told_past = _TOLD_PAST if is_over else self.told_past
        return self._replace(rate=min(self.rate, _OUTSIDE), takes=min(self.takes, _OUTSIDE), told_past=told_past)

    def looks_back_on(self, day: date) -> bool:
        """Say whether it tells in so many words what held on a day or before, however late it was said."""
        within = any((first is None or first <= day) and (end is None or day < end) for first, end in self.windows)
        return within if self.windows else self.told_past > 0


def read_assertion(text: str, said_on: date) -> Assertion:
    """How probably a text asserts what it says, and for which days.

    Args:
        said_on: the day that ``until Friday`` is told from.
    """
    read = status(text)
    rate = RATES[read]
    found = Assertion(
        rate,
        _TAKES.get(read, rate),
        _TOLD_PAST * (read in ("ended", "past")),
        hands_over=read in ("changed", "ended", "past") or TAKEN_OVER.search(text) is not None,
    )
    if len(text) > MAX_CHARS or TRIGGERS.isdisjoint(_WORD.findall(text.lower())) or _RECURRING.search(text):
        return found
    told = (
        (one.holds_from, one.holds_to)
        for one in statements(text, None, said_on, dated=True)
        if one.modality in _TELLING and not one.negative
    )
    # "today" alone says when something happened as often as for how long it holds
    windows = (one for one in told if any(one) and one != (said_on, said_on + timedelta(days=1)))
    return found._replace(windows=tuple(dict.fromkeys(windows)))


def _of_clause(clause: str) -> Status:
    read = status_of(clause)
    if read in ("asked", "quoted", "wished", "hypothetical", "planned"):
        return read
    if TAKEN_OVER.search(clause):
        return "changed"
    if _passing().search(clause):
        return "passing"
    standing = NOW_WORDS.search(clause) is not None
    if _ENDED.search(clause) or read == "ended":
        return "changed" if standing or _goes_on(clause) else "ended"
    if _PAST.search(clause):
        return "changed" if standing else "past"
    if read in ("past", "temporary") and standing:
        return "changed"
    return "passing" if read == "temporary" else read


def _goes_on(clause: str) -> bool:
    """Whether beside what ended something else is told, which may have come in its place."""
    parts = _PART_END.split(clause)
    return len(parts) > 1 and any(
        len(part.split()) >= _TELLING_WORDS and not _ENDED.search(part) and status_of(part) == "asserted"
        for part in parts
    )


@functools.cache
def _passing() -> re.Pattern[str]:
    """Made when it is first asked for: that takes 8 ms."""
    return re.compile(_PASSING, re.IGNORECASE | re.VERBOSE)
