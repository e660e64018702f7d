"""What is read of memories: their rows, their terms, their texts, and which replaces which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mnemic.actors.capture.changes import MemoryLabels
from mnemic.actors.kernel.times import MINUTE_US
from mnemic.actors.recall.messages import Memory
from mnemic.algorithms.retrieval.term_codes import TermTotals

if TYPE_CHECKING:  # what is told at the start of a session is told without NumPy, which takes 0.1 s to load
    import numpy as np
    from numpy.typing import NDArray

    from mnemic.actors.log.messages import (
        CountUse,
        DeliveriesListed,
        ListDeliveries,
        ListMemories,
        MemoriesListed,
        MemoryDetail,
        UseCounted,
    )


class Columns(NamedTuple):
    """Memories, column by column, in the order they were kept; `n` of them."""

    row: NDArray[np.int64]
    """``(n,) int64``: the row, ascending."""
    session: NDArray[np.int64]
    """``(n,) int64``: number of the conversation."""
    scope: NDArray[np.int64]
    """``(n,) int64``: number of the scope."""
    kind: NDArray[np.int64]
    """``(n,) int64``: position in `mnemic.actors.kernel.events.KINDS`."""
    words: NDArray[np.int64]
    """``(n,) int64``: length in words, the speaker's name included."""
    said_at: NDArray[np.int64]
    """``(n,) int64``: world time, microseconds; the time of keeping where the source gave none."""
    recorded_at: NDArray[np.int64]
    """``(n,) int64``: system time, microseconds."""
    dated: NDArray[np.int64]
    """``(n,) int64``: 1 where the source gave the time it was said, else 0."""
    utc_offset_min: NDArray[np.int64]
    """``(n,) int64``: minutes east of UTC of the clock it was said by."""

    @property
    def local_at(self) -> NDArray[np.int64]:
        """``(n,) int64``: when each was said, microseconds since 1970 as the clock showed them that it was said by."""
        return self.said_at + self.utc_offset_min * MINUTE_US


class MemoryAttributes(NamedTuple):
    """What memories may be asked for by, beside what `Columns` has; many are equal of many memories."""

    role: str
    """Who it comes from."""
    speaker: str | None
    """Name of who spoke."""
    assistant: str
    """The host."""
    branch: str | None
    """Git branch."""
    tool: str | None
    """Tool name."""
    files: tuple[str, ...]
    """Files touched."""


class Superseded(NamedTuple):
    """Which memories are replaced by which, `n` pairs."""

    old: NDArray[np.int64]
    """``(n,) int64``: row of the replaced memory."""
    new: NDArray[np.int64]
    """``(n,) int64``: row of the one that replaces it."""
    at: NDArray[np.int64]
    """``(n,) int64``: system time it was said, microseconds."""


class Retired(NamedTuple):
    """Which memories are retired, `n` of them."""

    row: NDArray[np.int64]
    """``(n,) int64``: the row, ascending."""
    at: NDArray[np.int64]
    """``(n,) int64``: system time it was said, microseconds; they are not found from then on."""


class TermBlock(NamedTuple):
    """The terms of `n` memories."""

    row: NDArray[np.int64]
    """``(n,) int64``: row of the memory, ascending."""
    end: NDArray[np.int64]
    """``(n,) int64``: where its codes end, bytes."""
    codes: bytes
    """Of one memory after the other; see `mnemic.algorithms.retrieval.term_codes`."""


class DocumentNote(NamedTuple):
    """A note that was made of a section of a document."""

    id: bytes
    """Of the memory."""
    identity: bytes
    """Its key."""
    source_id: str | None
    """What the document calls the section."""
    holds: bool
    """Whether it was neither replaced nor forgotten."""
    edited: bool
    """Whether what replaced it is of the same document."""


class KeptText(NamedTuple):
    """A memory that was kept before memories had labels, with all that they follow from."""

    labels: MemoryLabels
    """What it has of them."""
    assistant: str
    """The host."""
    is_subagent: bool
    """Whether an agent asked for its session."""
    recorded_at: int
    """System time it was kept."""
    text: bytes
    """Its text; of a long one the beginning."""
    tool: str | None = None
    """The tool's name."""
    call: bytes = b""
    """Of a result that follows its call at once, the call's text."""


class LogSnapshot(Protocol):
    """What a snapshot tells of memories: their columns, terms, texts, and what was given of them."""

    def memory_columns(self, after_row: int) -> Columns:
        """Memories kept after a row; ``0`` gives all."""

    def memory_attributes(self, first_row: int, last_row: int) -> list[MemoryAttributes]:
        """Of the memories from one row to another, both included, in the order they were kept."""

    def superseded(self) -> Superseded:
        """All replacements."""

    def retired(self) -> Retired:
        """All memories that are retired."""

    def session_rows(self, name: str) -> list[int]:
        """Numbers of the conversations of that name, of any assistant."""

    def session_names(self, rows: Sequence[int]) -> list[str]:
        """The names of conversations by their numbers, each once, the latest first."""

    def languages(self) -> list[str]:
        """The languages that texts are of, by their codes (ISO 639-1), the default one always among them."""

    def memory_terms(self, after_row: int, limit: int) -> TermBlock:
        """The terms of the first memories after a row; ``0`` begins with the first."""

    def term_totals(self) -> TermTotals:
        """What the terms of all memories are to add up to."""

    def text_starts(self, rows: Sequence[int], most_bytes: int, *, with_speaker: bool = True) -> list[str]:
        """Who spoke and the text of memories, in the order asked for; of a text so much of its start at most.

        Args:
            with_speaker: whether the name of who spoke and a space stand before each.
        """

    def text_prefixes(self, rows: Sequence[int], most_bytes: int) -> list[bytes]:
        """How the texts of memories begin, as they are kept, in the order asked for; no character is cut in two."""

    def load_memories(self, rows: Sequence[int]) -> list[Memory]:
        """Whole memories, in the order asked for."""

    def ids_of(self, rows: Sequence[int]) -> list[bytes]:
        """Ids of rows, in the order asked for."""

    def rows_of(self, ids: Sequence[bytes]) -> list[int]:
        """Rows of ids.

        Raises:
            NoSuchMemory: one of them is not there.
        """

    def delivery_counts(self, rows: Sequence[int]) -> dict[int, int]:
        """How often memories were given to whoever asked, by row; those that never were are not in it."""

    def delivered_spans(self, assistant: str, session: str) -> dict[bytes, list[tuple[int, int]]]:
        """By id the memories that a session was given, and which bytes of each."""

    def list_memories(
        self, asked: ListMemories, scopes: Sequence[int] | None, sessions: Sequence[int] | None
    ) -> MemoriesListed:
        """A page of memories, of these scopes and conversations only where they are given.

        Raises:
            InvalidValue: the cursor is none.
        """

    def list_deliveries(self, asked: ListDeliveries) -> DeliveriesListed:
        """A page of what was given.

        Raises:
            InvalidValue: the cursor is none.
        """

    def memory_details(self, row: int, context: int = 0) -> MemoryDetail:
        """The memory of a row with all that belongs to it, and so many turns before it and after it."""

    def ids_ending(self, digits: str, most: int) -> list[bytes]:
        """Ids that end with these hexadecimal digits, so many at most."""

    def count_usage(self, asked: CountUse, now: int) -> UseCounted:
        """What was kept and given, by project and week; `now` is world time, microseconds."""
