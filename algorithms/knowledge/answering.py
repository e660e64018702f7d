"""How a text answers a question: what it only asks, what it denies, what worked in the end, and what reasons it gives.

A question that somebody typed before is worded like the question that is asked, and answers nothing; what answers it
follows it, in other words. So of each sentence it is told whether it asks, and whether it says that something is *not*
told there ("the fixture does not define the queue"); of a text, whether it reports what worked or failed, gives a
reason, or only sets out to look. By cue words, English, but for the question mark; what they miss counts as a plain
statement. Above stands `mnemic.actors.recall.ranking.answers`, which weighs them: docs/decisions/0035-what-answers.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from mnemic.algorithms.text.exact_keys import exact_keys
from mnemic.algorithms.text.sentences import plain_sentences
from mnemic.algorithms.text.terms import index_terms

MAX_CHARS = 4_000
"""Characters of a text that are read; what comes later counts as a plain statement."""
_MOST_SENTENCES = 32
_SENTENCE_CHARS = 300  # of a sentence, what is looked at for how it begins
_SHORT_CHARS = 200  # of a text that is about one thing
_OPENING_CHARS = 100  # of a text, where it says whether something worked
_ACCEPTING_CHARS = 40  # of a text that does nothing but accept

_WH = r"(?:what|why|how|where|when|which|who|whose|whom)"
_AUX = (
    r"(?:is|are|am|was|were|does|did|can|could|should|shall|will|would|has|had|may|must"
    r"|(?:is|are|does|did|ca|wo|should|has|was|were|could|would)n['’]t)"
)
_SUBJECT = (
    r"(?:i|we|you|it|he|she|they|the|there|this|that|these|those|an?|my|our|your|his|her|their|its|any\w*|some\w*)"
)
_PERSON = r"(?:i|we|you|they|he|she|there|any\w*|some\w*|these|those)"
_LEAD = r"(?:(?:\w+(?: \w+){0,4}:|and|so|but|hi|hey|ok|okay|hm+|also|then|btw|by the way)[,:]? ){0,3}"
_ASKS = re.compile(
    rf"^\W*{_LEAD}(?:{_WH}(?: [\w'’-]+){{0,4}}? (?:{_AUX}|do|have)\b|{_WH} (?:about|else)\b"
    rf"|{_AUX} {_SUBJECT}\b|(?:do|have)(?:n['’]t)? {_PERSON}\b|why not\b)",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(rf"(?<=[?!])\s|;\s|:\s(?={_WH}\b)", re.IGNORECASE)
_MAY_ASK = re.compile(rf"\W*(?:{_WH}|{_AUX}|do|have|and|so|but|h[im]|hey|ok|also|then|btw|by)", re.IGNORECASE)
"""How a sentence without a colon begins that `_ASKS` may find to ask."""
_CLAUSE_MARKS = frozenset("?!;:")
_TELLS = re.compile(r":\s+\S|,\s+(?!\w+ asked\b)")
_SUBORDINATE = re.compile(r"^\W*(?:what|when|where|how|which|who) (?:i|we|you|it|he|she|they|the)\b", re.IGNORECASE)
"""``When I was there``, ``what we did``: no question."""
_DENIES = re.compile(
    r"""\b(?:
      (?:do|does|did)(?:n['’]t|\ not)(?:\ \w+)?
        \ (?:define|say|mention|set|describe|know|decide|configure|tell|specify)\w*
    | (?:is|are|was|were)(?:n['’]t|\ not)\ (?:it|the\ (?:place|one|right|real|source)|defined?)\b
    | says?\ nothing | nothing\ (?:of|about|in)\ (?:it|that|this|the)\b | not\ (?:the\ place|defined)\b
    | no\ (?:word|mention)\ of | unrelated | only\ in\ a\ todo
    | (?:could|can)(?:n['’]t|\ ?not)\ (?:tell|say|find|see)
    | without\ (?:a\ |any\ )?(?:result|decision|answer|conclusion)
    | (?:section|page|body|file|entry|field|heading|draft)\b.{0,30}?\b(?:is|are|was|were|stayed|still)\ (?:empty|blank)
    | (?:is|are|was|were|stayed|still)\ (?:undecided|unclear|unknown|unanswered)
    | no\ (?:decision|action|result|conclusion|answer)s?\ (?:was|were|is|are|has|came|yet)
    | nobody\ (?:knows?|knew|remembers?|answered) | (?:was|were|is)\ not\ (?:decided|agreed|settled|discussed)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_DENYING = (
    *("n't", "not", "no ", "unrelated", "only in a todo", "without", "empty", "blank", "nobody"),
    *("undecided", "unclear", "unknown", "unanswered"),
)
"""One of these stands in each denial of plain letters: most sentences are seen by them to deny nothing."""
_CHANGES = re.compile(
    r"""\b(?:
      (?<!for\ )now | (?:from|starting|as\ of)\ (?:now|today|tomorrow|right\ away|this\ \w+|next\ \w+|\w+day)
    | these\ days | instead | moved | swapped | switched | replaced | raised | lowered | took\ over | uninstalled
    | removed | (?:go|goes|went)\ (?:up|down)\ to | (?:is|are)\ (?:history|gone|dead|out|over|deprecated|retired)
    | obsolete | no\ (?:longer|more) | any\ ?more | changed | migrated | decision | decided | becomes?
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SETS_OUT = re.compile(
    r"""\b(?:
      let\ me | i['’]?d\ (?:like|rather|want) | (?:i|we)['’]ll | let['’]s | before\ (?:i|guess|say)\w*
    | first\ try
    | could\ (?:be|you) | can\ you | should\ (?:i|we) | probably | maybe | might | smells\ like | looks?\ like
    | not\ sure | i\ think | try(?:ing)?
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WORKED = re.compile(
    r"""\b(?:
      that(?:['’]s|\ was|\ is)\ it | did\ it\b | did\ the\ trick | fixed | solved | helped | works?\b | worked
    | all\ (?:\w+\ )?(?:green|good|clean|well)
    | (?:is|are|comes?|runs?|stands?|goes|go|starts?)\ (?:\w+\ )?(?:right|correct|fine|clean|green|gone|back|quiet
        |upright|complete|through|again)
    | no\ more | (?:real|root)\ cause | finally | great | perfect | passes | passed | closed | reproduced\ and
    | y(?:es|ep)!
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_FAILED = re.compile(
    r"""\b(?:
      no\ (?:change|luck|difference) | (?:did|does)(?:n['’]t|\ not)\ (?:help|work|change|do) | still | same\ \w+
    | worse | ugh | nope | no[,.!] | off\b | broken | breaks | swallow\w* | dangerous | (?:is|was)n['’]t\ it | fail\w*
    | crash\w* | dies | died | hangs | hung | then\? | (?:revert|undo|roll\ back)\ (?:it|that|this)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NEGATED = re.compile(
    r"""\b(?:
      (?:not|never|nothing|hardly|no\ longer)\ (?:\w+\ ){0,2}?
        (?:solv|fix|help|work|right|correct|fine|gone|better|great|perfect)\w*
    | \w+n['’]t\ (?:\w+\ ){0,2}?(?:solv|fix|help|work|right|correct|fine|gone|better)\w*
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_UNHARMED = re.compile(
    r"\b(?:no(?:\ more)?|without(?:\ an?|\ any)?)\ (?:\w+\ )?(?:fail\w*|crash\w*|errors?|timeouts?)\b", re.IGNORECASE
)
_ACCEPTS = re.compile(r"^\W*(?:thanks|thank\ you|thx|ok|okay|good|nice|cool|lovely|super)\b", re.IGNORECASE)
_OBJECTS = re.compile(
    r"\?|n['’]t\b|\b(?:but|revert|undo|back|remove|drop|again|instead|not|still|yet|only|blank|empty|exits?)\b",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"\b(?:\w*errors?|\w*exceptions?|fail\w*|crash\w*|bugs?|bro(?:ke|ken)|breaks|wrong|dies|died|hangs?|hung|stuck|denied"
    r"|refused|timeouts?|unreachable|flaky|garbage|no\ better)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"""\b(?:
      because | reasons?\b | so\ (?:that|it|they|we|nobody)\b | due\ to | that['’]s\ why | in\ order\ to | otherwise
    | therefore | the\ point\ is | since\ (?:it|they|we|he|she|the|our|nobody|both|half)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WANTS_REMEDY = re.compile(
    r"\b(?:how|what)\b.{0,40}?\b(?:fix(?:ed|es)?|solved?|resolved?|repair(?:ed)?|cured?|help(?:ed)?|did\ the\ trick"
    r"|g[eo]t\ rid|work(?:ed)?\ around|g[eo]t\ .{1,40}\ (?:to\ work|working|running))\b"
    r"|\bwhat\ was\ the\ (?:fix|solution|remedy)\b",
    re.IGNORECASE,
)
_WANTS_REASON = re.compile(
    r"^\W*(?:(?:so|and|but|tell me|remind me)[, ]+){0,2}(?:why|how come|for what reason|what made"
    r"|what (?:was|is|were) the reasons?)\b",
    re.IGNORECASE,
)


_WHETHER = re.compile(rf"^\W*(?:{_AUX}|do|have)\b", re.IGNORECASE)


class Wanted(NamedTuple):
    """What a question wants beside being about something."""

    remedy: bool
    """What worked: ``how did we fix X``."""
    reason: bool
    """Why something is so."""
    denial: bool
    """It asks whether something is so, or is worded as a denial itself, so that a denial answers it."""


class SentenceReading:
    """What a sentence does; but for whether it asks, each part is read when it is first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.chars = len(text)
        """How long it is."""
        self.asks = asks(text)
        """Whether it is a question."""

    @cached_property
    def terms(self) -> frozenset[str]:
        """What its words are kept under in the word index."""
        return frozenset(index_terms(self._text))

    @cached_property
    def denies(self) -> bool:
        """Whether it says that something is not told, held or known where one looked."""
        return _DENIES.search(self._text) is not None

    @cached_property
    def changes(self) -> bool:
        """Whether it tells of something that began or ended."""
        return _CHANGES.search(self._text) is not None


class AnswerReading:
    """What a text does, sentence by sentence and as a whole; what few questions want is read when it is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text = text[:MAX_CHARS]
        parts = (part for _, sentence in plain_sentences(text) for part in _split_clauses(sentence))
        self.sentences = tuple(map(SentenceReading, islice(parts, _MOST_SENTENCES)))
        """In their order; none of an empty text."""
        self._telling = [one for one in self.sentences if not one.asks]

    @cached_property
    def sets_out(self) -> bool:
        """Whether it sets out to look, guesses or proposes."""
        return _SETS_OUT.search(self._text) is not None

    @cached_property
    def gives_reason(self) -> bool:
        """Whether it gives a reason in so many words."""
        return _REASON.search(self._text) is not None

    @cached_property
    def outcome(self) -> int:
        """1 where it begins by telling that something worked, -1 where it failed, 0 where it tells neither."""
        return _outcome(self._opening)

    @cached_property
    def accepts(self) -> bool:
        """Whether it does little but accept what was done: ``thanks``, ``ok``."""
        text = self._text
        return len(text) <= _ACCEPTING_CHARS and bool(_ACCEPTS.match(text)) and not _OBJECTS.search(text)

    @cached_property
    def fails(self) -> bool:
        """Whether it tells of a failure, whatever else it tells."""
        return _FAILS.search(self._text) is not None or _FAILED.search(_UNHARMED.sub("", self._opening)) is not None

    @cached_property
    def has_key(self) -> bool:
        """Whether it begins with a key that only machines write, as errors have it."""
        return bool(exact_keys(self._opening))

    @property
    def _opening(self) -> str:
        return " ".join(self._text[:_OPENING_CHARS].split())

    def asked_share(self, terms: Collection[str]) -> float:
        """How much of what it has to do with a question it only asks, 0 to 1: half by the words it shares with that,
        half by its length.

        Args:
            terms: what the question's words may be kept under.
        """
        telling = self._telling
        asking = [one for one in self.sentences if one.asks] if len(telling) < len(self.sentences) else []
        if not asking:
            return 0.0
        if not telling:
            return 1.0
        asked, told = (max(len(one.terms.intersection(terms)) for one in each) for each in (asking, telling))
        by_words = max(0.0, 1.0 - told / asked) if asked else 0.0
        whole = sum(one.chars for one in self.sentences)
        return 0.5 * by_words + 0.5 * sum(one.chars for one in asking) / whole

    def changes(self, terms: Collection[str]) -> bool:
        """Say whether it tells of a change: anywhere, where it is short, else in the sentence nearest to a question."""
        if sum(one.chars for one in self.sentences) <= _SHORT_CHARS:
            return any(one.changes for one in self.sentences if not one.asks)
        one = self.nearest(terms)
        return one is not None and one.changes

    def denies(self, terms: Collection[str]) -> bool:
        """Say whether the sentence nearest to a question denies."""
        lower = self._text.lower()
        may_deny = not lower.isascii() or any(map(lower.__contains__, _DENYING))
        if not may_deny or not any(one.denies for one in self._telling):
            return False
        one = self.nearest(terms)
        return one is not None and one.denies

    def nearest(self, terms: Collection[str]) -> SentenceReading | None:
        """The first sentence of those that share most words with a question and do not ask; ``None`` without one."""
        return max(self._telling, key=lambda one: len(one.terms.intersection(terms)), default=None)


def read_wanted(question: str) -> Wanted:
    """Return what a question wants."""
    start = " ".join(question[:_SENTENCE_CHARS].split())
    return Wanted(
        remedy=_WANTS_REMEDY.search(start) is not None,
        reason=_WANTS_REASON.search(start) is not None,
        denial=_DENIES.search(start) is not None or _WHETHER.match(start) is not None,
    )


class Worked(NamedTuple):
    """What worked in the end, in a conversation about a failure."""

    turns: list[int]
    """Which of its turns tell it; none where that is not told, or where the first does."""
    last: int
    """The last turn that is about that failure."""
    is_sure: bool
    """Whether the user says so or accepts it; else they say so themselves, or follow what failed."""


def find_worked(turns: Sequence[tuple[bool, AnswerReading]]) -> Worked:
    """Return what worked in the end: the assistant's turns between what the user last told of a failure and says next.

    Args:
        turns: the first reports something that fails, or is a try; of each, whether the user says it.
    """
    tried: list[int] = []
    is_claimed = has_failed = is_sure = False
    last = len(turns) - 1
    for number, (is_user, read) in enumerate(turns):
        if not is_user:
            tried.append(number)
            is_claimed |= read.outcome > 0
        elif number and (read.outcome < 0 or (read.fails and not read.outcome)):
            has_failed |= bool(tried)
            tried, is_claimed = [], False
        elif number and tried:
            is_sure = read.outcome > 0 or read.accepts
            last = number if is_sure else number - 1
            break
    told = [one for one in tried if not turns[one][1].sets_out] or tried
    is_told = 0 not in told and (is_sure or is_claimed or has_failed)
    return Worked(told if is_told else [], last, is_sure)


def asks(sentence: str) -> bool:
    """Say whether a sentence asks: it ends with a question mark, or begins as a question does."""
    if sentence.rstrip("\"'”’)]*_ .").endswith("?"):
        return True
    start = " ".join(sentence[:_SENTENCE_CHARS].split())
    found = _ASKS.match(start) if ":" in start or _MAY_ASK.match(start) else None
    if found is None or _SUBORDINATE.match(start):
        return False
    # "Who is on call: Anna." tells under a heading, "should you see it, restart" is no question
    return not _TELLS.search(start, found.end())


def _split_clauses(sentence: str) -> Sequence[str]:
    if _CLAUSE_MARKS.isdisjoint(sentence):
        return [sentence]
    return [part for part in _CLAUSE_END.split(sentence) if part.strip()]


def _outcome(opening: str) -> int:
    """Return what comes first counts: ``great, no more mistakes``, ``no change, the old one works``."""
    opening = _NEGATED.sub("nope", _UNHARMED.sub("works", opening))
    worked, failed = _WORKED.search(opening), _FAILED.search(opening)
    if worked is None or failed is None:
        return (worked is not None) - (failed is not None)
    return 1 if worked.start() <= failed.start() else -1
