"""Homes for benches: as large as asked for, the same for a seed, and found by their words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import mnemic
from mnemic.bench.harness.homes import SyntheticCorpus, fill_home, lexical_settings, quick_check, stored_texts
from tests.harness import BagEncoder


def test_a_seed_has_one_corpus() -> None:
    one, same, other = (SyntheticCorpus(seed) for seed in (1, 1, 2))
    texts = one.texts(50)
    assert texts == same.texts(50)
    assert texts != other.texts(50)
    questions = one.questions(texts, 20)
    assert questions == same.questions(texts, 20)
    assert all(any(set(question.split()) <= set(text.split()) for text in texts) for question in questions)


def test_vectors_have_unit_length() -> None:
    vectors = SyntheticCorpus(0).vectors(7, 16)
    assert vectors.shape == (7, 16)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_a_filled_home_holds_its_texts_and_is_found_by_words(tmp_path: Path) -> None:
    texts = fill_home(tmp_path, 90, seed=3, encoder=BagEncoder(), settings=lexical_settings(tmp_path))
    assert [text.decode() for text in stored_texts(tmp_path)] == texts
    assert quick_check(tmp_path) == "ok"
    with mnemic.open(tmp_path) as mind:
        counts = mind.counts()
        assert (counts.memories, counts.sessions) == (90, 3)
        (question,) = SyntheticCorpus(4).questions(texts[40:41], 1)
        assert texts[40] in [hit.text for hit in mind.recall(question, 10).hits]


def test_an_empty_home_can_be_made(tmp_path: Path) -> None:
    assert fill_home(tmp_path, 0, seed=0, encoder=None) == []
    assert stored_texts(tmp_path) == []
