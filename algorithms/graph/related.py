"""Which communities are related to some memories: where a random walk that begins at these ends.

Above it stands whoever shows a community; below it stands `mnemic.algorithms.graph.mosaic`, which walks. A count of
the links between two communities knows those that are joined directly, a walk also those that have neighbours in
common: docs/decisions/0018-graph-signal.md has what either finds.
"""

from __future__ import annotations

import numpy as np

from mnemic.algorithms.graph.mosaic import CommunityGraph, Keys, Labels, Weights

WALK_DAMPING = 0.5
"""How probably a walk goes on: .85 finds no more of what is related, .95 less (docs/decisions/0018-graph-signal.md)."""


def related_communities(graph: CommunityGraph, members: Keys, topics: Labels, k: int) -> tuple[Labels, Weights]:
    """Find the communities in which walks from some members end most often.

    A walk begins at each member equally often. It goes over edges of the graph alone: where none joins two scopes, only
    communities of the members' scopes are found.

    Args:
        graph: of the memories and their neighbours.
        members: ``(m,) uint64`` keys of nodes; may be none.
        topics: ``(n,) int64``, the number of the community of each node, in the order of `CommunityGraph.keys`; 0 or
            less for none.
        k: at most so many, 0 or more.

    Returns:
        Numbers and shares, ``(r,)`` each, the largest share first, then the lower number: of all walks those that end
        in that community, above 0. Communities of the members themselves are left out.

    Raises:
        ValueError: A member is no node, there are not as many topics as nodes, or `k` is negative.
    """
    keys = graph.keys
    if topics.shape != keys.shape:
        raise ValueError(f"there are {len(keys)} nodes, and topics of shape {topics.shape}")
    if k < 0:
        raise ValueError(f"k is {k}; it must be 0 or more")
    if not len(members):
        return np.empty(0, np.int64), np.empty(0, np.float64)
    ends, probabilities = graph.pagerank(members, np.ones(len(members)), damping=WALK_DAMPING)
    order = np.argsort(keys)
    there = topics[order[np.searchsorted(keys, ends, sorter=order)]]
    own = topics[order[np.searchsorted(keys, members, sorter=order)]]
    others = (there > 0) & ~np.isin(there, own)
    numbers, of = np.unique(there[others], return_inverse=True)
    shares = np.zeros(len(numbers))
    np.add.at(shares, of, probabilities[others])
    best = np.lexsort((numbers, -shares))[:k]
    return numbers[best], shares[best]
