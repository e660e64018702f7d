"""The contract of an encoder, run for every implementation: `tests/runtime/models/test_encoders.py` derives
`EncoderContract`.

The reference is NumPy's float32, which is held to torch and to sentence-transformers elsewhere. Tolerances are cosines
on real texts: those of the example's transcripts, and those of the golden file.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from mnemic.actors.kernel.errors import ModelMissing, ModelUnusable
from mnemic.actors.kernel.events import Event, to_text
from mnemic.actors.kernel.ports import IMPLEMENTATIONS, Encoder, Window
from mnemic.algorithms.text.bert import BertConfig
from mnemic.hooks.read.formats import open_transcript
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import DEFAULT_SHA256, WINDOW_TOKENS
from tests.modelling import VOCABULARY, draw, write_model
from tests.paths import ROOT
from tests.processes.faces import EXAMPLE

GOLDEN: dict[str, Any] = json.loads((ROOT / "tests" / "golden" / "minilm.json").read_bytes())

Vectors = NDArray[np.float32]

SHAPES = {
    "like MiniLM": BertConfig(vocabulary=200, hidden=384, layers=6, heads=12, intermediate=1536, positions=512),
    "like bge-small": BertConfig(
        vocabulary=200, hidden=384, layers=12, heads=12, intermediate=1536, positions=512, pooling="cls"
    ),
    "like e5-small and gte-small": BertConfig(
        vocabulary=200, hidden=384, layers=12, heads=12, intermediate=1536, positions=512
    ),
    "of odd sizes": BertConfig(vocabulary=23, hidden=24, layers=3, heads=3, intermediate=41, positions=77),
    "with relu": BertConfig(
        vocabulary=50, hidden=30, layers=2, heads=2, intermediate=64, positions=40, activation="relu"
    ),
    "of the smallest": BertConfig(vocabulary=len(VOCABULARY), hidden=2, layers=1, heads=1, intermediate=1, positions=8),
}


@cache
def reference(folder: Path | None = None) -> Encoder:
    return load_encoder(folder, "numpy-float32")


@cache
def example_windows() -> list[Window]:
    """The first window of every fourth text in the example's transcripts."""
    texts = []
    for path in sorted(EXAMPLE.rglob("*.jsonl")):
        source = open_transcript(str(path), "auto")
        texts += [to_text(item.text) for item in source if isinstance(item, Event)]
        source.close()
    return [reference().windows(text, 1)[0][0] for text in texts[::4]]


@cache
def expected() -> Vectors:
    return reference().encode(example_windows())


@cache
def drawn_model(root: Path, name: str) -> Path:
    """The folder of a model of one of `SHAPES`, its weights drawn as narrowly as those of a model before training."""
    return write_model(root / name, SHAPES[name], draw(SHAPES[name], spread=0.05))


def cosines(one: Vectors, other: Vectors) -> NDArray[np.float64]:
    a, b = one.astype(np.float64), other.astype(np.float64)
    products: NDArray[np.float64] = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return products


def window(*token_ids: int) -> Window:
    return Window(0, 0, token_ids)


def random_windows(seed: int, sizes: Sequence[int], vocabulary: int) -> list[Window]:
    rng = np.random.default_rng(seed)
    return [window(*rng.integers(0, vocabulary, size).tolist()) for size in sizes]


def assert_unit(vectors: Vectors) -> None:
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1, atol=1e-6)


class EncoderContract:
    """What every implementation keeps. `agreement` is the least cosine with the reference on a real text."""

    implementation: ClassVar[str]
    agreement: ClassVar[float] = 0.99999
    exact: ClassVar[bool] = True
    """Whether a window has the same bits in any company; else the same within 1e-5 or half precision."""

    @classmethod
    def load(cls, folder: Path | None = None, threads: int = 0) -> Encoder:
        return load_encoder(folder, cls.implementation, threads)

    @pytest.fixture(scope="class")
    @classmethod
    def encoder(cls) -> Encoder:
        return cls.load()

    @pytest.fixture
    def root(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.getbasetemp() / "drawn-models"

    def assert_same(self, one: Vectors, other: Vectors) -> None:
        if self.exact:
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(one, other, atol=1e-5 if self.implementation == "torch-float32" else 5e-3)

    # --- what it says ------------------------------------------------------------------------------------------------

    def test_it_says_what_it_is(self, encoder: Encoder) -> None:
        assert encoder.implementation == self.implementation
        assert encoder.implementation in IMPLEMENTATIONS
        assert encoder.model == DEFAULT_SHA256
        assert encoder.dimensions == 384
        assert encoder.batch_tokens >= 1

    # --- agreement ---------------------------------------------------------------------------------------------------

    def test_real_texts_point_where_the_reference_points(self, encoder: Encoder) -> None:
        some = example_windows()[::4]
        found = encoder.encode(some)
        assert found.shape == (len(some), 384)
        assert_unit(found)
        assert cosines(found, expected()[::4]).min() >= self.agreement

    def test_every_golden_window_points_where_sentence_transformers_points(self, encoder: Encoder) -> None:
        for golden in GOLDEN["texts"]:
            windows, _ = encoder.windows(golden["text"], GOLDEN["limit"])
            spans = [(one["start"], one["end"]) for one in golden["windows"]]
            assert [(one.start, one.end) for one in windows] == spans
            judged = [np.frombuffer(base64.b64decode(one["vector"]), "<f4") for one in golden["windows"]]
            assert cosines(encoder.encode(windows), np.stack(judged)).min() >= min(self.agreement, 0.9999)

    def test_what_means_the_same_is_nearer_than_what_shares_words(self, encoder: Encoder) -> None:
        texts = ("Where does Marta live?", "Her home is in Lisbon.", "Where is the key?")
        question, near, far = encoder.encode([encoder.windows(text, 1)[0][0] for text in texts])
        assert question @ near > question @ far

    @pytest.mark.parametrize("shape", SHAPES)
    def test_a_model_of_any_shape_agrees(self, shape: str, root: Path) -> None:
        config = SHAPES[shape]
        folder = drawn_model(root, shape)
        encoder = self.load(folder)
        sizes = [size for size in (1, 2, 3, 7, 16, 17, 40, 100) if size <= config.positions]
        windows = random_windows(5, sizes, config.vocabulary)
        found = encoder.encode(windows)
        assert_unit(found)
        assert cosines(found, reference(folder).encode(windows)).min() >= self.agreement
        assert encoder.dimensions == config.hidden

    # --- company -----------------------------------------------------------------------------------------------------

    def test_a_window_has_the_same_vector_whatever_is_embedded_beside_it(self, encoder: Encoder) -> None:
        windows = random_windows(1, (1, 2, 17, 31, 64, 100, 127, 128, 2, 512), 30522)
        alone = np.concatenate([encoder.encode([one]) for one in windows])
        self.assert_same(encoder.encode(windows), alone)
        shorter, their_own = windows[:-1], alone[:-1]
        self.assert_same(encoder.encode(shorter[::-1]), their_own[::-1])
        self.assert_same(encoder.encode([*shorter, *shorter]), np.concatenate([their_own, their_own]))
        for first in (0, 3, 7):
            self.assert_same(encoder.encode(windows[first : first + 2]), alone[first : first + 2])

    def test_two_that_were_loaded_alike_give_the_same_bits_however_many_threads_they_have(self) -> None:
        windows = random_windows(2, (128,) * 3 + (9,) * 8, 30522)
        vectors = [self.load(threads=threads).encode(windows).tobytes() for threads in (1, 3)]
        assert vectors[0] == vectors[1]

    def test_any_thread_may_embed_and_nothing_leaks_across(self, encoder: Encoder) -> None:
        windows = random_windows(3, (5, 60, 12, 33), 30522)
        alone = [encoder.encode([one]).tobytes() for one in windows]
        with ThreadPoolExecutor(4) as pool:
            together = pool.map(lambda one: encoder.encode([one]).tobytes(), windows * 3)
            assert list(together) == alone * 3

    def test_no_windows_give_no_vectors(self, encoder: Encoder) -> None:
        found = encoder.encode([])
        assert (found.shape, found.dtype) == ((0, 384), np.float32)

    # --- odd texts ---------------------------------------------------------------------------------------------------

    # Each implementation's suite runs it; there is no state in them that could differ.
    @settings(max_examples=12, suppress_health_check=[HealthCheck.differing_executors])
    @given(st.text(st.characters(exclude_categories=()), max_size=80))
    def test_any_text_is_covered_and_embedded(self, encoder: Encoder, text: str) -> None:
        windows, covered = encoder.windows(text, 9)
        assert covered == len(text)
        assert encoder.windows(text, 9) == (windows, covered)
        assert all((one.token_ids[0], one.token_ids[-1]) == (101, 102) for one in windows)
        assert_unit(encoder.encode(windows))

    @pytest.mark.parametrize("text", ["", "  \n\t", "\x00", "\ud800", "\x00\udfff \x07"])
    def test_what_holds_no_word_is_embedded_as_the_empty_text(self, encoder: Encoder, text: str) -> None:
        windows, covered = encoder.windows(text, 3)
        assert windows == [Window(0, len(text), (101, 102))]
        assert covered == len(text)
        assert_unit(encoder.encode(windows))

    def test_surrogates_and_nul_leave_the_words_and_the_offsets_alone(self, encoder: Encoder) -> None:
        odd, plain = "the \ud83dkettle\x00 is on", "the  kettle  is on"
        assert encoder.windows(odd, 1)[0][0].token_ids == encoder.windows(plain, 1)[0][0].token_ids
        assert encoder.windows(odd, 1)[1] == len(odd)

    def test_unknown_words_make_a_vector_of_unit_length(self, encoder: Encoder) -> None:
        windows, covered = encoder.windows("\U000130b8 " * 60, 4)
        assert covered == 120
        assert set(windows[0].token_ids) == {100, 101, 102}
        assert_unit(encoder.encode(windows))

    def test_a_hundred_thousand_tokens_give_the_windows_asked_for(self, encoder: Encoder) -> None:
        text = "The harbour library closes at six on weekdays. " * 10_000
        windows, covered = encoder.windows(text, 5)
        assert len(windows) == 5
        assert covered == windows[-1].end < 5 * 128 * 16
        assert all(len(one.token_ids) <= WINDOW_TOKENS for one in windows)
        for before, after in pairwise(windows):
            assert before.start < after.start <= before.end < after.end
        assert encoder.windows(text[: covered + 500], 5) == (windows, covered)
        assert_unit(encoder.encode(windows))

    # --- words by themselves -----------------------------------------------------------------------------------------

    def test_words_of_one_family_are_nearer_than_others(self, encoder: Encoder) -> None:
        vectors = encoder.word_vectors(["sing", "singing", "choir", "parser"])
        assert vectors.dtype == np.float32
        assert vectors.shape == (4, encoder.dimensions)
        assert_unit(vectors[:3])  # the last is made of two pieces
        alike = vectors @ vectors.T
        assert alike[0, 1] > alike[0, 2] > 0.3 > alike[0, 3]
        np.testing.assert_array_equal(vectors, reference().word_vectors(["sing", "singing", "choir", "parser"]))

    def test_the_vector_of_a_word_is_the_shorter_the_more_pieces_it_is_cut_in(self, encoder: Encoder) -> None:
        words = ["eyes", "eyesight", "asdfghj", "qwertyuiopasdfghjkl"]
        pieces = [len(encoder.windows(word, 1)[0][0].token_ids) - 2 for word in words]
        assert pieces[:2] == [1, 2]
        assert pieces[3] > pieces[2] > 2
        lengths = np.linalg.norm(encoder.word_vectors(words), axis=1)
        np.testing.assert_allclose(lengths, np.array(pieces) ** -0.25, rtol=1e-5)

    def test_a_word_has_one_vector_in_any_company_and_none_where_it_has_no_token(self, encoder: Encoder) -> None:
        words = ["harbour", "", " ", "\0", "\udc80", "harbour-masters'", "\U000130b8", "harbour"]
        vectors = encoder.word_vectors(words)
        for word, vector in zip(words, vectors, strict=True):
            np.testing.assert_array_equal(encoder.word_vectors([word])[0], vector)
        lengths = np.linalg.norm(vectors, axis=1)
        assert lengths[1] == lengths[2] == lengths[6] == 0  # of a sign that it does not know, none either
        np.testing.assert_allclose(lengths[[0, 7]], 1, atol=1e-5)
        assert 0 < lengths[5] < 1
        assert np.isfinite(vectors).all()
        assert encoder.word_vectors([]).shape == (0, encoder.dimensions)

    # --- what is no window, what is no model -------------------------------------------------------------------------

    @pytest.mark.parametrize("ids", [[], [1] * 513, [30522], [-1], [3, 2**40], [2**63], [-(2**70)], [1] * 100_000])
    @pytest.mark.parametrize("company", [0, 3])
    def test_what_is_no_window_is_a_value_error_and_the_next_one_is_embedded(
        self, encoder: Encoder, ids: list[int], company: int
    ) -> None:
        good = window(101, 2000, 102)
        with pytest.raises(ValueError, match=r"window of|outside the vocabulary|whole number"):
            encoder.encode([good] * company + [window(*ids)] + [good] * company)
        assert_unit(encoder.encode([good]))

    def test_a_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        folder = write_model(tmp_path / "model")
        (folder / "model.safetensors").unlink()
        with pytest.raises(ModelMissing, match=r"model\.safetensors: there is no such file"):
            self.load(folder)

    def test_weights_cut_short_are_one_sentence(self, tmp_path: Path) -> None:
        weights = write_model(tmp_path / "model") / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
        with pytest.raises(ModelUnusable, match="cut short or no safetensors file"):
            self.load(weights.parent)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_weight_that_is_not_finite_is_one_sentence(self, tmp_path: Path, value: float) -> None:
        weights = write_model(tmp_path / "model") / "model.safetensors"
        tensors = load_file(weights)
        tensors["encoder.layer.0.output.dense.weight"][0, 0] = value
        save_file(tensors, weights)
        with pytest.raises(ModelUnusable, match="holds a value that is not finite"):
            self.load(weights.parent)

    def test_a_tensor_of_another_shape_is_one_sentence(self, tmp_path: Path) -> None:
        weights = write_model(tmp_path / "model") / "model.safetensors"
        tensors = load_file(weights)
        name = "encoder.layer.0.intermediate.dense.weight"
        save_file(tensors | {name: np.ascontiguousarray(tensors[name].T)}, weights)
        with pytest.raises(ModelUnusable, match=f"{name} has the shape"):
            self.load(weights.parent)
