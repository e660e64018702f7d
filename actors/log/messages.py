"""Messages for browsing: list memories, show one in full, list what assistants were given, count usage.

The Retriever answers;
`mnemic.actors.log.list_memories` does it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.message import Id, MemoryExcerpt, MemoryText, Message, Text, Time, Verb
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.recall.messages import Memory

MOST_LISTED = 1000
"""So many at most on a page."""
MOST_AROUND = 100
"""So many at most before a memory, and after it."""


class ListMemories(Verb["MemoriesListed"], frozen=True, kw_only=True):
    """List memories, newest first."""

    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    session: str | None = None
    """Only this conversation."""
    since: Time | None = None
    """Captured at or after; with the order ``said``, said at or after: what its source gave no time is left out."""
    until: Time | None = None
    """Captured before; with the order ``said``, said before: what its source gave no time is left out."""
    by: Literal["captured", "said"] = "captured"
    """In the order in which they were captured, or were said (captured, where the source gave no time)."""
    kinds: tuple[str, ...] = ()
    """Only of these kinds; of all where none is named."""
    forgotten: bool = False
    """Whether to list what was forgotten, instead of what was not."""
    limit: int = 20
    """At most so many."""
    after: str | None = None
    """The cursor of the last one seen: those that come after it are listed."""
    text_bytes: int = 400
    """Of a longer text so much of its start is given."""


class MemoryEntry(MemoryExcerpt, frozen=True, kw_only=True):
    """A memory in a list."""

    cursor: str
    """Where it stands: what comes after it is listed with this as `ListMemories.after`."""
    at: Time
    """The time that it is listed by: of the order ``captured`` `recorded_at`, of ``said`` `said_at` where that is
    known."""
    said_at: Time | None
    """World time it was said; ``None`` where the source gave none."""
    recorded_at: Time
    """System time it was captured."""
    speaker: str | None
    """Name of who spoke."""
    author: str
    """Whose words it holds: ``owner``, ``assistant``, ``other`` or ``unknown``."""
    assistant: str
    """The host."""
    session: str
    """The conversation."""
    mode: str
    """How that is held: ``headless``, ``subagent``, or nothing to say."""
    tool: str | None
    """Tool name."""
    outcome: str | None
    """How the tool call ended."""
    replaced: bool
    """Whether another memory replaces it."""
    retired_at: Time | None
    """System time it was forgotten."""
    retired_reason: str | None
    """Why it was forgotten."""


class MemoriesListed(Message, frozen=True, kw_only=True):
    """Answer to `ListMemories`."""

    memories: tuple[MemoryEntry, ...]
    """Newest first."""
    more: bool
    """Whether any come after them."""


class NoteDelivery(Message, frozen=True, kw_only=True):
    """Keep that an assistant was given memories that it named itself, or read in what is made of them."""

    assistant: str
    """Who asked, as it names itself."""
    session: str
    """The conversation, where it is known."""
    parts: tuple[DeliveredSpan, ...]
    """What was given of each."""
    named: bool = True
    """Whether it named them by their ids; else it read facts, a community, a digest."""


class ListDeliveries(Verb["DeliveriesListed"], frozen=True, kw_only=True):
    """List what assistants were given, word for word, newest first."""

    scope: Scopes = "*"
    """A scope's path: what was given for it or what is below it; ``*`` for everything. Several paths: for any of
    them."""
    session: str | None = None
    """Only to this conversation."""
    since: Time | None = None
    """Given at or after."""
    until: Time | None = None
    """Given before."""
    own: bool = False
    """Whether to list what the owner's own recalls gave, instead of what assistants were given."""
    limit: int = 20
    """At most so many; fewer where they are long."""
    after: str | None = None
    """The cursor of the last one seen: those that come after it are listed."""


class DeliveredMemory(Message, frozen=True, kw_only=True):
    """One memory that was given."""

    id: Id
    """UUIDv7."""
    why: str
    """Why it was chosen, for a person to read."""
    start_byte: int
    """Where what was given of it starts in the whole."""
    data: Text = msgspec.field(name="text")
    """What was given of it, word for word; empty where only something that was read from it was."""
    size_bytes: int
    """Length of the whole memory."""

    @property
    def text(self) -> str:
        """The same as text."""
        return to_text(self.data)


class Delivery(Message, frozen=True, kw_only=True):
    """What was given at one time."""

    cursor: str
    """Where it stands: what comes after it is listed with this as `ListDeliveries.after`."""
    at: Time
    """System time."""
    occasion: str
    """``session-start``, ``prompt``, ``recall``, ``shape`` or ``get``."""
    assistant: str
    """Who was given it; empty for the owner."""
    session: str
    """The conversation, where it is known."""
    scope: Scopes
    """The scope's path, or several, as they were then; ``*`` for everything."""
    query: str
    """What was asked, where something was."""
    tokens: int
    """How long it was, all that stood around the memories' words included; a token counted as four bytes of UTF-8."""
    parts: tuple[DeliveredMemory, ...]
    """The memories, in the order in which they were given. What was erased since is not among them."""
    erased: int
    """How many stretches of memories it held that were erased since."""


class DeliveriesListed(Message, frozen=True, kw_only=True):
    """Answer to `ListDeliveries`."""

    deliveries: tuple[Delivery, ...]
    """Newest first."""
    more: bool
    """Whether any come after them."""


class ShowMemories(Verb["MemoriesShown"], frozen=True, kw_only=True):
    """Give memories whole, with all that belongs to each."""

    ids: tuple[Id, ...]
    """Which."""
    context: int = 0
    """So many turns, decisions and notes of the same conversation before each and after it, too; 100 at most."""


class RelatedMemory(MemoryText, frozen=True, kw_only=True):
    """Another memory, as far as it is shown beside one."""

    at: Time
    """World time it was said, else kept."""
    since: Time | None
    """System time since which one replaces the other."""
    retired_at: Time | None
    """System time it was forgotten."""
    size_bytes: int
    """Length of the whole."""


class DeliveryCount(Message, frozen=True, kw_only=True):
    """How often a memory was given on one occasion."""

    occasion: str
    """As in `Delivery.occasion`."""
    own: bool
    """Whether its owner asked."""
    times: int
    """How often."""
    last_at: Time
    """System time of the last."""


class MemoryDetail(Message, frozen=True, kw_only=True):
    """A memory with all that belongs to it."""

    memory: Memory
    """As it is kept."""
    mode: str
    """How its conversation is held: ``headless``, ``subagent``, or nothing to say."""
    seq: int | None
    """Number of the transaction that kept it."""
    author: str | None
    """What let it in: ``hook``, ``transcript``, ``mcp``, ``direct`` (its owner's own call), ``import`` or
    ``restore``."""
    run: str | None
    """What that belonged to."""
    machine: str | None
    """Name of the machine."""
    code: str | None
    """Version of Mnemic."""
    scrubbed: dict[str, int]
    """Secrets taken out of its text before it was kept, by type."""
    original: bool
    """Whether its text from before that is kept too."""
    newer: tuple[RelatedMemory, ...]
    """What replaces it, what replaces that, to the one that holds."""
    older: tuple[RelatedMemory, ...]
    """What it replaces."""
    previous: Id | None
    """Id of what was said before it in the same conversation."""
    next: Id | None
    """Id of what was said after it."""
    uses: tuple[DeliveryCount, ...]
    """How often it was given, by occasion."""
    around: tuple[MemoryEntry, ...] = ()
    """What was said before it and after it, where `ShowMemories.context` asks for that: in order, itself among them,
    whatever it is; of a longer text the start."""


class MemoriesShown(Message, frozen=True, kw_only=True):
    """Answer to `ShowMemories`."""

    memories: tuple[MemoryDetail, ...]
    """In the order asked for."""


class FindIds(Verb["IdsFound"], frozen=True, kw_only=True):
    """Find memories by the ends of their ids, since they begin with their time, and so alike."""

    ends: tuple[str, ...]
    """Of each the last hexadecimal digits of its id, without hyphens."""


class IdsFound(Message, frozen=True, kw_only=True):
    """Answer to `FindIds`."""

    ids: tuple[Id, ...]
    """One for each end, in the order asked for."""


class CountUse(Verb["UseCounted"], frozen=True, kw_only=True):
    """Count memories, bytes and the tokens that assistants were given, by project and by week."""

    weeks: int = 8
    """So many weeks, this one and those before it."""


class Use(Message, frozen=True, kw_only=True):
    """What was kept and given in one span of time."""

    memories: int = 0
    """Memories said in it (kept, where the source gave no time)."""
    text_bytes: int = 0
    """Their texts."""
    given: int = 0
    """How often assistants were given something."""
    tokens: int = 0
    """How long that was together."""


class ProjectUse(Message, frozen=True, kw_only=True):
    """What was kept and given of one scope."""

    path: str
    """Its path, as it was when something was given; ``*`` for what was asked of everything."""
    total: Use
    """Ever."""
    weeks: tuple[Use, ...]
    """In each of `UseCounted.weeks`."""


class UseCounted(Message, frozen=True, kw_only=True):
    """Answer to `CountUse`."""

    weeks: tuple[Time, ...]
    """The Monday on which each week starts, by the machine's calendar, as its midnight in UTC; the newest first."""
    all: tuple[Use, ...]
    """Everything in each of them."""
    projects: tuple[ProjectUse, ...]
    """By path."""
    told_twice: int = 0
    """How many turns of users state again what one of theirs had stated in another conversation of the project (the
    same of the same thing) and what their own conversation had not been given before."""
