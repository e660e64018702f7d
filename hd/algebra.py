"""Hyperdimensional algebra (bind, bundle, permute, cleanup) as one interface over three backends.

Binary spatter codes (Kanerva 1996) in packed words; `mnemic.hd.bits` says how a hypervector lies in them. Every backend
gives the same bits for the same arguments, on any machine: nothing is drawn here, and ties are decided by hypervectors
that are handed in. Encoders and queries stand above.

`native`: Rust. `numpy`: where it was not built. `torch`: torchhd's ``BSCTensor``, for batches on a GPU. torchhd is the
reference: all agree with it bit for bit, but where as many have a bit as have it not, and of no hypervectors at all.
There it draws at random, and here the bit is the tie's.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.hd import batches, bits
from mnemic.hd.batches import nearest_items
from mnemic.hd.packing import check_hypervectors

__all__ = ["BACKENDS", "Algebra", "PackedAlgebra", "algebra_named", "default_algebra"]

BACKENDS = ("native", "numpy", "torch")

"""Pairs of item and query that are sorted at a time: 32 MB."""


class Algebra(Protocol):
    """A backend. Hypervectors are packed, ``w`` words each; other types or shapes are a ValueError everywhere."""

    @property
    def name(self) -> str:
        """One of `BACKENDS`, after torch's the device where it is a GPU, as in ``torch cuda``."""

    def bind(self, vectors: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Bind ``(n, w) uint64`` with as many others or all with one, ``(n, w)`` or ``(w,)``; it is its own inverse."""

    def bind_groups(
        self, vectors: NDArray[np.uint64], offsets: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """Bind the hypervectors of each group with each other: `mnemic.hd.batches.bind_groups`."""

    def bundle(
        self, vectors: NDArray[np.uint64], tie: NDArray[np.uint64], weights: NDArray[np.int32] | None = None
    ) -> NDArray[np.uint64]:
        """Bundle ``(n, w) uint64`` into one ``(w,)``; equal votes: the bit of `tie`. Weights ``(n,)``, from 0."""

    def bundle_groups(
        self,
        vectors: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        ties: NDArray[np.uint64],
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.uint64]:
        """Bundle each group into one of ``(g, w) uint64``: `mnemic.hd.batches.bundle_groups`."""

    def permute(self, vectors: NDArray[np.uint64], times: int = 1) -> NDArray[np.uint64]:
        """Permute ``(n, w)`` or ``(w,) uint64`` so many times: rotation by as many bits; negative undoes it."""

    def similarity(self, vectors: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Compare ``(n, w) uint64`` with ``(w,)``: ``(n,) float64``, 1 the same, 0 unrelated, -1 the opposite."""

    def distances(self, vectors: NDArray[np.uint64], queries: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The Hamming distances of ``(n, w)`` from ``(q, w) uint64``: ``(n, q) int32``, in one pass over `vectors`."""

    def cleanup(
        self, items: NDArray[np.uint64], queries: NDArray[np.uint64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Find the `k` items ``(m, w)`` nearest to each of the queries ``(q, w)``; of equals the lower index first.

        Returns:
            Indices ``(q, min(k, m)) int64`` and Hamming distances ``int32``, the nearest first.
        """

    def project(
        self, quantised: NDArray[np.int8], planes: NDArray[np.int8], tie: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """Project embeddings on hyperplanes: `mnemic.hd.batches.Hyperplanes`.

        Args:
            quantised: ``(n, d) int8``, -127 to 127.
            planes: ``(D, d) int8`` of 1 and -1; the same array each time, and unchanged: it is laid out once.
            tie: ``(D / 64,) uint64``, the bits of an embedding that lies in a plane.

        Returns:
            ``(n, D / 64) uint64``: on which side of each plane each lies.
        """


class PackedAlgebra:
    """The backends that work on the words as they are: Rust's and NumPy's. Any threads may share one."""

    def __init__(self, native: bool) -> None:
        """Choose Rust or NumPy.

        Raises:
            ValueError: The extension is asked for and was not built.
        """
        self._native = bits.uses_native(native)
        self._hyperplanes: batches.Hyperplanes | None = None

    @property
    def name(self) -> str:
        """``native`` or ``numpy``."""
        return "native" if self._native else "numpy"

    def bind(self, vectors: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """As `Algebra.bind`."""
        return bits.bind(vectors, others, native=self._native)

    def bind_groups(
        self, vectors: NDArray[np.uint64], offsets: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """As `Algebra.bind_groups`."""
        return batches.bind_groups(vectors, offsets, rows, native=self._native)

    def bundle(
        self, vectors: NDArray[np.uint64], tie: NDArray[np.uint64], weights: NDArray[np.int32] | None = None
    ) -> NDArray[np.uint64]:
        """As `Algebra.bundle`."""
        if weights is None:
            return bits.bundle(vectors, tie, native=self._native)
        return batches.bundle_weighted(vectors, tie, weights, native=self._native)

    def bundle_groups(
        self,
        vectors: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        ties: NDArray[np.uint64],
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.uint64]:
        """As `Algebra.bundle_groups`."""
        return batches.bundle_groups(vectors, offsets, ties, rows, native=self._native)

    def permute(self, vectors: NDArray[np.uint64], times: int = 1) -> NDArray[np.uint64]:
        """As `Algebra.permute`."""
        return bits.rotate(vectors, times, native=self._native)

    def similarity(self, vectors: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.float64]:
        """As `Algebra.similarity`."""
        return 1 - bits.distances(vectors, query, native=self._native) / (32 * len(query))

    def distances(self, vectors: NDArray[np.uint64], queries: NDArray[np.uint64]) -> NDArray[np.int32]:
        """As `Algebra.distances`."""
        return batches.distances(vectors, queries, native=self._native)

    def cleanup(
        self, items: NDArray[np.uint64], queries: NDArray[np.uint64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """As `Algebra.cleanup`; one query keeps its best while it goes, and needs no distances of all."""
        if len(queries) != 1:
            return nearest_items(self.distances, items, queries, k)
        check_hypervectors("queries", queries, dimensions=2)
        index, distance = bits.nearest(items, queries[0], k, native=self._native)
        return index[None], distance[None].astype(np.int32)

    def project(
        self, quantised: NDArray[np.int8], planes: NDArray[np.int8], tie: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """As `Algebra.project`; the planes of the last call stay laid out, which takes longer than projecting one."""
        hyperplanes = self._hyperplanes
        if hyperplanes is None or hyperplanes.normals is not planes:
            self._hyperplanes = hyperplanes = batches.Hyperplanes(planes, native=self._native)
        return hyperplanes.project(quantised, tie)


def algebra_named(name: str = "") -> Algebra:
    """The backend of a name; ``""`` is Rust's where it was built, else NumPy's.

    Raises:
        ValueError: There is none of that name, or what it needs is not installed.
    """
    if name == "":
        return PackedAlgebra(bits.NATIVE)
    if name in ("native", "numpy"):
        return PackedAlgebra(name == "native")
    if name != "torch":
        raise ValueError(f"there is no algebra named {name!r}; there are {', '.join(BACKENDS)}")
    absent = [package for package in ("torch", "torchhd") if find_spec(package) is None]
    if absent:
        raise ValueError(
            f"{absent[0]} is not installed: the algebra named torch comes with pip install 'mnemic[torch]'"
        )
    from mnemic.hd.torch_algebra import TorchAlgebra

    return TorchAlgebra()


def default_algebra() -> Algebra:
    """The backend that is fastest here for what is asked at once and in small batches: `algebra_named` of no name."""
    return algebra_named()
