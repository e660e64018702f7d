"""Hyperplanes are exact up to the longest embeddings, and each backend does what it is asked for; see test_algebra."""

from __future__ import annotations

import numpy as np
import pytest

from mnemic.hd import batches, bits
from mnemic.hd.batches import MAX_EMBEDDING_LENGTH, Hyperplanes
from tests.hd.drawing import random

BACKENDS = [
    pytest.param(False, id="numpy"),
    pytest.param(
        True, id="native", marks=pytest.mark.skipif(not bits.BUILT, reason="the native extension is not built")
    ),
]


@pytest.mark.parametrize("native", BACKENDS)
def test_the_longest_embeddings_are_projected_exactly(native: bool) -> None:
    normals = np.ones((64, MAX_EMBEDDING_LENGTH), np.int8)
    normals[1:32, 1::2] = -1  # as many of either sign
    normals[32:] = -1
    embeddings = np.full((3, MAX_EMBEDDING_LENGTH), 127, np.int8)
    embeddings[1, 0] = 126
    embeddings[2, 1] = 126
    tie = np.array([0b1010], np.uint64)
    sides = Hyperplanes(normals, native=native).project(embeddings, tie)
    assert sides.tolist() == [[0b1011], [1], [2**32 - 1]]
    with pytest.raises(
        ValueError, match=f"must not be longer than {MAX_EMBEDDING_LENGTH}, and are {MAX_EMBEDDING_LENGTH + 1} long"
    ):
        Hyperplanes(np.ones((64, MAX_EMBEDDING_LENGTH + 1), np.int8), native=native)


@pytest.mark.parametrize("native", BACKENDS)
def test_only_the_backend_that_is_asked_for_does_it(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the other backend")

    if native:
        monkeypatch.setattr(np, "bitwise_count", refuse)
        monkeypatch.setattr(np, "packbits", refuse)
        monkeypatch.setattr(np, "unpackbits", refuse)
    elif bits.BUILT:
        monkeypatch.setattr(batches, "_native", None)
        monkeypatch.setattr(bits, "_native", None)
    vectors, offsets = random(1, 9, 2), np.array([0, 4, 9])
    assert batches.distances(vectors, vectors[:2], native=native).shape == (9, 2)
    assert batches.bundle_groups(vectors, offsets, vectors[:2], native=native).shape == (2, 2)
    assert batches.bind_groups(vectors, offsets, native=native).shape == (2, 2)
    assert batches.bundle_weighted(vectors, vectors[0], np.ones(9, np.int32), native=native).shape == (2,)
    assert Hyperplanes(np.ones((128, 3), np.int8), native=native).project(
        np.ones((2, 3), np.int8), vectors[0]
    ).shape == (2, 2)
