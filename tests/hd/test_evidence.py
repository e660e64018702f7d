"""What a distance says of a pair: the law of a majority's bits, Bayes' rule on it, and how much each record counts."""

from __future__ import annotations

import itertools
import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import default_algebra
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.evidence import (
    KnownFillers,
    bit_agreement,
    bit_agreements,
    decode_nearness,
    estimate_similarity,
    exclusive_posterior,
    expected_weights,
    log_likelihood_ratios,
    membership_posterior,
)
from mnemic.hd.query import Matches, RecordVectors, StructuralQuery, find_matches, match_weights
from mnemic.hd.records import Pair
from tests.hd.spaces import space

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


@given(distance=st.integers(0, 1024), pairs=st.integers(1, 60))
def test_the_ratio_is_that_of_the_two_binomial_laws(distance: int, pairs: int) -> None:
    found = log_likelihood_ratios(np.array([[distance]], np.int32), np.array([pairs]), 1024)[0, 0]
    present = min(bit_agreement(pairs), 1 - 1e-9)
    expected = (1024 - distance) * math.log(present / 0.5) + distance * math.log((1 - present) / 0.5)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(ratio=st.floats(-1e6, 1e6), prior=PROBABILITIES)
def test_a_pair_is_as_probable_as_bayes_rule_says_and_what_was_certain_stays_so(ratio: float, prior: float) -> None:
    found = float(membership_posterior(np.array([[ratio]]), np.array([prior]))[0, 0])
    assert 0.0 <= found <= 1.0
    if prior in (0.0, 1.0):
        assert found == prior
    elif abs(ratio) < 30 and 1e-9 < prior < 1 - 1e-9:
        weight = prior * math.exp(ratio)
        assert found == pytest.approx(weight / (weight + 1 - prior), rel=1e-6)


@given(
    ratios=st.lists(st.floats(-400, 400), max_size=6),
    weights=st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6),
)
def test_of_fillers_that_exclude_each_other_one_is_there_or_none(ratios: list[float], weights: list[float]) -> None:
    priors = np.array(weights[: len(ratios)])
    found = exclusive_posterior(np.array([ratios]), priors)
    assert found.shape == (1, len(ratios))
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum() <= 1 + 1e-9
    assert (found[0][priors == 0] == 0).all()


def test_what_the_shares_of_fillers_lack_of_1_is_that_the_record_has_none_and_beyond_1_they_are_shares() -> None:
    says_nothing = np.zeros((1, 2))
    assert exclusive_posterior(says_nothing, np.array([0.3, 0.1])).tolist() == [pytest.approx([0.3, 0.1])]
    assert exclusive_posterior(np.array([[math.log(2), 0.0]]), np.array([0.3, 0.1])).tolist() == [
        pytest.approx([6 / 13, 1 / 13])
    ]
    assert exclusive_posterior(says_nothing, np.array([1.5, 0.5])).tolist() == [pytest.approx([0.75, 0.25])]
    assert exclusive_posterior(says_nothing, np.zeros(2)).tolist() == [[0.0, 0.0]]


def test_two_fillers_that_look_alike_share_what_both_cannot_have() -> None:
    assert exclusive_posterior(np.array([[50.0, 50.0]]), np.array([0.3, 0.3])).tolist() == [pytest.approx([0.5, 0.5])]
    assert membership_posterior(np.array([[50.0, 50.0]]), np.array([0.3, 0.3])).min() > 0.99


def test_likeness_is_one_for_the_same_and_nothing_for_what_is_unrelated_whatever_the_number_of_pairs() -> None:
    dimensions, pairs = 10_240, np.array([1, 5, 12, 31])
    same = np.round(dimensions * (1 - bit_agreements(pairs)))[:, None].astype(np.int32)
    unrelated = np.full((4, 1), dimensions // 2, np.int32)
    found, error = estimate_similarity(np.concatenate([same, unrelated], axis=1), pairs, dimensions)
    assert found[:, 0] == pytest.approx(1.0, abs=1e-3)
    assert found[:, 1] == pytest.approx(0.0)
    assert (np.diff(error) > 0).all()  # the more is bundled, the less is sure
    drawn = np.random.default_rng(1).binomial(dimensions, 0.5, (4000, 1)).astype(np.int32)
    measured, (error_of_12, *_) = estimate_similarity(drawn, np.full(4000, 12), dimensions)
    assert measured.std() == pytest.approx(error_of_12, rel=0.05)


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


# --- nearness ---------------------------------------------------------------------------------------------------------

ALGEBRA = default_algebra()


def drawn(rng: np.random.Generator, *shape: int) -> NDArray[np.uint64]:
    return rng.integers(0, 2**64, shape, dtype=np.uint64)


class Days:
    """Records that each have one of some days, or none, among as many other pairs as may be."""

    def __init__(self, seed: int, days: list[str | None], dimensions: int = 10_240) -> None:
        rng = np.random.default_rng(seed)
        self.encoders = RecordEncoder(space(dimensions=dimensions))
        self.names = sorted({day for day in days if day is not None})
        share = [days.count(name) / max(2, len(days)) for name in self.names]
        self.priors = np.array([min(one, 0.99) for one in share], np.float64)
        self.bound = self.encoders.encode_pairs([Pair("date", name) for name in self.names])
        records = [
            np.concatenate([self._own(day), drawn(rng, int(rng.integers(1, 16)), dimensions // 64)]) for day in days
        ]
        tie = drawn(rng, dimensions // 64)
        codes = np.array([ALGEBRA.bundle(one, tie) for one in records], np.uint64).reshape(-1, dimensions // 64)
        self.codes, self.all = (
            RecordVectors.from_vectors(codes, np.array([len(one) for one in records], np.int64)),
            np.arange(len(days)),
        )

    def _own(self, day: str | None) -> NDArray[np.uint64]:
        return self.encoders.encode_pairs([Pair("date", day)] if day else [])

    def near(self, day: str) -> Matches:
        pair = self.encoders.encode_pairs([Pair("date", day)])
        graded = KnownFillers(0, self.bound, self.priors, self.encoders.similarities("date", self.names, day))
        asked = StructuralQuery(pair[:0], np.zeros(0), pair, np.zeros(1, np.bool_), (graded,))
        return find_matches(self.codes, self.all, asked, ALGEBRA)


@given(
    days=st.lists(st.sampled_from([None, "2026-05-01", "2026-05-02", "2026-05-05", "2026-08-01"]), max_size=12),
    asked=st.sampled_from(["2026-05-01", "2026-05-03", "2026-07-20"]),
)
def test_records_of_one_filler_are_equally_near_and_those_without_one_are_not(
    days: list[str | None], asked: str
) -> None:
    matches = Days(1, days).near(asked)
    assert sorted(matches.row.tolist()) == list(range(len(days)))
    near: dict[str | None, float] = {}
    for place, share in zip(matches.row.tolist(), matches.nearness.tolist(), strict=True):
        assert share == pytest.approx(near.setdefault(days[place], share), abs=1e-3)
    assert near.get(None, 0.0) == pytest.approx(0.0, abs=1e-3)
    assert near.get(asked, 1.0) == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(matches.nearness.round(6)) <= 0).all()


def test_the_nearer_of_two_days_is_nearer_and_two_on_either_side_are_as_near() -> None:
    found = Days(2, ["2026-05-01", "2026-05-05", "2026-05-04", "2026-05-06", None]).near("2026-05-05")
    near = dict(zip(found.row.tolist(), found.nearness.tolist(), strict=True))
    assert near[1] > near[2] > near[0] > near[4] == pytest.approx(0.0, abs=1e-6)
    assert near[2] == pytest.approx(near[3], abs=1e-6)


def test_what_is_near_to_nothing_is_not_near() -> None:
    days: list[str | None] = ["2026-05-01", "2026-05-02"] * 5
    assert (Days(3, days).near("3026-05-01").nearness == 0).all()


@pytest.mark.parametrize("dimensions", [64, 128, 256])
def test_how_probable_it_is_that_a_record_is_of_the_day_is_kept_however_short_the_hypervectors(dimensions: int) -> None:
    days: list[str | None] = ["2026-05-01", "2026-05-02", "2026-05-05", "2026-08-01"]
    told, right = [], []
    for seed in range(80):
        own = [days[which] for which in np.random.default_rng(1000 + seed).integers(0, 4, 40)]
        found = Days(seed, own, dimensions=dimensions).near("2026-05-01")
        for place, probability, near in zip(found.row, found.probability, found.nearness, strict=True):
            if near == 1.0:
                told.append(probability)
                right.append(own[place] == "2026-05-01")
    sure = np.array(told) > 0.9
    assert np.mean(told) == pytest.approx(np.mean(right), abs=0.03)
    assert np.mean(np.array(told)[sure]) == pytest.approx(np.mean(np.array(right)[sure]), abs=0.03)


def test_of_very_many_records_and_fillers_those_of_the_nearest_day_are_found_and_equal() -> None:
    first = date(2020, 1, 1)
    days: list[str | None] = [(first + timedelta(n % 600)).isoformat() for n in range(9_000)]
    found = Days(5, days, dimensions=4096).near("2020-01-20")
    having = {place for place, day in enumerate(days) if day == "2020-01-20"}
    assert set(found.row[: len(having)].tolist()) == having
    assert match_weights(found)[: len(having)] == pytest.approx(np.ones(len(having)), abs=0.05)
    assert match_weights(found)[len(having) :].max() < 0.1
    assert len(found.row) <= 1024


def test_without_records_or_fillers_nothing_is_near() -> None:
    world = Days(6, ["2026-05-01", None])
    none = KnownFillers(0, world.bound[:0], np.zeros(0), np.zeros(0))
    some = KnownFillers(0, world.bound, world.priors, np.ones(1))
    whole, pairs = world.codes.join(world.all), world.codes.pairs
    assert [part.tolist() for part in decode_nearness(whole, pairs, none, ALGEBRA)] == [[0.0, 0.0], [1.0, 1.0]]
    assert [part.tolist() for part in decode_nearness(whole[:0], pairs[:0], some, ALGEBRA)] == [[], []]


@pytest.mark.parametrize("records", [5_000, 9_000])
def test_of_more_records_of_one_day_than_are_compared_some_of_all_times_are(records: int) -> None:
    found = Days(7, ["2026-05-01", "2026-05-01", "2026-05-01", "2026-08-01"] * (records // 4), dimensions=2048)
    matches = found.near("2026-05-01")
    assert len(matches.row) > 900
    assert (matches.row % 4 < 3).mean() > 0.99
    assert matches.row[:20].tolist() == sorted(matches.row.tolist(), reverse=True)[:20]
    early = (matches.row < records / 2).mean()
    assert early == pytest.approx(0.5, abs=0.05)
