"""The gate: a quick run now, beside the last quick one that was stored; a loss beyond noise fails.

Ratios are compared, ours by each other one's, so that another machine or other programs weigh on both alike. Noise is
judged by what a figure is:

* a mean over questions: by question, how much less ours is ahead of the other than it was. It is lost where the whole
  95 % interval of the mean of that lies below 0, and the questions are the same;
* a time, a rate or a size: lost where the ratio of every run now is worse than that of every run then, and the median
  by more than a tenth. With fewer than three runs on either side nothing is known of the spread, and it is not
  compared; nor is ours by what takes less than half a millisecond.

What seems lost is measured once more, and is lost where it is again. `quick` holds four ratios to a file of the
repository in place of that (`mnemic.bench.report.quick_gate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from mnemic.bench.harness.figures import OURS, Figure
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.statistics import mean_interval
from mnemic.bench.report import quick_gate
from mnemic.bench.report.all_bench import FOLDER, row_of, with_peers
from mnemic.bench.report.parts import PARTS, PartName, Plan, measure
from mnemic.bench.report.stored_run import read_run, run_path

REFERENCE = "gate.json"
"""What the quick gate is held to; beside the last runs."""
_FEWEST_RUNS = 3
_LEAST_LOSS = 1.1
_LEAST_MS = 0.5
"""What takes less differs from one process to the next by more than any loss that is looked for."""


def run(
    *,
    quick: bool = False,
    write: bool = False,
    parts: tuple[PartName, ...] = PARTS,
    locomo: Path | None = None,
    developers: Path | None = None,
    questions: int | None = None,
    memories: tuple[int, ...] = (),
    mempalace: Path | None = None,
    mem0: Path | None = None,
    rounds: int = 3,
    into: Path = Path("docs"),
    seed: int = 0,
) -> Iterator[Row]:
    """Compare a quick run with the stored one; the arguments are those of `mnemic.bench.report.all_bench.run`.

    Args:
        quick: compare four ratios alone, with those of the file `REFERENCE`; needs `developers` and no other argument.
        write: with `quick`, keep this run in that file instead.

    Raises:
        ValueError: no quick run is stored, or it has nothing in common with this one.
        OSError: it cannot be read.
    """
    if quick or write:
        if developers is None or not quick:
            raise ValueError("the quick gate asks conversations: give --quick and --developers FOLDER")
        yield from quick_gate.run(developers, into / FOLDER / REFERENCE, write=write)
        return
    path = run_path(into / FOLDER, True)
    if not path.exists():
        raise ValueError(f"no quick run is stored as {path}: run `python -m mnemic.bench all --quick` first")
    stored = [one for one in read_run(path).figures if one.part in parts]
    plan = Plan(quick=True, locomo=locomo, developers=developers, questions=questions, memories=memories, seed=seed)
    plan, _ = with_peers(plan, mempalace, mem0)
    fresh = measure(plan, parts, rounds)
    rows = compare(stored, fresh)
    if not any(row["state"] in ("ok", "failed") for row in rows):
        raise ValueError(f"nothing of this run can be compared with {path}: give both the same data and sizes")
    doubtful = {row["part"] for row in rows if row["state"] == "failed"}
    if doubtful:
        again = compare(stored, measure(plan, [part for part in parts if part in doubtful], rounds))
        lost = {row["what"] for row in again if row["state"] == "failed"}
        rows = [
            row | {"state": "ok", "why": "not when measured once more"}
            if row["state"] == "failed" and row["what"] not in lost
            else row
            for row in rows
        ]
    yield from (row_of(one) for one in fresh if one.state == "failed")
    yield from rows


def compare(stored: Sequence[Figure], fresh: Sequence[Figure]) -> list[Row]:
    """A row for each ratio of either run: ``ok``, ``failed`` where it is lost, or ``not compared`` and why."""
    then, now = _beside_ours(stored), _beside_ours(fresh)
    rows = []
    for name in dict.fromkeys([*then, *now]):
        part = (then.get(name) or now[name])[1].part
        row: Row = {"part": part, "what": name}
        if name in then and name in now:
            (_, before), (_, after) = then[name], now[name]
            assert before.ratio is not None
            assert after.ratio is not None
            row |= {"then": before.ratio[0], "now": after.ratio[0], **_judged(then[name], now[name])}
        else:
            row |= {"state": "not compared", "why": f"it was not measured {'now' if name in then else 'then'}"}
        rows.append(row)
    return rows


def _beside_ours(figures: Sequence[Figure]) -> dict[str, tuple[Figure, Figure]]:
    """Ours and the other one of each ratio, by its name."""
    ours = {one.key: one for one in figures if one.of == OURS}
    return {one.name: (ours[one.key], one) for one in figures if one.ratio is not None and one.key in ours}


def _judged(then: tuple[Figure, Figure], now: tuple[Figure, Figure]) -> Row:
    up = 1.0 if now[1].better == "more" else -1.0
    if now[1].scores:
        digests = {one.parameters.get("digest") for one in (*then, *now)}
        if len(digests) > 1 or len({len(one.scores) for one in (*then, *now)}) > 1:
            return {"state": "not compared", "why": "other questions were asked"}
        ahead_then, ahead_now = (np.subtract(ours.scores, other.scores) for ours, other in (then, now))
        low, high = mean_interval(up * (ahead_now - ahead_then))
        if high < 0:
            return {"state": "failed", "why": f"less ahead than it was by {-high:.2g} to {-low:.2g} {now[1].unit}"}
        return {"state": "ok"}
    if min(len(one.values) for one in (*then, *now)) < _FEWEST_RUNS:
        return {"state": "not compared", "why": f"fewer than {_FEWEST_RUNS} runs tell no spread"}
    if now[1].unit.startswith("ms") and min(min(one.values) for one in (then[1], now[1])) < _LEAST_MS:
        return {"state": "not compared", "why": f"less than {_LEAST_MS} ms is as much chance as time"}
    before, after = then[1].ratio, now[1].ratio
    assert before is not None
    assert after is not None
    if up < 0:
        worse, by = after[1] > before[2], after[0] / before[0]
    else:
        worse, by = after[2] < before[1], before[0] / after[0]
    if worse and by > _LEAST_LOSS:
        return {"state": "failed", "why": f"every run is worse than every run then, the median by {by - 1:.0%}"}
    return {"state": "ok"}
