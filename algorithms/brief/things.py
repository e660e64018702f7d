"""Reads one sentence for what it sets: the thing it speaks of, its values, what it says is over, and its cues. Pure.

Regular expressions that a reader can check, in English. Above stands `mnemic.actors.brief.current_sentences`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from mnemic.algorithms.text.terms import telling_terms

_THINGS = {
    "database": "database|databases|db",
    "host": "host|hosts|server|servers|machine|vm|vps|box|hosting|cluster",
    "environment": "staging|production|prod",
    "port": "port|ports",
    "address": "domain|url|endpoint|address|api|hostname|dns",
    "packages": "package manager|lockfile|lock file|dependencies|installer",
    "tests": "test runner|tests|test suite|coverage",
    "linter": "linter|linting|lint|formatter|formatting|type checker",
    "version": "version|versions|minimum|target|minsdk|runtime|node|python|ruby|java|kotlin|go|rust|php|ios|android",
    "price": "price|prices|fee|fees|cost|costs|rate|rates|tax|rent|deposit|tariff|fare|fares|salary|budget|discount",
    "limit": "limit|limits|maximum|max|cap|quota|threshold|seats|concurrency|workers|page size|batch size|pool",
    "duration": "timeout|ttl|retention|cutoff|cut-off|deadline|lifetime|interval|period|grace|idle|expiry|hold|cache",
    "day": "release|releases|deploy|deploys|deployment|deployments|beta|meeting|sync|standup|stand-up|launch|freeze"
    "|delivery",
    "backup": "backup|backups|dump|dumps|snapshot|snapshots",
    "storage": "bucket|region|disk|nas|storage|registry|repo|repos|repository",
    "payment": "payment|payments|checkout|payment provider|billing|invoice|invoices",
    "messages": "mail|mails|email|emails|e-mails|smtp|notifications|alert|alerts|alarm|alarms|webhook|webhooks",
    "queue": "queue|job|jobs|scheduler|cron|broker|worker",
    "login": "login|auth|session|sessions|token|tokens|password|passwords|key|keys|link|links",
    "person": "owner|owns|responsible|in charge|on call|on duty|maintainer|contact|reviewer|vet|doctor|dentist"
    "|landlord",
    "licence": "license|licence",
    "name": "called|named|name",
    "place": "office|home|flat|school|gym|insurance|supplier|electricity|internet",
    "format": "format|encoding|codec|schema|layout|unit|units|currency|timezone|time zone|times",
    "branch": "branch|main|trunk",
    "framework": "framework|library|client|injection|orm|renderer|engine|charts|editor|logger|logs|crashes|ci|pipeline",
}
"""Nouns that name one thing of a project at a time, by what they are a case of."""
_THING_OF = {noun: thing for thing, nouns in _THINGS.items() for noun in nouns.split("|")}
_SMALL = {word: n for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), 1)}
_SMALL |= {"ten": 10, "twelve": 12}
MAX_CHARS = 600
"""Of a longer sentence no more is read: it is mostly pasted."""
_LEAST_WORDS = 2
_SAYS_MORE = 5
"""A sentence with so many telling words says more than that something is over."""
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "mo": 2592000, "y": 31536000}
_TIME = re.compile(
    r"\b(?P<n>\d+(?:[.,]\d+)?|half an|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)[ -]?"
    r"(?:(?P<ms>ms|milliseconds?)|(?P<s>s|secs?|seconds?)|(?P<m>min|minutes?)|(?P<h>h|hours?)|(?P<d>days?|nights?)"
    r"|(?P<w>weeks?)|(?P<mo>months?)|(?P<y>years?))\b",
)
_UNITS = re.compile(
    r"(?P<money>(?:€|\$|£|\beur(?:os?)?\b|\busd\b|\bkr\b)\s?\d[\d.,]*|\d[\d.,]*\s?(?:€|\$|£|eur(?:os?)?\b|usd\b|kr\b|cents?\b))"
    r"|(?P<size>\b\d[\d.,]*\s?(?:[kmgt]i?b|bytes?)\b)|(?P<share>\b\d[\d.,]*\s?(?:%|percent\b))"
    r"|(?P<clock>\b\d{1,2}[:.]\d\d\b(?!\.)|\b\d{1,2}\s?(?:am|pm|o['’]clock)\b)"
    r"|(?P<weekday>\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b)"
    r"|(?P<date>\b\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\s\d{1,2}\b)"
    r"|(?P<port>(?:\bport\s|\blistens? on\s|\bon\s|:)\d{4,5}\b)"
    r"|(?P<host>\b[a-z][\w-]*(?:\.[a-z][\w-]*)*\.(?:com|org|net|de|io|dev|example|local|internal|app|eu)(?:/[\w./-]*)?)",
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
_DATE = re.compile(
    rf"(?P<from>\b(?:from|since|starting|as of|effective)\s+(?:on\s+)?)?\b"
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month>{_MONTH})|(?P<then>{_MONTH})\s(?P<of>\d{{1,2}})(?:st|nd|rd|th)?)\b"
)
_COUNT = re.compile(
    rf"\b(?P<n>\d+(?:[.,]\d+)?|{'|'.join(_SMALL)})\s+(?:[a-z]+\s+)?(?P<of>(?!min|sec|hour|day|night|week|month|year|eur)[a-z]{{4,}}s)\b"
)
_FROM_TO = re.compile(r"\bfrom\s+(\d+)\s+to\s+\d+\s*(%|[a-z]+)")
_PLAIN = re.compile(
    r"(?:\b(?:most|least|to|is|are|now|than|max|min|maximum|minimum|limit|size)|[=:])\s+(\d+)\b(?!\s*[%€$/:.,]?\w)"
)
_NUMBERED = re.compile(r"\b(?P<of>[a-z][a-z_]{2,})(?:\s+(?:is|to|at|=|:|version|v))*[ =]+v?(?P<n>\d+(?:\.\d+)*)\b")
_VERSIONED = re.compile(
    rf"{_THINGS['version']}|{_THINGS['port']}|{_THINGS['limit']}|postgres\w*|mysql|mariadb|sqlite|redis|mongo\w*|django|rails"
    r"|react|vue|svelte|angular|next|vite|typescript|gradle|docker|ubuntu|debian|ffmpeg|kubernetes|airflow|prefect|emqx",
)

_END = r"(?:history|gone|out|dead|deprecated|retired|obsolete|cancell?ed|deleted|removed|archived|revoked|dropped"
_END += r"|rejected|banned|switched off|finished|off)(?!\s+(?:by|for|to)\b)"
_SOME = r"(?:the\s+|our\s+|a\s+)?(?P<after>[\w'’./+-]+(?:\s+and\s+[\w'’./+-]+)?)"
_OVER = re.compile(
    rf"(?P<before>(?:[\w'’./+-]+\s+){{1,5}}?)(?:is|are|gets?|got|goes|['’]s)\s+(?:now\s+|finally\s+)?{_END}\b"
    r"|\bfrom\s+(?:the\s+|our\s+|a\s+)?(?P<first>[\w'’./+-]+)(?:\s+[\w'’./+-]+)?\s+(?:over\s+)?to\b"
    r"|\b(?:instead of|in place of|rather than|(?:took|takes) over from|replac(?:es?|ed|ing)|no longer(?: uses?)?"
    r"|(?:us|it|we|i['’]?m|moved?|moves|come|got)\s+(?:off|away from)|drop(?:s|ped)?|got rid of|thr[eo]w out|goodbye"
    rf"|(?:don['’]?t|do not|doesn['’]?t|not) use|stop(?:ped)? using|used to be|previously|formerly)\s+{_SOME}",
)
_NO_OVER = re.compile(r"\b(?:and|the|our|a|an|this|that|it|old|so|but|also|since|have|has|we|i|which)\b|/")
_BEFORE = re.compile(
    r"\bfrom\s+(?:every\s+)?[\w.,:€$%]+(?:\s+[\w%€]+)?\s+(?=to\b)|\b(?:instead|in place)\s+of\s+[^.,;]*"
    r"|\(?\bwas\s+[^.,;]*|\bnot\s+\w+(?:\s\w+)?(?=[.,;])"
)
"""What a sentence says that a value was before."""
_CHANGE = re.compile(
    r"""
      \bfrom\s+(?:now|today|tomorrow|next|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d+)\b(?!\s+to\b)
    | \bsince\s+(?:this|today|yesterday|last|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february
        |march|april|may|june|july|august|september|october|november|december|\d|we|v?\d)
    | \b(?:is|are)\s+now\b
    | \bnow\s+(?:is|are|runs?|lives?|sits?|listens?|goes|go|costs?|gets?|uses?|ends?|starts?|takes?|has|have)\b
    | \w\s+now\s*(?:[.,;:()]|$|and\b(?!\s+then)|on\b|at\b|in\b|with\b|over\b|for\b|instead\b)
    | \b(?:raised|lowered|cut|reduced|increased|shortened|extended|pinned|bumped|upgraded|set)\s+(?:\w+\s+){0,3}?
        (?:to|from|at|by)\b
    | \b(?:moves?|moved|switch(?:es|ed)?|migrated|changes?|changed|goes|go|renamed?)\s+(?:\w+\s+){0,5}?
        (?:to|from|over|off)\b
    | \bbecomes?\b | \btakes?\s+over\b | \btook\s+over\b | \b(?:instead\s+of|in\s+place\s+of|replaces?|replaced)\b
    | \bfor\s+(?:good|the\s+record)\b | \bpermanently\b | \bno\s+longer\b | \b(?:not|n['’]t)\b.{0,40}\bany\s?more\b
    | \beverywhere\b | \beverything\b.{0,30}\b(?:runs?|lives?|is|in)\b
    | \b(?:it\s+is|we\s+go\s+with|we\s+take|we['’]ll\s+go\s+with|so\s+the)\b.{0,50}\b(?:then|called)\b
    | \bwe\s+define\b | \bnew\s+(?:rule|default|limit|price|address|name)\b | \bis\s+it\b\s*[.!]?$
    """,
    re.VERBOSE,
)
_STANDING = re.compile(
    rf"(?:^|[,;:–—(]\s+|\band\s+)(?:(?:and|also|oh|btw|so|the|our|my|all|every|new|its|their|\w+['’]s)\s+)*"
    rf"(?P<of>(?:[\w./-]+\s+){{0,3}}?(?:{'|'.join(_THINGS.values())})"
    r"(?:\s+(?:at|in|on|of|for|per)\s+(?:the\s+)?[\w./-]+)?)"
    r"(?:\s*:\s|\s+(?:is|are|runs?|lives?|sits?|stays?|listens?|costs?|starts?|ends?|closes?|opens?|belongs?|goes|go"
    r"|arrives?|lasts?|holds?|keeps?|(?:is|are)\s+kept|uses?|pays?|expires?|may|must|does|do|has|have|becomes?)\b)",
)
"""A clause that begins with a thing and says how it is."""
_VALUE = r"(?=.*(?:\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|[\w-]\s(?-i:[A-Z])))"
_LABEL = r"(?!(?:note|decision|todo|update|fix|idea|error|warning|question|fyi)\b)(?:[\w/-]+\ ){0,2}[\w/-]+:\ "
_DOES = r"is\ (?:our|the)|signs|owns|leads|conducts|carries|handles|maintains|reviews|approves|administers"
_DEFINITE = re.compile(
    rf"""
      ^\W*(?:(?:and|also|oh|btw|so|yes|right|then|ok)[ ,]+)*
      (?:
        (?:{_LABEL})?
        (?P<of>(?:the|our|all(?:\ (?:the|our))?)\ (?:[\w’'./-]+\ ){{1,6}}?)
        (?:is|are|sits?|lives?|runs?|happens?|goes|go|costs?|starts?|ends?|opens?|closes?|belongs?|comes?)\b{_VALUE}
      | (?:{_LABEL})?
        (?P<many>(?:[\w’'./-]+\ ){{0,2}}[a-z]{{3,}}s\ )(?:are|happen|cost|go|start|end|run|sit|live|come)\ {_VALUE}
      | (?P<we>we)(?:['’]re|\ (?:are|use|run|meet|deploy|host|keep|pay|take|ship|build|release|rehearse|train))
        \ {_VALUE}
      | (?P<label>{_LABEL})(?!\S+:)(?=.{{1,60}}$)(?=.*\d)
      | (?-i:(?:Dr|Mrs?|Ms)\.?\ )?(?-i:[A-Z])[\w’'-]+(?:\ (?-i:[A-Z])[\w’'-]+)?
        \ (?P<does>(?:{_DOES})\ (?:[\w’'-]+\ ?){{1,4}})
      )
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that says how something definite is, or who does what: ``the scores are on Nextcloud``, ``Ben is our
treasurer``.
"""
_PASSING = re.compile(
    r"^\W*(?:(?:and|so|or|well|ok|yes|no|hm+|ah|also)[ ,]+)*(?:if|suppose|imagine|what|why|how|when|where|who"
    r"|which|maybe|perhaps|should|shall|did|do|does|would|could|can|is|are|was|were|let me|let['’]s|please|but|i start"
    r"|i['’]?ll|i will|i['’]d|then i|first|thanks|congrat\w*|look|there['’]?s|there is|todo|list|call(?:ed)?|target:"
    r"|(?:write|add|change|update|fix|create|run|rename|delete|remove|check|rotate|implement|refactor|show|explain|give"
    r"|open|commit|push|merge|restart|rebuild|bump)\s(?!only\b|always\b))\b"
    r"|\b(?:i|we)\s+(?:think|guess|wonder|hope|wish|suspect|could|might|would|should|remember)\b|\bwould\b|\bi['’]d\b"
    r"|\bwants\s+(?:to|the|an?|more)\b|\b(?:smells|looks|feels|seems|sounds)\s+like\b|\bmy suspicion\b|!!"
    r"|\b(?:for now|for the moment|until we|for a test|can you|now and then|honestly|tonight)\b"
    r"|\b(?:fails?|failed|failing|crashe[sd]|dies|died|broken?\b|complain\w*|returns? \d+|alert:|correct now"
    r"|works (?:now|fine|again|on|in)|(?:is|are) finished|cves?)\b",
)
"""What tries, supposes, complains, or says that something is done."""
_WORK = re.compile(
    r"^\W*(?:then|tried|trying|experiment|recorded|noting|noted|done|updated|added|todo|list|fix(?:ed)?|understood|not"
    r"|(?:i|we)\s+(?:rang|called|asked|wrote|will|tried|told)|i['’]ll)\b|\b(?:until we|for now|for the moment)\b"
    r"|\b(?:removed|added|merged|created)\W*$"
)
"""What tells of work, and not of what stands."""
_MOMENT = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year)|at the moment|right now|so far|just now|this (?:time|week|morning"
    r"|afternoon|evening)|tonight|tomorrow|today:|away|wrote|called|rang|said|told|asked|came|went|tried|ran|found|left"
    r"|gave|brought|bought|got|had|was|were|did|got|typing|learned|reached)\b",
)
_QUALIFIER = re.compile(
    r"\b(?:staging|prod(?:uction)?|dev(?:elopment)?|local(?:ly|host)?|testing|beta|weekdays?|weekends?|holidays?|ios"
    r"|android|web|desktop|mobile|summer|winter)\b",
)
_RELEASE = re.compile(r"(?<![\w.,€$])\d+\.\d+(?:\.\d+)?(?=\s+(?:is|goes|comes|will|on|out|moves)\b|[,:])")
_DIGIT = re.compile(rf"\d|\b(?:{'|'.join(_SMALL)})\b")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w%€$])")
_NAME = re.compile(r"(?<=[\w,;:()\"'’-] )[A-Z][a-zA-Z0-9]{2,}\b|\b\w+[-_./]\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z]{2,}\b|`")
_OLD = re.compile(r"\bold\b")
_EMPTY = re.compile(
    r"now|the|and|old|new|sinc|today|everyth|everywher|get|got|still|also|over|thing|time|way|use|just|back|us|we|our|it"
    r"|this|that|all|no|not|yes|ok|okay|good|then|so|day|week|everi|morn|for|with|from|about|after|befor|until|least|most"
    r"|onli|under|like|take|per|step|month|year|have|was|were|are|decis|rule|alway|never|go|goe|move|switch|chang|becom"
    r"|replac|[\d.,]+|one|two|three|four|five|six|seven|eight|nine|ten|twelv|fifteen|minut|hour|second|percent|euro|eur"
    r"|kr|mb|gb|kb|ms|min|last|next|first"
)
"""Words that tell of no thing."""
_DOTTED = re.compile(r"\b([\w-]+)(?:@[\w.-]+|(?:\.[a-z][\w-]*)+(?:/[\w./-]*)?)")
_WORD = re.compile(r"[a-zà-ÿ]{3,}")
_WORDS = re.compile(r"[a-z][\w-]*")


def expires(text: str) -> list[tuple[int, int]]:
    """Month and day of each date that a text names as a time by which something is over or is to be done."""
    found = []
    for match in _DATE.finditer(text[:MAX_CHARS].lower()):
        if not match["from"]:
            month = _MONTHS.index((match["month"] or match["then"])[:3]) + 1
            found.append((month, int(match["day"] or match["of"])))
    return found


class Reading(NamedTuple):
    """What a sentence sets."""

    start: int
    """The character of its text where it begins, and the one after its last."""
    stop: int
    terms: frozenset[str]
    """Its telling words."""
    things: frozenset[str]
    """What the nouns of it are cases of."""
    subjects: frozenset[frozenset[str]]
    """Of what its clauses say how it is, each by its telling words."""
    values: frozenset[tuple[str, str]]
    """Amounts, days, versions: each with what it measures."""
    past_values: frozenset[tuple[str, str]]
    """Those that it says were before."""
    qualifiers: frozenset[str]
    """Which of several things of a kind it speaks of."""
    numbers: frozenset[str]
    """Numbers in it that are no values: they tell things of a kind apart."""
    over: frozenset[frozenset[str]]
    """What it says is over, each by its telling words."""
    is_change: bool
    """Whether its words tell of a change, or of what holds from a day on."""
    is_standing: bool
    """Whether it says of a thing how it is, and names something."""
    is_passing: bool
    """Whether it tries, supposes or holds for a while."""
    is_asked: bool
    """Whether it is a question."""
    is_moment: bool
    """Whether it tells what happened, and not what is."""
    is_work: bool
    """Whether it tells of work that was done or tried, or says next to nothing."""


def read_sentence(text: str, start: int = 0) -> Reading:
    """Return what one sentence sets.

    Args:
        start: the character of its text where it begins.
    """
    low = text[:MAX_CHARS].lower()
    values, before = frozenset(_values(_BEFORE.sub(" ", low))), frozenset(_values(_FROM_TO.sub(r"\1 \2, \g<0>", low)))
    words = _WORDS.findall(low)
    spoken = [*words, *(f"{one} {other}" for one, other in pairwise(words))]
    things = frozenset(_THING_OF[one] for one in spoken if one in _THING_OF)
    bare = low
    for pattern in (_TIME, _UNITS, _FROM_TO, _PLAIN, _COUNT):
        bare = pattern.sub(" ", bare)
    bare = _NUMBERED.sub(lambda match: " " if _VERSIONED.fullmatch(match["of"]) else match[0], bare)
    numbers = frozenset(_NUMBER.findall(bare))
    is_named = bool(values) or _NAME.search(text) is not None
    clauses = list(_STANDING.finditer(low))
    standing = clauses[0] if clauses else None
    definite = _DEFINITE.match(text[:MAX_CHARS])
    terms, over = frozenset(_terms(low)), frozenset(_over(low))
    return Reading(
        start=start,
        stop=start + len(text),
        terms=terms,
        things=things,
        subjects=frozenset(frozenset(_terms(one)) for one in _subjects(clauses, definite)) - {frozenset()},
        values=values,
        past_values=before - values,
        over=over,
        is_change=_CHANGE.search(low) is not None or (bool(over) and len(terms) >= _SAYS_MORE),
        is_standing=(is_named and standing is not None) or definite is not None,
        is_passing=_PASSING.search(low) is not None,
        is_asked=text.rstrip("\"'”’)]*_ ").endswith("?"),
        qualifiers=frozenset(match[0][:4] for match in _QUALIFIER.finditer(low)),
        numbers=numbers,
        is_moment=_MOMENT.search(_clause(low, standing, definite)) is not None,
        is_work=_WORK.search(low) is not None or len(low.split()) < _LEAST_WORDS,
    )


def sets_something(text: str) -> bool:
    """Say whether a sentence may give a value, or tell a change or an end: a quick look before it is read."""
    low = text[:MAX_CHARS].lower()
    return _DIGIT.search(low) is not None or _CHANGE.search(low) is not None or _OVER.search(low) is not None


def _subjects(clauses: Sequence[re.Match[str]], definite: re.Match[str] | None) -> Iterator[str]:
    """Return what the clauses of a sentence say how it is, as it is written."""
    yield from (one["of"] for one in clauses if not _OLD.search(one["of"]))
    if definite is not None and definite.lastgroup not in (None, "we"):
        yield definite[definite.lastgroup].lower()


def _clause(text: str, standing: re.Match[str] | None, definite: re.Match[str] | None) -> str:
    """The clause that says how a thing is; the whole text where none does."""
    if standing is None and definite is not None:
        return re.split(r"[,;]\s", text, maxsplit=1)[0]
    return text if standing is None else re.split(r"[,;]\s", text[standing.start() + 2 :], maxsplit=1)[0]


def _over(text: str) -> Iterator[frozenset[str]]:
    for match in _OVER.finditer(text):
        said = match["before"] or match["first"] or match["after"] or ""
        if not _OLD.search(said):
            *others, last = _NO_OVER.split(said)
            for part in [others[-1], last] if others and _NO_OVER.findall(said)[-1] in ("and", "/") else [last]:
                words = [word for word in _WORD.findall(part) if word not in _THING_OF]
                terms = frozenset(term for word in words for term in _terms(word))
                if terms:
                    yield terms


def _terms(text: str) -> Iterator[str]:
    """The telling words of a text, without numbers, units and words that tell of no thing."""
    named = _DOTTED.sub(r"\1", text)  # two addresses of one domain share no thing
    yield from (term for term in telling_terms(named) if not _EMPTY.fullmatch(term))
    yield from _RELEASE.findall(text)


def _values(text: str) -> Iterator[tuple[str, str]]:
    for match in _TIME.finditer(text):
        unit = str(match.lastgroup)
        said = match["n"]
        count = 0.5 if said.startswith("half") else _number(said)
        yield "time", f"{count * _SECONDS[unit]:g}"
    for match in _UNITS.finditer(text):
        kind = str(match.lastgroup)
        said = match[0]
        yield kind, re.sub(r"[^\d.]", "", said) if kind in ("money", "size", "share", "port") else said.rstrip("s")
    for match in _PLAIN.finditer(text):
        yield "number", match[1]
    for match in _NUMBERED.finditer(text):
        if _VERSIONED.fullmatch(match["of"]):
            yield f"of {match['of'].casefold()}", match["n"]
    for match in _COUNT.finditer(text):
        yield f"count {match['of'].casefold().rstrip('s')}", f"{_number(match['n'].casefold()):g}"


def _number(said: str) -> float:
    return float(_SMALL.get(said, 1)) if said[0].isalpha() else float(said.replace(",", "."))
