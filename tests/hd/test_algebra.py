"""Every backend keeps the contract of an algebra, and the best one is chosen by itself."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from mnemic.hd import algebra as module
from mnemic.hd import packing
from mnemic.hd.algebra import BACKENDS, NATIVE, Algebra, PackedAlgebra, algebra_named, default_algebra
from mnemic.hd.packing import MAX_EMBEDDING_LENGTH
from tests.contract.algebra_contract import AlgebraContract
from tests.hd.drawing import random

NO_TORCH = "torch is not installed; install mnemic[torch] for this test"


class TestNumPy(AlgebraContract):
    name = "numpy"

    @pytest.fixture(scope="class")
    @classmethod
    def algebra(cls) -> Algebra:
        return algebra_named("numpy")


@pytest.mark.skipif(not NATIVE, reason="the native extension is not built")
class TestNative(AlgebraContract):
    name = "native"

    @pytest.fixture(scope="class")
    @classmethod
    def algebra(cls) -> Algebra:
        return algebra_named("native")


@pytest.mark.torch
class TestTorchOnTheCpu(AlgebraContract):
    name = "torch"

    @pytest.fixture(scope="class")
    @classmethod
    def algebra(cls) -> Algebra:
        pytest.importorskip("torchhd", reason=NO_TORCH)
        from mnemic.hd.torch_algebra import TorchAlgebra

        return TorchAlgebra("cpu")


@pytest.mark.torch
@pytest.mark.gpu
class TestTorchOnAGpu(AlgebraContract):
    @pytest.fixture(scope="class")
    @classmethod
    def algebra(cls) -> Algebra:
        pytest.importorskip("torchhd", reason=NO_TORCH)
        from mnemic.hd.torch_algebra import TorchAlgebra, find_device

        device = find_device()
        if device is None:
            pytest.skip("torch sees neither CUDA nor MPS here")
        cls.name = f"torch {device}"
        return TorchAlgebra(device)


def test_by_itself_it_is_rusts_where_that_was_built_and_else_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_algebra().name == algebra_named().name == ("native" if NATIVE else "numpy")
    monkeypatch.setattr(module, "NATIVE", False)
    assert default_algebra().name == "numpy"


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="there is no algebra named 'abacus'; there are native, numpy, torch"):
        algebra_named("abacus")
    assert BACKENDS == ("native", "numpy", "torch")


def test_what_is_not_built_or_installed_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NATIVE", False)
    with pytest.raises(ValueError, match="the native extension was not built: install Mnemic where a cargo is"):
        algebra_named("native")
    for absent in ("torch", "torchhd"):
        monkeypatch.setattr(module, "find_spec", lambda name, absent=absent: None if name == absent else object())
        with pytest.raises(ValueError, match=rf"{absent} is not installed: .* pip install 'mnemic\[torch\]'"):
            algebra_named("torch")


@pytest.mark.torch
def test_torch_is_there_by_its_name_where_it_is_installed_and_is_not_loaded_before() -> None:
    if "torch" not in sys.modules:
        algebra_named()
        assert "mnemic.hd.torch_algebra" not in sys.modules
    pytest.importorskip("torchhd", reason=NO_TORCH)
    assert algebra_named("torch").name.split()[0] == "torch"


def test_queries_that_are_cleaned_up_some_at_a_time_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    items, queries = random(1, 60, 2), random(2, 25, 2)
    expected = default_algebra().cleanup(items, queries, 7)
    for pairs in (1, 60, 250):
        monkeypatch.setattr(packing, "_MAX_PAIRS", pairs)
        assert all(
            np.array_equal(a, b) for a, b in zip(expected, default_algebra().cleanup(items, queries, 7), strict=True)
        )


def test_of_many_items_the_nearest_are_the_first_of_all_sorted() -> None:
    items, queries = random(3, 3000, 1), random(4, 3, 1)
    measured = default_algebra().distances(items, queries)
    order = np.argsort(measured, axis=0, kind="stable").T
    for k in (1, 2, 40, 2999, 3000):
        indices, distances = default_algebra().cleanup(items, queries, k)
        assert np.array_equal(indices, order[:, :k])
        assert np.array_equal(distances, np.take_along_axis(measured.T, order[:, :k], axis=1))


def test_more_groups_and_rows_than_are_taken_at_a_time_give_the_same_in_every_backend() -> None:
    vectors, groups = random(1, 5000, 2), 2500
    values = np.random.default_rng(2)
    offsets = np.concatenate([[0], np.sort(values.integers(0, 12_000, groups - 1)), [12_000]])
    rows, ties = values.integers(0, 5000, 12_000), random(3, groups, 2)
    embeddings = values.integers(-127, 128, (5000, 9)).astype(np.int8)
    planes = values.choice(np.array([-1, 1], np.int8), (128, 9))
    weights = values.integers(0, 300, 5000).astype(np.int32)

    def everything(algebra: Algebra) -> list[Any]:
        return [
            algebra.bind(vectors, vectors[::-1]),
            algebra.bind(vectors, ties[0]),
            algebra.permute(vectors, 77),
            algebra.bundle_groups(vectors, offsets, ties, rows),
            algebra.bind_groups(vectors, offsets, rows),
            algebra.bundle(vectors, ties[0]),
            algebra.bundle(vectors, ties[0], weights),
            algebra.distances(vectors, ties[:7]),
            *algebra.cleanup(vectors, ties[:7], 30),
            algebra.project(embeddings, planes, ties[0]),
        ]

    expected = everything(algebra_named("numpy"))
    others = [PackedAlgebra(True)] if NATIVE else []
    if module.find_spec("torchhd"):
        others.append(algebra_named("torch"))  # type: ignore[arg-type]
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(expected, everything(other), strict=True)), other.name


PACKED = [
    pytest.param(False, id="numpy"),
    pytest.param(True, id="native", marks=pytest.mark.skipif(not NATIVE, reason="the native extension is not built")),
]


@pytest.mark.parametrize("native", PACKED)
def test_the_longest_embeddings_are_projected_exactly(native: bool) -> None:
    algebra = PackedAlgebra(native)
    planes = np.ones((64, MAX_EMBEDDING_LENGTH), np.int8)
    planes[1:32, 1::2] = -1  # as many of either sign
    planes[32:] = -1
    embeddings = np.full((3, MAX_EMBEDDING_LENGTH), 127, np.int8)
    embeddings[1, 0] = 126
    embeddings[2, 1] = 126
    tie = np.array([0b1010], np.uint64)
    assert algebra.project(embeddings, planes, tie).tolist() == [[0b1011], [1], [2**32 - 1]]
    longer = np.ones((64, MAX_EMBEDDING_LENGTH + 1), np.int8)
    with pytest.raises(ValueError, match=f"than {MAX_EMBEDDING_LENGTH}, and are {MAX_EMBEDDING_LENGTH + 1} long"):
        algebra.project(embeddings, longer, tie)


@pytest.mark.parametrize("native", PACKED)
def test_only_the_backend_that_is_asked_for_does_it(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the other backend")

    if native:
        monkeypatch.setattr(np, "bitwise_count", refuse)
        monkeypatch.setattr(np, "packbits", refuse)
        monkeypatch.setattr(np, "unpackbits", refuse)
    elif NATIVE:
        monkeypatch.setattr(module, "_native", None)
    algebra, vectors, offsets = PackedAlgebra(native), random(1, 9, 2), np.array([0, 4, 9])
    assert algebra.distances(vectors, vectors[:2]).shape == (9, 2)
    assert algebra.similarity(vectors, vectors[0]).shape == (9,)
    assert algebra.bundle_groups(vectors, offsets, vectors[:2]).shape == (2, 2)
    assert algebra.bind_groups(vectors, offsets).shape == (2, 2)
    assert algebra.bundle(vectors, vectors[0]).shape == (2,)
    assert algebra.bundle(vectors, vectors[0], np.ones(9, np.int32)).shape == (2,)
    planes = np.ones((128, 3), np.int8)
    assert algebra.project(np.ones((2, 3), np.int8), planes, vectors[0]).shape == (2, 2)
