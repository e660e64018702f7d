"""Draws figures as SVG, by matplotlib: lines against size, and values with their intervals.

Colours are those of M. Okabe and K. Ito (2008), which people who see colours otherwise can tell apart; each has a mark
of its own besides. Words stay words in the file, so that they can be searched, and each line has its name as an id.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from mnemic.actors.kernel.errors import ExtraMissing

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""By number."""
MARKS = "osD^vPX"
"""By number; as many as there are colours."""
_NUMBER = "{x:,.10g}"


class Line(NamedTuple):
    """One line of a plot."""

    name: str
    """What it shows."""
    points: Sequence[tuple[float, float]]
    """Where it goes, each above 0; a share may be 0."""
    colour: int | None = None
    """The number of its colour and mark; where absent, that of the line."""
    style: str = "-"
    """As matplotlib names it: ``-``, ``--`` or ``:``."""


class Interval(NamedTuple):
    """One value of a plot, and what it is worth."""

    name: str
    """What it is of."""
    value: float
    low: float
    high: float


def draw_lines(
    path: Path, up: str, across: str, lines: Sequence[Line], *, share: bool = False, counted: bool = False
) -> None:
    """Write a plot of lines; both axes are in powers of ten.

    Args:
        up: what the vertical axis shows.
        across: what the other one shows.
        share: whether the vertical axis goes from 0 to 1 instead.
        counted: whether the other one counts 1, 2, 3 instead.

    Raises:
        OSError: it cannot be written.
        ValueError: there is no point.
        ExtraMissing: matplotlib is not installed.
    """
    if not any(line.points for line in lines):
        raise ValueError("there is nothing to draw")
    figure, axes = new_figure(9.0, 4.4 + 0.18 * len(lines))
    from matplotlib.ticker import LogFormatter

    for number, line in enumerate(lines):
        colour = number if line.colour is None else line.colour
        drawn = axes.plot(
            *zip(*line.points, strict=True) if line.points else ((), ()),
            label=line.name,
            color=COLOURS[colour % len(COLOURS)],
            marker=MARKS[colour % len(MARKS)],
            linestyle=line.style,
            markersize=5,
        )
        drawn[0].set_gid(line.name)
    if counted:
        places = [place for line in lines for place, _ in line.points]
        axes.set_xlim(min(places) - 0.5, max(places) + 0.5)
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    else:
        axes.set_xscale("log")
    if share:
        axes.set_ylim(-0.02, 1.02)
    else:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(LogFormatter())  # which tells them where there are few
    axes.xaxis.set_major_formatter(_NUMBER)
    axes.yaxis.set_major_formatter(_NUMBER)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(color="#dddddd", linewidth=0.6)
    figure.legend(loc="outside lower left", frameon=False, fontsize=8)
    write_svg(figure, path)


def draw_intervals(path: Path, across: str, given: Sequence[Interval]) -> None:
    """Write a plot of values with their intervals, one below the other. Raises as `draw_lines`."""
    if not given:
        raise ValueError("there is nothing to draw")
    figure, axes = new_figure(9.0, 1.0 + 0.3 * len(given))
    for place, one in enumerate(reversed(given)):
        spread = [[max(0.0, one.value - one.low)], [max(0.0, one.high - one.value)]]
        (mark, _, _) = axes.errorbar([one.value], [place], xerr=spread, color=COLOURS[0], marker="o", capsize=3)
        mark.set_gid(one.name)
    axes.set_yticks(range(len(given)), [one.name for one in reversed(given)])
    axes.set_ylim(-0.6, len(given) - 0.4)
    axes.set_xlabel(across)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    write_svg(figure, path)


def check_plots() -> None:
    """Find out whether plots can be drawn. Raises ExtraMissing: matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise ExtraMissing(what="A plot", module="matplotlib", extra="research")


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure of so many inches, and its axes. Raises as `check_plots`."""
    check_plots()
    import matplotlib as mpl  # here: it takes half a second
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "mnemic", "svg.fonttype": "none", "font.size": 10})
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def write_svg(figure: Any, file: Path | TextIO) -> None:
    """Write a figure, the same for the same; into a file that is open, too."""
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
