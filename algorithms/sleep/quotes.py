"""Whether a reply takes up what a memory says, or was going to say the same anyway.

Counted are telling words (no function words, stemmed) of the memory that nobody had said to the assistant otherwise:
not the question, and not the user meanwhile. A reply takes a memory up where it has a third of these, and three or
more; or four in a row, as the memory has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mnemic.algorithms.text.terms import telling_terms

_LEAST_TERMS = 3
_LEAST_SHARE = 1 / 3
_RUN = 4


def takes_up(reply: str, memory: str, said_otherwise: Iterable[str]) -> bool:
    """Whether a reply takes up what a memory says.

    Args:
        said_otherwise: the question, and what else the assistant was told.
    """
    terms, answered = telling_terms(memory), telling_terms(reply)
    known = {term for text in said_otherwise for term in telling_terms(text)}
    new = set(terms) - known
    shared = new & set(answered)
    if len(shared) >= _LEAST_TERMS and len(shared) >= _LEAST_SHARE * len(new):
        return True
    runs = _runs(answered)
    return any(run in runs and not known.issuperset(run) for run in _runs(terms))


def _runs(terms: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(terms[at : at + _RUN]) for at in range(len(terms) - _RUN + 1)}
