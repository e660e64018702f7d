"""Messages of capture: take in transcripts and texts, forget memories and bring them back.

Requests are in the imperative, answers and events in the past tense; see `mnemic.actors.kernel.message`.
"""

from __future__ import annotations

from mnemic.actors.kernel.events import Kind, Role
from mnemic.actors.kernel.message import Id, Message, Request, Text, Time, Verb
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import Hit
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.sleep.changes import NightReason


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


class DrainSpool(Verb["Drained"], frozen=True, kw_only=True):
    """Take in the next bounded part of what hooks kept; where nothing is left of that, of a transcript that is due."""

    transcripts: bool = True
    """Whether transcripts that are due are taken too."""


class Drained(Message, frozen=True, kw_only=True):
    """Answer to `DrainSpool`; the counts are of this part alone."""

    records: int = 0
    """Records of hooks that were taken in."""
    new: int = 0
    """Memories kept now for the first time."""
    known: int = 0
    """Events that had been captured before."""
    quarantined: int = 0
    """Records that could not be understood."""
    left_out: int = 0
    """Events that are not kept: of a pause, or of what the settings leave out."""
    torn: int = 0
    """Places of the spool that hold no whole record."""
    transcript: str = ""
    """The transcript of which a part was taken in, or nothing."""
    more: bool = False
    """Whether more can be taken in now."""
    next_due_at: Time | None = None
    """System time at which a transcript is due, where nothing is left to take in now; else ``None``."""


class QueueTranscripts(Verb["Queued"], frozen=True, kw_only=True):
    """Have transcripts taken in, in the background, the newest first. Those taken already, and not changed, are not."""

    paths: tuple[tuple[str, str], ...]
    """Files, absolute, and the format of each."""


class Queued(Message, frozen=True, kw_only=True):
    """Answer to `QueueTranscripts`."""

    queued: int
    """How many are to be taken."""
    known: int
    """How many were taken before and have not changed since."""


class RetryQuarantined(Verb["QuarantineRetried"], frozen=True, kw_only=True):
    """Try again what is quarantined, the next few records; after the last ones, the transcripts that could not be read.

    A newer version may understand them, or what was in the way is mended.
    """

    after: int = 0
    """How far earlier parts have come, as the last answer says."""


class QuarantineRetried(Message, frozen=True, kw_only=True):
    """Answer to `RetryQuarantined`; the counts are of this part alone."""

    readmitted: int
    """Records that were understood now."""
    after: int
    """How far this part has come."""
    queued: int
    """Transcripts that are to be taken in again; only the last part queues them."""
    gone: int = 0
    """Transcripts that could not be read and are not there any more: they are not waited for any longer."""
    more: bool
    """Whether there are more records."""


class GetCaptureProgress(Verb["CaptureProgress"], frozen=True, kw_only=True):
    """Say what of the capture is on its way, and what became of it."""


class CaptureProgress(Message, frozen=True, kw_only=True):
    """Answer to `GetCaptureProgress`."""

    offsets: dict[bytes, int]
    """How far each spool file is taken in, by its id."""
    oldest_at: Time | None = None
    """World time of the oldest event in the spool that is not taken in."""
    records: int
    """Records of hooks taken in so far."""
    torn: int
    """Places of the spool that held no whole record, so far."""
    quarantined: tuple[tuple[str, str, str], ...]
    """The last records that could not be understood, newest first: host, event and why. At most 20."""
    quarantined_count: int
    """How many there are."""
    scrubbed: dict[str, int]
    """Secrets taken out of texts, by type."""
    transcripts: int
    """Transcripts that wait to be taken in now."""
    transcripts_bytes: int = 0
    """How long they are together, where they can still be seen."""
    transcripts_later: int
    """Transcripts of sessions that are still going on, or may be."""
    transcripts_failed: tuple[tuple[str, str], ...]
    """Transcripts that could not be read, and why, newest first. At most 20."""
    checks: dict[str, str]
    """The last trial event of each host that arrived."""
    left_out: tuple[str, ...] = ()
    """What the settings leave out, a phrase each."""
