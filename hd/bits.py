"""Hypervectors of packed bits and their algebra: binary spatter codes.

A hypervector has D bits, 10,240 by default and any multiple of 64, packed into ``uint64`` words: bit i is bit
``i % 64`` of word ``i // 64``, the lowest first. Below this module stands the native extension, where it was built;
without it NumPy does the same work, and both give the same bits. Each function takes ``native``, whether the extension
is to do it; ``None`` is: where it was built. What the bits mean is decided above.

Kanerva 1996, "Binary spatter-coding of ordered K-tuples". torchhd's ``BSCTensor`` is the reference: there a bit is a
value of its own, and ties are broken at random instead of by a hypervector that is handed in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.packing import (
    as_rows,
    c_contiguous,
    check_counters,
    check_hypervectors,
    check_others,
    pack,
    pack_unchecked,
    unpack,
    unpack_unchecked,
)

try:
    import mnemic._native as _native
except ModuleNotFoundError as missing:
    # Only an extension that was never built may be missing; one that is there and does not load is an error.
    if missing.name != "mnemic._native":
        raise
    BUILT = False
else:
    BUILT = True

NATIVE = BUILT
"""Whether the extension does what nobody asked NumPy for."""

__all__ = [
    "BUILT",
    "NATIVE",
    "add_counts",
    "bind",
    "bundle",
    "distances",
    "majority",
    "nearest",
    "pack",
    "rotate",
    "unpack",
    "uses_native",
]

_GREATEST = int(np.iinfo(np.int32).max)
_CHUNK = 1024
"""Rows that NumPy takes apart at a time: 10 MB of counted bits, 1.3 MB of distances."""


def uses_native(native: bool | None) -> bool:
    """Whether the extension is to do it, asked for or by itself.

    Raises:
        ValueError: It is asked for, and was not built.
    """
    if native and not BUILT:
        raise ValueError("the native extension was not built: install Mnemic where a cargo is, or choose numpy")
    return NATIVE if native is None else native


def bind(vectors: NDArray[np.uint64], others: NDArray[np.uint64], *, native: bool | None = None) -> NDArray[np.uint64]:
    """Bind hypervectors with others: exclusive or. It is its own inverse: what was bound is unbound the same way.

    Args:
        vectors: ``(w,)`` or ``(n, w) uint64``.
        others: the same shape, or one hypervector ``(w,)`` for all.

    Returns:
        As many as there are `vectors`.

    Raises:
        ValueError: The dtypes or shapes are others.
    """
    check_others(vectors, others)
    if not uses_native(native):
        return vectors ^ others
    bound = np.empty(vectors.shape, np.uint64)
    _native.bind_bits(as_rows(vectors), as_rows(others), np.atleast_2d(bound))
    return bound


def rotate(vectors: NDArray[np.uint64], shift: int = 1, *, native: bool | None = None) -> NDArray[np.uint64]:
    """Rotate hypervectors, which is how they are permuted: bit i moves to bit ``(i + shift) % D``, as ``torch.roll``.

    Args:
        vectors: ``(w,)`` or ``(n, w) uint64``.
        shift: in bits; any integer, and ``-shift`` turns back.

    Raises:
        ValueError: The dtype or shape is another.
    """
    check_hypervectors("vectors", vectors)
    shift = int(shift) % (64 * vectors.shape[-1])
    if not uses_native(native):
        turned = np.roll(vectors, shift // 64, axis=-1)
        bits = np.uint64(shift % 64)
        return turned << bits | np.roll(turned, 1, axis=-1) >> (np.uint64(64) - bits) if bits else turned
    rotated = np.empty(vectors.shape, np.uint64)
    _native.rotate_bits(as_rows(vectors), shift, np.atleast_2d(rotated))
    return rotated


def add_counts(
    vectors: NDArray[np.uint64], counters: NDArray[np.int32], weight: int = 1, *, native: bool | None = None
) -> None:
    """Add to each bit's counter in how many hypervectors it is set, times `weight`: a bundle that can grow.

    Args:
        vectors: ``(w,)`` or ``(n, w) uint64``.
        counters: ``(64 w,) int32``, C-contiguous; changed in place. Zeros are the empty bundle.
        weight: of each hypervector; -1 takes away what was counted before.

    Raises:
        ValueError: The dtypes or shapes are others, or a counter might leave int32; nothing is changed then.
        TypeError: Natively, another thread is counting in the same counters ("already borrowed"); nothing is changed.
            NumPy does not notice, and counts are lost: threads that share counters must take turns.
    """
    check_hypervectors("vectors", vectors)
    check_counters(counters, 64 * vectors.shape[-1])
    if not (counters.flags.c_contiguous and counters.flags.aligned and counters.flags.writeable):
        raise ValueError("counters must be C-contiguous and writeable: they are changed in place")
    rows = as_rows(vectors)
    most = max(int(counters.max()), -int(counters.min()))
    if abs(weight) > _GREATEST or most + len(rows) * abs(weight) > _GREATEST:
        raise ValueError("a counter would leave the range of 32 bits")
    if uses_native(native):
        _native.count_bits(rows, weight, counters)
        return
    for start in range(0, len(rows), _CHUNK):
        counters += weight * unpack_unchecked(rows[start : start + _CHUNK]).sum(axis=0, dtype=np.int32)


def majority(
    counters: NDArray[np.int32], total: int, tie: NDArray[np.uint64], *, native: bool | None = None
) -> NDArray[np.uint64]:
    """Take the bits that more than half of `total` counted hypervectors have, where it is half of them those of `tie`.

    Args:
        counters: ``(64 w,) int32`` as `add_counts` left them.
        total: the weights of what was counted, added up; nothing counted is `tie`.
        tie: ``(w,) uint64``, random but always the same, so that the same bundle has the same bits.

    Returns:
        ``(w,) uint64``.

    Raises:
        ValueError: The dtypes or shapes are others, or `total` is negative or beyond int32.
    """
    check_hypervectors("tie", tie, dimensions=1)
    check_counters(counters, 64 * len(tie))
    if not 0 <= total <= _GREATEST:
        raise ValueError(f"the total must be from 0 to {_GREATEST}, not {total}")
    if uses_native(native):
        return _native.majority_bits(c_contiguous(counters), total, c_contiguous(tie))
    equal = tie if total % 2 == 0 else np.zeros_like(tie)
    return pack_unchecked(counters > total // 2) | pack_unchecked(counters == total // 2) & equal


def bundle(vectors: NDArray[np.uint64], tie: NDArray[np.uint64], *, native: bool | None = None) -> NDArray[np.uint64]:
    """Bundle hypervectors into the one most like all of them: `add_counts` and `majority` in one call.

    Args:
        vectors: ``(n, w) uint64``; none of them make `tie`.
        tie: ``(w,) uint64``, whose bits decide where as many have a bit as have it not.

    Returns:
        ``(w,) uint64``.

    Raises:
        ValueError: The dtypes or shapes are others.
    """
    check_hypervectors("vectors", vectors, dimensions=2)
    check_hypervectors("tie", tie, dimensions=1, words=vectors.shape[1])
    if uses_native(native):
        return _native.bundle_bits(as_rows(vectors), c_contiguous(tie))
    counters = np.zeros(64 * len(tie), np.int32)
    add_counts(vectors, counters, native=False)
    return majority(counters, len(vectors), tie, native=False)


def distances(
    vectors: NDArray[np.uint64], query: NDArray[np.uint64], *, native: bool | None = None
) -> NDArray[np.int64]:
    """Measure the Hamming distance of each hypervector from the query: in how many bits they differ.

    Args:
        vectors: ``(n, w) uint64``.
        query: ``(w,) uint64``.

    Returns:
        ``(n,) int64``, from 0 to ``64 w``; about ``32 w`` between hypervectors that have nothing to do with each other.

    Raises:
        ValueError: The dtypes or shapes are others.
    """
    check_hypervectors("vectors", vectors, dimensions=2)
    check_hypervectors("the query", query, dimensions=1, words=vectors.shape[1])
    if uses_native(native):
        return _native.hamming_distances(as_rows(vectors), c_contiguous(query))
    parts = [vectors[start : start + _CHUNK] ^ query for start in range(0, len(vectors), _CHUNK)]
    measured = [np.bitwise_count(part).sum(axis=1, dtype=np.int64) for part in parts]
    return np.concatenate([np.zeros(0, np.int64), *measured])


def nearest(
    vectors: NDArray[np.uint64],
    query: NDArray[np.uint64],
    k: int,
    *,
    native: bool | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the `k` hypervectors nearest to the query; exact.

    Args:
        vectors: ``(n, w) uint64``.
        query: ``(w,) uint64``.
        k: how many at most; where fewer are there, fewer are found.

    Returns:
        Their indices and their Hamming distances, ``(m,) int64`` each, the nearest first, of equally near ones the
        lower index first.

    Raises:
        ValueError: The dtypes or shapes are others, or `k` is negative.
    """
    check_hypervectors("vectors", vectors, dimensions=2)
    check_hypervectors("the query", query, dimensions=1, words=vectors.shape[1])
    if k < 0:
        raise ValueError(f"k must not be negative, and is {k}")
    k = min(k, len(vectors))
    if uses_native(native):
        return _native.hamming_nearest(as_rows(vectors), c_contiguous(query), k)
    measured = distances(vectors, query, native=False)
    order = np.argsort(measured, kind="stable")[:k]
    return order, measured[order]
