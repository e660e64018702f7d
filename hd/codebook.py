"""Codebooks: draws the random hypervector of a name, the same on every machine, from a seed; names and paths.

The bits of a symbol are drawn from the space's seed, a namespace and the symbol by SHA-256 (FIPS 180-4), stretched by
SHAKE-256 (FIPS 202), so that any machine and any process draws the same ones, and none is ever stored. Two symbols have
nothing to do with each other.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.space import Space


def draw_bytes(space: Space, namespace: str, symbol: str, size_bytes: int) -> bytes:
    """Draw bytes of a symbol; a longer draw begins with the bytes of a shorter one.

    Args:
        namespace: what kind of symbol it is; symbols of two namespaces have nothing to do with each other.
        symbol: any text, lone surrogates included.
    """
    parts = (b"mnemic codebook", space.seed, *(one.encode("utf-8", "surrogatepass") for one in (namespace, symbol)))
    digest = hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()
    return hashlib.shake_256(digest).digest(size_bytes)


def draw_hypervector(space: Space, namespace: str, symbol: str) -> NDArray[np.uint64]:
    """Draw the hypervector of a symbol, ``(space.words,) uint64``: half of its bits are set, give or take 50 of 10,240.

    Args:
        namespace: as in `draw_bytes`.
        symbol: as in `draw_bytes`.
    """
    return np.frombuffer(draw_bytes(space, namespace, symbol, space.dimensions // 8), "<u8").astype(np.uint64)


def draw_ranks(space: Space, namespace: str) -> NDArray[np.int64]:
    """Draw an order of the bits, ``(space.dimensions,) int64``: the place of each, from 0, every place once."""
    keys = np.frombuffer(draw_bytes(space, namespace, "order", 8 * space.dimensions), "<u8")
    places = np.empty(space.dimensions, np.int64)
    places[np.argsort(keys, kind="stable")] = np.arange(space.dimensions)
    return places


MAX_NAME_CHARS = 120
"""Characters of a name. Of a longer one the end is taken, since that is what tells paths apart."""


class SymbolEncoder:
    """Names whatever their case, their spaces, and how Unicode writes their letters (UAX #15: form C)."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "exact"

    def __init__(self, space: Space, namespace: str) -> None:
        self._space, self._namespace = space, namespace

    @staticmethod
    def canonical(filler: str) -> str:
        """Its words in lower case.

        Raises:
            ValueError: there is none.
        """
        return _nonempty(" ".join(_normalize(filler.lower()).split())[-MAX_NAME_CHARS:].strip())

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of canonical names, ``(n, space.words) uint64``."""
        return _draw_all(self._space, self._namespace, fillers)


class PathEncoder:
    """Paths, which keep their case to be shown; two that differ by nothing else have the same bits."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "exact"

    def __init__(self, space: Space, namespace: str) -> None:
        self._space, self._namespace = space, namespace

    @staticmethod
    def canonical(filler: str) -> str:
        """Its parts with ``/`` between them, without ``./`` before them and ``/`` after them.

        Raises:
            ValueError: there is none.
        """
        whole = " ".join(_normalize(filler).split()).replace("\\", "/")
        parts = [part for one in whole.split("/") if (part := one.strip()) not in ("", ".")]
        path = "/" * whole.startswith("/") + "/".join(parts)
        parts = parts[-MAX_NAME_CHARS:]  # more are too long in any case; one by one, a million would take hours
        while len(path) > MAX_NAME_CHARS and len(parts) > 1:
            path = "/".join(parts := parts[1:])
        return _nonempty(path[-MAX_NAME_CHARS:].strip() or whole[:1])

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of canonical paths, ``(n, space.words) uint64``."""
        return _draw_all(self._space, self._namespace, [filler.lower() for filler in fillers])


def _normalize(name: str) -> str:
    """Letters with their accents as one: some file systems and keyboards take them apart."""
    return unicodedata.normalize("NFC", name)


def _nonempty(name: str) -> str:
    if not name:
        raise ValueError("a name is expected, and there is none")
    return name


def _draw_all(space: Space, namespace: str, names: Sequence[str]) -> NDArray[np.uint64]:
    drawn = np.empty((len(names), space.words), np.uint64)
    for code, name in zip(drawn, names, strict=True):
        code[:] = draw_hypervector(space, namespace, name)
    return drawn
