"""Messages about forgetting: memories by their ids or by a selection, and what erasing them would take."""

from __future__ import annotations

from mnemic.actors.kernel.message import Id, MemoryExcerpt, Message, Time, Verb
from mnemic.actors.store.messages import ScopeCount


class Forget(Verb["Forgotten"], frozen=True, kw_only=True):
    """Hide memories from recall from now on, all or none; their texts stay."""

    ids: tuple[Id, ...]
    """Which; one named twice is meant once."""
    reason: str = ""
    """Why."""


class Recover(Verb["Forgotten"], frozen=True, kw_only=True):
    """Take back that memories were forgotten, all or none."""

    ids: tuple[Id, ...]
    """Which; one named twice is meant once."""


class Retirement(MemoryExcerpt, frozen=True, kw_only=True):
    """How one memory stands after `Forget` or `Recover`."""

    changed: bool
    """False where it stood so before."""
    retired_at: Time | None
    """System time it was forgotten; ``None`` where it is found again."""
    reason: str | None
    """Why it was forgotten; ``None`` where it is found again."""
    speaker: str | None
    """Name of who spoke."""
    session: str
    """The conversation."""
    said_at: Time | None
    """World time."""


class Forgotten(Message, frozen=True, kw_only=True):
    """Answer to `Forget` and to `Recover`."""

    memories: tuple[Retirement, ...]
    """In the order they were named."""


class Selection(Message, frozen=True, kw_only=True):
    """Which memories are meant: those that are named, or else all that fulfil every condition that is given."""

    ids: tuple[Id, ...] = ()
    """These, and no others; all of them must be there."""
    scope: str | None = None
    """In this scope or below it; ``*`` is everything."""
    session: str | None = None
    """Of the conversation of that name, and of those that its subagents had."""
    since: Time | None = None
    """Said at or after; what its source gave no time is left out."""
    until: Time | None = None
    """Said before; what its source gave no time is left out."""
    forgotten_at: Time | None = None
    """Those that were forgotten at that very moment."""

    @property
    def empty(self) -> bool:
        """Whether nothing is said of which are meant."""
        return self == Selection()


class BackupCopy(Message, frozen=True, kw_only=True):
    """A backup or an export that was made when a memory was there."""

    path: str
    """Where it was written."""
    what: str
    """``backup`` or ``export``."""
    at: Time
    """When, system time."""


class Survey(Verb["Surveyed"], frozen=True, kw_only=True):
    """Say what a selection holds."""

    selection: Selection
    """Which memories."""
    shown: int = 10
    """So many of them at most are shown."""


class Surveyed(Message, frozen=True, kw_only=True):
    """Answer to `Survey`."""

    memories: int
    """How many there are."""
    retired: int
    """Of those, memories that were forgotten."""
    size_bytes: int
    """How long their texts are together."""
    sessions: int
    """How many conversations they are of."""
    scopes: tuple[ScopeCount, ...]
    """How many of them are in which scope, by path."""
    oldest: Time | None
    """World time of the oldest."""
    newest: Time | None
    """World time of the newest."""
    first: tuple[Retirement, ...]
    """The newest of them, and how each begins; `Retirement.changed` says nothing here."""
    originals: int
    """Words kept as they were before secrets were taken out of them."""
    given: int
    """How often an assistant was given one of them, or a recall found one."""
    corrected: int
    """Memories beside them that one of them replaces, and that will stand for themselves again."""
    copies: tuple[BackupCopy, ...]
    """Backups and exports in which some of them are, newest first."""
    generation: int
    """With `last_row`, which state this is: what is kept from now on is not in it."""
    last_row: int
    """Highest row of the mind's memories."""


class ForgetSelection(Verb["SelectionForgotten"], frozen=True, kw_only=True):
    """Hide all memories of a selection from recall, or take that back."""

    selection: Selection
    """Which memories."""
    reason: str = ""
    """Why they are hidden."""
    restore: bool = False
    """Whether they are found again."""


class SelectionForgotten(Message, frozen=True, kw_only=True):
    """Answer to `ForgetSelection`."""

    changed: int
    """Memories that stood otherwise before."""
    unchanged: int
    """Memories that stood so already."""
    at: Time | None
    """System time at which they were forgotten: what takes just this back goes by it."""
