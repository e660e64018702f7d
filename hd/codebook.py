"""Codebooks: the hypervectors of names, random but always the same.

The bits of a symbol are drawn from the space's seed, a namespace and the symbol by SHA-256 (FIPS 180-4), stretched by
SHAKE-256 (FIPS 202), so that any machine and any process draws the same ones, and none is ever stored.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.space import Space

__all__ = ["draw", "ranks", "stream"]


def stream(space: Space, namespace: str, symbol: str, size_bytes: int) -> bytes:
    """Draw bytes of a symbol; a longer draw begins with the bytes of a shorter one.

    Args:
        namespace: what kind of symbol it is; symbols of two namespaces have nothing to do with each other.
        symbol: any text, lone surrogates included.
    """
    parts = (b"mnemic codebook", space.seed, *(one.encode("utf-8", "surrogatepass") for one in (namespace, symbol)))
    digest = hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()
    return hashlib.shake_256(digest).digest(size_bytes)


def draw(space: Space, namespace: str, symbol: str) -> NDArray[np.uint64]:
    """Draw the hypervector of a symbol, ``(space.words,) uint64``: half of its bits are set, give or take 50 of 10,240.

    Args:
        namespace: as in `stream`.
        symbol: as in `stream`.
    """
    return np.frombuffer(stream(space, namespace, symbol, space.dimensions // 8), "<u8").astype(np.uint64)


def ranks(space: Space, namespace: str) -> NDArray[np.int64]:
    """Draw an order of the bits, ``(space.dimensions,) int64``: the place of each, from 0, every place once."""
    keys = np.frombuffer(stream(space, namespace, "order", 8 * space.dimensions), "<u8")
    places = np.empty(space.dimensions, np.int64)
    places[np.argsort(keys, kind="stable")] = np.arange(space.dimensions)
    return places
