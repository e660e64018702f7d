"""Messages of backups and exports: Capture notes that one was made, since what is erased later is still in it.

Beside `mnemic.actors.messages`, whose rules hold here too.
"""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["CopyNoted", "NoteCopy"]


class NoteCopy(msgspec.Struct, frozen=True, kw_only=True):
    """Note that a backup or an export of the mind was made."""

    path: str
    """Where, absolute, with lone surrogates escaped."""
    what: Literal["backup", "export"]
    """Which."""
    size_bytes: int
    """How long it is."""


class CopyNoted(msgspec.Struct, frozen=True, kw_only=True):
    """Answer to `NoteCopy`."""

    seq: int
    """Number of the log row that says so."""
