"""Hypervectors of packed bits and their algebra: binary spatter codes.

A hypervector has D bits, 10,240 by default and any multiple of 64, packed into ``uint64`` words: bit i is bit
``i % 64`` of word ``i // 64``, the lowest first. Below this module stands the native extension, where it was built;
without it NumPy does the same work, and both give the same bits. What the bits mean is decided above.

Kanerva 1996, "Binary spatter-coding of ordered K-tuples". torchhd's ``BSCTensor`` is the reference: there a bit is a
value of its own, and ties are broken at random instead of by a hypervector that is handed in.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

try:
    import mnemic._native as _native
except ModuleNotFoundError as missing:
    # Only an extension that was never built may be missing; one that is there and does not load is an error.
    if missing.name != "mnemic._native":
        raise
    NATIVE = False
else:
    NATIVE = True

__all__ = [
    "NATIVE",
    "bind",
    "bundle",
    "count",
    "distances",
    "majority",
    "mask",
    "nearest",
    "pack",
    "rotate",
    "unpack",
]

_Array = TypeVar("_Array", bound=NDArray[Any])

_GREATEST = int(np.iinfo(np.int32).max)
_CHUNK = 1024
"""Rows that NumPy takes apart at a time: 10 MB of counted bits, 1.3 MB of distances."""


def pack(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack bits, ``(..., D) bool``, into words, ``(..., D / 64) uint64``.

    Raises:
        ValueError: The dtype is another, or D is not a multiple of 64, or 0.
    """
    if bits.dtype != np.bool_ or bits.ndim == 0 or bits.shape[-1] == 0 or bits.shape[-1] % 64:
        raise ValueError(f"bits must be bool, their number a multiple of 64, not {bits.dtype} {bits.shape}")
    return _words(bits)


def unpack(vectors: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Unpack words, ``(..., w) uint64``, into bits, ``(..., 64 w) bool``.

    Raises:
        ValueError: The dtype is another, or w is 0.
    """
    if vectors.dtype != np.uint64 or vectors.ndim == 0 or vectors.shape[-1] == 0:
        raise ValueError(f"vectors must be uint64 of at least one word, not {vectors.dtype} {vectors.shape}")
    return _unpacked(vectors).view(np.bool_)


def mask(allowed: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack what is allowed, ``(n,) bool``, into the words that `nearest` takes, ``(ceil(n / 64),) uint64``.

    Raises:
        ValueError: The dtype or shape is another.
    """
    if allowed.dtype != np.bool_ or allowed.ndim != 1:
        raise ValueError(f"what is allowed must be (n,) bool, not {allowed.dtype} {allowed.shape}")
    return _words(np.pad(allowed, (0, -len(allowed) % 64)))


def bind(vectors: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bind hypervectors with others: exclusive or. It is its own inverse: what was bound is unbound the same way.

    Args:
        vectors: ``(w,)`` or ``(n, w) uint64``.
        others: the same shape, or one hypervector ``(w,)`` for all.

    Returns:
        As many as there are `vectors`.

    Raises:
        ValueError: The dtypes or shapes are others.
    """
    _check("vectors", vectors)
    _check("others", others)
    if others.shape != vectors.shape and others.shape != vectors.shape[-1:]:
        raise ValueError(f"others must be {vectors.shape} or {vectors.shape[-1:]}, not {others.shape}")
    if not NATIVE:
        return vectors ^ others
    bound = np.empty(vectors.shape, np.uint64)
    _native.bind_bits(_as_rows(vectors), _as_rows(others), np.atleast_2d(bound))
    return bound


def rotate(vectors: NDArray[np.uint64], shift: int = 1) -> NDArray[np.uint64]:
    """Rotate hypervectors, which is how they are permuted: bit i moves to bit ``(i + shift) % D``, as ``torch.roll``.

    Args:
        vectors: ``(w,)`` or ``(n, w) uint64``.
        shift: in bits; any integer, and ``-shift`` turns back.

    Raises:
        ValueError: The dtype or shape is another.
    """
    _check("vectors", vectors)
    shift = int(shift) % (64 * vectors.shape[-1])
    if not NATIVE:
        turned = np.roll(vectors, shift // 64, axis=-1)
        bits = np.uint64(shift % 64)
        return turned << bits | np.roll(turned, 1, axis=-1) >> (np.uint64(64) - bits) if bits else turned
    rotated = np.empty(vectors.shape, np.uint64)
    _native.rotate_bits(_as_rows(vectors), shift, np.atleast_2d(rotated))
    return rotated


def count(vectors: NDArray[np.uint64], counters: NDArray[np.int32], weight: int = 1) -> None:
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
    _check("vectors", vectors)
    _check_counters(counters, 64 * vectors.shape[-1])
    if not (counters.flags.c_contiguous and counters.flags.aligned and counters.flags.writeable):
        raise ValueError("counters must be C-contiguous and writeable: they are changed in place")
    rows = _as_rows(vectors)
    most = max(int(counters.max()), -int(counters.min()))
    if abs(weight) > _GREATEST or most + len(rows) * abs(weight) > _GREATEST:
        raise ValueError("a counter would leave the range of 32 bits")
    if NATIVE:
        _native.count_bits(rows, weight, counters)
        return
    for start in range(0, len(rows), _CHUNK):
        counters += weight * _unpacked(rows[start : start + _CHUNK]).sum(axis=0, dtype=np.int32)


def majority(counters: NDArray[np.int32], total: int, tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Take the bits that more than half of `total` counted hypervectors have, where it is half of them those of `tie`.

    Args:
        counters: ``(64 w,) int32`` as `count` left them.
        total: the weights of what was counted, added up; nothing counted is `tie`.
        tie: ``(w,) uint64``, random but always the same, so that the same bundle has the same bits.

    Returns:
        ``(w,) uint64``.

    Raises:
        ValueError: The dtypes or shapes are others, or `total` is negative or beyond int32.
    """
    _check("tie", tie, dimensions=1)
    _check_counters(counters, 64 * len(tie))
    if not 0 <= total <= _GREATEST:
        raise ValueError(f"the total must be from 0 to {_GREATEST}, not {total}")
    if NATIVE:
        return _native.majority_bits(_in_order(counters), total, _in_order(tie))
    equal = tie if total % 2 == 0 else np.zeros_like(tie)
    return _words(counters > total // 2) | _words(counters == total // 2) & equal


def bundle(vectors: NDArray[np.uint64], tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bundle hypervectors into the one most like all of them: `count` and `majority` in one call.

    Args:
        vectors: ``(n, w) uint64``; none of them make `tie`.
        tie: ``(w,) uint64``, whose bits decide where as many have a bit as have it not.

    Returns:
        ``(w,) uint64``.

    Raises:
        ValueError: The dtypes or shapes are others.
    """
    _check("vectors", vectors, dimensions=2)
    _check("tie", tie, dimensions=1, words=vectors.shape[1])
    if NATIVE:
        return _native.bundle_bits(_as_rows(vectors), _in_order(tie))
    counters = np.zeros(64 * len(tie), np.int32)
    count(vectors, counters)
    return majority(counters, len(vectors), tie)


def distances(vectors: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Measure the Hamming distance of each hypervector from the query: in how many bits they differ.

    Args:
        vectors: ``(n, w) uint64``.
        query: ``(w,) uint64``.

    Returns:
        ``(n,) int64``, from 0 to ``64 w``; about ``32 w`` between hypervectors that have nothing to do with each other.

    Raises:
        ValueError: The dtypes or shapes are others.
    """
    _check("vectors", vectors, dimensions=2)
    _check("the query", query, dimensions=1, words=vectors.shape[1])
    if NATIVE:
        return _native.hamming_distances(_as_rows(vectors), _in_order(query))
    parts = [vectors[start : start + _CHUNK] ^ query for start in range(0, len(vectors), _CHUNK)]
    measured = [np.bitwise_count(part).sum(axis=1, dtype=np.int64) for part in parts]
    return np.concatenate([np.zeros(0, np.int64), *measured])


def nearest(
    vectors: NDArray[np.uint64], query: NDArray[np.uint64], k: int, allowed: NDArray[np.uint64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the `k` hypervectors nearest to the query; exact.

    Args:
        vectors: ``(n, w) uint64``.
        query: ``(w,) uint64``.
        k: how many at most; where fewer are there or allowed, fewer are found.
        allowed: which may be found, ``(ceil(n / 64),) uint64`` as `mask` makes it; the others are not even read.

    Returns:
        Their indices and their Hamming distances, ``(m,) int64`` each, the nearest first, of equally near ones the
        lower index first.

    Raises:
        ValueError: The dtypes or shapes are others, or `k` is negative.
    """
    _check("vectors", vectors, dimensions=2)
    _check("the query", query, dimensions=1, words=vectors.shape[1])
    if k < 0:
        raise ValueError(f"k must not be negative, and is {k}")
    if allowed is not None:
        expected = ((len(vectors) + 63) // 64,)
        if allowed.dtype != np.uint64 or allowed.shape != expected:
            raise ValueError(f"the mask must be uint64 {expected}, not {allowed.dtype} {allowed.shape}")
        allowed = _in_order(allowed)
    k = min(k, len(vectors))
    if NATIVE:
        return _native.hamming_nearest(_as_rows(vectors), _in_order(query), k, allowed)
    rows = np.arange(len(vectors)) if allowed is None else np.flatnonzero(_unpacked(allowed)[: len(vectors)])
    measured = distances(vectors if allowed is None else vectors[rows], query)
    order = np.argsort(measured, kind="stable")[:k]
    return rows[order], measured[order]


def _check(what: str, vectors: NDArray[np.uint64], dimensions: int | None = None, words: int | None = None) -> None:
    shape = vectors.shape
    fits = vectors.ndim in ((1, 2) if dimensions is None else (dimensions,)) and shape[-1] > 0
    if vectors.dtype != np.uint64 or not fits or words not in (None, shape[-1]):
        width = "w" if words is None else words
        expected = {1: f"({width},)", 2: f"(n, {width})", None: f"({width},) or (n, {width})"}[dimensions]
        raise ValueError(f"{what} must be uint64 {expected}, not {vectors.dtype} {shape}")


def _check_counters(counters: NDArray[np.int32], length: int) -> None:
    if counters.dtype != np.int32 or counters.shape != (length,):
        raise ValueError(f"counters must be int32 {(length,)}, not {counters.dtype} {counters.shape}")


def _as_rows(vectors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.atleast_2d(_in_order(vectors))


def _in_order(array: _Array) -> _Array:
    """The array as the extension takes it, which is as it is if it lies in C's order; else a copy."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.require(array, requirements=("C", "A"))


def _words(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    return np.packbits(bits, axis=-1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def _unpacked(vectors: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Each bit as a byte, 0 or 1."""
    little = np.ascontiguousarray(vectors).astype("<u8", copy=False)
    return np.unpackbits(little.view(np.uint8), axis=-1, bitorder="little")
