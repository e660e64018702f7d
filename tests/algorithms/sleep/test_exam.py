"""Differences are worse beyond chance where signs by chance hardly give them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.algorithms.sleep.exam import probability_by_chance


def exactly(differences: list[float]) -> float:
    """Over all signs."""
    sizes = [abs(one) for one in differences]
    sums = [
        sum(sign * one for sign, one in zip(signs, sizes, strict=True)) for signs in product((-1, 1), repeat=len(sizes))
    ]
    return sum(one <= sum(differences) + 1e-9 for one in sums) / len(sums)


@settings(max_examples=30)
@given(st.lists(st.integers(-8, 8).filter(bool).map(float), min_size=1, max_size=9))
def test_it_is_the_share_of_signs_that_give_as_little(differences: list[float]) -> None:
    assert probability_by_chance(differences) == pytest.approx(exactly(differences), abs=0.03)


def test_what_changes_nothing_is_not_worse() -> None:
    assert probability_by_chance([]) == probability_by_chance([0.0] * 50) == 1.0


def test_many_that_are_worse_are_no_chance() -> None:
    assert probability_by_chance([-0.5] * 20) < 0.001
    assert probability_by_chance([-0.5] * 2 + [0.0] * 30) > 0.05
    assert probability_by_chance([0.5] * 20) > 0.99
