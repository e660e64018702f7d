"""The nearest others of rows of codes within their groups, natively or by NumPy, and how near chance alone brings two.

Rows are quantised as `mnemic.algorithms.retrieval.scan.quantise` does it. A cosine is the integer sum of the products
of two rows' codes times both scales, rounded once to float64 and once to float32; so both backends give the same bits,
on every machine, and from either of the two rows. For unit vectors of 384 dimensions it is off by 0.0005 (one standard
deviation). Above it stands `mnemic.algorithms.graph.neighbour_lists`, which keeps what is found here up to date.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.retrieval.scan import NATIVE

Codes = NDArray[np.int8]
Floats = NDArray[np.float32]
Groups = NDArray[np.int32]
Ints = NDArray[np.int64]

MOST_DIMENSIONS = 65_536
"""As many as int32 holds the sums of."""
FEW_PAIRS = 500
"""Of fewer different pairs within groups (of up to 32 memories in one) a background says nothing."""
USUAL_FLOOR = 0.45
"""What stands for the background then: about that of LoCoMo's conversations with the default model."""
HIGHEST_FLOOR = 0.9
"""A floor is not above this, so that what says the same is joined even where nearly all does."""
_SUMS_AT_ONCE = 1 << 22
_FLOAT32_INTEGERS = 1 << 24  # up to here float32 holds every integer


class CodeNeighbours(NamedTuple):
    """What `code_neighbours` finds for `q` rows."""

    neighbours: Ints
    """``(q, k)``: the nearest first, then the lower row; -1 where there are fewer."""
    cosines: Floats
    """``(q, k)``: with each of them; 0 where there are fewer."""
    hit_queries: Ints
    """``(m,)``: of each reverse hit which of the rows asked for it is, counted from 0."""
    hit_rows: Ints
    """``(m,)``: the row that is hit; ascending, then by query."""
    hit_cosines: Floats
    """``(m,)``: of the two."""


def code_neighbours(
    codes: Codes,
    scales: Floats,
    groups: Groups,
    rows: Ints,
    k: int,
    bounds: Floats | None = None,
    threads: int = 1,
) -> CodeNeighbours:
    """Find the `k` nearest others of some rows, each within its group, and whose nearest these rows are in turn.

    A reverse hit is a row that is not asked for, of the same group, whose cosine with a row asked for is above the
    row's bound: with the least cosine of its list as the bound, these are the rows whose lists change.

    Args:
        codes: ``(n, d) int8``; arrays that are not C-contiguous are copied.
        scales: ``(n,) float32``, 0 to 1: those of unit vectors are at most 1 / 127.
        groups: ``(n,) int32``; nothing is near what is of another group; negative: the row is not there.
        rows: ``(q,) int64``: which are asked for; one that is not there has no neighbours.
        k: 0 or more.
        bounds: ``(n,) float32``; ``None``: no reverse hits.
        threads: the most that share the work; NumPy takes no notice.

    Raises:
        ValueError: The dtypes or shapes are others, `k` or `threads` is negative, there are more than
            `MOST_DIMENSIONS`, a scale is not within 0 to 1, there is no such row, or a code of one asked for is -128.
        MemoryError: There is no room for so many neighbours.
    """
    _check(codes, scales, groups, rows, bounds)
    if k < 0 or threads < 0:
        raise ValueError(f"k is {k} and threads {threads}; they must be 0 or more")
    if not NATIVE:
        return _by_numpy(codes, scales, groups, rows, k, bounds)
    import mnemic._native as native  # here, since it is absent where there was no cargo

    return CodeNeighbours(
        *native.code_neighbours(
            np.ascontiguousarray(codes),
            np.ascontiguousarray(scales),
            np.ascontiguousarray(groups),
            np.ascontiguousarray(rows),
            k,
            None if bounds is None else np.ascontiguousarray(bounds),
            threads,
        )
    )


def background_floor(
    codes: Codes, scales: Floats, groups: Groups, random: np.random.Generator, pairs: int = 20_000
) -> float:
    """How near two memories of a group have to be to be nearer than chance brings them.

    The mean and two standard deviations of the cosines of random pairs within a group, from 0 to `HIGHEST_FLOOR`: a row
    is drawn, then another of its group. With fewer than `FEW_PAIRS` different pairs it is `USUAL_FLOOR`. The same rows
    and the same state of the generator give the same bits on all machines.

    Args:
        codes: ``(n, d) int8``.
        scales: ``(n,) float32``, 0 to 1.
        groups: ``(n,) int32``; negative: the row is not there.
        random: what draws the pairs.
        pairs: how many are drawn, 1 or more.

    Raises:
        ValueError: The dtypes or shapes are others, there are more than `MOST_DIMENSIONS`, or `pairs` is below 1.
    """
    _check(codes, scales, groups, np.empty(0, np.int64), None)
    if pairs < 1:
        raise ValueError(f"pairs is {pairs}; it must be 1 or more")
    there = np.flatnonzero(groups >= 0)
    order = there[np.argsort(groups[there], kind="stable")]
    _, starts, which, sizes = np.unique(groups[order], return_index=True, return_inverse=True, return_counts=True)
    if int((sizes * (sizes - 1) // 2).sum()) < FEW_PAIRS:
        return USUAL_FLOOR
    able = np.flatnonzero(sizes[which] > 1)
    one = able[random.integers(0, len(able), pairs)]
    start, size = starts[which[one]], sizes[which[one]]
    other = start + (one - start + random.integers(1, size)) % size
    cosines = np.empty(pairs)
    step = max(1, _SUMS_AT_ONCE // max(1, codes.shape[1]))
    for at in range(0, pairs, step):
        a, b = order[one[at : at + step]], order[other[at : at + step]]
        sums = np.einsum("ij,ij->i", codes[a], codes[b], dtype=np.int32)
        cosines[at : at + step] = sums * (scales[a].astype(np.float64) * scales[b])
    # Exact sums: NumPy's depend on the machine's vector length.
    mean = math.fsum(cosines) / pairs
    deviation = math.sqrt(math.fsum((cosines - mean) ** 2) / pairs)
    return min(max(mean + 2 * deviation, 0.0), HIGHEST_FLOOR)


def _by_numpy(
    codes: Codes, scales: Floats, groups: Groups, rows: Ints, k: int, bounds: Floats | None
) -> CodeNeighbours:
    """`code_neighbours`, a block of queries of one group at a time."""
    _check_values(codes, scales, rows)
    neighbours, cosines = np.full((len(rows), k), -1, np.int64), np.zeros((len(rows), k), np.float32)
    queries_hit, rows_hit, cosines_hit = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    asked = np.zeros(len(codes), np.bool_)
    asked[rows] = True
    # Sums of integers that the type holds are exact in whatever order a BLAS adds them up.
    exact: np.dtype[Any] = np.dtype(np.float32 if 128 * 127 * codes.shape[1] <= _FLOAT32_INTEGERS else np.float64)
    factors = scales.astype(np.float64)
    for group in np.unique(groups[rows]).tolist():
        if group < 0:
            continue
        members, of_group = np.flatnonzero(groups == group), np.flatnonzero(groups[rows] == group)
        matrix = codes[members].astype(exact)
        step = max(1, _SUMS_AT_ONCE // len(members))
        for queries in np.split(of_group, range(step, len(of_group), step)):
            own = rows[queries]
            sums = codes[own].astype(exact) @ matrix.T
            found = (sums * (factors[own][:, None] * factors[members])).astype(np.float32)
            if bounds is not None:
                query, at = np.nonzero((found > bounds[members]) & ~asked[members])
                queries_hit.append(queries[query])
                rows_hit.append(members[at])
                cosines_hit.append(found[query, at])
            found[np.arange(len(own)), np.searchsorted(members, own)] = -np.inf
            _keep_nearest(found, members, neighbours, cosines, queries)
    hit_queries, hit_rows = np.concatenate(queries_hit), np.concatenate(rows_hit)
    order = np.lexsort((hit_queries, hit_rows))
    hit_cosines = np.concatenate(cosines_hit)[order]
    return CodeNeighbours(neighbours, cosines, hit_queries[order], hit_rows[order], hit_cosines)


def _keep_nearest(found: Floats, members: Ints, neighbours: Ints, cosines: Floats, queries: Ints) -> None:
    """Write the nearest of ``(queries, members)`` cosines where they belong."""
    k = min(neighbours.shape[1], len(members) - 1)
    if k < 1:
        return
    least = -np.partition(-found, k - 1, axis=1)[:, k - 1 : k]
    query, at = np.nonzero(found >= least)
    order = np.lexsort((at, -found[query, at], query))
    query, at = query[order], at[order]
    place = np.arange(len(query)) - np.searchsorted(query, query)
    kept = place < k
    query, at, place = query[kept], at[kept], place[kept]
    neighbours[queries[query], place] = members[at]
    cosines[queries[query], place] = found[query, at]


def _check_values(codes: Codes, scales: Floats, rows: Ints) -> None:
    wrong = np.flatnonzero(~((scales >= 0) & (scales <= 1)))
    if wrong.size:
        raise ValueError(f"the scale of row {wrong[0]} is not within 0 to 1")
    wrong = np.flatnonzero((rows < 0) | (rows >= len(codes)))
    if wrong.size:
        raise ValueError(f"there is no row {rows[wrong[0]]}")
    wrong = np.flatnonzero((codes[rows] == -128).any(axis=1))
    if wrong.size:
        raise ValueError(f"a code of row {rows[wrong[0]]} is -128")


def _check(codes: Codes, scales: Floats, groups: Groups, rows: Ints, bounds: Floats | None) -> None:
    if codes.dtype != np.int8 or codes.ndim != 2:
        raise ValueError(f"codes must be (n, d) int8, not {codes.shape} {codes.dtype}")
    if codes.shape[1] > MOST_DIMENSIONS:
        raise ValueError(f"{codes.shape[1]} dimensions are more than {MOST_DIMENSIONS}")
    if rows.dtype != np.int64 or rows.ndim != 1:
        raise ValueError(f"rows must be (q,) int64, not {rows.shape} {rows.dtype}")
    for name, array, dtype in (
        ("scales", scales, np.float32),
        ("groups", groups, np.int32),
        ("bounds", bounds, np.float32),
    ):
        if array is not None and (array.dtype != dtype or array.shape != codes.shape[:1]):
            raise ValueError(f"{name} must be ({len(codes)},) {np.dtype(dtype).name}, not {array.shape} {array.dtype}")
