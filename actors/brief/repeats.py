"""Tells a statement once, however often it was said: equal ones, and ones of the same words, become one quote. Pure.

`mnemic.actors.brief.gather` merges what holds so; `mnemic.actors.brief.compose` and `mnemic.actors.brief.brief`
keep what is told already from being told again. Which texts have the same words is `mnemic.algorithms.text.same_words`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from mnemic.actors.brief.messages import Quote
from mnemic.actors.kernel.events import COMMITS, MCP_PREFIX, author_of, to_text
from mnemic.algorithms.text.same_words import word_form

OTHERS_SHARE = 4
"""Of so many places at a session's start one is for what others than the user kept."""


class Said(NamedTuple):
    """A statement, and when equal texts said it."""

    quote: Quote
    """The first of them, with the time of the last."""
    instants: frozenset[int]
    """When it was said, microseconds. A fork of a transcript copies the times: what it copies was said once."""


def statement_key(quote: Quote) -> Hashable:
    """Equal for quotes that state the same in the same words."""
    return quote.id if quote.size_bytes > len(quote.text) else _form(quote.text)


@lru_cache(1 << 12)  # a process is asked again and again for a project of which little is new
def _form(text: bytes) -> Hashable:
    return word_form(to_text(text))


def is_from_user(quote: Quote) -> bool:
    """Say whether a memory is what its user said, as a host or the owner's own command reported it.

    A commit is not: whoever makes one can write its owner's address.
    """
    if quote.assistant == COMMITS or quote.assistant.startswith(MCP_PREFIX):
        return False
    return (quote.author or author_of(quote.role)) == "owner"


def share_places(statements: Iterable[Quote]) -> list[Quote]:
    """The user's own words first, with one in `OTHERS_SHARE` places for what others kept, while the user's last."""
    owns, others = list[Quote](), list[Quote]()
    for one in statements:
        (owns if is_from_user(one) else others).append(one)
    shared: list[Quote] = []
    while owns and others:
        shared += [*owns[: OTHERS_SHARE - 1], others[0]]
        owns, others = owns[OTHERS_SHARE - 1 :], others[1:]
    return [*shared, *owns, *others]


def merge_repeats(statements: Iterable[Said]) -> list[Quote]:
    """Each statement once, where it first stands, with how often it was said and when last.

    The user's own words stand for equal ones of others, whose times do not count then.
    """
    merged: dict[Hashable, Said] = {}
    for one in statements:
        key = statement_key(one.quote)
        known = merged.setdefault(key, one)
        if is_from_user(known.quote) == is_from_user(one.quote):
            last_at = max(known.quote.at or 0, one.quote.at or 0)
            merged[key] = Said(msgspec.structs.replace(known.quote, at=last_at), known.instants | one.instants)
        elif is_from_user(one.quote):
            merged[key] = one
    return [msgspec.structs.replace(quote, times=len(instants)) for quote, instants in merged.values()]
