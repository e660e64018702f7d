"""The hd bench: capacity, projection accuracy and speed of hypervectors, and the cost of structural queries.

Decoding: bundles of more and more pairs, item memories of more and more fillers, hypervectors of 1,024 to 16,384 bits;
what is counted must agree with the binomial law. Each part is a module of its own beside this one.

The hd bench's figures as a picture: what was counted, as dots, over what theory says, as lines.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.bench.speed.embed_bench import paragraphs
from mnemic.bench.speed.hd_capacity import (
    Order,
    closed_form_capacity,
    count_correct,
    exact_accuracy,
    gaussian_accuracy,
    information_bits,
    most_pairs,
    tail_probability,
)
from mnemic.bench.speed.hd_mind import measure_shape_queries
from mnemic.bench.speed.hd_speed import EMBEDDING, measure_speeds
from mnemic.hd.algebra import Algebra, default_algebra
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.space import DIMENSIONS, Space
from mnemic.runtime.models.encoders import load_encoder

__all__ = ["plot", "run"]

_COLOURS = ("#1f4e79", "#2a78d6", "#1baf7a", "#b07d00", "#e34948", "#7b4bb3")
_FEWEST, _MOST, _STEPS = 2, 1200, 60
_EPISODE_PAIRS = 12


def plot(rows: list[dict[str, Any]], path: Path, codebook: int, dimensions: int) -> None:
    """Write the picture, in the format that the file's name says.

    Args:
        rows: the bench's.
        codebook: the item memory of the panel in which dimensions are compared.
        dimensions: of the panel in which item memories are.

    Raises:
        ValueError: matplotlib is not installed, or cannot write such a file.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError as missing:
        raise ValueError(f"{missing.name} is not installed: pip install 'mnemic[bench]'") from missing
    figure = Figure(figsize=(17, 5.2), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    counted = [row for row in rows if row["what"] == "decode" and row["by"] == "roles"]
    sizes = sorted({row["dimensions"] for row in counted})
    among = [row for row in counted if row["codebook"] == codebook]
    _decoding(first, among, "dimensions", [(size, codebook) for size in sizes], "{:,} bits")
    first.set_title(f"A filler among {codebook:,}, by the bits of a hypervector", loc="left")
    books = sorted({row["codebook"] for row in counted})
    of = [row for row in counted if row["dimensions"] == dimensions]
    _decoding(second, of, "codebook", [(dimensions, book) for book in books], "among {:,}")
    second.set_title(f"{dimensions:,} bits, by the fillers of the item memory", loc="left")
    _projection(third, [row for row in rows if row["what"] == "projection"])
    figure.savefig(path, dpi=110)


def _decoding(axes: Any, rows: list[dict[str, Any]], of: str, lines: list[tuple[int, int]], label: str) -> None:
    pairs = np.unique(np.geomspace(_FEWEST, _MOST, _STEPS).astype(int))
    for colour, (dimensions, codebook) in zip(_COLOURS, lines, strict=False):
        name = dimensions if of == "dimensions" else codebook
        theory = [exact_accuracy(dimensions, int(one), codebook) for one in pairs]
        axes.plot(pairs, theory, color=colour, linewidth=1.6, label=label.format(name))
        normal = [gaussian_accuracy(dimensions, int(one), codebook) for one in pairs]
        axes.plot(pairs, normal, color="black", linewidth=0.8, linestyle=(0, (2, 4)))
        dots = [row for row in rows if row[of] == name]
        spread = [1.96 * (row["accuracy"] * (1 - row["accuracy"]) / row["n"]) ** 0.5 for row in dots]
        at, found = [row["pairs"] for row in dots], [row["accuracy"] for row in dots]
        axes.errorbar(at, found, spread, color=colour, fmt="o", markersize=4, linewidth=1)
    axes.axvline(_EPISODE_PAIRS, color="grey", linewidth=0.8, linestyle=":")
    axes.annotate("an episode", (_EPISODE_PAIRS, 0.98), color="grey", rotation=90, ha="right", va="top", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("pairs bundled in one hypervector")
    axes.set_ylabel("fillers decoded rightly")
    axes.grid(alpha=0.25)
    axes.plot([], [], color="black", linewidth=0.8, linestyle=(0, (2, 4)), label="Frady et al. 2018, integral")
    axes.legend(fontsize=8, frameon=False, loc="lower left", title="line: binomial; dot: counted", title_fontsize=8)


def _projection(axes: Any, rows: list[dict[str, Any]]) -> None:
    cosines = np.linspace(-1, 1, 201)
    axes.plot(cosines, 1 - 2 * np.arccos(cosines) / np.pi, color=_COLOURS[1], linewidth=1.6, label="1 - 2 angle / pi")
    at, mean = [row["cosine"] for row in rows], np.array([row["similarity"] for row in rows])
    low, high = (np.array([row[name] for row in rows]) for name in ("lowest", "highest"))
    axes.errorbar(
        at, mean, [mean - low, high - mean], color=_COLOURS[4], fmt="o", markersize=4, linewidth=1, label="counted"
    )
    axes.set_xlabel("cosine of two embeddings")
    axes.set_ylabel("similarity of their hypervectors")
    axes.set_title("Meaning, projected on hyperplanes (lowest to highest)", loc="left")
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)


_SIZES = (1024, 2048, 4096, 8192, DIMENSIONS, 16384)
_CODEBOOKS = (16, 1000, 10_000)
_PAIRS = (2, 5, 12, 25, 50, 100, 200, 400, 800)
_DRAWN_CODEBOOK = 1000
_DECODES = 1000
_UNLIKELY = 1e-6
"""What is counted is wrong where it, or what is further off, is less probable than this; some 200 are counted."""
_ANGLES = range(0, 181, 15)
_OF_EACH_ANGLE = 200
_TEXTS = 300
_PARTS = ("capacity", "projection", "speed", "mind")


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure, and draw where a file is named.

    Raises:
        ValueError: there is no such part, too little of something is asked for, or nothing can be drawn with.
        OSError: the drawing cannot be written, or a home cannot be made.
        ModelError: the model is there and cannot be used.
    """
    parts = arguments.parts or _PARTS
    if unknown := set(parts) - set(_PARTS):
        raise ValueError(f"there is no part {min(unknown)!r} of it, but {', '.join(_PARTS)}")
    if arguments.plot is not None and not {"capacity", "projection"} <= set(parts):
        raise ValueError("a drawing shows capacity and projection: leave neither out")
    if min(arguments.rounds, arguments.memories, arguments.hypervectors) < 1:
        raise ValueError("there must be 1 round, 1 memory and 1 hypervector or more")
    algebra = default_algebra()
    rows: list[dict[str, Any]] = []
    if "capacity" in parts:
        rows += capacities(algebra, arguments.seed)
    if "projection" in parts:
        rows += projections(arguments.seed, model=not arguments.no_model)
    if arguments.plot is not None:
        plot(rows, Path(arguments.plot), _DRAWN_CODEBOOK, DIMENSIONS)
        rows.append({"what": "drawing", "file": str(arguments.plot)})
    if "speed" in parts:
        rows += measure_speeds(_space(arguments.seed, DIMENSIONS), arguments.rounds, arguments.hypervectors)
    if "mind" in parts:
        rows += measure_shape_queries(arguments.memories, arguments.seed, model=not arguments.no_model)
    return rows


def capacities(algebra: Algebra, seed: int) -> Iterator[dict[str, Any]]:
    """Rows: how many fillers come out right, beside the two theories; and how many pairs there is room for."""
    for dimensions in _SIZES:
        for codebook in _CODEBOOKS:
            orders: tuple[Order, ...] = ("roles", "places") if dimensions == DIMENSIONS else ("roles",)
            for order in orders:
                for pairs in _PAIRS:
                    yield _decoding_hd_bench(_space(seed, dimensions), algebra, order, pairs, codebook)
            room = {"dimensions": dimensions, "codebook": codebook, "right": 0.99}
            yield {
                "what": "room",
                **room,
                "pairs": most_pairs(dimensions, codebook),
                "closed_form": closed_form_capacity(dimensions, codebook),
            }


def _decoding_hd_bench(space: Space, algebra: Algebra, order: Order, pairs: int, codebook: int) -> dict[str, Any]:
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


def projections(seed: int, *, model: bool) -> Iterator[dict[str, Any]]:
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


def _projected(encoders: RecordEncoder, one: Any, other: Any, cosine: float) -> dict[str, Any]:
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


def _of_texts(encoders: RecordEncoder, vectors: Any) -> dict[str, Any]:
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
