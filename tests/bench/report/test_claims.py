"""The latency that pages claim is that of the stored run."""

from __future__ import annotations

from pathlib import Path

from mnemic.bench.harness.figures import OURS, Figure
from mnemic.bench.report.claims import measured_page, readme_page, write_claims
from mnemic.bench.report.stored_run import StoredRun, read_run
from tests.paths import ROOT

PAGE = "Before\n<!-- latency: python -m mnemic.bench all -->\nold\n<!-- /latency -->\nafter\n"
SENTENCE = "a running process answers in 99 ms at the median from 10,000 memories, the whole"


def figure(what: str, unit: str, *values: float, of: str = OURS, ratio: float | None = None) -> Figure:
    told = None if ratio is None else (ratio, ratio, ratio)
    return Figure(
        part="latency", what=what, of=of, unit=unit, values=values, ratio=told, commit="abc", machine="A machine"
    )


def stored(*figures: Figure) -> StoredRun:
    return StoredRun(at="2026-01-01T00:00:00+00:00", quick=False, versions={}, figures=figures)


RUN = stored(
    figure("find, 10,000 memories", "ms, median", 10.6, 3.0, 40.0),
    figure("find, 10,000 memories", "ms, 95th percentile", 20.4),
    figure("open, to the first answer, 10,000 memories", "s", 0.34),
    figure("footprint: resident memory, 10,000 memories", "MiB", 178.4),
    figure("find, 10,000 memories", "ms, median", 4.4, of="SQLite FTS5, words alone", ratio=2.37),
)


def test_what_pages_claim_is_what_the_stored_run_has() -> None:
    run = read_run(ROOT / "docs" / "benchmarks" / "full.json")
    for page, written in ((ROOT / "docs" / "measured.md", measured_page), (ROOT / "README.md", readme_page)):
        told = page.read_text("utf-8")
        assert written(told, run) == told, f"{page.name}: `python -m mnemic.bench all` writes its latency"
    other = stored(figure("find, 10,000 memories", "ms, median", 12345.0))
    assert readme_page((ROOT / "README.md").read_text("utf-8"), other).count("12345 ms") == 1
    assert measured_page((ROOT / "docs" / "measured.md").read_text("utf-8"), other).count("12345 ms") == 1


def test_a_page_gets_the_machine_and_a_line_for_each_size_that_was_measured() -> None:
    page = measured_page(PAGE, RUN)
    assert page.startswith("Before\n<!-- latency: python -m mnemic.bench all -->\nA machine, commit abc. ")
    assert page.endswith("| 10,000 | 11, 20 ms | 2.4 | 0.3 s | 178 MiB | 4.4 ms | |\n<!-- /latency -->\nafter\n")
    assert readme_page(SENTENCE, RUN) == SENTENCE.replace("99", "11")


def test_a_run_without_latency_changes_no_page() -> None:
    assert (measured_page(PAGE, stored()), readme_page(SENTENCE, stored())) == (PAGE, SENTENCE)


def test_a_run_writes_the_pages_that_are_there(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    write_claims(docs, RUN)
    assert list(tmp_path.rglob("*.md")) == []
    (docs / "measured.md").write_text(PAGE)
    (tmp_path / "README.md").write_text(SENTENCE)
    write_claims(docs, RUN)
    assert (docs / "measured.md").read_text() == measured_page(PAGE, RUN)
    assert "answers in 11 ms" in (tmp_path / "README.md").read_text()
