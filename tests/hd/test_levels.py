"""Levels are alike as far as their places are near, wherever they are; and numbers by their ratio."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.hd.encoders import RecordEncoder, canonical
from mnemic.hd.levels import LevelCodebook
from tests.hd.spaces import NOISE, similarities, similarity, space

LEVELS = LevelCodebook(space(), "test", (3, 20))
CIRCLE = LevelCodebook(space(), "test", (4, 12), period=24)
ENCODERS = RecordEncoder(space())


def triangle(distance: float, *scales: float) -> float:
    return float(np.mean([max(0.0, 1 - distance / scale) for scale in scales]))


@given(st.integers(-(10**6), 10**6), st.integers(0, 40))
@example(0, 0)
@example(-1, 1)
def test_similarity_falls_in_straight_lines_to_nothing_wherever_the_places_are(place: int, distance: int) -> None:
    one, other = LEVELS.encode([place, place + distance])
    assert similarity(one, other) == pytest.approx(triangle(distance, 3, 20), abs=NOISE)


@given(st.integers(-100, 100), st.integers(-100, 100))
def test_on_a_circle_the_shorter_way_round_counts(place: int, other: int) -> None:
    around = min((place - other) % 24, (other - place) % 24)
    codes = CIRCLE.encode([place, other])
    assert similarity(*codes) == pytest.approx(triangle(around, 4, 12), abs=NOISE)


@given(st.integers(-100, 100))
def test_once_round_a_circle_is_the_same_place(place: int) -> None:
    one, other = CIRCLE.encode([place, place + 24])
    assert np.array_equal(one, other)


@pytest.mark.parametrize("dimensions", [64, 128, 10_240])
def test_every_bit_is_of_an_anchor_whatever_the_dimensions(dimensions: int) -> None:
    levels = LevelCodebook(space(dimensions=dimensions), "test", (1, 2, 5))
    assert levels.encode([]).shape == (0, dimensions // 64)
    codes = levels.encode(range(0, 5000, 5))
    set_share = np.unpackbits(codes.view(np.uint8), axis=1).mean(axis=0)
    assert set_share.min() > 0.4
    assert set_share.max() < 0.6


def test_a_place_is_the_same_after_more_anchors_than_are_kept() -> None:
    before = LEVELS.encode([7])
    LEVELS.encode(range(0, 40_000, 20))
    assert len(LEVELS._anchors) <= 1024
    assert np.array_equal(LEVELS.encode([7]), before)


@pytest.mark.parametrize(("scales", "period"), [((), 0), ((0,), 0), ((-3,), 0), ((5,), 12), ((12,), 12)])
def test_scales_that_do_not_fit_are_refused(scales: tuple[int, ...], period: int) -> None:
    with pytest.raises(ValueError, match="scales must be positive"):
        LevelCodebook(space(), "test", scales, period)


@pytest.mark.parametrize("start", [1, 10, 300, 10**6])
def test_the_more_a_number_differs_the_less_it_is_alike(start: int) -> None:
    numbers = [str(round(start + (start + 1) * (ratio - 1), 3)) for ratio in (1, 1.05, 1.2, 1.5, 2, 4, 10, 100)]
    falling = similarities(ENCODERS, "size", numbers)
    assert falling[0] == 1
    assert all(former - latter > 0.04 for former, latter in pairwise(falling))
    assert 0.25 < falling[4] < 0.4, "twice as much is still something like it"


def test_numbers_of_the_same_ratio_are_as_alike_wherever_they_are() -> None:
    pairs = [similarities(ENCODERS, "size", [str(2**power - 1), str(2 ** (power + 1) - 1)])[1] for power in range(30)]
    assert max(pairs) - min(pairs) < 2 * NOISE


def test_whole_numbers_below_370_have_bits_of_their_own() -> None:
    assert len(np.unique(ENCODERS.encode_fillers("size", [str(number) for number in range(370)]), axis=0)) == 370


def test_negative_numbers_are_unlike_their_opposites_and_next_to_zero_where_they_are_small() -> None:
    assert similarities(ENCODERS, "size", ["0", "-0.01", "-1000", "1000"]) == pytest.approx(
        [1, 0.78, 0.08, 0.08], abs=NOISE
    )
    assert similarities(ENCODERS, "size", ["-1000", "1000"])[1] < NOISE


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("300", "300"),
        (" 0300.0 ", "300"),
        ("3e2", "300"),
        ("1e15", "1000000000000000"),
        (".5", "0.5"),
        ("-0", "0"),
        ("+7", "7"),
        ("0.0000001", "0"),
        ("-2.50", "-2.5"),
    ],
)
def test_a_number_has_one_form(given: str, kept: str) -> None:
    assert canonical("size", given) == canonical("size", kept) == kept


def test_what_is_no_number_is_not_told_at_length() -> None:
    for written in ("many " * 10_000, "1" * 10_000):
        with pytest.raises(ValueError, match="expected") as refused:
            canonical("size", written)
        assert len(str(refused.value)) < 250


@given(st.floats(-1e15, 1e15))
def test_the_form_of_any_number_is_its_own_form(value: float) -> None:
    kept = canonical("size", repr(value))
    assert canonical("size", kept) == kept
    assert float(kept) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    "given", ["", "many", "1_000", "1,000", "0x10", "nan", "inf", "-Infinity", "1e16", "1e999999", "-1e1000000", "?"]
)
def test_what_is_no_number_is_told_what_is_expected(given: str) -> None:
    with pytest.raises(ValueError, match=r"number .*expected"):
        canonical("size", given)
    with pytest.raises(ValueError, match=r"number .*expected"):
        ENCODERS.encode_fillers("size", [given])
