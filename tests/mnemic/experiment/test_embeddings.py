"""What is embedded once is looked up by all arms, to the bit, in memory and from the run's file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemic.actors.kernel.errors import ModelMissing
from mnemic.actors.kernel.ports import Window
from mnemic.experiment import embeddings
from mnemic.experiment.embeddings import VectorCache
from mnemic.runtime.engine.settings import Settings
from tests.harness import BagEncoder
from tests.mnemic.experiment.made import life

SETTINGS = Settings().values()


class Counting(BagEncoder):
    """Notes how many windows it embeds; equal texts have equal tokens."""

    asked = 0

    def windows(self, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
        number = next((known for known, said in self._texts.items() if said == text), len(self._texts))
        self._texts[number] = text
        return [Window(0, len(text), (number,))], len(text)

    def encode(self, windows: Sequence[Window]) -> Any:
        self.asked += len(windows)
        return super().encode(windows)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr(embeddings, "encoder_from_settings", lambda settings: counting)
    return counting


def test_what_is_known_is_not_embedded_again_and_is_the_same(encoder: Counting) -> None:
    made = life({}, 1)
    cache = VectorCache()
    assert cache.fill(SETTINGS, made)
    once = encoder.asked
    assert once == len(made.events) + len(made.questions)
    assert not cache.fill(SETTINGS, made)
    again = VectorCache.from_bytes(cache.to_bytes()).encoder_of(SETTINGS)
    window = encoder.windows(made.questions[0].text, 1)[0]
    found = again.encode(window)
    assert encoder.asked == once
    assert np.array_equal(found, encoder.encode(window))
    assert again.encode(()).shape == (0, encoder.dimensions)


def test_what_is_not_known_is_embedded_and_remembered(encoder: Counting) -> None:
    cached = VectorCache().encoder_of(SETTINGS)
    window = encoder.windows("a new one", 1)[0]
    first, second = cached.encode(window * 2), cached.encode(window)
    assert encoder.asked == 1
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(cached.word_vectors(["new"]), encoder.word_vectors(["new"]))


def test_a_file_that_is_none_or_damaged_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    whole = VectorCache().to_bytes()
    for data in (None, b"", b"damaged", whole[: len(whole) // 2]):
        if data is not None:
            path.write_bytes(data)
        assert VectorCache.read(path).to_bytes() == VectorCache().to_bytes()


def test_without_a_model_nothing_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(settings: Any) -> Any:
        raise ModelMissing(path="/nowhere", why="it is not there")

    monkeypatch.setattr(embeddings, "encoder_from_settings", missing)
    assert not VectorCache().fill(SETTINGS, life({}, 1))
