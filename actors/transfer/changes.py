"""Changes of what leaves the store: what is left of erased inputs, and that a backup was made."""

from __future__ import annotations

from mnemic.actors.kernel.message import ChangeBase
from mnemic.actors.kernel.scope_paths import ScopeRef


class Tombstone(ChangeBase, frozen=True, kw_only=True, tag="erased"):
    """What is left in the log of a memory that was erased: enough not to keep it again. No actor can ask for it."""

    identity: bytes
    """The keyed hash that tells whether it is captured again, 32 bytes."""
    row: int = 0
    """The row it had, which no other memory gets, since what is derived goes by rows; 0 where it never was here."""
    place: ScopeRef | None = None
    """The scope that it made, where later changes of the log are about that scope; else nothing is kept of it."""


class RedactedChange(ChangeBase, frozen=True, kw_only=True, tag="blank"):
    """What is left in the log of a change that was about an erased memory alone. No actor can ask for it."""

    links: tuple[tuple[bytes, bytes], ...] = ()
    """Memories that an erased one stood between, once it was replaced itself: each with what replaces it since."""


class RecordBackup(ChangeBase, frozen=True, kw_only=True, tag="record_backup"):
    """Say that a backup or an export was made: what is erased later is still in it."""

    path: str
    """Where, absolute, with lone surrogates escaped."""
    what: str
    """``backup`` or ``export``."""
    size_bytes: int
    """How long it is."""
