"""The native extension, built from native/python; absent where there was no cargo."""

import numpy as np
from numpy.typing import NDArray

def inner_products(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take the inner product of each row with the query, the GIL released.

    Args:
        vectors: ``(n, d) float32``, C-contiguous.
        query: ``(d,) float32``, C-contiguous.

    Returns:
        ``(n,) float32``.

    Raises:
        TypeError: The arrays have another type or number of dimensions.
        ValueError: The lengths disagree, an array is not contiguous, or a product is not finite.
    """

def instruction_set() -> str:
    """Name the code path chosen on this machine: ``avx512``, ``avx2`` or ``portable``."""
