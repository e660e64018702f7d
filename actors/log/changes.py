"""Changes of memories: that one is kept, replaced, hidden or shown again, and that it was given to somebody."""

from __future__ import annotations

import msgspec

from mnemic.actors.kernel.events import Author, Kind, Outcome, Role
from mnemic.actors.kernel.message import ChangeBase, Id
from mnemic.actors.kernel.scope_paths import ScopeRef

MEMORY_FIELDS = (
    *("source_id", "kind", "role", "speaker", "said_at", "branch", "tool", "outcome", "author", "utc_offset_min"),
)
"""Fields that go by one name from `Event` and `AddMemory` through the column of ``memories`` to `Memory` and a line of
an export. What passes them on reads this list."""


class AddMemory(ChangeBase, frozen=True, kw_only=True, tag="add_memory"):
    """Keep one text for good. A memory of the same identity is kept once."""

    id: bytes
    """UUIDv7, 16 bytes."""
    identity: bytes
    """Keyed hash, 32 bytes, that tells whether this was captured before."""
    assistant: str
    """The host, as in `Event.assistant`."""
    session: str
    """The conversation."""
    place: ScopeRef
    """The scope."""
    kind: Kind
    """What it is."""
    role: Role
    """Who it comes from."""
    text: bytes
    """Verbatim, UTF-8 with ``surrogatepass``."""
    source_id: str | None = None
    """The input's own id."""
    speaker: str | None = None
    """Name of who spoke."""
    said_at: int | None = None
    """World time, microseconds since 1970 UTC."""
    branch: str | None = None
    """Git branch."""
    tool: str | None = None
    """Tool name."""
    outcome: Outcome | None = None
    """How the tool call ended."""
    files: tuple[str, ...] = ()
    """Files touched."""
    scrubbed: tuple[tuple[str, int], ...] = ()
    """What was taken out of the text before it was kept: the type of each secret and how many of it."""
    author: Author | None = None
    """Whose words it holds; ``None`` of what was kept before memories said so."""
    utc_offset_min: int | None = None
    """Minutes east of UTC of the clock it was said by; ``None`` of what was kept before memories said so."""
    formerly: bytes | None = None
    """The identity that an earlier version gave it, where that differs: it is not kept twice."""
    part_of: bytes | None = None
    """The user's turn that an earlier version kept, where `text` is a part of it: what became of that holds for it."""


class Supersede(ChangeBase, frozen=True, kw_only=True, tag="supersede"):
    """Say that a newer memory replaces an older one; the old words stay readable as the past.

    What was replaced already is replaced at the end of its chain. A memory that replaces itself is refused.
    """

    old: bytes
    """The memory that no longer holds."""
    new: bytes
    """The memory that holds instead."""


class Retire(ChangeBase, frozen=True, kw_only=True, tag="retire"):
    """Hide a memory from recall from now on; what it was, and that it was, stays. One that is retired stays so."""

    memory: bytes
    """Which."""
    reason: str
    """Why, with lone surrogates escaped; ``""`` where nobody said."""


class Unretire(ChangeBase, frozen=True, kw_only=True, tag="restore"):
    """Take back a `Retire`: the memory is as if it had never been retired, to who asks for an earlier time too."""

    memory: bytes
    """Which; one that is not retired stays as it is."""


class DeliveredSpan(msgspec.Struct, frozen=True, array_like=True):
    """What was given of one memory, and why. Texts never change, so where it lies in the text is what it said."""

    memory: Id
    """Its id."""
    start: int
    """The byte at which it starts."""
    stop: int
    """The byte after it."""
    why: str
    """Why it was chosen, for a person to read."""


class RecordDelivery(ChangeBase, frozen=True, kw_only=True, tag="record_delivery"):
    """Keep what somebody was given, asked or unasked: which stretches of which memories."""

    occasion: str = "recall"
    """What was asked for: ``recall``, memories by their structure (``shape``), by their ids (``get``), or what is made
    of them (``read``); or, where it was told unasked: ``session-start``, ``prompt``."""
    assistant: str = ""
    """The assistant, as it names itself; empty for the owner."""
    session: str = ""
    """The conversation, where it is known."""
    scope: str
    """The scope that was asked, or that it was told for; ``*`` for everything; several stand one a line."""
    query: str = ""
    """The question, with lone surrogates escaped."""
    parts: tuple[DeliveredSpan, ...]
    """What was given of each memory, in that order."""
    tokens: int
    """How long what was given is, all that stood around the memories' words included."""
    at: int | None = None
    """System time it was given, microseconds; that of the transaction where absent."""
