"""Tells which time a question asks for: what holds now, what held before, what held on a day, or none of these.

By cue words, English: a question in another language asks for no time, and is answered as it would be without this.
Above stands `mnemic.actors.recall.ranking.validity`.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from mnemic.algorithms.knowledge.slots import SLOT_NOUNS
from mnemic.algorithms.text.languages.en import ENGLISH
from mnemic.algorithms.text.languages.table import BY_CODE
from mnemic.algorithms.text.terms import language_of

AskedTime = Literal["now", "before", "day", "any"]
"""now: what holds. before: what held until something else came. day: what held on a day that the question names. any:
an event, or what no word tells the time of."""
MAX_CHARS = 1_000
"""Characters of a question that are looked at; a longer one asks for no time."""

_PRESENT = re.compile(
    r"\b(?:is|are|am|does|do|has|have|runs?|uses?|now|currently|these days|at present|nowadays|today)\b"
    r"|\b(?:what|who|where|how|which|when|it|that|there)['’]s\b|^\W*(?:who|what|which\s+\w+)\s+\w+[^\Ws]s\b",
    re.IGNORECASE,
)
_NEWEST = re.compile(
    r"\b(?:now|current(?:ly)?|active|latest|newest|these days|nowadays|at present|at the moment|today|any ?more"
    r"|still)\b"
    r"|\b(?:has|have)\b.{0,60}?\bchanged\b",
    re.IGNORECASE,
)
_NO_STATE = re.compile(
    r"\b(?:why|how|when|who|was|were|did|had|been|can|could|should|shall|will|would|may|might|must|previous|before|first"
    r"|last|all|chang\w+|decisions?|summari[sz]e|list|show|find|tell|explain|read|write|fix|add|make|run|go|do)\b"
    r"|[^\w\s'’.+#?-]|[/_]",
    re.IGNORECASE,
)
_TERSE_NOUNS = frozenset(
    ("db", "library", "plan", "service", "tariff", "tool", "supplier", "client", "stack", "dialect", "key", "account")
)
_TERSE_WORDS = 4  # "prod host?", "current electricity supplier"
_NOT_PRESENT = re.compile(
    r"\b(?:did|was|were|had|ago|before|used|originally|earlier|previous\w*|first|in (?:19|20)\d\d|on \d+|yesterday"
    r"|last (?:\w+day|night|week|weekend|month|year|time|summer|winter|spring|autumn)|been|ever|changed"
    r"|(?:do|can|could|have) (?:you|we) (?:remember|find|recall|seen?|say|said))\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"""
      \b(?:previously|formerly|former|originally|at\s+first|until\s+recently|initially|back\s+then
        |in\s+the\s+beginning(?!\s+of)|in\s+the\s+past)\b
    | \bprevious\b(?!\s+(?:session|conversation|message|discussion|chat|meeting|question|answer))
    | \bearlier\s*(?:[?.!]|$)
    | (?<!\bis\s)(?<!\bare\s)(?<!\bbe\s)\bused\s+to\s+\w | \bdid\b.{0,80}?\buse\s+to\s+\w
    | ^\W*(?:what|which|who|where)\s+(?:was|were)\s.{0,80}?(?<!-)\bold\b
    | \b(?:before|prior\s+to)(?:\s+(?:that|this|then|now|it))?\s*(?:[?.!]|$)
    | \b(?:before|prior\s+to)\s+(?:today['’]s|(?:the|that|this|its|his|her|their|our|my|your)\s+
        (?:present|current|latest|new|newest|last|one)|the\s+\w+\s+(?:it|he|she|they|we|you)\s+(?:has|have|uses?))\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BEFORE_NAMED = re.compile(
    r"^(\W*(?:what|which|who|whose|where|how)\b.{0,200}?\b(?:did|was|were|had|used|ran|run|sat|lived)\b.{0,200}?),?"
    r" (?:before|prior to) (?:we (?:used|had|took|moved to|switched to|went to) )?"
    r"(?!(?:that|this|then|now|it|today|the|a|an|my|our|your|we|i|he|she|they|you|last|deploy\w*|version|release|lunch|dinner|breakfast|work"
    r"|school|bed|kids|christmas|easter|noon|midnight|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|\d)\b)"
    r"([\w.+#-]+(?: [\w.+#-]+){0,2}?)\W*$",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:say|said|tell|told|discuss\w*|talk\w*|mention\w*|summari[sz]e|error|seen|see|saw)\b", re.IGNORECASE
)
_EVENT = re.compile(
    r"\b(?:decid\w+|decisions?|happen\w*|told|tell|settled?|agreed?|went wrong|broke|broken|hear|heard|shar(?:e|ed)"
    r"|announc\w+|mention\w*|discuss\w*|talk\w*|chos(?:e|en)|choose|caus\w+|fix(?:ed)?|releas\w+|meet|met|visit\w*"
    r"|attend\w*|went|go|do|watch\w*|win|won|buy|bought|see|saw|say|said|rebuilt|ill|accepted|find|found|organi[sz]\w+"
    r"|plan\w*|recommend\w*|participat\w+|dinner|lunch|fail\w*|crash\w*|call(?:ed)?|commit\w*|merg\w+|push\w*|deploy\w*"
    r"|ship\w*|ate|eat|cook\w*|work on|finish\w*|start\w*|wrote|write|order\w*)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:was|were|got|been)\s+(?!(?:us|call|nam|host|kept|defin|bas|locat|stor|install|set|deploy|configur|limit|own)\w*)"
    r"(?:\w+ly\s+)?\w+(?:ed|en)\b",
    re.IGNORECASE,
)
"""``was mended`` happened, ``was hosted`` lasted."""
_DID = re.compile(r"\bdid\b", re.IGNORECASE)
_AS_OF = re.compile(r"\bas of\b", re.IGNORECASE)
_NAMED_STATE = re.compile(
    r"^\W{0,8}(?:(?:what|which|who|where)[ ](?:was|were)[ ](?:the|our|my|its|their)\b"
    r"(?!.{0,60}\b(?:decisions?|happen\w*|caus\w+|plan\w*|fix\w*)\b)"
    r"|(?!.{0,300}\b(?:did|was|were|is|are|do|does|had|has|have|went|happened|decided|said)\b)"
    r"\w+(?:[ ]\w+){0,4}[ ](?:on|in|at)[ ])",
    re.IGNORECASE,
)
"""What something was, by its noun: ``what was the order cutoff on 3 May``, ``deployment region on 3 May``."""
_LASTING = re.compile(
    r"\b(?:use|have|run|live|work|own|cost|keep|like|love|want|need|weigh|host|serve|sit|stand|belong|grant|allow|last"
    r"|hold|drive|coach|lead|teach|charge|rent|speak|wear|prefer|look after|listen)\b",
    re.IGNORECASE,
)
"""What somebody did over some time; with any other verb ``did`` asks for an event."""
_STATE_ASKED = re.compile(r"\b(?:what|which|who|whose|where|how)\b|\bas of\b", re.IGNORECASE)
_TOLD_FROM_TODAY = re.compile(
    r"\b(?:yesterday|last|ago|today|tonight|this (?:morning|afternoon|evening|week|month|year)|on \w+day)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(r"\bsince\s+when\b", re.IGNORECASE)
_TODAY = re.compile(r"\btoday(?:['’]s)?\b", re.IGNORECASE)
_PERFECT = re.compile(
    r"\b(?:has|have)(?:\s+[\w'’]+){1,3}?\s+(?:\w+ed|\w+en|read|done|made|gone|found|won|lost|bought|met)\b",
    re.IGNORECASE,
)
_FUTURE = re.compile(r"\b(?:is|are|am)\b.{0,80}?\bgoing\s+to\s+\w", re.IGNORECASE)


def asked_time(question: str, *, names_days: bool) -> AskedTime:
    """Which time a question asks for; of what holds today it is now, though today is a day.

    A day told from today ("yesterday", "on Monday") asks for an event, a date for what held then.

    Args:
        names_days: whether it names a day (`mnemic.algorithms.text.days`).
    """
    if len(question) > MAX_CHARS:
        return "any"
    question = " ".join(question.split())
    if language_of(question, tuple(BY_CODE.values())) is not ENGLISH:
        return "any"
    if _BEFORE.search(question):
        return "any" if _REPORT.search(question) else "before"
    if _SINCE.search(question):
        return "now"
    is_present = _PRESENT.search(question) and not _NOT_PRESENT.search(question)
    if names_days and not (is_present and _TODAY.search(question)):
        if _AS_OF.search(question) or (_NAMED_STATE.search(question) and not _DONE.search(question)):
            return "day"
        happened = _EVENT.search(question) or _DONE.search(question)
        is_state = _STATE_ASKED.search(question) and not (_DID.search(question) and not _LASTING.search(question))
        return "any" if happened or not is_state or _TOLD_FROM_TODAY.search(question) else "day"
    if _is_terse(question) or (_NEWEST.search(question) and not _NOT_PRESENT.search(question)):
        return "now"
    if not is_present or _PERFECT.search(question) or _FUTURE.search(question):
        return "any"
    return "now"


class Predecessor(NamedTuple):
    """A question about what was there before something that it names."""

    question: str
    """The question without that."""
    successor: str
    """What it names."""


def asked_predecessor(question: str) -> Predecessor | None:
    """Return what a question asks for that ends in ``before Mollie``; ``None`` of any other.

    >>> asked_predecessor("which payment provider did we have before Mollie?")
    Predecessor(question='which payment provider did we have', successor='Mollie')
    """
    found = _BEFORE_NAMED.match(" ".join(question[:MAX_CHARS].split()))
    return None if found is None or _REPORT.search(question) else Predecessor(found[1], found[2])


def asks_for_newest(question: str) -> bool:
    """Whether a question that asks for now says so in so many words ("current", "latest"), or has no verb at all."""
    return _NEWEST.search(question[:MAX_CHARS]) is not None or _is_terse(question)


def _is_terse(question: str) -> bool:
    """Say whether it names a thing in two to four words and says nothing of it: ``prod host?``, ``job scheduler``."""
    words = question.lower().replace("?", " ").split()
    if not 2 <= len(words) <= _TERSE_WORDS or _PRESENT.search(question) or _NO_STATE.search(question):
        return False
    return _NEWEST.search(question) is not None or any(word.rstrip("s") in SLOT_NOUNS | _TERSE_NOUNS for word in words)
