"""The embed bench: how fast each encoder is, beside onnxruntime and torch with the same weights, and how near to exact.

All take turns in one process, call by call, so that whatever else the machine does hits them alike. The model is the
default one, or the folder that ``--model`` names. The competitors are transformers' own BERT in torch and its export in
onnxruntime; they and all that is heavy are imported where they are made: ``pip install 'mnemic[bench]'``.
"""

from __future__ import annotations

import logging
import pydoc_data.topics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.ports import Encoder, Window
from mnemic.algorithms.retrieval.scan import NATIVE, backend
from mnemic.algorithms.text.bert import BertConfig
from mnemic.algorithms.text.cross_encoder import Head, head_shapes, with_segments
from mnemic.bench.harness.measure import Row, goal, milliseconds, take_turns
from mnemic.bench.harness.onnx_export import export_bert, load_bert
from mnemic.runtime.models.cross_encoders import ModelCrossEncoder
from mnemic.runtime.models.encoders import Backend, choose_backend, load_encoder
from mnemic.runtime.models.models import Tensors, default_model_folder, read_model

Embed = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Embeds windows of one length, ``(n, tokens) int64``: ``(n, hidden) float32`` of unit length."""

_QUERY_TOKENS = 17
_BATCH = (32, 128)  # windows, tokens
_CALLS = 10  # queries of each encoder in a round
_GPU_WINDOWS = 2048
_PAIRS, _ASKED_TOKENS, _READ_TOKENS = 20, 16, 109  # with the special ones a pair has 128 tokens
_COMPETITOR = "onnxruntime int8"
_HELD_TO_IT = "native-int8"
_MIN_COSINE = {"native-float32": 0.99999, "native-int8": 0.99, "torch-float16": 0.999}
_LOAD_GOAL_MS = 150.0
_OUR_ENCODERS = ("native-int8", "native-float32", "numpy-float32")
_MISSING = "is not installed: pip install 'mnemic[bench]'"


def run(*, model: Path | None = None, rounds: int = 15, texts: int = 2000, seed: int = 0) -> Iterator[Row]:
    """Time a query on one thread, a batch on two, loading and pairs on two, and compare the vectors.

    Raises:
        ModelError: the model cannot be used.
    """
    yield {"what": "instructions", "scan": backend()}
    ours = [name for name in _OUR_ENCODERS if NATIVE or not name.startswith("native")]
    yield from (_skipped(name, "the native code was not built") for name in _OUR_ENCODERS if name not in ours)
    for name in ours:
        taken_ms = [milliseconds(load_encoder, model, name, 2) for _ in range(max(3, rounds // 3))]
        median_ms = float(np.median(taken_ms))
        row = {"what": "load", "by": name, "median_ms": median_ms, "min_ms": min(taken_ms)}
        yield row | goal("ms", median_ms, _LOAD_GOAL_MS)
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="mnemic-embed-") as into:
        query = random.integers(1000, 20_000, (1, _QUERY_TOKENS))
        for what, ids, threads, calls in (
            (f"a query of {_QUERY_TOKENS} tokens", query, 1, _CALLS),
            ("{} windows of {} tokens".format(*_BATCH), random.integers(1000, 20_000, _BATCH), 2, 1),
        ):
            embeds = {name: _embed(load_encoder(model, name, threads)) for name in ours}
            for name, load in _competitors(model, Path(into), threads).items():
                try:
                    embeds[name] = load()
                except ImportError as error:
                    yield {"what": what} | _skipped(name, f"{error.name} {_MISSING}")
            yield from _timed(what, embeds, ids, threads, calls, rounds)
        yield from _agreements(model, ours, Path(into), texts)
    yield from _second_readings(model, ours, random, rounds)
    yield from _on_a_gpu(model, random, rounds)


def paragraphs(count: int) -> list[str]:
    """Real texts that every Python has: the first paragraphs of its language reference, of 10 characters and more."""
    found = [part.strip() for topic in pydoc_data.topics.topics.values() for part in topic.split("\n\n")]
    return [text for text in dict.fromkeys(found) if len(text) >= 10][:count]


def _embed(encoder: Encoder) -> Embed:
    return lambda ids: encoder.encode([Window(0, 0, tuple(row)) for row in ids.tolist()])


def _skipped(name: str, why: str) -> Row:
    return {"by": name, "state": "skipped", "why": why}


# --- figures ---------------------------------------------------------------------------------------------------------


def _timed(
    what: str, embeds: Mapping[str, Embed], ids: NDArray[np.int64], threads: int, calls: int, rounds: int
) -> Iterator[Row]:
    for embed in embeds.values():
        embed(ids)  # what is made at the first call is none of a call's time
    tasks = {name: lambda embed=embed: [embed(ids) for _ in range(calls)] for name, embed in embeds.items()}
    taken = {name: [took / calls for took in each] for name, each in take_turns(tasks, rounds).items()}
    medians = {name: float(np.median(each)) for name, each in taken.items()}
    for name, each in taken.items():
        row: Row = {"what": what, "by": name, "threads": threads if name != "numpy-float32" else 1}
        row |= {"median_ms": medians[name], "min_ms": min(each), "per_s": 1e3 * len(ids) / medians[name]}
        if _COMPETITOR in medians:
            row["of_onnxruntime_int8"] = medians[name] / medians[_COMPETITOR]
            if name == _HELD_TO_IT:
                row |= {"goal": 1.0, "met": row["of_onnxruntime_int8"] <= 1.0}
        yield row


def _agreements(model: Path | None, ours: list[str], into: Path, count: int) -> Iterator[Row]:
    """How near to transformers' vectors, or without it to NumPy's, over real texts, each its first window."""
    encoders = {name: load_encoder(model, name, 2) for name in ours}
    encoder = encoders["numpy-float32"]
    windows = [encoder.windows(text, 1)[0][0] for text in paragraphs(count)]

    def one_by_one(embed: Embed) -> NDArray[np.float32]:
        return np.concatenate([embed(np.array([window.token_ids], np.int64)) for window in windows])

    reference = "torch float32, eager"
    vectors = {name: encoders[name].encode(windows) for name in ours if name != "numpy-float32"}
    competitors = _competitors(model, into, 2)
    try:
        exact = one_by_one(competitors[reference]())
        vectors[_COMPETITOR] = one_by_one(competitors[_COMPETITOR]())
    except ImportError as error:
        yield {"what": "agreement"} | _skipped(error.name or "", f"{_MISSING}; compared with NumPy instead")
        reference, exact = "numpy-float32", encoder.encode(windows)
    for name, found in vectors.items():
        cosines = np.einsum("ij,ij->i", found.astype(np.float64), exact.astype(np.float64))
        worst = float(cosines.min())
        row: Row = {"what": "agreement", "by": name, "with": reference, "texts": len(windows)}
        row |= {"worst_cosine": worst, "median_cosine": float(np.median(cosines))}
        if name in _MIN_COSINE:
            row |= {"goal": _MIN_COSINE[name], "met": worst >= _MIN_COSINE[name]}
        yield row


def _second_readings(model: Path | None, ours: list[str], random: np.random.Generator, rounds: int) -> Iterator[Row]:
    """How long a cross-encoder of the model's shape takes for the best of a recall; its head is drawn."""

    def reader(name: str) -> ModelCrossEncoder:
        _, build = choose_backend(name, 2)

        def built(config: BertConfig, tensors: Tensors) -> tuple[Backend, Head]:
            head = {part: random.normal(0.0, 0.02, shape) for part, shape in head_shapes(config).items()}
            return build(*with_segments(config, tensors)), Head(config, head)

        return ModelCrossEncoder(read_model(model, built))

    question, text = " ".join(["where"] * _ASKED_TOKENS), " ".join(["tree"] * _READ_TOKENS)
    readers = {name: reader(name) for name in ours}
    tasks = {name: lambda one=one: one.score(question, [text] * _PAIRS) for name, one in readers.items()}
    for name, taken in take_turns(tasks, rounds).items():
        row: Row = {"what": f"{_PAIRS} pairs of {_ASKED_TOKENS + _READ_TOKENS + 3} tokens, read again", "by": name}
        yield row | {"threads": 2, "median_ms": float(np.median(taken)), "min_ms": min(taken)}


def _on_a_gpu(model: Path | None, random: np.random.Generator, rounds: int) -> Iterator[Row]:
    """Windows a second on a GPU, beside eager torch on the same one."""
    what = f"{_GPU_WINDOWS} windows of {_BATCH[1]} tokens on a GPU"
    try:
        torch: Any = import_module("torch")
    except ImportError:
        yield {"what": what} | _skipped("torch-float16", f"torch {_MISSING}")
        return
    if not torch.cuda.is_available():
        yield {"what": what} | _skipped("torch-float16", "torch sees no CUDA device here")
        return
    embeds = {"torch-float16": _embed(load_encoder(model, "torch-float16", 2))}
    embeds |= {
        f"torch {kind}, eager": _torch_encoder(model or default_model_folder(), 2, "cuda", kind)
        for kind in ("float16", "float32")
    }
    ids = random.integers(1000, 20_000, (_GPU_WINDOWS, _BATCH[1]))
    for row in _timed(what, embeds, ids, 1, 1, rounds):
        yield row | {"card": torch.cuda.get_device_name()}


# --- competitors -----------------------------------------------------------------------------------------------------


def _competitors(model: Path | None, into: Path, threads: int) -> dict[str, Callable[[], Embed]]:
    """By name what loads each; it raises ImportError where something is not installed."""
    folder = model or default_model_folder()
    return {
        _COMPETITOR: lambda: _onnx_encoder(folder, into, threads, int8=True),
        "onnxruntime float32": lambda: _onnx_encoder(folder, into, threads, int8=False),
        "torch float32, eager": lambda: _torch_encoder(folder, threads),
    }


def _torch_encoder(folder: Path, threads: int, device: str = "cpu", dtype: str = "float32") -> Embed:
    """Load a model as transformers does, to compute eagerly; `threads` is torch's, for the whole process."""
    torch: Any = import_module("torch")
    model = load_bert(folder).to(device=device, dtype=getattr(torch, dtype))

    def embed(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        torch.set_num_threads(threads)
        with torch.inference_mode():
            tokens = torch.from_numpy(ids).to(device)
            pooled = model(tokens, torch.ones_like(tokens))[0].float().mean(1)
            found: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()
        return found

    return embed


def _onnx_encoder(folder: Path, into: Path, threads: int, *, int8: bool) -> Embed:
    """Export a model to a file in `into` and load it into onnxruntime, as it is or by its `quantize_dynamic`."""
    onnxruntime: Any = import_module("onnxruntime")
    quantization: Any = import_module("onnxruntime.quantization")
    exported, quantised = into / "model.onnx", into / "model-int8.onnx"
    if not exported.exists():
        export_bert(folder, exported)
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
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        pooled = session.run(None, given)[0].mean(1)
        found: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return found

    return embed
