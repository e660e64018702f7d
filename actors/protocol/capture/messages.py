"""Messages of capture: take in transcripts and texts, forget memories and bring them back.

Requests are in the imperative, answers and events in the past tense; see `mnemic.actors.protocol.message`.
"""

from __future__ import annotations

from mnemic.actors.protocol.changes import RenameScope, ScopeRef
from mnemic.actors.protocol.events import Kind, Role
from mnemic.actors.protocol.message import Id, MemoryExcerpt, Message, Request, Text, Time, Verb
from mnemic.actors.protocol.recall.messages import Hit
from mnemic.actors.protocol.sleep.changes import NightReason


class CaptureTranscript(Verb["TranscriptCaptured"], frozen=True, kw_only=True):
    """Take in the next part of a transcript. Sent again and again until the reply says `done`."""

    path: str
    """The file; ``-`` is standard input."""
    format: str
    """How it is read, as in `mnemic.hooks.read.formats`."""
    scope: str | None
    """The scope of all its events; ``None`` leaves each to its own, or to the project of its folder."""
    folder: str | None = None
    """The folder that was named, where the file was found in one: a document in no project belongs to that."""
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
    unknown_fields: tuple[tuple[str, int], ...] = ()
    """Fields of its lines that mean nothing here: name, and how many lines have it."""
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
    utc_offset_min: int | None = None
    """Minutes east of UTC of the clock it was said by; the machine's where absent."""
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


class MendLabels(Request["LabelsMended"], frozen=True, kw_only=True):
    """Give the next few memories that were kept before memories had labels their labels: whose words they hold."""

    run: str
    """The night that it belongs to."""
    reason: NightReason
    """Why that is had."""
    again: bool = False
    """Also look at those whose labels were taken back."""


class LabelsMended(Message, frozen=True, kw_only=True):
    """Answer to `MendLabels`."""

    changed: int
    """Memories whose labels say something else by now."""
    pending: int
    """Memories that are still to be looked at."""
