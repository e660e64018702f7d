"""Draws lines as SVG: enough for figures against size, without a library for plots.

The horizontal axis is in powers of ten; the other one too, or it shows shares from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

_WIDTH, _HEIGHT = 900, 480
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 20, 330, 50
_SHARE_TICKS = 5
_COLOURS = ("#1b6ca8", "#c0392b", "#27864a", "#8e44ad", "#b9770e", "#44546a")


class Line(NamedTuple):
    """One line of a plot."""

    name: str
    """What it shows."""
    points: Sequence[tuple[float, float]]
    """Where it goes, each above 0; a share may be 0."""
    colour: int | None = None
    """The number of its colour; where absent, that of the line."""
    dash: str = ""
    """SVG's ``stroke-dasharray``; where empty, the line is solid."""


def draw_lines(path: Path, up: str, across: str, lines: Sequence[Line], *, share: bool = False) -> None:
    """Write a plot.

    Args:
        up: what the vertical axis shows.
        across: what the other one shows.
        share: whether the vertical axis goes from 0 to 1.

    Raises:
        OSError: it cannot be written.
        ValueError: there is no point.
    """
    points = [point for line in lines for point in line.points]
    if not points:
        raise ValueError("there is nothing to draw")
    left_power, right_power = _powers([x for x, _ in points])
    bottom_power, top_power = (0, 1) if share else _powers([y for _, y in points])

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x, y = math.log10(point[0]), point[1] if share else math.log10(point[1])
        return (
            _LEFT + (x - left_power) / (right_power - left_power) * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - (y - bottom_power) / (top_power - bottom_power) * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif"'
        ' font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    up_ticks = (
        [number / _SHARE_TICKS for number in range(_SHARE_TICKS + 1)]
        if share
        else [10.0**power for power in range(bottom_power, top_power + 1)]
    )
    (left, bottom), (right, top) = place((10.0**left_power, up_ticks[0])), place((10.0**right_power, up_ticks[-1]))
    for power in range(left_power, right_power + 1):
        x, _ = place((10.0**power, up_ticks[0]))
        parts.append(_rule(x, bottom, x, top) + _text(x, bottom + 18, f"{10**power:,}", "middle"))
    for tick in up_ticks:
        _, y = place((10.0**left_power, tick))
        parts.append(_rule(left, y, right, y) + _text(left - 8, y + 4, f"{tick:g}", "end"))
    parts.append(_text((left + right) / 2, bottom + 38, across, "middle"))
    parts.append(
        f'<g transform="rotate(-90 16 {(top + bottom) / 2})">{_text(16, (top + bottom) / 2, up, "middle")}</g>'
    )
    for number, line in enumerate(lines):
        colour = _COLOURS[(number if line.colour is None else line.colour) % len(_COLOURS)]
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        places = [place(point) for point in line.points]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = _TOP + 14 + 20 * number
        parts.append(
            f'<line x1="{right + 14}" y1="{y - 4}" x2="{right + 42}" y2="{y - 4}" stroke="{colour}"'
            f' stroke-width="3"{dash}/>'
        )
        parts.append(_text(right + 50, y, line.name, "start"))
    path.write_text("\n".join([*parts, "</svg>\n"]), "utf-8")


def _powers(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten that values lie between, one apart at least."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
