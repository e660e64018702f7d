"""Terms: the stems by which a question's words are looked up. Below `mnemic.actors.retriever`."""

from __future__ import annotations

from mnemic.actors.snapshot import Snapshot
from mnemic.algorithms.stopwords import STOP_WORDS, content_words

__all__ = ["terms_of"]

_MOST_WORDS = 512  # of a question; each is looked up by itself


def terms_of(query: str, snapshot: Snapshot, degraded: list[str]) -> list[str]:
    """The stems of a question's words, each once; none that a stop word shares, such as ``us`` of "use".

    Args:
        degraded: told, in a sentence, what was left out.
    """
    words = list(dict.fromkeys(content_words(snapshot.words(query))))
    if len(words) > _MOST_WORDS:
        degraded.append(f"words: of the question's {len(words)} different words the first {_MOST_WORDS} were looked up")
    stems = list(dict.fromkeys(snapshot.stems(words[:_MOST_WORDS])))
    telling = set(stems).difference(snapshot.stems(sorted(STOP_WORDS)))
    return [stem for stem in stems if stem in telling] or stems
