"""The hd bench: capacity, projection accuracy and speed of hypervectors, and the cost of structural queries.

Decoding: bundles of more and more pairs, item memories of more and more fillers, hypervectors of 1,024 to 16,384 bits;
what is counted must agree with the binomial law. A record bundles K pairs of role and filler. A role is unbound, and
what comes out is compared with an item memory of M fillers: right is where the nearest one is the filler that was
bound. The same holds where the order of things takes the place of roles: the i-th is permuted i times. Speed and the
mind are modules of their own beside this one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.bench.harness.measure import Row
from mnemic.bench.speed.embed_bench import paragraphs
from mnemic.bench.speed.hd.mind import measure_shape_queries
from mnemic.bench.speed.hd.routing import measure_routing
from mnemic.bench.speed.hd.speed import EMBEDDING, measure_speeds
from mnemic.hd.algebra import Algebra, default_algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.evidence import bit_agreement
from mnemic.hd.space import DIMENSIONS, Space
from mnemic.runtime.models.encoders import load_encoder

Order = Literal["roles", "places"]
"""What tells the pairs of a record apart: a role that each is bound with, or its place, by which it is permuted."""
Part = Literal["capacity", "projection", "speed", "routing", "mind"]
_SIZES = (1024, 2048, 4096, 8192, DIMENSIONS, 16384)
_CODEBOOKS = (16, 1000, 10_000)
_PAIRS = (2, 5, 12, 25, 50, 100, 200, 400, 800)
_DECODES = 1000
_UNLIKELY = 1e-6
"""What is counted is wrong where it, or what is further off, is less probable than this; some 200 are counted."""
_ANGLES = range(0, 181, 15)
_OF_EACH_ANGLE = 200
_TEXTS = 300
_REACH = 9.0  # standard deviations that the integral goes through on either side
_STEPS = 4001
_SELDOM = 1e-3
_LEAST = 1e-9


def run(
    *,
    parts: tuple[Part, ...] = ("capacity", "projection", "speed", "routing", "mind"),
    memories: int = 10_000,
    hypervectors: int = 100_000,
    rounds: int = 15,
    seed: int = 0,
    no_model: bool = False,
) -> Iterator[Row]:
    """Measure.

    Raises:
        OSError: a home cannot be made.
        ModelError: the model is there and cannot be used.
    """
    if "capacity" in parts:
        yield from capacities(default_algebra(), seed)
    if "projection" in parts:
        yield from projections(seed, model=not no_model)
    if "speed" in parts:
        yield from measure_speeds(_space(seed, DIMENSIONS), rounds, hypervectors)
    if "routing" in parts:
        yield from measure_routing(_space(seed, DIMENSIONS), hypervectors, seed, default_algebra())
    if "mind" in parts:
        yield from measure_shape_queries(memories, seed, model=not no_model)


# --- capacity --------------------------------------------------------------------------------------------------------


def capacities(algebra: Algebra, seed: int) -> Iterator[Row]:
    """Rows: how many fillers come out right, beside the two theories; and how many pairs there is room for."""
    for dimensions in _SIZES:
        for codebook in _CODEBOOKS:
            orders: tuple[Order, ...] = ("roles", "places") if dimensions == DIMENSIONS else ("roles",)
            for order in orders:
                for pairs in _PAIRS:
                    yield _decoding(_space(seed, dimensions), algebra, order, pairs, codebook)
            room = {"dimensions": dimensions, "codebook": codebook, "right": 0.99}
            yield {
                "what": "room",
                **room,
                "pairs": most_pairs(dimensions, codebook),
                "closed_form": closed_form_capacity(dimensions, codebook),
            }


def _decoding(space: Space, algebra: Algebra, order: Order, pairs: int, codebook: int) -> Row:
    right = exact_accuracy(space.dimensions, pairs, codebook)
    hits = count_correct(space, algebra, order, pairs, codebook, _DECODES)
    chance = tail_probability(hits, _DECODES, right)
    row = {
        "what": "decode",
        "by": order,
        "dimensions": space.dimensions,
        "codebook": codebook,
        "pairs": pairs,
        "accuracy": hits / _DECODES,
        "binomial": right,
        "frady_2018": gaussian_accuracy(space.dimensions, pairs, codebook),
        "bits_per_bit": pairs * information_bits(hits / _DECODES, codebook) / space.dimensions,
        "n": _DECODES,
    }
    if chance < _UNLIKELY:
        why = f"{hits} of {_DECODES} came out right where {right:.4f} were to: {chance:.1g}"
        return row | {"state": "failed", "why": why}
    return row


def exact_accuracy(dimensions: int, pairs: int, codebook: int) -> float:
    """How often the right filler is the nearest: the sum over all distances it may have, by the binomial law.

    Bits are independent of each other, and so are the distances of the wrong fillers. Of fillers that are equally
    near, the one that comes first is taken, which is the right one as often as any other.
    """
    wrong = _binomial(dimensions, 0.5)
    below = np.cumsum(wrong)
    below /= below[-1]
    nearer = np.concatenate([[0.0], below[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = (below**codebook - nearer**codebook) / (codebook * wrong)
    seldom = ((below + nearer) / 2) ** (codebook - 1)  # the same, to where the difference above drowns in rounding
    wins = np.where(codebook * wrong < _SELDOM, seldom, shared)
    return min(1.0, float(_binomial(dimensions, bit_agreement(pairs)) @ wins))


def gaussian_accuracy(dimensions: int, pairs: int, codebook: int) -> float:
    """The same as the integral of Frady, Kleyko and Sommer 2018, "A theory of sequence indexing and working memory in
    recurrent neural networks": distances are taken to be normal, and never equal.
    """
    right = bit_agreement(pairs)
    near, far = math.sqrt(right * (1 - right)), 0.5
    at = np.linspace(-_REACH, _REACH, _STEPS)
    density = np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    beyond = (at * near + (right - 0.5) * math.sqrt(dimensions)) / far
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in beyond])
    return float((density * below ** (codebook - 1)).sum() * (at[1] - at[0]))


def closed_form_capacity(dimensions: int, codebook: int, wrong: float = 0.01) -> float:
    """About how many pairs a record holds where `wrong` of the decoded fillers are: their high-fidelity limit, for BSC.

    The chance that one wrong filler is nearer is ``Q(s / sqrt 2)``, with the signal to noise ``s² = 2 D / (pi K)`` of
    a bundle of bits; ``wrong = (M - 1) Q(s / sqrt 2)``, with ``Q(x) = exp(-x² / 2) / (x sqrt(2 pi))``, is solved for
    ``s²``. As if no two wrong ones were ever nearer at once, so that it stays below `most_pairs`, by about a tenth.
    """
    squared = 4.0
    for _ in range(100):
        squared = 4 * max(0.25, math.log((codebook - 1) / wrong) - 0.5 * math.log(math.pi * squared))
    return 2 * dimensions / (math.pi * squared)


def most_pairs(dimensions: int, codebook: int, right: float = 0.99) -> int:
    """How many pairs a record may have at most for `right` of its fillers to be decoded rightly, by
    `exact_accuracy`.
    """
    low, high = 1, 2
    while exact_accuracy(dimensions, high, codebook) >= right:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact_accuracy(dimensions, middle, codebook) >= right else (low, middle)
    return low


def information_bits(right: float, codebook: int) -> float:
    """Bits that are known of a filler that is decoded rightly so often, and wrongly to any other alike."""
    wrong = 1.0 - right
    known = right * math.log2(right * codebook) if right > 0 else 0.0
    return known + (wrong * math.log2(wrong * codebook / (codebook - 1)) if wrong > 0 else 0.0)


def count_correct(space: Space, algebra: Algebra, order: Order, pairs: int, codebook: int, decodes: int) -> int:
    """How many of `decodes` fillers come out right, of as many records of `pairs` as it takes.

    All is drawn from the space's seed, which decides what comes out.
    """
    records = -(-decodes // pairs)
    chosen = _chance(space, "chosen", order, pairs, codebook).integers(0, codebook, (records, pairs))
    names = np.array([draw_hypervector(space, "bench role", str(number)) for number in range(pairs)])
    items = _items(space, codebook)
    if order == "roles":
        bound = algebra.bind(items[chosen.reshape(-1)], np.tile(names, (records, 1)))
    else:
        moved = [algebra.permute(items[chosen[:, place]], place) for place in range(pairs)]
        bound = np.stack(moved, axis=1).reshape(records * pairs, -1)
    ties = np.array([draw_hypervector(space, "bench tie", f"{order} {pairs} {number}") for number in range(records)])
    bundles = algebra.bundle_groups(bound, np.arange(0, records * pairs + 1, pairs, dtype=np.int64), ties)
    if order == "roles":
        asked = algebra.bind(np.repeat(bundles, pairs, axis=0), np.tile(names, (records, 1)))
    else:
        turned = [algebra.permute(bundles, -place) for place in range(pairs)]
        asked = np.stack(turned, axis=1).reshape(records * pairs, -1)
    found, _ = algebra.cleanup(items, np.ascontiguousarray(asked[:decodes]), 1)
    return int((found[:, 0] == chosen.reshape(-1)[:decodes]).sum())


def tail_probability(hits: int, decodes: int, right: float) -> float:
    """How probable it is to count `hits` or what is further from `right`, on the side that it is on: 0 to 1."""
    law = _binomial(decodes, min(max(right, _LEAST), 1 - _LEAST))
    return float(min(law[: hits + 1].sum(), law[hits:].sum()))


@lru_cache(maxsize=4)
def _items(space: Space, codebook: int) -> NDArray[np.uint64]:
    return np.array([draw_hypervector(space, "bench filler", str(number)) for number in range(codebook)])


def _chance(space: Space, *about: object) -> np.random.Generator:
    drawn = draw_hypervector(space, "bench chance", " ".join(map(str, about)))
    return np.random.default_rng(drawn[:4].tolist())


def _binomial(count: int, chance: float) -> NDArray[np.float64]:
    """How probable each number from 0 to `count` is, ``(count + 1,) float64``."""
    if chance >= 1.0:
        return np.append(np.zeros(count), 1.0)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    of = np.arange(count + 1)
    ways = logs[-1] - logs - logs[::-1]
    law: NDArray[np.float64] = np.exp(ways + of * math.log(chance) + (count - of) * math.log1p(-chance))
    return law


# --- projection ------------------------------------------------------------------------------------------------------


def projections(seed: int, *, model: bool) -> Iterator[Row]:
    """Rows: how similar the codes of two embeddings are, by the angle between them; and those of real texts."""
    space = _space(seed, DIMENSIONS)
    encoders, chance = RecordEncoder(space), np.random.default_rng(seed)
    for degrees in _ANGLES:
        one, other = chance.standard_normal((2, _OF_EACH_ANGLE, EMBEDDING))
        one /= np.linalg.norm(one, axis=1, keepdims=True)
        other -= np.einsum("ij,ij->i", one, other)[:, None] * one
        other /= np.linalg.norm(other, axis=1, keepdims=True)
        angle = np.radians(degrees)
        turned = (np.cos(angle) * one + np.sin(angle) * other).astype(np.float32)
        yield _projected(encoders, one.astype(np.float32), turned, float(np.cos(angle)))
    if not model:
        return
    encoder = load_encoder(None)
    texts = [encoder.encode([encoder.windows(text, 1)[0][0]])[0] for text in paragraphs(_TEXTS)]
    yield _of_texts(RecordEncoder(_space(seed, DIMENSIONS, encoder.dimensions)), np.array(texts, np.float32))


def _projected(encoders: RecordEncoder, one: Any, other: Any, cosine: float) -> Row:
    similarities = _similarities(encoders.project_embeddings(one), encoders.project_embeddings(other))
    expected = 1 - 2 * float(np.arccos(np.clip(cosine, -1, 1))) / np.pi
    return {
        "what": "projection",
        "cosine": cosine,
        "similarity": float(similarities.mean()),
        "expected": expected,
        "lowest": float(similarities.min()),
        "highest": float(similarities.max()),
        "spread": float(similarities.std()),
        "expected_spread": float(np.sqrt((1 - expected**2) / encoders.space.dimensions)),
        "n": len(similarities),
    }


def _of_texts(encoders: RecordEncoder, vectors: Any) -> Row:
    """Over all pairs of texts: how far codes are off what cosines say, and how many of the ten nearest stay so."""
    first, second = np.triu_indices(len(vectors), 1)
    cosines = np.clip(vectors @ vectors.T, -1, 1)
    codes = encoders.project_embeddings(vectors)
    similarity = np.eye(len(vectors))
    similarity[first, second] = similarity[second, first] = _similarities(codes[first], codes[second])
    off = similarity[first, second] - (1 - 2 * np.arccos(cosines[first, second]) / np.pi)
    for table in (cosines, similarity):
        np.fill_diagonal(table, -2.0)
    ten = [set(np.argsort(-table, axis=1)[:, :10][row]) for table in (cosines, similarity) for row in range(len(codes))]
    kept = [len(a & b) / 10 for a, b in zip(ten[: len(codes)], ten[len(codes) :], strict=True)]
    return {
        "what": "projection of texts",
        "texts": len(vectors),
        "mean_off": float(np.abs(off).mean()),
        "worst_off": float(np.abs(off).max()),
        "ten_nearest_kept": float(np.mean(kept)),
    }


def _similarities(codes: Any, others: Any) -> Any:
    return 1 - np.bitwise_count(codes ^ others).sum(axis=1) / (32 * codes.shape[1])


def _space(seed: int, dimensions: int, embedding: int = EMBEDDING) -> Space:
    drawn = hashlib.sha256(b"mnemic bench %d" % seed).digest()
    return Space(seed=drawn, dimensions=dimensions, model="bench", embedding_dimensions=embedding)
