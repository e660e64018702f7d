"""The `mnemic.actors.ports.Scrub` port: no secret reaches the store. Below: `mnemic.algorithms.scrub` and ``private``.

The rules are data, secrets.toml beside this file. Nothing is read, compiled or imported before the first text comes;
that takes about a tenth of a second. RE2 runs the rules, since its time is in proportion to the text whatever the text
is: tool output comes from anywhere.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from mnemic.actors.ports import Scrub, Scrubbed
from mnemic.algorithms import private
from mnemic.algorithms.scrub import scrub
from mnemic.algorithms.secret_rules import Expression, Rules, compile_rules

__all__ = ["drop_private", "load_scrub"]

_MEMORY_BYTES = 32 << 20
"""What RE2 may use for the states that an expression meets; it takes only what those need.

Through 20 MB of code it then makes 220 MB/s; with its own 8 MB 140, and with 4, where it gives up on states, 0.4.
"""


def load_scrub() -> Scrub:
    """What takes out secrets, and what its author marked as private; safe to call from several threads."""
    return _scrub


def drop_private(text: bytes) -> Scrubbed:
    """Drop what its author marked as private, and nothing else: what is left of scrubbing where it is switched off."""
    left, dropped = private.drop(text)
    return Scrubbed(left, (("private", dropped),) if dropped else ())


def _scrub(text: bytes) -> Scrubbed:
    """What is private goes first: no rule need look at it, and what is dropped may bring together a secret."""
    left = drop_private(text)
    scrubbed, found = scrub(left.text, _rules())
    return Scrubbed(scrubbed, tuple(sorted((*left.found, *found)))) if found else left


@cache
def _rules() -> Rules:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # one byte is one character: text may hold surrogates
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False

    def compile(pattern: bytes) -> Expression:
        expression: Expression = re2.compile(pattern, options)
        return expression

    rules = files("mnemic.runtime").joinpath("secrets.toml").read_text("utf-8")
    return compile_rules(tomllib.loads(rules), compile)
