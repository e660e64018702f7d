"""What a snapshot tells of nights and of what they derived.

Part of `mnemic.actors.kernel.snapshot.Snapshot`; `mnemic.runtime.store.sleep.read` holds the real one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, Protocol

from mnemic.actors.sleep.changes import SourceSpan, StageReport
from mnemic.actors.sleep.effects import RecallEffect

Grouping = Literal["session", "topic"]
"""What is said is grouped by this: by conversations, or by the communities it belongs to."""


class NightRecord(NamedTuple):
    """A night that changed something."""

    number: int
    """Its number, from 1."""
    run: str
    """Its name."""
    seq: int
    """Number of the transaction it began with."""
    at: int
    """System time of that, microseconds."""
    reason: str
    """Why it began."""
    ended_at: int | None
    """System time it ended, microseconds; ``None`` where it was broken off."""
    why: str
    """Why it ended; empty where it was broken off."""
    undone_at: int | None
    """System time it was taken back, microseconds."""
    stages: tuple[StageReport, ...]
    """What each stage did."""


class DerivedRecord(NamedTuple):
    """An item that a night derived; see `mnemic.actors.sleep.changes.DerivedItem`."""

    number: int
    """Its number."""
    stage: str
    """The stage that made it."""
    key: bytes
    """What it is of."""
    stamp: bytes
    """The state of its sources."""
    value: bytes
    """What was made of them."""
    made: int
    """Number of the night that made it."""
    gone: int | None
    """Number of the night at which it made way."""
    sources: tuple[SourceSpan, ...]
    """Where it points to."""


class GroupState(NamedTuple):
    """The memories of a conversation or of a topic within one scope, as far as a night looks at them."""

    group: int
    """Number of the conversation or of the topic."""
    mark: int
    """What it goes by after a rebuild, too."""
    scope: int
    """Number of the scope."""
    stamp: bytes
    """What tells which memories these are, 16 bytes."""


class PersonalStatement(NamedTuple):
    """What a user asserts of themselves."""

    row: int
    """The memory's row."""
    session: int
    """Number of the conversation."""
    scope: int
    """Number of the scope."""
    said_at: int
    """World time it was said, else kept, microseconds."""
    subject: int
    """Number of the entity that the user is."""
    value_key: int
    """What equal values have in common."""
    verb: str
    """The verb, as a dictionary lists it, with its preposition."""
    clause: tuple[int, int]
    """The clause that says so, bytes of the memory's text."""


class Verdict(NamedTuple):
    """What the last exam said of a stage."""

    night: int
    """Number of the newest night that the stage had derived anything in."""
    seq: int
    """Number of the transaction that said so."""
    effect: RecallEffect
    """What its items do to recalls."""
    questions: int
    """How many were asked; fewer than an exam takes where it passed without one."""
    passed: bool
    """Whether recalls go by what stood after that night; else they go by nothing of the stage."""
    why: str
    """What was found."""


class DeliveryBlock(NamedTuple):
    """Some deliveries to one conversation of an assistant."""

    assistant: str
    """The assistant."""
    session: str
    """The conversation."""
    block: int
    """Number of the delivery by the size of blocks, rounded down."""
    stamp: bytes
    """What tells what it was given and what was said since, 16 bytes."""


class GivenPart(NamedTuple):
    """A stretch of a memory that a conversation was given."""

    delivery: int
    """Number of the delivery."""
    at: int
    """System time of that, microseconds."""
    occasion: str
    """As in `mnemic.actors.log.changes.RecordDelivery`."""
    query: str
    """What was asked, if anything was."""
    scope: str
    """What it was asked of: a path, several lines of them, or ``*``."""
    row: int
    """The memory's row."""
    start: int
    """First byte of the stretch."""
    stop: int
    """The byte after its last."""
    corrected_at: int | None
    """System time at which the memory was corrected, microseconds."""
    before: int | None
    """Number of the last delivery before that gave that memory to the same conversation, other than by its id."""


class SaidTurn(NamedTuple):
    """A turn of a conversation that was given memories."""

    row: int
    """The memory's row."""
    at: int
    """When it was said, else kept, microseconds."""
    is_reply: bool
    """Whether the assistant said it; else the user did."""


class PastQuestion(NamedTuple):
    """What was asked once."""

    at: int
    """System time, microseconds."""
    scopes: tuple[str, ...]
    """Paths that it was asked of; ``*`` for everything."""
    query: str
    """The question."""


class SleepSnapshot(Protocol):
    """The state as of one `seq`."""

    def nights(self, limit: int) -> list[NightRecord]:
        """The newest nights, the newest first."""

    def night(self, run: str) -> NightRecord | None:
        """The night of a name."""

    def night_numbered(self, number: int) -> NightRecord | None:
        """The night of a number."""

    def derived(self, stage: str, keys: Sequence[bytes] | None = None) -> list[DerivedRecord]:
        """What stands of a stage, by key: under some keys, or under all."""

    def derived_stamps(self, stage: str) -> dict[bytes, bytes]:
        """Of what stands of a stage the state of its sources, by key."""

    def derived_at(self, night: int) -> list[DerivedRecord]:
        """What a night made, and what made way at it, by number."""

    def are_nights_held(self) -> bool:
        """Whether nights were taken back, and nothing was captured since."""

    def stage_failures(self) -> dict[str, tuple[int, str]]:
        """Of each stage that failed when it was had last: in how many nights one after the other, and why."""

    def personal_statements(self, verbs: Collection[str]) -> list[PersonalStatement]:
        """What users assert of themselves with some verbs, the oldest first; not what was forgotten or corrected. To a
        verb with an object and a preposition ("hate mocks in tests") the verb counts.
        """

    def group_states(self, grouping: Grouping) -> list[GroupState]:
        """All groups of memories that are neither forgotten nor corrected, by group and scope."""

    def group_rows(self, grouping: Grouping, group: int, scope: int) -> list[int]:
        """Rows of the memories of one of these, ascending."""

    def verdicts(self) -> dict[str, Verdict]:
        """What the last exams said, by stage."""

    def newest_change(self, stage: str) -> int:
        """Number of the newest night that made an item of a stage or had one make way; 0 for none."""

    def derived_after(self, stage: str, night: int) -> list[DerivedRecord]:
        """What stood of a stage after a night, by key."""

    def derived_values(self, stage: str) -> dict[bytes, bytes]:
        """The values of what stands of a stage, by key."""

    def row_blocks(self, size: int) -> dict[int, bytes]:
        """Of each block of so many rows, by number from 0, what tells which memories of it are neither forgotten nor
        corrected, and in which scopes; 16 bytes.
        """

    def rows_in_block(self, size: int, block: int) -> list[int]:
        """Rows of those memories of a block, ascending."""

    def delivery_blocks(self, size: int) -> list[DeliveryBlock]:
        """All deliveries to conversations of assistants, by conversation and so many numbers in a row."""

    def given_in(self, of: DeliveryBlock, size: int, most: int) -> list[GivenPart]:
        """What these gave of memories that are not forgotten and of other conversations, the oldest first, of each
        delivery at most so many.
        """

    def turns_around(self, of: DeliveryBlock, scope: str, at: int, before: int, after: int) -> list[SaidTurn]:
        """The last turns before a delivery and the first after it, at most so many each, in their order: of its
        conversation, or where no memory is of that, what was said in its project within a quarter of an hour.
        """

    def past_questions(self, deliveries: Sequence[int]) -> dict[int, PastQuestion]:
        """What was asked in some deliveries, by their numbers; what is not kept is left out."""
