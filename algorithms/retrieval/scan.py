"""Exact nearest-vector search over int8 codes, natively or by NumPy: the dense part of recall.

Below it stands the native extension, where it was built; without it NumPy does the same work. This is the one place
that knows which of the two is there. Above it stands recall, which standardises the products.

The native scan reads one byte a value, codes, and scores only the best rows by them exactly: a quarter of the memory
that float32 vectors take up, at the memory's speed. NumPy scores all rows exactly and does not look at the codes. Exact
products of both agree with exact arithmetic within ``d * eps * sum(abs(row * query))``, ``eps`` that of float32, but
not with each other to the last bit; equal rows have equal ones, wherever they lie.
"""

from __future__ import annotations

from typing import NamedTuple, Self

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

RESCORE_ROWS = 512
"""Of 100,000 random unit vectors the best ten are among the best sixteen by their codes; 512 cost a tenth of a
millisecond, and leave room for vectors that crowd together."""

Floats = NDArray[np.float32]
Mask = NDArray[np.uint64]


class QuantisedVectors(NamedTuple):
    """Vectors and their codes, row by row."""

    vectors: Floats
    """``(n, d) float32``."""
    codes: NDArray[np.int8]
    """``(n, d) int8``, as `quantise` gives them."""
    scales: Floats
    """``(n,) float32``, of the codes."""

    @classmethod
    def from_vectors(cls, vectors: Floats) -> Self:
        """Quantise vectors and keep both.

        Raises:
            ValueError: as `quantise`.
        """
        return cls(vectors, *quantise(vectors))


def backend() -> str:
    """Name what computes: ``native-avx512``, ``native-avxvnni``, ``native-avx2``, ``native-portable``, or ``numpy``."""
    return f"native-{_native.instruction_set()}" if NATIVE else "numpy"


def quantise(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Make a row's codes and scale: ``codes * scale`` is the row, to half a scale in each value.

    The scale is the row's largest absolute value / 127; a row whose largest is below 4e-37 counts as zeros. Both
    backends give the same bits.

    Args:
        vectors: ``(n, d) float32``; copied where it is not C-contiguous.

    Returns:
        Codes ``(n, d) int8``, -127 to 127, and scales ``(n,) float32``.

    Raises:
        ValueError: The dtype or shape is another, or a value is not finite.
        MemoryError: There is no room for the codes.
    """
    if vectors.dtype != np.float32 or vectors.ndim != 2:
        raise ValueError(f"vectors must be (n, d) float32, not {vectors.shape} {vectors.dtype}")
    if NATIVE:
        return _native.quantise(np.ascontiguousarray(vectors))
    largest = np.abs(vectors).max(axis=1, initial=0)
    wrong = np.flatnonzero(~np.isfinite(largest))
    if wrong.size:
        raise ValueError(f"row {wrong[0]}, or its product with the query, is not finite")
    with np.errstate(divide="ignore", over="ignore"):
        steps = np.float32(127) / largest
    nothing = ~np.isfinite(steps)
    codes = np.rint(vectors * np.where(nothing, np.float32(0), steps)[:, None]).astype(np.int8)
    return codes, np.where(nothing, np.float32(0), largest / np.float32(127))


def pack_mask(allowed: NDArray[np.bool_]) -> Mask:
    """Pack which rows may be found, ``(n,) bool``, into words: bit ``row % 64`` of word ``row // 64``.

    Returns:
        ``(ceil(n / 64),) uint64``.

    Raises:
        ValueError: The dtype or shape is another.
    """
    if allowed.dtype != np.bool_ or allowed.ndim != 1:
        raise ValueError(f"what is allowed must be (n,) bool, not {allowed.shape} {allowed.dtype}")
    packed = np.packbits(allowed, bitorder="little")
    padded = np.zeros(-(-len(allowed) // 64) * 8, np.uint8)
    padded[: len(packed)] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def inner_products(
    coded: QuantisedVectors, query: Floats, *, allowed: Mask | None = None, exact: int = RESCORE_ROWS
) -> Floats:
    """Score each allowed row by its inner product with the query.

    Natively the best `exact` rows by their codes, and all that tie with the last of these, get the exact product, so
    that equal rows have equal scores however many they are. The others get that of the codes, which for unit vectors
    of 384 dimensions is off by 0.0005 (one standard deviation), but no more than the least of the exact ones. NumPy
    gives the exact product to all.

    Args:
        coded: the rows; arrays that are not C-contiguous are copied.
        query: ``(d,) float32``.
        allowed: of `pack_mask`: which rows may be found; ``None`` allows all. Others are not looked at.
        exact: see above, 0 or more.

    Returns:
        ``(n,) float32``, NaN for rows that are not allowed.

    Raises:
        ValueError: The dtypes or shapes are others, `exact` is negative, the query or a score is not finite, or,
            natively, there are more than 65,536 dimensions.
    """
    _check_all(coded, query, allowed, exact)
    if NATIVE:
        return _native.score_vectors(*_contiguous(coded, query, allowed), min(exact, len(coded.vectors)))
    found = np.full(len(coded.vectors), np.nan, np.float32)
    rows, products = _exact(coded, query, allowed)
    found[rows] = products
    return found


def _exact(coded: QuantisedVectors, query: Floats, allowed: Mask | None) -> tuple[NDArray[np.int64], Floats]:
    """The allowed rows and their products."""
    rows = np.arange(len(coded.vectors))
    if allowed is not None:
        rows = np.flatnonzero(np.unpackbits(allowed.astype("<u8").view(np.uint8), count=len(rows), bitorder="little"))
    if not np.isfinite(query).all():
        raise ValueError("the query is not finite")
    with np.errstate(over="ignore", invalid="ignore"):
        # Not `@`: a BLAS adds up the last few rows in another order, and equal rows are to have equal products.
        products = np.einsum("ij,j->i", coded.vectors if allowed is None else coded.vectors[rows], query)
    wrong = np.flatnonzero(~np.isfinite(products))
    if wrong.size:
        raise ValueError(f"row {rows[wrong[0]]}, or its product with the query, is not finite")
    return rows, products


def _contiguous(
    coded: QuantisedVectors, query: Floats, allowed: Mask | None
) -> tuple[Floats, NDArray[np.int8], Floats, Floats, Mask | None]:
    return (
        np.ascontiguousarray(coded.vectors),
        np.ascontiguousarray(coded.codes),
        np.ascontiguousarray(coded.scales),
        np.ascontiguousarray(query),
        None if allowed is None else np.ascontiguousarray(allowed),
    )


def _check(vectors: Floats, query: Floats) -> None:
    if vectors.dtype != np.float32 or query.dtype != np.float32:
        raise ValueError(f"vectors and query must be float32, not {vectors.dtype} and {query.dtype}")
    if vectors.ndim != 2 or query.ndim != 1 or vectors.shape[1] != query.shape[0]:
        raise ValueError(f"vectors must be (n, d) and the query (d,), not {vectors.shape} and {query.shape}")


def _check_all(coded: QuantisedVectors, query: Floats, allowed: Mask | None, exact: int) -> None:
    vectors, codes, scales = coded
    _check(vectors, query)
    if codes.dtype != np.int8 or scales.dtype != np.float32:
        raise ValueError(f"codes must be int8 and scales float32, not {codes.dtype} and {scales.dtype}")
    if codes.shape != vectors.shape or scales.shape != vectors.shape[:1]:
        raise ValueError(
            f"vectors {vectors.shape}, codes {codes.shape} and scales {scales.shape} are not of the same rows"
        )
    words = -(-len(vectors) // 64)
    if allowed is not None and (allowed.dtype != np.uint64 or allowed.shape != (words,)):
        raise ValueError(f"the mask must be ({words},) uint64, not {allowed.shape} {allowed.dtype}")
    if exact < 0:
        raise ValueError(f"exact is {exact}; it must be 0 or more")
