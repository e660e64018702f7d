"""Text encoders: an embedding model run by NumPy, native code or torch, chosen by settings or by hardware.

Below stand `mnemic.runtime.models.models`, which reads the files, and `mnemic.algorithms`: the arithmetic in NumPy, in
native code and in torch, and the cutting of texts. Which of the three computes is a setting, or else what pays here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from mnemic.actors.kernel.errors import DeviceExhausted, ImplementationMissing, InvalidValue, ModelUnusable
from mnemic.actors.kernel.ports import IMPLEMENTATIONS, Encoder, Window
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.bert import Bert, BertConfig, NativeBert
from mnemic.algorithms.text.windows import Tokenization, cut_windows
from mnemic.runtime.models.centring import QUESTIONS, STATEMENTS, centred, recipe_name
from mnemic.runtime.models.models import Model, Tensors, check_instruction_set, model_folder, read_model

_log = logging.getLogger("mnemic.encoders")

OVERLAP_TOKENS = 16
"""What neighbouring windows share, at most: about one sentence."""

_UNKNOWN_TOKEN = "[UNK]"  # BERT's, for what has no token of its own: all such words would have one vector
_PIECES = 0.25  # a word that the model cuts in n has a vector of the length n ** -_PIECES: its pieces tell less of it
_THREAD_TOKENS = {"int8": 256, "float32": 128}
"""What a thread of native code is given at once: so many tokens are computed together, in 10 to 18 ms."""

_MOST_TOKENS = 2048
"""The most that native code is given at once: a question waits for it. Two cores take 0.1 s, 0.25 s in floats."""


_EncodeWindows = Callable[[Sequence[Sequence[int]]], NDArray[np.float32]]
"""Embeds windows of token ids."""


@dataclass(frozen=True, slots=True)
class Backend:
    """What computes with a model, and how many tokens it takes at once with profit, and where somebody waits for them;
    ``None`` stands for those of one window.
    """

    encode: _EncodeWindows
    batch_tokens: int | None = None
    bulk_tokens: int | None = None


class ModelEncoder:
    """An `Encoder` of a model's files.

    What it makes of odd texts: the empty text and one of blanks have one window of the special tokens alone; NUL and
    lone surrogates count as U+FFFD, which BERT tokenizers drop; a text of unknown words becomes a row of ``[UNK]``, so
    that all such texts of one length have one vector. Each is a unit vector like any other.

    Vectors of another model than the default one are less what all of its vectors share, see
    `mnemic.runtime.models.centring`.
    """

    def __init__(self, implementation: str, model: Model[tuple[Backend, NDArray[np.float16]]]) -> None:
        """Take a model that was read: what computes with it, and its tokens' embeddings, ``(vocabulary, dimensions)``.

        Raises ValueError where special tokens and prompts leave no room in a window, or the tokenizer fails on a text.
        """
        computing, token_embeddings = model.network
        window, tokenizer = model.window_tokens, model.tokenizer
        self.implementation = implementation
        self.dimensions = token_embeddings.shape[1]
        self._token_embeddings = token_embeddings
        self.batch_tokens = computing.batch_tokens or window
        self.bulk_tokens = computing.bulk_tokens or self.batch_tokens
        self.window_tokens = window
        self._encode = computing.encode
        self._tokenizer = tokenizer
        probe = self._encoding("a", special=True)
        inside = [index for index, special in enumerate(probe.special_tokens_mask) if not special]
        if not inside:
            raise ValueError("its tokenizer makes no token of the letter a")
        first, self._closing = tuple(probe.ids[: inside[0]]), tuple(probe.ids[inside[-1] + 1 :])
        self._openings = [first + tuple(self._encoding(one, special=False).ids) for one in model.prompts]
        self._size = window - max(map(len, self._openings)) - len(self._closing)
        if self._size < 1:
            raise ValueError(f"windows of {window} tokens have no room beside the special ones")
        self._unknown = tokenizer.token_to_id(_UNKNOWN_TOKEN)
        self._overlap = min(OVERLAP_TOKENS, (self._size - 1) // 4)
        self._is_centred = not model.is_default
        self._centres: NDArray[np.float32] | None = None  # until something is embedded
        self.model = recipe_name(model.recipe) if self._is_centred else model.sha256

    def windows(self, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
        """Cut a text into at most `limit` windows; see `Encoder.windows` and `cut_windows`."""
        spans = cut_windows(text, self._tokenize, size=self._size, overlap=self._overlap, limit=limit)
        opening = self._openings[is_question]
        windows = [Window(one.start, one.end, opening + one.token_ids + self._closing, is_question) for one in spans]
        return windows, windows[-1].end

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Embed windows; see `Encoder.encode`."""
        vectors = self._encode([window.token_ids for window in windows])
        if not self._is_centred or not windows:
            return vectors
        if self._centres is None:
            self._centres = np.stack([self._mean(STATEMENTS), self._mean(QUESTIONS, is_question=True)])
        return centred(vectors, self._centres[[int(window.is_question) for window in windows]])

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Words by themselves; see `Encoder.word_vectors`."""
        vectors = np.zeros((len(words), self.dimensions), np.float32)
        pieces = [self._encoding(one.encode("utf-8", "replace").decode("utf-8"), special=False).ids for one in words]
        known = [number for number, ids in enumerate(pieces) if ids and self._unknown not in ids]
        if not known:
            return vectors
        lengths = np.array([len(pieces[number]) for number in known])
        embedded = self._token_embeddings[[one for number in known for one in pieces[number]]].astype(np.float32)
        sums = np.add.reduceat(embedded, np.cumsum(lengths) - lengths, axis=0)
        norms = np.maximum(np.linalg.norm(sums, axis=1) * lengths**_PIECES, 1e-12)
        vectors[known] = sums / norms[:, None].astype(np.float32)
        return vectors

    def _mean(self, texts: Sequence[str], *, is_question: bool = False) -> NDArray[np.float32]:
        """The mean vector of texts, ``(dimensions,)``; those that the tokenizer fails on do not count."""
        windows: list[Window] = []
        for text in texts:
            with contextlib.suppress(ValueError):
                windows += self.windows(text, 1, is_question=is_question)[0]
        if not windows:
            return np.zeros(self.dimensions, np.float32)
        mean: NDArray[np.float32] = self._encode([window.token_ids for window in windows]).mean(
            axis=0, dtype=np.float32
        )
        return mean

    def _tokenize(self, text: str) -> Tokenization:
        encoding = self._encoding(text, special=False)
        return Tokenization(encoding.ids, [start for start, _ in encoding.offsets], encoding.word_ids)

    def _encoding(self, text: str, *, special: bool) -> Encoding:
        try:
            return self._tokenizer.encode(text, add_special_tokens=special)
        except Exception as error:  # tokenizers raises nothing narrower where it has no token for a word, say
            raise ValueError(f"its tokenizer fails: {error}") from error


def load_encoder(folder: Path | None = None, implementation: str = "", threads: int = 0) -> Encoder:
    """Load the default model, verified, or one in a folder; its `model` is a hash of what its vectors follow from.

    Args:
        implementation: one of `IMPLEMENTATIONS`; where empty, torch where it is installed and sees a device, else
            native bytes, else NumPy.
        threads: the most that native code computes with, up to the cores there are; 0 is half of them, and all of them
            where it is given more than its `batch_tokens`.

    Raises:
        InvalidValue: There is no such implementation.
        ImplementationMissing: It is not installed.
        InvalidValue: The environment names an instruction set that cannot be used.
        ModelError: The model's files cannot be used; see `mnemic.runtime.models.models.read_model`.
    """
    name, build = choose_backend(implementation, threads)
    model = read_model(folder, lambda config, tensors: (build(config, tensors), _token_embeddings(tensors)))
    try:
        return ModelEncoder(name, model)
    except ValueError as error:
        raise ModelUnusable(path=model.folder, why=str(error)) from error


def encoder_from_settings(settings: Mapping[str, Any]) -> Encoder:
    """Load what the settings name. Raises as `load_encoder`."""
    return load_encoder(model_folder(settings), settings["embedder.implementation"], settings["embedder.threads"])


def may_use_torch(settings: Mapping[str, Any]) -> bool:
    """Whether torch would embed where it sees a device: a question that must not cost its import."""
    named: str = settings["embedder.implementation"]
    return named.startswith("torch-") or (not named and importlib.util.find_spec("torch") is not None)


def accelerator(devices: Path = Path("/dev")) -> str | None:
    """A device on which torch would pay, if one is seen."""
    if any(devices.glob("nvidia[0-9]*")):
        return "an NVIDIA GPU"
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return "Apple silicon"
    return None


_Build = Callable[[BertConfig, Tensors], Backend]


def choose_backend(implementation: str, threads: int) -> tuple[str, _Build]:
    """The implementation's name, and what builds it of a model. Takes and raises what `load_encoder` does."""
    cores = _cores()
    usual, most = (min(threads, cores),) * 2 if threads else (max(1, cores // 2), cores)
    return _choose_backend(implementation, usual, most)


def _choose_backend(implementation: str, threads: int, most_threads: int) -> tuple[str, _Build]:
    """The implementation's name, and what builds it of a model."""
    if not implementation:
        chosen = "native-int8" if NATIVE else "numpy-float32"
        return _torch_with_device() or _choose_backend(chosen, threads, most_threads)
    if implementation not in IMPLEMENTATIONS:
        expected = f"one of {', '.join(IMPLEMENTATIONS)}"
        raise InvalidValue(name="implementation", value=implementation, why="there is none", expected=expected)
    library, _, dtype = implementation.partition("-")
    if library == "torch":
        try:
            return implementation, _torch(implementation, dtype)
        except (ImportError, OSError) as error:  # a library of it that does not load is an OSError
            why = "torch is not installed" if _is_torch_missing(error) else f"torch does not load ({error})"
            install = "Install it with `pip install 'mnemic[torch]'`"
            raise ImplementationMissing(implementation=implementation, why=why, install=install) from error
    if library == "numpy":
        return implementation, _numpy
    if not NATIVE:
        why, install = "the native code was not built", "Install cargo and then Mnemic again"
        raise ImplementationMissing(implementation=implementation, why=why, install=install)
    check_instruction_set()  # else each text would be taken for one that cannot be embedded
    return implementation, _native(threads, most_threads, int8=dtype == "int8")


def _token_embeddings(tensors: Tensors) -> NDArray[np.float16]:
    """What a model begins with, a vector for each token; a copy, as `_numpy` says why, in half precision: 23 MB."""
    with np.errstate(over="ignore"):  # what float16 cannot hold is no direction that words could share
        return np.array(tensors["embeddings.word_embeddings.weight"], np.float16)


def _numpy(config: BertConfig, tensors: Tensors) -> Backend:
    # Copied out of the mapped file: whoever cuts that short ends the process that reads it.
    bert = Bert(config, {name: np.array(array) for name, array in tensors.items()})

    def encode(windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        vectors = np.empty((len(windows), config.hidden), np.float32)
        for row, window in enumerate(windows):
            vectors[row] = bert.encode(window)
        return vectors

    return Backend(encode)


def _native(threads: int, most_threads: int, *, int8: bool) -> _Build:
    def build(config: BertConfig, tensors: Tensors) -> Backend:
        bert = NativeBert(config, tensors, int8=int8)
        each = _THREAD_TOKENS["int8" if int8 else "float32"]
        batch, bulk = (min(count * each, _MOST_TOKENS) for count in (threads, most_threads))

        def encode(windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
            is_bulk = sum(map(len, windows)) > batch
            return bert.encode(windows, most_threads if is_bulk else threads)

        return Backend(encode, batch, bulk)

    return build


def _torch(implementation: str, dtype: str, device: str | None = None) -> _Build:
    """Raises ImportError or OSError where torch cannot be loaded."""
    from mnemic.algorithms.text.torch_bert import DeviceOutOfMemory, TorchBert, find_device  # here: it takes seconds

    def build(config: BertConfig, tensors: Tensors) -> Backend:
        try:
            bert = TorchBert(config, tensors, device=device or find_device() or "cpu", dtype=dtype)
        except DeviceOutOfMemory as error:
            raise DeviceExhausted(implementation=implementation, why=str(error)) from error

        def encode(windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
            try:
                return bert.encode(windows)
            except DeviceOutOfMemory as error:
                raise DeviceExhausted(implementation=implementation, why=str(error)) from error

        return Backend(encode, bert.batch_tokens)

    return build


def _torch_with_device() -> tuple[str, _Build] | None:
    """Half precision in torch, where it is installed and sees a device."""
    if accelerator() is None or importlib.util.find_spec("torch") is None:
        return None
    try:
        from mnemic.algorithms.text.torch_bert import find_device

        device = find_device()
    except (ImportError, OSError) as error:
        _log.warning("torch is installed and does not load: %s", error)
        return None
    return None if device is None else ("torch-float16", _torch("torch-float16", "float16", device))


def _is_torch_missing(error: ImportError | OSError) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == "torch"


def _cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Cores that this process may use: those it may run on, or as many as a container's share of time makes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        share_us, period_us = quota.read_text("ascii").split()
        return max(1, min(cores, int(share_us) // int(period_us)))
    except (OSError, ValueError):  # there is no such file, or its share is "max"
        return cores
