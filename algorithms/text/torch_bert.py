"""The text encoder of `mnemic.algorithms.text.bert` in torch: batches on CUDA and on Apple's MPS, and the CPU for the
proof.

torch takes seconds to import, so it is imported here alone, and this module only where it is to compute: by
`mnemic.runtime.models.encoders`. The arithmetic is that of `Bert`, in half precision where the device has it. Windows
are sorted by their length, so that little is padded; what is padded is masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from numpy.typing import NDArray
from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

from mnemic.algorithms.text.bert import UNSCALED, BertConfig, Floats, pack_windows, validate_tensors

DTYPES: dict[str, torch.dtype] = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
"""What it can compute in, by name."""

BUCKET_TOKENS = 16_384
"""The most tokens computed at once, what is padded included: the widest layer of the default model has 50 MB then."""

_BATCH_TOKENS = {"cuda": 8192, "mps": 2048}

_OUT_OF_MEMORY_TEXTS = (
    "out of memory",
    "can't allocate memory",
)  # MPS, and CUDA where no memory can be pinned; the CPU

Pair = tuple[torch.Tensor, torch.Tensor]


class DeviceOutOfMemory(Exception):
    """The memory of a device does not hold the model, or not one window besides."""


def find_device() -> str | None:
    """Name the device that torch sees: ``cuda``, ``mps``, or ``None`` where there is the CPU alone."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None


@dataclass(frozen=True, slots=True)
class _EncoderLayer:
    """One encoder layer: weights and biases, as `functional.linear` and `functional.layer_norm` take them."""

    qkv: Pair
    attention_output: Pair
    attention_norm: Pair
    feed_forward_in: Pair
    feed_forward_out: Pair
    feed_forward_norm: Pair


class TorchBert:
    """A model on a device, ready to encode. It keeps no scratch between calls.

    In float32 it agrees with `Bert` to 1e-5; in half precision the cosine of its vectors with `Bert`'s is 0.999 and
    more. The last bits of a vector depend on what is embedded beside it.
    """

    def __init__(
        self, config: BertConfig, tensors: Mapping[str, NDArray[np.floating]], *, device: str, dtype: str
    ) -> None:
        """Copy the arrays a model needs to a device.

        Args:
            device: ``cuda``, ``mps`` or ``cpu``.
            dtype: one of `DTYPES`.

        Raises:
            ValueError: A tensor is absent, has another shape, or holds a value that is not finite.
            DeviceOutOfMemory: There is no room for it.
        """
        arrays = validate_tensors(config, tensors)
        self.config = config
        self.device = torch.device(device)
        self.batch_tokens = _BATCH_TOKENS.get(device)
        """Tokens that are worth giving it at once, which take it less than 50 ms; on a CPU those of one window."""

        def put(array: Floats) -> torch.Tensor:
            return torch.tensor(array).to(self.device, DTYPES[dtype])

        def pair(*names: str) -> Pair:
            weight, bias = ([arrays[f"{name}.{part}"] for name in names] for part in ("weight", "bias"))
            return put(np.concatenate(weight)), put(np.concatenate(bias))

        try:
            self._word_embeddings = put(arrays["embeddings.word_embeddings.weight"])
            # A window is one segment: the embedding of segment 0 is the same for every token.
            segment = arrays["embeddings.token_type_embeddings.weight"][0]
            self._position_embeddings = put(arrays["embeddings.position_embeddings.weight"] + segment)
            self._norm = pair("embeddings.LayerNorm")
            self._layers = [
                _EncoderLayer(
                    qkv=pair(*(f"{prefix}attention.self.{part}" for part in ("query", "key", "value"))),
                    attention_output=pair(f"{prefix}attention.output.dense"),
                    attention_norm=pair(f"{prefix}attention.output.LayerNorm"),
                    feed_forward_in=pair(f"{prefix}intermediate.dense"),
                    feed_forward_out=pair(f"{prefix}output.dense"),
                    feed_forward_norm=pair(f"{prefix}output.LayerNorm"),
                )
                for prefix in (f"encoder.layer.{index}." for index in range(config.layers))
            ]
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            raise DeviceOutOfMemory(f"{device} has no room for the model") from error

    def encode(self, windows: Sequence[Sequence[int]]) -> Floats:
        """Embed windows: ``(windows, hidden) float32`` of unit length, unless they are `UNSCALED`.

        Where the device has too little memory for what is computed at once, half of it is tried.

        Args:
            windows: the token ids of each, special tokens included, nothing padded.

        Raises:
            ValueError: A window has no tokens or more than the model's positions, or a token is outside the vocabulary.
            DeviceOutOfMemory: There is no room for one window alone.
        """
        ids, lengths = pack_windows(windows)
        self._check(ids, lengths)
        starts = np.cumsum(lengths) - lengths
        order = np.argsort(-lengths, kind="stable")
        found: list[torch.Tensor] = []
        with torch.inference_mode():
            waiting = [*_buckets(lengths[order])][::-1]
            while waiting:
                bucket = waiting.pop()
                rows = order[bucket]
                vectors = self._try_forward(ids, starts[rows], lengths[rows])
                if vectors is not None:
                    found.append(vectors)
                    continue
                middle = (bucket.start + bucket.stop) // 2
                waiting += [slice(middle, bucket.stop), slice(bucket.start, middle)]
        result = np.empty((len(windows), self.config.hidden), np.float32)
        if found:
            result[order] = np.concatenate([vectors.cpu().numpy() for vectors in found])
        return result

    def _check(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Refuse what would read beside the tables: on a device that is no exception, but the end of the process."""
        for size in (lengths.min(initial=1), lengths.max(initial=1)):
            if not 1 <= size <= self.config.positions:
                raise ValueError(f"a window of {size} tokens; the model takes 1 to {self.config.positions}")
        if ids.min(initial=0) < 0 or ids.max(initial=0) >= self.config.vocabulary:
            raise ValueError(f"a token id is outside the vocabulary of {self.config.vocabulary}")

    def _try_forward(
        self, ids: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> torch.Tensor | None:
        """Vectors of windows, on the device; ``None`` where that has too little memory for several at once."""
        try:
            return self._forward(ids, starts, lengths)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            if len(lengths) == 1:
                raise DeviceOutOfMemory(f"{self.device} has no room for a window of {lengths[0]} tokens") from error
        # Pieces of the failed attempt's size would be of no use.
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        elif self.device.type == "mps":
            torch.mps.empty_cache()
        return None

    def _forward(self, ids: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> torch.Tensor:
        """Carry windows, the longest first, through all layers: ``(windows, hidden) float32``, on the device."""
        longest = int(lengths[0])
        inside = np.arange(longest) < lengths[:, None]
        padded = np.zeros((len(lengths), longest), np.int32)
        padded[inside] = ids[(starts[:, None] + np.arange(longest))[inside]]
        shape = (len(lengths), longest, 3, self.config.heads, -1)
        mask = self._to_device(inside)
        # Without a mask the fastest attention of the device can be used.
        attended = None if int(lengths[-1]) == longest else mask[:, None, None, :]
        width = (self.config.hidden,)
        epsilon = self.config.epsilon
        x = functional.embedding(self._to_device(padded), self._word_embeddings) + self._position_embeddings[:longest]
        x = functional.layer_norm(x, width, *self._norm, epsilon)
        activate = functional.gelu if self.config.activation == "gelu" else functional.relu
        for layer in self._layers:
            query, key, value = functional.linear(x, *layer.qkv).view(shape).permute(2, 0, 3, 1, 4)
            context = functional.scaled_dot_product_attention(query, key, value, attn_mask=attended)
            mixed = functional.linear(context.transpose(1, 2).flatten(2), *layer.attention_output)
            x = functional.layer_norm(x + mixed, width, *layer.attention_norm, epsilon)
            wide = activate(functional.linear(x, *layer.feed_forward_in))
            x = functional.layer_norm(
                x + functional.linear(wide, *layer.feed_forward_out), width, *layer.feed_forward_norm, epsilon
            )
        if self.config.pooling == "mean":
            pooled = (x.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        else:
            pooled = x[:, 0].float()
        return pooled if self.config.pooling == UNSCALED else functional.normalize(pooled, dim=1)

    def _to_device(self, array: NDArray[np.generic]) -> torch.Tensor:
        """An array on the device; on CUDA, work goes on while it is copied."""
        tensor = torch.from_numpy(array)
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory lacked: CUDA alone has an exception for it, the others say so in words."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY_TEXTS)


def _buckets(lengths: NDArray[np.int64]) -> Iterator[slice]:
    """Cut sorted lengths, the longest first, into stretches of at most `BUCKET_TOKENS`, what is padded included.

    A stretch of 16 windows also ends where less than half of what follows would be tokens; fewer are not worth a pass.
    """
    first = 0
    for index, length in enumerate(lengths):
        count, longest = index - first, lengths[first]
        if count and ((count + 1) * longest > BUCKET_TOKENS or (count >= 16 and 2 * length < longest)):
            yield slice(first, index)
            first = index
    if len(lengths):
        yield slice(first, len(lengths))
