"""The records that match best are found, and hypervectors tell how near the meaning of each is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra, algebra_named, default_algebra
from mnemic.hd.query import RecordVectors, best_matches, match_weights, meaning_scores, sample_rows
from tests.hd.drawing import random

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


@pytest.mark.parametrize("algebra", [default_algebra(), algebra_named("numpy")], ids=["best", "numpy"])
@pytest.mark.parametrize("looked", [3, 40])
def test_the_nearness_of_meanings_is_the_cosine_of_their_embeddings(algebra: Algebra, looked: int) -> None:
    target = random(1, 160)
    codes = random(2, 40, 160)
    codes[:3] = target, turned(target, 1 / 3, 3), turned(target, 1 / 2, 4)
    scores = meaning_scores(RecordVectors(codes, np.ones(40, np.int64)), np.arange(looked), target[None], algebra)
    assert scores.shape == (looked, 1)
    assert scores[0, 0] == pytest.approx(1.0)
    assert scores[1, 0] == pytest.approx(0.5, abs=0.02)  # a third of the bits is an angle of a third of a half-turn
    assert scores[2:, 0].max() < 0.1


def test_a_meaning_is_as_near_however_many_other_pairs_the_record_has() -> None:
    target, half = random(5, 160), turned(random(5, 160), 1 / 3, 6)
    pairs = np.array([3, 9, 21])
    codes = np.array([ALGEBRA.bundle(np.concatenate([half[None], random(n, n - 1, 160)]), target) for n in pairs])
    scores = meaning_scores(RecordVectors(codes, pairs), np.arange(3), target[None], ALGEBRA)
    assert scores[:, 0] == pytest.approx([0.5] * 3, abs=0.12)


@pytest.mark.parametrize("records", [0, 1])
@pytest.mark.parametrize("words", [1, 2, 160])
def test_none_or_one_record_of_any_size_is_looked_through_as_well(records: int, words: int) -> None:
    codes = RecordVectors(random(7, 3, words), np.full(3, 4))
    assert meaning_scores(codes, np.arange(records), random(8, 2, words), ALGEBRA).shape == (records, 2)
    assert meaning_scores(codes, np.arange(records), random(8, 0, words), ALGEBRA).shape == (records, 0)


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
