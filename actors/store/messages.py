"""Messages of the store: carry out changes, say what was committed, rebuild, count.

Requests are in the imperative, answers and events in the past tense; see `mnemic.actors.kernel.message`.
"""

from __future__ import annotations

from typing import Literal

from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.message import Id, Message, Request, Time, Verb
from mnemic.actors.scopes.changes import RenameScope


class Apply(Request["Applied"], frozen=True, kw_only=True):
    """Carry out changes in one transaction."""

    changes: tuple[Change, ...]
    """In order."""
    key: bytes
    """Idempotency key: the same key again changes nothing and gives the same answer."""
    author: str
    """The actor that asks for it."""
    run: str
    """What it belongs to: a trace, a night."""


class AddOutcome(Message, frozen=True, kw_only=True):
    """What became of one `AddMemory`."""

    superseded_by: Id | None = None
    """Id of what has replaced it since, where it was known."""
    retired_at: Time | None = None
    """System time it was retired, where it was known and is."""
    erased: bool = False
    """Whether it was erased before, and so is not kept: there is no memory of that id."""

    id: Id
    """The id under which it is kept: the earlier one's where it was known."""
    created: bool
    """Whether it is new."""
    same_text: bool
    """Whether the text kept is the text given."""
    scope: str
    """Path of the scope it is in."""


class Applied(Message, frozen=True, kw_only=True):
    """Answer to `Apply`: what was asked for is committed."""

    seq: int
    """Number of the transaction; the newest one's where nothing was changed."""
    kept: tuple[AddOutcome, ...]
    """One for each `AddMemory`, in order."""
    changed: tuple[bool, ...] = ()
    """For each change, in order, whether it did anything: what is so already is not done again."""
    made_way: tuple[RenameScope, ...] = ()
    """What was done besides: projects that had only their folder's name have another path now."""


class Committed(Message, frozen=True, kw_only=True):
    """Event: memories were committed or rebuilt; whoever derives something from them may follow."""

    seq: int
    """Number of the newest transaction then."""


class Rebuild(Verb["Rebuilt"], frozen=True, kw_only=True):
    """Make what is derived again from the log."""

    meaning: bool = False
    """Whether the vectors too are to be made again; they follow in the background."""


class Rebuilt(Message, frozen=True, kw_only=True):
    """Answer to `Rebuild`."""

    seq: int
    """Number of the newest transaction: all up to it was replayed."""


class Checkpoint(Request["Checkpointed"], frozen=True, kw_only=True):
    """Have what was committed stand in the store's own file, and not in its write-ahead log alone."""


class Checkpointed(Message, frozen=True, kw_only=True):
    """Answer to `Checkpoint`."""

    complete: bool
    """Whether all that was committed before stands there, on the disk; not while somebody reads what is older."""


class Count(Verb["Counts"], frozen=True, kw_only=True):
    """Count what is there."""


class ScopeCount(Message, frozen=True, kw_only=True):
    """What one scope holds."""

    path: str
    """Its path."""
    found: str
    """How it was found."""
    memories: int
    """How many."""


class LostTransactions(Message, frozen=True, kw_only=True):
    """Transactions that were acknowledged and are not in the store any more, or may not be."""

    last: int
    """Number of the last one before them."""
    count: int
    """How many they are; 0 where that is not known, since what tells of it, the high-water mark, was damaged."""
    since: Time | None
    """System time of the last one before them; ``None`` where nothing is left."""
    until: Time
    """System time of the last one of them; where they are not known, of the last one that is there."""
    power_cut: bool
    """Whether the machine was started anew since, and the disk need not have had them: a power cut explains it. Else
    the store's files were damaged, or older ones put in their place."""


class Counts(Message, frozen=True, kw_only=True):
    """Answer to `Count`."""

    scan: str = ""
    """Which code compares vectors: its instruction set, or ``numpy``."""
    seq: int
    """Number of the newest transaction."""
    memories: int
    """All memories: those that are embedded, those that wait to be, and those that were forgotten."""
    retired: int = 0
    """Memories that were forgotten: kept, and not found."""
    sessions: int
    """All conversations."""
    headless: int = 0
    """Conversations in front of which nobody sat."""
    subagents: int = 0
    """Conversations that an agent had with another."""
    text_bytes: int
    """All texts, as they were captured."""
    kept_bytes: int
    """All texts, as they are kept: each once, long ones compressed."""
    embedded: int
    """Memories found by meaning."""
    pending: int
    """Memories found by words only, so far."""
    partly: int
    """Of those embedded, memories of which only the first part is, or nothing where the model failed on the text."""
    bound: int = 0
    """Memories found by their shape."""
    unbound: int = 0
    """Memories that wait for their hypervector; what was forgotten waits for none."""
    unread: int = 0
    """Memories that have none, or one without facts or roles of their own, since reading or binding them failed."""
    communities: int = 0
    """Topics: groups of two memories or more that belong together."""
    unreadable: int = 0
    """Memories at which the extractor of statements failed."""
    scopes: tuple[ScopeCount, ...]
    """By path."""
    kinds: dict[str, int]
    """Memories of each kind."""
    lost: tuple[LostTransactions, ...] = ()
    """What was acknowledged and is not there any more, as far as nobody has taken note of it; the oldest first."""


class NoteBackup(Verb["BackupNoted"], frozen=True, kw_only=True):
    """Note that a backup or an export of the mind was made."""

    path: str
    """Where, absolute, with lone surrogates escaped."""
    what: Literal["backup", "export"]
    """Which."""
    size_bytes: int
    """How long it is."""


class BackupNoted(Message, frozen=True, kw_only=True):
    """Answer to `NoteBackup`."""

    seq: int
    """Number of the transaction that says so."""
