"""Hyperdimensional algebra (bind, bundle, permute, cleanup) as one interface over three backends.

Binary spatter codes (Kanerva 1996, "Binary spatter-coding of ordered K-tuples") in packed words; `mnemic.hd.packing`
says how a hypervector lies in them. Every backend gives the same bits for the same arguments, on any machine: nothing
is drawn here, and ties are decided by hypervectors that are handed in. Encoders and queries stand above.

`native`: Rust. `numpy`: where it was not built. `torch`: torchhd's ``BSCTensor``, for batches on a GPU. torchhd is the
reference: all agree with it bit for bit, but where as many have a bit as have it not, and of no hypervectors at all.
There it draws at random, and here the bit is the tie's.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.packing import (
    as_rows,
    c_contiguous,
    check_embeddings,
    check_groups,
    check_hypervectors,
    check_normals,
    check_others,
    check_signs,
    check_weights,
    nearest_items,
    pack_unchecked,
    unpack_unchecked,
)

try:
    import mnemic._native as _native
except ModuleNotFoundError as missing:
    # Only an extension that was never built may be missing; one that is there and does not load is an error.
    if missing.name != "mnemic._native":
        raise
    NATIVE = False
else:
    NATIVE = True

BACKENDS = ("native", "numpy", "torch")
_CHUNK = 1024
"""Rows that NumPy takes apart at a time: 10 MB of counted bits, 1.3 MB of distances."""


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
        """Bind the hypervectors of each group with each other, ``(g, w) uint64``; of an empty group zeros.

        Args:
            vectors: ``(p, w) uint64``.
            offsets: ``(g + 1,) int64``, rising from 0: group i is those from ``offsets[i]`` to ``offsets[i + 1]``.
            rows: where given, ``(m,) int64``, and the groups are groups of these, each the index of one of `vectors`:
                so one that is in many groups need not be there many times.
        """

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
        """Bundle each group into one of ``(g, w) uint64``, of an empty group its tie; ties ``(g, w)``, groups as of
        `bind_groups`.
        """

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
        """Project embeddings on hyperplanes through the origin. All sums are exact.

        Two embeddings at an angle a lie on different sides of about ``a / pi`` of them (Charikar 2002, "Similarity
        estimation techniques from rounding algorithms").

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
        if native and not NATIVE:
            raise ValueError("the native extension was not built: install Mnemic where a cargo is, or choose numpy")
        self._native = native
        self._planes: tuple[NDArray[np.int8], _native.Planes | NDArray[np.float32]] | None = None

    @property
    def name(self) -> str:
        """``native`` or ``numpy``."""
        return "native" if self._native else "numpy"

    def bind(self, vectors: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """As `Algebra.bind`: exclusive or."""
        check_others(vectors, others)
        if not self._native:
            return vectors ^ others
        bound = np.empty(vectors.shape, np.uint64)
        _native.bind_bits(as_rows(vectors), as_rows(others), np.atleast_2d(bound))
        return bound

    def bind_groups(
        self, vectors: NDArray[np.uint64], offsets: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """As `Algebra.bind_groups`."""
        members = check_groups(vectors, offsets, rows)
        if self._native:
            return _native.bind_groups(c_contiguous(vectors), c_contiguous(offsets), _in_order_too(rows))
        bound = np.zeros((len(offsets) - 1, vectors.shape[1]), np.uint64)
        for group, (start, end) in enumerate(pairwise(offsets.tolist())):
            np.bitwise_xor.reduce(vectors[members[start:end]], axis=0, out=bound[group])
        return bound

    def bundle(
        self, vectors: NDArray[np.uint64], tie: NDArray[np.uint64], weights: NDArray[np.int32] | None = None
    ) -> NDArray[np.uint64]:
        """As `Algebra.bundle`."""
        check_hypervectors("vectors", vectors, dimensions=2)
        check_hypervectors("tie", tie, dimensions=1, words=vectors.shape[1])
        if weights is None:
            return _native.bundle_bits(as_rows(vectors), c_contiguous(tie)) if self._native else _majority(vectors, tie)
        total, counters = check_weights(vectors, weights), np.zeros(64 * len(tie), np.int32)
        for weight in np.unique(weights[weights > 0]).tolist():
            members = vectors[weights == weight]
            if self._native:
                _native.count_bits(members, weight, counters)
            else:
                counters += weight * _count_bits(members)
        if self._native:
            return _native.majority_bits(counters, total, c_contiguous(tie))
        return _most(counters, total, tie)

    def bundle_groups(
        self,
        vectors: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        ties: NDArray[np.uint64],
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.uint64]:
        """As `Algebra.bundle_groups`."""
        members = check_groups(vectors, offsets, rows, ties)
        if self._native:
            return _native.bundle_groups(
                c_contiguous(vectors), c_contiguous(offsets), c_contiguous(ties), _in_order_too(rows)
            )
        bundled = np.empty(ties.shape, np.uint64)
        for group, (start, end) in enumerate(pairwise(offsets.tolist())):
            bundled[group] = _majority(vectors[members[start:end]], ties[group])
        return bundled

    def permute(self, vectors: NDArray[np.uint64], times: int = 1) -> NDArray[np.uint64]:
        """As `Algebra.permute`: bit i moves to bit ``(i + times) % D``, as ``torch.roll`` has it."""
        check_hypervectors("vectors", vectors)
        shift = int(times) % (64 * vectors.shape[-1])
        if not self._native:
            turned, by = np.roll(vectors, shift // 64, axis=-1), np.uint64(shift % 64)
            return turned << by | np.roll(turned, 1, axis=-1) >> (np.uint64(64) - by) if by else turned
        rotated = np.empty(vectors.shape, np.uint64)
        _native.rotate_bits(as_rows(vectors), shift, np.atleast_2d(rotated))
        return rotated

    def similarity(self, vectors: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.float64]:
        """As `Algebra.similarity`."""
        check_hypervectors("vectors", vectors, dimensions=2)
        check_hypervectors("the query", query, dimensions=1, words=vectors.shape[1])
        if self._native:
            return 1 - _native.hamming_distances(as_rows(vectors), c_contiguous(query)) / (32 * len(query))
        return 1 - self.distances(vectors, query[None])[:, 0] / (32 * len(query))

    def distances(self, vectors: NDArray[np.uint64], queries: NDArray[np.uint64]) -> NDArray[np.int32]:
        """As `Algebra.distances`."""
        check_hypervectors("vectors", vectors, dimensions=2)
        check_hypervectors("queries", queries, dimensions=2, words=vectors.shape[1])
        if self._native:
            return _native.hamming_distances_of(c_contiguous(vectors), c_contiguous(queries))
        measured = np.empty((len(vectors), len(queries)), np.int32)
        for start in range(0, len(vectors), _CHUNK):
            part = vectors[start : start + _CHUNK]
            for index, query in enumerate(queries):
                measured[start : start + _CHUNK, index] = np.bitwise_count(part ^ query).sum(axis=1, dtype=np.int32)
        return measured

    def cleanup(
        self, items: NDArray[np.uint64], queries: NDArray[np.uint64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """As `Algebra.cleanup`; natively, one query keeps its best while it goes, and needs no distances of all."""
        if not self._native or len(queries) != 1 or k < 0:
            return nearest_items(self.distances, items, queries, k)
        check_hypervectors("items", items, dimensions=2)
        check_hypervectors("queries", queries, dimensions=2, words=items.shape[1])
        index, distance = _native.hamming_nearest(as_rows(items), c_contiguous(queries[0]), min(k, len(items)))
        return index[None], distance[None].astype(np.int32)

    def project(
        self, quantised: NDArray[np.int8], planes: NDArray[np.int8], tie: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """As `Algebra.project`; the planes of the last call stay laid out, which takes longer than projecting one."""
        kept = self._planes
        if kept is None or kept[0] is not planes:
            check_normals(planes)
            if self._native:
                kept = planes, _native.Planes(c_contiguous(planes))  # which looks at the values itself
            else:
                check_signs(planes)
                kept = planes, planes.T.astype(np.float32)
            self._planes = kept
        check_embeddings(quantised, planes, tie)
        laid_out = kept[1]
        if not isinstance(laid_out, np.ndarray):
            return laid_out.project(c_contiguous(quantised), c_contiguous(tie))
        sides = np.empty((len(quantised), len(tie)), np.uint64)
        for start in range(0, len(quantised), _CHUNK):
            sums = quantised[start : start + _CHUNK].astype(np.float32) @ laid_out
            sides[start : start + _CHUNK] = pack_unchecked(sums > 0) | pack_unchecked(sums == 0) & tie
        return sides


def _count_bits(vectors: NDArray[np.uint64]) -> NDArray[np.int32]:
    """In how many hypervectors each bit is set, ``(64 w,) int32``."""
    counters = np.zeros(64 * vectors.shape[1], np.int32)
    for start in range(0, len(vectors), _CHUNK):
        counters += unpack_unchecked(vectors[start : start + _CHUNK]).sum(axis=0, dtype=np.int32)
    return counters


def _majority(vectors: NDArray[np.uint64], tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return _most(_count_bits(vectors), len(vectors), tie)


def _most(counters: NDArray[np.int32], total: int, tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The bits whose counters are over half of the total, and where they are half of it those of the tie."""
    equal = tie if total % 2 == 0 else np.zeros_like(tie)
    return pack_unchecked(counters > total // 2) | pack_unchecked(counters == total // 2) & equal


def _in_order_too(rows: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    return None if rows is None else c_contiguous(rows)


def algebra_named(name: str = "") -> Algebra:
    """The backend of a name; ``""`` is Rust's where it was built, else NumPy's.

    Raises:
        ValueError: There is none of that name, or what it needs is not installed.
    """
    if name == "":
        return PackedAlgebra(NATIVE)
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
