"""A question's vector, from the Embedder; where it gives none, the rest of the question is answered without."""

from __future__ import annotations

from mnemic.actors.contract import Context
from mnemic.actors.errors import ModelError, RuntimeFault
from mnemic.actors.messages import EmbedQuery, QueryEmbedded

__all__ = ["query_vector"]

_TIMEOUT_S = 10.0  # an Embedder that hangs must leave time for the rest to answer


def query_vector(
    text: str,
    context: Context,
    degraded: list[str],
    without: str,
    part: str = "meaning",
    timeout_s: float | None = None,
) -> QueryEmbedded | None:
    """Ask for the vector of a text; ``None`` where there is none.

    Args:
        degraded: told why there is none, in a sentence for each.
        without: a sentence: what is answered then.
        part: which part of the question it is for.
        timeout_s: how long to wait; ``None`` is 10 s.
    """
    try:
        answer = context.ask(EmbedQuery(text=text), _TIMEOUT_S if timeout_s is None else timeout_s)
    except (ModelError, RuntimeFault) as error:
        degraded.append(f"{part}: {error} {without}")
        return None
    assert isinstance(answer, QueryEmbedded)
    return answer
