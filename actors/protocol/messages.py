"""The messages actors exchange: requests in the imperative, answers and events in the past tense.

Payloads carry what is asked; the envelope carries id, trace, deadline and the time, so that no actor reads a clock.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mnemic.actors.protocol.changes import Change, EncoderName, RenameScope, ScopeRef
from mnemic.actors.protocol.events import DEFAULT_KINDS, Kind, Role
from mnemic.actors.protocol.message import Id, MemoryExcerpt, MemoryText, Message, Request, Text, Time, Verb
from mnemic.actors.protocol.sleep.effects import Trial


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


Scopes = str | tuple[str, ...]
"""One scope's path, or several."""
SignalName = Literal["dense", "lexical", "session", "structural", "validity", "use"]


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What travels: a message and everything about it that is not its content."""

    id: str
    """Unique within the run of the process."""
    trace: str
    """Shared by everything that one request sets off."""
    now: int
    """World time at the face, microseconds since 1970 UTC."""
    deadline: float | None
    """Monotonic seconds after which nobody waits for the answer; ``None`` for what is told, not asked."""
    message: Any
    """The payload."""


# --- Capture ---------------------------------------------------------------------------------------------------------


class CaptureTranscript(Verb["TranscriptCaptured"], frozen=True, kw_only=True):
    """Take in the next part of a transcript. Sent again and again until the reply says `done`."""

    path: str
    """The file; ``-`` is standard input."""
    format: str
    """``auto``, ``claude-code``, ``codex``, ``jsonl`` or ``text``."""
    scope: str | None
    """The scope of all its events; ``None`` leaves each to its own, or to the project of its folder."""
    skip: int
    """How many items of the source earlier parts have taken; makes the message repeatable after a restart."""


class TranscriptCaptured(Message, frozen=True, kw_only=True):
    """Answer to `CaptureTranscript`; the counts are of this part alone."""

    format: str
    """The format it was read as."""
    taken: int
    """Items read so far, to be sent as the next `skip`."""
    done: bool
    """Whether the source is at its end."""
    position_bytes: int
    """How far the reading is."""
    size_bytes: int | None
    """Length of the source, where known."""
    new: int
    """Memories kept now for the first time."""
    known: int
    """Events that had been captured before."""
    differing: int
    """Events whose host id was captured before with another text; the first text stands."""
    in_other_scope: int
    """Events captured before that are in another scope than the one this `CaptureTranscript` names; they stay there."""
    retired: int = 0
    """Of the known, memories that were forgotten; they stay so."""
    erased: int = 0
    """Events whose memories were erased; they are not kept again."""
    left_out: int = 0
    """Events that are not kept: of what the settings leave out, or, where nobody asked for it, of a pause."""
    malformed: tuple[tuple[int, str], ...]
    """Lines that could not be read: number and reason."""
    scopes: tuple[str, ...]
    """Scopes that the new memories are in."""
    made_way: tuple[RenameScope, ...] = ()
    """Projects that had only their folder's name, and have another path now that a ``.mnemic.toml`` names that."""


class CaptureText(Verb["TextCaptured"], frozen=True, kw_only=True):
    """Keep one text that a person or an assistant gives directly."""

    text: Text
    """Verbatim."""
    role: Role = "user"
    """Who it comes from."""
    session: str = "direct"
    """The conversation it belongs to."""
    place: ScopeRef
    """The scope."""
    assistant: str = "direct"
    """The host."""
    kind: Kind = "note"
    """What it is."""
    speaker: str | None = None
    """Name of who spoke."""
    said_at: Time | None = None
    """When it was said; the time of the message where absent."""
    supersedes: Id | None = None
    """Id of the memory that this one replaces."""
    occurrence: int = 1
    """Which of the same texts of its session it is, from 1: what is said in two scopes is kept in both."""
    folder: str | None = None
    """The folder that the assistant works in, where one is known: what the settings leave out is known by it too."""


class TextCaptured(Message, frozen=True, kw_only=True):
    """Answer to `CaptureText`."""

    similar: tuple[Hit, ...] = ()
    """Near-duplicates of the text; `mnemic.runtime.api.mind.Mind.remember` asks for them (`FindSimilar`) once it is
    kept.
    """
    degraded: tuple[str, ...] = ()
    """What took no part in finding those, and why, one sentence each."""
    superseded_by: Id | None = None
    """Id of what has replaced it since, where it had been captured before."""
    retired_at: Time | None = None
    """System time it was forgotten, where it was: to capture it again does not bring it back."""
    erased: bool = False
    """Whether it was erased before, and so is not kept again: there is no memory of that id."""
    made_way: tuple[RenameScope, ...] = ()
    """As of `TranscriptCaptured`."""

    id: Id
    """The memory's id, new or known."""
    created: bool
    """False where the same text had been captured in the same session."""
    scope: str
    """The scope's path."""


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


# --- Store -----------------------------------------------------------------------------------------------------------


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


# --- Embedder --------------------------------------------------------------------------------------------------------


class EmbedQuery(Request["QueryEmbedded"], frozen=True, kw_only=True):
    """Embed a question."""

    text: str
    """What is asked; more than one window is cut."""


class QueryEmbedded(Message, frozen=True, kw_only=True):
    """Answer to `EmbedQuery`."""

    vector: bytes
    """``(dimensions,) float32`` of unit length."""
    encoder: EncoderName
    """Who made it."""


class EmbedWords(Request["WordsEmbedded"], frozen=True, kw_only=True):
    """Give words' vectors, each without what stands around it: what the model takes them for before it reads."""

    words: tuple[str, ...]
    """Lower case, each for itself."""


class WordsEmbedded(Message, frozen=True, kw_only=True):
    """Answer to `EmbedWords`."""

    vectors: bytes
    """``(words, dimensions) float32`` of unit length; of a word that the model knows nothing of, zeros."""
    encoder: EncoderName
    """Whose they are."""


class DescribeEncoder(Verb["EncoderDescribed"], frozen=True, kw_only=True):
    """Say which encoder is used; it is loaded for that where it is not yet."""


class EncoderDescribed(Message, frozen=True, kw_only=True):
    """Answer to `DescribeEncoder`."""

    encoder: EncoderName
    """Code and weights."""
    dimensions: int = 0
    """Length of its vectors."""


class EmbedPending(Verb["EmbedProgress"], frozen=True, kw_only=True):
    """Embed the next few windows of what is not embedded yet: one bounded step."""


class EmbedMore(Message, frozen=True, kw_only=True):
    """The Embedder to itself: go on in the background, after whoever asked meanwhile."""


class EmbedProgress(Message, frozen=True, kw_only=True):
    """Answer to `EmbedPending`."""

    done: int
    """Memories that have their meaning."""
    pending: int
    """Memories that still wait."""
    partly: int
    """Memories of which only the first part is embedded, or nothing where the model failed; words find them."""


# --- Retriever -------------------------------------------------------------------------------------------------------


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
    """Only these kinds; unless given, what was said, done, decided or noted."""
    session: str | None = None
    """Only this conversation."""
    since: Time | None = None
    """Said at or after."""
    until: Time | None = None
    """Said before."""
    as_of: Time | None = None
    """What the memory knew then."""
    at: Time | None = None
    """What held on that day in the world; as the question's own words tell, where absent."""
    budget_tokens: int | None = None
    """At most so much text, a token counted as four bytes."""
    hit_bytes: int | None = None
    """Of a longer memory, at most so many bytes: the stretch that answers best. The setting recall.hit_bytes is the
    most, and holds where absent."""
    signals: tuple[SignalName, ...] = ("dense", "lexical", "session", "structural", "validity", "use")
    """Which signals to use; ``structural`` says something where the question names a day, ``validity`` where it asks
    for what holds or held, beside both meaning and words, and ``use`` where nights found what a memory was of use for,
    and the question asks for no time."""
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


class Hit(MemoryExcerpt, frozen=True, kw_only=True):
    """One memory found."""

    source_id: str | None
    """The input's own id."""
    start_byte: int
    """Where `text` starts in the whole."""
    speaker: str | None
    """Name of who spoke."""
    assistant: str
    """Who let it in: the host of its session, ``direct`` for its owner, ``mcp:`` and a name for an assistant's tool."""
    session: str
    """The conversation."""
    said_at: Time | None
    """World time."""
    score: float
    """How probably it answers, 0 to 1; of a shape see `mnemic.actors.protocol.shape_messages.Shaped`."""
    why: dict[str, float]
    """What each signal adds to the log-odds of that, ``ln(score / (1 - score))``, which is their sum: ``base`` is where
    any memory begins, ``validity`` less than 0 for what hardly holds at the time asked for, ``prior`` what a correction
    takes over from the memory it replaces."""
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
    """Length of the hits' texts, a token counted as four bytes of UTF-8."""
    left_out: int
    """How many of the best `k` were left out because the budget had no room for them."""
    nothing_fits: bool
    """Whether even the best hardly answers (`mnemic.algorithms.retrieval.calibration.UNLIKELY`)."""
    degraded: tuple[str, ...]
    """What did not take part, and why, one sentence each."""
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


class FindScope(Verb["ScopeFound"], frozen=True, kw_only=True):
    """Say whether anything was captured in a place."""

    place: ScopeRef
    """What `mnemic.runtime.minds.projects` made of a folder or of a name."""


class ScopeFound(Message, frozen=True, kw_only=True):
    """Answer to `FindScope`."""

    path: str | None
    """The scope's path, or ``None`` where no memory is in it."""


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
