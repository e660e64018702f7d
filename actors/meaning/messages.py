"""Messages of the embedder: embed questions, words and what waits; say which encoder that is.

Requests are in the imperative, answers and events in the past tense; see `mnemic.actors.kernel.message`.
"""

from __future__ import annotations

from mnemic.actors.kernel.message import Message, Request, Verb
from mnemic.actors.meaning.changes import EncoderName

MODEL_OFF = "off"
"""What the setting `embedder.model` is where words alone are to answer."""


class EmbedQuery(Request["QueryEmbedded"], frozen=True, kw_only=True):
    """Embed a question."""

    text: str
    """What is asked; more than one window is cut."""
    is_question: bool = True
    """Whether it is a question, and no statement whose like is looked for."""


class QueryEmbedded(Message, frozen=True, kw_only=True):
    """Answer to `EmbedQuery`."""

    vector: bytes
    """``(dimensions,) float32`` of unit length."""
    encoder: EncoderName
    """Who made it."""


class EmbedWords(Request["WordsEmbedded"], frozen=True, kw_only=True):
    """Give words' vectors, each without what stands around it: what the model takes them for before it reads."""

    words: tuple[str, ...]
    """Lower case, each for itself."""


class WordsEmbedded(Message, frozen=True, kw_only=True):
    """Answer to `EmbedWords`."""

    vectors: bytes
    """``(words, dimensions) float32`` of unit length, or shorter for a word that the model makes of pieces; zeros for
    one that it knows nothing of."""
    encoder: EncoderName
    """Whose they are."""


class Rerank(Request["Reranked"], frozen=True, kw_only=True):
    """Say how well texts answer a question, each read together with it by the model of the setting ``rerank.model``."""

    query: str
    """What is asked."""
    texts: tuple[str, ...]
    """What was found; of a long one the beginning is read."""


class Reranked(Message, frozen=True, kw_only=True):
    """Answer to `Rerank`."""

    scores: tuple[float, ...]
    """Of each text, 0 to 1; only their order means something."""


class DescribeEncoder(Verb["EncoderDescribed"], frozen=True, kw_only=True):
    """Say which encoder is used; it is loaded for that where it is not yet."""


class EncoderDescribed(Message, frozen=True, kw_only=True):
    """Answer to `DescribeEncoder`."""

    encoder: EncoderName
    """Code and weights."""
    dimensions: int = 0
    """Length of its vectors."""


class EmbedPending(Verb["EmbedProgress"], frozen=True, kw_only=True):
    """Embed the next few windows of what is not embedded yet: one bounded step."""


class EmbedProgress(Message, frozen=True, kw_only=True):
    """Answer to `EmbedPending`."""

    done: int
    """Memories that have their meaning."""
    pending: int
    """Memories that still wait."""
    partly: int
    """Memories of which only the first part is embedded, or nothing where the model failed; words find them."""
