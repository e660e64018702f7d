"""Figures of many benches in one form: what was measured, of what, in which unit, and what that is worth.

A figure is a mean over questions, or was measured in several runs. Ratios, ours by another's of the same run, are what
later runs are compared by: other programs and another machine weigh on both alike. Above stands `mnemic.bench.report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from mnemic.bench.harness.statistics import mean_interval

OURS = "mnemic"
"""What is ours, among what was measured."""
_FEWEST_GROUPS = 5
_DIGITS = 6


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One figure, or why there is none."""

    part: str
    """The part of the run that it is of."""
    what: str
    """What was measured, sizes and data set included."""
    of: str
    """What it is of: `OURS`, or what stands beside it."""
    unit: str
    """Of the values."""
    better: Literal["more", "less"] = "more"
    """Which values are better."""
    values: tuple[float, ...] = ()
    """One of each run; empty where there is none."""
    scores: tuple[float, ...] = ()
    """What it is the mean of, one of each question, in their order; empty for what is no mean."""
    groups: tuple[str, ...] = ()
    """What each of these belongs to; empty where each is by itself."""
    interval: tuple[float, float] | None = None
    """What it may be as well, by `interval_of`."""
    ratio: tuple[float, float, float] | None = None
    """Ours by this one, and what that may be as well, by `ratio_of`."""
    n: int = 1
    """How many things it is of in one run: questions, turns, nodes."""
    p: float | None = None
    """How often chance would set it as far apart from ours, adjusted for how many are compared (Holm)."""
    parameters: dict[str, Any] = {}
    """What it was measured with besides."""
    state: Literal["ok", "skipped", "failed"] = "ok"
    """Whether it was measured."""
    why: str = ""
    """Why not, in a sentence."""
    commit: str = ""
    """Of what was measured."""
    machine: str = ""
    """It was measured on."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What figures that can be compared have in common: part, what and unit."""
        return self.part, self.what, self.unit

    @property
    def name(self) -> str:
        """In a line, as the history keeps its ratio."""
        return f"{self.part}: {self.what}, {self.unit}, {self.of}"


def mean_figure(scores: Sequence[float], groups: Sequence[str] = (), **fields: Any) -> Figure:
    """A figure that is the mean of scores, at least one."""
    kept = tuple(round(float(one), _DIGITS) for one in scores)
    return Figure(values=(float(np.mean(kept)),), scores=kept, groups=tuple(groups), n=len(kept), **fields)


def value_of(figure: Figure) -> float | None:
    """The median of its runs; none where it was not measured."""
    return float(np.median(figure.values)) if figure.values else None


def interval_of(figure: Figure) -> tuple[float, float] | None:
    """What a figure may be as well: of a mean 95 %, of runs the least and the most; none of a single run.

    Questions are drawn by their groups, where there are enough of these to be drawn from.
    """
    if len(figure.scores) > 1:
        return _interval(figure.scores, figure.groups)
    return (min(figure.values), max(figure.values)) if len(figure.values) > 1 else None


def ratio_of(ours: Figure, other: Figure) -> tuple[float, float, float] | None:
    """Ours by another's of the same runs and questions, with what that may be as well.

    None where one was not measured, or is 0.
    Of means 95 % of what the ratio is with questions drawn anew, both asked the same ones (linearized: W. Cochran,
    "Sampling Techniques", 1977, ch. 6); of runs the least and the most of their ratios.
    """
    if ours.scores and len(ours.scores) == len(other.scores):
        mine, theirs = np.array(ours.scores), np.array(other.scores)
        if not theirs.any():
            return None
        found = float(mine.mean() / theirs.mean())
        low, high = _interval(((mine - found * theirs) / theirs.mean()).tolist(), ours.groups)
        return found, found + low, found + high
    each = [mine / theirs for mine, theirs in zip(ours.values, other.values, strict=False) if theirs]
    return (float(np.median(each)), min(each), max(each)) if each else None


def finished(runs: Iterable[Figure], commit: str, machine: str) -> list[Figure]:
    """Figures of several runs, those of the same thing made one; with intervals, and beside ours with ratios."""
    found: dict[tuple[str, ...], Figure] = {}
    for one in runs:
        name = (*one.key, one.of)
        first = found.get(name)
        found[name] = one if first is None else msgspec.structs.replace(first, values=first.values + one.values)
    ours = {one.key: one for one in found.values() if one.of == OURS}
    return [
        msgspec.structs.replace(
            one,
            interval=one.interval or interval_of(one),
            ratio=ratio_of(ours[one.key], one) if one.of != OURS and one.key in ours else None,
            commit=commit,
            machine=machine,
        )
        for one in found.values()
    ]


def _interval(scores: Sequence[float], groups: Sequence[str]) -> tuple[float, float]:
    return mean_interval(scores, groups if len(set(groups)) >= _FEWEST_GROUPS else None)
