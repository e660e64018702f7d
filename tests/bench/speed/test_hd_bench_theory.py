"""How much a hypervector holds: theory against counting by hand, and what is counted against theory."""

from __future__ import annotations

import math
from hashlib import sha256
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.bench.speed.hd_bench import (
    Order,
    closed_form_capacity,
    count_correct,
    exact_accuracy,
    gaussian_accuracy,
    information_bits,
    most_pairs,
    tail_probability,
)
from mnemic.hd.algebra import algebra_named
from mnemic.hd.evidence import bit_agreement
from mnemic.hd.space import Space

SPACE = Space(seed=sha256(b"capacity").digest(), dimensions=256)


@given(dimensions=st.integers(1, 40), pairs=st.integers(1, 12), codebook=st.integers(1, 3))
def test_exact_is_the_sum_over_all_distances(dimensions: int, pairs: int, codebook: int) -> None:
    right = bit_agreement(pairs)

    def law(chance: float) -> list[float]:
        ways = [math.comb(dimensions, of) for of in range(dimensions + 1)]
        return [way * chance**of * (1 - chance) ** (dimensions - of) for of, way in enumerate(ways)]

    of_right, of_wrong = law(right), law(0.5)
    expected = 0.0
    for ours, *others in product(range(dimensions + 1), repeat=codebook):
        if ours >= max(others, default=0):
            shares = 1 / (1 + others.count(ours))
            expected += of_right[ours] * math.prod(of_wrong[other] for other in others) * shares
    assert exact_accuracy(dimensions, pairs, codebook) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("dimensions", "codebook"), [(1024, 1000), (4096, 16), (4096, 1000), (10_240, 10_000)])
def test_the_integral_says_nearly_the_same_and_both_fall_with_every_two_pairs(dimensions: int, codebook: int) -> None:
    pairs = [3, 11, 41, 101, 401, 1601]
    ours = [exact_accuracy(dimensions, one, codebook) for one in pairs]
    assert [round(one, 8) for one in ours] == sorted((round(one, 8) for one in ours), reverse=True)
    assert ours == pytest.approx([gaussian_accuracy(dimensions, one, codebook) for one in pairs], abs=2e-3)


@pytest.mark.parametrize("codebook", [2, 16, 1000])
def test_one_pair_more_than_there_is_room_for_is_too_many(codebook: int) -> None:
    most = most_pairs(1024, codebook)
    assert exact_accuracy(1024, most, codebook) >= 0.99 > exact_accuracy(1024, most + 1, codebook)


@pytest.mark.parametrize("codebook", [16, 1000, 10_000])
def test_the_closed_form_stays_somewhat_below(codebook: int) -> None:
    assert 0.8 < closed_form_capacity(10_240, codebook) / most_pairs(10_240, codebook) < 1


@pytest.mark.parametrize("codebook", [2, 1000])
def test_what_is_always_right_says_all_and_a_guess_nothing(codebook: int) -> None:
    assert information_bits(1.0, codebook) == pytest.approx(math.log2(codebook))
    assert information_bits(1 / codebook, codebook) == pytest.approx(0, abs=1e-12)
    assert information_bits(0.0, codebook) >= 0


@pytest.mark.parametrize("order", ["roles", "places"])
@pytest.mark.parametrize(("pairs", "codebook"), [(1, 1), (2, 50), (9, 50), (10, 50), (40, 50), (700, 2)])
def test_what_comes_out_right_is_as_much_as_theory_says(order: Order, pairs: int, codebook: int) -> None:
    hits = count_correct(SPACE, algebra_named("numpy"), order, pairs, codebook, 500)
    assert tail_probability(hits, 500, exact_accuracy(256, pairs, codebook)) > 1e-4
    assert hits == count_correct(SPACE, algebra_named(""), order, pairs, codebook, 500)


def test_what_cannot_be_by_chance_is_unlikely() -> None:
    assert tail_probability(500, 1000, 0.5) > 0.4
    assert tail_probability(1000, 1000, 1.0) > 0.4
    assert tail_probability(620, 1000, 0.5) < 1e-6
    assert tail_probability(990, 1000, 1.0) < 1e-6
    assert tail_probability(380, 1000, 0.5) < 1e-6
