"""Takes secrets out of a text. Below: `mnemic.algorithms.secret_rules`, which finds what may be one, and
`mnemic.algorithms.secret_values`, which tells whether it is; above: `mnemic.runtime.secrets`.

Scrubbing twice is scrubbing once: marks are stepped over, and a value that holds one is no secret.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from mnemic.algorithms.secret_rules import FIRST_GROUP, NAME_GROUPS, UNQUOTED_GROUP, Expression, Match, Rule, Rules
from mnemic.algorithms.secret_values import (
    entropy_bits,
    is_basic,
    is_key,
    is_password,
    is_placeholder,
    is_template,
    is_url_password,
)

__all__ = ["Finding", "find", "mark", "merged", "scrub"]

_LOOKED_INTO = 128
"""Bytes of what turned out to be no secret that are gone through again."""
_SENTENCE = b".:?;,)"
"""What may end a sentence or a command rather than the value before it."""
_AND = re.compile(rb"(?:&(?![\w.-]{0,40}=)[A-Za-z0-9_.~!@#%^*+/:?$-]*)+")
"""How a value goes on after an ampersand, unless that begins the next parameter of an address."""
_BEFORE = re.compile(rb"[A-Za-z0-9_.-]{0,40}\Z")
_PARTS = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NOT_ITSELF = frozenset(
    b"age algorithm arn at budget cache callback changed class context continuation count counts created cursor"
    b" dir enabled encoder error expiration expires expiry factory field file fingerprint foreign format function"
    b" handler hash hasher header help hint id idempotency ids in index input kind label len length lifetime limit"
    b" limits manager max method mgr min mixin ms name names next num output page partition path pattern policy"
    b" prefix primary prompt provider public ref regex required rule rules seconds size sort status store strategy"
    b" suffix timeout ttl type types updated uri url usage validator var version".split()
)
"""First or last in a name, these speak of a secret (``token_count``), or name what is none (``public_key``)."""


class Finding(NamedTuple):
    """A secret in a text."""

    start: int
    """Where it begins."""
    end: int
    """Where it ends."""
    rank: int
    """How specific the rule is that found it; less is more specific."""
    kind: str
    """Its type: the id of that rule."""


def scrub(text: bytes, rules: Rules) -> tuple[bytes, tuple[tuple[str, int], ...]]:
    """Return a text with a mark in place of each secret, and how many of each type there were, by name.

    A text without any comes back as the same object.
    """
    findings = find(text, rules)
    if not findings:
        return text, ()
    parts: list[bytes] = []
    at = 0
    for start, end, _, kind in findings:
        parts += text[at:start], mark(kind)
        at = end
    parts.append(text[at:])
    return b"".join(parts), tuple(sorted(Counter(finding.kind for finding in findings).items()))


def mark(kind: str) -> bytes:
    """What takes a secret's place."""
    return f"[secret: {kind}]".encode()


def find(text: bytes, rules: Rules, others: Iterable[Finding] = ()) -> list[Finding]:
    """The secrets of a text, in order, none over another; among them those that others found."""
    return merged([*_shaped(text, rules), *_placed(text, rules), *_named(text, rules), *others])


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in order, none over another: those that overlap are one, of the most specific type."""
    apart: list[Finding] = []
    for finding in sorted(findings):
        if apart and finding.start < apart[-1].end:
            best = min(apart[-1], finding, key=lambda either: either.rank)
            apart[-1] = best._replace(start=apart[-1].start, end=max(apart[-1].end, finding.end))
        else:
            apart.append(finding)
    return apart


def _shaped(text: bytes, rules: Rules) -> Iterator[Finding]:
    def judge(_: Match, group: int, start: int, end: int) -> Finding | None:
        rule, value = rules.shaped_rules[group - FIRST_GROUP], text[start:end]
        if rule.entropy and (entropy_bits(value) < rule.entropy or is_template(value)):
            return None
        return Finding(start, end, rule.rank, rule.id)

    return _findings(text, rules.shaped, judge)


def _placed(text: bytes, rules: Rules) -> Iterator[Finding]:
    def judge(_: Match, group: int, start: int, end: int) -> Finding | None:
        rule = rules.placed_rules[group - FIRST_GROUP]
        if rule.judge == "password":
            end = start + len(text[start:end].rstrip(_SENTENCE))
        good = _is_secret(rule, text[start:end], quoted=False, strong=True)
        return Finding(start, end, rule.rank, rule.id) if good else None

    return _findings(text, rules.placed, judge)


def _named(text: bytes, rules: Rules) -> Iterator[Finding]:
    def judge(match: Match, group: int, start: int, end: int) -> Finding | None:
        (began, word_end), (_, name_end) = (match.span(part) for part in NAME_GROUPS)
        before = _BEFORE.search(text, max(began - 40, 0), began)
        name = (before[0] if before else b"") + text[began:name_end]
        quoted = group != UNQUOTED_GROUP
        if not quoted:
            further = _AND.match(text, end)
            end = further.end() if further else start + len(text[start:end].rstrip(_SENTENCE))
        rule = _rule_of(text[began:word_end].lower(), name, text[start:end], quoted, rules)
        return Finding(start, end, rule.rank, rule.id) if rule else None

    return _findings(text, rules.named, judge)


def _findings(
    text: bytes, expression: Expression, judge: Callable[[Match, int, int, int], Finding | None]
) -> Iterator[Finding]:
    """What an expression matches and a judge takes for a secret, given the match and the group that holds the value.

    What follows a secret begins where it ends. Where there is none, a short match is gone through again, since another
    may be in it; a long one is not, or the time would not be in proportion to the text.
    """
    at = 0
    while (match := expression.search(text, at)) is not None:
        group = match.lastindex or 0
        began, _ = match.span()
        start, end = match.span(group)
        at = end
        if group < FIRST_GROUP:
            continue  # a mark
        finding = judge(match, group, start, end)
        if finding is not None:
            at = finding.end
            yield finding
        elif end - start <= _LOOKED_INTO:
            at = began + 1


def _rule_of(word: bytes, name: bytes, value: bytes, quoted: bool, rules: Rules) -> Rule | None:
    """The first rule by which a value behind a name is a secret; the word is what of the name matched."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    if not parts or not _NOT_ITSELF.isdisjoint((parts[0], parts[-1])):
        return None
    if word == b"pass" and b"pass" not in (parts[0], parts[-1]):
        return None  # a compass, a bypass
    strong = not word.startswith((b"token", b"credential"))
    for rule in rules.named_rules:
        if rule.words is None or not rule.words.fullmatch(word) or (rule.names and not rule.names.search(name)):
            continue
        if (rule.value is None or rule.value.fullmatch(value)) and _is_secret(rule, value, quoted, strong):
            return rule
    return None


def _is_secret(rule: Rule, value: bytes, quoted: bool, strong: bool) -> bool:
    if b"[secret" in value:  # as far as it goes: a mark has a blank and a colon, which may have ended the value
        return False
    match rule.judge:
        case "password":
            return is_password(value, quoted=quoted)
        case "key":
            return is_key(value, quoted=quoted, strong=strong)
        case "basic":
            return is_basic(value)
        case "url":
            return is_url_password(value)
        case _:
            return entropy_bits(value) >= rule.entropy and not is_placeholder(value)
