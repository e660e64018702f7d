"""Redacts secrets: replaces each in a text by a mark that names its type, and drops what is marked as private.

Scrubbing twice is scrubbing once. Our own rules step over marks, and a value that holds one is no secret. Rules of
others know nothing of marks, so for them a text is taken as the pieces between its marks, each as if it were a text of
its own; what is left of a piece is pieces again, and they are gone through until nothing is found in any. A rule that
begins at the boundary of a word, and ends anywhere, finds the next secret only when the one before it is gone; a row of
such is not followed for ever, or the time would not be in proportion to the text: after some rounds the whole word is
taken, then the whole line, at last the whole piece.

Of ``<private>…</private>`` everything goes, tags included, and nothing takes its place. Where the marking leaves a
choice, more is dropped rather than less: a word too few can be said again, a word too many stays on a disk.

* Nested tags reach to the outermost end; one that is never closed, to the end of the text.
* Inside of quotes and code blocks the tags mean what they mean elsewhere: that is where people paste what is private.
* A tag alone between two backticks is a text that speaks of the tag, as this one does in Markdown.
* A closing tag that closes nothing stays as it is.

Above this: `mnemic.runtime.secrets.secrets`.
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
    REDACTION_MARK,
    UNQUOTED_GROUP,
    CompiledRegex,
    Match,
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


def scrub(text: bytes, rules: SecretRules) -> tuple[bytes, tuple[tuple[str, int], ...]]:
    """Return a text with a mark in place of each secret, and how many of each type there were, by name.

    A text without any comes back as the same object.
    """
    findings = find_secrets(text, rules)
    if not findings:
        return text, ()
    parts: list[bytes] = []
    at = 0
    for start, end, _, kind in findings:
        parts += text[at:start], redaction_mark(kind)
        at = end
    parts.append(text[at:])
    return b"".join(parts), tuple(sorted(Counter(finding.kind for finding in findings).items()))


def redaction_mark(kind: str) -> bytes:
    """What takes a secret's place."""
    return f"[secret: {kind}]".encode()


def find_secrets(text: bytes, rules: SecretRules, others: Iterable[Finding] = ()) -> list[Finding]:
    """The secrets of a text, in order, none over another; among them those that others found."""
    columns: list[_Column] = []
    found = [
        *_find_shaped(text, rules),
        *_find_addresses(text, rules),
        *_find_placed(text, rules, columns),
        *_find_named(text, rules),
        *others,
    ]
    return merge_overlapping([*found, *_find_in_columns(text, columns, found)])


def merge_overlapping(findings: Iterable[Finding]) -> list[Finding]:
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
    def judge(_: Match, group: int, start: int, end: int) -> Sequence[Finding]:
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

    def judge(match: Match, group: int, start: int, end: int) -> Sequence[Finding]:
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
    def judge(match: Match, group: int, start: int, end: int) -> Sequence[Finding]:
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
    text: bytes, expression: CompiledRegex, judge: Callable[[Match, int, int, int], Sequence[Finding]]
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


_MARK = re.compile(b"(" + REDACTION_MARK + b")")
_WORD, _LINE = re.compile(rb"\S+"), re.compile(rb"[^\n]+")
_WORD_ROUND, _LINE_ROUND, _PIECE_ROUND = 6, 8, 10
"""From which round on what is taken. Of 4,000 texts made of pieces of gitleaks' own 222 rules none needed a fourth."""


def split_at_marks(text: bytes) -> list[bytes]:
    """A text, cut at its marks: text, mark, text, and so on; the texts may be empty."""
    return _MARK.split(text) if b"[secret: " in text else [text]


def scrub_pieces(
    text: bytes, cut: list[bytes], find: Callable[[bytes], list[Finding]]
) -> tuple[bytes, tuple[tuple[str, int], ...]]:
    """Return a text with a mark in place of each secret, and how many of each type there were, by name.

    A text without any comes back as the same object.

    Args:
        cut: the text, as `split_at_marks` cuts it.
        find: the secrets of a piece, in order, none empty, none over another. It sees nothing but the piece, and is
            asked eleven times at most about any byte.
    """
    left: list[bytes] = []
    kinds: Counter[str] = Counter()

    def clean(piece: bytes, round: int) -> None:
        at = 0
        for start, end, _, kind in _widen(piece, find(piece) if piece else [], round):
            clean(piece[at:start], round + 1)
            left.append(redaction_mark(kind))
            kinds[kind] += 1
            at = end
        if at:
            clean(piece[at:], round + 1)
        else:
            left.append(piece)

    for number, piece in enumerate(cut):
        if number % 2:
            left.append(piece)
        else:
            clean(piece, 0)
    return (b"".join(left), tuple(sorted(kinds.items()))) if kinds else (text, ())


def _widen(piece: bytes, found: list[Finding], round: int) -> Iterable[Finding]:
    """What is found, up to where words, lines or the piece end where rounds before have not come to an end."""
    if not found or round < _WORD_ROUND:
        return found
    stretches = _WORD if round < _LINE_ROUND else _LINE if round < _PIECE_ROUND else None
    cuts = [0, *(end for match in stretches.finditer(piece) for end in match.span())] if stretches else [0]
    cuts.append(len(piece))
    return merge_overlapping(
        finding._replace(
            start=cuts[bisect_right(cuts, finding.start) - 1],
            end=cuts[bisect_left(cuts, finding.end)],
        )
        for finding in found
    )


_TAG = re.compile(rb"<\s{0,8}(/?)\s{0,8}private(?:\s[^<>]{0,80})?>", re.IGNORECASE)
_MAX_TAG_BYTES = 112
"""Bytes that a tag can have, rounded up."""


def drop_private(text: bytes) -> tuple[bytes, int]:
    """Return what is left of a text and how many stretches were dropped; the text itself where none was.

    Linear in the text. Dropping twice is dropping once: where a drop brings together two halves that make an opening
    tag, that tag opens.
    """
    opening = _opening(text, 0)
    if opening is None:
        return text, 0
    kept, count, at = bytearray(), 0, 0
    while opening is not None:
        kept += text[at : opening.start()]
        count += 1
        at = _closed(text, opening.end())
        while (seam := _tag_across(kept, text, at)) is not None:
            start, end = seam
            del kept[start:]
            at = _closed(text, end)
        opening = _opening(text, at)
    kept += text[at:]
    return bytes(kept) if kept.strip() else b"", count


def _opening(text: bytes, at: int) -> re.Match[bytes] | None:
    """The next opening tag."""
    return next((tag for tag in _TAG.finditer(text, at) if not tag[1] and not _named_private(text, tag)), None)


def _closed(text: bytes, at: int) -> int:
    """Where the stretch ends whose opening tag ends at a place."""
    depth = 1
    for tag in _TAG.finditer(text, at):
        if _named_private(text, tag):
            continue
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end()
    return len(text)


def _tag_across(kept: bytearray, text: bytes, at: int) -> tuple[int, int] | None:
    """An opening tag that begins at the end of what is kept and ends in what follows: from where, up to where."""
    left = bytes(kept[-_MAX_TAG_BYTES:])
    both = left + text[at : at + _MAX_TAG_BYTES]
    for tag in _TAG.finditer(both):
        if tag.start() < len(left) < tag.end() and not tag[1] and not _named_private(both, tag):
            return len(kept) - len(left) + tag.start(), at + tag.end() - len(left)
    return None


def _named_private(text: bytes, tag: re.Match[bytes]) -> bool:
    """Whether a tag stands alone between backticks."""
    before = text[max(tag.start() - 1, 0) : tag.start()]
    return before == b"`" == text[tag.end() : tag.end() + 1]
