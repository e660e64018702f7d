"""The NumPy twins of the Rust kernels: short, in double precision, and what the kernels are proved against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def inner_products(
    vectors: NDArray[np.float32], query: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the exact products and the error a float32 sum in any order may have, both ``(n,) float64``.

    The bound is the textbook one, ``d * eps * sum(abs(row * query))``, and what underflows is added: each of d
    products may lose the smallest normal float32.
    """
    rows, probe = vectors.astype(np.float64), query.astype(np.float64)
    limits = np.finfo(np.float32)
    bound = len(probe) * (float(limits.eps) * (np.abs(rows) @ np.abs(probe)) + float(limits.tiny))
    return rows @ probe, bound


def quantised(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return each row's codes and scale; float32 on purpose: the codes of the kernel are these to the bit."""
    codes = np.zeros(vectors.shape, np.int8)
    scales = np.zeros(len(vectors), np.float32)
    for row, vector in enumerate(vectors):
        largest = np.abs(vector).max(initial=np.float32(0))
        with np.errstate(divide="ignore", over="ignore"):
            steps = np.float32(127) / largest
        if np.isfinite(steps):
            codes[row] = np.rint(vector * steps)
            scales[row] = largest / np.float32(127)
    return codes, scales


def code_products(
    codes: NDArray[np.int8], scales: NDArray[np.float32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the inner product of each row's codes with the query's, ``(n,) float32``, to the bit."""
    (factors,), (factor,) = quantised(query[None])
    sums = codes.astype(np.int64) @ factors.astype(np.int64)
    return (sums.astype(np.float64) * scales * factor).astype(np.float32)


def bits_of(vectors: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Take words ``(..., w)`` apart into bits ``(..., 64 w)``, the lowest of each word first."""
    single = vectors[..., None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    return single.astype(np.bool_).reshape(*vectors.shape[:-1], 64 * vectors.shape[-1])


def nearest_by_hamming(vectors: NDArray[np.uint64], query: NDArray[np.uint64], k: int) -> list[tuple[int, int]]:
    """Return row and distance of the `k` nearest rows, nearest first, then the lower row."""
    distances = (bits_of(vectors) != bits_of(query)).sum(axis=1)
    found = sorted((int(distance), row) for row, distance in enumerate(distances))
    return [(row, distance) for distance, row in found[:k]]


def bundled(vectors: NDArray[np.uint64], tie: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return the bits that most rows have, ``(64 w,) bool``, where it is half of them those of `tie`."""
    twice = 2 * bits_of(vectors).sum(axis=0)
    return np.where(twice == len(vectors), bits_of(tie), twice > len(vectors))


def hamming_distances(vectors: NDArray[np.uint64], queries: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return in how many bits each row differs from each query, ``(n, q) int64``."""
    return (bits_of(vectors)[:, None] != bits_of(queries)).sum(axis=2)


def bound(vectors: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return the bits that an odd number of rows have, ``(64 w,) bool``."""
    return bits_of(vectors).sum(axis=0) % 2 == 1


def projected(quantised: NDArray[np.int8], planes: NDArray[np.int8], tie: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return on which side of each plane each embedding lies, ``(n, D) bool``; in a plane, the bit of `tie`."""
    sums = quantised.astype(np.int64) @ planes.T.astype(np.int64)
    return np.where(sums == 0, bits_of(tie), sums > 0)


def adjacency(
    nodes: int, sources: NDArray[np.int64], targets: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the symmetric matrix of the summed weights of edges, ``(nodes, nodes)``, a loop's once on the diagonal."""
    matrix = np.zeros((nodes, nodes))
    np.add.at(matrix, (sources, targets), weights)
    return matrix + matrix.T - np.diag(np.diag(matrix))


def potts_quality(matrix: NDArray[np.float64], labels: NDArray[np.int64], resolution: float) -> float:
    """Return the sum over communities of the weight inside less the resolution times the pairs of nodes."""
    together = labels[:, None] == labels
    weight = ((matrix + np.diag(np.diag(matrix))) * together).sum() / 2
    return float(weight - resolution * (together.sum() - len(labels)) / 2)


def connected_parts(matrix: NDArray[np.float64], labels: NDArray[np.int64]) -> int:
    """Return how many parts there are of nodes that reach each other within their own community."""
    reach = np.eye(len(labels), dtype=np.bool_) | ((matrix > 0) & (labels[:, None] == labels))
    for _ in range(len(labels).bit_length()):
        reach = reach @ reach
    return len(np.unique(reach, axis=0))


def pagerank(matrix: NDArray[np.float64], start: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    """Return where a walk from `start` ends, by the linear system that says so; without an edge it stays."""
    degrees = matrix.sum(axis=1)
    steps = np.where(degrees[:, None] > 0, matrix / np.where(degrees > 0, degrees, 1)[:, None], np.eye(len(start)))
    return np.linalg.solve(np.eye(len(start)) - damping * steps.T, (1 - damping) * start)


def code_neighbours(
    codes: NDArray[np.int8],
    scales: NDArray[np.float32],
    groups: NDArray[np.int32],
    rows: NDArray[np.int64],
    k: int,
    bounds: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.float32], list[tuple[int, int, float]]]:
    """Return the nearest others of rows in their groups, their cosines, and the hits as row, query and cosine."""
    sums = codes.astype(np.int64) @ codes.T.astype(np.int64)
    cosines = (sums * np.multiply.outer(scales.astype(np.float64), scales.astype(np.float64))).astype(np.float32)
    neighbours, beside = np.full((len(rows), k), -1, np.int64), np.zeros((len(rows), k), np.float32)
    hits = []
    for query, row in enumerate(rows.tolist()):
        members = [other for other in range(len(codes)) if groups[other] == groups[row] >= 0]
        others = sorted((other for other in members if other != row), key=lambda other: (-cosines[row, other], other))
        neighbours[query, : len(others[:k])] = others[:k]
        beside[query, : len(others[:k])] = cosines[row, others[:k]]
        near = (other for other in members if other not in rows and cosines[row, other] > bounds[other])
        hits.extend((other, query, float(cosines[row, other])) for other in near)
    return neighbours, beside, sorted(hits)
