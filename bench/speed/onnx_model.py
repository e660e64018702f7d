"""The embed bench's competitors, from the same weights: transformers' own BERT in torch, and its export in onnxruntime.

Everything heavy is imported here alone, and only by the bench: ``pip install 'mnemic[bench]'``.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embed", "cuda_device", "onnx_encoder", "torch_encoder"]

Embed = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Embeds windows of one length, ``(n, tokens) int64``: ``(n, hidden) float32`` of unit length."""

_OPSET = 17


def torch_encoder(folder: Path, threads: int, device: str = "cpu", dtype: str = "float32") -> Embed:
    """Load a model as transformers does, to compute eagerly; `threads` is torch's, for the whole process.

    Raises:
        ImportError: torch or transformers is not installed.
    """
    torch: Any = import_module("torch")
    model = _model(folder).to(device=device, dtype=getattr(torch, dtype))

    def embed(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        torch.set_num_threads(threads)
        with torch.inference_mode():
            tokens = torch.from_numpy(ids).to(device)
            pooled = model(tokens, torch.ones_like(tokens))[0].float().mean(1)
            found: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()
        return found

    return embed


def cuda_device() -> str | None:
    """The name of the GPU that torch sees, if it sees one.

    Raises:
        ImportError: torch is not installed.
    """
    torch: Any = import_module("torch")
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else None


def onnx_encoder(folder: Path, into: Path, threads: int, *, int8: bool) -> Embed:
    """Export a model to a file in `into` and load it into onnxruntime, quantised by its `quantize_dynamic` or as it is.

    Raises:
        ImportError: torch, transformers, onnx or onnxruntime is not installed.
    """
    onnxruntime: Any = import_module("onnxruntime")
    quantization: Any = import_module("onnxruntime.quantization")
    exported, quantised = into / "model.onnx", into / "model-int8.onnx"
    if not exported.exists():
        _export(folder, exported)
    if int8 and not quantised.exists():
        logging.disable(logging.WARNING)  # its advice on other ways to quantise
        try:
            quantization.quantize_dynamic(str(exported), str(quantised), weight_type=quantization.QuantType.QInt8)
        finally:
            logging.disable(logging.NOTSET)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    file = quantised if int8 else exported
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def embed(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        pooled = session.run(None, {"ids": ids, "mask": np.ones_like(ids)})[0].mean(1)
        found: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return found

    return embed


def _export(folder: Path, to: Path) -> None:
    torch: Any = import_module("torch")
    # What is traced names its arguments: the exporter would give the model all of its own by place, some of them twice.
    forward = {"forward": lambda self, ids, mask: self.model(ids, attention_mask=mask)[0]}
    traced = type("Traced", (torch.nn.Module,), forward)()
    traced.add_module("model", _model(folder))
    tokens = torch.randint(1000, 2000, (2, 9))
    axes = {0: "windows", 1: "tokens"}
    with warnings.catch_warnings():  # the exporter's notices about itself
        warnings.simplefilter("ignore")
        torch.onnx.export(
            traced.eval(),
            (tokens, torch.ones_like(tokens)),
            str(to),
            input_names=["ids", "mask"],
            output_names=["hidden"],
            dynamic_axes={"ids": axes, "mask": axes, "hidden": axes},
            opset_version=_OPSET,
            dynamo=False,
        )


def _model(folder: Path) -> Any:
    """The model as a torch module: token ids and mask in, the last layer's vectors of all tokens out."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers: Any = import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = transformers.BertModel.from_pretrained(folder, local_files_only=True, add_pooling_layer=False)
    model.config.return_dict = False
    return model.eval()
