"""Regular expressions that spot directives, open questions and unfinished work in a text; English, no model.

Rules a reader can check, in English, and made to be right rather than complete: what they miss is still found by
recall, and what they take wrongly would be told to every session. Above stands `mnemic.actors.brief.compose`.
"""

from __future__ import annotations

import re

from mnemic.algorithms.text.sentences import plain_sentences

MAX_STATEMENT_CHARS = 4000
"""Characters; what is longer is mostly pasted, and what it says in passing is no wish of who pasted it."""

_MOST_SENTENCE_CHARS = 1_000
"""Of a longer sentence no more is read for what is open."""

CUE_WORDS = (
    *("always", "never", "ever", "prefer", "preference", "decided", "decision", "agreed", "remember", "henceforth"),
    *("rule", "convention", "policy", "standard", "default", "stop"),
    *("from now on", "going forward", "in future", "in the future", "for the future", "down as"),
)
"""Words and phrases of which every standing statement holds one: the store marks the texts that do."""
_CUE = re.compile(rf"\b(?:{'|'.join(CUE_WORDS)})s?\b".replace(" ", r"\s+"), re.IGNORECASE)

_CLAUSE = r"(?:^|[:;–—-]\s+)(?:(?:please|and|also|ok(?:ay)?|yes|no|so|then),?\s+)*"
_DIRECTIVE = re.compile(
    rf"""
      {_CLAUSE}(?:always|never)\s+(?!mind\b|again\b|heard\b|said\b|saw\b|seen\b|knew\b|got\b|had\b|was\b|were\b|did\b
        |been\b|wrote\b|thought\b|happened\b|\w+ed\b)[a-z]
    | {_CLAUSE}(?:do\s+not|don['’]t)\s+ever\b
    | \byou\s+(?:should|must|are\s+to|need\s+to)\s+(?:always|never)\b
    | \b(?:I|we)\s+(?:always|never)\s+(?:want(?!\s+to\s+see)
        |use|write|run|ship|deploy|commit|push|merge|release|keep|put|test)\b
    | \b(?:I|we)\s+(?:\w+ly\s+)?prefer\b
    | {_CLAUSE}prefer\s
    | \b(?:my|our)\s+preference\s+is\b
    | \bfrom\s+now\s+on\b | \bgoing\s+forward\b | \bhenceforth\b
    | {_CLAUSE}(?:in|for)\s+(?:the\s+)?future[,:]
    | {_CLAUSE}remember\s*(?:that\s|this\b|:)
    | {_CLAUSE}(?:decision|decided|agreed|(?:house\s+|new\s+)?rule)\s*:
    | \bhouse\s+rules?\b(?!\s*\.md)(?=.*:)
    | \b(?:I|we)(?:\s+have|['’]ve)?(?:\s+(?:now|just|already|finally))?
      \s+(?:decided|agreed)\s+(?:that|to|on|against|not)\b
    | {_CLAUSE}we(?:\s+have|['’]ve)?(?:\s+(?:now|just|already|finally))?\s+(?:decided|agreed)\s*[:,]
    | {_CLAUSE}(?:put|write|note|record)\s+(?:it|them|that|this)\s+down\s+as\b
    | \b(?:our|my|the)\s+(?:house\s+|team\s+)?(?:convention|policy|rule|standard|default)(?:\s+here)?\s+is\b
    | {_CLAUSE}stop\s+(?:using|adding|writing|putting|calling)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HEDGED = re.compile(
    r"\s*(?:(?:but|and|so|or|well)[ ,]+)*(?:if|suppose|imagine|what|why|how|when|maybe|perhaps|should|shall|did|do|does"
    r"|would|could|can|is|are|was|were)\s(?!not ever)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"""
      \b(?:to-?do|fixme|tbd)s?\b
    | \bloose\s+ends?\b | \bopen\s+(?:points?|questions?|issues?|ends?)\b
    | \bstill\s+(?:to|open|missing|failing|fails?|needs?|has\s+to|have\s+to|unclear)\b
    | \b(?:left|remains?)\s+(?:to\s+\w+|open|undone|for\b)
    | \bremaining\s+(?:steps?|work|tasks?|items?|is|are)\b
    | \bnext\s+(?:steps?|up|time)\b | ^next\s*:
    | \bnot\s+(?:done|finished|started)\s+yet\b | \bnot\s+yet\s+(?:done|\w+ed)\b
    | (?:^|[.;,!]\s+)(?:(?:and|also|still|right|then|so|ok)[ ,:]{1,3}){0,3}open\b[^:.]{0,30}:\s
    | \bwhat(?:['’]s|\s+is)?\s+(?:left|missing|remains?)\b(?!\s+is\s+what) | \bonly\b.{1,60}\bremains?\b
    | \b(?:not\s+(?:yet\s+)?begun|leave\s+it\s+open|tomorrow\s+then)\b
    | \b(?:left|that['’]?s|is|are|waits?|until|it|after|put)\s+(?:(?:off|for|after|until|the)\s+){0,3}
        (?:summer|autumn|winter|spring)\b
    | ^(?:for|in)\s+(?:the\s+)?(?:summer|autumn|winter|spring)\s*:
    | \b(?:autumn|summer|winter|spring|["“”]?later["“”]?)\W?\s+list\b
    | (?:^|[.;!]\s+)(?:(?:and|so|ok|noted)[ ,.:]{1,3}){0,2}left(?:\s+over)?\s*:
    | \bstopping\s+here\b | \b(?:I|we)\s+(?:stopped|stop)\s+(?:here|at|in|with)\b | \bgot\s+as\s+far\s+as\b
    | \bhalf[\s-]?(?:way|done|finished|ported|written)\b | \bcarry\s+on\s+(?:there|here|with)\b
    | \bnot\s+started\b | \bstill\s+red\b
    | \b(?:is|are|was|were|has|have)(?:n['’]t|\s+not)\s+(?:\w+\s+)?
        (?:done|changed|written|merged|tested|started)\s+yet\b
    | \bfollow-?ups?\b | \bremind\s+me\b | \bpick\s+(?:this|it|that)\s+up\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_NOTHING_OPEN = re.compile(
    r"\bno\s+(?:more\s+)?(?:open\b|to-?dos?\b|loose\s+ends?)|\b(?:nothing|none)\s+(?:is\s+|are\s+)?(?:left|open|remains?)\b"
    r"|\bto-?do[\s-]+(?:list|app)\b",
    re.IGNORECASE,
)
_FIRST_LATER = re.compile(r"\W*(?:tomorrow|next\s+week)\b(?:\s*:|\s+(?:I|we)\b)", re.IGNORECASE)
_PROMISE = re.compile(r"\b(?:please|let['’]s|I['’]ll|we['’]ll|I\s+will|we\s+will)\b", re.IGNORECASE)
_LATER = re.compile(r"\b(?:tomorrow|next\s+week|later\s+on)\b", re.IGNORECASE)
"""Anywhere after a promise. In one pattern with it, each promise would look through the whole rest of the sentence."""


def holds_cue(text: str) -> bool:
    """Whether a text may state something standing: where it does not, `directive_start` finds nothing."""
    return len(text) <= MAX_STATEMENT_CHARS and _CUE.search(text) is not None


def directive_start(text: str) -> int | None:
    """Where a text starts to state a decision, a preference or a rule that is to hold; ``None`` where it does not.

    A question states none, and neither does what is quoted (code, lines that start with ``>``), nor any text longer
    than `MAX_STATEMENT_CHARS`.
    """
    if len(text) > MAX_STATEMENT_CHARS:
        return None
    for start, sentence in plain_sentences(text):
        if (
            _CUE.search(sentence)  # each directive holds one, and this takes a tenth of the time
            and not sentence.rstrip("\"'”’)]* ").endswith("?")
            and _DIRECTIVE.search(sentence)
            and not _HEDGED.match(sentence)
        ):
            return start
    return None


def final_question(text: str) -> str | None:
    """The question that a text ends with, if it does."""
    last = ""
    for _, sentence in plain_sentences(text):
        last = sentence
    return last if last.rstrip("\"'”’)]*_ ").endswith("?") else None


def is_open(sentence: str) -> bool:
    """Say whether a sentence says that something is still to be done."""
    sentence = sentence[:_MOST_SENTENCE_CHARS]
    if _NOTHING_OPEN.search(sentence):
        return False
    if _OPEN.search(sentence) or _FIRST_LATER.match(sentence):
        return True
    promise = _PROMISE.search(sentence)
    return promise is not None and _LATER.search(sentence, promise.end()) is not None
