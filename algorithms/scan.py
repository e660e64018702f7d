"""Inner products of many vectors with one query: the dense part of recall.

Below it stands the native extension, where it was built; without it NumPy does the same work. This is the one place
that knows which of the two is there. Above it stands recall, which standardises the products.
"""

from __future__ import annotations

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

__all__ = ["NATIVE", "backend", "inner_products"]


def backend() -> str:
    """Name what computes: ``native-avx512``, ``native-avx2``, ``native-portable``, or ``numpy``."""
    return f"native-{_native.instruction_set()}" if NATIVE else "numpy"


def inner_products(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take the inner product of each row with the query.

    Both backends agree with exact arithmetic within ``d * eps * sum(abs(row * query))``, ``eps`` that of float32, but
    not with each other to the last bit. The native one gives a row the same bits whatever other rows are there.

    Args:
        vectors: ``(n, d) float32``; taken as it lies where it is C-contiguous, copied where it isn't.
        query: ``(d,) float32``.

    Returns:
        ``(n,) float32``, all finite; for unit vectors the cosines.

    Raises:
        ValueError: The dtypes or shapes are others, an input is not finite, or a product overflows.
    """
    if vectors.dtype != np.float32 or query.dtype != np.float32:
        raise ValueError(f"vectors and query must be float32, not {vectors.dtype} and {query.dtype}")
    if vectors.ndim != 2 or query.ndim != 1 or vectors.shape[1] != query.shape[0]:
        raise ValueError(f"vectors must be (n, d) and the query (d,), not {vectors.shape} and {query.shape}")
    if NATIVE:
        return _native.inner_products(np.ascontiguousarray(vectors), np.ascontiguousarray(query))
    with np.errstate(over="ignore", invalid="ignore"):
        products = vectors @ query
    wrong = np.flatnonzero(~np.isfinite(products))
    if wrong.size:
        raise ValueError(f"the inner product of row {wrong[0]} is not finite")
    return products
