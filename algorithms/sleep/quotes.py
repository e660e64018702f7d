"""Whether a reply takes up what a memory says, or was going to say the same anyway.

Counted are telling words (no function words, stemmed) of the memory that nobody had said to the assistant otherwise:
not the question, and not the user meanwhile. A reply takes a memory up where it has a third of these, and three or
more; or four in a row, as the memory has them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

_LEAST_TERMS = 3
_LEAST_SHARE = 1 / 3
_RUN = 4


def takes_up(reply: Sequence[str], memory: Sequence[str], known: Collection[str]) -> bool:
    """Whether a reply takes up what a memory says.

    Args:
        reply, memory: their telling words (`mnemic.algorithms.text.terms.telling_terms`), in order.
        known: those of the question, and of what else the assistant was told.
    """
    new = set(memory) - set(known)
    shared = new.intersection(reply)
    if len(shared) >= _LEAST_TERMS and len(shared) >= _LEAST_SHARE * len(new):
        return True
    runs = _runs(reply)
    return any(run in runs and not new.isdisjoint(run) for run in _runs(memory))


def _runs(terms: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(terms[at : at + _RUN]) for at in range(len(terms) - _RUN + 1)}
