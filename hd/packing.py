"""Packs bits into 64-bit words, and validates the arrays of hypervectors.

Below `mnemic.hd.bits`, `mnemic.hd.batches` and the backends of `mnemic.hd.algebra`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "as_rows",
    "c_contiguous",
    "check_counters",
    "check_groups",
    "check_hypervectors",
    "check_others",
    "check_weights",
    "pack",
    "pack_unchecked",
    "unpack",
    "unpack_unchecked",
]

_Array = TypeVar("_Array", bound=NDArray[Any])


def pack(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack bits, ``(..., D) bool``, into words, ``(..., D / 64) uint64``.

    Raises:
        ValueError: The dtype is another, or D is not a multiple of 64, or 0.
    """
    if bits.dtype != np.bool_ or bits.ndim == 0 or bits.shape[-1] == 0 or bits.shape[-1] % 64:
        raise ValueError(f"bits must be bool, their number a multiple of 64, not {bits.dtype} {bits.shape}")
    return pack_unchecked(bits)


def unpack(vectors: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Unpack words, ``(..., w) uint64``, into bits, ``(..., 64 w) bool``.

    Raises:
        ValueError: The dtype is another, or w is 0.
    """
    if vectors.dtype != np.uint64 or vectors.ndim == 0 or vectors.shape[-1] == 0:
        raise ValueError(f"vectors must be uint64 of at least one word, not {vectors.dtype} {vectors.shape}")
    return unpack_unchecked(vectors).view(np.bool_)


def check_hypervectors(
    what: str, vectors: NDArray[np.uint64], dimensions: int | None = None, words: int | None = None
) -> None:
    """See that hypervectors are ``uint64``, of as many dimensions (else 1 or 2) and words (else any, but not 0).

    Raises:
        ValueError: They are not; the message begins with `what` they are.
    """
    shape = vectors.shape
    fits = vectors.ndim in ((1, 2) if dimensions is None else (dimensions,)) and shape[-1] > 0
    if vectors.dtype != np.uint64 or not fits or words not in (None, shape[-1]):
        width = "w" if words is None else words
        expected = {1: f"({width},)", 2: f"(n, {width})", None: f"({width},) or (n, {width})"}[dimensions]
        raise ValueError(f"{what} must be uint64 {expected}, not {vectors.dtype} {shape}")


def check_others(vectors: NDArray[np.uint64], others: NDArray[np.uint64]) -> None:
    """See that hypervectors and what they are bound with go together.

    Raises:
        ValueError: They don't.
    """
    check_hypervectors("vectors", vectors)
    check_hypervectors("others", others)
    if others.shape != vectors.shape and others.shape != vectors.shape[-1:]:
        raise ValueError(f"others must be {vectors.shape} or {vectors.shape[-1:]}, not {others.shape}")


def check_weights(vectors: NDArray[np.uint64], weights: NDArray[np.int32]) -> int:
    """See that there is a weight from 0 for each hypervector.

    Returns:
        What they add up to.

    Raises:
        ValueError: There is not, or they add up beyond int32.
    """
    if weights.dtype != np.int32 or weights.shape != (len(vectors),):
        raise ValueError(f"weights must be int32 {(len(vectors),)}, not {weights.dtype} {weights.shape}")
    if weights.min(initial=0) < 0:
        raise ValueError(f"a weight must not be negative, and one is {weights.min()}")
    total = int(weights.sum(dtype=np.int64))
    if total > np.iinfo(np.int32).max:
        raise ValueError(f"the weights add up to {total}, beyond the range of 32 bits: make them smaller")
    return total


def check_groups(
    vectors: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
    ties: NDArray[np.uint64] | None = None,
) -> NDArray[np.int64]:
    """See that groups are of these hypervectors, and that there is a tie for each, where there are ties.

    Returns:
        The members of all groups, ``(m,) int64``, each the index of one of `vectors`.

    Raises:
        ValueError: They are not.
    """
    check_hypervectors("vectors", vectors, dimensions=2)
    if rows is None:
        rows = np.arange(len(vectors), dtype=np.int64)
    elif rows.dtype != np.int64 or rows.ndim != 1:
        raise ValueError(f"rows must be int64 (m,), not {rows.dtype} {rows.shape}")
    elif len(rows) and not 0 <= rows.min() <= rows.max() < len(vectors):
        raise ValueError(f"rows must be below {len(vectors)}, from 0 on, and one is not")
    if offsets.dtype != np.int64 or offsets.ndim != 1 or not len(offsets):
        raise ValueError(f"offsets must be int64 (g + 1,), not {offsets.dtype} {offsets.shape}")
    if offsets[0] != 0 or offsets[-1] != len(rows) or np.any(offsets[1:] < offsets[:-1]):
        raise ValueError(f"offsets must rise from 0 to {len(rows)}")
    if ties is not None:
        check_hypervectors("ties", ties, dimensions=2, words=vectors.shape[1])
        if len(ties) != len(offsets) - 1:
            raise ValueError(f"there must be a tie for each of {len(offsets) - 1} groups, not {len(ties)}")
    return rows


def check_counters(counters: NDArray[np.int32], length: int) -> None:
    """See that counters are ``(length,) int32``.

    Raises:
        ValueError: They are not.
    """
    if counters.dtype != np.int32 or counters.shape != (length,):
        raise ValueError(f"counters must be int32 {(length,)}, not {counters.dtype} {counters.shape}")


def as_rows(vectors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``(w,)`` or ``(n, w)`` as rows that the extension takes."""
    return np.atleast_2d(c_contiguous(vectors))


def c_contiguous(array: _Array) -> _Array:
    """The array as the extension takes it, which is as it is if it lies in C's order; else a copy."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.require(array, requirements=("C", "A"))


def pack_unchecked(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Bits as words; unlike `pack`, nothing is checked."""
    return np.packbits(bits, axis=-1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def unpack_unchecked(vectors: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Each bit as a byte, 0 or 1; unlike `unpack`, nothing is checked."""
    little = np.ascontiguousarray(vectors).astype("<u8", copy=False)
    return np.unpackbits(little.view(np.uint8), axis=-1, bitorder="little")
