"""The page that a whole run writes: one table of all figures, and plots of quality, latency and the history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mnemic.bench.harness.figures import Figure, value_of
from mnemic.bench.harness.plot import Interval, Line, draw_intervals, draw_lines
from mnemic.bench.report.stored_run import HistoryLine, StoredRun

_HEAD = (
    ("part", "what", "of", "value", "interval", "unit", "better", "n", "mnemic by this", "p"),
    ("parameters", "commit", "machine"),
)
_SIZED = re.compile(r"(.*), ([\d,]+) memories")


def write_page(page: Path, plots: Path, run: StoredRun, history: Sequence[HistoryLine]) -> None:
    """Write the page and its plots.

    Args:
        page: a file of Markdown.
        plots: a folder beside it.

    Raises:
        OSError: one cannot be written.
        ExtraMissing: matplotlib is not installed.
    """
    drawn = [
        (name, words)
        for name, words, draw in (
            ("quality.svg", "Mean reciprocal rank of each, with its interval", _draw_quality),
            ("latency.svg", "Latency against the size of a mind, 95th percentile", _draw_latency),
        )
        if draw(plots / name, run.figures)
    ]
    if _draw_history(plots / "history.svg", history):
        drawn.append(("history.svg", "Ratios of the runs so far"))
    machines = list(dict.fromkeys(one.machine for one in run.figures))
    size = "small sizes (`--quick`): for comparisons with later runs, not for claims" if run.quick else "full sizes"
    lines = [
        "# Benchmarks",
        "",
        "Written by `python -m mnemic.bench all`; [benches](benches.md#all) tells how to read and repeat it. "
        f"Last run {run.at}, {size}.",
        "",
        *(f"* Machine {number}: {words}" for number, words in enumerate(machines, 1)),
        f"* Versions: {', '.join(f'{name} {number}' for name, number in run.versions.items())}",
        "",
        *(f"![{words}]({plots.name}/{name})\n" for name, words in drawn),
        "The interval of a mean over questions is of 95 % (bootstrap), that of other values the least and the most of"
        " all runs; “mnemic by this” is the ratio of ours to the row's value, measured in the same run, with its"
        " interval; p is of a paired test against ours, adjusted for how many are compared.",
        "",
        *_table([head for part in _HEAD for head in part], [_cells(one, machines) for one in run.figures]),
    ]
    page.write_text("\n".join(lines) + "\n", "utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]


def _cells(one: Figure, machines: Sequence[str]) -> list[str]:
    told = value_of(one)
    interval = _short(*one.interval, between=" – ") if one.interval else ""
    ratio = _short(one.ratio[0]) if one.ratio else ""
    if one.ratio and one.ratio[1] < one.ratio[2]:
        ratio += f" ({_short(*one.ratio[1:], between=' – ')})"
    if told is None:
        cells = [f"{one.state}: {one.why}", "", "", "", ""]
    else:
        cells = [_short(told), interval, one.unit, one.better, str(one.n)]
    parameters = ", ".join(f"{name} {value}" for name, value in one.parameters.items())
    chance = "" if one.p is None else f"{one.p:.2g}"
    return [
        *(one.part, one.what, one.of, *cells, ratio, chance),
        *(parameters, one.commit, str(machines.index(one.machine) + 1)),
    ]


def _short(*values: float, between: str = "") -> str:
    return between.join(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" for value in values)


def _draw_quality(path: Path, figures: Sequence[Figure]) -> bool:
    found = [
        Interval(f"{one.what.partition(':')[0]}: {one.of}", value, *one.interval)
        for one in figures
        if one.part == "quality"
        and one.what.endswith(": MRR")
        and one.interval
        and (value := value_of(one)) is not None
    ]
    if found:
        draw_intervals(path, "mean reciprocal rank of the first right conversation", found)
    return bool(found)


def _draw_latency(path: Path, figures: Sequence[Figure]) -> bool:
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in figures:
        sized, value = _SIZED.fullmatch(one.what), value_of(one)
        if sized and one.part == "latency" and one.unit == "ms, 95th percentile" and value:
            name = one.of if sized[1] == "find" else f"{one.of}, {sized[1]}"
            lines.setdefault(name, []).append((float(sized[2].replace(",", "")), value))
    if lines:
        draw_lines(path, "milliseconds, 95th percentile", "memories", [Line(*one) for one in lines.items()])
    return bool(lines)


def _draw_history(path: Path, history: Sequence[HistoryLine]) -> bool:
    """Of each part and size the first ratio of its last run, through all runs."""
    shown: dict[tuple[bool, str], str] = {}
    for line in history:
        first: dict[tuple[bool, str], str] = {}
        for name in line.ratios:
            first.setdefault((line.quick, name.partition(":")[0]), name)
        shown |= first
    lines = []
    for number, ((quick, _), name) in enumerate(shown.items()):
        points = [
            (float(place), line.ratios[name][0])
            for place, line in enumerate(history, 1)
            if line.quick == quick and line.ratios.get(name, (0.0,))[0] > 0
        ]
        lines.append(Line(f"{'quick, ' if quick else ''}{name}", points, number, "--" if quick else "-"))
    lines = [line for line in lines if line.points]
    if lines:
        draw_lines(path, "mnemic by the one that is named last", "run", lines, counted=True)
    return bool(lines)
