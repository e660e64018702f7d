"""The scan gives the same scores natively and in NumPy, and refuses what it cannot answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from mnemic.algorithms.retrieval import scan
from tests import oracle


@pytest.fixture(params=["native", "numpy"], autouse=True, scope="module")
def _backend(request: pytest.FixtureRequest) -> object:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(scan, "NATIVE", False)
        elif not scan.NATIVE:
            pytest.skip("the native extension is not built")
        yield


def test_the_backend_names_itself() -> None:
    names = {f"native-{name}" for name in ("avx512", "avxvnni", "avx2", "portable")}
    assert scan.backend() in (names if scan.NATIVE else {"numpy"})


Problem = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]


@st.composite
def searches(draw: st.DrawFn) -> Problem:
    """Up to 150 rows of up to 70 dimensions with many ties, a query, and which rows are allowed."""
    rows, dimensions = draw(st.integers(0, 150)), draw(st.integers(0, 70))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.sampled_from([0, 1, 2, 1000]))
    vectors = random.integers(-levels, levels + 1, (rows, dimensions)).astype(np.float32) / 64
    query = random.integers(-levels, levels + 1, dimensions).astype(np.float32) / 64
    return vectors, query, random.random(rows) < draw(st.sampled_from([0, 0.02, 0.5, 1]))


@given(searches())
def test_codes_are_those_of_the_oracle_and_near_the_vectors(problem: Problem) -> None:
    codes, scales = scan.quantise(problem[0])
    expected = oracle.quantised(problem[0])
    assert (codes.dtype, scales.dtype) == (np.int8, np.float32)
    assert np.array_equal(codes, expected[0])
    assert np.array_equal(scales, expected[1])
    assert np.all(np.abs(codes * scales[:, None].astype(np.float64) - problem[0]) <= 0.5001 * scales[:, None])


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 9), st.integers(0, 40)), elements=st.floats(width=32)))
def test_any_floats_at_all_are_quantised_as_the_oracle_does_or_refused(vectors: NDArray[np.float32]) -> None:
    if np.isfinite(vectors).all():
        for part, expected in zip(scan.quantise(vectors), oracle.quantised(vectors), strict=True):
            assert np.array_equal(part, expected)
    else:
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0]
        with pytest.raises(ValueError, match=f"row {bad}, or"):
            scan.quantise(vectors)


@given(searches())
def test_with_every_row_scored_exactly_all_scores_are_exact(problem: Problem) -> None:
    vectors, query, allowed = problem
    coded = scan.QuantisedVectors.from_vectors(vectors)
    found = scan.inner_products(coded, query, allowed=scan.pack_mask(allowed), exact=200)
    expected = oracle.inner_products(vectors, query)[0]  # small integers / 4096: every sum is exact
    assert found[allowed].tolist() == expected[allowed].tolist()
    if allowed.all():
        assert scan.inner_products(coded, query, exact=200).tolist() == found.tolist()


@given(searches(), st.integers(0, 200))
def test_every_allowed_row_has_a_score_and_the_best_an_exact_one(problem: Problem, exact: int) -> None:
    vectors, query, allowed = problem
    coded = scan.QuantisedVectors.from_vectors(vectors)
    found = scan.inner_products(coded, query, allowed=scan.pack_mask(allowed), exact=exact)
    assert found.dtype == np.float32
    assert np.array_equal(~np.isnan(found), allowed)
    expected = oracle.inner_products(vectors, query)[0]
    if not scan.NATIVE:
        assert np.array_equal(found[allowed], expected[allowed])
        return
    rough = oracle.code_products(coded.codes, coded.scales, query)
    order = np.lexsort((np.arange(len(vectors)), -rough))
    order = order[allowed[order]]
    best = order[:exact]
    if len(best):
        best = order[rough[order] >= rough[best[-1]]]  # whatever ties with the last is exact too
    rest = order[len(best) :]
    assert np.array_equal(found[best], expected[best])
    limit = expected[best].min(initial=np.inf).astype(np.float32)
    assert np.array_equal(found[rest], np.minimum(rough[rest], limit))


def unit(random: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    vectors = random.standard_normal(shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("others", [0, 5, 2000])
def test_rows_that_are_equal_have_one_score_however_many_they_are(others: int) -> None:
    random = np.random.default_rng(7)
    query = unit(random, 384)
    clone = (query + 0.8 * unit(random, 384)).astype(np.float32)
    vectors = np.vstack([unit(random, others, 384), np.tile(clone / np.linalg.norm(clone), (601, 1))])
    vectors = vectors[random.permutation(len(vectors))]
    clones = (vectors == clone / np.linalg.norm(clone)).all(axis=1)
    coded = scan.QuantisedVectors.from_vectors(vectors)
    for exact in (1, 100, 512, 600, 601, 700):
        found = scan.inner_products(coded, query, exact=exact)
        assert len(set(found[clones].tolist())) == 1
        assert found[clones][0] == pytest.approx(
            float(oracle.inner_products(vectors[clones][:1], query)[0][0]), abs=1e-6
        )


@given(st.integers(0, 2**32), st.integers(1, 60), st.floats(0.001, 1))
def test_no_score_by_the_codes_stands_above_an_exact_one(seed: int, exact: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    query = unit(random, 48)
    vectors = (query + np.float32(spread) * unit(random, 200, 48)).astype(np.float32)
    coded = scan.QuantisedVectors.from_vectors(vectors)
    found = scan.inner_products(coded, query, exact=exact)
    rough = oracle.code_products(coded.codes, coded.scales, query)
    chosen = rough >= np.sort(rough)[-exact]
    assert found[chosen] == pytest.approx(oracle.inner_products(vectors[chosen], query)[0], abs=1e-5)
    if scan.NATIVE and not chosen.all():
        assert found[~chosen].max() <= found[chosen].min()


@pytest.mark.parametrize(
    ("row", "query"), [(3e38, 1e-30), (1e-30, 3e38), (3e38, 1e-35), (-3e38, 1e-3), (3e38, -0.5), (3e37, 0.028)]
)
def test_what_is_finite_is_scored_however_large_its_factors(row: float, query: float) -> None:
    coded = scan.QuantisedVectors.from_vectors(np.full((600, 384), row, np.float32))
    probe = np.full(384, query, np.float32)
    expected = float(oracle.inner_products(coded.vectors[:1], probe)[0][0])
    if abs(expected) > float(np.finfo(np.float32).max):
        with pytest.raises(ValueError, match="row 0, or its product with the query, is not finite"):
            scan.inner_products(coded, probe, exact=0)
        return
    for exact in (0, 1):
        assert scan.inner_products(coded, probe, exact=exact) == pytest.approx(expected, rel=1e-4)


def test_factors_that_cancel_or_meet_nothing_are_finite() -> None:
    largest = float(np.finfo(np.float32).max)
    for row, probe, expected in (
        ([largest, 0], [0, largest], 0),
        ([largest, -largest, 0], [1, 1, 1], 0),
        ([largest, largest * 0.4986, 0], [0.5, 1, 1], largest * 0.9986),
    ):
        coded = scan.QuantisedVectors.from_vectors(np.array([row], np.float32))
        found = scan.inner_products(coded, np.array(probe, np.float32), exact=1)
        assert found == pytest.approx([expected], rel=1e-4)


def test_of_random_unit_vectors_the_best_ten_are_found() -> None:
    random = np.random.default_rng(5)
    vectors = random.standard_normal((20_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    coded = scan.QuantisedVectors.from_vectors(vectors)
    for allowed in (None, random.random(20_000) < 0.1, random.random(20_000) < 0.01):
        mask = None if allowed is None else scan.pack_mask(allowed)
        for query in vectors[:10] + vectors[10:20]:
            scores = scan.inner_products(coded, query, allowed=mask)
            exact = vectors @ query
            exact[[] if allowed is None else ~allowed] = np.nan
            assert set(np.argsort(-scores)[:10].tolist()) == set(np.argsort(-exact)[:10].tolist())
            assert np.nanmax(np.abs(scores - exact)) < 0.01


def test_what_is_allowed_is_packed_row_by_row() -> None:
    assert scan.pack_mask(np.zeros(0, np.bool_)).tolist() == []
    allowed = np.zeros(130, np.bool_)
    allowed[[0, 5, 63, 64, 129]] = True
    assert scan.pack_mask(allowed).tolist() == [1 + 2**5 + 2**63, 1, 2]
    with pytest.raises(ValueError, match=r"must be \(n,\) bool, not \(2,\) uint8"):
        scan.pack_mask(np.zeros(2, np.uint8))  # type: ignore[arg-type]


def test_bits_behind_the_last_row_mean_nothing() -> None:
    coded = scan.QuantisedVectors.from_vectors(np.ones((3, 2), np.float32))
    mask = np.array([2**64 - 1], np.uint64)
    assert scan.inner_products(coded, np.ones(2, np.float32), allowed=mask).tolist() == [2, 2, 2]


def test_coded_arrays_that_are_not_contiguous_are_taken_too() -> None:
    random = np.random.default_rng(2)
    wide = random.standard_normal((200, 66)).astype(np.float32)
    coded = scan.QuantisedVectors.from_vectors(wide[::2, ::-2])
    query = wide[0, ::2]
    strided = scan.QuantisedVectors(wide[::2, ::-2], np.asfortranarray(coded.codes), np.repeat(coded.scales, 2)[::2])
    words = np.repeat(scan.pack_mask(np.arange(100) % 3 == 0), 2)[::2]
    for mask in (None, words):
        assert np.array_equal(
            scan.inner_products(strided, query, allowed=mask), scan.inner_products(coded, query, allowed=mask), True
        )


ROWS = scan.QuantisedVectors(np.ones((70, 3), np.float32), np.ones((70, 3), np.int8), np.ones(70, np.float32))
QUERY = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("coded", "query", "allowed", "message"),
    [
        (ROWS._replace(vectors=np.ones((70, 3))), QUERY, None, "must be float32, not float64 and float32"),
        (ROWS, np.ones(4, np.float32), None, r"not \(70, 3\) and \(4,\)"),
        (
            ROWS._replace(codes=np.ones((70, 3), np.uint8)),
            QUERY,
            None,
            "int8 and scales float32, not uint8 and float32",
        ),
        (ROWS._replace(scales=np.ones(70)), QUERY, None, "not int8 and float64"),
        (ROWS._replace(codes=np.ones((70, 2), np.int8)), QUERY, None, r"codes \(70, 2\) .* not of the same rows"),
        (ROWS._replace(scales=np.ones(69, np.float32)), QUERY, None, r"scales \(69,\) are not of the same rows"),
        (ROWS, QUERY, np.zeros(1, np.uint64), r"mask must be \(2,\) uint64, not \(1,\) uint64"),
        (ROWS, QUERY, np.zeros(70, np.bool_), r"not \(70,\) bool"),
        (ROWS, np.array([1, np.nan, 1], np.float32), None, "the query is not finite"),
        (ROWS, np.array([1, np.inf, 1], np.float32), np.zeros(2, np.uint64), "the query is not finite"),
    ],
)
def test_what_cannot_be_scored_is_refused(coded: scan.QuantisedVectors, query: Any, allowed: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scan.inner_products(coded, query, allowed=allowed)


@pytest.mark.parametrize("many", [2**31, 2**63, 2**64, 2**70])
def test_any_number_of_exact_scores_may_be_asked_for(many: int) -> None:
    assert scan.inner_products(ROWS, QUERY, exact=many).tolist() == [3] * 70


def test_rows_that_no_memory_holds_are_an_error_that_can_be_caught() -> None:
    with pytest.raises(MemoryError):
        scan.quantise(np.empty((1 << 50, 0), np.float32))


def test_rows_without_values_have_the_score_nothing() -> None:
    for rows in (0, 1, 3):
        coded = scan.QuantisedVectors.from_vectors(np.zeros((rows, 0), np.float32))
        assert scan.inner_products(coded, np.zeros(0, np.float32)).tolist() == [0] * rows


def test_numbers_below_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="exact is -1"):
        scan.inner_products(ROWS, QUERY, exact=-1)
    with pytest.raises(ValueError, match=r"must be \(n, d\) float32, not \(3,\) float32"):
        scan.quantise(QUERY)


def test_a_row_that_is_not_finite_is_refused_unless_it_is_left_out() -> None:
    vectors = np.ones((70, 3), np.float32)
    vectors[66, 1] = np.nan
    coded = ROWS._replace(vectors=vectors)
    with pytest.raises(ValueError, match="row 66, or its product with the query, is not finite"):
        scan.inner_products(coded, QUERY)
    others = np.arange(70) != 66
    assert np.isfinite(scan.inner_products(coded, QUERY, allowed=scan.pack_mask(others))[others]).all()
