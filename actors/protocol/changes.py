"""The closed list of write operations on the store; actors send them in `Apply`.

The Store carries out all changes of one `Apply` in one transaction, which has a number (`seq`), a run and an author.
What came in and what was decided about it is kept in the log (`Logged`): carried out again from its start, it gives the
same memories; to a number, those of then. What is made from memories (vectors, hypervectors, communities, statements),
what was given to whom, and how far files were read is written in the same transaction and is not logged. What only
erasing writes, no actor can ask for: nothing in `Change` takes a memory away. `Retire` hides one, and keeps its bytes.
"""

from __future__ import annotations

import hashlib
from typing import Union

import msgspec

from mnemic.actors.protocol.communities.changes import MarkBoundary, PlaceMembers, SetCommunities, SetPrototypes
from mnemic.actors.protocol.events import Author, Kind, Outcome, Role
from mnemic.actors.protocol.knowledge.changes import AddStatements, GradeStatements, MergeEntities, SettleStatements
from mnemic.actors.protocol.message import ChangeBase, Id
from mnemic.actors.protocol.sleep.changes import BeginNight, EndNight, KeepDerived, KeepVerdict, TakeBackNights


class ScopeRef(msgspec.Struct, frozen=True):
    """Which scope something belongs to, and how that is known."""

    path: str
    """The scope's path, such as ``workspace/project``; ``""`` for what belongs to no project."""
    project: str | None
    """What makes the project itself: its common git directory or its folder; ``None`` for a scope given by name.
    Two projects of one name get two paths (``shelf`` and ``shelf~2``)."""
    found: str
    """How it was found: ``named``, ``.mnemic.toml``, ``git``, ``folder`` or ``none``."""


class EncoderName(msgspec.Struct, frozen=True):
    """Which code and which weights make a vector."""

    implementation: str
    """The code, such as ``numpy-float32``."""
    model: str
    """SHA-256 of the weights, hexadecimal."""


class EmbeddedWindows(msgspec.Struct, frozen=True):
    """The embedded windows of one memory."""

    memory: bytes
    """The memory's id."""
    spans: tuple[tuple[int, int], ...]
    """Where each window starts and ends, in characters."""
    covered: int
    """How many characters the windows cover, from the start."""
    total: int
    """How many there are; what is beyond `covered` is found by its words only."""


class OccurrenceCount(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """How often a text without a host's id has occurred in its session; see `mnemic.actors.capture.transcripts`."""

    identity: bytes
    """Of the first occurrence."""
    hooks: int = 0
    """So often hooks reported it."""
    missed: int = 0
    """So much more often its transcript told it, less those that hooks reported late."""
    read_at: int = 0
    """World time, microseconds, at which the transcript was read that told more."""


class TranscriptState(msgspec.Struct, frozen=True):
    """What the store knows of a transcript."""

    format: str
    """The name it is read by."""
    due_at: int | None
    """System time, microseconds, from which it may be taken in; ``None`` where it waits for nothing."""
    changed_at: int
    """World time it was last written, as far as is known, microseconds."""
    size_bytes: int | None
    """How long it was when it was last taken in."""
    taken_at: int | None
    """System time of that, microseconds."""
    why: str
    """Why it could not be read then; empty where it was."""


class AddMemory(ChangeBase, frozen=True, kw_only=True, tag="add_memory"):
    """Keep one text for good. A memory of the same identity is kept once."""

    id: bytes
    """UUIDv7, 16 bytes."""
    identity: bytes
    """Keyed hash, 32 bytes, that tells whether this was captured before."""
    assistant: str
    """The host, as in `Event.assistant`."""
    session: str
    """The conversation."""
    place: ScopeRef
    """The scope."""
    kind: Kind
    """What it is."""
    role: Role
    """Who it comes from."""
    text: bytes
    """Verbatim, UTF-8 with ``surrogatepass``."""
    source_id: str | None = None
    """The input's own id."""
    speaker: str | None = None
    """Name of who spoke."""
    said_at: int | None = None
    """World time, microseconds since 1970 UTC."""
    branch: str | None = None
    """Git branch."""
    tool: str | None = None
    """Tool name."""
    outcome: Outcome | None = None
    """How the tool call ended."""
    files: tuple[str, ...] = ()
    """Files touched."""
    scrubbed: tuple[tuple[str, int], ...] = ()
    """What was taken out of the text before it was kept: the type of each secret and how many of it."""
    author: Author | None = None
    """Whose words it holds; ``None`` of what was kept before memories said so."""
    utc_offset_min: int | None = None
    """Minutes east of UTC of the clock it was said by; ``None`` of what was kept before memories said so."""
    formerly: bytes | None = None
    """The identity that an earlier version gave it, where that differs: it is not kept twice."""
    part_of: bytes | None = None
    """The user's turn that an earlier version kept, where `text` is a part of it: what became of that holds for it."""


class MemoryLabels(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What is said of a memory's words beside them."""

    memory: bytes
    """Its id."""
    kind: Kind
    """What it is."""
    role: Role
    """Who it comes from."""
    speaker: str | None
    """Name of who spoke."""
    author: Author | None
    """Whose words it holds."""
    said_at: int | None
    """World time it was said, microseconds since 1970 UTC."""
    utc_offset_min: int | None
    """Minutes east of UTC of the clock it was said by."""


class Relabel(ChangeBase, frozen=True, kw_only=True, tag="relabel"):
    """Give memories other labels: whose words they hold, of which kind, said when. Words and identities stay."""

    labels: tuple[MemoryLabels, ...]
    """All labels of each memory from now on; one that has them already is left out."""


class Supersede(ChangeBase, frozen=True, kw_only=True, tag="supersede"):
    """Say that a newer memory replaces an older one; the old words stay readable as the past.

    What was replaced already is replaced at the end of its chain. A memory that replaces itself is refused.
    """

    old: bytes
    """The memory that no longer holds."""
    new: bytes
    """The memory that holds instead."""


class Retire(ChangeBase, frozen=True, kw_only=True, tag="retire"):
    """Hide a memory from recall from now on; what it was, and that it was, stays. One that is retired stays so."""

    memory: bytes
    """Which."""
    reason: str
    """Why, with lone surrogates escaped; ``""`` where nobody said."""


class Unretire(ChangeBase, frozen=True, kw_only=True, tag="restore"):
    """Take back a `Retire`: the memory is as if it had never been retired, to who asks for an earlier time too."""

    memory: bytes
    """Which; one that is not retired stays as it is."""


class AddEncoder(ChangeBase, frozen=True, kw_only=True, tag="add_encoder"):
    """Make room for the vectors of an implementation and model."""

    encoder: EncoderName
    """Its name."""
    dimensions: int
    """Length of its vectors."""


class DropEncoder(ChangeBase, frozen=True, kw_only=True, tag="drop_encoder"):
    """Retire an encoder, with all its vectors; they can be made again."""

    encoder: EncoderName
    """Its name."""


class AddVectors(ChangeBase, frozen=True, kw_only=True, tag="add_vectors"):
    """Keep the vectors of some memories. Those that a memory has from the same encoder stand: they are the same."""

    encoder: EncoderName
    """Who made them."""
    meanings: tuple[EmbeddedWindows, ...]
    """Which windows they are of, memory by memory."""
    vectors: bytes
    """All windows' vectors in that order: ``(windows, dimensions) float32``, little-endian, row-major."""


class AddSpace(ChangeBase, frozen=True, kw_only=True, tag="add_space"):
    """Say in which space hypervectors are made from now on: all memories wait to be bound in it.

    One that was the newest before stays so.
    """

    stamp: str
    """What tells the space from others; see `mnemic.hd.space.Space.stamp`."""
    dimensions: int
    """Bits of a hypervector."""
    version: int
    """Of the encoders."""
    roles: tuple[str, ...]
    """Names of the roles that are bound."""
    model: str
    """SHA-256 of the weights whose embeddings are bound, hexadecimal; ``""`` for none."""
    embedding: int
    """Length of those embeddings."""
    reading: str = ""
    """How records are read out of memories; another way has all of them bound again, in the same space."""


class CodeInfo(msgspec.Struct, frozen=True, array_like=True):
    """What one hypervector is of."""

    tier: str
    """``episode``, ``fact`` or ``step``; see `mnemic.hd.roles`."""
    pairs: int
    """How many pairs of role and filler are bundled in it."""
    fillers: tuple[tuple[str, str, int], ...]
    """Role, filler and shift of those that have a name (`mnemic.hd.records.Pair`): what is matched exactly."""


class AddCodes(ChangeBase, frozen=True, kw_only=True, tag="add_codes"):
    """Keep the hypervectors of some memories, in place of those that they had."""

    stamp: str
    """The space they are of; where it is not the newest any more, nothing is kept."""
    seq: int
    """The store's number when the memories were read: what was to be bound again since then still is."""
    memories: tuple[bytes, ...]
    """Ids of the memories."""
    items: bytes
    """For each memory its records in order, as MessagePack of ``tuple[tuple[CodeInfo, ...], ...]``."""
    codes: bytes
    """All records' hypervectors in that order: ``(records, dimensions / 64) uint64``, little-endian, row-major."""
    unread: tuple[bytes, ...] = ()
    """Of the memories those of which something could not be found or bound. They are taken up again once they say
    something else, or when they are asked for (`mnemic.actors.protocol.shape.messages.RetryBinding`)."""


class DeliveredSpan(msgspec.Struct, frozen=True, array_like=True):
    """What was given of one memory, and why. Texts never change, so where it lies in the text is what it said."""

    memory: Id
    """Its id."""
    start: int
    """The byte at which it starts."""
    stop: int
    """The byte after it."""
    why: str
    """Why it was chosen, for a person to read."""


class RecordDelivery(ChangeBase, frozen=True, kw_only=True, tag="record_delivery"):
    """Keep what somebody was given, asked or unasked: which stretches of which memories."""

    occasion: str = "recall"
    """What was asked for: ``recall``, memories by their structure (``shape``), by their ids (``get``), or what is made
    of them (``read``); or, where it was told unasked: ``session-start``, ``prompt``."""
    assistant: str = ""
    """The assistant, as it names itself; empty for the owner."""
    session: str = ""
    """The conversation, where it is known."""
    scope: str
    """The scope that was asked, or that it was told for; ``*`` for everything; several stand one a line."""
    query: str = ""
    """The question, with lone surrogates escaped."""
    parts: tuple[DeliveredSpan, ...]
    """What was given of each memory, in that order."""
    tokens: int
    """How long what was given is, all that stood around the memories' words included."""
    at: int | None = None
    """System time it was given, microseconds; that of the transaction where absent."""


class AdvanceSpool(ChangeBase, frozen=True, kw_only=True, tag="advance_spool"):
    """Say how far a spool file is taken in; in the same transaction as what was in it, so that it is taken once."""

    file: bytes
    """The file's own id, 16 bytes."""
    offset: int
    """Bytes from its start that need not be read again."""
    records: int = 0
    """How many records that is, beyond those before."""
    torn: int = 0
    """How many places of it could not be read, beyond those before."""


class DiscardSpoolFile(ChangeBase, frozen=True, kw_only=True, tag="forget_spool_file"):
    """Say that a spool file is gone for good; what came of it stays in the sums. One that is not known stays so."""

    file: bytes
    """The file's own id."""


class CountOccurrences(ChangeBase, frozen=True, kw_only=True, tag="count_occurrences"):
    """Say how often texts without a host's id have occurred in their sessions, so far.

    What hooks reported is never counted down.
    """

    counts: tuple[OccurrenceCount, ...]
    """Text by text."""


class QuarantineRecord(ChangeBase, frozen=True, kw_only=True, tag="quarantine"):
    """Keep a record that could not be understood, out of the way."""

    record: bytes
    """Its id; one that is aside already stays as it is."""
    assistant: str
    """The host it comes from."""
    event: str
    """What the adapter calls it."""
    why: str
    """What is wrong with it, without its text."""
    text: bytes
    """Its payload, without what must not be kept."""
    at: int = 0
    """World time it was written, microseconds, where that is known; with `cwd` and `branch` as in `Record`."""
    cwd: str | None = None
    """The folder the host worked in."""
    branch: str | None = None
    """The git branch."""


class ReleaseRecord(ChangeBase, frozen=True, kw_only=True, tag="readmit"):
    """Say that a record that was set aside has been understood after all; goes with the memories that were in it. Its
    payload is let go of.
    """

    record: bytes
    """Its id; one that is not aside, or was readmitted before, stays as it is."""


class QueueTranscript(ChangeBase, frozen=True, kw_only=True, tag="queue_transcript"):
    """Have a transcript taken in once it is due; one that is queued already is due anew."""

    path: str
    """The file, with lone surrogates escaped."""
    format: str
    """The name it is read by."""
    due_at: int
    """System time, microseconds, from which it may be taken."""
    changed_at: int
    """World time it was last written, microseconds; the newest of those that are due comes first."""


class FinishTranscript(ChangeBase, frozen=True, kw_only=True, tag="finish_transcript"):
    """Say that a transcript was taken in, to its end or as far as it could be read."""

    path: str
    """The file."""
    size_bytes: int
    """Its length then."""
    why: str = ""
    """Why it could not be read; empty where it was."""


class KeepOriginal(ChangeBase, frozen=True, kw_only=True, tag="keep_original"):
    """Keep the words of a memory as they were before secrets were taken out, where no recall looks."""

    memory: bytes
    """The memory."""
    text: bytes
    """Its whole text."""


class RecordSelfTest(ChangeBase, frozen=True, kw_only=True, tag="record_check"):
    """Say that a host's trial event arrived; the last one of each host is known."""

    assistant: str
    """The host."""
    nonce: str
    """Which trial."""


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


class IgnoreSession(ChangeBase, frozen=True, kw_only=True, tag="silence_session"):
    """Say that a conversation was to be left alone: nothing of it is read from its transcript from now on."""

    assistant: str
    """The host."""
    session: str
    """The conversation."""


class SetSessionMode(ChangeBase, frozen=True, kw_only=True, tag="mark_session"):
    """Say how a conversation is held; nothing where no memory of it is kept."""

    assistant: str
    """The host."""
    session: str
    """The conversation."""
    mode: str
    """``headless`` where nobody sits in front of it, ``subagent`` where an agent asked for it, empty otherwise."""


class RenameScope(ChangeBase, frozen=True, kw_only=True, tag="rename_scope"):
    """Give a scope another path. Refused where another one has that path, or lies below it and would be mixed in."""

    path: str
    """The path it has."""
    to: str
    """The path it gets."""
    below: bool = True
    """Whether what is below it goes with it; such a path need be no scope itself."""


class MergeScopes(ChangeBase, frozen=True, kw_only=True, tag="merge_scopes"):
    """Put all memories of one scope into another one, and from now on what its project brings."""

    path: str
    """The scope that goes."""
    into: str
    """The scope that stays."""


class SplitScope(ChangeBase, frozen=True, kw_only=True, tag="split_scope"):
    """Take back a `MergeScopes`."""

    path: str
    """The scope that comes back."""
    found: str
    """How it was found."""
    project: str | None
    """Its project, if it had one."""
    projects: tuple[str, ...]
    """Projects that had been merged into it before."""
    into: str
    """The scope it had been put into."""
    memories: tuple[bytes, ...]
    """Ids of the memories that were its own; those that are not in `into` stay where they are."""


class MoveProject(ChangeBase, frozen=True, kw_only=True, tag="move_project"):
    """Say that a project of a scope has another folder now. Refused where that is another scope's."""

    path: str
    """The scope."""
    project: str | None
    """What makes the project itself from now on; see `ScopeRef.project`. ``None`` where it has no folder any more."""
    was: str | None = None
    """The project that this was; ``None`` where the scope had none of its own."""


class MoveMemories(ChangeBase, frozen=True, kw_only=True, tag="move_memories"):
    """Have memories of one scope belong to another one, which is made where it is not there.

    A scope that was named and holds nothing then goes.
    """

    memories: tuple[bytes, ...] | None
    """Their ids; ``None`` for all of the scope. Those that are not in it stay where they are."""
    path: str
    """The scope that they are in; empty for what belongs to no project."""
    to: str
    """The scope that they are to be in."""


_Input = Union[  # noqa: UP007 - msgspec's
    AddMemory,
    Supersede,
    Retire,
    Unretire,
    Relabel,
    KeepOriginal,
    CountOccurrences,
    IgnoreSession,
    SetSessionMode,
    RenameScope,
    MergeScopes,
    SplitScope,
    MoveProject,
    MoveMemories,
    MarkBoundary,
    SettleStatements,
    MergeEntities,
    BeginNight,
    TakeBackNights,
]
UnloggedChange = Union[  # noqa: UP007 - as above
    AddEncoder,
    DropEncoder,
    AddVectors,
    AddSpace,
    AddCodes,
    SetCommunities,
    PlaceMembers,
    SetPrototypes,
    AddStatements,
    GradeStatements,
    KeepDerived,
    KeepVerdict,
    EndNight,
    RecordDelivery,
    AdvanceSpool,
    DiscardSpoolFile,
    QuarantineRecord,
    ReleaseRecord,
    QueueTranscript,
    FinishTranscript,
    RecordSelfTest,
    RecordBackup,
]
"""What is written and not logged: what is made from memories, what was given, and how far capture has come."""
Change = Union[_Input, UnloggedChange]  # noqa: UP007 - as above
"""What an actor may ask for."""
Logged = Union[_Input, Tombstone, RedactedChange]  # noqa: UP007 - as above
"""What a log may hold."""


def idempotency_key(verb: str, trace: str, *what: bytes) -> bytes:
    """The idempotency key of one thing that a request asks for: the request's trace, and what it is.

    A request that is sent again has the same keys, so that twice is once; two things under one trace have two.

    Args:
        what: whatever tells it from others under the same trace, and is the same when the request comes again.
    """
    digest = hashlib.sha256()
    for part in what:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return f"{verb}/{trace}/".encode("utf-8", "surrogatepass") + digest.digest()
