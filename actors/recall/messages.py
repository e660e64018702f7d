"""Messages of recall: find memories by a question, similar ones by a text, give them by their ids.

Requests are in the imperative, answers and events in the past tense; see `mnemic.actors.kernel.message`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemic.actors.kernel.events import DEFAULT_KINDS
from mnemic.actors.kernel.message import Id, MemoryExcerpt, MemoryText, Message, Text, Time, Verb
from mnemic.actors.kernel.scope_paths import ScopeRef, Scopes
from mnemic.actors.sleep.effects import Trial

SignalName = Literal["dense", "lexical", "session", "structural", "answer", "validity", "use"]


class FindSimilar(Verb["SimilarFound"], frozen=True, kw_only=True):
    """Name the memories that say nearly the same as a text; of what was replaced, what replaced it is named too."""

    text: str
    """The text; of a long one its first window counts for its meaning, and its longest words."""
    scope: str
    """A scope's path: it and what is below it are looked through."""
    exclude: tuple[Id, ...] = ()
    """Ids of memories that are not to be named: the text's own, and what it replaces."""
    limit: int = 3
    """At most so many."""


class SimilarFound(Message, frozen=True, kw_only=True):
    """Answer to `FindSimilar`."""

    similar: tuple[Hit, ...]
    """The nearest first. `Hit.score`, 1 at most, is the greater of `Hit.why`: ``meaning``, the cosine of the two, and
    ``words``, how many of the words that either has both have."""
    degraded: tuple[str, ...] = ()
    """What did not take part, and why, one sentence each."""


class Recall(Verb["Recalled"], frozen=True, kw_only=True):
    """Find the memories that matter."""

    query: str
    """The question or the words."""
    k: int | None = None
    """At most so many memories; 10, or what the setting ``recall.k`` says, where absent."""
    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    place: ScopeRef | None = None
    """What `mnemic.runtime.minds.projects` made of a folder: its project is looked through, in place of `scope`, and
    nothing where nothing is known of it."""
    kinds: tuple[str, ...] = DEFAULT_KINDS
    """Only these kinds; unless given, what was said, done, decided or noted, or, where nothing of these comes from the
    roles, files and others that are asked for, any."""
    session: str | None = None
    """Only this conversation."""
    roles: tuple[str, ...] = ()
    """Only what comes from these: ``user``, ``assistant``, ``tool``, ``system``."""
    speakers: tuple[str, ...] = ()
    """Only what these said, by their names; capitals do not count."""
    assistants: tuple[str, ...] = ()
    """Only what these let in, by the names that hits have; capitals do not count."""
    files: tuple[str, ...] = ()
    """Only what touched these files: by path, by its last parts, or by a pattern, such as ``*.py`` or ``tests/``."""
    branches: tuple[str, ...] = ()
    """Only what was said or done on these git branches."""
    tools: tuple[str, ...] = ()
    """Only calls of these tools, and what came of them."""
    since: Time | None = None
    """Said at or after; what its source gave no time is left out."""
    until: Time | None = None
    """Said before; what its source gave no time is left out."""
    as_of: Time | None = None
    """What the memory knew then."""
    at: Time | None = None
    """What held on that day in the world; as the question's own words tell, where absent."""
    budget_tokens: int | None = None
    """At most so long an answer, ids and fields included, a token counted as four bytes."""
    hit_bytes: int | None = None
    """Of a longer memory, at most so many bytes: the stretch that answers best. The setting recall.hit_bytes is the
    most, and holds where absent."""
    signals: tuple[SignalName, ...] = ("dense", "lexical", "session", "structural", "answer", "validity", "use")
    """Which signals to use; ``structural`` says something where the question names a day, ``answer`` of what only asks,
    denies or tells what worked, ``validity`` where the question asks for what holds or held, beside both meaning and
    words, and ``use`` where nights found what a memory was of use for, and the question asks for no time."""
    private: bool = False
    """Whether the question itself is not kept, only what was given: nothing of its session is captured. In a pause no
    question is kept."""
    observe: bool = True
    """Whether it is kept what was given; measuring leaves no trace."""
    trace: bool = False
    """Whether to give the candidates with each signal's own score."""
    trial: Trial | None = None
    """A stage of nights that is examined."""
    assistant: str = ""
    """The assistant that asks, as it names itself; empty where its owner does. What is given is kept."""
    asking_session: str = ""
    """The conversation it asks from, where it is known."""


class SameMemory(Message, frozen=True, kw_only=True):
    """A memory that says the same as a hit."""

    id: Id
    """UUIDv7."""
    said_at: Time
    """World time it was said, else kept."""


class FactRef(Message, frozen=True, kw_only=True):
    """A statement that stands for another one, or contradicts it."""

    memory: Id
    """Its memory."""
    start_byte: int
    """Where its value begins in the memory's text."""
    value: Text
    """What it says, word for word."""
    at: Time
    """World time from which it holds."""
    probability: float
    """How probably it replaced the other, 0 to 1; 1 where somebody said so."""
    why: str
    """What that rests on."""
    id: str
    """Number of the pair, as `mnemic conflicts` takes it."""
    of: Text = b""
    """The words of the hit that it concerns, where the hit says more than these."""


class Hit(MemoryExcerpt, frozen=True, kw_only=True):
    """One memory found."""

    source_id: str | None
    """The input's own id."""
    start_byte: int
    """Where `text` starts in the whole."""
    speaker: str | None
    """Name of who spoke."""
    author: str = ""
    """Whose words it holds, where they are not its role's: ``other``, another person's, or ``unknown``."""
    assistant: str
    """Who let it in: the host of its session, ``direct`` for its owner, ``mcp:`` and a name for an assistant's tool."""
    session: str
    """The conversation."""
    said_at: Time | None
    """World time."""
    score: float
    """How probably it answers, 0 to 1; of a shape see `mnemic.actors.shape.messages.Shaped`."""
    why: dict[str, float]
    """What each signal adds to the log-odds of that, ``ln(score / (1 - score))``, which is their sum: ``base`` is where
    any memory begins, ``validity`` less than 0 for what hardly holds at the time asked for, ``prior`` what a correction
    takes over from the memory it replaces, and what worked from the failure it mended, and ``rerank`` what it gains or
    loses by the place among the best 20 that the model of the setting ``rerank.model`` gives it."""
    superseded_by: Id | None
    """Id of the memory that replaces this one, where it lies in the scopes that were looked through."""
    superseded_elsewhere: bool = False
    """Whether a memory replaces this one that lies in no scope that was looked through, and so is not named."""
    supersedes: tuple[Id, ...] = ()
    """Ids of the memories that this one replaces, in the scopes that were looked through."""
    replaced: tuple[FactRef, ...] = ()
    """What stands since for statements of this memory that hold no more; see `mnemic facts`."""
    contradicts: tuple[FactRef, ...] = ()
    """Statements that contradict some of this memory's, and are not settled; see `mnemic conflicts`."""
    differs: dict[str, str] = msgspec.field(default_factory=dict)
    """Of a memory that has not all that a shape asks for: what fills the roles in which it differs, ``""`` where
    nothing fills one; none where it has all of it."""
    newest: bool = False
    """Whether it is the newest of several hits of this answer that are about one thing: none of them replaces it, in
    whole or in a statement, and of those that only contradict each other it was said last."""
    same: tuple[SameMemory, ...] = ()
    """Memories that say the same and would have been found, too: this one stands for them, and they are not given. The
    best first."""


class Candidate(Message, frozen=True, kw_only=True):
    """A candidate before fusion."""

    id: Id
    """The memory."""
    raw: dict[str, float]
    """Each signal's own score."""


class Recalled(Message, frozen=True, kw_only=True):
    """Answer to `Recall`."""

    hits: tuple[Hit, ...]
    """Best first; what says the same is one hit."""
    scope: Scopes
    """What was looked through, as it was asked for."""
    scope_known: bool = True
    """Whether anything is known of the `Recall.place` that was asked for; else `scope` is what it would be."""
    searched: int
    """How many memories were looked through."""
    used_tokens: int
    """Length of the answer as an assistant is given it, ids and fields included, a token counted as four bytes."""
    left_out: int
    """How many of the best `k` were left out because the budget had no room for them."""
    nothing_fits: bool
    """Whether nothing was found, or even the best hardly answers (`mnemic.algorithms.retrieval.calibration.UNLIKELY`).
    What the budget has no room for was found: `left_out` tells of it."""
    degraded: tuple[str, ...]
    """What did not take part, and why, one sentence each."""
    held_on: str = ""
    """The local day of which it is told what held, ``2026-10-31``: the one `Recall.at` lies in, or the last that the
    question names; empty where it is asked for no day."""
    said_near: tuple[str, ...] = ()
    """Local days, or stretches of days, that the question names and near which what was said counts more."""
    candidates: tuple[Candidate, ...]
    """With `trace`, every candidate any signal speaks for."""


class GetMemories(Verb["Memories"], frozen=True, kw_only=True):
    """Give memories whole."""

    ids: tuple[Id, ...]
    """Which."""


class Memory(MemoryText, frozen=True, kw_only=True):
    """One memory as it is kept."""

    source_id: str | None
    """The input's own id."""
    assistant: str
    """The host."""
    session: str
    """The conversation."""
    scope: str
    """The scope's path."""
    found: str
    """How the scope was found."""
    kind: str
    """What it is."""
    role: str
    """Who it comes from."""
    speaker: str | None
    """Name of who spoke."""
    author: str = "unknown"
    """Whose words it holds: ``owner``, ``assistant``, ``other`` or ``unknown``."""
    utc_offset_min: int = 0
    """Minutes east of UTC of the clock it was said by."""
    branch: str | None
    """Git branch."""
    tool: str | None
    """Tool name."""
    outcome: str | None
    """How the tool call ended."""
    files: tuple[str, ...]
    """Files touched."""
    said_at: Time | None
    """World time it was said."""
    valid_from: Time
    """World time from which it holds."""
    valid_to: Time | None
    """World time from which it no longer holds."""
    recorded_at: Time
    """System time it was kept."""
    retired_at: Time | None = None
    """System time it was forgotten."""
    retired_reason: str | None = None
    """Why it was forgotten."""
    superseded_by: Id | None
    """Id of what replaces it. What was forgotten replaces nothing: what replaced that does, or nothing."""
    supersedes: tuple[Id, ...]
    """Ids of what it replaces."""


class Memories(Message, frozen=True, kw_only=True):
    """Answer to `GetMemories`."""

    memories: tuple[Memory, ...]
    """In the order asked for."""
