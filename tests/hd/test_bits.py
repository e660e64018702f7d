"""The algebra of packed bits keeps its laws, natively and in NumPy, and is torchhd's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.hd import bits
from tests import oracle
from tests.hd.drawing import NO_TORCHHD, SHIFTS, Words, hypervectors, random


@pytest.fixture(params=["native", "numpy"], autouse=True, scope="module")
def _backend(request: pytest.FixtureRequest) -> object:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(bits, "NATIVE", False)
        elif not bits.NATIVE:
            pytest.skip("the native extension is not built")
        yield


@given(hypervectors(most=40, others=3))
def test_binding_is_its_own_inverse_commutes_and_associates(problem: tuple[Words, ...]) -> None:
    vectors, a, b, c = problem
    assert np.array_equal(bits.bind(bits.bind(vectors, a), a), vectors)
    assert np.array_equal(bits.bind(bits.bind(a, b), c), bits.bind(a, bits.bind(b, c)))
    assert np.array_equal(bits.bind(a, b), bits.bind(b, a))
    assert np.array_equal(bits.bind(vectors, vectors), np.zeros_like(vectors))
    one_by_one = [bits.bind(vector, a) for vector in vectors]
    assert np.array_equal(bits.bind(vectors, a), np.array(one_by_one, np.uint64).reshape(vectors.shape))
    assert np.array_equal(bits.unpack(bits.bind(vectors, a)), oracle.bits_of(vectors) ^ oracle.bits_of(a))


@given(hypervectors(most=40, others=2), SHIFTS, SHIFTS)
def test_rotations_add_up_come_round_and_distribute_over_binding(
    problem: tuple[Words, ...], shift: int, further: int
) -> None:
    vectors, a, b = problem
    size = 64 * len(a)
    rotated = bits.rotate(vectors, shift)
    assert np.array_equal(oracle.bits_of(rotated), np.roll(oracle.bits_of(vectors), shift % size, axis=-1))
    assert np.array_equal(bits.rotate(rotated, further), bits.rotate(vectors, shift + further))
    assert np.array_equal(bits.rotate(rotated, -shift), vectors)
    assert np.array_equal(bits.rotate(vectors, size), vectors)
    assert np.array_equal(bits.rotate(vectors), bits.rotate(vectors, 1))
    assert np.array_equal(bits.rotate(bits.bind(a, b), shift), bits.bind(bits.rotate(a, shift), bits.rotate(b, shift)))


@given(hypervectors(most=300))
def test_a_bundle_has_the_bits_that_most_have_and_ties_are_the_ties(problem: tuple[Words, ...]) -> None:
    vectors, tie = problem
    bundle = bits.bundle(vectors, tie)
    assert np.array_equal(oracle.bits_of(bundle), oracle.bundled(vectors, tie))
    assert np.array_equal(bits.bundle(vectors[::-1], tie), bundle)
    assert np.array_equal(bits.bundle(vectors[:0], tie), tie)
    assert np.array_equal(bits.bundle(bits.bind(vectors, tie), np.zeros_like(tie)), bits.bind(bundle, tie))
    for vector in vectors[:1]:
        assert np.array_equal(bits.bundle(vector[None], tie), vector)
        assert np.array_equal(bits.bundle(np.stack([vector, ~vector]), tie), tie)


@given(hypervectors(most=300), st.integers(0, 300), st.integers(-3, 3))
def test_a_bundle_that_grows_is_the_one_that_was_made_at_once(
    problem: tuple[Words, ...], split: int, weight: int
) -> None:
    vectors, tie = problem
    counters = np.zeros(64 * len(tie), np.int32)
    bits.add_counts(vectors[:split], counters)
    for vector in vectors[split:][:5]:
        bits.add_counts(vector, counters)
    bits.add_counts(vectors[split:][5:], counters)
    assert np.array_equal(counters, oracle.bits_of(vectors).sum(axis=0))
    assert np.array_equal(bits.majority(counters, len(vectors), tie), bits.bundle(vectors, tie))
    bits.add_counts(vectors, counters, weight)
    bits.add_counts(vectors, counters, -weight)
    bits.add_counts(vectors[split:], counters, -1)
    assert np.array_equal(bits.majority(counters, len(vectors[:split]), tie), bits.bundle(vectors[:split], tie))


@given(hypervectors(most=40, others=3))
def test_the_distance_is_a_metric(problem: tuple[Words, ...]) -> None:
    vectors, a, b, c = problem

    def distance(left: Words, right: Words) -> int:
        return int(bits.distances(left[None], right)[0])

    assert distance(a, a) == 0
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == np.array_equal(a, b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert distance(a, b) == distance(bits.bind(a, c), bits.bind(b, c))
    assert distance(a, b) == distance(bits.rotate(a, 77), bits.rotate(b, 77))
    measured = bits.distances(vectors, a)
    assert measured.dtype == np.int64
    assert np.array_equal(measured, (oracle.bits_of(vectors) != oracle.bits_of(a)).sum(axis=1))


@given(hypervectors(most=150), st.integers(0, 200))
def test_the_nearest_are_the_first_of_the_sorted(problem: tuple[Words, ...], k: int) -> None:
    vectors, query = problem
    rows, distances = bits.nearest(vectors, query, k)
    assert rows.dtype == distances.dtype == np.int64
    assert list(zip(rows, distances, strict=True)) == oracle.nearest_by_hamming(vectors, query, k)


def test_hypervectors_of_full_size_are_found_counted_and_bundled() -> None:
    vectors, tie = random(1, 3000, 160), random(2, 160)
    noise = bits.pack(np.random.default_rng(3).random(10_240) < 0.3)
    rows, distances = bits.nearest(vectors, bits.bind(vectors[1234], noise), 3)
    assert (rows[0], distances[0]) == (1234, np.bitwise_count(noise).sum())
    assert np.all(np.abs(distances[1:] - 5120) < 300)  # of 3,000 that are random; one deviation is 51
    assert np.array_equal(oracle.bits_of(bits.bundle(vectors, tie)), oracle.bundled(vectors, tie))
    few = bits.bundle(vectors[:15], tie)
    assert set(bits.nearest(vectors, few, 15)[0]) == set(range(15))


@pytest.mark.torch
def test_it_is_torchhd() -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCHHD)
    torchhd: Any = pytest.importorskip("torchhd", reason=NO_TORCHHD)

    def tensor(vectors: Words) -> Any:
        return torch.from_numpy(bits.unpack(vectors)).as_subclass(torchhd.BSCTensor)

    for words in (1, 3, 160):
        vectors, a, tie = random(4, 31, words), random(5, words), random(6, words)
        assert torch.equal(tensor(bits.bind(vectors, a)), tensor(vectors).bind(tensor(a)))
        for shift in (0, 1, -1, 63, 64, 65, 64 * words - 1, 5000):
            assert torch.equal(tensor(bits.rotate(vectors, shift)), tensor(vectors).permute(shift))
        for number in (1, 3, 15, 31):
            assert torch.equal(tensor(bits.bundle(vectors[:number], tie)), tensor(vectors[:number]).multibundle())
        agreed = tensor(vectors[0]) == tensor(vectors[1])
        both = bits.bundle(vectors[:2], tie)
        assert torch.equal(tensor(both)[agreed], tensor(vectors[0]).bundle(tensor(vectors[1]))[agreed])
        assert torch.equal(tensor(both)[~agreed], tensor(tie)[~agreed])
        similar = torchhd.hamming_similarity(tensor(a), tensor(vectors))
        assert np.array_equal(64 * words - bits.distances(vectors, a), similar.numpy())


def test_arrays_that_are_strided_turned_unaligned_or_read_only_are_taken_too() -> None:
    wide = random(7, 20, 12)
    shifted = np.frombuffer(b"?" + wide.tobytes(), np.uint64, offset=1).reshape(wide.shape)
    assert not shifted.flags.aligned
    wide.setflags(write=False)
    for vectors in (wide[::2, ::-2], np.asfortranarray(wide), shifted, wide):
        query, tidy = vectors[1], np.ascontiguousarray(vectors).copy()
        assert np.array_equal(bits.distances(vectors, query), bits.distances(tidy, tidy[1]))
        assert np.array_equal(bits.nearest(vectors, query, 9)[0], bits.nearest(tidy, tidy[1], 9)[0])
        assert np.array_equal(bits.bind(vectors, query), tidy ^ tidy[1])
        assert np.array_equal(bits.bind(vectors, vectors[::-1]), tidy ^ tidy[::-1])
        assert np.array_equal(bits.rotate(vectors, 9), bits.rotate(tidy, 9))
        assert np.array_equal(bits.bundle(vectors, query), bits.bundle(tidy, tidy[1]))
        assert np.array_equal(bits.unpack(vectors), bits.unpack(tidy))
        counters = np.zeros((64 * len(query), 2), np.int32)[:, 0]
        assert np.array_equal(bits.majority(counters, 0, query), query)


def test_other_types_and_shapes_are_refused() -> None:
    vectors, one, counters = random(8, 5, 3), random(9, 3), np.zeros(192, np.int32)
    for wrong in (vectors.astype(np.int64), vectors.astype(">u8"), random(1, 5, 3, 3), random(1, 5, 0)):
        for call in (
            lambda wrong=wrong: bits.distances(wrong, one),
            lambda wrong=wrong: bits.nearest(wrong, one, 1),
            lambda wrong=wrong: bits.bundle(wrong, one),
            lambda wrong=wrong: bits.bind(wrong, one),
            lambda wrong=wrong: bits.bind(vectors, wrong),
            lambda wrong=wrong: bits.rotate(wrong),
            lambda wrong=wrong: bits.add_counts(wrong, counters),
        ):
            with pytest.raises(ValueError, match=r"must be uint64 \(.*\), not .* \("):
                call()
    for single in (random(1, 4), random(1, 1, 3), one.view(np.float64)):
        with pytest.raises(ValueError, match=r"the query must be uint64 \(3,\), not"):
            bits.distances(vectors, single)
        with pytest.raises(ValueError, match=r"the query must be uint64 \(3,\), not"):
            bits.nearest(vectors, single, 1)
        with pytest.raises(ValueError, match=r"tie must be uint64 \(3,\), not"):
            bits.bundle(vectors, single)
    with pytest.raises(ValueError, match=r"others must be \(5, 3\) or \(3,\), not \(4, 3\)"):
        bits.bind(vectors, vectors[:4])
    with pytest.raises(ValueError, match=r"others must be \(3,\) or \(3,\), not \(1, 3\)"):
        bits.bind(one, vectors[:1])
    with pytest.raises(ValueError, match="k must not be negative, and is -1"):
        bits.nearest(vectors, one, -1)


def test_counters_that_cannot_be_counted_in_are_refused_and_left_alone() -> None:
    vectors, tie = random(10, 5, 3), random(11, 3)
    frozen = np.zeros(192, np.int32)
    frozen.setflags(write=False)
    for wrong in (np.zeros(192, np.int64), np.zeros(191, np.int32), np.zeros((3, 64), np.int32)):
        with pytest.raises(ValueError, match=r"counters must be int32 \(192,\), not"):
            bits.add_counts(vectors, wrong)
        with pytest.raises(ValueError, match=r"counters must be int32 \(192,\), not"):
            bits.majority(wrong, 5, tie)
    for wrong in (frozen, np.zeros(384, np.int32)[::2]):
        with pytest.raises(ValueError, match="counters must be C-contiguous and writeable"):
            bits.add_counts(vectors, wrong)
    full = np.full(192, 2**31 - 6, np.int32)
    for weight in (2, -2, 2**31, -(2**31), 2**80):
        with pytest.raises(ValueError, match="a counter would leave the range of 32 bits"):
            bits.add_counts(vectors, full, weight)
    assert np.all(full == 2**31 - 6)
    bits.add_counts(vectors, full)
    assert np.array_equal(full, 2**31 - 6 + oracle.bits_of(vectors).sum(axis=0))
    with pytest.raises(ValueError, match="a counter would leave the range of 32 bits"):
        bits.add_counts(vectors[:1], np.full(192, -(2**31), np.int32))
    for total in (-1, 2**31, 2**80):
        with pytest.raises(ValueError, match="the total must be from 0 to 2147483647, not"):
            bits.majority(np.zeros(192, np.int32), total, tie)


def test_the_empty_ones_are_empty() -> None:
    none = np.zeros((0, 2), np.uint64)
    one = random(12, 2)
    assert bits.distances(none, one).shape == (0,)
    assert [found.shape for found in bits.nearest(none, one, 5)] == [(0,), (0,)]
    assert bits.bind(none, one).shape == bits.rotate(none, 5).shape == (0, 2)


@pytest.mark.skipif(not bits.NATIVE, reason="the native extension is not built")
def test_no_count_is_lost_or_halved_natively_where_threads_share_the_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "NATIVE", True)
    vectors, counters = np.full((4_000, 160), 2**64 - 1, np.uint64), np.zeros(10_240, np.int32)

    def add(_: int) -> int:
        try:
            bits.add_counts(vectors, counters)
        except TypeError:
            return 0
        return 4_000

    with ThreadPoolExecutor(3) as pool:
        counted = sum(pool.map(add, range(60)))
    assert counted >= 4_000
    assert set(counters.tolist()) == {counted}
