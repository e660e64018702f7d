"""A cross-encoder: a BERT that reads a question and a passage together and says by one number how well they fit.

Nogueira and Cho, Passage Re-ranking with BERT (2019, arXiv:1901.04085). Any encoder of `mnemic.algorithms.text.bert`
reads the pair; its head is computed here, in NumPy: BERT's pooler over the first token, then one linear unit.

The encoders know of one segment. So a token of the second segment has a number of its own, beyond the vocabulary, and
its word embedding has in it by what the segments differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.text.bert import UNSCALED, BertConfig, Floats

_WORDS = "embeddings.word_embeddings.weight"
_SEGMENTS = "embeddings.token_type_embeddings.weight"


def head_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor of the head, as ``transformers`` names and lays them out."""
    d = config.hidden
    return {
        "pooler.dense.weight": (d, d),
        "pooler.dense.bias": (d,),
        "classifier.weight": (1, d),
        "classifier.bias": (1,),
    }


class Head:
    """Head of a cross-encoder: makes a score of the first token's vector."""

    def __init__(self, config: BertConfig, tensors: Mapping[str, NDArray[np.floating]]) -> None:
        """Copy the arrays of the head.

        Raises:
            ValueError: One is absent, has another shape than `head_shapes` says, or holds a value that is not finite.
        """
        arrays = []
        for name, shape in head_shapes(config).items():
            if name not in tensors:
                raise ValueError(f"the tensor {name} is absent, and a cross-encoder has it")
            if tensors[name].shape != shape:
                raise ValueError(f"the tensor {name} has the shape {tensors[name].shape}, expected {shape}")
            arrays.append(np.array(tensors[name], np.float32))
            if not np.isfinite(arrays[-1]).all():
                raise ValueError(f"the tensor {name} holds a value that is not finite")
        self._pooler, self._pooler_bias, self._classifier, self._classifier_bias = arrays

    def scores(self, first: Floats) -> Floats:
        """Scores from 0 to 1, ``(n,) float32``, of ``(n, hidden)`` vectors as the last layer leaves them."""
        pooled = np.tanh(first @ self._pooler.T + self._pooler_bias)
        logits = (pooled @ self._classifier.T + self._classifier_bias)[:, 0]
        scores: Floats = 0.5 + 0.5 * np.tanh(0.5 * logits)  # the logistic function, which overflows nowhere
        return scores


def with_segments(
    config: BertConfig, tensors: Mapping[str, NDArray[np.floating]]
) -> tuple[BertConfig, dict[str, NDArray[np.floating]]]:
    """The shape and the arrays of an encoder that reads what `pair_ids` gives, and leaves the vector to a `Head`.

    What is absent or of another shape is left to the encoder to name.
    """
    made = dict(tensors)
    words, segments = tensors.get(_WORDS), tensors.get(_SEGMENTS)
    shapes = (config.vocabulary, config.hidden), (2, config.hidden)
    if words is None or segments is None or (words.shape, segments.shape) != shapes:
        return replace(config, pooling=UNSCALED), made
    words = np.asarray(words, np.float32)
    made[_WORDS] = np.concatenate([words, words + (segments[1] - segments[0]).astype(np.float32)])
    return replace(config, pooling=UNSCALED, vocabulary=2 * config.vocabulary), made


def pair_ids(config: BertConfig, ids: Sequence[int], segments: Sequence[int]) -> list[int]:
    """The numbers of a pair's tokens: those of the second segment lie beyond the vocabulary of the model's `config`."""
    return [id + config.vocabulary * segment for id, segment in zip(ids, segments, strict=True)]
