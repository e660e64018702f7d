"""A cross-encoder reads a question and a text together, and whoever computes it says the same as the formula."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from mnemic.actors.kernel.errors import InvalidValue, RerankerUnusable
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.bert import BertConfig
from mnemic.runtime.models.cross_encoders import cross_encoder_from_settings, load_cross_encoder
from tests.modelling import SMALL, VOCABULARY, write_cross_encoder

WIDE = BertConfig(vocabulary=len(VOCABULARY), hidden=48, layers=2, heads=4, intermediate=96, positions=40)
QUESTION = "the cup"
TEXTS = ("tea", "cups", "the tea cups.", "cup cup cup", "", "zebra", "tea. tea. tea. the", "\udc80\0 tea")
CLS, SEP, TEA, CUP, PIECE, THE, DOT = 2, 3, 4, 5, 6, 7, 8

Doubles = NDArray[np.float64]


def formula(config: BertConfig, folder: Path, ids: Sequence[int], segments: Sequence[int]) -> float:
    """The score of a pair, step by step in double precision, as Devlin et al. and Nogueira and Cho write it down."""
    stored = load_file(folder / "model.safetensors")
    t = {name.removeprefix("bert."): np.asarray(one, np.float64) for name, one in stored.items()}

    def dense(name: str, x: Doubles) -> Doubles:
        made: Doubles = x @ t[f"{name}.weight"].T + t[f"{name}.bias"]
        return made

    def norm(name: str, x: Doubles) -> Doubles:
        x = x - x.mean(1, keepdims=True)
        x = x / np.sqrt((x * x).mean(1, keepdims=True) + config.epsilon)
        made: Doubles = x * t[f"{name}.weight"] + t[f"{name}.bias"]
        return made

    gelu = np.vectorize(lambda value: 0.5 * value * (1.0 + math.erf(value / math.sqrt(2.0))))
    x = t["embeddings.word_embeddings.weight"][list(ids)] + t["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm("embeddings.LayerNorm", x + t["embeddings.token_type_embeddings.weight"][list(segments)])
    size = config.hidden // config.heads
    for number in range(config.layers):
        layer = f"encoder.layer.{number}"
        query, key, value = (dense(f"{layer}.attention.self.{part}", x) for part in ("query", "key", "value"))
        mixed = np.empty_like(x)
        for head in range(config.heads):
            part = slice(head * size, (head + 1) * size)
            weights = np.exp(query[:, part] @ key[:, part].T / math.sqrt(size))
            mixed[:, part] = weights / weights.sum(1, keepdims=True) @ value[:, part]
        x = norm(f"{layer}.attention.output.LayerNorm", x + dense(f"{layer}.attention.output.dense", mixed))
        wide = gelu(dense(f"{layer}.intermediate.dense", x))
        x = norm(f"{layer}.output.LayerNorm", x + dense(f"{layer}.output.dense", wide))
    logit = float(dense("classifier", np.tanh(dense("pooler.dense", x[:1])))[0, 0])
    return 1.0 / (1.0 + math.exp(-logit))


def pair(question: Sequence[int], text: Sequence[int]) -> tuple[list[int], list[int]]:
    """The tokens of a pair, and of which segment each is."""
    return [CLS, *question, SEP, *text, SEP], [0] * (len(question) + 2) + [1] * (len(text) + 1)


def expected(config: BertConfig, folder: Path) -> Doubles:
    of_texts = (
        [TEA],
        [CUP, PIECE],
        [THE, TEA, CUP, PIECE, DOT],
        [CUP, CUP, CUP],
        [],
        [1],
        [TEA, DOT, TEA, DOT, TEA, DOT, THE],
        [1, TEA],
    )
    return np.array([formula(config, folder, *pair([THE, CUP], text)) for text in of_texts])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "reader", WIDE)


class TestAgreement:
    @pytest.mark.parametrize(
        ("implementation", "within"),
        [
            ("numpy-float32", 1e-5),
            pytest.param("native-float32", 1e-5, marks=pytest.mark.skipif(not NATIVE, reason="no native code")),
            pytest.param("native-int8", 0.05, marks=pytest.mark.skipif(not NATIVE, reason="no native code")),
            pytest.param("torch-float32", 1e-5, marks=pytest.mark.torch),
        ],
    )
    def test_whoever_computes_says_what_the_formula_says(
        self, folder: Path, implementation: str, within: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if implementation.startswith("torch"):
            pytest.importorskip("torch", reason="torch is not installed; install mnemic[torch] for this test")
            from mnemic.algorithms.text import torch_bert

            monkeypatch.setattr(torch_bert, "find_device", lambda: None)
        found = load_cross_encoder(folder, implementation).score(QUESTION, TEXTS)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected(WIDE, folder), atol=within)
        assert np.ptp(found) > 0.15  # else they would agree on nothing

    def test_the_segment_of_a_token_counts(self, folder: Path) -> None:
        ids, segments = pair([THE, CUP], [TEA])
        assert abs(formula(WIDE, folder, ids, segments) - formula(WIDE, folder, ids, [0] * len(ids))) > 0.01

    def test_of_what_is_too_long_the_longer_part_is_cut(self, tmp_path: Path) -> None:
        folder = write_cross_encoder(tmp_path / "reader")  # it takes 12 tokens
        (found,) = load_cross_encoder(folder, "numpy-float32").score("the cup", ["tea " * 40_000])
        assert found == pytest.approx(formula(SMALL, folder, *pair([THE, CUP], [TEA] * 7)), abs=1e-5)

    def test_of_no_texts_there_are_no_scores(self, folder: Path) -> None:
        assert load_cross_encoder(folder).score(QUESTION, []).shape == (0,)


def changed(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return write


def without_pairs(folder: Path) -> None:
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text("utf-8"))
    tokenizer["post_processor"]["pair"] = tokenizer["post_processor"]["single"] + [
        {"Sequence": {"id": "B", "type_id": 0}}
    ]
    path.write_text(json.dumps(tokenizer), "utf-8")


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "no head": (changed(lambda t: t.pop("classifier.weight")), "classifier.weight is absent, and a cross-encoder"),
    "two logits": (
        changed(lambda t: t.update({"classifier.weight": np.zeros((2, 48), np.float32)})),
        r"classifier.weight has the shape \(2, 48\), expected \(1, 48\)",
    ),
    "no number": (
        changed(lambda t: t.update({"bert.pooler.dense.bias": np.full(48, np.nan, np.float32)})),
        "pooler.dense.bias holds a value that is not finite",
    ),
    "one segment": (
        changed(lambda t: t.update({"bert.embeddings.token_type_embeddings.weight": np.zeros((1, 48), np.float32)})),
        r"token_type_embeddings.weight has the shape \(1, 48\)",
    ),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "there is no such file"),
    "cut short": (lambda folder: (folder / "model.safetensors").write_bytes(b"\1"), "cut short or no safetensors"),
    "no pairs": (without_pairs, "does not tell a question from a passage"),
}


class TestUnusable:
    @pytest.mark.parametrize("how", BROKEN)
    def test_a_broken_folder_is_one_sentence_with_what_to_do(self, folder: Path, how: str) -> None:
        breaks, why = BROKEN[how]
        breaks(folder)
        with pytest.raises(RerankerUnusable, match=why) as caught:
            load_cross_encoder(folder)
        assert str(caught.value).startswith("The cross-encoder at ")
        assert "[rerank] model" in caught.value.remedy_text

    def test_a_model_whose_windows_hold_no_pair_is_refused(self, tmp_path: Path) -> None:
        folder = write_cross_encoder(tmp_path / "reader", replace(SMALL, positions=2))
        with pytest.raises(RerankerUnusable, match="2 tokens have no room for a pair"):
            load_cross_encoder(folder)

    def test_the_settings_name_it_and_who_computes(self, folder: Path) -> None:
        settings = {"rerank.model": str(folder), "embedder.implementation": "numpy-float32", "embedder.threads": 1}
        found = cross_encoder_from_settings(settings).score(QUESTION, TEXTS)
        np.testing.assert_allclose(found, expected(WIDE, folder), atol=1e-5)
        with pytest.raises(RerankerUnusable, match="there is no such folder"):
            cross_encoder_from_settings(settings | {"rerank.model": str(folder / "none")})
        with pytest.raises(InvalidValue, match="there is none"):
            cross_encoder_from_settings(settings | {"embedder.implementation": "jax"})
