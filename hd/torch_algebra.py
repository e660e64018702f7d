"""The algebra on torch, with torchhd's ``BSCTensor``: for large batches on a GPU; on a CPU for the proof.

Below `mnemic.hd.algebra`, which loads this only where it is asked for by name. The same bits as the other backends:
binding and permuting are torchhd's own. Bundling is torchhd's where the number is odd; where votes are equal torchhd
draws a bit, and here it is the bit of the tie that is handed in, so that a bundle can be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from numpy.typing import NDArray
from torchhd import BSCTensor  # type: ignore[import-not-found, import-untyped, unused-ignore]

from mnemic.hd.packing import (
    check_embeddings,
    check_groups,
    check_hypervectors,
    check_normals,
    check_others,
    check_signs,
    check_weights,
    nearest_items,
)

_CHUNK = 4096
"""Hypervectors that are taken apart at a time: 42 MB as bits, 168 MB as the floats that are multiplied."""
_GROUPS = 1024
"""Groups that are counted at a time: 42 MB of counters."""


def find_device() -> str | None:
    """``cuda`` or ``mps``, where torch sees such a GPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None


class TorchAlgebra:
    """The backend named ``torch``. Any threads may share one."""

    def __init__(self, device: str = "") -> None:
        """Choose a device by torch's name for it; ``""`` is a GPU where there is one, else the CPU."""
        self._device = torch.device(device or find_device() or "cpu")
        self._places = torch.arange(8, dtype=torch.uint8, device=self._device)
        self._planes: tuple[NDArray[np.int8], torch.Tensor] | None = None

    @property
    def name(self) -> str:
        """``torch``, and the device where it is not the CPU."""
        return "torch" if self._device.type == "cpu" else f"torch {self._device.type}"

    def bind(self, vectors: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """As `Algebra.bind`."""
        check_others(vectors, others)
        several = others.ndim == 2
        return self._in_chunks(
            vectors,
            lambda part, start: part.bind(self._bits(others[start : start + _CHUNK] if several else others)),
        )

    def bind_groups(
        self, vectors: NDArray[np.uint64], offsets: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """As `Algebra.bind_groups`: a bit is set where an odd number have it."""
        members = check_groups(vectors, offsets, rows)
        bound = np.empty((len(offsets) - 1, vectors.shape[1]), np.uint64)
        for start, counters in self._count_groups(vectors, offsets, members):
            bound[start : start + len(counters)] = self._pack(counters % 2 == 1)
        return bound

    def bundle(
        self, vectors: NDArray[np.uint64], tie: NDArray[np.uint64], weights: NDArray[np.int32] | None = None
    ) -> NDArray[np.uint64]:
        """As `Algebra.bundle`."""
        check_hypervectors("vectors", vectors, dimensions=2)
        check_hypervectors("tie", tie, dimensions=1, words=vectors.shape[1])
        total = len(vectors) if weights is None else check_weights(vectors, weights)
        twice = torch.zeros(64 * len(tie), dtype=torch.int64, device=self._device)
        for start in range(0, len(vectors), _CHUNK):
            part = self._bits(vectors[start : start + _CHUNK])
            if weights is None:
                twice += 2 * part.sum(dim=0, dtype=torch.int64)
            else:
                chosen = weights[start : start + _CHUNK]
                for weight in np.unique(chosen):
                    which = torch.from_numpy(chosen == weight).to(self._device)
                    twice += 2 * int(weight) * part[which].sum(dim=0, dtype=torch.int64)
        return self._pack(self._majority(twice, torch.tensor(total, device=self._device), self._bits(tie)))

    def bundle_groups(
        self,
        vectors: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        ties: NDArray[np.uint64],
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.uint64]:
        """As `Algebra.bundle_groups`."""
        members = check_groups(vectors, offsets, rows, ties)
        sizes = torch.from_numpy(np.diff(offsets)).to(self._device)[:, None]
        bundled = np.empty(ties.shape, np.uint64)
        for start, counters in self._count_groups(vectors, offsets, members):
            end = start + len(counters)
            bundled[start:end] = self._pack(self._majority(2 * counters, sizes[start:end], self._bits(ties[start:end])))
        return bundled

    def permute(self, vectors: NDArray[np.uint64], times: int = 1) -> NDArray[np.uint64]:
        """As `Algebra.permute`."""
        check_hypervectors("vectors", vectors)
        shift = int(times) % (64 * vectors.shape[-1])
        return self._in_chunks(vectors, lambda part, _: part.permute(shift))

    def similarity(self, vectors: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.float64]:
        """As `Algebra.similarity`."""
        check_hypervectors("vectors", vectors, dimensions=2)
        check_hypervectors("the query", query, dimensions=1, words=vectors.shape[1])
        return 1 - self.distances(vectors, query[None])[:, 0] / (32 * len(query))

    def distances(self, vectors: NDArray[np.uint64], queries: NDArray[np.uint64]) -> NDArray[np.int32]:
        """As `Algebra.distances`: two bits differ by what they are, less twice what they have in common.

        Sums of bits are whole numbers below 2^24, which float32 holds exactly, on a GPU's tensor cores too.
        """
        check_hypervectors("vectors", vectors, dimensions=2)
        check_hypervectors("queries", queries, dimensions=2, words=vectors.shape[1])
        measured = np.empty((len(vectors), len(queries)), np.int32)
        probes = self._unpack(queries).to(torch.float32)
        of_probes = probes.sum(dim=1)
        for start in range(0, len(vectors), _CHUNK):
            part = self._unpack(vectors[start : start + _CHUNK]).to(torch.float32)
            apart = part.sum(dim=1)[:, None] + of_probes - 2 * (part @ probes.T)
            measured[start : start + _CHUNK] = apart.to(torch.int32).cpu().numpy()
        return measured

    def cleanup(
        self, items: NDArray[np.uint64], queries: NDArray[np.uint64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """As `Algebra.cleanup`."""
        return nearest_items(self.distances, items, queries, k)

    def project(
        self, quantised: NDArray[np.int8], planes: NDArray[np.int8], tie: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """As `Algebra.project`; the planes of the last call stay on the device."""
        laid_out = self._planes
        if laid_out is None or laid_out[0] is not planes:
            check_normals(planes)
            check_signs(planes)
            columns = torch.from_numpy(planes.T.astype(np.float32)).to(self._device)
            self._planes = laid_out = (planes, columns)
        check_embeddings(quantised, planes, tie)
        sides, inside = np.empty((len(quantised), len(tie)), np.uint64), self._unpack(tie)
        for start in range(0, len(quantised), _CHUNK):
            part = torch.from_numpy(quantised[start : start + _CHUNK].astype(np.float32)).to(self._device)
            sums = part @ laid_out[1]
            sides[start : start + _CHUNK] = self._pack((sums > 0) | (sums == 0) & inside)
        return sides

    def _in_chunks(self, vectors: NDArray[np.uint64], do: Callable[[BSCTensor, int], BSCTensor]) -> NDArray[np.uint64]:
        """What is done to some rows at a time, of which the first one's number is told."""
        rows, done = np.atleast_2d(vectors), np.empty(vectors.shape, np.uint64)
        out = np.atleast_2d(done)
        for start in range(0, len(rows), _CHUNK):
            out[start : start + _CHUNK] = self._pack(do(self._bits(rows[start : start + _CHUNK]), start))
        return done

    def _count_groups(
        self, vectors: NDArray[np.uint64], offsets: NDArray[np.int64], members: NDArray[np.int64]
    ) -> Iterator[tuple[int, torch.Tensor]]:
        """In how many members of each group each bit is set: some groups at a time, and the first one's number."""
        sizes = np.diff(offsets)
        for start in range(0, len(sizes), _GROUPS):
            some = sizes[start : start + _GROUPS]
            counters = torch.zeros((len(some), 64 * vectors.shape[1]), dtype=torch.int32, device=self._device)
            group = torch.from_numpy(np.repeat(np.arange(len(some)), some)).to(self._device)
            here = members[offsets[start] : offsets[start] + len(group)]
            for first in range(0, len(here), _CHUNK):
                part = self._unpack(vectors[here[first : first + _CHUNK]])
                counters.index_add_(0, group[first : first + _CHUNK], part.to(torch.int32))
            yield start, counters

    def _majority(self, twice: torch.Tensor, totals: torch.Tensor, ties: torch.Tensor) -> torch.Tensor:
        """Where twice the votes are more than all, or as many and the tie is set."""
        return (twice > totals) | (twice == totals) & ties.as_subclass(torch.Tensor)

    def _bits(self, vectors: NDArray[np.uint64]) -> BSCTensor:
        return self._unpack(vectors).as_subclass(BSCTensor)

    def _unpack(self, vectors: NDArray[np.uint64]) -> torch.Tensor:
        """``(..., w) uint64`` as ``(..., 64 w) bool`` on the device; what travels is packed."""
        octets = np.array(vectors, "<u8", order="C").view(np.uint8)  # a copy: torch wants to be allowed to write
        single = torch.from_numpy(octets).to(self._device)[..., None] >> self._places & 1
        return single.to(torch.bool).flatten(-2)

    def _pack(self, bits: torch.Tensor) -> NDArray[np.uint64]:
        """``(..., 64 w) bool`` as ``(..., w) uint64``."""
        plain = bits.as_subclass(torch.Tensor)
        single = plain.reshape(*plain.shape[:-1], -1, 8).to(torch.uint8) << self._places
        octets: NDArray[np.uint8] = single.sum(dim=-1, dtype=torch.int32).to(torch.uint8).cpu().numpy()
        return octets.view("<u8").astype(np.uint64, copy=False)
