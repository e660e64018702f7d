"""The native extension, built from native/python; absent where there was no cargo.

Every function raises ValueError where ``MNEMIC_INSTRUCTIONS`` names an instruction set that is none, or that this
processor has not got.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

class Encoder:
    """A BERT-family model, ready to encode; any thread may use it."""

    def __init__(
        self,
        tensors: Mapping[str, NDArray[np.float32]],
        *,
        vocabulary: int,
        hidden: int,
        layers: int,
        heads: int,
        intermediate: int,
        positions: int,
        epsilon: float,
        activation: str,
        pooling: str,
        int8: bool,
    ) -> None:
        """Lay out a model's weights, the GIL released. Nothing of `tensors` is kept.

        Args:
            tensors: a ``dict`` by the names, and of the sizes, of `mnemic.algorithms.bert.expected_shapes`,
                ``float32``, C-contiguous.
            vocabulary, hidden, layers, heads, intermediate, positions, epsilon, activation, pooling: as in
                `mnemic.algorithms.bert.BertConfig`.
            int8: whether weights and activations are quantised to bytes, rather than computed in float32.

        Raises:
            TypeError: A tensor has another type.
            ValueError: The shape is none, or a tensor is absent, of another size, not contiguous or not finite.
        """

    def encode(self, ids: NDArray[np.int64], lengths: NDArray[np.int64], threads: int) -> NDArray[np.float32]:
        """Embed windows, the GIL released.

        Args:
            ids: ``(t,) int64``, the token ids of all windows, one behind the other.
            lengths: ``(n,) int64``, how many tokens each window has.
            threads: the most threads that share the work.

        Returns:
            ``(n, hidden) float32`` of unit length. The same window gives the same bits, whatever it is embedded with;
            with bytes, on every instruction set.

        Raises:
            TypeError: The arrays have another type or number of dimensions.
            ValueError: The lengths do not add up, a window is empty or longer than the model's positions, or a token
                is outside the vocabulary.
        """

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
    """Name the code path in use: ``avx512``, ``avxvnni``, ``avx2`` or ``portable``."""
