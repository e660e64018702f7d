"""Taking secrets and <private> passages out of texts before they are stored.

Our rules are data, rules.toml beside this file. Nothing of them is read, compiled or imported before the first text
comes; that takes about a tenth of a second. Rules of others stand beside them where a setting names a file; that is
read at once (`mnemic.runtime.secrets.rule_files`), so that what is wrong with it is said when the mind is opened. The
rules are run by what takes time in proportion to the text (`mnemic.runtime.secrets.rule_files`): tool output comes from
anywhere.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files

from mnemic.actors.protocol.ports import Scrub, Scrubbed
from mnemic.algorithms.secrets import scrub as private
from mnemic.algorithms.secrets.rules import SecretRules, compile_rules
from mnemic.algorithms.secrets.scrub import scrub

_FoundByType = tuple[tuple[str, int], ...]


def load_scrub(rules: str = "") -> Scrub:
    """What takes out secrets, and what its author marked as private; safe to call from several threads.

    Args:
        rules: the path of a file in gitleaks' format, whose rules stand beside our own; empty for those alone.

    Raises:
        InvalidValue: the file cannot be used; says why.
    """
    if not rules:
        return partial(_scrub, lambda text: scrub(text, _rules()))
    from mnemic.algorithms.secrets.gitleaks_rules import scrub_with_both  # here: only who names a file pays for it
    from mnemic.runtime.secrets.rule_files import load_rules

    others = load_rules(rules)
    return partial(_scrub, lambda text: scrub_with_both(text, _rules(), others))


def drop_private(text: bytes) -> Scrubbed:
    """Drop what its author marked as private, and nothing else: what is left of scrubbing where it is switched off."""
    left, dropped = private.drop_private(text)
    return Scrubbed(left, (("private", dropped),) if dropped else ())


def _scrub(find: Callable[[bytes], tuple[bytes, _FoundByType]], text: bytes) -> Scrubbed:
    """What is private goes first: no rule need look at it, and what is dropped may bring together a secret.

    A mark may be what makes a tag: ``<private …>`` with a long secret in it is none, and one with a short mark is.
    """
    found: Counter[str] = Counter()
    while True:
        text, dropped = private.drop_private(text)
        found.update({"private": dropped} if dropped else {})
        text, by_type = find(text)
        found.update(dict(by_type))
        if not by_type or not private.drop_private(text)[1]:
            return Scrubbed(text, tuple(sorted(found.items())))


@cache
def _rules() -> SecretRules:
    from mnemic.runtime.secrets.rule_files import compile_for_bytes  # here: it loads RE2

    rules = files("mnemic.runtime.secrets").joinpath("rules.toml").read_text("utf-8")
    return compile_rules(tomllib.loads(rules), compile_for_bytes)
