"""The records that match best are found, and hypervectors tell how near the meaning of each is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import default_algebra
from mnemic.hd.query import best_matches, match_weights, sample_rows

ALGEBRA = default_algebra()


def turned(target: NDArray[np.uint64], share: float, seed: int) -> NDArray[np.uint64]:
    """A hypervector that differs from another one in a share of its bits."""
    bits = np.unpackbits(target.view(np.uint8))
    return np.packbits(bits ^ (np.random.default_rng(seed).permutation(len(bits)) < share * len(bits))).view(np.uint64)


@given(shares=st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.5, 1.0])), max_size=30))
def test_the_best_come_first_and_of_equals_the_one_that_was_kept_last(shares: list[tuple[float, float]]) -> None:
    places = 3 * np.arange(len(shares))
    found = best_matches(places, np.array(shares, np.float64).reshape(-1, 2), 100)
    products = [a * b for a, b in shares]
    order = sorted(range(len(shares)), key=lambda one: (-products[one], -one))
    assert found.row.tolist() == [3 * one for one in order]
    assert found.nearness.tolist() == [products[one] for one in order]
    assert found.shares.tolist() == [list(shares[one]) for one in order]


def test_where_nothing_is_asked_for_by_nearness_all_match_alike() -> None:
    found = best_matches(np.arange(5), np.ones((5, 0)), 3)
    assert found.nearness.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("records", [4_200, 50_000])
def test_of_more_that_match_alike_than_are_wanted_the_last_and_some_of_all_others_are_found(records: int) -> None:
    shares = np.ones((records, 1))
    shares[0] = 2.0
    found = best_matches(np.arange(records), shares, 4_096)
    assert len(found.row) <= 4_096
    assert found.row[:65].tolist() == [0, *range(records - 1, records - 65, -1)]
    assert (found.row < records / 2).mean() == pytest.approx(0.5, abs=0.05)


def test_what_is_meant_is_the_nearest_and_what_is_not_near_at_all_is_not() -> None:
    near = best_matches(np.arange(3), np.array([[0.8], [0.75], [0.0]]), 3)
    assert match_weights(near) == pytest.approx([1.0, np.exp(-1), 0.0])
    assert match_weights(best_matches(np.arange(2), np.zeros((2, 1)), 3)).tolist() == [0.0, 0.0]


@given(length=st.integers(0, 400), most=st.integers(1, 200), last=st.integers(0, 80))
def test_a_sample_keeps_the_last_and_is_no_longer_than_it_may_be(length: int, most: int, last: int) -> None:
    places = np.arange(length) * 3
    found = sample_rows(places, most, last)
    assert len(found) <= max(most, 0)
    assert np.isin(found, places).all()
    assert (np.diff(found) > 0).all()
    if length <= most:
        assert found.tolist() == places.tolist()
    else:
        kept = min(last, most)
        assert found[len(found) - kept :].tolist() == places[length - kept :].tolist()
