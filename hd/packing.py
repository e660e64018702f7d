"""Packs bits into 64-bit words, and validates the arrays of hypervectors; what the backends of the algebra share.

A hypervector has D bits, 10,240 by default and any multiple of 64, packed into ``uint64`` words: bit i is bit
``i % 64`` of word ``i // 64``, the lowest first. Below `mnemic.hd.algebra`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

MAX_EMBEDDING_LENGTH = 132_000
"""The most values of an embedding that is projected: then every sum stays under 2^24, and float32 holds it exactly."""
_MAX_PAIRS = 4_000_000
"""Pairs of item and query that are sorted at a time: 32 MB."""
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


def check_normals(normals: NDArray[np.int8]) -> None:
    """See that normals of hyperplanes are ``(D, d) int8``, D a multiple of 64.

    Raises:
        ValueError: They are not.
    """
    planes, width = normals.shape if normals.ndim == 2 else (0, 0)
    if normals.dtype != np.int8 or not planes or planes % 64 or not width:
        raise ValueError(f"planes must be int8 (D, d), D a multiple of 64, not {normals.dtype} {normals.shape}")
    if width > MAX_EMBEDDING_LENGTH:
        raise ValueError(f"embeddings must not be longer than {MAX_EMBEDDING_LENGTH}, and are {width} long")


def check_signs(normals: NDArray[np.int8]) -> None:
    """See that all values of normals are 1 or -1.

    Raises:
        ValueError: One is not.
    """
    if not np.all(np.abs(normals) == 1):
        raise ValueError("a plane has a value that is neither 1 nor -1")


def check_embeddings(quantised: NDArray[np.int8], normals: NDArray[np.int8], tie: NDArray[np.uint64]) -> None:
    """See that embeddings, and the tie, fit hyperplanes.

    Raises:
        ValueError: They don't, or a value is -128.
    """
    check_hypervectors("tie", tie, dimensions=1, words=len(normals) // 64)
    width = normals.shape[1]
    if quantised.dtype != np.int8 or quantised.ndim != 2 or quantised.shape[1] != width:
        raise ValueError(f"embeddings must be int8 (n, {width}), not {quantised.dtype} {quantised.shape}")
    if quantised.min(initial=0) < -127:
        raise ValueError("the values of embeddings must be from -127 to 127, and one is -128")


def nearest_items(
    distances_of: Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.int32]],
    items: NDArray[np.uint64],
    queries: NDArray[np.uint64],
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """`Algebra.cleanup` by a backend's own distances, some queries at a time.

    Raises:
        ValueError: The dtypes or shapes are others, or `k` is negative.
    """
    if k < 0:
        raise ValueError(f"k must not be negative, and is {k}")
    check_hypervectors("items", items, dimensions=2)
    check_hypervectors("queries", queries, dimensions=2, words=items.shape[1])
    number = len(items)
    k = min(k, number)
    indices, distances = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.int32)
    at_once = max(1, _MAX_PAIRS // max(1, number))
    for start in range(0, len(queries) if k else 0, at_once):
        measured = distances_of(items, queries[start : start + at_once])
        # Distance and index as one number: no two are equal, so that choosing some of them is exact.
        keys = measured.T.astype(np.int64) * number + np.arange(number)
        if k < number:
            keys = np.partition(keys, k - 1, axis=1)[:, :k]
        keys.sort(axis=1)
        distances[start : start + at_once], indices[start : start + at_once] = np.divmod(keys, number)
    return indices, distances


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
