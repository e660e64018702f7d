"""Reads a question and what was found for it together, by the user's own cross-encoder, if there is one.

Below `mnemic.actors.meaning.embedder`, which has what computes.
"""

from __future__ import annotations

import numpy as np

from mnemic.actors.kernel.contract import Setting
from mnemic.actors.kernel.errors import MnemicError, NotRerankable
from mnemic.actors.kernel.ports import CrossEncoder, Ports
from mnemic.actors.meaning.messages import Rerank, Reranked

SETTING = Setting(
    "rerank.model",
    "",
    "path",
    "Folder of a cross-encoder, a BERT with one logit, that orders the best 20 of a recall; empty means none.",
)


class SecondReader:
    """The cross-encoder, loaded when it is first needed."""

    def __init__(self, ports: Ports) -> None:
        self._load = ports.load_cross_encoder
        self._model: CrossEncoder | None = None

    def score(self, asked: Rerank) -> Reranked:
        """Score texts.

        Raises:
            ModelError: there is no such model, or it fails on these texts.
        """
        if self._model is None:
            self._model = self._load()
        try:
            scores = self._model.score(asked.query, asked.texts)
        except MnemicError:
            raise
        except Exception as error:  # what computes may fail in any way; the recall answers without it
            raise NotRerankable(cause=type(error).__name__) from error
        if not np.isfinite(scores).all():
            raise NotRerankable(cause="no finite score")
        return Reranked(scores=tuple(scores.tolist()))
