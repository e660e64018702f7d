"""Redacts secrets: replaces each in a text by a mark that names its type.

Scrubbing twice is scrubbing once: rules step over marks, and a value that holds one is no secret. What an allow list
names stays as it stands. Above this: `mnemic.runtime.secrets.secrets`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from mnemic.algorithms.secrets.rules import (
    FIRST_RULE_GROUP,
    MAX_SECRET_BYTES,
    NAME_GROUPS,
    UNQUOTED_GROUP,
    SecretRule,
    SecretRules,
    entropy_bits,
    is_apart,
    is_basic,
    is_clear,
    is_key,
    is_password,
    is_placeholder,
    is_said_password,
    is_setting,
    is_template,
    is_url_password,
)

_RESCAN_BYTES = 512
"""Bytes of what turned out to be no secret that are gone through again."""
_BESIDE_BYTES = 400
"""So much of a line is looked at for what must stand before or after a value."""
_SHELL_ARGUMENT = re.compile(rb"""("[^"\n]+"|'[^'\n]+'|[^\s"'`<>\\()\[\]|;&]+)""")
_QUOTES = b"\"'"
_ADDRESS_BYTES = 512
"""So much of an address is looked at behind its user."""
_ADDRESS_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]{1,24}://\Z")
_ADDRESS_USER = re.compile(rb"""[^\s:/?#@"'`<>\[\]\\]{0,64}:""")
_PASSWORD_AND_HOST = re.compile(
    rb"""([^\s/?#@"'`<>\[\]\\]{3,})@(?:\[[0-9A-Fa-f:.]{2,45}\]|[^\s:/?#@"'`<>\[\]\\]++)(?!@|:[^0-9])"""
)
_PASSWORD_WITH_SIGNS = re.compile(rb"""([^\s/?#"'`<>\[\]\\]{3,})@[A-Za-z0-9.\[-]""")
"""One that holds an at sign: up to the last before a path."""
_PASSWORD_WITH_SLASHES = re.compile(rb"""([^\s"'`<>\[\]\\]{3,})@[A-Za-z0-9.\[-]""")
_NO_PAGE = re.compile(
    rb"(?:postgres|postgresql|mysql|mariadb|mssql|sqlserver|oracle|mongodb|rediss?|valkey|amqps?|kafka|nats|clickhouse"
    rb"|cockroachdb|snowflake|neo4j|bolt|cassandra|ldaps?|smtps?|imaps?|s?ftps?|mqtts?)(?:\+[a-z0-9]+)?://"
)
"""Addresses of databases, brokers and mail: a slash may be part of the password there, not the beginning of a path."""
_PORT = re.compile(rb"[0-9]{1,5}(?:[/?#]|$)")
_HEADER = re.compile(rb"[\w \t.,;|/\"`-]+")
_COOKIE = re.compile(rb"([^\s;=]{1,64})=([^\s;]{16,})")
_SESSION = re.compile(rb"sess|sid|auth|token|jwt|csrf|xsrf|remember|login", re.IGNORECASE)
_KEY_LINE = re.compile(rb"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{16,}={0,2}(?:[^A-Za-z0-9+/=\[\]-]|\\[nrt]){1,12}\Z")
"""A line of a key that was printed, with what separates it from the next."""
_KEY_LINE_BYTES = 160
_MIN_KEY_END_BYTES = 100
"""The last line of a block and a line of its key have so many bytes at least."""
_SENTENCE = b".:?;,)"
"""What may end a sentence or a command rather than the value before it."""
_AMPERSAND_TAIL = re.compile(rb"(?:&(?![\w.-]{0,40}=)[A-Za-z0-9_.~!@#%^*+/:?$-]*)+")
"""How a value goes on after an ampersand, unless that begins the next parameter of an address."""
_BEFORE = re.compile(rb"[A-Za-z0-9_.-]{0,40}\Z")
_REST_OF_LINE = re.compile(rb"""["'`*_~]{0,3},?[ \t]{0,80}(?:\r?\n|\Z)""")
_SETTING_OR_PROMPT = re.compile(rb"[\w.@-]+(?::|=(?!=*\Z)|@[\w.-]+\Z)")
_ATTRIBUTE_END = re.compile(rb"""["']?(?:\]::?\Z|\s*>\s*</)""")
"""The name was the value of an attribute: a pseudo-class of CSS follows, or the end of the element."""
_STARS = re.compile(rb"([*_~]{1,3})(.+)\1", re.DOTALL)
_PARTS = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_METADATA_WORDS = frozenset(
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


def scrub(
    text: bytes, rules: SecretRules, allowed: re.Pattern[bytes] | None = None
) -> tuple[bytes, tuple[tuple[str, int], ...]]:
    """Return a text with a mark in place of each secret, and how many of each type there were, by name.

    A text without any comes back as the same object. A mark may cut an allowed text that overlaps it, or change what
    stands around one; a text in which that happens twice is scrubbed without the allow list at last, so that scrubbing
    it again finds nothing.

    Args:
        allowed: an expression for texts that are no secrets; a finding within one is left.
    """
    kinds: Counter[str] = Counter()
    for spared in (allowed, allowed, None) if allowed else (None,):
        findings = _outside_allowed(text, find_secrets(text, rules), spared)
        if not findings:
            break
        text = _replaced(text, findings)
        kinds.update(finding.kind for finding in findings)
    return text, tuple(sorted(kinds.items()))


def _replaced(text: bytes, findings: Iterable[Finding]) -> bytes:
    """A text with marks in place of findings, which come in order and apart."""
    parts: list[bytes] = []
    at = 0
    for start, end, _, kind in findings:
        parts += text[at:start], redaction_mark(kind)
        at = end
    parts.append(text[at:])
    return b"".join(parts)


def _outside_allowed(text: bytes, findings: list[Finding], allowed: re.Pattern[bytes] | None) -> list[Finding]:
    """The findings that do not lie within an allowed text."""
    if allowed is None or not findings:
        return findings
    starts: list[int] = []
    ends = [0]
    while (match := allowed.search(text, ends[-1])) is not None:
        starts.append(match.start())
        ends.append(match.end())
    return [finding for finding in findings if ends[bisect_right(starts, finding.start)] < finding.end]


def redaction_mark(kind: str) -> bytes:
    """What takes a secret's place."""
    return f"[secret: {kind}]".encode()


def find_secrets(text: bytes, rules: SecretRules) -> list[Finding]:
    """Find the secrets of a text, in order, none over another."""
    columns: list[_Column] = []
    found = [
        *_find_shaped(text, rules),
        *_find_addresses(text, rules),
        *_find_placed(text, rules, columns),
        *_find_named(text, rules),
    ]
    return _merge_overlapping([*found, *_find_in_columns(text, columns, found)])


def _merge_overlapping(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in order, none over another: those that overlap are one, of the most specific type."""
    apart: list[Finding] = []
    for finding in sorted(findings):
        if apart and finding.start < apart[-1].end:
            best = min(apart[-1], finding, key=lambda either: either.rank)
            apart[-1] = best._replace(start=apart[-1].start, end=max(apart[-1].end, finding.end))
        else:
            apart.append(finding)
    return apart


def _find_shaped(text: bytes, rules: SecretRules) -> Iterator[Finding]:
    def judge(_: re.Match[bytes], group: int, start: int, end: int) -> Sequence[Finding]:
        rule, value = rules.shaped_rules[group - FIRST_RULE_GROUP], text[start:end]
        if rule.entropy and (entropy_bits(value) < rule.entropy or is_template(value)):
            return ()
        if rule.value is not None and not rule.value.fullmatch(value):
            return ()
        return (Finding(start, end, rule.rank, rule.id),)

    return _findings(text, rules.shaped, judge)


def _find_addresses(text: bytes, rules: SecretRules) -> Iterator[Finding]:
    """The passwords of addresses. Each is looked at apart: what waits for an at sign holds up all other rules."""
    rule, at = rules.address_rule, 0
    while rule is not None and (at := text.find(b"://", at) + 3) > 2:
        scheme, user = _ADDRESS_SCHEME.search(text, max(at - 28, 0), at), _ADDRESS_USER.match(text, at)
        if scheme is None or user is None:
            continue
        low, high = user.end(), user.end() + _ADDRESS_BYTES
        found = _PASSWORD_AND_HOST.match(text, low, high) or _PASSWORD_WITH_SIGNS.match(text, low, high)
        if found is None and _NO_PAGE.match(scheme[0]) and not _PORT.match(text, low):
            found = _PASSWORD_WITH_SLASHES.match(text, low, high)
        if found is not None and _is_secret(rule, found[1], quoted=False, strong=True):
            at = found.end(1)
            yield Finding(*found.span(1), rule.rank, rule.id)


def _find_placed(text: bytes, rules: SecretRules, columns: list[_Column]) -> Iterator[Finding]:
    """What is known by its place; columns of tables that hold secrets are only noted."""

    def judge(match: re.Match[bytes], group: int, start: int, end: int) -> Sequence[Finding]:
        rule = rules.placed_rules[group - FIRST_RULE_GROUP]
        if rule.before is not None and not rule.before.search(_line_before(text, match.span()[0], start)):
            return ()
        if rule.is_argument:
            argument = _SHELL_ARGUMENT.match(text, start, start + MAX_SECRET_BYTES)
            start, end = argument.span() if argument else (start, start)
        if rule.value_check == "column":
            columns.append(_Column(start, text[match.span()[0] : match.span()[0] + 1], rule))
            return ()
        if rule.value_check == "cookies":
            return [Finding(*cookie, rule.rank, rule.id) for cookie in _session_cookies(text, start, end)]
        if rule.value_check == "key-end":
            start = _key_start(text, start)
            return (Finding(start, end, rule.rank, rule.id),) if end - start >= _MIN_KEY_END_BYTES else ()
        if rule.after is not None and not rule.after.match(text, end, end + _BESIDE_BYTES):
            return ()
        quoted = end - start > 1 and text[start] in _QUOTES and text[start] == text[end - 1]
        if quoted:
            start, end = start + 1, end - 1
        elif rule.value_check in ("password", "said"):
            end = start + len(text[start:end].rstrip(_SENTENCE))
        good = _is_secret(rule, text[start:end], quoted=quoted, strong=True)
        return (Finding(start, end, rule.rank, rule.id),) if good else ()

    return _findings(text, rules.placed, judge)


class _Column(NamedTuple):
    """A column of a table by its name."""

    start: int
    """Where the name stands."""
    delimiter: bytes
    rule: SecretRule


def _find_in_columns(text: bytes, columns: list[_Column], found: list[Finding]) -> Iterator[Finding]:
    """The secrets in columns, each up to the first line that is none of its table or holds another finding.

    Had it gone on behind that, a table might be longer once the finding is a mark, and scrubbing twice would find more.
    """
    starts, seen = sorted(finding.start for finding in found) if columns else [], 0
    for name, delimiter, rule in columns:
        low = max(name - MAX_SECRET_BYTES, 0)
        began, at = text.rfind(b"\n", low, name) + 1, text.find(b"\n", name, name + MAX_SECRET_BYTES) + 1
        if began < seen or not at or (low and not began):
            continue
        header = text[began : at - 1].strip(b" |\r" if delimiter == b"|" else b"\r")
        if not _HEADER.fullmatch(header) or not all(cell.strip() for cell in header.split(delimiter)):
            continue
        index, width = text.count(delimiter, began, name), text.count(delimiter, began, at)
        while at:
            line, row = text[at : at + MAX_SECRET_BYTES].partition(b"\n")[0], at
            if line.count(delimiter) != width or b"[secret" in line:
                break
            if bisect_left(starts, row) != bisect_left(starts, row + len(line)):
                break
            cell = line.split(delimiter)[index]
            value = cell.strip(b' \t\r"`')
            if is_password(value, quoted=True):
                start = row + sum(map(len, line.split(delimiter)[:index])) + index + cell.index(value)
                yield Finding(start, start + len(value), rule.rank, rule.id)
            at = text.find(b"\n", row) + 1
        seen = at or len(text)


def _find_named(text: bytes, rules: SecretRules) -> Iterator[Finding]:
    def judge(match: re.Match[bytes], group: int, start: int, end: int) -> Sequence[Finding]:
        (began, word_end), (_, name_end) = (match.span(part) for part in NAME_GROUPS)
        before = _BEFORE.search(text, max(began - 40, 0), began)
        name = (before[0] if before else b"") + text[began:name_end]
        between = text[name_end:start]
        if _ATTRIBUTE_END.match(between):
            return ()
        if b"\n" in between and b"</" not in between and not _is_alone(text, start, end):
            return ()
        quoted = group != UNQUOTED_GROUP
        if not quoted:
            further = _AMPERSAND_TAIL.match(text, end)
            end = further.end() if further else start + len(text[start:end].rstrip(_SENTENCE))
            start, end = _without_stars(text, start, end)
        if is_apart(between) and (name.lower() == b"pass" or not is_clear(text[start:end])):
            return ()
        rule = _rule_of(text[began:word_end].lower(), name, text[start:end], quoted, rules)
        return (Finding(start, end, rule.rank, rule.id),) if rule else ()

    return _findings(text, rules.named, judge)


def _is_alone(text: bytes, start: int, end: int) -> bool:
    """Whether a value is all there is on its line, and is no line of a file of settings, prompt or address of mail."""
    rest = _REST_OF_LINE.match(text, end)
    return rest is not None and _SETTING_OR_PROMPT.match(text, start, end) is None


def _without_stars(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Where a value lies within what Markdown puts around it."""
    stars = _STARS.fullmatch(text, start, end)
    return stars.span(2) if stars else (start, end)


def _line_before(text: bytes, began: int, at: int) -> bytes:
    """A text from the beginning of a line, or some hundred bytes before a place in it, up to another place."""
    low = max(began - _BESIDE_BYTES, 0)
    return text[max(low, text.rfind(b"\n", low, began) + 1) : at]


def _session_cookies(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """From where to where the values of cookies reach whose names speak of a session."""
    for cookie in _COOKIE.finditer(text, start, end):
        if _SESSION.search(cookie[1]) and b"[secret" not in cookie[2] and is_key(cookie[2], quoted=True, strong=True):
            yield cookie.span(2)


def _key_start(text: bytes, at: int) -> int:
    """Where the lines of a key begin that end at a place."""
    start = at
    while (line := _KEY_LINE.search(text, max(start - _KEY_LINE_BYTES, 0), start)) is not None:
        start = line.start()
    return start


def _findings(
    text: bytes, expression: re.Pattern[bytes], judge: Callable[[re.Match[bytes], int, int, int], Sequence[Finding]]
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
        if group < FIRST_RULE_GROUP:
            continue  # a mark
        findings = judge(match, group, start, end)
        for finding in findings:
            at = finding.end
            yield finding
        if not findings and end - began <= _RESCAN_BYTES:
            at = began + 1


def _rule_of(word: bytes, name: bytes, value: bytes, quoted: bool, rules: SecretRules) -> SecretRule | None:
    """The first rule by which a value behind a name is a secret; the word is what of the name matched."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    if parts and not _METADATA_WORDS.isdisjoint((parts[0], parts[-1])):
        return None
    if (word == b"pass" and word not in (parts[0], parts[-1])) or (word == b"pw" and word != parts[-1]):
        return None  # a compass, a bypass; of an account, as C has it, `pw_name` and `pw_shell` are fields
    strong = not word.startswith((b"token", b"credential"))
    for rule in rules.named_rules:
        if rule.words is None or not rule.words.fullmatch(word) or (rule.names and not rule.names.search(name)):
            continue
        if (rule.value is None or rule.value.fullmatch(value)) and _is_secret(rule, value, quoted, strong):
            return rule
    return None


def _is_secret(rule: SecretRule, value: bytes, quoted: bool, strong: bool) -> bool:
    if b"[secret" in value:  # as far as it goes: a mark has a blank and a colon, which may have ended the value
        return False
    match rule.value_check:
        case "password":
            return is_password(value, quoted=quoted)
        case "setting":
            return is_setting(value)
        case "said":
            return is_said_password(value)
        case "key":
            return is_key(value, quoted=quoted, strong=strong)
        case "basic":
            return is_basic(value)
        case "url" | "address":
            return is_url_password(value)
        case _:
            return entropy_bits(value) >= rule.entropy and not is_placeholder(value)
