"""The NumPy twins of the Rust kernels: short, in double precision, and what the kernels are proved against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def inner_products(
    vectors: NDArray[np.float32], query: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the exact products and the error a float32 sum in any order may have, both ``(n,) float64``.

    The bound is the textbook one, ``d * eps * sum(abs(row * query))``, and what underflows is added: each of d
    products may lose the smallest normal float32.
    """
    rows, probe = vectors.astype(np.float64), query.astype(np.float64)
    limits = np.finfo(np.float32)
    bound = len(probe) * (float(limits.eps) * (np.abs(rows) @ np.abs(probe)) + float(limits.tiny))
    return rows @ probe, bound
