"""What is read of meaning: vectors, and the memories that have none yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.messages import EmbedProgress

if TYPE_CHECKING:  # what is told at the start of a session is told without NumPy, which takes 0.1 s to load
    import numpy as np
    from numpy.typing import NDArray


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


class MeaningSnapshot(Protocol):
    """What a snapshot tells of vectors, and of memories without them."""

    def encoders(self) -> list[EncoderName]:
        """Who made vectors, oldest first."""

    def vectors(self, encoder: EncoderName, after_window: int) -> VectorBlock:
        """Windows embedded after a window; ``0`` gives all."""

    def pending_embeddings(self, encoder: EncoderName, after_row: int, bulk: bool, limit: int) -> list[Pending]:
        """Memories after a row that are to be embedded by the encoder: bulk kinds only, or all others only."""

    def embed_progress(self, encoder: EncoderName) -> EmbedProgress:
        """How many memories have their meaning by an encoder, and how many wait for it."""
