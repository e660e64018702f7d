"""The encoder's arithmetic, against erf, against torch, and against itself under other company."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file

from mnemic.algorithms.text.bert import ACTIVATIONS, POOLINGS, Bert, BertConfig, expected_shapes, gelu, relu
from mnemic.runtime.models.models import default_model_folder

SMALL = BertConfig(vocabulary=50, hidden=12, layers=2, heads=3, intermediate=20, positions=9)
MINILM = BertConfig(vocabulary=30522, hidden=384, layers=6, heads=12, intermediate=1536, positions=512)

Tensors = dict[str, NDArray[np.floating]]


def random_tensors(config: BertConfig, seed: int = 0) -> Tensors:
    rng = np.random.default_rng(seed)
    return {
        name: (rng.normal(1.0 if name.endswith("LayerNorm.weight") else 0.0, 0.4, shape)).astype(np.float32)
        for name, shape in expected_shapes(config).items()
    }


@st.composite
def configs(draw: st.DrawFn) -> BertConfig:
    heads = draw(st.integers(1, 4))
    return BertConfig(
        vocabulary=draw(st.integers(1, 40)),
        hidden=heads * draw(st.integers(2, 8)),
        layers=draw(st.integers(1, 3)),
        heads=heads,
        intermediate=draw(st.integers(1, 33)),
        positions=draw(st.integers(1, 20)),
        epsilon=draw(st.sampled_from([1e-12, 1e-5])),
        activation=draw(st.sampled_from(sorted(ACTIVATIONS))),
        pooling=draw(st.sampled_from(POOLINGS)),
    )


def exact_gelu(x: float) -> float:
    return 0.5 * x * math.erfc(-x / math.sqrt(2))


class TestGelu:
    def test_it_stays_within_a_millionth_of_erf(self) -> None:
        x = np.linspace(-12, 12, 240_001).astype(np.float32)
        expected = np.array([exact_gelu(value) for value in x.tolist()])
        gelu(x)
        assert np.abs(x - expected).max() < 1e-6

    @given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=20))
    def test_any_finite_value_is_answered_without_a_warning(self, values: list[float]) -> None:
        x = np.array(values, np.float32)
        gelu(x)
        expected = np.array([exact_gelu(value) for value in values])
        np.testing.assert_allclose(x, expected, rtol=2e-7, atol=1e-6)

    def test_a_value_does_not_depend_on_where_it_stands(self) -> None:
        row = np.linspace(-6, 6, 997).astype(np.float32)
        alone, among = row.copy(), np.tile(row, (70, 1))
        gelu(alone)
        gelu(among)
        np.testing.assert_array_equal(among, np.tile(alone, (70, 1)))

    def test_relu_keeps_what_is_above_zero(self) -> None:
        x = np.array([-2.0, -0.0, 0.0, 3.0], np.float32)
        relu(x)
        np.testing.assert_array_equal(x, np.array([0, 0, 0, 3], np.float32))


class TestConfig:
    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"heads": 5}, "5 attention heads do not divide a hidden size of 12"),
            ({"heads": 0}, "heads is 0"),
            ({"layers": 0}, "layers is 0"),
            ({"layers": 1001}, "layers is 1001, and at most 1000"),
            ({"vocabulary": -1}, "vocabulary is -1"),
            ({"activation": "silu"}, "'silu' is not one of gelu, relu"),
            ({"pooling": "max"}, "'max' is not one of mean, cls"),
        ],
    )
    def test_an_impossible_shape_is_refused(self, change: dict[str, int | str], complaint: str) -> None:
        with pytest.raises(ValueError, match=complaint):
            replace(SMALL, **change)  # type: ignore[arg-type]


class TestWeights:
    @pytest.mark.parametrize("name", sorted(expected_shapes(SMALL)))
    def test_a_tensor_that_is_absent_is_named(self, name: str) -> None:
        tensors = random_tensors(SMALL)
        del tensors[name]
        with pytest.raises(ValueError, match=f"{name} is absent"):
            Bert(SMALL, tensors)

    @pytest.mark.parametrize("name", sorted(expected_shapes(SMALL)))
    def test_a_tensor_of_another_shape_is_named(self, name: str) -> None:
        tensors = random_tensors(SMALL)
        tensors[name] = tensors[name][..., :-1]
        with pytest.raises(ValueError, match=f"{name} has the shape"):
            Bert(SMALL, tensors)

    def test_tensors_it_does_not_know_change_nothing(self) -> None:
        tensors = random_tensors(SMALL)
        more: Tensors = {**tensors, "pooler.dense.weight": np.ones((12, 12), np.float32)}
        np.testing.assert_array_equal(Bert(SMALL, more).encode([1, 2]), Bert(SMALL, tensors).encode([1, 2]))

    def test_the_arrays_handed_in_are_left_as_they_were(self) -> None:
        tensors = random_tensors(SMALL)
        before = {name: array.copy() for name, array in tensors.items()}
        Bert(SMALL, tensors).encode([1, 2, 3])
        for name, array in tensors.items():
            np.testing.assert_array_equal(array, before[name])


class TestEncode:
    @given(st.lists(st.integers(0, SMALL.vocabulary - 1), min_size=1, max_size=SMALL.positions))
    def test_a_vector_is_of_unit_length(self, ids: list[int]) -> None:
        vector = Bert(SMALL, random_tensors(SMALL)).encode(ids)
        assert vector.shape == (SMALL.hidden,)
        assert vector.dtype == np.float32
        assert abs(float(vector.astype(np.float64) @ vector.astype(np.float64)) - 1) < 1e-6

    @pytest.mark.parametrize("ids", [[], [1] * 10, [50], [-1], [3, 2**40]])
    def test_what_is_no_window_is_refused(self, ids: list[int]) -> None:
        with pytest.raises(ValueError, match=r"window of|outside the vocabulary"):
            Bert(SMALL, random_tensors(SMALL)).encode(ids)

    def test_a_window_has_the_same_bits_whatever_is_encoded_beside_it(self) -> None:
        config = replace(MINILM, vocabulary=1000, layers=2)
        bert = Bert(config, random_tensors(config))
        rng = np.random.default_rng(1)
        windows = [rng.integers(0, 1000, size).tolist() for size in (1, 2, 17, 31, 64, 100, 127, 128)]
        alone = [bert.encode(window).tobytes() for window in windows]
        assert [bert.encode(window).tobytes() for window in reversed(windows)] == alone[::-1]
        with ThreadPoolExecutor(4) as pool:
            assert [vector.tobytes() for vector in pool.map(bert.encode, windows * 3)] == alone * 3

    def test_a_model_of_zeros_has_no_direction_and_raises_no_warning(self) -> None:
        tensors: Tensors = {name: np.zeros(shape, np.float32) for name, shape in expected_shapes(SMALL).items()}
        np.testing.assert_array_equal(Bert(SMALL, tensors).encode([1, 2]), np.zeros(SMALL.hidden, np.float32))

    def test_scores_of_any_size_do_not_overflow_the_softmax(self) -> None:
        tensors = random_tensors(SMALL)
        for name in tensors:
            if "self.query.weight" in name or "self.key.weight" in name:
                tensors[name] = tensors[name] * np.float32(1e4)
        assert np.isfinite(Bert(SMALL, tensors).encode([1, 2, 3])).all()


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    module: ModuleType = pytest.importorskip("torch", reason="torch is the oracle; install mnemic[torch] for this test")
    return module


def torch_encode(torch: ModuleType, config: BertConfig, tensors: Tensors, ids: list[int]) -> NDArray[np.float32]:
    """The same model, out of torch's own encoder layers."""
    weights = {name: torch.from_numpy(np.asarray(array, np.float32)) for name, array in tensors.items()}
    functional = torch.nn.functional
    with torch.no_grad():
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
        gain, bias = (weights[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias"))
        x = functional.layer_norm(x, (config.hidden,), gain, bias, config.epsilon)[None]
        for index in range(config.layers):
            prefix = f"encoder.layer.{index}."
            layer = torch.nn.TransformerEncoderLayer(
                config.hidden,
                config.heads,
                config.intermediate,
                dropout=0.0,
                activation=config.activation,
                layer_norm_eps=config.epsilon,
                batch_first=True,
                norm_first=False,
            )
            parts = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
            state = {
                "self_attn.in_proj_weight": torch.cat([weights[f"{part}.weight"] for part in parts]),
                "self_attn.in_proj_bias": torch.cat([weights[f"{part}.bias"] for part in parts]),
            }
            for theirs, ours in (
                ("self_attn.out_proj", "attention.output.dense"),
                ("linear1", "intermediate.dense"),
                ("linear2", "output.dense"),
                ("norm1", "attention.output.LayerNorm"),
                ("norm2", "output.LayerNorm"),
            ):
                for part in ("weight", "bias"):
                    state[f"{theirs}.{part}"] = weights[f"{prefix}{ours}.{part}"]
            layer.load_state_dict(state)
            x = layer.eval()(x)
        pooled = x[0, 0] if config.pooling == "cls" else x[0].mean(0)
        vector: NDArray[np.float32] = functional.normalize(pooled, dim=0).numpy()
    return vector


@pytest.mark.torch
class TestAgainstTorch:
    @settings(max_examples=60)
    @given(config=configs(), seed=st.integers(0, 2**32 - 1), data=st.data())
    def test_any_small_model_agrees(
        self, torch: ModuleType, config: BertConfig, seed: int, data: st.DataObject
    ) -> None:
        ids = data.draw(st.lists(st.integers(0, config.vocabulary - 1), min_size=1, max_size=config.positions))
        tensors = random_tensors(config, seed)
        expected = torch_encode(torch, config, tensors, ids)
        np.testing.assert_allclose(Bert(config, tensors).encode(ids), expected, atol=1e-4)

    @pytest.mark.parametrize("pooling", POOLINGS)
    def test_the_default_model_agrees(self, torch: ModuleType, pooling: str) -> None:
        config = replace(MINILM, pooling=pooling)
        tensors: Tensors = load_file(default_model_folder() / "model.safetensors")
        bert = Bert(config, tensors)
        rng = np.random.default_rng(3)
        for size in (1, 2, 17, 128, 512):
            ids = rng.integers(0, config.vocabulary, size).tolist()
            np.testing.assert_allclose(bert.encode(ids), torch_encode(torch, config, tensors, ids), atol=1e-5)
