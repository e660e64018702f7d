"""The text encoder in native (Rust) code: int8 or float32 weights, batches, threads.

Below it stands the native extension; `NATIVE` says whether it was built. Above it stands
`mnemic.runtime.models.encoders`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.bert import BertConfig, Floats, pack_windows, validate_tensors

__all__ = ["NATIVE", "NativeBert"]


class NativeBert:
    """A model ready to encode. It keeps no scratch between calls: any thread may encode, and nothing leaks across.

    In float32 it agrees with `Bert` to 1e-5. With bytes, where each row of a matrix has a scale of its own and
    activations are quantised as they come (Zafrir et al., Q8BERT, 2019, arXiv:1910.06188), the cosine of its vectors
    with `Bert`'s is 0.99 and more, and every instruction set gives the same bits.
    """

    def __init__(self, config: BertConfig, tensors: Mapping[str, NDArray[np.floating]], *, int8: bool) -> None:
        """Lay out the arrays a model needs; nothing of `tensors` is kept.

        Args:
            int8: whether to compute in bytes rather than in float32.

        Raises:
            ImportError: The native extension was not built.
            ValueError: A tensor is absent, has another shape, or holds a value that is not finite.
        """
        from mnemic._native import Encoder  # here, since it is absent where there was no cargo

        arrays = validate_tensors(config, tensors, finite=False)  # the extension looks at every value itself
        self.config = config
        self._encoder = Encoder(
            {name: np.require(array, np.float32, ["C", "A"]) for name, array in arrays.items()},
            vocabulary=config.vocabulary,
            hidden=config.hidden,
            layers=config.layers,
            heads=config.heads,
            intermediate=config.intermediate,
            positions=config.positions,
            epsilon=config.epsilon,
            activation=config.activation,
            pooling=config.pooling,
            int8=int8,
        )

    def encode(self, windows: Sequence[Sequence[int]], threads: int = 1) -> Floats:
        """Embed windows: ``(windows, hidden) float32`` of unit length, the GIL released.

        The same window gives the same bits, whatever it is embedded with and on however many threads.

        Args:
            windows: the token ids of each, special tokens included, nothing padded.
            threads: the most threads that share the work.

        Raises:
            ValueError: A window has no tokens or more than the model's positions, or a token is outside the vocabulary.
        """
        ids, lengths = pack_windows(windows)
        return self._encoder.encode(ids, lengths, threads)
