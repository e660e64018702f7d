"""The bench of placing counts what it says it counts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from mnemic.actors.communities.queries import MemberCodes, Members
from mnemic.bench.quality.communities.placement import PlacementAgreement, placement_agreement
from mnemic.hd.algebra import algebra_named
from mnemic.hd.space import Space

SPACE = Space(seed=bytes(32), dimensions=1024)
ALGEBRA = algebra_named("")


def members(topics: Mapping[int, int], placed: tuple[int, ...] = ()) -> Members:
    """Which topic each row is in."""
    rows = np.array(sorted(topics), np.int64)
    held = np.array([topics[row] for row in rows.tolist()], np.int64)
    return Members(rows, held, held, np.isin(rows, placed))


def agreement(
    before: Members, after: Members, code_like: Mapping[int, int], vector_like: Mapping[int, int], scope: int = 1
) -> PlacementAgreement:
    """Of memories whose hypervectors and vectors are near to those of a number."""
    random = np.random.default_rng(7)
    centres = random.integers(0, 1 << 64, (9, SPACE.words), np.uint64)
    rows = np.array(sorted(code_like), np.int64)
    noise = random.integers(0, 1 << 64, (3, len(rows), SPACE.words), np.uint64)
    codes = centres[[code_like[row] for row in rows.tolist()]] ^ np.bitwise_and.reduce(noise)  # an eighth is flipped
    vectors = np.eye(9, dtype=np.float32)[[vector_like[row] for row in rows.tolist()]]
    held = MemberCodes(rows, np.full(len(rows), scope, np.int64), codes)
    return placement_agreement(before, after, held, (rows, vectors), SPACE, ALGEBRA)


def test_each_way_agrees_on_the_new_memories_that_are_near_to_where_they_are_put() -> None:
    before = {1: 1, 2: 1, 3: 2, 4: 2}
    after = before | {5: 1, 6: 2, 7: 2, 8: 1}
    codes = {1: 1, 2: 1, 3: 2, 4: 2, 5: 1, 6: 2, 7: 2, 8: 2}
    vectors = {1: 1, 2: 1, 3: 2, 4: 2, 5: 1, 6: 1, 7: 2, 8: 2}
    assert agreement(members(before), members(after), codes, vectors) == PlacementAgreement(4, 0, 0.75, 0.5)


def test_what_went_into_a_new_topic_is_counted_apart_and_what_was_there_before_not_at_all() -> None:
    before = {1: 1, 2: 1, 3: 2, 4: 2}
    after = before | {4: 1, 5: 3, 6: 1}
    like = {1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 1}
    assert agreement(members(before), members(after), like, like) == PlacementAgreement(1, 1, 1.0, 1.0)


def test_what_was_only_placed_was_not_there_before() -> None:
    like = {1: 1, 2: 1, 3: 1}
    found = agreement(members({1: 1, 2: 1, 3: 1}, placed=(3,)), members({1: 1, 2: 1, 3: 1}), like, like)
    assert found == PlacementAgreement(1, 0, 1.0, 1.0)


def test_of_nothing_there_are_no_shares() -> None:
    for like in ({}, {1: 1, 2: 1}):
        found = agreement(members({}), members(like), like, like)
        assert (found.compared, found.born) == (0, len(like))
        assert math.isnan(found.by_prototype)
        assert math.isnan(found.by_mean_vector)
