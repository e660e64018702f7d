"""The scan gives the same products natively and in NumPy, and refuses what it could not answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from mnemic.algorithms import scan
from tests import oracle

FINITE = st.floats(-1e6, 1e6, width=32)


@pytest.fixture(params=["native", "numpy"], autouse=True, scope="module")
def _backend(request: pytest.FixtureRequest) -> object:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(scan, "NATIVE", False)
        elif not scan.NATIVE:
            pytest.skip("the native extension is not built")
        yield


@st.composite
def problems(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A matrix of 0 to 20 rows and a query, of 0 to 100 dimensions."""
    rows, dimensions = draw(st.integers(0, 20)), draw(st.integers(0, 100))
    vectors = draw(arrays.arrays(np.float32, (rows, dimensions), elements=FINITE))
    return vectors, draw(arrays.arrays(np.float32, dimensions, elements=FINITE))


@given(problems())
def test_products_are_those_of_exact_arithmetic(problem: tuple[NDArray[np.float32], NDArray[np.float32]]) -> None:
    products = scan.inner_products(*problem)
    expected, bound = oracle.inner_products(*problem)
    assert products.dtype == np.float32
    assert products.shape == expected.shape
    assert np.all(np.abs(products - expected) <= bound)


def test_products_of_many_unit_vectors_are_their_cosines() -> None:
    random = np.random.default_rng(1)
    vectors = random.standard_normal((3000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    products = scan.inner_products(vectors, vectors[1234])
    assert products.argmax() == 1234
    assert products[1234] == pytest.approx(1, abs=1e-6)
    expected, bound = oracle.inner_products(vectors, vectors[1234])
    assert np.all(np.abs(products - expected) <= bound)


@pytest.mark.parametrize("shape", [(0, 384), (0, 0), (1, 0), (1, 1), (3, 0)])
def test_next_to_nothing_is_scanned_without_complaint(shape: tuple[int, int]) -> None:
    products = scan.inner_products(np.zeros(shape, np.float32), np.zeros(shape[1], np.float32))
    assert np.array_equal(products, np.zeros(shape[0], np.float32))


def test_arrays_that_are_not_contiguous_are_taken_too() -> None:
    random = np.random.default_rng(2)
    wide = random.standard_normal((40, 66)).astype(np.float32)
    vectors, query = wide[::2, ::-2], wide[0, ::2]
    expected, bound = oracle.inner_products(vectors, query)
    assert np.all(np.abs(scan.inner_products(vectors, query) - expected) <= bound)
    turned = np.asfortranarray(vectors)
    assert np.all(np.abs(scan.inner_products(turned, query) - expected) <= bound)


def test_arrays_that_may_not_be_written_are_taken_too() -> None:
    vectors, query = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    vectors.setflags(write=False)
    query.setflags(write=False)
    assert scan.inner_products(vectors, query).tolist() == [3, 3]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, np.finfo(np.float32).max])
def test_what_is_not_finite_is_refused_with_its_row(bad: float) -> None:
    vectors, query = np.ones((5, 33), np.float32), np.full(33, 2, np.float32)
    vectors[3, 32] = bad
    with pytest.raises(ValueError, match="row 3 is not finite"):
        scan.inner_products(vectors, query)


def test_a_query_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="row 0 is not finite"):
        scan.inner_products(np.zeros((2, 3), np.float32), np.array([0, np.nan, 0], np.float32))


@pytest.mark.parametrize(
    ("vectors", "query", "message"),
    [
        (np.zeros((2, 3)), np.zeros(3, np.float32), "must be float32, not float64 and float32"),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.int8), "must be float32, not float32 and int8"),
        (np.zeros((2, 3), np.float32), np.zeros(4, np.float32), r"not \(2, 3\) and \(4,\)"),
        (np.zeros((2, 3), np.float32), np.zeros((3, 1), np.float32), r"not \(2, 3\) and \(3, 1\)"),
        (np.zeros(3, np.float32), np.zeros(3, np.float32), r"not \(3,\) and \(3,\)"),
    ],
)
def test_other_types_and_shapes_are_refused(
    vectors: NDArray[np.float32], query: NDArray[np.float32], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        scan.inner_products(vectors, query)


def test_the_backend_names_itself() -> None:
    assert scan.backend() in ({"native-avx512", "native-avx2", "native-portable"} if scan.NATIVE else {"numpy"})
