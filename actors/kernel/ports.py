"""Protocols of what actors need from outside (store, files, encoder, spool); the composition root supplies them.

`mnemic.runtime` and `mnemic.hooks` hold the real ones. Tests of behaviour may hand in small ones of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import RerankerUnusable
from mnemic.actors.kernel.events import HookEvent, HookRecord, SourceItem
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.snapshot import SnapshotSource
from mnemic.actors.store.messages import Applied

if TYPE_CHECKING:  # what is told at the start of a session is told without NumPy, which takes 0.1 s to load
    import numpy as np
    from numpy.typing import NDArray

    from mnemic.actors.knowledge.queries import StatementExtractor
    from mnemic.actors.shape.ports import TripleExtractor

Digest = Callable[..., bytes]
"""A keyed hash of a sequence of byte strings, 32 bytes."""


class ResolveScope(Protocol):
    """Takes the scope that is named, or finds the one of a folder, as it is now."""

    def __call__(self, scope: str | None, folder: str | None, *, anyway: bool = False) -> ScopeRef:
        """Raises `BadInput`: it is no scope. With `anyway`, a folder belongs somewhere whatever a file in it says."""


PauseSpan = tuple[int, int | None]
"""A pause: world time, microseconds, from which it holds, and the first at which it does not, if any is known."""

IMPLEMENTATIONS = (
    "native-int8",
    "native-float32",
    "numpy-float32",
    "torch-float16",
    "torch-bfloat16",
    "torch-float32",
)
"""The implementations of `Encoder` that there are; each vector is stamped with the name of the one that made it."""


class Window(msgspec.Struct, frozen=True):
    """One stretch of a text that is embedded as a whole."""

    start: int
    """Offset of its first character in the decoded text."""
    end: int
    """Offset after its last character."""
    token_ids: tuple[int, ...]
    """What the encoder is given, special tokens included."""
    is_question: bool = False
    """Whether it is looked for by, and not looked for."""


class Encoder(Protocol):
    """Turns text into unit vectors. All implementations agree within the tolerances of the contract suite."""

    implementation: str
    """Which code made a vector, one of `IMPLEMENTATIONS`."""
    model: str
    """SHA-256, hexadecimal, of what its vectors follow from: the default model's weights; of others, also their prompts
    and what is taken from their vectors."""
    dimensions: int
    """Length of a vector."""
    batch_tokens: int
    """How many tokens it takes at once with profit, and without keeping a question waiting for long, where nobody waits
    for what is embedded; of one window it takes all, however many they are."""
    bulk_tokens: int
    """The same where somebody waits: given more than `batch_tokens`, it may take all that the machine has."""

    def windows(self, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
        """Cut a text into at most `limit` windows that together cover it from its start.

        Args:
            is_question: whether it is a question, which some models want said by a prompt.

        Returns the windows and the number of characters they cover; an empty text has one window.
        """

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Embed windows; however many there are, they may be none.

        Returns ``(windows, dimensions) float32`` of unit length. The same window gives the same vector, whatever else
        is embedded before, after or beside it: to the bit, or on a torch device within its precision.

        Raises:
            ValueError: A window cannot be embedded; which one, trying each alone tells.
            DeviceExhausted: There is no room for so many; where there was one alone, not even for that.
            ModelError: None can be.
            RuntimeError: What computes failed, on a window or altogether.
        """

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of words by themselves, before the model has read anything: the mean of their tokens' embeddings.

        Returns ``(words, dimensions) float32``, of unit length where the model has the word whole and the shorter the
        more pieces it cuts it in; zeros for a word that it has no tokens for.

        Raises:
            ValueError: A word cannot be cut into tokens.
        """


class CrossEncoder(Protocol):
    """Reads a question and a text together, and says how well the one answers the other."""

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """How well each text answers the question, ``(texts,) float32`` from 0 to 1; only their order means something.

        Raises:
            ValueError: A text cannot be read.
            ModelError: None can be.
            RuntimeError: What computes failed.
        """


class Source(Protocol):
    """One opened transcript: its items, in order and the same each time, and how far the reading is."""

    format: str
    """The format it is read as."""
    size_bytes: int | None
    """Length of the source; ``None`` where it is a pipe."""
    position_bytes: int
    """How much of it has been read."""

    def __iter__(self) -> Iterator[SourceItem]: ...

    def close(self) -> None:
        """Let go of the file."""


TranscriptOpener = Callable[[str, str], Source]
"""Opens a transcript by path (``-`` is standard input) and format (``auto`` looks at its first lines).

Raises `SourceUnreadable` or `AmbiguousFormat`.
"""


class FileStat(msgspec.Struct, frozen=True):
    """How long a file is, and when it was written."""

    size_bytes: int
    """Its length."""
    changed_at: int
    """World time it was last written, microseconds since 1970 UTC."""


StatFile = Callable[[str], FileStat | None]
"""Looks at a file by its path; ``None`` where there is none that can be looked at."""


RecordReader = Callable[[HookRecord], list[HookEvent]]
"""Tells what a hook's record stands for, in order; empty where it is nothing to keep.

Raises `UnreadableRecord`: it cannot be understood.
"""


class UndecodedRecord(msgspec.Struct, frozen=True):
    """A record that was opened, and holds no event that this version can take apart."""

    id: bytes
    """Of the record, 16 bytes."""
    why: str
    """What is wrong with it, without its text."""
    body: bytes
    """All of it, opened."""


class SpoolBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The next records of one spool file."""

    file: bytes
    """The file's id, 16 bytes."""
    records: tuple[HookRecord | UndecodedRecord, ...]
    """In the order in which they were written."""
    offset: int
    """Where the next part starts."""
    torn: int
    """Places on the way that hold no whole record: what a killed hook, a full disk or a damaged disk left."""


class SpoolPort(Protocol):
    """A mind's spool; see `mnemic.runtime.spool.spool`."""

    def read(self, offsets: Mapping[bytes, int], limit_records: int, limit_bytes: int) -> SpoolBatch | None:
        """The next part of the file whose oldest unread byte is oldest; ``None`` where nothing waits.

        Args:
            offsets: how far each file is taken in, by its id; a file that is not named is read from its start.
        """

    def remove_consumed(self, offsets: Mapping[bytes, int], checkpoint: Callable[[], bool]) -> list[bytes]:
        """Remove files that are taken in to their end and have been silent for a while.

        Args:
            checkpoint: has the disk hold what was taken in, and says whether it does; no file is removed before.

        Returns the ids of those, and of files among `offsets` that were gone before, as far as that can be told.
        """

    def oldest_at(self, offsets: Mapping[bytes, int]) -> int | None:
        """World time of the oldest event that is not taken in, microseconds; ``None`` where nothing waits."""


class Scrubbed(msgspec.Struct, frozen=True):
    """A text without what must not be kept."""

    text: bytes
    """What is left, each secret replaced by a mark of its type; empty where nothing is left to keep."""
    found: tuple[tuple[str, int], ...]
    """The types of secrets found, by name, and how many of each; ``private`` for what its author marked so."""


Scrub = Callable[[bytes], Scrubbed]
"""Takes secrets out of a text, and what stands between ``<private>`` and ``</private>``."""


class StorePort(Protocol):
    """The store itself; see `mnemic.runtime.store.store.Store`."""

    def apply(self, changes: Iterable[Change], *, at: int, key: bytes, author: str, run: str) -> Applied:
        """Carry out changes in one transaction."""

    def rebuild(self, progress: Callable[[int, int | None], None], *, meaning: bool) -> int:
        """Make what is derived again."""

    def checkpoint(self) -> bool:
        """Take the write-ahead log over into the store's own file; says whether all of it could be."""

    def close(self) -> None:
        """Let go of the file."""


EchoTest = Callable[[str, str | None, str, str], bool]
"""Tells by kind, tool and text of what was kept, and by the text of the call that it answers, whether it is this
memory's own: a call of it, or an answer of it."""


def no_echo(kind: str, tool: str | None, text: str, call: str) -> bool:
    """Nothing is: for an actor system that has no reader of transcripts."""
    return False


def _no_pauses() -> Sequence[PauseSpan]:
    return ()


def _no_cross_encoder() -> CrossEncoder:
    raise RerankerUnusable(path="-", why="there is nothing here that reads one")


def _never_gone(folder: str) -> bool:
    return False


def _always_writable() -> str | None:
    return None


def _allow_all(scopes: Sequence[str], folders: Sequence[str]) -> bool:
    return True


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """All that an actor system has for its actors; `Actor.make` takes of it what the actor needs.

    What is opened belongs to the actor that opened it, and its `close` lets go of it. Only one actor may write.
    """

    settings: Mapping[str, Any]
    """The settings in force: values by full name, such as ``recall.k``."""
    open_store: Callable[[], StorePort]
    """Opens the mind for writing."""
    open_snapshots: Callable[[], SnapshotSource]
    """Opens the mind for reading, by a connection of one's own."""
    load_encoder: Callable[[], Encoder]
    """Loads the embedding model; raises `ModelError`."""
    load_cross_encoder: Callable[[], CrossEncoder] = _no_cross_encoder
    """Loads the model of the setting ``rerank.model``; raises `ModelError`."""
    open_transcript: TranscriptOpener
    """Opens transcripts."""
    resolve_scope: ResolveScope
    """Finds scopes."""
    stat_file: StatFile
    """Looks at files."""
    open_spool: Callable[[], SpoolPort]
    """Opens what the hooks of this mind have kept."""
    read_record: RecordReader
    """Tells what a hook's record stands for."""
    scrub: Scrub
    """Takes out of texts what must not be kept."""
    is_ignored_folder: Callable[[str | None], bool]
    """Whether the project of a folder has asked that nothing of it be remembered by itself."""
    is_gone_folder: Callable[[str], bool] = _never_gone
    """Whether a folder of this machine is not there any more."""
    pauses: Callable[[], Sequence[PauseSpan]] = _no_pauses
    """All pauses of the mind, as they are now; raises `mnemic.actors.kernel.errors.PausesUnreadable`."""
    is_allowed: Callable[[Sequence[str], Sequence[str]], bool] = _allow_all
    """Whether the settings let a project in, by its scopes and its folders; see
    `mnemic.actors.capture.capture_filter`.
    """
    unwritable: Callable[[], str | None] = _always_writable
    """Why nothing can be written to the mind just now, as a clause; ``None`` where something can. What an answer would
    have kept of itself is then left out, and the answer says so.
    """
    is_own_echo: EchoTest = no_echo
    """Whether what was kept is this memory's own."""
    identity: Digest
    """The mind's keyed hash: what makes capturing twice store once."""
    seed: bytes = b""
    """What the codebooks of hypervectors follow from, 32 bytes, the same for the mind's whole life."""
    extract: TripleExtractor | None = None
    """Finds triples in a text; the built-in does where absent."""
    extract_statements: StatementExtractor | None = None
    """Finds what a text states; the built-in does where absent."""
