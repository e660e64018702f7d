"""What a distance says of a pair: the law of a majority's bits, and how much each record counts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.hd.evidence import bit_agreement, bit_agreements, cue_evidence, expected_weights

PROBABILITIES = st.floats(0.0, 1.0, allow_nan=False)


def agreeing(pairs: int) -> float:
    """Of all the ways in which the other members' bits may fall, how many leave the first one's bit in the bundle."""
    total = 0.0
    for others in itertools.product((0, 1), repeat=pairs - 1):
        votes = 2 * (1 + sum(others)) - pairs
        total += 1.0 if votes > 0 else 0.5 if votes == 0 else 0.0
    return float(total / 2 ** (pairs - 1))


@pytest.mark.parametrize("pairs", range(1, 12))
def test_a_bit_of_a_bundle_is_a_members_as_often_as_counting_all_cases_says(pairs: int) -> None:
    assert bit_agreement(pairs) == pytest.approx(agreeing(pairs), abs=1e-15)


def test_nothing_agrees_with_an_empty_bundle_more_than_by_chance_and_fewer_than_none_are_refused() -> None:
    assert bit_agreement(0) == 0.5
    assert bit_agreements(np.array([0, 1, 3, 3])).tolist() == [0.5, 1.0, 0.75, 0.75]
    assert bit_agreements(np.array([], np.int64)).shape == (0,)
    with pytest.raises(ValueError, match="-1 members"):
        bit_agreement(-1)


@given(pairs=st.integers(1, 2000))
def test_the_more_pairs_a_record_has_the_less_each_shows_and_all_show_a_little(pairs: int) -> None:
    assert 0.5 < bit_agreement(pairs + 1) <= bit_agreement(pairs) <= 1.0
    assert bit_agreement(pairs) == pytest.approx(0.5 + 0.4 / math.sqrt(pairs), abs=0.12 / pairs)


def test_of_records_of_very_many_pairs_too_the_law_is_known_at_once() -> None:
    assert bit_agreement(1_000_000) == pytest.approx(0.5 + 1 / math.sqrt(2 * math.pi * 1_000_000), rel=1e-9)
    assert bit_agreement(999) == pytest.approx(0.5 + math.comb(998, 499) / 2**999, abs=1e-13)


@given(matched=st.lists(PROBABILITIES, max_size=7))
def test_a_record_counts_as_one_of_those_that_are_meant_averaged_over_which_are(matched: list[float]) -> None:
    expected = np.zeros(len(matched))
    for which in itertools.product((0, 1), repeat=len(matched)):
        chance = math.prod(one if meant else 1 - one for one, meant in zip(matched, which, strict=True))
        if any(which):
            expected += chance * np.array(which) / sum(which)
    found = expected_weights(np.array(matched, np.float64))
    assert found == pytest.approx(expected, abs=1e-5)
    assert found.sum() == pytest.approx(1 - math.prod(1 - one for one in matched), abs=1e-5)


def test_of_many_records_that_are_surely_meant_each_counts_the_same() -> None:
    assert expected_weights(np.ones(50)) == pytest.approx(np.full(50, 1 / 50))
    assert expected_weights(np.ones(5000)) == pytest.approx(np.full(5000, 1 / 5000))


# --- cues -------------------------------------------------------------------------------------------------------------


@given(
    likeness=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6),
    right=st.floats(0.01, 0.99),
    shares=st.lists(st.floats(0.001, 1.0), min_size=6, max_size=6),
)
def test_what_a_cue_tells_is_the_likelihood_ratio_of_right_or_wrong_to_wrong(
    likeness: list[float], right: float, shares: list[float]
) -> None:
    alike, share = np.array(likeness), np.array(shares[: len(likeness)])
    told = cue_evidence(alike, share, right)
    expected = float(alike @ share)
    if expected == 0:
        assert told.tolist() == [0.0] * len(alike)
        return
    for evidence, one in zip(told, alike, strict=True):
        # P(what was asked | this record is meant), beside that where it is wrong and so anything by chance
        assert math.exp(evidence) == pytest.approx((right * one / expected + (1 - right)) / (1 - right), rel=1e-6)
    assert (told >= 0).all()


def test_the_rarer_what_it_fits_the_more_it_tells_and_what_all_have_tells_hardly_anything() -> None:
    rare, common, everywhere = (float(cue_evidence(np.ones(1), np.array([one]))[0]) for one in (0.001, 0.1, 1.0))
    assert rare > common > everywhere == pytest.approx(math.log(10))
    assert cue_evidence(np.ones(1), np.ones(1), 0.0).tolist() == [0.0]
    assert cue_evidence(np.zeros(0), np.zeros(0)).tolist() == []
