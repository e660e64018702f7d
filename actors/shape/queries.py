"""What is read for hypervectors: what they are bound from, their space, and their codes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.recall.messages import Memory

if TYPE_CHECKING:  # what is told at the start of a session is told without NumPy, which takes 0.1 s to load
    import numpy as np
    from numpy.typing import NDArray


NEAR_CALLS = 8
"""So many calls and results of tools on each side are told of a call or a result."""


class NearbyCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool, or its result, near another one in a session."""

    kind: str
    """``tool_call`` or ``tool_result``."""
    tool: str | None
    """The tool's name."""
    outcome: str | None
    """How it ended, where that is known."""
    files: tuple[str, ...]
    """Files touched."""
    text: bytes
    """How its text begins; of a long result of what failed also how it ends."""


class Unbound(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that waits to be bound, with all that its records say."""

    row: int
    """Its row."""
    memory: Memory
    """Itself; of a long text the beginning alone."""
    words: int
    """Length of the whole text in words, without the name of who speaks."""
    meaning: bytes
    """Mean of its windows' vectors, ``(dimensions,) float32``, not of unit length; empty where it has none."""
    previous: bytes
    """The same of the turn before it in its session."""
    next: bytes
    """The same of the turn after it."""
    speakers: tuple[str, ...]
    """Names of the speakers of its session other than its own, at most three."""
    before: tuple[NearbyCall, ...]
    """Of a call or a result: what was called before it and came of it, the nearest first, `NEAR_CALLS` at most."""
    after: tuple[NearbyCall, ...]
    """Of a call or a result: what came after it, the nearest first, `NEAR_CALLS` at most."""
    own: NearbyCall | None = None
    """Of the result of what failed: itself, as others see it; ``None`` where its memory tells as much."""


class SpaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """The space in which hypervectors are made, as it is kept: all of it but the seed."""

    stamp: str
    """What tells it from others."""
    dimensions: int
    """Bits of a hypervector."""
    version: int
    """Of the encoders."""
    roles: tuple[str, ...]
    """Names of the roles that are bound."""
    model: str
    """SHA-256 of the weights whose embeddings are bound, hexadecimal."""
    embedding: int
    """Length of those embeddings."""
    reading: str = ""
    """How records are read out of memories."""


MOST_SHIFT = 7
"""A pair of a record is permuted at most so often."""


def filler_term(number: int, shift: int) -> int:
    """What says of a record that it has a filler, by that one's number, permuted so often.

    Raises:
        ValueError: it is permuted more often than `MOST_SHIFT`.
    """
    if not 0 <= shift <= MOST_SHIFT:
        raise ValueError(f"a pair is permuted 0 to {MOST_SHIFT} times, not {shift}")
    return number * (MOST_SHIFT + 1) + shift


class RecordBlock(NamedTuple):
    """What fills the roles of the records of one tier, `n` of them, `t` fillers in all; see `filler_term`."""

    number: NDArray[np.int64]
    """``(n,) int64``: number of each, ascending; what is bound anew gets a new one."""
    row: NDArray[np.int64]
    """``(n,) int64``: row of its memory."""
    pairs: NDArray[np.int64]
    """``(n,) int64``: how many pairs it has, those without a name too."""
    ends: NDArray[np.int64]
    """``(n,) int64``: where its terms end; they begin where those of the one before end."""
    terms: NDArray[np.uint32]
    """``(t,) uint32``."""


class NamedFiller(NamedTuple):
    """A filler that memories have."""

    number: int
    """Its own."""
    name: str
    """As the memories have it."""
    memories: int
    """How many have it."""


class CodeBlock(NamedTuple):
    """Hypervectors of one tier, `n` of them."""

    number: NDArray[np.int64]
    """``(n,) int64``: number of each, ascending; what is bound anew gets a new one."""
    row: NDArray[np.int64]
    """``(n,) int64``: row of its memory."""
    pairs: NDArray[np.int64]
    """``(n,) int64``: how many pairs are bundled in it."""
    codes: NDArray[np.uint64]
    """``(n, dimensions / 64) uint64``."""


class ShapeSnapshot(Protocol):
    """What a snapshot tells of hypervectors and what they are bound from."""

    def space(self) -> SpaceRow | None:
        """The newest space; ``None`` where nothing was ever bound."""

    def pending_bindings(
        self, encoder: EncoderName | None, waiting: bool, after_row: int, limit: int, text_bytes: int
    ) -> list[Unbound]:
        """Memories after a row that wait to be bound and are not forgotten.

        Args:
            encoder: whose vectors they are bound with; ``None`` for none.
            waiting: whether those that the encoder has not embedded yet are left out.
            text_bytes: of a longer text so much of its start is given.
        """

    def codes(self, tier: str, after: int) -> CodeBlock:
        """Hypervectors of the newest space, of one tier, of numbers after one; ``0`` gives all."""

    def records(self, tier: str, after: int) -> RecordBlock:
        """What fills the roles of the records of the newest space, as in `codes`."""

    def filler_numbers(self, role: str, filler: str) -> list[int]:
        """The numbers of a filler of a role, whatever its case; none where no memory has it."""

    def filler_roles(self, after: int) -> tuple[NDArray[np.int64], list[str]]:
        """The numbers of all fillers after one, ascending, and the role of each."""

    def named_fillers(self, numbers: Sequence[int]) -> list[NamedFiller]:
        """The fillers of some numbers, the most frequent first."""

    def fillers(self, role: str, scopes: Collection[int] | None = None) -> list[NamedFiller]:
        """The fillers of a role that any memory has, the most frequent first.

        Args:
            scopes: numbers of the scopes whose memories count; ``None`` for all.
        """

    def filler_counts(self) -> dict[str, int]:
        """How many different fillers each role has."""

    def failed_bindings(
        self, encoder: EncoderName | None, after_row: int, limit: int, text_bytes: int
    ) -> list[Unbound]:
        """Memories after a row of which something could not be bound, as in `unbound`, where they are not."""

    def failed_binding_rows(self) -> NDArray[np.int64]:
        """Rows of the memories of which something could not be bound, ``(n,) int64``, ascending."""

    def pending_binding_count(self) -> int:
        """How many memories wait to be bound, whether they could be now or not."""

    def bound_counts(self, encoder: EncoderName | None, waiting: bool) -> tuple[int, int]:
        """How many memories are bound in the newest space, and how many wait that could be; as in `unbound`."""
