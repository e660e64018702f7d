"""The user's own cross-encoder, run by whoever embeds: NumPy, native code or torch.

`mnemic.runtime.models.models` reads the files, `mnemic.algorithms.text.cross_encoder` has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from mnemic.actors.kernel.errors import ModelMissing, RerankerUnusable
from mnemic.actors.kernel.ports import CrossEncoder
from mnemic.algorithms.text.bert import BertConfig
from mnemic.algorithms.text.cross_encoder import Head, head_shapes, pair_ids, with_segments
from mnemic.runtime.models.encoders import Backend, choose_backend
from mnemic.runtime.models.models import Model, Tensors, read_model

PAIR_TOKENS = 256
"""The most tokens of a question and a passage together: models of this kind were trained on 256 to 512."""
_MOST_CHARS = 16 * PAIR_TOKENS  # of a text; what lies beyond is cut anyway, and need not be made tokens


class ModelCrossEncoder:
    """A `CrossEncoder` of a model's files."""

    def __init__(self, model: Model[tuple[Backend, Head]]) -> None:
        """Take a model that was read. Raises ValueError where its tokenizer does not tell a pair's parts apart."""
        self._backend, self._head = model.network
        self._config, self._tokenizer = model.config, model.tokenizer
        limit = min(PAIR_TOKENS, model.config.positions)
        probe = self._pair("a", "a")
        if set(probe.type_ids) != {0, 1}:
            raise ValueError("its tokenizer does not tell a question from a passage")
        if len(probe.ids) > limit:
            raise ValueError(f"{limit} tokens have no room for a pair")
        self._tokenizer.enable_truncation(limit, strategy="longest_first")

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score how well each text answers; see `CrossEncoder.score`."""
        pairs = [self._pair(question, text) for text in texts]
        if not pairs:
            return np.zeros(0, np.float32)
        ids = [pair_ids(self._config, pair.ids, pair.type_ids) for pair in pairs]
        return self._head.scores(self._backend.encode(ids))

    def _pair(self, question: str, text: str) -> Encoding:
        one, other = (part[:_MOST_CHARS].encode("utf-8", "replace").decode("utf-8") for part in (question, text))
        try:
            return self._tokenizer.encode(one, other)
        except Exception as error:  # tokenizers raises nothing narrower
            raise ValueError(f"its tokenizer fails: {error}") from error


def load_cross_encoder(folder: Path, implementation: str = "", threads: int = 0) -> CrossEncoder:
    """Load the cross-encoder in a folder: a BERT with one logit, as ``transformers`` keeps it.

    Args:
        implementation, threads: as of `mnemic.runtime.models.encoders.load_encoder`.

    Raises:
        RerankerUnusable: the model's files are not there, or cannot be used.
        InvalidValue, ModelError: what is to compute cannot; as `load_encoder`.
    """
    _, build = choose_backend(implementation, threads)

    def built(config: BertConfig, tensors: Tensors) -> tuple[Backend, Head]:
        return build(*with_segments(config, tensors)), Head(config, tensors)

    try:
        return ModelCrossEncoder(read_model(folder, built, also=head_shapes))
    except (ModelMissing, ValueError) as error:
        path = error.operands["path"] if isinstance(error, ModelMissing) else folder
        why = error.operands["why"] if isinstance(error, ModelMissing) else str(error)
        raise RerankerUnusable(path=path, why=why) from error


def cross_encoder_from_settings(settings: Mapping[str, Any]) -> CrossEncoder:
    """Load what the settings name. Raises as `load_cross_encoder`."""
    folder = Path(settings["rerank.model"]).expanduser()
    return load_cross_encoder(folder, settings["embedder.implementation"], settings["embedder.threads"])
