"""Hypervectors of how names are spelt: bundles of letter n-grams, so that names that are spelt alike are near.

A name between two marks is taken apart into its letters, its pairs (in order, and in either order) and its triples,
each with a hypervector of its own, and these are bundled (Joshi, Halseth and Kanerva 2016, "Language geometry using
random indexing"). Two names share the more bits the more n-grams they share; pairs in either order forgive letters that
are swapped. The likeness of names that share none has a standard error of ``1 / sqrt(dimensions)``.

Records hold none of this: a name that is asked for and that nobody has is looked up here among those that somebody has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.space import Space

_START, _END = "\x02", "\x03"
"""Marks that no canonical name has in it."""
_LENGTHS, _EITHER = (1, 2, 3), "\x04"
_MOST_LETTERS = 64
"""Of a longer name the last letters count: the end of a path tells it."""
_NOISE_SIGMAS = 4.0
"""Standard errors of chance under which two names are not alike: in one of 30,000 pairs."""


class SpellingEncoder:
    """The codes of names, by their letters, in one space. Not for use by two threads at once."""

    def __init__(self, space: Space, algebra: Algebra) -> None:
        self._space, self._algebra = space, algebra
        self._drawn: dict[str, int] = {}
        self._grams = np.empty((0, space.words), np.uint64)
        self._tie = draw_hypervector(space, "tie", "letters")

    def encode(self, names: Sequence[str]) -> NDArray[np.uint64]:
        """The codes of canonical names, whatever their case: ``(n, space.words) uint64``."""
        grams = [letter_grams(name.lower()) for name in names]
        new = sorted({one for each in grams for one in each} - self._drawn.keys())
        if new:
            self._drawn.update({gram: len(self._drawn) + place for place, gram in enumerate(new)})
            drawn = [draw_hypervector(self._space, "letters", one) for one in new]
            self._grams = np.concatenate([self._grams, np.array(drawn, np.uint64)])
        offsets = np.cumsum([0, *map(len, grams)], dtype=np.int64)
        rows = np.array([self._drawn[one] for each in grams for one in each], np.int64)
        return self._algebra.bundle_groups(self._grams, offsets, np.tile(self._tie, (len(names), 1)), rows)

    def similarities(self, codes: NDArray[np.uint64], name: str) -> NDArray[np.float64]:
        """How alike names of some codes ``(n, space.words)`` are spelt to one: ``(n,)``, 0 to 1; 0 for chance."""
        alike = self._algebra.similarity(codes, self.encode([name])[0])
        return np.asarray(np.where(alike > _NOISE_SIGMAS / self._space.dimensions**0.5, alike, 0.0))


def letter_grams(name: str) -> list[str]:
    """What a name in lower case is taken apart into: its letters, pairs and triples, each as often as it is there."""
    whole = f"{_START}{name[-_MOST_LETTERS:]}{_END}"
    found = [whole[at : at + size] for size in _LENGTHS for at in range(len(whole) - size + 1)]
    found += [_EITHER + "".join(sorted(whole[at : at + 2])) for at in range(len(whole) - 1)]
    return sorted(found)
