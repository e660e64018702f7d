"""Random hyperplane projections: embeddings become hypervectors whose similarity follows the angle between them.

Each bit says on which side of one plane through the origin an embedding lies. Two embeddings at an angle a differ in a
bit with probability a / pi, so that the similarity of their codes is ``1 - 2 a / pi``, give or take
``1 / sqrt(dimensions)``. The planes' normals are of +1 and -1 instead of Gaussian, which needs no floating point: an
embedding is rounded to 8 bits first, and sums of integers are the same on any machine, in any order.

Charikar 2002, "Similarity estimation techniques from rounding algorithms"; Achlioptas 2003, "Database-friendly random
projections". What is lost: for embeddings with nearly all their weight in one or two components the law does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.codebook import draw_bytes, draw_hypervector
from mnemic.hd.space import Space

__all__ = ["MeaningEncoder", "Projection", "quantise"]

_LEVELS = 127


class Projection:
    """The planes of one space, for embeddings of `space.embedding` components."""

    def __init__(self, space: Space) -> None:
        """Draw them.

        Raises:
            ValueError: the space has no model, and so no embeddings.
        """
        if space.embedding_dimensions <= 0:
            raise ValueError("this space has no model: embeddings cannot be bound in it; make one with a model")
        self.space = space
        count = space.dimensions * space.embedding_dimensions
        drawn = np.frombuffer(draw_bytes(space, "plane", str(space.embedding_dimensions), (count + 7) // 8), np.uint8)
        signs = np.unpackbits(drawn, count=count, bitorder="little").view(np.int8)
        signs *= 2  # in place: copies of 4 MB cost more than what is done to them
        signs -= 1
        self.planes: NDArray[np.int8] = signs.reshape(space.dimensions, space.embedding_dimensions)
        """``(space.dimensions, space.embedding) int8``, of -1 and +1."""
        self.tie = draw_hypervector(space, "plane", "tie")
        """``(space.words,) uint64``: the bits of embeddings that lie in a plane."""

    def project(self, embeddings: NDArray[np.float32], algebra: Algebra) -> NDArray[np.uint64]:
        """Project embeddings, ``(n, space.embedding) float32`` of any length, to ``(n, space.words) uint64``.

        Raises:
            ValueError: the shape is another, or a component is not finite.
        """
        if embeddings.ndim != 2 or embeddings.shape[1] != self.space.embedding_dimensions:
            raise ValueError(f"embeddings must be (n, {self.space.embedding_dimensions}), not {embeddings.shape}")
        return algebra.project(quantise(embeddings), self.planes, self.tie)


class MeaningEncoder:
    """Of roles that are filled with embeddings, which have no names."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "meaning"

    def __init__(self, space: Space, namespace: str) -> None:
        """Keep nothing: all such roles are projected on the same planes, so that they can be compared."""

    @staticmethod
    def canonical(filler: str) -> str:
        """A text as it is, to be embedded.

        Raises:
            ValueError: it has no words.
        """
        if not filler.strip():
            raise ValueError("a text is expected, and there is none")
        return filler.strip()

    def encode(self, fillers: Sequence[str]) -> NoReturn:
        """Refuse: a text is embedded by the model, and then projected.

        Raises:
            ValueError: always.
        """
        raise ValueError("what is matched by meaning has no named fillers: embed the text and project that")


def quantise(embeddings: NDArray[np.float32]) -> NDArray[np.int8]:
    """Round embeddings to 8 bits by their largest component, ``(n, d)`` to ``(n, d) int8``, -127 to 127.

    The angle to what it was is about 0.4 degrees for 384 components; all-zero ones stay so.

    Raises:
        ValueError: a component is not finite.
    """
    if not np.isfinite(embeddings).all():
        raise ValueError("an embedding has components that are not finite: the model failed on this text")
    ends = embeddings.max(axis=1, keepdims=True, initial=0), embeddings.min(axis=1, keepdims=True, initial=0)
    largest = np.maximum(ends[0], -ends[1]).astype(np.float64)
    scales = np.divide(_LEVELS, largest, out=np.zeros_like(largest), where=largest > 0)
    scaled = embeddings * scales
    rounded: NDArray[np.int8] = np.rint(scaled, out=scaled).astype(np.int8)
    return rounded
