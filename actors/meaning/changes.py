"""Changes of meaning: which encoder there is, and the vectors that it made."""

from __future__ import annotations

import msgspec

from mnemic.actors.kernel.message import ChangeBase


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
