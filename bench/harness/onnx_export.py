"""Exports a BERT's weights to ONNX by torch, for competitors that run on onnxruntime.

Its libraries are imported where they are used: ``pip install 'mnemic[bench]'``. Above stand the benches.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

OPSET = 17


def export_bert(folder: Path, to: Path) -> None:
    """Write the model of a folder as ONNX.

    Inputs are ``input_ids``, ``attention_mask`` (1 for what is read, 0 for padding) and ``token_type_ids``, all
    ``(texts, tokens) int64``; the output is ``last_hidden_state``, ``(texts, tokens, dimensions) float32``.

    Raises:
        ModuleNotFoundError: torch, transformers or onnx is not installed.
        OSError: no model lies there, or the file cannot be written.
    """
    torch: Any = import_module("torch")

    def forward(self: Any, ids: Any, mask: Any, types: Any) -> Any:
        # The mask is added by hand: what transformers makes of one is traced for the number of tokens of the example.
        hidden = self.model.embeddings(input_ids=ids, token_type_ids=types)
        added = (1.0 - mask[:, None, None, :].to(hidden.dtype)) * torch.finfo(hidden.dtype).min
        for layer in self.model.encoder.layer:
            found = layer(hidden, added)
            hidden = found if torch.is_tensor(found) else found[0]
        return hidden

    # What is traced names its arguments: the exporter would give the model all of its own by place, some of them twice.
    traced = type("Traced", (torch.nn.Module,), {"forward": forward})()
    traced.add_module("model", load_bert(folder, "eager"))
    tokens = torch.randint(1000, 2000, (2, 9))
    axes = {0: "texts", 1: "tokens"}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    with warnings.catch_warnings():  # the exporter's notices about itself
        warnings.simplefilter("ignore")
        torch.onnx.export(
            traced.eval(),
            (tokens, torch.ones_like(tokens), torch.zeros_like(tokens)),
            str(to),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes=dict.fromkeys((*names, "last_hidden_state"), axes),
            opset_version=OPSET,
            dynamo=False,
        )


def load_bert(folder: Path, attention: str = "sdpa") -> Any:
    """The model of a folder as a torch module: token ids and mask in, the last layer's vectors of all tokens out.

    Args:
        attention: which of transformers' implementations; fused ones cannot be exported.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers: Any = import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = transformers.BertModel.from_pretrained(
        folder, local_files_only=True, add_pooling_layer=False, attn_implementation=attention
    )
    model.config.return_dict = False
    return model.eval()
