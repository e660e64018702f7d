"""The contract of an algebra, run for every backend: `tests/hd/test_algebra.py` derives `AlgebraContract`.

The laws are those of binary spatter codes (Kanerva 1996, 2009); the oracles take every bit apart.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra
from mnemic.hd.packing import unpack
from tests import oracle
from tests.hd.drawing import NO_TORCHHD, SHIFTS, Words, hypervectors, random

# One law is run for several classes, which is what a contract is for.
laws = settings(max_examples=20, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow])

WORDS = 160


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Words, NDArray[np.int64], Words, NDArray[np.int64] | None]:
    """Hypervectors, offsets, a tie for each group, and maybe rows; groups of none, few, and more than 248 members."""
    (vectors,) = draw(hypervectors(most=30, others=0))
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 8, 9, 17, 249, 500]), max_size=6)) if len(vectors) else []
    rows = None
    if sizes and draw(st.booleans()):
        rows = np.random.default_rng(sum(sizes)).integers(0, len(vectors), sum(sizes))
    else:
        cut = sorted(draw(st.lists(st.integers(0, len(vectors)), max_size=4)))
        sizes = np.diff([0, *cut, len(vectors)]).tolist()
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    return vectors, offsets, random(len(sizes), len(sizes), vectors.shape[1]), rows


@st.composite
def projections(draw: st.DrawFn) -> tuple[NDArray[np.int8], NDArray[np.int8], Words]:
    """Embeddings, planes and a tie; of small numbers, so that many lie in planes, or of large ones, or of zeros."""
    number, width, words = draw(st.integers(0, 14)), draw(st.integers(1, 70)), draw(st.integers(1, 4))
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    largest = draw(st.sampled_from([0, 1, 3, 127]))
    embeddings = values.integers(-largest, largest + 1, (number, width)).astype(np.int8)
    planes = values.choice(np.array([-1, 1], np.int8), (64 * words, width))
    return embeddings, planes, values.integers(0, 2**64, words, np.uint64)


def share(members: int) -> float:
    """The expected share of bits that a bundle of so many has in common with each, a fair coin deciding ties."""
    others = members - 1
    return 0.5 + math.comb(others, others // 2) / 2**members


class AlgebraContract:
    """What holds for every backend."""

    name: ClassVar[str]

    @pytest.fixture(scope="class")
    @classmethod
    def algebra(cls) -> Algebra:
        raise NotImplementedError

    def test_it_says_which_it_is(self, algebra: Algebra) -> None:
        assert algebra.name == self.name

    @laws
    @given(problem=hypervectors(others=3))
    def test_binding_is_its_own_inverse_commutes_and_associates(
        self, algebra: Algebra, problem: tuple[Words, ...]
    ) -> None:
        vectors, a, b, c = problem
        assert np.array_equal(algebra.bind(algebra.bind(vectors, a), a), vectors)
        assert np.array_equal(algebra.bind(algebra.bind(a, b), c), algebra.bind(a, algebra.bind(b, c)))
        assert np.array_equal(algebra.bind(a, b), algebra.bind(b, a))
        assert np.array_equal(algebra.bind(vectors, vectors), np.zeros_like(vectors))
        assert np.array_equal(oracle.bits_of(algebra.bind(vectors, a)), oracle.bits_of(vectors) ^ oracle.bits_of(a))

    @laws
    @given(problem=hypervectors(others=2), shift=SHIFTS)
    def test_binding_and_permuting_distribute_over_bundles(
        self, algebra: Algebra, problem: tuple[Words, ...], shift: int
    ) -> None:
        vectors, tie, a = problem
        bundle = algebra.bundle(vectors, tie)
        assert np.array_equal(algebra.bind(bundle, a), algebra.bundle(algebra.bind(vectors, a), algebra.bind(tie, a)))
        permuted = algebra.bundle(algebra.permute(vectors, shift), algebra.permute(tie, shift))
        assert np.array_equal(algebra.permute(bundle, shift), permuted)

    @laws
    @given(problem=hypervectors(others=2), shift=SHIFTS, further=SHIFTS)
    def test_permutations_add_up_come_round_and_distribute_over_binding(
        self, algebra: Algebra, problem: tuple[Words, ...], shift: int, further: int
    ) -> None:
        vectors, a, b = problem
        size = 64 * len(a)
        permuted = algebra.permute(vectors, shift)
        assert np.array_equal(oracle.bits_of(permuted), np.roll(oracle.bits_of(vectors), shift % size, axis=-1))
        assert np.array_equal(algebra.permute(permuted, further), algebra.permute(vectors, shift + further))
        assert np.array_equal(algebra.permute(permuted, -shift), vectors)
        assert np.array_equal(algebra.permute(vectors), algebra.permute(vectors, 1 + size))
        both = algebra.bind(algebra.permute(a, shift), algebra.permute(b, shift))
        assert np.array_equal(algebra.permute(algebra.bind(a, b), shift), both)

    @laws
    @given(problem=hypervectors(others=2), shift=SHIFTS)
    def test_similarity_is_from_minus_1_to_1_and_survives_binding_and_permuting(
        self, algebra: Algebra, problem: tuple[Words, ...], shift: int
    ) -> None:
        vectors, a, b = problem
        similar = algebra.similarity(vectors, a)
        assert similar.dtype == np.float64
        differing = (oracle.bits_of(vectors) != oracle.bits_of(a)).mean(axis=1)
        assert np.allclose(similar, 1 - 2 * differing, rtol=0, atol=1e-12)
        assert np.array_equal(algebra.similarity(algebra.bind(vectors, b), algebra.bind(a, b)), similar)
        assert np.array_equal(algebra.similarity(algebra.permute(vectors, shift), algebra.permute(a, shift)), similar)
        assert algebra.similarity(np.stack([a, ~a, b]), a).tolist()[:2] == [1, -1]
        assert algebra.similarity(a[None], b) == algebra.similarity(b[None], a)

    @laws
    @given(problem=hypervectors(others=2), other_tie=st.integers(0, 2**32))
    def test_a_bundle_has_the_bits_that_most_have_in_any_order_and_equal_votes_are_the_ties(
        self, algebra: Algebra, problem: tuple[Words, ...], other_tie: int
    ) -> None:
        vectors, tie, one = problem
        bundle = algebra.bundle(vectors, tie)
        assert np.array_equal(oracle.bits_of(bundle), oracle.bundled(vectors, tie))
        assert np.array_equal(algebra.bundle(vectors[::-1], tie), bundle)
        assert np.array_equal(algebra.bundle(vectors.copy(), tie.copy()), bundle)
        assert np.array_equal(algebra.bundle(vectors[:0], tie), tie)
        assert np.array_equal(algebra.bundle(one[None], tie), one)
        assert np.array_equal(algebra.bundle(np.stack([one, ~one]), tie), tie)
        changed = bundle ^ algebra.bundle(vectors, random(other_tie, len(tie)))
        tied = 2 * oracle.bits_of(vectors).sum(axis=0) == len(vectors)
        assert not np.any(oracle.bits_of(changed) & ~tied)

    @laws
    @given(problem=hypervectors(), seed=st.integers(0, 2**32))
    def test_a_weight_counts_as_so_many_times_the_same(
        self, algebra: Algebra, problem: tuple[Words, ...], seed: int
    ) -> None:
        vectors, tie = problem
        weights = np.random.default_rng(seed).integers(0, 5, len(vectors)).astype(np.int32)
        repeated = algebra.bundle(np.repeat(vectors, weights, axis=0), tie)
        assert np.array_equal(algebra.bundle(vectors, tie, weights), repeated)
        assert np.array_equal(algebra.bundle(vectors, tie, 1000 * weights), repeated)
        assert np.array_equal(algebra.bundle(vectors, tie, np.zeros_like(weights)), tie)
        assert np.array_equal(algebra.bundle(vectors, tie, np.ones_like(weights)), algebra.bundle(vectors, tie))

    @laws
    @given(problem=grouped())
    def test_groups_are_bundled_and_bound_as_each_would_be_alone(
        self, algebra: Algebra, problem: tuple[Words, NDArray[np.int64], Words, NDArray[np.int64] | None]
    ) -> None:
        vectors, offsets, ties, rows = problem
        members = vectors if rows is None else vectors[rows]
        groups = [members[start:end] for start, end in pairwise(offsets)]
        bundled = algebra.bundle_groups(vectors, offsets, ties, rows)
        bound = algebra.bind_groups(vectors, offsets, rows)
        assert bundled.shape == bound.shape == ties.shape
        assert bundled.dtype == bound.dtype == np.uint64
        for number, group in enumerate(groups):
            assert np.array_equal(oracle.bits_of(bundled[number]), oracle.bundled(group, ties[number]))
            assert np.array_equal(oracle.bits_of(bound[number]), oracle.bound(group))

    @laws
    @given(problem=hypervectors(), queries=st.integers(0, 9), k=st.integers(0, 25))
    def test_cleanup_finds_the_nearest_items_and_of_equals_the_first(
        self, algebra: Algebra, problem: tuple[Words, ...], queries: int, k: int
    ) -> None:
        items, one = problem
        probes = np.concatenate([one[None], items[:3], random(queries, queries, len(one))])
        measured = algebra.distances(items, probes)
        assert measured.dtype == np.int32
        assert np.array_equal(measured, oracle.hamming_distances(items, probes))
        indices, distances = algebra.cleanup(items, probes, k)
        assert indices.shape == distances.shape == (len(probes), min(k, len(items)))
        assert (indices.dtype, distances.dtype) == (np.int64, np.int32)
        for probe, rows, apart in zip(probes, indices, distances, strict=True):
            assert list(zip(rows, apart, strict=True)) == oracle.nearest_by_hamming(items, probe, k)
        if k and len(items):
            assert np.array_equal(indices[:, 0], measured.argmin(axis=0))

    @laws
    @given(problem=projections())
    def test_a_projection_says_on_which_side_of_each_plane_an_embedding_lies_exactly(
        self, algebra: Algebra, problem: tuple[NDArray[np.int8], NDArray[np.int8], Words]
    ) -> None:
        embeddings, planes, tie = problem
        sides = algebra.project(embeddings, planes, tie)
        assert sides.shape == (len(embeddings), len(tie))
        assert np.array_equal(oracle.bits_of(sides), oracle.projected(embeddings, planes, tie))
        assert np.array_equal(algebra.project(-embeddings, planes, ~tie), ~sides)
        assert np.array_equal(algebra.project(embeddings, -planes, ~tie), ~sides)
        assert np.array_equal(algebra.project(embeddings[::-1], planes, tie), sides[::-1])
        zeros = algebra.project(np.zeros_like(embeddings), planes, tie)
        assert np.array_equal(zeros, np.broadcast_to(tie, zeros.shape))

    def test_near_embeddings_are_near_as_their_angle_says(self, algebra: Algebra) -> None:
        values = np.random.default_rng(1)
        planes = values.choice(np.array([-1, 1], np.int8), (64 * WORDS, 384))
        one = values.normal(size=384)
        across = values.normal(size=384)
        across -= one * (one @ across) / (one @ one)
        across *= np.linalg.norm(one) / np.linalg.norm(across)
        angles = np.linspace(0, np.pi, 13)
        turned = np.outer(np.cos(angles), one) + np.outer(np.sin(angles), across)
        whole = np.rint(turned * (127 / np.abs(turned).max())).astype(np.int8)
        sides = algebra.project(whole, planes, random(2, WORDS))
        similar = algebra.similarity(sides, sides[0])
        # One deviation is 1 / sqrt(10,240), 0.01 at most.
        assert np.all(np.abs(similar - (1 - 2 * angles / np.pi)) < 0.045)
        assert np.all(np.diff(similar) < 0)

    @pytest.mark.parametrize("members", [1, 2, 3, 8, 15, 30])
    def test_a_bundle_is_nearer_to_its_members_than_to_any_other_by_as_much_as_is_known(
        self, algebra: Algebra, members: int
    ) -> None:
        items, tie = random(members, 400, WORDS), random(99, WORDS)
        bundle = algebra.bundle(items[:members], tie)
        indices, distances = algebra.cleanup(items, bundle[None], 400)
        assert set(indices[0, :members].tolist()) == set(range(members))
        expected = share(members)
        shares = 1 - distances[0] / (64 * WORDS)
        deviation = math.sqrt(expected * (1 - expected) / (64 * WORDS))
        assert np.all(np.abs(shares[:members] - expected) <= 5 * deviation)
        assert np.all(np.abs(shares[members:] - 0.5) < 5 * 0.5 / math.sqrt(64 * WORDS))

    def test_a_sequence_is_read_by_permuting_back_and_another_order_is_another_sequence(self, algebra: Algebra) -> None:
        items, tie = random(3, 50, WORDS), random(4, WORDS)

        def sequence(*order: int) -> Words:
            return algebra.bundle(np.stack([algebra.permute(items[one], at) for at, one in enumerate(order)]), tie)

        forward = sequence(7, 8, 9)
        read = [algebra.cleanup(items, algebra.permute(forward, -at)[None], 1)[0][0, 0] for at in range(4)]
        assert read[:3] == [7, 8, 9]
        there, absent = algebra.cleanup(items, np.stack([forward, algebra.permute(forward, -5)]), 1)[1][:, 0]
        assert there < 0.3 * 64 * WORDS < 0.45 * 64 * WORDS < absent
        assert algebra.similarity(forward[None], sequence(9, 8, 7))[0] < 0.5
        assert abs(algebra.similarity(algebra.permute(items[:1]), items[0])[0]) < 0.05

    def test_a_record_answers_what_fills_a_role(self, algebra: Algebra) -> None:
        roles, fillers = random(5, 7, WORDS), random(6, 300, WORDS)
        record = algebra.bundle(algebra.bind(roles, fillers[40:47]), random(7, WORDS))
        asked = algebra.bind(roles, record)
        assert algebra.cleanup(fillers, asked, 1)[0][:, 0].tolist() == [*range(40, 47)]

    def test_arrays_that_are_strided_turned_unaligned_or_read_only_are_taken_and_left_as_they_are(
        self, algebra: Algebra
    ) -> None:
        wide = random(7, 20, 12)
        shifted = np.frombuffer(b"?" + wide.tobytes(), np.uint64, offset=1).reshape(wide.shape)
        wide.setflags(write=False)
        for vectors in (wide[::2, ::-2], np.asfortranarray(wide), shifted, wide):
            tidy = np.ascontiguousarray(vectors).copy()
            query, offsets = vectors[1], np.array([0, 0, 3, 3, 5, 5])[::2]
            offsets = np.array([0, 9, 3, 9, len(vectors), 9])[::2]
            rows = np.arange(2 * len(vectors))[::2] % len(vectors)
            for of, other in ((vectors, tidy), (vectors[::-1], tidy[::-1].copy())):
                assert np.array_equal(algebra.bind(of, query), other ^ tidy[1])
                assert np.array_equal(algebra.permute(of, 9), algebra.permute(other, 9))
                assert np.array_equal(algebra.bundle(of, query), algebra.bundle(other, tidy[1]))
                assert np.array_equal(algebra.distances(of, of[:3]), algebra.distances(other, other[:3]))
                straight = algebra.bundle_groups(other, offsets.copy(), tidy[:2], rows.copy())
                assert np.array_equal(algebra.bundle_groups(of, offsets, vectors[:2], rows), straight)
                assert np.array_equal(
                    algebra.bind_groups(of, offsets, rows), algebra.bind_groups(other, offsets.copy(), rows.copy())
                )
            assert np.array_equal(vectors, tidy)
        embeddings, planes = np.arange(24, dtype=np.int8).reshape(4, 6), np.ones((128, 3), np.int8)
        planes[::3] = -1
        sides = algebra.project(embeddings[:, ::2], planes, wide[0, :2])
        assert np.array_equal(sides, algebra.project(embeddings[:, ::2].copy(), np.asfortranarray(planes), wide[0, :2]))

    def test_other_planes_are_other_sides_and_the_first_are_theirs_again(self, algebra: Algebra) -> None:
        embeddings, tie = np.arange(-6, 6, dtype=np.int8).reshape(2, 6), random(1, 1)
        first, second = np.ones((64, 6), np.int8), -np.ones((64, 6), np.int8)
        assert np.array_equal(algebra.project(embeddings, first, tie), [[0], [2**64 - 1]])
        assert np.array_equal(algebra.project(embeddings, second, tie), [[2**64 - 1], [0]])
        assert np.array_equal(algebra.project(embeddings, first, tie), [[0], [2**64 - 1]])

    def test_other_types_and_shapes_are_refused_in_one_sentence(self, algebra: Algebra) -> None:
        vectors, one = random(8, 5, 3), random(9, 3)
        offsets, ties = np.array([0, 2, 5]), random(10, 2, 3)
        wrong: Any
        for wrong in (vectors.astype(np.int64), vectors.astype(">u8"), random(1, 5, 3, 3), random(1, 5, 0)):
            for call in (
                lambda wrong=wrong: algebra.bind(wrong, one),
                lambda wrong=wrong: algebra.bind(vectors, wrong),
                lambda wrong=wrong: algebra.permute(wrong),
                lambda wrong=wrong: algebra.bundle(wrong, one),
                lambda wrong=wrong: algebra.bundle_groups(wrong, offsets, ties),
                lambda wrong=wrong: algebra.bundle_groups(vectors, offsets, wrong),
                lambda wrong=wrong: algebra.bind_groups(wrong, offsets),
                lambda wrong=wrong: algebra.similarity(wrong, one),
                lambda wrong=wrong: algebra.distances(wrong, vectors),
                lambda wrong=wrong: algebra.distances(vectors, wrong),
                lambda wrong=wrong: algebra.cleanup(vectors, wrong, 1),
            ):
                with pytest.raises(ValueError, match=r"must be uint64 \(.*\), not .* \("):
                    call()
        with pytest.raises(ValueError, match=r"the query must be uint64 \(3,\), not uint64 \(4,\)"):
            algebra.similarity(vectors, random(1, 4))
        with pytest.raises(ValueError, match=r"tie must be uint64 \(3,\), not uint64 \(4,\)"):
            algebra.bundle(vectors, random(1, 4))
        with pytest.raises(ValueError, match=r"others must be \(5, 3\) or \(3,\), not \(4, 3\)"):
            algebra.bind(vectors, vectors[:4])
        with pytest.raises(ValueError, match="k must not be negative, and is -1"):
            algebra.cleanup(vectors, vectors, -1)

    def test_groups_that_are_none_are_refused(self, algebra: Algebra) -> None:
        vectors, ties = random(8, 5, 3), random(10, 2, 3)
        good = np.array([0, 2, 5])
        for offsets in ([0, 3, 4], [1, 2, 5], [0, 6, 5], [0, 2, 6], []):
            wrong = np.array(offsets, np.int64)
            with pytest.raises(ValueError, match="offsets must"):
                algebra.bundle_groups(vectors, wrong, ties)
            with pytest.raises(ValueError, match="offsets must"):
                algebra.bind_groups(vectors, wrong)
        for strange in (good.astype(np.int32), good[None]):
            with pytest.raises(ValueError, match=r"offsets must be int64 \(g \+ 1,\), not"):
                algebra.bind_groups(vectors, strange)
        for rows in ([0, 1, 2, 3, 5], [0, 1, 2, 3, -1]):
            with pytest.raises(ValueError, match="rows must be below 5, from 0 on, and one is not"):
                algebra.bundle_groups(vectors, good, ties, np.array(rows))
        with pytest.raises(ValueError, match=r"rows must be int64 \(m,\), not"):
            algebra.bind_groups(vectors, good, np.arange(5, dtype=np.int32))
        with pytest.raises(ValueError, match="there must be a tie for each of 2 groups, not 1"):
            algebra.bundle_groups(vectors, good, ties[:1])

    def test_weights_and_embeddings_that_are_none_are_refused(self, algebra: Algebra) -> None:
        vectors, tie = random(8, 3, 1), random(9, 1)
        for weights in (np.ones(3, np.int64), np.ones(2, np.int32), np.ones((3, 1), np.int32)):
            with pytest.raises(ValueError, match=r"weights must be int32 \(3,\), not"):
                algebra.bundle(vectors, tie, weights)
        with pytest.raises(ValueError, match="a weight must not be negative, and one is -2"):
            algebra.bundle(vectors, tie, np.array([1, -2, 1], np.int32))
        with pytest.raises(ValueError, match="the weights add up to 6442450941, beyond the range of 32 bits"):
            algebra.bundle(vectors, tie, np.full(3, 2**31 - 1, np.int32))
        embeddings, planes = np.ones((2, 5), np.int8), np.ones((64, 5), np.int8)
        for wrong in (planes[:63], planes[:0], planes[:, :0], planes.astype(np.int64), planes[0]):
            with pytest.raises(ValueError, match=r"planes must be int8 \(D, d\), D a multiple of 64, not"):
                algebra.project(embeddings, wrong, tie)
        for value in (0, 2, -128):
            with pytest.raises(ValueError, match="a plane has a value that is neither 1 nor -1"):
                algebra.project(embeddings, np.where(np.eye(64, 5) > 0, value, planes).astype(np.int8), tie)
        for other in (embeddings[:, :4], embeddings[0], embeddings.astype(np.int16)):
            with pytest.raises(ValueError, match=r"embeddings must be int8 \(n, 5\), not"):
                algebra.project(other, planes, tie)
        with pytest.raises(ValueError, match="the values of embeddings must be from -127 to 127, and one is -128"):
            algebra.project(np.full((1, 5), -128, np.int8), planes, tie)
        with pytest.raises(ValueError, match=r"tie must be uint64 \(1,\), not uint64 \(2,\)"):
            algebra.project(embeddings, planes, random(1, 2))

    @pytest.mark.torch
    @pytest.mark.parametrize("words", [1, 3, WORDS])
    def test_it_is_torchhd_wherever_that_does_not_draw(self, algebra: Algebra, words: int) -> None:
        torch = pytest.importorskip("torch", reason=NO_TORCHHD)
        torchhd: Any = pytest.importorskip("torchhd", reason=NO_TORCHHD)

        def tensor(vectors: Words) -> Any:
            return torch.from_numpy(unpack(vectors)).as_subclass(torchhd.BSCTensor)

        vectors, a, tie = random(4, 31, words), random(5, words), random(6, words)
        assert torch.equal(tensor(algebra.bind(vectors, a)), tensor(vectors).bind(tensor(a)))
        for shift in (0, 1, -1, 63, 64, 65, 64 * words - 1, 5000):
            assert torch.equal(tensor(algebra.permute(vectors, shift)), tensor(vectors).permute(shift))
        for number in (1, 3, 15, 31):
            group = np.array([0, number, 31])
            assert torch.equal(tensor(algebra.bundle(vectors[:number], tie)), tensor(vectors[:number]).multibundle())
            bundled = algebra.bundle_groups(vectors, group, np.stack([tie, tie]))
            assert torch.equal(tensor(bundled[0]), tensor(vectors[:number]).multibundle())
            bound = algebra.bind_groups(vectors, group)
            assert torch.equal(tensor(bound[0]), tensor(vectors[:number]).multibind())
        similar = torchhd.hamming_similarity(tensor(vectors[:3]), tensor(vectors))
        assert np.array_equal(64 * words - algebra.distances(vectors, vectors[:3]), similar.numpy().T)
        cosine = torchhd.cosine_similarity(tensor(a), tensor(vectors))
        assert np.allclose(algebra.similarity(vectors, a), cosine.numpy(), rtol=0, atol=1e-6)

    @pytest.mark.torch
    def test_where_votes_are_equal_torchhd_draws_a_bit_and_here_it_is_the_ties(self, algebra: Algebra) -> None:
        torch = pytest.importorskip("torch", reason=NO_TORCHHD)
        torchhd: Any = pytest.importorskip("torchhd", reason=NO_TORCHHD)
        vectors, tie = random(11, 6, WORDS), random(12, WORDS)
        theirs = torch.from_numpy(unpack(vectors)).as_subclass(torchhd.BSCTensor)
        drawn = [theirs.multibundle(generator=torch.Generator().manual_seed(seed)).numpy() for seed in (1, 2)]
        ours = unpack(algebra.bundle(vectors, tie))
        tied = unpack(vectors).sum(axis=0) == 3
        assert 0.25 < tied.mean() < 0.38  # 20 of 64
        assert all(np.array_equal(ours[~tied], one[~tied]) for one in drawn)
        assert not np.array_equal(drawn[0][tied], drawn[1][tied])
        assert np.array_equal(ours[tied], unpack(tie)[tied])
