"""Compiles our rules for secrets into three regular expressions, each run once over a text, and judges what they find.

All rules of a kind become one expression, so that a text is gone through three times however many rules there are: for
what has a shape of its own (an issuer's prefix), for what is known by its place (a password behind an option), and for
what stands behind a name (``token = …``). The syntax is RE2's, on single bytes: no looking ahead, no going back, and so
no text that takes longer than its length. In each the first alternative is a mark that stands for a secret already: it
is stepped over as a whole, ends nothing and begins nothing.

A name such as ``token`` is followed by secrets, and far more often by a type, a variable, a path or a placeholder. What
tells them apart is looked for in the value alone: its letters and digits, how evenly they are used, and the forms in
which programs and their documentation write what is no secret. Above: `mnemic.algorithms.secrets.scrub`.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NoBase64
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log2
from typing import Any, NamedTuple

REDACTION_MARK = rb"\[secret: [a-z0-9-]{1,60}\]"
"""What stands for a secret that was taken out."""
_SHAPED_RANK, _GENERIC_RANK, _PLACED_RANK, _NAMED_RANK = range(4)
"""How specific a type is, by where its rule comes from; less is more specific."""
DEFAULT_ENTROPY = 2.5
"""Bits a character that a shape must have. Random hexadecimal digits have 3.2 and more, ``0123012301230123`` has 2."""


CompileRegex = Callable[[bytes], re.Pattern[bytes]]
"""Compiles an expression in RE2's syntax on single bytes. RE2's expressions have the methods of Python's, and take time
in proportion to the text."""


class SecretRule(NamedTuple):
    """What is asked of a value that an expression found."""

    id: str
    """The type of secret."""
    rank: int
    """How specific it is; less is more specific."""
    value_check: str
    """Which question: ``password``, ``setting``, ``said``, ``key``, ``basic``, ``url``, ``entropy``; or what the
    value is part of: ``address``, ``column``, ``cookies``, ``key-end``."""
    entropy: float
    """Bits a character that it has at least."""
    words: re.Pattern[bytes] | None = None
    """What the word of its name must be."""
    names: re.Pattern[bytes] | None = None
    """What must be in its whole name."""
    value: re.Pattern[bytes] | None = None
    """What it must be itself."""
    is_argument: bool = False
    """Whether the group of its expression is its first character alone."""
    before: re.Pattern[bytes] | None = None
    """What must stand before it on the line where the expression began to match."""
    after: re.Pattern[bytes] | None = None
    """What must follow it."""


class SecretRules(NamedTuple):
    """Rules, compiled. Each alternative of `shaped` and `placed` is a group: the secret, from `FIRST_RULE_GROUP` on."""

    shaped: re.Pattern[bytes]
    shaped_rules: Sequence[SecretRule]
    placed: re.Pattern[bytes]
    placed_rules: Sequence[SecretRule]
    named: re.Pattern[bytes]
    named_rules: Sequence[SecretRule]
    address_rule: SecretRule | None
    """What the password of an address is called; without it none is looked for."""


FIRST_RULE_GROUP = 2
"""The group of the first rule; what comes before it is the mark."""
NAME_GROUPS = 2, 3
"""In `SecretRules.named`: the word, and what of the name follows it."""
UNQUOTED_GROUP = 7
"""In `SecretRules.named`: a value without quotes; the groups before and after it hold what is quoted."""


def compile_rules(data: Mapping[str, Any], compile: CompileRegex) -> SecretRules:
    """Make rules of their data: lists of tables ``shaped``, ``placed`` and ``named``, as rules.toml explains them.

    Raises:
        KeyError: a rule lacks a part that it must have.
    """
    placed, named = data["placed"], data["named"]
    shaped = sorted(data["shaped"], key=lambda rule: not rule.get("anywhere"))
    addresses = [_rule(rule, _PLACED_RANK) for rule in placed if "pattern" not in rule]
    placed = [rule for rule in placed if "pattern" in rule]
    words = "|".join(word for rule in named for word in rule["words"]).encode()
    return SecretRules(
        compile(_either(_shaped(shaped))),
        [_rule(rule, _GENERIC_RANK if rule.get("generic") else _SHAPED_RANK) for rule in shaped],
        compile(_either(rule["pattern"].encode().replace(b"{value}", _ARGUMENT_BEGINS) for rule in placed)),
        [_rule(rule, _PLACED_RANK) for rule in placed],
        compile(_either([_assignment(words)])),
        [_rule(rule, _NAMED_RANK + rank) for rank, rule in enumerate(named)],
        addresses[0] if addresses else None,
    )


_MOST_WILD = 255
"""Characters that a ``*`` of the allow list stands for: as many as the longest tokens have."""


def compile_allowed(texts: Iterable[str], compile: CompileRegex) -> re.Pattern[bytes] | None:
    """Make an expression for the texts of an allow list; ``*`` in one is letters, digits, ``_``, ``-`` and stars."""
    wild = b"[A-Za-z0-9_*-]{1,%d}" % _MOST_WILD
    given = sorted((text.encode() for text in texts), key=len, reverse=True)
    return compile(b"|".join(wild.join(map(re.escape, text.split(b"*"))) for text in given)) if given else None


def _other_than(word: bytes) -> bytes:
    """An expression for anything that does not begin with a word."""
    first, rest = re.escape(word[:1]), word[1:]
    return b"(?:$|[^" + first + b"]" + (b"|" + first + _other_than(rest) if rest else b"") + b")"


_LEAD = rb"(?:^|[^A-Za-z0-9_]|\\[nrtfv]|\x1b\[[0-9;]{0,12}m|%[0-9A-Fa-f]{2})"
"""What may stand before a secret: no part of a word, unless that is an escape sequence of a string, a terminal or an
address."""
_TRAIL = rb"(?:$|[^A-Za-z0-9_\[]|\[" + _other_than(b"secret: ") + rb")"
"""What may stand after it: no part of a word, and no mark."""
_CLOSE = rb"""(?:\\{0,3}["'`])?\]?"""
_BLANK = "(?:[ \t]|\u00a0|\u202f|\u3000|&nbsp;)".encode()
_TAG = rb"<[A-Za-z/][^<>\[\n]{0,60}>"
_STYLE = rb"(?:\x1b|\\(?:x1b|u001b|033|e))\[[0-9;]{0,12}m|\[/?[a-z]{1,8}\]|" + _TAG
"""How something is shown: a terminal's colours, BBCode, HTML."""
_STYLED = rb"(?:" + _BLANK + rb"{0,2}(?:[*_~]{1,3}|" + _STYLE + rb")){0,3}"
"""Markup that may follow a name."""
_STYLING = rb"(?:(?:[*_~]{1,3}" + _BLANK + rb"|" + _STYLE + rb")" + _BLANK + rb"{0,2}){0,3}"
"""Markup that may stand before a value, but for stars right before it, which it may begin with."""
_VERB = "(?:is|was|are|be|ist|war|lautet|hei(?:ß|ss)t|sei|est|c'est|es|è|é|jest|är|er|это|це|—)".encode()
_OF = (
    "(?:for|of|to|on|at|from|für|fuer|fürs|für's|von|vom|zu|zum|zur|des|der|im|auf|beim|pour|de|du|à|au|del|para|en|el"
    "|di|della|per|al|do|da|no|na|voor|van|op|dla|od|w|till|för|på|til|от|для|до|к|на)"
)
_WHOSE = (
    f"(?:[ \t]{{1,2}}(?:(?:{_OF}[ \t]|(?:d|dell|all)')"
    "(?:'[^'\\n]{1,80}'|(?:[^\\n=;:.!?'\"]|[.][^\\s]|'[a-z]){1,50}?)|should|must|will|shall)|'s)?"
).encode()
"""Of what a sentence says that it is the secret."""
_SEPARATOR = b"|".join(
    [
        _BLANK + rb"{0,8}(?::[ \t]{0,2}[A-Za-z_.&'|?]{1,24}[ \t]{0,2}=|=>|:=|\?=|={1,3}|:|>|"
        + "：|＝|(?:是|为|為|は|는|은)(?::|：)?)".encode() + _BLANK + b"{0,8}",
        _WHOSE + rb"(?:[ \t]" + _VERB + rb"[ \t]?:?|(?:[ \t]\[[^\]\n:]{1,40}\]|[ \t]\([^()\n]{1,40}\))?:)[ \t]{1,2}",
        rb"[ \t](?:from|von)[ \t]{1,2}",
        rb"[ \t](?:do|dla|od)[ \t][^\n=:;.!?]{1,40}?[ \t]to[ \t]{1,2}",  # Polish; in English "to" says nothing
        _BLANK + "{1,3}(?:-|–|—|→|-{1,2}>)".encode() + _BLANK + b"{1,3}",
        rb":?[ \t]{1,16}\|[ \t]{1,16}",
        rb"(?:\s{0,12}" + _TAG + rb"){2,4}\s{0,12}",
        "(?::|：)".encode() + rb"[*_~]{0,3}[ \t]{0,4}(?:[>|][+-]?)?(?:\r?\n[ \t]{0,24}){1,2}(?:```[a-z]{0,10}\r?\n)?",
    ]
)  # fmt: skip
"""What stands between a name and its value; a type may be among it, or the words of a sentence."""
_SCHEME = rb"(?:(?i:bearer|basic|token|bot|apikey)[ \t]{1,4})?"
_QUOTED = b"|".join(
    rb"(?:\\{0,3}|[bu])Q((?:[^Q\\\s]|\\[^Q\\\snrt]){6,})\\{0,3}Q".replace(b"Q", quote) for quote in (b'"', b"'", b"`")
)
_PRINT_QUOTE = "(?:‘|’|‚|“|”|„|‹|「|«|»)".encode()
_OPEN = rb"(?:[*_~]{0,3}" + _PRINT_QUOTE + _BLANK + rb"?)?"
_UNQUOTED = rb"((?:[A-Za-z0-9_.~!@#%^*+/:?$-]|\xc3[\x80-\xbf]){6,}={0,2})(?:$|[^A-Za-z0-9_.~!@#%^*+/:?$=\[({-])"
"""It ends where no more of it can follow; before a bracket it would be a call or an index."""
_ARGUMENT = rb"""["'][ \t]{0,4},[ \t]{0,4}["']([^"'\s\\]{6,})["']"""
"""The next argument of a call: ``setenv("TOKEN", "…")``."""


_ARGUMENT_BEGINS = rb"""([^\s<>()\[\]|;&`\\])"""
"""What ``{value}`` stands for: of an argument the first character alone. How far it goes, `scrub` looks up; a hundred
characters asked for in each of twenty rules would be as many states."""


def _shaped(rules: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    """Expressions for shapes, those that may stand anywhere first.

    What must stand around the others is spelt once for all: RE2 takes time for each state when it has found something.
    """
    patterns = [b"(" + rule["pattern"].encode() + b")" for rule in rules]
    anywhere = sum(rule.get("anywhere", False) for rule in rules)
    yield from patterns[:anywhere]
    yield _LEAD + b"(?:" + b"|".join(patterns[anywhere:]) + b")" + _TRAIL


def _assignment(words: bytes) -> bytes:
    name = rb"((?i:" + words + rb"))([0-9]{0,3}(?:[_.-][A-Za-z0-9_.-]{0,24}|[A-Z][A-Za-z0-9]{0,24})?)"
    between = _CLOSE + _STYLED + b"(?:" + _SEPARATOR + b")" + _STYLING + _SCHEME
    value = between + b"(?:" + _QUOTED + b"|" + _OPEN + _UNQUOTED + b")"
    return name + b"(?:" + value + b"|" + _ARGUMENT + b")"


def _either(patterns: Iterable[bytes]) -> bytes:
    return b"|".join([b"(" + REDACTION_MARK + b")", *patterns])


def _rule(data: Mapping[str, Any], rank: int) -> SecretRule:
    def compiled(pattern: str | None) -> re.Pattern[bytes] | None:
        return None if pattern is None else re.compile(pattern.encode())

    words = data.get("words")
    return SecretRule(
        id=data["id"],
        rank=rank,
        value_check=data.get("judge", "entropy"),
        entropy=float(data.get("entropy", DEFAULT_ENTROPY)),
        words=None if words is None else re.compile(f"(?i:{'|'.join(words)})".encode()),
        names=compiled(data.get("names")),
        value=compiled(data.get("value")),
        is_argument="{value}" in data.get("pattern", ""),
        before=compiled(data.get("before")),
        after=compiled(data.get("after")),
    )


MAX_SECRET_BYTES = 4096
"""Bytes of a password or key; what is longer behind a name is content, not a secret."""
MIN_KEY_BYTES = 16
MIN_MIXED_KEY_BYTES = 12
"""Of one in quotes that has letters of both cases, digits and signs."""
MIN_KEY_ENTROPY = 3.0
"""Bits a character. Sixteen random hexadecimal digits have 3.2 on average, words of a language as long below 3.4."""

_UUID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_WORDS = re.compile(rb"[A-Za-z]+(?:[ _.:/-]{1,2}[A-Za-z]+)*[_.:-]?[0-9]{0,4}[!?.]?")
"""Words and perhaps a number: how people name things."""
_PATH = re.compile(rb"(?:\.{1,2}|~)/|/(?:bin|dev|etc|home|mnt|opt|proc|root|run|srv|tmp|usr|var|Users)/|[A-Za-z]:[\\/]")
_FILE = re.compile(
    rb"[\w.@/+-]*\.(?:[ch]|cc|cert?|cfg|com|conf|cpp|crt|css?|csv|db|de|dev|env|gpg|go|html?|ini|io|java|jks|js|json|jsx|key"
    rb"|kt|local|lock|log|lua|md|net|org|pem|pfx|php|pl|properties|pub|py|rb|rs|rst|sh|sql|sqlite|svg|swift|toml|tsx?|txt"
    rb"|vue|xml|ya?ml)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    rb"\$|%\w+%|%[(\w]|\{|<|@\w+@|[a-z]{2,10}://|arn:|op:|env[:.]|os\.|process\.|secrets?\.|vault:|data:"
    rb"|(?:sha[0-9]{1,3}|md5)[:-]|[*&](?:const|mut|str)\b"
)
"""How a value begins that says where the secret is to be found, or that is a digest."""
_PLACEHOLDER = re.compile(
    rb"example|placeholder|change.?(?:me|it)|your.?(?:own|api|key|token|secret|pass|db|app|client|access|[a-z]+.?here)"
    rb"|dummy|redacted|censored|sample|x{4}|\*{3}|\.{3}|<[a-z]|12345678|abcdefgh|00000000|insert.|replace.|not.?a.?real",
    re.IGNORECASE,
)
_TYPE = re.compile(rb"[A-Za-z]\w*\([0-9, ]*\)")
"""A type of a database, or a call."""
_SECRET_WORD = re.compile(rb"pass|pwd|secret|token|key|hash|cred", re.IGNORECASE)
_RUN = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ATTRIBUTE = re.compile(rb"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]+[0-9]{0,2})+")
"""Something of an object or a module."""
_NAMED_METHOD = re.compile(
    rb"aes-?[0-9]|argon|base64|bcrypt|ed25519|hmac|md5|oauth|pbkdf|scrypt|sha-?[0-9]|utf|x509|http", re.IGNORECASE
)
"""What texts about passwords name right behind the word."""
_SHOWN = re.compile(_STYLE + b"|" + _BLANK + b"|" + _PRINT_QUOTE + rb"|[*_~`\"'\\]")
_APART_ENDS = tuple(sign.encode() for sign in ("\n", "|", "-", "->", "–", "—", "→"))
_NO_CLEAR_VALUE = re.compile(rb"v?[0-9]+\.[0-9]|[0-9]{4}-[0-9]{2}-|[a-z][a-z0-9]*(?:_[a-z0-9]+)+\Z")
"""A version, a date, an identifier."""
_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset(b"0123456789")
_UPPER, _LOWER = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"), frozenset(b"abcdefghijklmnopqrstuvwxyz")
_SIGNS = frozenset(b"!@#$%^&*?~+=")
_DEFAULTS = {b"password", b"passwd", b"pass", b"secret", b"postgres", b"root", b"admin", b"guest", b"123456"}
"""Passwords that are the same everywhere."""


def entropy_bits(value: bytes) -> float:
    """Shannon's entropy of a value's bytes, bits a byte."""
    if not value:
        return 0.0
    size = len(value)
    return log2(size) - sum(count * log2(count) for count in Counter(value).values()) / size


def is_placeholder(value: bytes) -> bool:
    """Whether a value says itself that it stands for another."""
    return len(set(value)) < 4 or _PLACEHOLDER.search(value) is not None or value.lower() in _DEFAULTS


def is_template(value: bytes) -> bool:
    """Whether something with the shape of a secret is one that documentation shows."""
    return value.endswith(b"EXAMPLE") or b"XXXX" in value.upper()


def is_password(value: bytes, *, quoted: bool) -> bool:
    """Whether a value behind the name of a password may be one.

    It has letters or signs as well as digits, or digits alone, six at least; letters alone are a word of a form or a
    type as often. Unquoted, something that looks like a variable named after a password is taken for that.
    """
    if not _has_plausible_length(value, 6):
        return False
    if not (_has(_DIGITS, value) or (_has(_LETTERS, value) and _has(_SIGNS, value)) or _is_jumbled(value)):
        return False
    if _FILE.fullmatch(value) or _TYPE.fullmatch(value):
        return False
    attribute = _ATTRIBUTE.fullmatch(value) and not value[:1].isupper()
    return quoted or not (value[0] == 0x40 or attribute or _is_secret_name(value))


def is_setting(value: bytes) -> bool:
    """Whether a value in the environment may be a password: nothing is computed there, so it is no attribute."""
    return is_password(value, quoted=True) and not _is_secret_name(value)


def is_said_password(value: bytes) -> bool:
    """Whether a word right behind the word for a password may be one: letters of both cases or signs, and digits."""
    if (
        len(value) < 8
        or not is_password(value, quoted=False)
        or not _has(_DIGITS, value)
        or _NAMED_METHOD.search(value)
    ):
        return False
    return _has(_SIGNS, value) or (_has(_UPPER, value) and _has(_LOWER, value))


def is_key(value: bytes, *, quoted: bool, strong: bool = False) -> bool:
    """Whether a value behind the name of a key or token may be one.

    Args:
        quoted: whether quotes stand around it; without them it may be an expression.
        strong: whether its name leaves no doubt, so that a UUID counts.
    """
    if (
        not _has_plausible_length(value, MIN_MIXED_KEY_BYTES if quoted and _is_mixed(value) else MIN_KEY_BYTES)
        or not _has(_DIGITS, value)
        or entropy_bits(value) < MIN_KEY_ENTROPY
    ):
        return False
    if not _has(_LETTERS, value) or _WORDS.fullmatch(value):
        return False
    if _UUID.fullmatch(value):
        return strong
    return quoted or not (_ATTRIBUTE.fullmatch(value) or _is_secret_name(value))


def is_apart(between: bytes) -> bool:
    """Whether what stands between a name and a value does not tie them: a cell, a dash, the end of a line."""
    signs = _SHOWN.sub(b"", between)
    return not signs or signs.endswith(_APART_ENDS)


def is_clear(value: bytes) -> bool:
    """Whether a value looks like a secret even where nothing says that it belongs to a name."""
    if not (_has(_LETTERS, value) and _has(_DIGITS, value)) or _NAMED_METHOD.search(value):
        return False
    return is_said_password(value) or not (_WORDS.fullmatch(value) or _NO_CLEAR_VALUE.match(value))


def is_basic(value: bytes) -> bool:
    """Whether it is a user and a password as HTTP's basic authentication writes them."""
    try:
        user, colon, password = b64decode(value, validate=True).partition(b":")
    except NoBase64:
        return False
    return bool(colon and user) and len(password) >= 3 and not is_placeholder(password)


def is_url_password(value: bytes) -> bool:
    """Whether what stands between the colon and the at sign of an address is a password."""
    if len(value) > MAX_SECRET_BYTES or is_placeholder(value) or _REFERENCE.match(value):
        return False
    return not (_WORDS.fullmatch(value) and _is_secret_name(value))


def _is_secret_name(value: bytes) -> bool:
    """Whether a value looks like the name of something that holds a secret: of words, one of them such a word.

    Letters of one case and digits follow each other in runs of five or more in names, of about two in random values.
    """
    if not re.fullmatch(rb"[\w.:-]+", value) or not _SECRET_WORD.search(value):
        return False
    return 3 * len(_RUN.findall(value)) <= len(value)


def _is_jumbled(value: bytes) -> bool:
    """Whether it is letters alone whose case changes as at random; in names it changes every four letters or so."""
    return len(value) >= 10 and value.isalpha() and 2 * len(value) <= 5 * len(_RUN.findall(value))


def _has_plausible_length(value: bytes, shortest: int) -> bool:
    if not shortest <= len(value) <= MAX_SECRET_BYTES:
        return False
    return not (is_placeholder(value) or _REFERENCE.match(value) or _PATH.match(value))


def _is_mixed(value: bytes) -> bool:
    return all(_has(one, value) for one in (_UPPER, _LOWER, _DIGITS, _SIGNS))


def _has(bytes_of: frozenset[int], value: bytes) -> bool:
    return not bytes_of.isdisjoint(value)
