"""The stages that find what memories were of use for: in each conversation, and of that a strength of each memory.

A memory was of use where an assistant that was given it took it up in its reply, or opened it, or where its user
corrected it. That it was given alone says nothing: what ranks high would rank ever higher. An item holds numbers of
deliveries, kinds and times, and points to memories; no word of a question or a reply is kept.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import msgspec

from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.effects import RECENT_USES, MemoryWeight, RecallEffect, encode_effect
from mnemic.actors.sleep.queries import DeliveryBlock, DerivedRecord, GivenPart, SaidTurn
from mnemic.actors.sleep.stages import Derivation
from mnemic.algorithms.sleep.activation import DAY_US, summarise
from mnemic.algorithms.sleep.quotes import takes_up
from mnemic.algorithms.text.terms import telling_terms

UseKind = Literal["quoted", "opened", "corrected"]
"""What a memory was of use for."""
_DELIVERIES = 8  # looked at together
_MOST_PARTS = 20  # of one, the first
_TURNS_BEFORE, _TURNS_AFTER = 2, 6  # one: what the user says before it is known, and it is looked for in what follows
_MOST_BYTES = 4_096  # of a longer reply or stretch no more counts
_MOST_READ = 1 << 16  # bytes of a memory; what is given of a longer one is not looked for
_CORRECTED_WITHIN_US = DAY_US
_BLOCK = 1024  # rows


class MemoryUse(msgspec.Struct, frozen=True, array_like=True):
    """One use; its memory is the source of the same place."""

    delivery: int
    """Number of the delivery."""
    kind: UseKind
    """What it was of use for."""
    at: int
    """System time, microseconds."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[MemoryUse, ...]).decode


def uses_of(items: Sequence[DerivedRecord]) -> Iterator[tuple[int, MemoryUse]]:
    """Rows of memories with their uses, from what `Uses` derived."""
    opened: set[tuple[int, int]] = set()
    for item in items:
        for span, use in zip(item.sources, _decode(item.value), strict=True):
            if use.kind == "opened":  # page by page, or again, it is one use
                if (span.row, use.delivery) in opened:
                    continue
                opened.add((span.row, use.delivery))
            yield span.row, use


class _Given(NamedTuple):
    """What a conversation was given, and what was said after it."""

    parts: Sequence[GivenPart]
    terms: Mapping[tuple[int, int, int], Sequence[str]]
    """The telling words of each stretch of a memory, and of each turn, which is one from 0 to 0."""
    turns: Mapping[int, Sequence[SaidTurn]]
    """By the time of a delivery, those around it."""


class Uses:
    """What memories were of use for, in each conversation."""

    name: ClassVar[str] = "uses"
    version: ClassVar[int] = 1

    def __init__(self) -> None:
        self._blocks: Mapping[bytes, DeliveryBlock] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All deliveries to conversations, eight numbers at a time."""
        self._blocks = {_key(one): one for one in snapshot.delivery_blocks(_DELIVERIES)}
        return {key: one.stamp for key, one in self._blocks.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> _Given:
        """What was given, and what was said after each time."""
        of = self._blocks[key]
        parts = snapshot.given_in(of, _DELIVERIES, _MOST_PARTS)
        turns = {
            at: snapshot.turns_around(of, scope, at, _TURNS_BEFORE, _TURNS_AFTER)
            for at, scope in {one.at: one.scope for one in parts}.items()
        }
        said = {(one.row, 0, 0) for some in turns.values() for one in some}
        stretches = sorted(said | {(one.row, one.start, one.stop) for one in parts if turns[one.at]})
        rows = sorted({row for row, _, _ in stretches})
        texts = dict(zip(rows, snapshot.text_prefixes(rows, _MOST_READ), strict=True))
        terms = {one: telling_terms(to_text(_stretch(texts[one[0]], one[1], one[2]))) for one in stretches}
        return _Given(parts, terms, turns)

    def plan(self, state: _Given) -> Derivation:
        """What was taken up, opened or corrected."""
        found: set[tuple[int, int, UseKind, int]] = set()  # deliveries, rows, what for and when
        for part in state.parts:
            if part.occasion == "get":
                if part.before is not None:
                    found.add((part.before, part.row, "opened", part.at))
                continue
            at = _taken_up_at(part, state)
            if at is not None:
                found.add((part.delivery, part.row, "quoted", at))
            if part.corrected_at is not None and 0 <= part.corrected_at - part.at <= _CORRECTED_WITHIN_US:
                found.add((part.delivery, part.row, "corrected", part.corrected_at))
        ordered = sorted(found)
        return Derivation(
            _encode(tuple(MemoryUse(delivery, kind, at) for delivery, _, kind, at in ordered)),
            tuple(SourceSpan(row, 0, 0) for _, row, _, _ in ordered),
        )


def _stretch(text: bytes, start: int, stop: int) -> bytes:
    return text[start : min(stop or len(text), start + _MOST_BYTES)]


def _taken_up_at(part: GivenPart, state: _Given) -> int | None:
    """When a reply after a delivery takes a memory up, if one does."""
    known = set(telling_terms(part.query))
    for turn in state.turns[part.at]:
        if turn.row == part.row:
            continue
        said = state.terms[turn.row, 0, 0]
        if not turn.is_reply:
            known.update(said)
        elif turn.at >= part.at and takes_up(said, state.terms[part.row, part.start, part.stop], known):
            return turn.at
    return None


def _key(of: DeliveryBlock) -> bytes:
    digest = hashlib.sha256(f"{of.assistant}\0{of.session}".encode("utf-8", "replace")).digest()
    return b"asked:%d:%d" % (int.from_bytes(digest[:6], "big"), of.block)


class Strengths:
    """How often each memory was of use, and when: recalls weigh it by that."""

    name: ClassVar[str] = "strengths"
    version: ClassVar[int] = 1
    effect: ClassVar[RecallEffect] = "weigh"

    def __init__(self) -> None:
        self._blocks: Mapping[bytes, Mapping[int, Sequence[int]]] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """Blocks of rows of which any was of use."""
        blocks: dict[bytes, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row, use in uses_of(snapshot.derived(Uses.name)):
            blocks[b"rows:%d" % (row // _BLOCK)][row].append(use.at)
        self._blocks = blocks
        return {
            key: hashlib.sha256(_encode(sorted((row, sorted(times)) for row, times in of.items()))).digest()[:16]
            for key, of in blocks.items()
        }

    def read(self, key: bytes, snapshot: Snapshot) -> Mapping[int, Sequence[int]]:
        """When memories of a block were of use, by row."""
        return self._blocks[key]

    def plan(self, state: Mapping[int, Sequence[int]]) -> Derivation:
        """Their strengths."""
        rows = sorted(state)
        weights = []
        for row in rows:
            uses, first_at, recent = summarise(state[row], RECENT_USES)
            weights.append(MemoryWeight(uses=uses, first_at=first_at, recent=recent))
        return Derivation(encode_effect(tuple(weights)), tuple(SourceSpan(row, 0, 0) for row in rows))
