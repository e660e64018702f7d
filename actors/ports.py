"""Ports: what an actor needs from outside, as protocols. The root hands in what fulfils them.

`mnemic.runtime` and `mnemic.hooks` hold the real ones. Tests of behaviour may hand in small ones of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.events import Event, Malformed

__all__ = ["Encoder", "Source", "TranscriptOpener", "Window"]


class Window(msgspec.Struct, frozen=True):
    """One stretch of a text that is embedded as a whole."""

    start: int
    """Offset of its first character in the decoded text."""
    end: int
    """Offset after its last character."""
    token_ids: tuple[int, ...]
    """What the encoder is given, special tokens included."""


class Encoder(Protocol):
    """Turns text into unit vectors. All implementations agree within the tolerances of the contract suite."""

    implementation: str
    """Which code made a vector, such as ``numpy-float32``."""
    model: str
    """SHA-256 of the weights, hexadecimal."""
    dimensions: int
    """Length of a vector."""

    def windows(self, text: str, limit: int) -> tuple[list[Window], int]:
        """Cut a text into at most `limit` windows that together cover it from its start.

        Returns the windows and the number of characters they cover; an empty text has one window.
        """
        ...

    def encode(self, window: Window) -> NDArray[np.float32]:
        """Embed one window.

        Returns ``(dimensions,) float32`` of unit length. The same window gives the same bits, whatever else is
        embedded before, after or beside it.
        """
        ...


class Source(Protocol):
    """One opened transcript: its events, in order, and how far the reading is."""

    format: str
    """The format it is read as."""
    size_bytes: int | None
    """Length of the source; ``None`` where it is a pipe."""
    position_bytes: int
    """How much of it has been read."""

    def __iter__(self) -> Iterator[Event | Malformed]: ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class TranscriptOpener(Protocol):
    """Opens a transcript by path (``-`` is standard input) and format (``auto`` looks at its first lines)."""

    def __call__(self, path: str, format: str) -> Source:
        """Raises `SourceUnreadable` or `AmbiguousFormat`."""
        ...
