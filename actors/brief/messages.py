"""Messages of automatic capture (draining the hooks' spool, queueing transcripts) and of session briefings.

What a briefing is composed from is gathered by
`mnemic.actors.brief.gather` and worded by `mnemic.actors.brief.compose`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemic.actors.kernel.message import Id, Message, Time, Verb
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import Memory

Occasion = Literal["session-start", "prompt", "tool-failed"]


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool that has just failed, as its host tells it."""

    tool: str
    """The tool's name."""
    call: bytes
    """What was called, as it is captured."""
    result: bytes
    """What it answered."""
    files: tuple[str, ...] = ()
    """Files that it is for."""


class Brief(Verb["Briefed"], frozen=True, kw_only=True):
    """Say what an assistant should know unasked: at the start of a session, for one prompt, or once a call failed."""

    occasion: Occasion = "session-start"
    """When."""
    place: ScopeRef
    """Where the assistant works."""
    assistant: str = "direct"
    """The host."""
    session: str = ""
    """The conversation: what it holds itself is not told to it."""
    prompt: str = ""
    """What the user said, where the occasion is a prompt."""
    updates_only: bool = False
    """Whether a prompt is told nothing but what replaced something that its session was told."""
    failed: FailedCall | None = None
    """What failed, where the occasion is that."""
    answer_by: Time | None = None
    """When whoever asks waits no longer: what is found later is neither told nor kept as told."""
    budget_tokens: int | None = None
    """At most so much text, a token counted as four bytes of UTF-8; as much as the setting says where absent."""
    repeat: bool = False
    """Whether the session has lost what it was told: all of it is told once more."""
    notices: tuple[str, ...] = ()
    """What is to be said before anything else at the start of a session, a sentence each."""


class Briefed(Message, frozen=True, kw_only=True):
    """Answer to `Brief`."""

    text: str
    """What to put before the assistant, framed; empty where there is nothing to say."""
    memories: tuple[Id, ...]
    """Ids of the memories it quotes, in order."""
    tokens: int
    """How long the text is."""
    degraded: tuple[str, ...] = ()
    """What did not take part, and why, one sentence each."""


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as far as it is quoted."""

    id: bytes
    """Its id."""
    text: bytes
    """Its text, or as much of it as was read."""
    start_byte: int = 0
    """Where that starts in the whole."""
    size_bytes: int
    """How long the whole is."""
    at: int | None
    """World time, microseconds; ``None`` where it is not known."""
    role: str
    """Who it comes from."""
    kind: str
    """What it is."""
    author: str = ""
    """Whose words it holds, as in `AddMemory.author`; empty is its role's."""
    speaker: str | None = None
    """The name of who said it, where it is another person."""
    assistant: str = ""
    """Who let it in, as in `AddMemory.assistant`."""
    is_correction: bool = False
    """Whether it replaces another memory."""
    is_superseded: bool = False
    """Whether another memory replaces it: it is the past."""
    is_everywhere: bool = False
    """Whether it is kept for every project."""
    times: int = 1
    """How often it was said; `at` is the last time."""

    @classmethod
    def of(cls, memory: Memory, start: int, stop: int) -> Quote:
        """A stretch of a memory, from one byte to another, quoted as if it were all of it."""
        return cls(
            id=memory.id,
            text=memory.data[start:stop],
            start_byte=start,
            size_bytes=stop - start,
            at=memory.said_at,
            role=memory.role,
            kind=memory.kind,
            assistant=memory.assistant,
        )


class UnresolvedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that failed, and that was not followed by one of the same kind that succeeded."""

    tool: str
    """The tool."""
    call: Quote | None
    """What was called, where it is known."""
    answer: bytes
    """The id of what it answered: that is asked for, and not told."""


class QuotedPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two statements that contradict, or one and what stands for it since."""

    older: Quote
    """The clause said earlier, or the one that holds no more."""
    newer: Quote
    """The other one."""


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
    asks: bool = True
    """Whether the user has said nothing since that answers what the last reply asks."""
    failure: UnresolvedFailure | None
    """What went wrong last, and was left so."""


class BriefingSources(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to tell at the start of a session."""

    last_session: LastSession | None
    """The last session; ``None`` where there is none."""
    in_force: tuple[Quote, ...]
    """Stretches that tell what stands, the newest of each thing: first what is kept for every project, then what tells
    it most surely."""
    open: tuple[Quote, ...] = ()
    """Stretches that say what was left open in the last sessions and is not done, newest first."""
    conflict: QuotedPair | None = None
    """The newest pair of statements that contradict and are not settled, if there is one."""
    digest: tuple[Quote, ...] = ()
    """Sentences that nights chose from all that was said in the project, the most telling first."""
    profile: tuple[Quote, ...] = ()
    """What its user said of themselves that is to last, what was said most often first."""


NO_SOURCES = BriefingSources(last_session=None, in_force=())
"""What there is to tell of an unknown project."""
