"""Read interface of the store: one consistent state, as arrays and records, never SQL.

`mnemic.runtime.store.read.reader` holds the real ones. All reads from one snapshot see the same state, whatever is
written meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from mnemic.actors.protocol.ambient_messages import Brief, BriefingSources, CaptureProgress
from mnemic.actors.protocol.changes import (
    EncoderName,
    MemoryLabels,
    OccurrenceCount,
    Relabel,
    ScopeRef,
    TranscriptState,
)
from mnemic.actors.protocol.communities.snapshot import GraphSnapshot
from mnemic.actors.protocol.knowledge.snapshot import KnowledgeSnapshot
from mnemic.actors.protocol.meaning.messages import EmbedProgress
from mnemic.actors.protocol.recall.messages import Memory
from mnemic.actors.protocol.scopes import ScopeChange, ScopeInfo, Selection, Surveyed
from mnemic.actors.protocol.sleep.snapshot import SleepSnapshot
from mnemic.actors.protocol.store.messages import Counts
from mnemic.actors.protocol.times import MINUTE_US
from mnemic.algorithms.retrieval.term_codes import TermTotals

if TYPE_CHECKING:  # what is told at the start of a session is told without NumPy, which takes 0.1 s to load
    import numpy as np
    from numpy.typing import NDArray

    from mnemic.actors.protocol.log_messages import (
        CountUse,
        DeliveriesListed,
        ListDeliveries,
        ListMemories,
        MemoriesListed,
        MemoryDetail,
        UseCounted,
    )

NEAR_CALLS = 8
"""So many calls and results of tools on each side are told of a call or a result."""


class Columns(NamedTuple):
    """Memories, column by column, in the order they were kept; `n` of them."""

    row: NDArray[np.int64]
    """``(n,) int64``: the row, ascending."""
    session: NDArray[np.int64]
    """``(n,) int64``: number of the conversation."""
    scope: NDArray[np.int64]
    """``(n,) int64``: number of the scope."""
    kind: NDArray[np.int64]
    """``(n,) int64``: position in `mnemic.actors.protocol.events.KINDS`."""
    words: NDArray[np.int64]
    """``(n,) int64``: length in words, the speaker's name included."""
    said_at: NDArray[np.int64]
    """``(n,) int64``: world time, microseconds; the time of keeping where the source gave none."""
    recorded_at: NDArray[np.int64]
    """``(n,) int64``: system time, microseconds."""
    dated: NDArray[np.int64]
    """``(n,) int64``: 1 where the source gave the time it was said, else 0."""
    utc_offset_min: NDArray[np.int64]
    """``(n,) int64``: minutes east of UTC of the clock it was said by."""

    @property
    def local_at(self) -> NDArray[np.int64]:
        """``(n,) int64``: when each was said, microseconds since 1970 as the clock showed them that it was said by."""
        return self.said_at + self.utc_offset_min * MINUTE_US


class MemoryAttributes(NamedTuple):
    """What memories may be asked for by, beside what `Columns` has; many are equal of many memories."""

    role: str
    """Who it comes from."""
    speaker: str | None
    """Name of who spoke."""
    assistant: str
    """The host."""
    branch: str | None
    """Git branch."""
    tool: str | None
    """Tool name."""
    files: tuple[str, ...]
    """Files touched."""


class Superseded(NamedTuple):
    """Which memories are replaced by which, `n` pairs."""

    old: NDArray[np.int64]
    """``(n,) int64``: row of the replaced memory."""
    new: NDArray[np.int64]
    """``(n,) int64``: row of the one that replaces it."""
    at: NDArray[np.int64]
    """``(n,) int64``: system time it was said, microseconds."""


class Retired(NamedTuple):
    """Which memories are retired, `n` of them."""

    row: NDArray[np.int64]
    """``(n,) int64``: the row, ascending."""
    at: NDArray[np.int64]
    """``(n,) int64``: system time it was said, microseconds; they are not found from then on."""


class VectorBlock(NamedTuple):
    """Embedded windows, `n` of them."""

    window: NDArray[np.int64]
    """``(n,) int64``: number of the window, ascending."""
    row: NDArray[np.int64]
    """``(n,) int64``: row of its memory."""
    start: NDArray[np.int64]
    """``(n,) int64``: where it starts in the text, characters."""
    vectors: NDArray[np.float32]
    """``(n, dimensions) float32``, unit length."""


class TermBlock(NamedTuple):
    """The terms of `n` memories."""

    row: NDArray[np.int64]
    """``(n,) int64``: row of the memory, ascending."""
    end: NDArray[np.int64]
    """``(n,) int64``: where its codes end, bytes."""
    codes: bytes
    """Of one memory after the other; see `mnemic.algorithms.retrieval.term_codes`."""


class DocumentNote(NamedTuple):
    """A note that was made of a section of a document."""

    id: bytes
    """Of the memory."""
    identity: bytes
    """Its key."""
    source_id: str | None
    """What the document calls the section."""
    holds: bool
    """Whether it was neither replaced nor forgotten."""
    edited: bool
    """Whether what replaced it is of the same document."""


class KeptText(NamedTuple):
    """A memory that was kept before memories had labels, with all that they follow from."""

    labels: MemoryLabels
    """What it has of them."""
    assistant: str
    """The host."""
    is_subagent: bool
    """Whether an agent asked for its session."""
    recorded_at: int
    """System time it was kept."""
    text: bytes
    """Its text; of a long one the beginning."""
    tool: str | None = None
    """The tool's name."""
    call: bytes = b""
    """Of a result that follows its call at once, the call's text."""


class Pending(msgspec.Struct, frozen=True):
    """A memory that waits to be embedded."""

    row: int
    """Its row."""
    id: bytes
    """Its id."""
    kind: str
    """What it is."""
    speaker: str | None
    """Who spoke: embedded with the text, since a question may name them."""
    text: bytes
    """Its text."""


class NearbyCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool, or its result, near another one in a session."""

    kind: str
    """``tool_call`` or ``tool_result``."""
    tool: str | None
    """The tool's name."""
    outcome: str | None
    """How it ended, where that is known."""
    files: tuple[str, ...]
    """Files touched."""
    text: bytes
    """How its text begins; of a long result of what failed also how it ends."""


class Unbound(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that waits to be bound, with all that its records say."""

    row: int
    """Its row."""
    memory: Memory
    """Itself; of a long text the beginning alone."""
    words: int
    """Length of the whole text in words, without the name of who speaks."""
    meaning: bytes
    """Mean of its windows' vectors, ``(dimensions,) float32``, not of unit length; empty where it has none."""
    previous: bytes
    """The same of the turn before it in its session."""
    next: bytes
    """The same of the turn after it."""
    speakers: tuple[str, ...]
    """Names of the speakers of its session other than its own, at most three."""
    before: tuple[NearbyCall, ...]
    """Of a call or a result: what was called before it and came of it, the nearest first, `NEAR_CALLS` at most."""
    after: tuple[NearbyCall, ...]
    """Of a call or a result: what came after it, the nearest first, `NEAR_CALLS` at most."""
    own: NearbyCall | None = None
    """Of the result of what failed: itself, as others see it; ``None`` where its memory tells as much."""


class SpaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """The space in which hypervectors are made, as it is kept: all of it but the seed."""

    stamp: str
    """What tells it from others."""
    dimensions: int
    """Bits of a hypervector."""
    version: int
    """Of the encoders."""
    roles: tuple[str, ...]
    """Names of the roles that are bound."""
    model: str
    """SHA-256 of the weights whose embeddings are bound, hexadecimal."""
    embedding: int
    """Length of those embeddings."""
    reading: str = ""
    """How records are read out of memories."""


MOST_SHIFT = 7
"""A pair of a record is permuted at most so often."""


def filler_term(number: int, shift: int) -> int:
    """What says of a record that it has a filler, by that one's number, permuted so often.

    Raises:
        ValueError: it is permuted more often than `MOST_SHIFT`.
    """
    if not 0 <= shift <= MOST_SHIFT:
        raise ValueError(f"a pair is permuted 0 to {MOST_SHIFT} times, not {shift}")
    return number * (MOST_SHIFT + 1) + shift


class RecordBlock(NamedTuple):
    """What fills the roles of the records of one tier, `n` of them, `t` fillers in all; see `filler_term`."""

    number: NDArray[np.int64]
    """``(n,) int64``: number of each, ascending; what is bound anew gets a new one."""
    row: NDArray[np.int64]
    """``(n,) int64``: row of its memory."""
    pairs: NDArray[np.int64]
    """``(n,) int64``: how many pairs it has, those without a name too."""
    ends: NDArray[np.int64]
    """``(n,) int64``: where its terms end; they begin where those of the one before end."""
    terms: NDArray[np.uint32]
    """``(t,) uint32``."""


class NamedFiller(NamedTuple):
    """A filler that memories have."""

    number: int
    """Its own."""
    name: str
    """As the memories have it."""
    memories: int
    """How many have it."""


class CodeBlock(NamedTuple):
    """Hypervectors of one tier, `n` of them."""

    number: NDArray[np.int64]
    """``(n,) int64``: number of each, ascending; what is bound anew gets a new one."""
    row: NDArray[np.int64]
    """``(n,) int64``: row of its memory."""
    pairs: NDArray[np.int64]
    """``(n,) int64``: how many pairs are bundled in it."""
    codes: NDArray[np.uint64]
    """``(n, dimensions / 64) uint64``."""


class QuarantinedRecord(msgspec.Struct, frozen=True):
    """A record that could not be understood, and is kept aside; see
    `mnemic.actors.protocol.changes.QuarantineRecord`.
    """

    row: int
    """Its row."""
    record: bytes
    """Its id."""
    assistant: str
    """The host it comes from."""
    event: str
    """What the adapter calls it."""
    at: int
    """World time it was written, microseconds; 0 where that is not known."""
    cwd: str | None
    """The folder the host worked in."""
    branch: str | None
    """The git branch."""
    payload: bytes
    """What the host wrote, without what must not be kept; of a record that could not even be taken apart, all of it.
    Empty where it was let go of."""


class Snapshot(GraphSnapshot, KnowledgeSnapshot, SleepSnapshot, Protocol):
    """The state as of one `seq`."""

    seq: int
    """Number of the newest transaction; it grows with whatever is written."""
    log_row: int
    """Number of the newest line of the log; 0 where there is none. Memories, scopes, and what replaces or hides what
    change with it alone, or with the generation.
    """
    generation: int
    """Grows when what is derived is made anew: rows and windows seen before may mean something else then."""

    def memory_columns(self, after_row: int) -> Columns:
        """Memories kept after a row; ``0`` gives all."""

    def memory_attributes(self, first_row: int, last_row: int) -> list[MemoryAttributes]:
        """Of the memories from one row to another, both included, in the order they were kept."""

    def superseded(self) -> Superseded:
        """All replacements."""

    def retired(self) -> Retired:
        """All memories that are retired."""

    def scopes(self) -> dict[int, str]:
        """Scope numbers and their paths."""

    def scope_path_of(self, place: ScopeRef) -> str | None:
        """The path of a place's scope, its project's own or the one that was merged into; ``None`` where no memory is
        in it.
        """

    def scopes_of_conversation(self, assistant: str, session: str) -> list[ScopeRef]:
        """The scopes that memories of a conversation are in, its subagents' among them; not what is in no scope."""

    def scopes_of_identities(self, identities: Sequence[bytes]) -> dict[bytes, ScopeRef]:
        """The scopes of memories by their identities, as far as they are kept; not what is in no scope."""

    def list_scopes(self) -> list[ScopeInfo]:
        """All scopes, by path."""

    def scope_undo(self) -> tuple[ScopeChange, ...]:
        """What takes back the last change of scopes that is not taken back yet; empty where there is none."""

    def session_rows(self, name: str) -> list[int]:
        """Numbers of the conversations of that name, of any assistant."""

    def session_names(self, rows: Sequence[int]) -> list[str]:
        """The names of conversations by their numbers, each once, the latest first."""

    def encoders(self) -> list[EncoderName]:
        """Who made vectors, oldest first."""

    def vectors(self, encoder: EncoderName, after_window: int) -> VectorBlock:
        """Windows embedded after a window; ``0`` gives all."""

    def languages(self) -> list[str]:
        """The languages that texts are of, by their codes (ISO 639-1), the default one always among them."""

    def memory_terms(self, after_row: int, limit: int) -> TermBlock:
        """The terms of the first memories after a row; ``0`` begins with the first."""

    def term_totals(self) -> TermTotals:
        """What the terms of all memories are to add up to."""

    def text_starts(self, rows: Sequence[int], most_bytes: int, *, with_speaker: bool = True) -> list[str]:
        """Who spoke and the text of memories, in the order asked for; of a text so much of its start at most.

        Args:
            with_speaker: whether the name of who spoke and a space stand before each.
        """

    def text_prefixes(self, rows: Sequence[int], most_bytes: int) -> list[bytes]:
        """How the texts of memories begin, as they are kept, in the order asked for; no character is cut in two."""

    def load_memories(self, rows: Sequence[int]) -> list[Memory]:
        """Whole memories, in the order asked for."""

    def ids_of(self, rows: Sequence[int]) -> list[bytes]:
        """Ids of rows, in the order asked for."""

    def rows_of(self, ids: Sequence[bytes]) -> list[int]:
        """Rows of ids.

        Raises:
            NoSuchMemory: one of them is not there.
        """

    def pending_embeddings(self, encoder: EncoderName, after_row: int, bulk: bool, limit: int) -> list[Pending]:
        """Memories after a row that are to be embedded by the encoder: bulk kinds only, or all others only."""

    def embed_progress(self, encoder: EncoderName) -> EmbedProgress:
        """How many memories have their meaning by an encoder, and how many wait for it."""

    def space(self) -> SpaceRow | None:
        """The newest space; ``None`` where nothing was ever bound."""

    def pending_bindings(
        self, encoder: EncoderName | None, waiting: bool, after_row: int, limit: int, text_bytes: int
    ) -> list[Unbound]:
        """Memories after a row that wait to be bound and are not forgotten.

        Args:
            encoder: whose vectors they are bound with; ``None`` for none.
            waiting: whether those that the encoder has not embedded yet are left out.
            text_bytes: of a longer text so much of its start is given.
        """

    def codes(self, tier: str, after: int) -> CodeBlock:
        """Hypervectors of the newest space, of one tier, of numbers after one; ``0`` gives all."""

    def records(self, tier: str, after: int) -> RecordBlock:
        """What fills the roles of the records of the newest space, as in `codes`."""

    def filler_numbers(self, role: str, filler: str) -> list[int]:
        """The numbers of a filler of a role, whatever its case; none where no memory has it."""

    def filler_roles(self, after: int) -> tuple[NDArray[np.int64], list[str]]:
        """The numbers of all fillers after one, ascending, and the role of each."""

    def named_fillers(self, numbers: Sequence[int]) -> list[NamedFiller]:
        """The fillers of some numbers, the most frequent first."""

    def fillers(self, role: str, scopes: Collection[int] | None = None) -> list[NamedFiller]:
        """The fillers of a role that any memory has, the most frequent first.

        Args:
            scopes: numbers of the scopes whose memories count; ``None`` for all.
        """

    def filler_counts(self) -> dict[str, int]:
        """How many different fillers each role has."""

    def failed_bindings(
        self, encoder: EncoderName | None, after_row: int, limit: int, text_bytes: int
    ) -> list[Unbound]:
        """Memories after a row of which something could not be bound, as in `unbound`, where they are not."""

    def failed_binding_rows(self) -> NDArray[np.int64]:
        """Rows of the memories of which something could not be bound, ``(n,) int64``, ascending."""

    def pending_binding_count(self) -> int:
        """How many memories wait to be bound, whether they could be now or not."""

    def bound_counts(self, encoder: EncoderName | None, waiting: bool) -> tuple[int, int]:
        """How many memories are bound in the newest space, and how many wait that could be; as in `unbound`."""

    def delivery_counts(self, rows: Sequence[int]) -> dict[int, int]:
        """How often memories were given to whoever asked, by row; those that never were are not in it."""

    def counts(self, encoder: EncoderName | None) -> Counts:
        """What is there; embedded by `encoder`, or by the newest where it is ``None``."""

    def spool_offsets(self) -> dict[bytes, int]:
        """How far each spool file is taken in, by its id."""

    def torn_counts(self) -> dict[bytes, int]:
        """How many places of each spool file could not be read, where there are any."""

    def occurrences(self, identities: Sequence[bytes]) -> dict[bytes, OccurrenceCount]:
        """How often the texts of these first identities have occurred so far; the unknown ones are left out."""

    def labels_of(self, identities: Sequence[bytes]) -> dict[bytes, MemoryLabels]:
        """The labels of the memories of these identities, by them; the unknown ones are left out."""

    def unlabelled(self, limit: int, most_bytes: int, *, again: bool = False) -> list[KeptText]:
        """The first memories that were kept before memories had labels, in the order in which they were kept.

        Args:
            limit: at most so many.
            most_bytes: no more of them once so much of their texts is read.
            again: those whose labels a night's undoing took back, too.
        """

    def unlabelled_count(self, *, again: bool = False) -> int:
        """How many there are of these."""

    def relabelled_since(self, night: int) -> list[tuple[Relabel, Relabel]]:
        """What a night and every later one that stand relabelled, newest first: the labels given, and those before."""

    def current_labels(self, memories: Sequence[bytes]) -> dict[bytes, MemoryLabels]:
        """The labels of memories by their ids; what is erased is left out."""

    def document_notes(self, assistant: str, session: str) -> list[DocumentNote]:
        """The notes of a document, in the order in which they were kept."""

    def transcript(self, path: str) -> TranscriptState | None:
        """What is known of a transcript, if anything is."""

    def due_transcript(self, now: int) -> tuple[str, str] | None:
        """Path and format of the transcript that was written last of those that are due, if any is."""

    def next_due_at(self) -> int | None:
        """System time from which a transcript is due; ``None`` where none waits."""

    def waiting_transcripts(self, now: int) -> list[str]:
        """Paths of the transcripts that are due."""

    def failed_transcripts(self) -> list[tuple[str, str]]:
        """Paths and formats of the transcripts that could not be read the last time."""

    def is_session_ignored(self, assistant: str, session: str) -> bool:
        """Whether a conversation was to be left alone."""

    def quarantined_records(self, after_row: int, limit: int) -> list[QuarantinedRecord]:
        """Records that are set aside, of rows after one."""

    def capture_progress(self, now: int) -> CaptureProgress:
        """What became of what was captured by itself; `now` is system time, microseconds."""

    def briefing_sources(self, asked: Brief, now_us: int) -> BriefingSources:
        """What there is to tell an assistant at the start of a session."""

    def selected_ids(self, selection: Selection) -> list[bytes]:
        """Ids of the memories that are meant, in the order they were kept.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
        """

    def survey(self, selection: Selection, shown: int) -> Surveyed:
        """What a selection holds, and how so many of its memories begin.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
        """

    def delivered_spans(self, assistant: str, session: str) -> dict[bytes, list[tuple[int, int]]]:
        """By id the memories that a session was given, and which bytes of each."""

    def delivered_ids(self, assistant: str, session: str) -> frozenset[bytes]:
        """Ids of the memories that a session was given."""

    def list_memories(
        self, asked: ListMemories, scopes: Sequence[int] | None, sessions: Sequence[int] | None
    ) -> MemoriesListed:
        """A page of memories, of these scopes and conversations only where they are given.

        Raises:
            InvalidValue: the cursor is none.
        """

    def list_deliveries(self, asked: ListDeliveries) -> DeliveriesListed:
        """A page of what was given.

        Raises:
            InvalidValue: the cursor is none.
        """

    def memory_details(self, row: int, context: int = 0) -> MemoryDetail:
        """The memory of a row with all that belongs to it, and so many turns before it and after it."""

    def ids_ending(self, digits: str, most: int) -> list[bytes]:
        """Ids that end with these hexadecimal digits, so many at most."""

    def count_usage(self, asked: CountUse, now: int) -> UseCounted:
        """What was kept and given, by project and week; `now` is world time, microseconds."""


class SnapshotSource(Protocol):
    """Gives snapshots."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The newest state, held while the context lasts; keep it short, since the write-ahead log cannot shrink."""

    def close(self) -> None:
        """Let go of the store."""
