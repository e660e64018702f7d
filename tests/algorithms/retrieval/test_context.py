"""Words are met by themselves or by words near in meaning; a text counts with its neighbours as far as they belong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.context import (
    NEIGHBOUR_WEIGHT,
    WORD_FLOOR,
    best_matches,
    context_cosine,
    relatedness,
    word_similarities,
)


def unit(*rows: tuple[float, float]) -> np.ndarray:
    vectors = np.array(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_word_meets_itself_wholly_what_is_near_in_part_and_what_is_far_not_at_all() -> None:
    asked = unit((1, 0), (1, 0))
    words = unit((1, 0), (1, 1), (0, 1), (-1, 0))
    same = np.array([[True, False, False, False], [False, False, True, False]])
    similar = word_similarities(asked, words, same, np.array([False, True]))
    near = (np.sqrt(0.5) - WORD_FLOOR) / (1 - WORD_FLOOR)
    np.testing.assert_allclose(similar, [[1, near, 0, 0], [0, 0, 1, 0]], atol=1e-6)


texts = st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=6)


@given(texts, st.lists(st.lists(st.floats(0, 1), min_size=5, max_size=5), min_size=1, max_size=3))
def test_of_each_text_the_nearest_word_counts(drawn: list[list[int]], similarities: list[list[float]]) -> None:
    similar = np.array(similarities)
    words = np.array([word for one in drawn for word in one], np.int64)
    found = best_matches(similar, words, np.array([len(one) for one in drawn], np.int64))
    assert found.shape == (len(drawn), len(similarities))
    for row, words in zip(found, drawn, strict=True):
        assert row.tolist() == [max((one[word] for word in words), default=0.0) for one in similarities]


def test_neighbours_are_related_from_what_any_two_texts_share_to_halfway_to_equal() -> None:
    related = relatedness(np.array([np.nan, -1.0, 0.2, 0.4, 0.6, 1.0]), 0.2)
    np.testing.assert_allclose(related, [0, 0, 0, 0.5, 1, 1])
    assert relatedness(np.array([1.0]), 1.0).tolist() == [0.0]


@given(st.integers(0, 10**6))
def test_it_is_the_cosine_with_the_sum_of_the_vectors(seed: int) -> None:
    """Exactly, for one neighbour; a second one's likeness to the first is left out of the length."""
    rng = np.random.default_rng(seed)
    question, text, before = (one / np.linalg.norm(one) for one in rng.normal(size=(3, 8)))
    related = rng.random()
    mixed = text + NEIGHBOUR_WEIGHT * related * before
    expected = question @ mixed / np.linalg.norm(mixed)
    one = (np.array([question @ before]), np.array([text @ before]), np.array([related]))
    none = (np.array([7.0]), np.array([7.0]), np.array([0.0]))
    assert context_cosine(np.array([question @ text]), [one, none])[0] == pytest.approx(expected)


def test_without_neighbours_it_is_the_texts_own() -> None:
    nobody = (np.array([0.3, 0.9]), np.zeros(2), np.zeros(2))
    assert context_cosine(np.array([0.5, -0.2]), [nobody, nobody]).tolist() == [0.5, -0.2]
