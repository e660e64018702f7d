"""Writes the latency figures of README and docs/measured.md from the last full run; above stands `all_bench`.

A test fails where a page differs from the run that is stored, so no figure of these outlives what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mnemic.bench.harness.figures import OURS, Figure, value_of
from mnemic.bench.report.stored_run import StoredRun

_SIZES = ("1,000", "10,000", "100,000")
_P50, _P95 = "ms, median", "ms, 95th percentile"
_FTS5 = "SQLite FTS5, words alone"
_PALACE = ("MemPalace, union, as it ships", "MemPalace, union, questions and texts without padding")
_BLOCK = re.compile(r"(<!-- latency: python -m mnemic\.bench all -->\n).*?(<!-- /latency -->)", re.DOTALL)
_SENTENCE = re.compile(r"(a running process answers in )[\d.,]+( ms at the median from 10,000 memories)")


def write_claims(docs: Path, run: StoredRun) -> None:
    """Write a run's figures into the pages that are there: ``measured.md`` in a folder, ``README.md`` beside it.

    Raises:
        OSError: a page cannot be written.
    """
    for page, written in ((docs / "measured.md", measured_page), (docs.parent / "README.md", readme_page)):
        if page.exists() and (new := written(before := page.read_text("utf-8"), run)) != before:
            page.write_text(new, "utf-8")


def measured_page(page: str, run: StoredRun) -> str:
    """The page with the table of a run between its two marks; as it was where the run has no latency."""
    table = _table(run.figures)
    return _BLOCK.sub(lambda found: f"{found[1]}{table}{found[2]}", page) if table else page


def readme_page(page: str, run: StoredRun) -> str:
    """The page with the median of 10,000 memories in its sentence; as it was where the run has none."""
    told = _told(run.figures, "find, 10,000 memories", OURS, _P50)
    return _SENTENCE.sub(lambda found: f"{found[1]}{told}{found[2]}", page) if told else page


def _table(figures: Sequence[Figure]) -> str:
    measured = [one for one in figures if one.part == "latency" and one.of == OURS and one.values]
    if not measured:
        return ""
    where = f"{measured[0].machine}, commit {measured[0].commit}"
    lines = [
        f"{where}. Texts of LoCoMo's, meaning included, in process, median and 95th percentile, each the median of the"
        " rounds; by FTS5 is the ratio of the medians:",
        "",
        "| memories | recall | by FTS5 | opened in | resident | SQLite FTS5, words alone"
        " | MemPalace, as it ships / without padding |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in _SIZES:
        find = f"find, {size} memories"
        if _told(figures, find, OURS, _P50):
            palace = " / ".join(filter(None, (_both(figures, find, of) for of in _PALACE)))
            cells = [
                size,
                f"{_both(figures, find, OURS)} ms",
                _by_fts5(figures, find),
                f"{_told(figures, f'open, to the first answer, {size} memories', OURS, 's')} s",
                f"{_told(figures, f'footprint: resident memory, {size} memories', OURS, 'MiB')} MiB",
                f"{_both(figures, find, _FTS5)} ms",
                f"{palace} ms" if palace else "",
            ]
            lines.append(f"| {' | '.join(cells)} |".replace("  |", " |"))
    return "\n".join(lines) + "\n"


def _by_fts5(figures: Sequence[Figure], find: str) -> str:
    found = next((one for one in figures if (one.what, one.of, one.unit) == (find, _FTS5, _P50)), None)
    return "" if found is None or found.ratio is None else f"{found.ratio[0]:.2g}"


def _both(figures: Sequence[Figure], what: str, of: str) -> str:
    return ", ".join(filter(None, (_told(figures, what, of, unit) for unit in (_P50, _P95))))


def _told(figures: Sequence[Figure], what: str, of: str, unit: str) -> str:
    found = next((one for one in figures if (one.what, one.of, one.unit) == (what, of, unit)), None)
    value = None if found is None else value_of(found)
    return "" if value is None else f"{value:.1f}" if value < 10 else f"{value:.0f}"
