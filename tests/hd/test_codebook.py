"""Codebooks draw the same random hypervectors for the same names, and unrelated ones for any others."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.hd.codebook import draw_bytes, draw_hypervector, draw_ranks
from tests.hd.spaces import NOISE, similarity, space

NAMES = st.text(st.characters(), max_size=20) | st.sampled_from(["", "\0", "\ud800", "a\0b"])


@given(NAMES, NAMES)
def test_a_name_always_draws_the_same_bits_and_half_of_them_are_set(namespace: str, symbol: str) -> None:
    drawn = draw_hypervector(space(), namespace, symbol)
    assert drawn.dtype == np.uint64
    assert drawn.shape == (160,)
    assert np.array_equal(drawn, draw_hypervector(space(), namespace, symbol))
    assert abs(similarity(drawn, np.zeros_like(drawn))) < NOISE


@given(st.lists(st.tuples(NAMES, NAMES), min_size=2, max_size=2, unique=True))
def test_two_names_have_nothing_to_do_with_each_other(names: list[tuple[str, str]]) -> None:
    one, other = (draw_hypervector(space(), *name) for name in names)
    assert abs(similarity(one, other)) < NOISE


def test_where_the_namespace_ends_makes_a_difference() -> None:
    assert abs(similarity(draw_hypervector(space(), "ab", "c"), draw_hypervector(space(), "a", "bc"))) < NOISE


def test_another_seed_draws_other_bits() -> None:
    other = msgspec.structs.replace(space(), seed=bytes(32))
    assert abs(similarity(draw_hypervector(space(), "who", "ada"), draw_hypervector(other, "who", "ada"))) < NOISE


def test_what_is_bound_and_the_version_do_not_change_what_a_name_draws() -> None:
    other = msgspec.structs.replace(space(), roles=("who",), model="beef", embedding_dimensions=3)
    assert np.array_equal(draw_hypervector(space(), "who", "ada"), draw_hypervector(other, "who", "ada"))


@pytest.mark.parametrize("dimensions", [64, 128, 1024])
def test_a_longer_draw_begins_with_a_shorter_one(dimensions: int) -> None:
    long = draw_bytes(space(), "who", "ada", 1280)
    assert len(long) == 1280
    assert long.startswith(draw_bytes(space(), "who", "ada", dimensions // 8))
    assert draw_hypervector(space(dimensions=dimensions), "who", "ada").tobytes() == long[: dimensions // 8]


@pytest.mark.parametrize("dimensions", [64, 10_240])
def test_ranks_have_every_place_once_and_are_in_disorder(dimensions: int) -> None:
    order = draw_ranks(space(dimensions=dimensions), "date")
    assert sorted(order) == list(range(dimensions))
    assert abs(np.corrcoef(order, np.arange(dimensions))[0, 1]) < 5 / np.sqrt(dimensions)
