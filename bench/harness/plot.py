"""Draws lines as SVG, both axes in powers of ten: enough for figures against size, without a library for plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

_WIDTH, _HEIGHT = 900, 480
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 20, 330, 50
_COLOURS = ("#1b6ca8", "#c0392b", "#27864a", "#8e44ad", "#b9770e", "#44546a")


class Line(NamedTuple):
    """One line of a plot."""

    name: str
    """What it shows."""
    points: Sequence[tuple[float, float]]
    """Where it goes, each above 0."""


def draw_lines(path: Path, up: str, across: str, lines: Sequence[Line]) -> None:
    """Write a plot.

    Args:
        up: what the vertical axis shows.
        across: what the other one shows.

    Raises:
        OSError: it cannot be written.
        ValueError: there is no point.
    """
    points = [point for line in lines for point in line.points]
    if not points:
        raise ValueError("there is nothing to draw")
    low, high = (
        [edge(math.log10(one)) for one in (choose(p[0] for p in points), choose(p[1] for p in points))]
        for edge, choose in ((math.floor, min), (math.ceil, max))
    )
    high = [max(top, bottom + 1) for top, bottom in zip(high, low, strict=True)]

    def place(point: tuple[float, float]) -> tuple[float, float]:
        share = [(math.log10(one) - b) / (t - b) for one, b, t in zip(point, low, high, strict=True)]
        return (
            _LEFT + share[0] * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - share[1] * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif"'
        ' font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    (left, bottom), (right, top) = place((10.0 ** low[0], 10.0 ** low[1])), place((10.0 ** high[0], 10.0 ** high[1]))
    for power in range(low[0], high[0] + 1):
        x, _ = place((10.0**power, 10.0 ** low[1]))
        parts.append(_rule(x, bottom, x, top) + _text(x, bottom + 18, f"{10**power:,}", "middle"))
    for power in range(low[1], high[1] + 1):
        _, y = place((10.0 ** low[0], 10.0**power))
        parts.append(_rule(left, y, right, y) + _text(left - 8, y + 4, f"{10.0**power:g}", "end"))
    parts.append(_text((left + right) / 2, bottom + 38, across, "middle"))
    parts.append(
        f'<g transform="rotate(-90 16 {(top + bottom) / 2})">{_text(16, (top + bottom) / 2, up, "middle")}</g>'
    )
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [place(point) for point in line.points]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = _TOP + 14 + 20 * number
        parts.append(f'<rect x="{right + 14}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(right + 30, y, line.name, "start"))
    path.write_text("\n".join([*parts, "</svg>\n"]), "utf-8")


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
