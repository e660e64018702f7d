"""A BERT-family text encoder, in NumPy and in native (Rust) code: windows of tokens in, unit vectors out.

It does no I/O: `mnemic.runtime.models.models` reads the weights and hands them in as arrays. The faster encoders
(`NativeBert`, `torch_bert`) take the same arrays and are proved against NumPy's, so that is written to be read next to
Devlin et al., BERT (2019, arXiv:1810.04805), and Vaswani et al., Attention Is All You Need (2017, arXiv:1706.03762),
post-norm form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_GELU_BLOCK = 32_768
"""Values worked on at a time: with its two scratch arrays a block is 384 KiB and stays in the second-level cache (a
window of 128 tokens: 0.46 ms, with blocks of 4,096 0.77 ms)."""

_ERFC_POWERS = (0.0705230784, 0.0422820123, 0.0092705272, 0.0001520143, 0.0002765672, 0.0000430638)
"""Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 7.1.28, after Hastings: erfc(z) is
(1 + a1 z + ... + a6 z^6)^-16 for z >= 0, to 3e-7."""

_TAIL_POWERS = tuple(np.float32(2 ** (1 / 16) * a * 2 ** (-k / 2)) for k, a in enumerate((1.0, *_ERFC_POWERS)))
"""The same polynomial in u = z * sqrt(2), with the factor 1/2 drawn into it: P(u)^-16 is the normal tail beyond u."""


def gelu(x: Floats) -> None:
    """Apply the exact (erf) Gaussian error linear unit to a C-contiguous array, in place.

    Hendrycks and Gimpel (2016, arXiv:1606.08415): x times the normal distribution function of x. It is computed as
    ``max(x, 0) - |x| P(|x|)^-16``, so the error is that of the tail: at most 8e-7. NumPy has no erf; this costs 22
    vectorised passes, no table and no branch.
    """
    flat = x.reshape(-1)
    size = min(_GELU_BLOCK, flat.size)
    u_scratch, tail_scratch = np.empty(size, np.float32), np.empty(size, np.float32)
    for start in range(0, flat.size, _GELU_BLOCK):
        block = flat[start : start + _GELU_BLOCK]
        u, tail = u_scratch[: block.size], tail_scratch[: block.size]
        np.abs(block, out=u)
        np.minimum(u, np.float32(10.0), out=u)  # beyond 6 the tail is below 1e-9; beyond 25 its power overflows
        np.multiply(u, _TAIL_POWERS[-1], out=tail)
        for coefficient in _TAIL_POWERS[-2:0:-1]:
            tail += coefficient
            tail *= u
        tail += _TAIL_POWERS[0]
        for _ in range(4):
            np.square(tail, out=tail)
        np.divide(u, tail, out=tail)
        np.maximum(block, np.float32(0.0), out=block)
        block -= tail


def relu(x: Floats) -> None:
    """Replace what is below zero by zero, in place."""
    np.maximum(x, np.float32(0.0), out=x)


ACTIVATIONS: dict[str, Callable[[Floats], None]] = {"gelu": gelu, "relu": relu}
"""The feed-forward activations that are known, by the name a model's ``hidden_act`` gives."""

POOLINGS: tuple[str, ...] = ("mean", "cls")
"""How the vectors of the tokens become one: their mean, or that of the first token."""

UNSCALED = "unscaled"
"""The pooling of a model with a head: the first token's vector, as long as it is. No model of vectors has it."""


_MAX_LAYERS = 1000
"""BERT-large has 24; a file that says millions would be given a name for each of their tensors."""


@dataclass(frozen=True, slots=True)
class BertConfig:
    """The shape of a model. Raises ValueError where it is no shape this code can compute."""

    vocabulary: int
    """Rows of the word embedding."""
    hidden: int
    """Length of a token's vector, and of the result."""
    layers: int
    """Number of encoder layers."""
    heads: int
    """Attention heads in each; a divisor of `hidden`."""
    intermediate: int
    """Width of the feed-forward part."""
    positions: int
    """The most tokens a window may hold, special tokens included."""
    epsilon: float = 1e-12
    """What layer normalisation adds to the variance."""
    activation: str = "gelu"
    """One of `ACTIVATIONS`."""
    pooling: str = "mean"
    """One of `POOLINGS`, or `UNSCALED`."""

    def __post_init__(self) -> None:
        for name in ("vocabulary", "hidden", "layers", "heads", "intermediate", "positions"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, and at least 1 is needed")
        if self.layers > _MAX_LAYERS:
            raise ValueError(f"layers is {self.layers}, and at most {_MAX_LAYERS} can be read")
        if self.hidden % self.heads:
            raise ValueError(f"{self.heads} attention heads do not divide a hidden size of {self.hidden}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"the activation {self.activation!r} is not one of {', '.join(ACTIVATIONS)}")
        if self.pooling not in (*POOLINGS, UNSCALED):
            raise ValueError(f"the pooling {self.pooling!r} is not one of {', '.join(POOLINGS)}")


def expected_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor a model of this shape needs, as ``transformers`` names and lays them out."""
    d, f = config.hidden, config.intermediate
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config.vocabulary, d),
        "embeddings.position_embeddings.weight": (config.positions, d),
        "embeddings.token_type_embeddings.weight": (2, d),
        "embeddings.LayerNorm.weight": (d,),
        "embeddings.LayerNorm.bias": (d,),
    }
    for layer in range(config.layers):
        prefix = f"encoder.layer.{layer}."
        for name, rows, columns in (
            ("attention.self.query", d, d),
            ("attention.self.key", d, d),
            ("attention.self.value", d, d),
            ("attention.output.dense", d, d),
            ("intermediate.dense", f, d),
            ("output.dense", d, f),
        ):
            shapes[f"{prefix}{name}.weight"] = (rows, columns)
            shapes[f"{prefix}{name}.bias"] = (rows,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{prefix}{name}.weight"] = (d,)
            shapes[f"{prefix}{name}.bias"] = (d,)
    return shapes


def validate_tensors(
    config: BertConfig, tensors: Mapping[str, NDArray[np.floating]], *, finite: bool = True
) -> dict[str, Floats]:
    """Take the arrays a model needs out of `tensors`, as float32; others, a pooler's for example, are ignored.

    Args:
        finite: whether to look at every value; 15 ms for 22 million.

    Raises:
        ValueError: One is absent, has another shape than `expected_shapes` says, or holds a value that is not finite.
    """
    arrays = {}
    for name, shape in expected_shapes(config).items():
        if name not in tensors:
            raise ValueError(f"the tensor {name} is absent")
        if tensors[name].shape != shape:
            raise ValueError(f"the tensor {name} has the shape {tensors[name].shape}, expected {shape}")
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
            arrays[name] = np.asarray(tensors[name], dtype=np.float32)
        if finite and not np.isfinite(arrays[name]).all():
            raise ValueError(f"the tensor {name} holds a value that is not finite")
    return arrays


def pack_windows(windows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lay the token ids of all windows one behind the other: ``(tokens,) int64``, and ``(windows,) int64`` lengths.

    Raises:
        ValueError: A token id is no whole number, or none that 64 bits hold.
    """
    lengths = np.fromiter(map(len, windows), np.int64, len(windows))
    ids = np.array([*chain.from_iterable(windows)])
    if ids.size == 0:
        return np.zeros(0, np.int64), lengths
    if ids.dtype.kind != "i":
        raise ValueError("a token id is not a whole number of 64 bits")
    return ids.astype(np.int64, copy=False), lengths


@dataclass(frozen=True, slots=True)
class _LayerNorm:
    """Layer normalisation (Ba et al. 2016, arXiv:1607.06450)."""

    gain: Floats
    bias: Floats
    epsilon: float

    def __call__(self, x: Floats) -> None:
        """Normalise each row of ``(tokens, hidden) float32``, in place."""
        width = x.shape[1]
        x -= x.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)
        variance /= np.float32(width)
        variance += np.float32(self.epsilon)
        np.sqrt(variance, out=variance)
        x /= variance[:, None]
        x *= self.gain
        x += self.bias


@dataclass(frozen=True, slots=True)
class _EncoderLayer:
    """One encoder layer, its matrices transposed to ``(inputs, outputs)`` and contiguous: a tenth to a third faster."""

    qkv: Floats
    qkv_bias: Floats
    attention_output: Floats
    attention_output_bias: Floats
    attention_norm: _LayerNorm
    feed_forward_in: Floats
    feed_forward_in_bias: Floats
    feed_forward_out: Floats
    feed_forward_out_bias: Floats
    feed_forward_norm: _LayerNorm


class Bert:
    """A model ready to encode. It keeps no scratch between calls: any thread may encode, and nothing leaks across."""

    def __init__(self, config: BertConfig, tensors: Mapping[str, NDArray[np.floating]]) -> None:
        """Take the arrays a model needs out of `tensors`; others are ignored.

        Raises ValueError where `validate_tensors` does. An array that is float32 already is kept without a copy where
        it is used as it is (the embeddings); the matrices are transposed.
        """
        self.config = config
        arrays = validate_tensors(config, tensors)

        def array(name: str) -> Floats:
            return arrays[name]

        def matrix(name: str) -> Floats:
            return np.ascontiguousarray(array(f"{name}.weight").T)

        def norm(name: str) -> _LayerNorm:
            return _LayerNorm(array(f"{name}.weight"), array(f"{name}.bias"), config.epsilon)

        def layer(prefix: str) -> _EncoderLayer:
            attention = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
            qkv = np.concatenate([array(f"{name}.weight") for name in attention]).T
            bias = np.concatenate([array(f"{name}.bias") for name in attention])
            scale = np.ones(3 * config.hidden, np.float32)
            scale[: config.hidden] /= np.float32(math.sqrt(config.hidden / config.heads))  # queries come out scaled
            return _EncoderLayer(
                qkv=np.ascontiguousarray(qkv) * scale,
                qkv_bias=bias * scale,
                attention_output=matrix(f"{prefix}attention.output.dense"),
                attention_output_bias=array(f"{prefix}attention.output.dense.bias"),
                attention_norm=norm(f"{prefix}attention.output.LayerNorm"),
                feed_forward_in=matrix(f"{prefix}intermediate.dense"),
                feed_forward_in_bias=array(f"{prefix}intermediate.dense.bias"),
                feed_forward_out=matrix(f"{prefix}output.dense"),
                feed_forward_out_bias=array(f"{prefix}output.dense.bias"),
                feed_forward_norm=norm(f"{prefix}output.LayerNorm"),
            )

        self._word_embeddings = array("embeddings.word_embeddings.weight")
        # A window is one segment: the embedding of segment 0 is the same for every token, so it joins the positions.
        self._position_embeddings = (
            array("embeddings.position_embeddings.weight") + array("embeddings.token_type_embeddings.weight")[0]
        )
        self._norm = norm("embeddings.LayerNorm")
        self._layers = [layer(f"encoder.layer.{index}.") for index in range(config.layers)]
        self._activate = ACTIVATIONS[config.activation]

    def encode(self, token_ids: Sequence[int]) -> Floats:
        """Embed one window: ``(hidden,) float32`` of unit length, unless it is `UNSCALED`.

        `token_ids` are those of one text, special tokens included, nothing padded. The same tokens give the same bits
        on the same machine, for nothing else is ever computed beside them. Raises ValueError for no tokens, for
        more than `positions`, and for an id outside the vocabulary.
        """
        ids, _ = pack_windows([token_ids])
        if not 1 <= ids.size <= self.config.positions:
            raise ValueError(f"a window of {ids.size} tokens; the model takes 1 to {self.config.positions}")
        if ids.min() < 0 or ids.max() >= self.config.vocabulary:
            raise ValueError(f"a token id is outside the vocabulary of {self.config.vocabulary}")
        x = self._word_embeddings[ids]
        x += self._position_embeddings[: ids.size]
        self._norm(x)
        for layer in self._layers:
            self._forward_layer(layer, x)
        pooled: Floats = x.mean(axis=0) if self.config.pooling == "mean" else x[0]
        if self.config.pooling == UNSCALED:
            return pooled
        length = np.sqrt(np.dot(pooled, pooled))
        vector: Floats = pooled / np.maximum(length, np.float32(1e-12))
        return vector

    def _forward_layer(self, layer: _EncoderLayer, x: Floats) -> None:
        """Carry ``(tokens, hidden) float32`` through one layer, in place."""
        tokens, hidden = x.shape
        heads = self.config.heads
        qkv = x @ layer.qkv
        qkv += layer.qkv_bias
        query, key, value = qkv.reshape(tokens, 3, heads, hidden // heads).transpose(1, 2, 0, 3)
        weights = query @ key.transpose(0, 2, 1)
        weights -= weights.max(axis=2, keepdims=True)
        np.exp(weights, out=weights)
        context = np.empty((tokens, heads, hidden // heads), np.float32)
        np.matmul(weights, value, out=context.transpose(1, 0, 2))
        context /= weights.sum(axis=2).T[:, :, None]  # after the product: fewer values to divide
        mixed = context.reshape(tokens, hidden) @ layer.attention_output
        x += mixed
        x += layer.attention_output_bias
        layer.attention_norm(x)
        wide = x @ layer.feed_forward_in
        wide += layer.feed_forward_in_bias
        self._activate(wide)
        np.matmul(wide, layer.feed_forward_out, out=mixed)
        x += mixed
        x += layer.feed_forward_out_bias
        layer.feed_forward_norm(x)


class NativeBert:
    """A model ready to encode. It keeps no scratch between calls: any thread may encode, and nothing leaks across.

    In float32 it agrees with `Bert` to 1e-5. With bytes, where each row of a matrix has a scale of its own and
    activations are quantised as they come (Zafrir et al., Q8BERT, 2019, arXiv:1910.06188), the cosine of its vectors
    with `Bert`'s is 0.99 and more, and every instruction set gives the same bits.
    """

    def __init__(self, config: BertConfig, tensors: Mapping[str, NDArray[np.floating]], *, int8: bool) -> None:
        """Lay out the arrays a model needs; nothing of `tensors` is kept.

        Args:
            int8: whether to compute in bytes rather than in float32.

        Raises:
            ImportError: The native extension was not built.
            ValueError: A tensor is absent, has another shape, or holds a value that is not finite.
        """
        from mnemic._native import Encoder  # here, since it is absent where there was no cargo

        arrays = validate_tensors(config, tensors, finite=False)  # the extension looks at every value itself
        self.config = config
        self._encoder = Encoder(
            {name: np.require(array, np.float32, ["C", "A"]) for name, array in arrays.items()},
            vocabulary=config.vocabulary,
            hidden=config.hidden,
            layers=config.layers,
            heads=config.heads,
            intermediate=config.intermediate,
            positions=config.positions,
            epsilon=config.epsilon,
            activation=config.activation,
            pooling=config.pooling,
            int8=int8,
        )

    def encode(self, windows: Sequence[Sequence[int]], threads: int = 1) -> Floats:
        """Embed windows: ``(windows, hidden) float32`` of unit length unless `UNSCALED`, the GIL released.

        The same window gives the same bits, whatever it is embedded with and on however many threads.

        Args:
            windows: the token ids of each, special tokens included, nothing padded.
            threads: the most threads that share the work.

        Raises:
            ValueError: A window has no tokens or more than the model's positions, or a token is outside the vocabulary.
        """
        ids, lengths = pack_windows(windows)
        return self._encoder.encode(ids, lengths, threads)
