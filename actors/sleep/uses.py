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

from mnemic.actors.protocol.events import to_text
from mnemic.actors.protocol.sleep.changes import SourceSpan
from mnemic.actors.protocol.sleep.effects import RECENT_USES, MemoryWeight, RecallEffect, encode_effect
from mnemic.actors.protocol.sleep.snapshot import DeliverySession, DerivedRecord, GivenPart, SaidTurn
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.sleep.stages import Derivation
from mnemic.algorithms.sleep.activation import DAY_US, summarise
from mnemic.algorithms.sleep.quotes import takes_up

UseKind = Literal["quoted", "opened", "corrected"]
"""What a memory was of use for."""
_MOST_PARTS = 512  # of what a conversation was given, the newest
_MOST_TURNS = 6  # after a delivery, in which it is looked for
_MOST_BYTES = 16_384  # of a longer reply or memory no more is read
_CORRECTED_WITHIN_US = DAY_US
_BLOCK = 1024  # rows


class MemoryUse(msgspec.Struct, frozen=True, array_like=True):
    """One use; its memory is the source of the same place."""

    giving: int
    """Number of the delivery."""
    kind: UseKind
    """What it was of use for."""
    at: int
    """System time, microseconds."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[MemoryUse, ...]).decode


def uses_of(items: Sequence[DerivedRecord]) -> Iterator[tuple[int, MemoryUse]]:
    """Rows of memories with their uses, from what `Uses` derived."""
    for item in items:
        yield from zip((span.row for span in item.sources), _decode(item.value), strict=True)


class _Given(NamedTuple):
    """What a conversation was given, and what was said after it."""

    parts: Sequence[GivenPart]
    texts: Mapping[int, str]
    """By row, those of its turns too."""
    turns: Mapping[int, Sequence[SaidTurn]]
    """By the time of a delivery, those after it."""


class Uses:
    """What memories were of use for, in each conversation."""

    name: ClassVar[str] = "uses"
    version: ClassVar[int] = 1

    def __init__(self) -> None:
        self._sessions: Mapping[bytes, DeliverySession] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All conversations that were given memories."""
        self._sessions = {_key(one): one for one in snapshot.delivery_sessions()}
        return {key: one.stamp for key, one in self._sessions.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> _Given:
        """What one was given, and what was said after each time."""
        of = self._sessions[key]
        parts = snapshot.given_to(of.assistant, of.session, _MOST_PARTS)
        times = {one.at for one in parts}
        turns = {at: snapshot.turns_after(of.assistant, of.session, at, _MOST_TURNS) for at in times}
        rows = sorted({one.row for one in parts} | {one.row for said in turns.values() for one in said})
        loaded = snapshot.text_prefixes(rows, _MOST_BYTES)
        return _Given(parts, dict(zip(rows, map(to_text, loaded), strict=True)), turns)

    def plan(self, state: _Given) -> Derivation:
        """What was taken up, opened or corrected."""
        found: dict[tuple[int, UseKind, int], MemoryUse] = {}
        answered: dict[int, GivenPart] = {}  # by row, the last time it was given with others
        for part in state.parts:
            if part.occasion == "get":
                before = answered.get(part.row)
                if before is not None:
                    use = MemoryUse(before.giving, "opened", part.at)
                    found[part.row, use.kind, use.at] = use
                continue
            answered[part.row] = part
            for use in _taken_up(part, state):
                found[part.row, use.kind, use.at] = use
            if part.corrected_at is not None and 0 <= part.corrected_at - part.at <= _CORRECTED_WITHIN_US:
                use = MemoryUse(part.giving, "corrected", part.corrected_at)
                found[part.row, use.kind, use.at] = use
        ordered = sorted(found.items(), key=lambda one: (one[1].giving, one[0]))
        return Derivation(
            _encode(tuple(use for _, use in ordered)), tuple(SourceSpan(row, 0, 0) for (row, _, _), _ in ordered)
        )


def _taken_up(part: GivenPart, state: _Given) -> Iterator[MemoryUse]:
    """The first reply after a delivery that takes a memory up."""
    memory = state.texts[part.row].encode("utf-8", "surrogatepass")[part.start : part.stop].decode("utf-8", "replace")
    otherwise = [part.query]
    for turn in state.turns[part.at]:
        if not turn.is_reply:
            otherwise.append(state.texts[turn.row])
        elif turn.row != part.row and takes_up(state.texts[turn.row], memory, otherwise):
            yield MemoryUse(part.giving, "quoted", turn.at)
            return


def _key(of: DeliverySession) -> bytes:
    digest = hashlib.sha256(f"{of.assistant}\0{of.session}".encode("utf-8", "replace")).digest()
    return b"asked:%d" % int.from_bytes(digest[:6], "big")


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
