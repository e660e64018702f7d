"""Taking secrets and <private> passages out of texts before they are stored.

The rules are data, rules.toml beside this file. Nothing of them is read, compiled or imported before the first text
comes; that takes about a tenth of a second. RE2 runs them, in time proportional to the text: tool output comes from
anywhere. What is no secret after all, the owner says in the settings, and nothing in a text can.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from importlib.resources import files

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.ports import Scrub, Scrubbed
from mnemic.algorithms.secrets import private
from mnemic.algorithms.secrets.rules import SecretRules, compile_allowed, compile_rules
from mnemic.algorithms.secrets.scrub import scrub

_MEMORY_BYTES = 32 << 20
"""What RE2 may use for the states that an expression meets; it takes only what those need.

Through 20 MB of code the rules then make 220 MB/s; with its own 8 MB 140, and with 4, where it gives up on states, 0.4.
"""


_LEAST_TOLD = 4


def load_scrub(allow: Sequence[str] = ()) -> Scrub:
    """Return what takes out secrets, and what its author marked as private; safe to call from several threads.

    Args:
        allow: texts that are no secrets, of which ``*`` may be a part (`capture.secret_allow`).

    Raises:
        InvalidValue: there are more of them than one expression can hold, or one with ``*`` tells too little.
    """
    for text in allow:
        if "*" in text and ("**" in text or sum(map(str.isalnum, text)) < _LEAST_TOLD):  # or all secrets would be such
            why = "what `*` stands for would be nearly anything"
            expected = f"{_LEAST_TOLD} letters or digits at least beside a `*`, and no two `*` in a row"
            raise InvalidValue(name="capture.secret_allow", value=text, why=why, expected=expected)
    try:
        return partial(_scrub, _allowed(tuple(allow)))
    except ValueError as error:
        why, expected = f"one expression cannot hold {len(allow)} texts ({error})", "fewer or shorter texts"
        raise InvalidValue(name="capture.secret_allow", value="…", why=why, expected=expected) from error


def drop_private(text: bytes) -> Scrubbed:
    """Drop what its author marked as private, and nothing else: what is left of scrubbing where it is switched off."""
    left, dropped = private.drop_private(text)
    return Scrubbed(left, (("private", dropped),) if dropped else ())


def compile_for_bytes(pattern: bytes) -> re.Pattern[bytes]:
    """Compile an expression for which one byte is one character: a text may hold surrogates.

    Raises:
        ValueError: RE2 refuses it; says why in a clause.
    """
    import re2  # here: only who scrubs a text pays for it

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    try:
        expression: re.Pattern[bytes] = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(error.args[0].decode("utf-8", "replace")) from error
    return expression


def _scrub(allowed: re.Pattern[bytes] | None, text: bytes) -> Scrubbed:
    """What is private goes first: no rule need look at it, and what is dropped may bring together a secret.

    A mark may be what makes a tag: ``<private …>`` with a long secret in it is none, and one with a short mark is.
    """
    found: Counter[str] = Counter()
    while True:
        text, dropped = private.drop_private(text)
        found.update({"private": dropped} if dropped else {})
        text, by_type = scrub(text, _rules(), allowed)
        found.update(dict(by_type))
        if not by_type or not private.drop_private(text)[1]:
            return Scrubbed(text, tuple(sorted(found.items())))


@cache
def _rules() -> SecretRules:
    rules = files("mnemic.runtime.secrets").joinpath("rules.toml").read_text("utf-8")
    return compile_rules(tomllib.loads(rules), compile_for_bytes)


@lru_cache(2)
def _allowed(allow: tuple[str, ...]) -> re.Pattern[bytes] | None:
    return compile_allowed(allow, compile_for_bytes)
