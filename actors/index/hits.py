"""Builds the `Hit` returned for a memory, and the note of which bytes of it were delivered.

Below `mnemic.actors.recall.recaller` and `mnemic.actors.shape.shape_recall`.

Excerpts: which stretch of a long memory a hit shows, and how long a text counts in a token budget.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec

from mnemic.actors.kernel.events import to_bytes, to_text
from mnemic.actors.kernel.message import to_json
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.recall.messages import FactRef, Hit, Memory, SameMemory
from mnemic.algorithms.text.terms import fold_letters


class Links(NamedTuple):
    """What a memory has to do with others, as it is told."""

    newer: bytes | None = None
    """Id of what stands for it now, if anything does that may be named."""
    elsewhere: bool = False
    """Whether something stands for it that may not."""
    older: tuple[bytes, ...] = ()
    """Ids of what it stands for."""


def make_hit(
    memory: Memory,
    part: bytes,
    offset: int,
    why: dict[str, float],
    links: Links,
    score: float | None = None,
    same: Sequence[SameMemory] = (),
    replaced: Sequence[FactRef] = (),
    contradicts: Sequence[FactRef] = (),
) -> Hit:
    """A memory as it is given.

    Args:
        part: what is given of its text, from byte `offset` on.
        score: the sum of `why`, unless it says otherwise.
        same: those that it stands for, since they say the same.
        replaced: what stands for statements of it.
        contradicts: what contradicts statements of it.
    """
    return Hit(
        id=memory.id,
        source_id=memory.source_id,
        data=part,
        start_byte=offset,
        size_bytes=len(memory.data),
        kind=memory.kind,
        role=memory.role,
        speaker=memory.speaker,
        author=memory.author if memory.author in ("other", "unknown") and memory.role == "user" else "",
        assistant=memory.assistant,
        session=memory.session,
        scope=memory.scope,
        said_at=memory.said_at,
        score=sum(why.values()) if score is None else score,
        why=why,
        superseded_by=links.newer,
        superseded_elsewhere=links.elsewhere,
        supersedes=links.older,
        same=tuple(same),
        replaced=tuple(replaced),
        contradicts=tuple(contradicts),
    )


def delivered_span(hit: Hit) -> DeliveredSpan:
    """What was given of a memory, and why: what each signal contributed."""
    why = ", ".join(f"{name} {share:.2f}" for name, share in hit.why.items())
    return DeliveredSpan(memory=hit.id, start=hit.start_byte, stop=hit.start_byte + len(hit.data), why=why)


_WINDOW_BYTES = 640  # as long as a window of 128 tokens is in English prose
BYTES_PER_TOKEN = 4
"""A token is counted as four bytes of UTF-8: English prose has 4 to 5, code about 3.5 a token of today's models."""


def token_count(text: bytes) -> int:
    """The length of a text in a budget, rounded up."""
    return -(-len(text) // BYTES_PER_TOKEN)


ANSWER_TOKENS = 64
"""An answer's own fields, beside its hits, are counted as so many tokens."""
MOST_SAME = 3
"""So many at most of the memories that say the same as a hit are named to an assistant: each costs 35 tokens."""
_PLACE_BYTES = 48  # of a hit that is cut, where its text starts and how long the whole is
_SLACK_BYTES = 40  # an assistant's times have an offset, and one hit may be the newest
_NOT_SENT = {"why", "source_id", "session", "differs"}


def sent_bytes(hit: Hit) -> int:
    """The length of a hit as JSON as an assistant is given it over MCP, or a little more: text, id and fields."""
    sent = msgspec.structs.replace(hit, why={})  # it is left out anyway, and takes a third of the time to write
    view = {name: one for name, one in to_json(sent, strict=True).items() if one and name not in _NOT_SENT}
    view["same"] = view.get("same", [])[:MOST_SAME]
    for name in ("replaced", "contradicts"):
        view[name] = [ref_view(one) for one in view.get(name, ())]
    view["score"] = round(hit.score, 4)
    return len(msgspec.json.encode(view)) + _SLACK_BYTES


def ref_view(ref: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an assistant is given of a statement that replaces or contradicts one."""
    return {part: ref[part] for part in ("memory", "value", "at", "id", *(("of",) if ref.get("of") else ()))}


def fitting_length(part: bytes, size_bytes: int, excess: int) -> int:
    """Tell how long the part of a memory may be, so that its hit is shorter by `excess` bytes."""
    return len(part) - excess - (_PLACE_BYTES if len(part) == size_bytes else 0)


def excerpt(text: bytes, limit: int, start: int, terms: Sequence[str]) -> tuple[bytes, int]:
    """The whole of a short text; of a long one, a verbatim stretch that holds the place sought.

    Where the limit is less than a window is long, that is the part of the window that holds the most of the terms.
    Where another stretch of the text holds more than twice as many of them, it is that one: only the beginning of a
    text has windows, and its end is found by its words.

    Args:
        text: UTF-8 with ``surrogatepass``.
        limit: the most bytes to give, 8 or more.
        start: the character at which the window starts that fits best; -1 where none is known.
        terms: stems, one of which marks the place where no window does.

    Returns the stretch and the byte at which it starts.
    """
    if len(text) <= limit:
        return text, 0
    part, first = _around(text, limit, start, terms)
    held = _count_held(part, terms)
    if len(terms) > 2 * held:
        densest, place = densest_excerpt(text, limit, dict.fromkeys(terms, 1.0))
        if _count_held(densest, terms) > 2 * held:
            return densest, place
    return part, first


def _count_held(part: bytes, terms: Sequence[str]) -> int:
    letters = fold_letters(to_text(part))
    return sum(term in letters for term in terms)


def _around(text: bytes, limit: int, start: int, terms: Sequence[str]) -> tuple[bytes, int]:
    """The stretch of a long text at a window, or at a term; arguments as for `excerpt`."""
    whole, is_window = to_text(text), start >= 0
    if not is_window:
        letters = fold_letters(whole)
        start = min((place for term in terms if (place := letters.find(term)) >= 0), default=0)
    place = len(to_bytes(whole[:start]))
    if terms and limit < _WINDOW_BYTES:
        begin = place if is_window else character_start(text, max(0, place - limit // 2), 1)
        window = text[begin : character_start(text, min(begin + _WINDOW_BYTES, len(text)), -1)]
        if len(window) > limit:
            part, first = densest_excerpt(window, limit, dict.fromkeys(terms, 1.0))
            return part, begin + first
    back = max(0, place - limit // 2)
    line = text.rfind(b"\n", back, place) + 1
    first = place if back and not line else line
    first = character_start(text, min(first, len(text) - limit), 1)  # a stretch at the end is as long as any
    return text[first : _word_end(text, first, min(first + limit, len(text)))], first


def densest_excerpt(text: bytes, limit: int, weights: Mapping[str, float]) -> tuple[bytes, int]:
    """The whole of a short text; of a long one, the first verbatim stretch that holds the most weight of terms.

    Args:
        text: UTF-8 with ``surrogatepass``.
        limit: the most bytes to give, 8 or more.
        weights: terms and how much each counts, once.

    Returns the stretch and the byte at which it starts.
    """
    if len(text) <= limit:
        return text, 0
    whole = to_text(text)
    starts: Sequence[int] = range(len(whole) + 1)  # where each character begins, in bytes
    if len(whole) < len(text):
        sizes = (1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF) for code in map(ord, whole))
        starts = list(accumulate(sizes, initial=0))
    letters = fold_letters(whole)
    found = (
        (starts[one.start()], starts[one.end()], term)
        for term in weights
        for one in re.finditer(re.escape(term), letters)
    )
    places = sorted(one for one in found if one[1] - one[0] <= limit)
    best, start, span, first = 0.0, 0, limit, 0
    held: dict[str, int] = {}
    for _, end, term in places:
        held[term] = held.get(term, 0) + 1
        while end - places[first][0] > limit:
            left = places[first][2]
            held[left] -= 1
            first += 1
        weight = math.fsum(weights[one] for one, count in held.items() if count)
        if weight > best:
            best, start = weight, places[first][0]
            span = end - start
    back = max(0, start - (limit - span) // 2)  # what stands before it tells what it is about, from a word on
    space = text.find(b" ", back, start)
    start = back if not back else start if space < 0 else space + 1
    start = character_start(text, min(start, len(text) - limit), 1)
    return text[start : _word_end(text, start, min(start + limit, len(text)))], start


def _word_end(text: bytes, start: int, stop: int) -> int:
    """Where the last whole word of a stretch ends; of one that is mostly one word, its last whole character."""
    stop = character_start(text, stop, -1)
    if stop == len(text) or text[stop - 1 : stop].isspace() or text[stop : stop + 1].isspace():
        return stop
    end = max(text.rfind(space, start, stop) for space in (b" ", b"\n"))
    return end if end > (start + stop) // 2 else stop


def character_start(text: bytes, at: int, step: int) -> int:
    """The nearest place at which a character starts, in one direction."""
    while 0 < at < len(text) and text[at] & 0xC0 == 0x80:  # a byte that continues a character
        at += step
    return at
