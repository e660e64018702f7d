"""Small models for tests: weights that are drawn, and the folder of files that a model is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from mnemic.algorithms.text.bert import BertConfig, expected_shapes
from mnemic.algorithms.text.cross_encoder import head_shapes

__all__ = ["SMALL", "VOCABULARY", "Tensors", "config_json", "draw", "write_cross_encoder", "write_json", "write_model"]

Tensors = dict[str, NDArray[np.floating]]

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "cup", "##s", "the", "."]

SMALL = BertConfig(vocabulary=len(VOCABULARY), hidden=8, layers=1, heads=2, intermediate=16, positions=12)


def draw(config: BertConfig, seed: int = 0, spread: float = 0.4) -> Tensors:
    """Draw all weights of a model."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(1.0 if name.endswith("LayerNorm.weight") else 0.0, spread, shape).astype(np.float32)
        for name, shape in expected_shapes(config).items()
    }


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def config_json(config: BertConfig) -> dict[str, Any]:
    """What ``config.json`` says of a model."""
    return {
        "model_type": "bert",
        "hidden_size": config.hidden,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.intermediate,
        "max_position_embeddings": config.positions,
        "vocab_size": config.vocabulary,
        "layer_norm_eps": config.epsilon,
        "hidden_act": config.activation,
    }


def write_model(folder: Path, config: BertConfig = SMALL, tensors: Tensors | None = None) -> Path:
    """Write a whole model, with a tokenizer of `VOCABULARY` that pads and truncates like those of real models."""
    folder.mkdir(parents=True)
    save_file(draw(config) if tensors is None else tensors, folder / "model.safetensors")
    write_json(folder / "config.json", config_json(config))
    if config.pooling == "cls":
        write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    tokenizer = Tokenizer(WordPiece({token: id for id, token in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_padding(length=12)
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_cross_encoder(folder: Path, config: BertConfig = SMALL, seed: int = 0) -> Path:
    """Write a whole cross-encoder, drawn, its tensors named as ``transformers`` names them."""
    rng = np.random.default_rng(seed)
    encoder = {f"bert.{name}": one for name, one in draw(config, seed).items()}
    head = {name: rng.normal(0.0, 0.4, shape).astype(np.float32) for name, shape in head_shapes(config).items()}
    named = {f"bert.{name}" if name.startswith("pooler") else name: one for name, one in head.items()}
    write_model(folder, config, encoder | named)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
