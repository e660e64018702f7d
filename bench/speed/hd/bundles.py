"""Bundles of groups of records, by which a scan of very many is routed to the few that are worth it.

The records of a group (a conversation, a day) are bundled by majority in the order they were kept, at most
`MAX_MEMBERS` in one: a bundle of more shows too little of each. A probe that a record is like is nearer to that
record's bundle than chance has it, by p(K) of `mnemic.hd.evidence`: so the members of the nearest bundles are compared.

Pure: arrays in, arrays out. Whoever holds the records keeps the bundles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra

MAX_MEMBERS = 64
"""A larger group has several bundles."""
MOST_BUNDLES = 1000
"""Members of so many bundles are compared: of a million records in bundles of forty, one in 25."""
_AT_ONCE = 1 << 15  # records that are bundled in one call: 42 MB of codes


class Bundles(NamedTuple):
    """Bundles, `g` of them, of the first `n` records."""

    codes: NDArray[np.uint64]
    """``(g, w) uint64``."""
    members: NDArray[np.int64]
    """``(n,) int64``: the records, group by group."""
    ends: NDArray[np.int64]
    """``(g,) int64``: after which of the members each bundle ends."""

    def route(self, query: NDArray[np.uint64], visible: NDArray[np.bool_], algebra: Algebra) -> NDArray[np.int64]:
        """The visible records in the bundles nearest to a query ``(w,) uint64``, ascending.

        Args:
            visible: ``(n,) bool``: which records count, and so which bundles.
        """
        if not len(self.ends):
            return np.empty(0, np.int64)
        starts = np.concatenate([[0], self.ends[:-1]])
        counted = np.add.reduceat(visible[self.members].astype(np.int64), starts)
        alike = np.where(counted > 0, algebra.similarity(self.codes, query), -np.inf)
        best = np.argpartition(-alike, min(MOST_BUNDLES, len(alike) - 1))[:MOST_BUNDLES]
        sizes = self.ends[best] - starts[best]
        inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found = self.members[np.repeat(starts[best], sizes) + inside]
        return np.sort(found[visible[found]])


def bundle_groups_of(
    vectors: NDArray[np.uint64], groups: NDArray[np.int64], tie: NDArray[np.uint64], algebra: Algebra
) -> Bundles:
    """Bundle records by the group that each is in.

    Args:
        vectors: ``(n, w) uint64``.
        groups: ``(n,) int64``: the group of each.
        tie: ``(w,) uint64``: decides where as much has a bit as has it not.
    """
    members = np.argsort(groups, kind="stable")
    first = np.flatnonzero(np.diff(groups[members], prepend=groups[members[:1]] - 1)) if len(members) else members
    sizes = np.diff(np.append(first, len(members)))
    parts = [np.arange(at, at + size, MAX_MEMBERS) for at, size in zip(first.tolist(), sizes.tolist(), strict=True)]
    starts = np.concatenate([*parts, np.empty(0, np.int64)])
    ends = np.append(starts[1:], len(members))[: len(starts)].astype(np.int64)
    codes = np.empty((len(ends), vectors.shape[1]), np.uint64)
    begin = 0
    while begin < len(ends):
        stop = max(begin + 1, int(np.searchsorted(ends, starts[begin] + _AT_ONCE)))
        offsets = np.concatenate([starts[begin : begin + 1], ends[begin:stop]]) - starts[begin]
        rows = members[starts[begin] : ends[stop - 1]]
        codes[begin:stop] = algebra.bundle_groups(
            vectors, offsets.astype(np.int64), np.tile(tie, (stop - begin, 1)), rows
        )
        begin = stop
    return Bundles(codes, members, ends)
