"""What a snapshot tells of statements, of the things they are about, and of how pairs of them were graded.

Part of `mnemic.actors.kernel.snapshot.Snapshot`; `mnemic.runtime.store.knowledge.read` holds the real one. Rows and
numbers mean the same for as long as the store's generation does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import date
from typing import NamedTuple, Protocol

import msgspec

from mnemic.actors.knowledge.changes import StatementRow
from mnemic.algorithms.knowledge.extraction.statements import Statement

READ_BYTES = 8_192
"""Of a longer text no more is read."""
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""Characters that no column of the store can hold; where a text is read, each is a space."""


class UnreadMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that waits to be read."""

    row: int
    """Its row."""
    text: bytes
    """How it begins."""
    role: str
    """Who it comes from."""
    speaker: str | None
    """Who spoke."""
    said_at: int
    """World time it was said, else kept, microseconds."""
    utc_offset_min: int = 0
    """Minutes east of UTC of the clock it was said by."""


class Correction(NamedTuple):
    """A memory that somebody said instead of another one."""

    memory: bytes
    """Its id."""
    at: int
    """World time from which it holds, microseconds."""
    text: bytes
    """How its text begins."""


class StatementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A statement as it is kept, with what belongs to its memory."""

    number: int
    """Its number."""
    place: int
    """Its place among the statements of its memory."""
    said: StatementRow
    """What was read."""
    row: int
    """Row of the memory."""
    memory: bytes
    """Id of the memory."""
    text: bytes
    """How the memory's text begins: as far as it was read."""
    role: str
    """Who it comes from."""
    speaker: str | None
    """Who spoke."""
    said_at: int
    """World time it was said, else kept, microseconds."""
    scope: int
    """Number of the scope."""
    path: str
    """Path of that."""
    holds_from: int | None = None
    """World time at which the day begins from which it holds, where its words name one, microseconds."""
    holds_to: int | None = None
    """World time at which the day begins from which it no longer holds, likewise."""
    correction: Correction | None = None
    """What stands for its memory; absent unless corrected ones were asked for."""


class PairRecord(NamedTuple):
    """Two statements as they were graded or settled. Neither memory is forgotten, and the older one not corrected."""

    older: int
    """Number of the one said earlier."""
    newer: int
    """Number of the one said later."""
    grade: str
    """``replaced`` or ``conflict``; empty where the pair is there by a verdict alone."""
    probability: float
    """How probably the newer one replaced the older."""
    why: str
    """What that rests on."""
    verdict: str
    """What somebody said of it; empty where nobody did."""
    by: str
    """Who."""
    older_at: int
    """World time that the one was said, microseconds."""
    newer_at: int
    """World time that the other was said."""

    @property
    def replaced(self) -> int:
        """Number of the statement that holds no more; 0 where both stand."""
        if self.verdict:
            return {"newer": self.older, "older": self.newer}.get(self.verdict, 0)
        return self.older if self.grade == "replaced" else 0

    @property
    def successor(self) -> int:
        """Number of the other one of the two, which stands for `replaced`."""
        return self.newer if self.replaced == self.older else self.older

    @property
    def is_open(self) -> bool:
        """Whether somebody should say what they are."""
        return self.grade == "conflict" and not self.verdict


class EntityRecord(NamedTuple):
    """A name that memories have, all its spellings taken for one."""

    number: int
    """Its number."""
    key: str
    """Its normal form."""
    name: str
    """As it was written first."""
    mark: bytes
    """Keyed hash of that, 32 bytes."""


class MentionRecord(NamedTuple):
    """One name in one memory."""

    entity: int
    """Number of the entity."""
    row: int
    """Row of the memory."""
    kind: str
    """What the words tell it is."""
    name: str
    """As it is written there; empty where that was not asked for."""
    session: int
    """Number of the conversation."""
    said_at: int
    """World time it was said, microseconds."""
    span: tuple[int, int]
    """Where it stands, bytes of the memory's text."""


class KnowledgeSnapshot(Protocol):
    """The state as of one `seq`."""

    def knowledge_reading(self) -> str:
        """By which version of which extractor memories were read; empty where none was."""

    def unread_memories(self, limit: int, most_bytes: int) -> list[UnreadMemory]:
        """Memories that wait to be read, by row; of a longer text the beginning."""

    def ungraded_rows(self, limit: int) -> list[int]:
        """Rows of memories whose statements wait to be graded, ascending."""

    def read_count(self) -> int:
        """How many memories there are of the kinds that are read."""

    def knowledge_waiting(self) -> tuple[int, int]:
        """How many memories wait to be read, and how many to be graded."""

    def statements_of(self, rows: Sequence[int]) -> list[StatementRecord]:
        """The statements of some memories that are neither forgotten nor corrected, by number."""

    def graded_rows(self, rows: Sequence[int]) -> list[int]:
        """Which of some memories have a statement that is in a pair, or that tells until when it holds."""

    def statements(self, numbers: Sequence[int]) -> list[StatementRecord]:
        """Some statements, by number; without those whose memory is forgotten or corrected."""

    def successors(self, numbers: Sequence[int]) -> list[StatementRecord]:
        """The same with those whose memory was corrected: what they replaced holds no more for that."""

    def places_of(self, numbers: Collection[int]) -> dict[int, tuple[bytes, int]]:
        """By number, the memory's id and the byte at which the value begins."""

    def gradable_pairs(self, rows: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """Pairs of numbers: an earlier statement of another memory of the same scope, and one of some memories that may
        replace it.

        Those are of the same subject where the later one tells of a change or both have the same verb, and those whose
        value or subject the later one tells to be over.

        Args:
            limit: so many of each sort at most for a statement, the nearest in time.
        """

    def rows_graded_after(self, rows: Sequence[int], limit: int) -> list[int]:
        """Rows of the memories that wait for nothing and may replace what some memories state: with such a limit, all
        that `gradable_pairs` pairs with these.
        """

    def statements_about(
        self,
        entities: Collection[int] | None,
        scopes: Collection[int] | None,
        relation: str,
        limit: int,
        until: int | None = None,
        *,
        corrected: bool = False,
    ) -> list[StatementRecord]:
        """Statements about some things, or about any, the newest first; with a limit of -1 all.

        Args:
            entities: numbers.
            scopes: numbers of scopes; all where ``None``.
            relation: those alone; any where empty.
            until: world time, microseconds; what was said later is left out.
        """

    def pairs_of(self, numbers: Collection[int]) -> list[PairRecord]:
        """The pairs that some statements are in."""

    def pairs(self, scopes: Collection[int] | None, *, is_open: bool) -> list[PairRecord]:
        """All pairs that are open, or all that are not, the newest first."""

    def entities(self) -> list[EntityRecord]:
        """All names."""

    def mentions(
        self, scopes: Collection[int] | None, entities: Collection[int] | None, *, named: bool
    ) -> list[MentionRecord]:
        """Names in memories that are neither forgotten nor corrected, by row; of some entities, or of all.

        Args:
            named: whether they are told as they are written, for which each text is read.
        """

    def subjects(self, scopes: Collection[int] | None) -> set[int]:
        """Numbers of what statements are about, of memories that are neither forgotten nor corrected."""

    def entity_merges(self) -> list[tuple[bytes, bytes]]:
        """Which name goes by which other, as a person said, in that order: marks."""


StatementExtractor = Callable[[str, str | None, date], list[Statement]]
"""Finds what a text states: the text, who said it, and on which day; `mnemic.algorithms.knowledge.extraction` has the
built-in one."""
