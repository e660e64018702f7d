"""Types of what a session briefing is composed from: the last session and the decisions still in force.

Gathered by `mnemic.runtime.store.read.brief`, worded by `mnemic.actors.brief.compose`.
"""

from __future__ import annotations

import msgspec

__all__ = ["NO_SOURCES", "BriefingSources", "LastSession", "Quote", "UnresolvedFailure"]


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as far as it is quoted."""

    id: bytes
    """Its id."""
    text: bytes
    """Its text, or as much of its start as was read."""
    size_bytes: int
    """How long the whole is."""
    at: int | None
    """World time, microseconds; ``None`` where it is not known."""
    role: str
    """Who it comes from."""
    kind: str
    """What it is."""
    start: int = 0
    """The character at which what matters in it starts."""
    is_correction: bool = False
    """Whether it replaces another memory."""
    is_superseded: bool = False
    """Whether another memory replaces it: it is the past."""


class UnresolvedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that failed, and that was not followed by one of the same kind that succeeded."""

    tool: str
    """The tool."""
    call: Quote | None
    """What was called, where it is known."""
    result: Quote
    """What it answered."""


class LastSession(msgspec.Struct, frozen=True, kw_only=True):
    """The last session of a project."""

    assistant: str
    """The host it was held with."""
    at: int
    """World time of the last that was said in it, microseconds."""
    prompt: Quote | None
    """The last that the user said."""
    replies: tuple[Quote, ...]
    """What the assistant said last, the newest first."""
    answered: bool
    """Whether anything was replied to the last prompt."""
    failure: UnresolvedFailure | None
    """What went wrong last, and was left so."""


class BriefingSources(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to tell at the start of a session."""

    last_session: LastSession | None
    """The last session; ``None`` where there is none."""
    in_force: tuple[Quote, ...]
    """Decisions, corrections and notes, then turns that state something standing; of each the newest first."""


NO_SOURCES = BriefingSources(last_session=None, in_force=())
"""What there is to tell of an unknown project."""
