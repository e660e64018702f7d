"""What a session's start asks of the store: rows of memories and sessions, without any choice among them."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from mnemic.actors.kernel.message import AnswerT, Query
from mnemic.actors.knowledge.queries import KnowledgeSnapshot
from mnemic.actors.scopes.queries import ScopeSnapshot
from mnemic.actors.sleep.queries import SleepSnapshot

Author = Literal["owner", "assistant"]


class MemoryRow(NamedTuple):
    """A memory that is not retired, without its text; rows, sessions and scopes are numbers of the store."""

    row: int
    id: bytes
    text: int
    """Number of its text; `TextStart` reads it."""
    at: int
    """World time it was said, else kept, microseconds."""
    role: str
    kind: str
    session: int
    superseded_by: int | None
    """Number of the memory that replaced it; that one may be retired."""
    scope: int
    instant: int
    """World time it was said; a number of its own, below 0, where that is not known."""
    speaker: str | None
    tool: str | None
    outcome: str | None
    corrects: int
    """1 where `KeptMemories` found that it replaces another memory."""


class SessionEnd(NamedTuple):
    """When something was said last in a session: world time, microseconds."""

    session: int
    at: int


class CuedMemories(Query[list[MemoryRow]], frozen=True):
    """Turns that hold a word which may state something standing, the newest first."""

    scopes: tuple[int, ...]
    first: tuple[int, ...]
    """Memories of these scopes come before all others."""
    limit: int


class KeptMemories(CuedMemories, frozen=True):
    """Decisions, notes and corrections; notes come last, then the newest first."""

    author: Author


class SessionTurns(Query[list[MemoryRow]], frozen=True):
    """What was said in a session, the newest first."""

    session: int
    scopes: tuple[int, ...]
    authors: tuple[Author, ...]
    limit: int


class SessionSteps(Query[list[MemoryRow]], frozen=True):
    """Calls of tools in a session and their results, the newest first."""

    session: int
    scopes: tuple[int, ...]
    limit: int


class MemoriesAt(Query[list[MemoryRow]], frozen=True):
    """Memories by their numbers, in that order; one that is retired or not of these scopes and authors is left out."""

    rows: tuple[int, ...]
    scopes: tuple[int, ...]
    authors: tuple[Author, ...]


class SessionEnds(Query[list[SessionEnd]], frozen=True):
    """Sessions in which something was said, the newest end first; no MCP client's, which holds none."""

    scopes: tuple[int, ...]
    limit: int


class SessionName(Query[tuple[str, str]], frozen=True):
    """The host of a session, and the session's name there."""

    session: int


class SessionNamed(Query[int | None], frozen=True):
    """Number of the session of a host that has a name; ``None`` where there is none."""

    assistant: str
    name: str


class TextStart(Query[tuple[bytes, int]], frozen=True):
    """The start of a text, cut between two characters, and the size of the whole in bytes."""

    text: int
    most_bytes: int


class IsReplaced(Query[bool], frozen=True):
    """Whether a memory that is not retired stands for the memory of a row."""

    row: int


class BriefSnapshot(KnowledgeSnapshot, ScopeSnapshot, SleepSnapshot, Protocol):
    """What a snapshot tells at a session's start."""

    def ask(self, query: Query[AnswerT]) -> AnswerT:
        """The answer to one of the queries here."""
