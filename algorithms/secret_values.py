"""Whether a value that stands where a secret would is one. Above: `mnemic.algorithms.scrub`.

A name such as ``token`` is followed by secrets, and far more often by a type, a variable, a path or a placeholder. What
tells them apart is looked for in the value alone: its letters and digits, how evenly they are used, and the forms in
which programs and their documentation write what is no secret.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NoBase64
from collections import Counter
from math import log2

__all__ = ["entropy_bits", "is_basic", "is_key", "is_password", "is_placeholder", "is_template", "is_url_password"]

LONGEST = 4096
"""Bytes of a password or key; what is longer behind a name is content, not a secret."""
KEY_LENGTH = 16
KEY_ENTROPY = 3.0
"""Bits a character. Sixteen random hexadecimal digits have 3.2 on average, words of a language as long below 3.4."""

_UUID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_WORDS = re.compile(rb"[A-Za-z]+(?:[ _.:/-]{1,2}[A-Za-z]+)*[_.:-]?[0-9]{0,4}[!?.]?")
"""Words and perhaps a number: how people name things."""
_PATH = re.compile(rb"(?:\.{1,2}|~)/|/(?:bin|dev|etc|home|mnt|opt|proc|root|run|srv|tmp|usr|var|Users)/|[A-Za-z]:[\\/]")
_FILE = re.compile(rb"[\w.@/+-]*\.[A-Za-z]{1,5}")
_ELSEWHERE = re.compile(
    rb"\$|%\w+%|%[(\w]|\{|<|@\w+@|[a-z]{2,10}://|arn:|op:|env[:.]|os\.|process\.|secrets?\.|vault:|data:"
)
"""How a value begins that says where the secret is to be found."""
_STAND_IN = re.compile(
    rb"example|placeholder|change.?(?:me|it)|your.?(?:own|api|key|token|secret|pass|db|app|client|access|[a-z]+.?here)"
    rb"|dummy|redacted|censored|sample|x{4}|\*{3}|\.{3}|<[a-z]|12345678|abcdefgh|00000000|insert.|replace.|not.?a.?real",
    re.IGNORECASE,
)
_SECRET_WORD = re.compile(rb"pass|pwd|secret|token|key|hash|cred", re.IGNORECASE)
_RUN = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ATTRIBUTE = re.compile(rb"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]+[0-9]{0,2})+")
"""Something of an object or a module."""
_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset(b"0123456789")
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
    return len(set(value)) < 4 or _STAND_IN.search(value) is not None or value.lower() in _DEFAULTS


def is_template(value: bytes) -> bool:
    """Whether something with the shape of a secret is one that documentation shows."""
    return value.endswith(b"EXAMPLE") or b"XXXX" in value.upper()


def is_password(value: bytes, *, quoted: bool) -> bool:
    """Whether a value behind the name of a password may be one.

    It has letters or signs as well as digits, or digits alone, six at least; letters alone are a word of a form or a
    type as often. Unquoted, something that looks like a variable named after a password is taken for that.
    """
    if not _possible(value, 6):
        return False
    if not (_has(_DIGITS, value) or (_has(_LETTERS, value) and _has(_SIGNS, value))) or _FILE.fullmatch(value):
        return False
    return quoted or not (value[0] == 0x40 or _ATTRIBUTE.fullmatch(value) or _named_for_it(value))


def is_key(value: bytes, *, quoted: bool, strong: bool = False) -> bool:
    """Whether a value behind the name of a key or token may be one.

    Args:
        quoted: whether quotes stand around it; without them it may be an expression.
        strong: whether its name leaves no doubt, so that a UUID counts.
    """
    if not _possible(value, KEY_LENGTH) or not _has(_DIGITS, value) or entropy_bits(value) < KEY_ENTROPY:
        return False
    if not _has(_LETTERS, value) or _WORDS.fullmatch(value):
        return False
    if _UUID.fullmatch(value):
        return strong
    return quoted or not (_ATTRIBUTE.fullmatch(value) or _named_for_it(value))


def is_basic(value: bytes) -> bool:
    """Whether it is a user and a password as HTTP's basic authentication writes them."""
    try:
        user, colon, password = b64decode(value, validate=True).partition(b":")
    except NoBase64:
        return False
    return bool(colon and user) and len(password) >= 3 and not is_placeholder(password)


def is_url_password(value: bytes) -> bool:
    """Whether what stands between the colon and the at sign of an address is a password."""
    if len(value) > LONGEST or is_placeholder(value) or _ELSEWHERE.match(value):
        return False
    return not (_WORDS.fullmatch(value) and _named_for_it(value))


def _named_for_it(value: bytes) -> bool:
    """Whether a value looks like the name of something that holds a secret: of words, one of them such a word.

    Letters of one case and digits follow each other in runs of five or more in names, of about two in random values.
    """
    if not re.fullmatch(rb"[\w.:-]+", value) or not _SECRET_WORD.search(value):
        return False
    return 3 * len(_RUN.findall(value)) <= len(value)


def _possible(value: bytes, shortest: int) -> bool:
    if not shortest <= len(value) <= LONGEST:
        return False
    return not (is_placeholder(value) or _ELSEWHERE.match(value) or _PATH.match(value))


def _has(bytes_of: frozenset[int], value: bytes) -> bool:
    return not bytes_of.isdisjoint(value)
