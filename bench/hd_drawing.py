"""The hd bench's figures as a picture: what was counted, as dots, over what theory says, as lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mnemic.bench.capacity import exact, gaussian

__all__ = ["plot"]

_COLOURS = ("#1f4e79", "#2a78d6", "#1baf7a", "#b07d00", "#e34948", "#7b4bb3")
_FEWEST, _MOST, _STEPS = 2, 1200, 60
_EPISODE = 12


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
        theory = [exact(dimensions, int(one), codebook) for one in pairs]
        axes.plot(pairs, theory, color=colour, linewidth=1.6, label=label.format(name))
        normal = [gaussian(dimensions, int(one), codebook) for one in pairs]
        axes.plot(pairs, normal, color="black", linewidth=0.8, linestyle=(0, (2, 4)))
        dots = [row for row in rows if row[of] == name]
        spread = [1.96 * (row["accuracy"] * (1 - row["accuracy"]) / row["n"]) ** 0.5 for row in dots]
        at, found = [row["pairs"] for row in dots], [row["accuracy"] for row in dots]
        axes.errorbar(at, found, spread, color=colour, fmt="o", markersize=4, linewidth=1)
    axes.axvline(_EPISODE, color="grey", linewidth=0.8, linestyle=":")
    axes.annotate("an episode", (_EPISODE, 0.98), color="grey", rotation=90, ha="right", va="top", fontsize=8)
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
