"""Draws what a run shows, as SVG, by matplotlib: means over the nights, and differences with their intervals.

Colours and marks are those of `mnemic.bench.harness.plot`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from mnemic.bench.harness.plot import COLOURS, MARKS, new_figure, write_svg
from mnemic.experiment.analysis import Difference, Point
from mnemic.experiment.measures import short_name

_STYLES = ("-", "--", "-.", ":")


def draw_over_nights(points: Sequence[Point], measure: str, arms: Sequence[str]) -> str:
    """The mean of a measure against the number of nights, a line for each arm, with its interval.

    Raises:
        ExtraMissing: matplotlib is not installed.
    """
    figure, axes = new_figure(6.4, 3.6)
    shift = 0.06
    for number, arm in enumerate(arms):
        line = [one for one in points if (one.arm, one.measure) == (arm, measure)]
        if not line:
            continue
        across = [one.nights + shift * (number - len(arms) / 2) for one in line]
        axes.errorbar(
            across,
            [one.mean for one in line],
            yerr=[[one.mean - one.low for one in line], [one.high - one.mean for one in line]],
            label=arm,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKS[number % len(MARKS)],
            linestyle=_STYLES[number // len(COLOURS) % len(_STYLES)],
            capsize=3,
            markersize=5,
        )
    axes.set_xlabel("nights")
    axes.set_ylabel(short_name(measure))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return _svg(figure)


def draw_differences(differences: Sequence[Difference], measure: str) -> str:
    """Each arm's difference to the base arm, with its interval. Raises as `draw_over_nights`."""
    shown = [one for one in differences if one.measure == measure][::-1]
    figure, axes = new_figure(6.4, 1.0 + 0.4 * len(shown))
    for place, one in enumerate(shown):
        axes.errorbar(
            [one.difference],
            [place],
            xerr=[[one.difference - one.low], [one.high - one.difference]],
            color=COLOURS[0],
            marker="o",
            capsize=3,
        )
    axes.axvline(0.0, color="#444444", linewidth=1, linestyle=":")
    axes.set_yticks(range(len(shown)), [one.arm for one in shown])
    axes.set_ylim(-0.6, len(shown) - 0.4)
    base = shown[0].base if shown else ""
    axes.set_xlabel(f"{short_name(measure)}, less that of {base}")
    return _svg(figure)


def _svg(figure: Any) -> str:
    written = io.StringIO()
    write_svg(figure, written)
    _, tag, rest = written.getvalue().partition("<svg")
    return tag + rest
