"""How often placing a new memory by its topic's prototype agrees with where communities are found to put it.

Between two boundaries a new memory is placed in the topic whose prototype hypervector is nearest
(`mnemic.actors.shape.prototypes`). The next boundary says where it belongs. Beside it stands what many would do
instead: the topic whose members' mean vector has the greatest cosine with the memory's. Pure; `bench communities` runs
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.communities.queries import MemberCodes, Members
from mnemic.actors.shape.prototypes import ScopeTopics, bundle_prototypes, nearest_topics
from mnemic.hd.algebra import Algebra
from mnemic.hd.space import Space

_LEAST_SIZE = 2  # of one member a topic has no prototype


class PlacementAgreement(NamedTuple):
    """How well new memories were placed."""

    compared: int
    """New memories that were placed, and that the second boundary put into a topic which the first one knew."""
    born: int
    """New memories that it put into a topic which was not there before: no placing could agree."""
    by_prototype: float
    """Share of the compared that the nearest prototype agrees on, 0 to 1; not a number where none is compared."""
    by_mean_vector: float
    """Share of the same that the nearest mean vector agrees on."""


def placement_agreement(
    before: Members,
    after: Members,
    codes: MemberCodes,
    vectors: tuple[NDArray[np.int64], NDArray[np.float32]],
    space: Space,
    algebra: Algebra,
) -> PlacementAgreement:
    """Compare where new memories are placed with where the next boundary puts them.

    A memory counts that belongs somewhere after the second boundary and nowhere at the first, and has both a
    hypervector and a vector, in a scope that had topics of two members at least.

    Args:
        before: who belonged where at the first boundary; what is only placed is passed over.
        after: the same of the second boundary.
        codes: episode hypervectors of the memories of both, ``(n, space.words) uint64``, rows ascending.
        vectors: rows ``(m,) int64``, ascending, and vectors of unit length, ``(m, d) float32``.
        space: that of the hypervectors.
        algebra: who bundles and compares.
    """
    old, new = _topics(before), _topics(after)
    vector_of = dict(zip(vectors[0].tolist(), range(len(vectors[0])), strict=True))
    both = np.array([row in vector_of for row in codes.row.tolist()], np.bool_)
    row, scope = codes.row[both], codes.scope[both]
    hypervectors = codes.codes[both]
    meanings = vectors[1][[vector_of[one] for one in row.tolist()]]
    held = np.array([old.get(one, 0) for one in row.tolist()], np.int64)
    put = np.array([new.get(one, 0) if one not in old else 0 for one in row.tolist()], np.int64)
    topics, sizes = np.unique(held[held > 0], return_counts=True)
    topics = topics[sizes >= _LEAST_SIZE]
    members = [np.flatnonzero(held == topic) for topic in topics.tolist()]
    scopes = np.array([scope[one[0]] for one in members], np.int64)
    prototypes = bundle_prototypes([hypervectors[one] for one in members], space, algebra)
    means = np.array([meanings[one].mean(axis=0) for one in members], np.float32).reshape(
        len(members), vectors[1].shape[1]
    )
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    means /= np.where(lengths == 0, 1, lengths)
    nothing = np.empty((len(topics), 0), np.float32)
    known = {
        place: ScopeTopics(topics[scopes == place], prototypes[scopes == place], nothing[scopes == place])
        for place in np.unique(scopes).tolist()
    }
    known_before = np.array(sorted(set(old.values())), np.int64)
    born = (put > 0) & ~np.isin(put, known_before)
    compared = (put > 0) & ~born & np.isin(scope, scopes)
    asked = MemberCodes(row[compared], scope[compared], hypervectors[compared])
    nearest = nearest_topics(asked, np.empty((len(asked.row), 0), np.float32), known, algebra)
    with_means = {place: one._replace(means=means[scopes == place]) for place, one in known.items()}
    by_mean = nearest_topics(asked, meanings[compared], with_means, algebra)
    count = int(np.count_nonzero(compared))
    agreed = [np.count_nonzero(one == put[compared]) for one in (nearest, by_mean)]
    shares = [float(one) / count if count else float("nan") for one in agreed]
    return PlacementAgreement(count, int(np.count_nonzero(born)), *shares)


def _topics(members: Members) -> dict[int, int]:
    """The topic of each memory that belongs to one, by row."""
    found = ~members.placed & (members.topic > 0)
    return dict(zip(members.row[found].tolist(), members.topic[found].tolist(), strict=True))
