"""The embed bench: how fast each encoder is, beside onnxruntime and torch with the same weights, and how near to exact.

All take turns in one process, call by call, so that whatever else the machine does hits them alike. The model is the
default one, or the folder that `--model` names.
"""

from __future__ import annotations

import argparse
import pydoc_data.topics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.ports import Encoder, Window
from mnemic.algorithms.retrieval.scan import NATIVE, backend
from mnemic.bench.speed.onnx_model import Embed, cuda_device, onnx_encoder, torch_encoder
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import default_model_folder

__all__ = ["paragraphs", "run"]

_QUERY_TOKENS = 17
_BATCH = (32, 128)  # windows, tokens
_CALLS = 10  # queries of each encoder in a round
_GPU_WINDOWS = 2048
_COMPETITOR = "onnxruntime int8"
_GOALS = {"native-int8": _COMPETITOR}
_MIN_COSINE = {"native-float32": 0.99999, "native-int8": 0.99, "torch-float16": 0.999}
_LOAD_GOAL_MS = 150.0
_OUR_ENCODERS = ("native-int8", "native-float32", "numpy-float32")
_MISSING = "is not installed: pip install 'mnemic[bench]'"


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Time a query on one thread, a batch on two, loading, and compare the vectors.

    Raises:
        ValueError: no rounds, or no texts, are asked for.
        ModelError: the model cannot be used.
    """
    if min(arguments.rounds, arguments.texts) < 1:
        raise ValueError("there must be 1 round and 1 text or more")
    folder: Path | None = arguments.model
    rows: list[dict[str, Any]] = [{"what": "instructions", "scan": backend()}]
    ours = [name for name in _OUR_ENCODERS if NATIVE or not name.startswith("native")]
    if not NATIVE:
        rows += [_skipped(name, "the native code was not built") for name in _OUR_ENCODERS if name not in ours]
    rows += _loads(folder, ours, arguments.rounds)
    random = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="mnemic-embed-") as into:
        query = random.integers(1000, 20_000, (1, _QUERY_TOKENS))
        for what, ids, threads, calls in (
            (f"a query of {_QUERY_TOKENS} tokens", query, 1, _CALLS),
            ("{} windows of {} tokens".format(*_BATCH), random.integers(1000, 20_000, _BATCH), 2, 1),
        ):
            embeds, skipped = _encoders(folder, ours, Path(into), threads)
            rows += [{"what": what} | row for row in skipped]
            rows += _timed(what, embeds, ids, threads, calls, arguments.rounds)
        rows += _agreements(folder, ours, Path(into), arguments.texts)
    return rows + _on_a_gpu(folder, random, arguments.rounds)


# --- encoders --------------------------------------------------------------------------------------------------------


def _encoders(
    folder: Path | None, ours: list[str], into: Path, threads: int
) -> tuple[dict[str, Embed], list[dict[str, Any]]]:
    """All that can be timed, by name, and rows that say what cannot be."""
    embeds = {name: _embed(load_encoder(folder, name, threads)) for name in ours}
    path = folder or default_model_folder()
    competitors: Mapping[str, Callable[[], Embed]] = {
        _COMPETITOR: lambda: onnx_encoder(path, into, threads, int8=True),
        "onnxruntime float32": lambda: onnx_encoder(path, into, threads, int8=False),
        "torch float32, eager": lambda: torch_encoder(path, threads),
    }
    skipped = []
    for name, load in competitors.items():
        try:
            embeds[name] = load()
        except ImportError as error:
            skipped.append(_skipped(name, f"{error.name} {_MISSING}"))
    return embeds, skipped


def _embed(encoder: Encoder) -> Embed:
    return lambda ids: encoder.encode([Window(0, 0, tuple(row)) for row in ids.tolist()])


def _skipped(name: str, why: str) -> dict[str, Any]:
    return {"by": name, "state": "skipped", "why": why}


# --- figures ---------------------------------------------------------------------------------------------------------


def _loads(folder: Path | None, names: list[str], rounds: int) -> Iterator[dict[str, Any]]:
    for name in names:
        taken = []
        for _ in range(max(3, rounds // 3)):
            start = time.perf_counter()
            load_encoder(folder, name, 2)
            taken.append(1e3 * (time.perf_counter() - start))
        median = float(np.median(taken))
        row = {"what": "load", "by": name, "median_ms": median, "min_ms": min(taken)}
        yield row | {"goal_ms": _LOAD_GOAL_MS, "met": median <= _LOAD_GOAL_MS}


def _timed(
    what: str, embeds: Mapping[str, Embed], ids: NDArray[np.int64], threads: int, calls: int, rounds: int
) -> Iterator[dict[str, Any]]:
    taken: dict[str, list[float]] = {name: [] for name in embeds}
    for embed in embeds.values():
        embed(ids)  # what is made at the first call is none of a call's time
    for _ in range(rounds):
        for name, embed in embeds.items():
            for _ in range(calls):
                start = time.perf_counter()
                embed(ids)
                taken[name].append(time.perf_counter() - start)
    medians = {name: float(np.median(times)) for name, times in taken.items()}
    for name, times in taken.items():
        row: dict[str, Any] = {"what": what, "by": name, "threads": threads if name != "numpy-float32" else 1}
        row |= {"median_ms": 1e3 * medians[name], "min_ms": 1e3 * min(times), "per_s": len(ids) / medians[name]}
        if _COMPETITOR in medians:
            row["of_onnxruntime_int8"] = medians[name] / medians[_COMPETITOR]
            if name in _GOALS:
                row |= {"goal": 1.0, "met": row["of_onnxruntime_int8"] <= 1.0}
        yield row


def _agreements(folder: Path | None, ours: list[str], into: Path, count: int) -> Iterator[dict[str, Any]]:
    """How near to transformers' vectors, or without it to NumPy's, over real texts, each its first window."""
    encoders = {name: load_encoder(folder, name, 2) for name in ours}
    encoder = encoders["numpy-float32"]
    windows = [encoder.windows(text, 1)[0][0] for text in paragraphs(count)]

    def one_by_one(embed: Embed) -> NDArray[np.float32]:
        return np.concatenate([embed(np.array([window.token_ids], np.int64)) for window in windows])

    path = folder or default_model_folder()
    reference = "torch float32, eager"
    vectors = {name: encoders[name].encode(windows) for name in ours if name != "numpy-float32"}
    try:
        exact = one_by_one(torch_encoder(path, 2))
        vectors[_COMPETITOR] = one_by_one(onnx_encoder(path, into, 2, int8=True))
    except ImportError as error:
        yield {"what": "agreement"} | _skipped(error.name or "", f"{_MISSING}; compared with NumPy instead")
        reference, exact = "numpy-float32", encoder.encode(windows)
    for name, found in vectors.items():
        cosines = np.einsum("ij,ij->i", found.astype(np.float64), exact.astype(np.float64))
        worst = float(cosines.min())
        row: dict[str, Any] = {"what": "agreement", "by": name, "with": reference, "texts": len(windows)}
        row |= {"worst_cosine": worst, "median_cosine": float(np.median(cosines))}
        if name in _MIN_COSINE:
            row |= {"goal": _MIN_COSINE[name], "met": worst >= _MIN_COSINE[name]}
        yield row


def paragraphs(count: int) -> list[str]:
    """Real texts that every Python has: the first paragraphs of its language reference, of 10 characters and more."""
    found = [part.strip() for topic in pydoc_data.topics.topics.values() for part in topic.split("\n\n")]
    return [text for text in dict.fromkeys(found) if len(text) >= 10][:count]


def _on_a_gpu(folder: Path | None, random: np.random.Generator, rounds: int) -> list[dict[str, Any]]:
    """Windows a second on a GPU, beside eager torch on the same one."""
    what = f"{_GPU_WINDOWS} windows of {_BATCH[1]} tokens on a GPU"
    try:
        card = cuda_device()
    except ImportError:
        return [{"what": what} | _skipped("torch-float16", f"torch {_MISSING}")]
    if card is None:
        return [{"what": what} | _skipped("torch-float16", "torch sees no CUDA device here")]
    path = folder or default_model_folder()
    embeds = {"torch-float16": _embed(load_encoder(folder, "torch-float16", 2))}
    embeds |= {f"torch {kind}, eager": torch_encoder(path, 2, "cuda", kind) for kind in ("float16", "float32")}
    ids = random.integers(1000, 20_000, (_GPU_WINDOWS, _BATCH[1]))
    return [row | {"card": card} for row in _timed(what, embeds, ids, 1, 1, rounds)]
