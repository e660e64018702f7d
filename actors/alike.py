"""Messages of what is alike: near-duplicates of a text, named to whoever keeps it. Refused is nothing.

Beside `mnemic.actors.messages`, whose rules hold here too. `mnemic.actors.similarity` answers.
"""

from __future__ import annotations

import msgspec

__all__ = ["FindSimilar", "Similar", "SimilarFound"]


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    pass


class FindSimilar(_Message, frozen=True, kw_only=True):
    """Name the memories that say nearly the same as a text; of what was replaced, what replaced it is named too."""

    text: str
    """The text; of a long one its first window counts for its meaning, and its longest words."""
    scope: str
    """A scope's path: it and what is below it are looked through."""
    but: tuple[bytes, ...] = ()
    """Ids of memories that are not to be named: the text's own, and what it replaces."""
    limit: int = 3
    """At most so many."""


class Similar(_Message, frozen=True, kw_only=True):
    """A memory that says nearly the same."""

    id: bytes
    """Which."""
    text: bytes
    """How it begins, or its best stretch."""
    start_byte: int
    """Where that starts in the whole."""
    size_bytes: int
    """Length of the whole."""
    kind: str
    """What it is."""
    role: str
    """Who it comes from."""
    scope: str
    """The scope's path."""
    said_at: int | None
    """World time, microseconds."""
    score: float
    """How near it is, 1 at most: the greater of `why`."""
    why: dict[str, float]
    """``meaning``: the cosine of the two; ``words``: how many of the words that either has both have."""
    superseded_by: bytes | None
    """Id of what replaced it."""


class SimilarFound(_Message, frozen=True, kw_only=True):
    """Answer to `FindSimilar`."""

    similar: tuple[Similar, ...]
    """The nearest first."""
    degraded: tuple[str, ...] = ()
    """What did not take part, and why, one sentence each."""
