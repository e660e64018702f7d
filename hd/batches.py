"""Batch operations on packed hypervectors: grouped bundling, distances to many queries, projections.

Beside `mnemic.hd.bits`, of which it is the second half: packed words, the extension where it was built, else NumPy, and
the same bits either way. `mnemic.hd.algebra` stands above both.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mnemic.hd import bits
from mnemic.hd.packing import c_contiguous, check_groups, check_hypervectors, check_weights, pack_unchecked

if bits.BUILT:
    import mnemic._native as _native

__all__ = [
    "MAX_EMBEDDING_LENGTH",
    "Hyperplanes",
    "bind_groups",
    "bundle_groups",
    "bundle_weighted",
    "check_embeddings",
    "check_normals",
    "check_signs",
    "distances",
    "nearest_items",
]

_MAX_PAIRS = 4_000_000
MAX_EMBEDDING_LENGTH = 132_000
"""The most values of an embedding that is projected: then every sum stays under 2^24, and float32 holds it exactly."""

_CHUNK = 1024
"""Rows that NumPy takes apart at a time: 10 MB of bits of the usual size."""


def bundle_weighted(
    vectors: NDArray[np.uint64], tie: NDArray[np.uint64], weights: NDArray[np.int32], *, native: bool | None = None
) -> NDArray[np.uint64]:
    """Bundle hypervectors of which each counts as often as its weight says.

    Args:
        vectors: ``(n, w) uint64``.
        tie: ``(w,) uint64``, whose bits decide where those that have a bit weigh as much as those that have it not.
        weights: ``(n,) int32``, from 0.

    Returns:
        ``(w,) uint64``.

    Raises:
        ValueError: The dtypes or shapes are others, a weight is negative, or they add up beyond int32.
    """
    check_hypervectors("vectors", vectors, dimensions=2)
    check_hypervectors("tie", tie, dimensions=1, words=vectors.shape[1])
    total = check_weights(vectors, weights)
    counters = np.zeros(64 * len(tie), np.int32)
    for weight in np.unique(weights[weights > 0]):
        bits.add_counts(vectors[weights == weight], counters, int(weight), native=native)
    return bits.majority(counters, total, tie, native=native)


def bundle_groups(
    vectors: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    ties: NDArray[np.uint64],
    rows: NDArray[np.int64] | None = None,
    *,
    native: bool | None = None,
) -> NDArray[np.uint64]:
    """Bundle each group of hypervectors, as `bits.bundle` does one.

    Args:
        vectors: ``(p, w) uint64``.
        offsets: ``(g + 1,) int64``, rising from 0: group i is those from ``offsets[i]`` to ``offsets[i + 1]``. An empty
            group makes its tie.
        ties: ``(g, w) uint64``, one for each group.
        rows: where given, ``(m,) int64``, and the groups are groups of these, each the index of one of `vectors`: so
            one that is in many groups need not be there many times.

    Returns:
        ``(g, w) uint64``.

    Raises:
        ValueError: The dtypes or shapes are others, offsets fall or do not end where the members do, or a row is none.
    """
    members = check_groups(vectors, offsets, rows, ties)
    if bits.uses_native(native):
        return _native.bundle_groups(
            c_contiguous(vectors), c_contiguous(offsets), c_contiguous(ties), _in_order_too(rows)
        )
    bundled = np.empty(ties.shape, np.uint64)
    for group, (start, end) in enumerate(pairwise(offsets.tolist())):
        bundled[group] = bits.bundle(vectors[members[start:end]], ties[group], native=False)
    return bundled


def bind_groups(
    vectors: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64] | None = None,
    *,
    native: bool | None = None,
) -> NDArray[np.uint64]:
    """Bind the hypervectors of each group with each other: exclusive or of all of them, in whatever order they are.

    Args:
        vectors, offsets, rows: as for `bundle_groups`.

    Returns:
        ``(g, w) uint64``; of an empty group, zeros, which bound with anything leave it as it is.

    Raises:
        ValueError: As for `bundle_groups`.
    """
    members = check_groups(vectors, offsets, rows)
    if bits.uses_native(native):
        return _native.bind_groups(c_contiguous(vectors), c_contiguous(offsets), _in_order_too(rows))
    bound = np.zeros((len(offsets) - 1, vectors.shape[1]), np.uint64)
    for group, (start, end) in enumerate(pairwise(offsets.tolist())):
        np.bitwise_xor.reduce(vectors[members[start:end]], axis=0, out=bound[group])
    return bound


def distances(
    vectors: NDArray[np.uint64], queries: NDArray[np.uint64], *, native: bool | None = None
) -> NDArray[np.int32]:
    """Measure the Hamming distance of each hypervector from each query, in one pass over the hypervectors.

    Args:
        vectors: ``(n, w) uint64``.
        queries: ``(q, w) uint64``.

    Returns:
        ``(n, q) int32``, from 0 to ``64 w``.

    Raises:
        ValueError: The dtypes or shapes are others.
    """
    check_hypervectors("vectors", vectors, dimensions=2)
    check_hypervectors("queries", queries, dimensions=2, words=vectors.shape[1])
    if bits.uses_native(native):
        return _native.hamming_distances_of(c_contiguous(vectors), c_contiguous(queries))
    measured = np.empty((len(vectors), len(queries)), np.int32)
    for start in range(0, len(vectors), _CHUNK):
        part = vectors[start : start + _CHUNK]
        for index, query in enumerate(queries):
            measured[start : start + _CHUNK, index] = np.bitwise_count(part ^ query).sum(axis=1, dtype=np.int32)
    return measured


class Hyperplanes:
    """Hyperplanes through the origin, laid out once for many projections. Any threads may share them.

    Two embeddings at an angle a lie on different sides of about ``a / pi`` of them (Charikar 2002, "Similarity
    estimation techniques from rounding algorithms"). All sums are exact, so that every machine gives the same bits.
    """

    def __init__(self, normals: NDArray[np.int8], *, native: bool | None = None) -> None:
        """Lay them out.

        Args:
            normals: ``(D, d) int8``, each value 1 or -1; D is a multiple of 64. Not to be changed any more.

        Raises:
            ValueError: The dtype or shape is another, or a value is.
        """
        check_normals(normals)
        self.normals = normals
        """As they were given."""
        self._laid_out: _native.Planes | NDArray[np.float32]
        if bits.uses_native(native):
            self._laid_out = _native.Planes(c_contiguous(normals))  # which looks at the values itself
        else:
            check_signs(normals)
            self._laid_out = normals.T.astype(np.float32)

    def project(self, quantised: NDArray[np.int8], tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Say on which side of each plane each embedding lies.

        Args:
            quantised: ``(n, d) int8``, embeddings as whole numbers from -127 to 127, of any length.
            tie: ``(D / 64,) uint64``, the bits of an embedding that lies in a plane: all those of one of zeros.

        Returns:
            ``(n, D / 64) uint64``.

        Raises:
            ValueError: The dtypes or shapes are others, or a value is -128.
        """
        check_embeddings(quantised, self.normals, tie)
        if not isinstance(self._laid_out, np.ndarray):
            return self._laid_out.project(c_contiguous(quantised), c_contiguous(tie))
        sides = np.empty((len(quantised), len(tie)), np.uint64)
        for start in range(0, len(quantised), _CHUNK):
            sums = quantised[start : start + _CHUNK].astype(np.float32) @ self._laid_out
            sides[start : start + _CHUNK] = pack_unchecked(sums > 0) | pack_unchecked(sums == 0) & tie
        return sides


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


def _in_order_too(rows: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    return None if rows is None else c_contiguous(rows)


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
