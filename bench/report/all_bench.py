"""The whole run: quality, latency, footprint, ingest, communities and nights, beside peers, in one table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mnemic.bench.harness.figures import Figure, value_of
from mnemic.bench.harness.machine import versions
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.plot import check_plots
from mnemic.bench.report.claims import write_claims
from mnemic.bench.report.parts import PARTS, PEERS, PartName, Plan, measure, peers_there
from mnemic.bench.report.stored_run import read_history, read_run, run_path, store_run
from mnemic.bench.report.table import write_page

PAGE, FOLDER = "BENCHMARKS.md", "benchmarks"
"""What is written: a page, and beside it a folder with plots, the last runs and the history."""
_PACKAGES = ("numpy", "apsw-sqlite3mc", "sqlite-vec", "igraph", "leidenalg", "networkx", "torch")


def run(
    *,
    parts: tuple[PartName, ...] = PARTS,
    quick: bool = False,
    locomo: Path | None = None,
    longmemeval: tuple[Path, ...] = (),
    developers: Path | None = None,
    questions: int | None = None,
    memories: tuple[int, ...] = (),
    mempalace: Path | None = None,
    mem0: Path | None = None,
    rounds: int = 3,
    into: Path = Path("docs"),
    seed: int = 0,
) -> Iterator[Row]:
    """Run the parts, keep what they found, and write the page anew; of a full run also what other pages tell of it.

    Args:
        memories: sizes of minds whose latency is measured, in place of those of the run.
        mempalace, mem0: the interpreters of environments that these are installed in; where absent, those that
            ``MNEMIC_MEMPALACE`` and ``MNEMIC_MEM0`` name.
        rounds: how often what takes time is measured.
        into: a folder, for `PAGE` and `FOLDER`. The page tells the last full run, where there was one.

    Raises:
        OSError: it cannot be written.
        ValueError: a file that is kept there is something else.
        ExtraMissing: matplotlib is not installed.
    """
    check_plots()
    folder = into / FOLDER
    read_history(folder)  # what cannot be written in the end is told at once
    if run_path(folder, quick).exists():
        read_run(run_path(folder, quick))
    plan = Plan(
        quick=quick,
        locomo=locomo,
        longmemeval=longmemeval,
        developers=developers,
        questions=questions,
        memories=memories,
        seed=seed,
    )
    plan, of_peers = with_peers(plan, mempalace, mem0)
    figures = measure(plan, parts, rounds)
    stored = store_run(folder, figures, quick, versions(_PACKAGES) | of_peers)
    full = run_path(folder, False)
    last = read_run(full) if full.exists() else stored
    write_page(into / PAGE, folder, last, read_history(folder))
    if not last.quick:
        write_claims(into, last)
    yield from map(row_of, figures)


def with_peers(plan: Plan, mempalace: Path | None, mem0: Path | None) -> tuple[Plan, dict[str, str]]:
    """The plan with the peers that can be asked, by arguments or environment, and their versions."""
    named = dict(zip(PEERS, (mempalace, mem0), strict=True))
    for title in named:
        set_there = os.environ.get(f"MNEMIC_{title.upper()}")
        if named[title] is None and set_there:
            named[title] = Path(set_there)
    peers, missing, found = peers_there(named)
    return msgspec.structs.replace(plan, peers=peers, missing=missing), found


def row_of(figure: Figure) -> Row:
    """A figure as every bench tells it."""
    row: Row = {"part": figure.part, "what": figure.what, "of": figure.of}
    value = value_of(figure)
    if value is None:
        return row | {"state": figure.state, "why": figure.why}
    row |= {"value": value, "unit": figure.unit, "n": figure.n}
    if figure.interval is not None:
        row |= dict(zip(("low", "high"), figure.interval, strict=True))
    if figure.ratio is not None:
        row |= dict(zip(("mnemic_by_this", "by_this_low", "by_this_high"), figure.ratio, strict=True))
    return row
