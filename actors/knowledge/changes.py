"""Changes of what is known: statements read from memories, how pairs of them were graded, and a person's verdicts.

Part of the closed list in `mnemic.actors.kernel.changes`. Statements, mentions and grades are made from memories, and
not logged; a statement points to its memory and holds no words of it but the normal form of what it is said of. What a
person settles is logged. Offsets are bytes of the memory's text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemic.actors.kernel.message import ChangeBase, Id

Verdict = Literal["newer", "older", "both", "unrelated", "open"]
"""Of two statements: the newer one holds, the older one does, both do, they are not about the same; or nothing is said
any more."""
Grade = Literal["replaced", "conflict"]
"""What a pair was graded as: the newer statement replaces the older one, or a person should say."""
Span = tuple[int, int]
"""First byte, and the one after the last."""


class StatementRow(msgspec.Struct, frozen=True, array_like=True):
    """A statement as it is read from a memory; see `mnemic.algorithms.knowledge.extraction.statements`."""

    subject: str
    """Normal form of what it is said of; empty where the text does not tell."""
    subject_span: Span
    """Where that stands; empty where nothing does."""
    relation: str
    """The verb as a dictionary lists it, with its preposition; empty where the value is the whole predicate."""
    value: Span
    """What is said of it."""
    clause: Span
    """The clause around it."""
    negative: bool
    """Whether it is denied."""
    modality: str
    """With what status it is said."""
    holds_from: int | None
    """The day from which it holds, where the words tell one: its midnight, microseconds by a clock on the wall. It
    names no zone, so that it stays the same day in any."""
    holds_to: int | None
    """The day from which it does no longer, likewise."""
    single: bool
    """Whether it stands alone, and not beside others of its kind (``also``)."""
    rule: str
    """What decided the status, in words for a reader."""
    instead_of: Span = (0, 0)
    """The value that it takes the place of by its own words; empty where they name none."""
    is_change: bool = False
    """Whether its words tell of a change: it may replace what was said of its subject in other words."""
    value_key: int = 0
    """What equal values have in common, 64 bits; 0 of none."""
    over_key: int = 0
    """The same of the value that it tells to be over; 0 where it tells none."""
    own_key: int = 0
    """The same of its subject, where that does something for others which ends once it is over; else 0."""


class MentionRow(msgspec.Struct, frozen=True, array_like=True):
    """A name of something in a memory; see `mnemic.algorithms.knowledge.entities.mentions`."""

    key: str
    """Its normal form: what an entity is known by."""
    name: str
    """As it is written."""
    span: Span
    """Where it stands."""
    kind: str
    """What the words tell it is: a person, a file, ..."""


class MemoryReading(msgspec.Struct, frozen=True, array_like=True):
    """What was read from one memory."""

    row: int
    """The memory's row."""
    statements: tuple[StatementRow, ...]
    """In the order of the text."""
    mentions: tuple[MentionRow, ...]
    """Likewise."""
    failed: bool = False
    """Whether the extractor failed at it: then it has no statements."""


class AddStatements(ChangeBase, frozen=True, kw_only=True, tag="add_statements"):
    """Keep what was read from memories, in place of what was read from them before.

    Nothing where the store was made anew since they were read. One that is gone, or waits no longer, is passed over.
    """

    generation: int
    """The store's generation when they were read."""
    reading: str
    """By which version of which extractor; where it is another one than before, all memories are to be read again."""
    memories: tuple[MemoryReading, ...]
    """Memory by memory."""


class GradedPair(msgspec.Struct, frozen=True, array_like=True):
    """Two statements of one matter."""

    older: int
    """Number of the one said earlier."""
    newer: int
    """Number of the one said later."""
    grade: Grade
    """What they are to each other."""
    probability: float
    """How probably the newer one has replaced the older, 0 to 1."""
    why: str
    """A clause for a reader."""


class GradeStatements(ChangeBase, frozen=True, kw_only=True, tag="grade_statements"):
    """Keep how the statements of some memories were graded against earlier ones, in place of what they were before.

    Nothing where the store was made anew, or a pair's statement is not there any more.
    """

    generation: int
    """The store's generation when they were graded."""
    seq: int
    """The store's number then: what was marked since waits on."""
    rows: tuple[int, ...]
    """Rows of the memories, which wait no longer."""
    pairs: tuple[GradedPair, ...]
    """What came of it."""


class SettleStatements(ChangeBase, frozen=True, kw_only=True, tag="settle_statements"):
    """Say what two statements are to each other, whatever they were graded as: the word of a person, or an assistant's.

    Statements are named by their memories and the byte at which their value begins, which a rebuild leaves as they are.
    """

    older: Id
    """Memory of the statement said earlier."""
    older_start: int
    """Where its value begins."""
    newer: Id
    """Memory of the statement said later."""
    newer_start: int
    """Where its value begins."""
    verdict: Verdict
    """What they are."""
    by: str
    """Who says so: ``user``, or an assistant's name."""


class MergeEntities(ChangeBase, frozen=True, kw_only=True, tag="merge_entities"):
    """Say that two names are of one thing, or take that back. Names are given by their marks, so that the log holds
    none of their letters.
    """

    entity: bytes
    """Keyed hash of the normal form of the one name, 32 bytes; see `mnemic.actors.knowledge.queries`."""
    into: bytes = b""
    """The same of the name that it goes by; empty takes back what was said of it."""
