"""What a set of records has in common can be read from its prototype, the stronger records counting more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import default_algebra
from mnemic.hd.records import prototype, typicality

ALGEBRA = default_algebra()
RNG = np.random.default_rng(3)


def drawn(*shape: int) -> NDArray[np.uint64]:
    return RNG.integers(0, 2**64, shape, dtype=np.uint64)


TIE = drawn(160)


def records_with(pair: NDArray[np.uint64], count: int, more: int = 7) -> NDArray[np.uint64]:
    return np.array([ALGEBRA.bundle(np.concatenate([pair[None], drawn(more, 160)]), TIE) for _ in range(count)])


def test_the_prototype_of_none_is_the_tie_and_that_of_one_is_itself() -> None:
    one = drawn(1, 160)
    assert prototype(one[:0], np.zeros(0), TIE, ALGEBRA).tolist() == TIE.tolist()
    assert prototype(one, np.array([0.3]), TIE, ALGEBRA).tolist() == one[0].tolist()


@given(strength=st.floats(1e-6, 1e6), count=st.integers(1, 9))
def test_how_strong_all_are_together_changes_nothing(strength: float, count: int) -> None:
    records = drawn(count, 160)
    even = prototype(records, np.ones(count), TIE, ALGEBRA)
    assert prototype(records, np.full(count, strength), TIE, ALGEBRA).tolist() == even.tolist()


def test_what_is_stronger_counts_more() -> None:
    records = drawn(3, 160)
    common = prototype(records, np.array([4.0, 1.0, 1.0]), TIE, ALGEBRA)
    assert common.tolist() == records[0].tolist()  # four of six votes


@pytest.mark.parametrize("all_stronger", [1.0, 1e-3, 70.0])
def test_two_that_agree_outweigh_a_third_that_is_not_twice_as_strong(all_stronger: float) -> None:
    strong, weak = drawn(1, 160), drawn(1, 160)
    records = np.concatenate([strong, weak, weak])
    for strength, wins in ((1.6, weak), (2.2, strong)):
        common = prototype(records, all_stronger * np.array([strength, 1.0, 1.0]), TIE, ALGEBRA)
        assert common.tolist() == wins[0].tolist()


def test_what_has_what_most_have_is_the_most_typical() -> None:
    pair = drawn(160)
    records = np.concatenate([records_with(pair, 9), drawn(2, 160)])
    typical = typicality(prototype(records, np.ones(11), TIE, ALGEBRA), records, ALGEBRA)
    assert typical[:9].min() > typical[9:].max()
    assert typical.min() >= 0
