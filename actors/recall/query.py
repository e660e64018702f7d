"""What a question is looked up by: its scope, the vector of its text, and the stems of its words.

Without an Embedder there is no vector: the question is answered degraded and says so. Nothing heavy is imported here,
for the start of a session's sake. Below `mnemic.actors.recall.retriever`.
"""

from __future__ import annotations

import difflib

from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import ModelError, RuntimeFault, UnknownScope
from mnemic.actors.protocol.messages import EmbedQuery, QueryEmbedded
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.algorithms.text.keyphrases import STOP_WORDS, content_words

_TIMEOUT_S = 10.0  # an Embedder that hangs must leave time for the rest to answer
_MOST_WORDS = 512  # of a question; each is looked up by itself


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
    return answer


def search_terms(query: str, snapshot: Snapshot, degraded: list[str]) -> list[str]:
    """The stems of a question's words, each once; none that a stop word shares, such as ``us`` of "use".

    Args:
        degraded: told, in a sentence, what was left out.
    """
    words = list(dict.fromkeys(content_words(snapshot.split_words(query))))
    if len(words) > _MOST_WORDS:
        degraded.append(f"words: of the question's {len(words)} different words the first {_MOST_WORDS} were looked up")
    stems = list(dict.fromkeys(snapshot.stems(words[:_MOST_WORDS])))
    telling = set(stems).difference(snapshot.stems(sorted(STOP_WORDS)))
    return [stem for stem in stems if stem in telling] or stems


def scopes_below(snapshot: Snapshot, scope: str) -> list[int]:
    """Numbers of a scope and of those below it.

    Raises:
        UnknownScope: there is none of that path.
    """
    paths = snapshot.scopes()
    found = [number for number, path in paths.items() if path == scope or (scope and path.startswith(f"{scope}/"))]
    if not found:
        # A near miss only; an assistant that may not read all is not told it (`mnemic.runtime.serve.mcp.tools`).
        near = difflib.get_close_matches(scope, paths.values(), n=1, cutoff=0.75)
        raise UnknownScope(scope=scope, near=f"Did you mean {near[0]!r}? " if near else "")
    return found
