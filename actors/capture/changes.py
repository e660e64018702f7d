"""Changes that capture asks for: labels, how far spool and transcripts were read, and what could not be understood."""

from __future__ import annotations

import msgspec

from mnemic.actors.kernel.events import Author, Kind, Role
from mnemic.actors.kernel.message import ChangeBase


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
    """Its id; one that is quarantined already stays as it is."""
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
    """Say that a quarantined record has been understood after all; goes with the memories that were in it. Its
    payload is let go of.
    """

    record: bytes
    """Its id; one that is not quarantined, or was readmitted before, stays as it is."""


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
