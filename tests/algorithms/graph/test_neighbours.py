"""Both backends find, to the bit, what a plain computation finds; the background is what chance brings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph import neighbours as module
from mnemic.algorithms.graph.neighbours import (
    FEW_PAIRS,
    HIGHEST_FLOOR,
    USUAL_FLOOR,
    CodeNeighbours,
    background_floor,
    code_neighbours,
)
from mnemic.algorithms.retrieval.scan import NATIVE, quantise
from tests import oracle

BACKENDS = [
    pytest.param(True, marks=pytest.mark.skipif(not NATIVE, reason="the native extension is not built")),
    False,
]


class Case(NamedTuple):
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    groups: NDArray[np.int32]
    rows: NDArray[np.int64]
    k: int
    bounds: NDArray[np.float32]


def unit_vectors(random: np.random.Generator, rows: int, dimensions: int = 384) -> NDArray[np.float32]:
    """Around a centre for every ten rows."""
    centres = random.standard_normal((rows // 10 + 1, dimensions))
    vectors = centres[random.integers(0, len(centres), rows)] + random.standard_normal((rows, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Codes of few levels, so that cosines tie, in few groups; queries may stand twice."""
    n, d = draw(st.integers(0, 12)), draw(st.sampled_from([0, 1, 3, 33]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.sampled_from([1, 2, 128]))
    codes = random.integers(1 - levels, levels, (n, d)).astype(np.int8)
    scales = random.choice(np.array([0, 0.25, 0.3, 1], np.float32), n)
    groups = random.integers(-1, draw(st.integers(1, 3)), n).astype(np.int32)
    rows = np.array(draw(st.lists(st.integers(0, n - 1), max_size=15)) if n else [], np.int64)
    bounds = random.choice(np.array([-np.inf, -1, 0, 0.5, np.inf], np.float32), n)
    return Case(codes, scales, groups, rows, draw(st.integers(0, 14)), bounds)


def by(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NATIVE", native)


def assert_found(found: CodeNeighbours, expected: tuple[Any, ...]) -> None:
    neighbours, cosines, hits = expected
    assert (found.neighbours.dtype, found.cosines.dtype) == (np.int64, np.float32)
    assert np.array_equal(found.neighbours, neighbours)
    assert np.array_equal(found.cosines, cosines)
    told = zip(found.hit_rows.tolist(), found.hit_queries.tolist(), found.hit_cosines.tolist(), strict=True)
    assert list(told) == hits


@pytest.mark.parametrize("native", BACKENDS)
@given(case=cases(), threads=st.integers(0, 3))
def test_it_finds_what_a_plain_computation_finds(native: bool, case: Case, threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        by(native, patch)
        found = code_neighbours(*case, threads=threads)
        assert_found(found, oracle.code_neighbours(*case))
        silent = code_neighbours(*case[:5], threads=threads)
    assert np.array_equal(silent.neighbours, found.neighbours)
    assert not len(silent.hit_rows)


@pytest.mark.skipif(not NATIVE, reason="the native extension is not built")
@pytest.mark.parametrize("dimensions", [384, 1100])
def test_both_backends_give_the_same_bits_on_many_rows(dimensions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(dimensions)
    codes, scales = quantise(unit_vectors(random, 900, dimensions))
    groups = random.integers(-1, 3, 900).astype(np.int32)
    case = Case(codes, scales, groups, np.arange(0, 900, 2), 9, np.full(900, 0.4, np.float32))
    found = code_neighbours(*case, threads=2)
    assert len(found.hit_rows)
    monkeypatch.setattr(module, "_SUMS_AT_ONCE", 10_000)
    by(False, monkeypatch)
    for own, theirs in zip(found, code_neighbours(*case), strict=True):
        assert own.tobytes() == theirs.tobytes()


def test_nearly_all_of_the_nearest_by_exact_cosine_are_found() -> None:
    vectors = unit_vectors(np.random.default_rng(3), 2000)
    exact = vectors @ vectors.T
    np.fill_diagonal(exact, -2)
    best = np.argsort(-exact, axis=1)[:, :10]
    found = code_neighbours(*quantise(vectors), np.zeros(2000, np.int32), np.arange(2000), 10)
    shared = [len(set(a) & set(b)) for a, b in zip(best.tolist(), found.neighbours.tolist(), strict=True)]
    assert np.mean(shared) >= 9.8


@pytest.mark.parametrize("native", BACKENDS)
def test_what_does_not_fit_is_refused(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    by(native, monkeypatch)
    codes, scales, groups = np.ones((3, 2), np.int8), np.ones(3, np.float32), np.zeros(3, np.int32)
    rows, least = np.array([0, 2]), np.full((3, 2), -128, np.int8)
    for arguments, said in (
        ((codes.astype(np.int16), scales, groups, rows, 1), r"codes must be \(n, d\) int8, not \(3, 2\) int16"),
        ((codes, scales[1:], groups, rows, 1), r"scales must be \(3,\) float32, not \(2,\) float32"),
        ((codes, scales, groups.astype(np.int64), rows, 1), r"groups must be \(3,\) int32, not \(3,\) int64"),
        ((codes, scales, groups, rows[None], 1), r"rows must be \(q,\) int64"),
        ((codes, scales, groups, rows, 1, scales[1:]), r"bounds must be \(3,\) float32"),
        ((codes, scales, groups, rows, -1), "k is -1"),
        ((codes, scales, groups, rows, 1, None, -1), "threads -1"),
        ((np.ones((0, 65_537), np.int8), scales[:0], groups[:0], rows[:0], 1), "65537 dimensions are more than 65536"),
        ((codes, scales * [1, 1, 2], groups, rows, 1), "scales must be"),
        ((codes, scales * np.float32(2), groups, rows, 1), "the scale of row 0 is not within 0 to 1"),
        ((codes, scales * np.float32("nan"), groups, rows, 1), "the scale of row 0 is not within 0 to 1"),
        ((codes, scales, groups, np.array([1, 3]), 1), "there is no row 3"),
        ((codes, scales, groups, np.array([-1]), 1), "there is no row -1"),
        ((least, scales, groups, rows, 1), "a code of row 0 is -128"),
    ):
        with pytest.raises(ValueError, match=said):
            code_neighbours(*arguments)  # type: ignore[arg-type]


def test_arrays_in_another_order_are_read_right() -> None:
    random = np.random.default_rng(5)
    codes, scales = quantise(unit_vectors(random, 40, 24))
    groups, rows = np.zeros(40, np.int32), np.arange(40)
    plain = code_neighbours(codes, scales, groups, rows, 3)
    strided = np.repeat(rows, 2)[::2]
    turned = code_neighbours(np.asfortranarray(codes), np.repeat(scales, 2)[::2], groups, strided, 3)
    assert np.array_equal(plain.neighbours, turned.neighbours)


def test_the_background_is_the_mean_and_two_deviations_of_pairs_in_a_group() -> None:
    random = np.random.default_rng(7)
    vectors = unit_vectors(random, 300) + 0.02  # all near each other, a little
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    groups = np.repeat(np.array([4, -1, 0], np.int32), 100)
    vectors[groups == 0] *= -1  # across groups cosines are negative
    codes, scales = quantise(vectors)
    exact = vectors[:100] @ vectors[:100].T
    other = vectors[200:] @ vectors[200:].T
    pairs = np.concatenate([part[np.triu_indices(100, 1)] for part in (exact, other)])
    floor = background_floor(codes, scales, groups, np.random.default_rng(1))
    assert floor == pytest.approx(pairs.mean() + 2 * pairs.std(), abs=0.02)
    assert floor == background_floor(codes, scales, groups, np.random.default_rng(1))


@pytest.mark.parametrize("sizes", [[], [1], [2], [1] * 2000, [31], [2] * (FEW_PAIRS - 1)])
def test_few_pairs_have_the_usual_floor(sizes: list[int]) -> None:
    groups = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    codes, scales = np.ones((len(groups), 3), np.int8), np.full(len(groups), 0.01, np.float32)
    assert background_floor(codes, scales, groups, np.random.default_rng(1)) == USUAL_FLOOR


def test_a_floor_leaves_room_above_it_and_is_not_negative() -> None:
    groups = np.zeros(64, np.int32)
    same = quantise(np.full((64, 16), 0.25, np.float32))
    assert background_floor(*same, groups, np.random.default_rng(1)) == HIGHEST_FLOOR
    opposite = np.ones((2000, 1), np.int8)
    opposite[1::2] = -1
    apart = np.repeat(np.arange(1000, dtype=np.int32), 2)
    assert background_floor(opposite, np.ones(2000, np.float32), apart, np.random.default_rng(1)) == 0
    with pytest.raises(ValueError, match="pairs is 0"):
        background_floor(*same, groups, np.random.default_rng(1), pairs=0)
