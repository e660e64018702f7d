"""Projections of embeddings are as alike as the angle between them says, and the same on any machine."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import algebra_named, default_algebra
from mnemic.hd.encoders import Projection, RecordEncoder, canonical, quantise
from tests.hd.spaces import NOISE, similarity, space
from tests.paths import ROOT

MINILM = ROOT / "tests" / "golden" / "minilm.json"
ENCODERS = RecordEncoder(space(384))


def expected(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    cosine = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    return float(1 - 2 * np.arccos(np.clip(cosine, -1, 1)) / np.pi)


@given(st.integers(0, 2**32 - 1), st.floats(0, np.pi))
def test_similarity_is_1_less_twice_the_angle_by_pi(seed: int, angle: float) -> None:
    one, other = np.random.default_rng(seed).normal(size=(2, 384))
    one /= np.linalg.norm(one)
    other -= one * (one @ other)
    turned = np.cos(angle) * one + np.sin(angle) * other / np.linalg.norm(other)
    codes = ENCODERS.project_embeddings(np.stack([one, turned]).astype(np.float32))
    assert similarity(*codes) == pytest.approx(1 - 2 * angle / np.pi, abs=NOISE + 0.01)


def test_of_real_embeddings_too() -> None:
    texts = json.loads(MINILM.read_bytes())["texts"]
    raw = [base64.b64decode(window["vector"]) for text in texts for window in text["windows"]]
    embeddings = np.stack([np.frombuffer(one, "<f4") for one in raw])
    codes = ENCODERS.project_embeddings(embeddings)
    measured = [
        (similarity(codes[i], codes[j]), expected(embeddings[i], embeddings[j]))
        for i in range(len(codes))
        for j in range(i)
    ]
    assert len(measured) > 20
    assert np.ptp([law for _, law in measured]) > 0.3, "near ones and far ones are among them"
    assert max(abs(found - law) for found, law in measured) < NOISE + 0.01


@given(st.integers(0, 2**32 - 1), st.floats(1e-30, 1e30))
def test_how_long_an_embedding_is_makes_no_difference(seed: int, length: float) -> None:
    one = np.random.default_rng(seed).normal(size=(1, 384)).astype(np.float32)
    scaled = (one.astype(np.float64) * 2.0 ** int(np.log2(length))).astype(np.float32)
    assert np.array_equal(ENCODERS.project_embeddings(one), ENCODERS.project_embeddings(scaled))


@given(st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_each_embedding_is_projected_as_if_it_were_alone(seed: int, count: int) -> None:
    embeddings = np.random.default_rng(seed).normal(size=(count, 384)).astype(np.float32)
    codes = ENCODERS.project_embeddings(embeddings)
    assert codes.shape == (count, 160)
    for embedding, code in zip(embeddings, codes, strict=True):
        assert np.array_equal(ENCODERS.project_embeddings(embedding[None])[0], code)


@pytest.mark.parametrize("width", [1, 2, 5, 383, 1024])
def test_bits_are_the_sides_of_the_planes_whatever_the_length_of_embeddings(width: int) -> None:
    projection = Projection(space(width))
    embeddings = np.random.default_rng(0).normal(size=(3, width)).astype(np.float32)
    sums = quantise(embeddings).astype(np.int64) @ projection.planes.T.astype(np.int64)
    tie = np.unpackbits(projection.tie.view(np.uint8), bitorder="little")
    sides = np.where(sums == 0, tie, sums > 0).astype(np.uint8)
    assert np.array_equal(
        projection.project(embeddings, default_algebra()), np.packbits(sides, axis=1, bitorder="little").view("<u8")
    )


def test_planes_have_as_many_of_either_sign() -> None:
    planes = Projection(space(384)).planes
    assert set(np.unique(planes)) == {-1, 1}
    assert abs(planes.mean()) < 5 / np.sqrt(planes.size)


def test_an_embedding_of_zeros_is_the_tie_and_like_no_other() -> None:
    zeros, other = ENCODERS.project_embeddings(np.stack([np.zeros(384), np.ones(384)]).astype(np.float32))
    assert np.array_equal(zeros, Projection(space(384)).tie)
    assert abs(similarity(zeros, other)) < NOISE


def test_every_algebra_projects_to_the_same_bits() -> None:
    embeddings = np.random.default_rng(1).normal(size=(20, 384)).astype(np.float32)
    projection = Projection(space(384))
    assert np.array_equal(
        projection.project(embeddings, algebra_named("numpy")), projection.project(embeddings, default_algebra())
    )


@given(st.integers(0, 2**32 - 1))
def test_rounding_turns_an_embedding_by_less_than_a_degree(seed: int) -> None:
    one = np.random.default_rng(seed).normal(size=(1, 384)).astype(np.float32)
    rounded = quantise(one)
    assert np.abs(rounded).max() == 127
    cosine = float(one[0] @ rounded[0]) / float(np.linalg.norm(one) * np.linalg.norm(rounded.astype(np.float32)))
    assert np.degrees(np.arccos(min(1.0, cosine))) < 1


def test_embeddings_that_cannot_be_projected_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be \(n, 384\), not \(1, 3\)"):
        ENCODERS.project_embeddings(np.zeros((1, 3), np.float32))
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            ENCODERS.project_embeddings(np.full((1, 384), wrong, np.float32))
    with pytest.raises(ValueError, match="has no model"):
        RecordEncoder(space()).project_embeddings(np.zeros((1, 384), np.float32))


def test_a_text_to_be_embedded_stays_as_it_is_and_has_no_hypervector_of_its_own() -> None:
    assert canonical("about", " Token Rotation ") == "Token Rotation"
    with pytest.raises(ValueError, match="a text is expected"):
        canonical("about", " ")
    with pytest.raises(ValueError, match="embed the text"):
        ENCODERS.encode_fillers("about", ["token rotation"])
