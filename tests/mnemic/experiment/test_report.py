"""A report is one page that needs nothing beside it, and says no difference without its interval."""

from __future__ import annotations

import csv
import json
import re
import shutil
import stat
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import ExtraMissing, InvalidValue
from mnemic.bench.harness import plot
from mnemic.experiment.jobs import Answered
from mnemic.experiment.report import as_json, compare_runs, comparison_lines, make_report, report_lines, write_report
from mnemic.experiment.run import SPEC_FILE, Failure, Manifest, Outcome
from tests.mnemic.experiment.made import SPEC
from tests.mnemic.experiment.test_analysis import NONE, OURS, outcome, result
from tests.waiting import BOUND_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def whole() -> Outcome:
    of = outcome(result("ours", 1, *OURS), result("none", 1, *NONE))
    manifest = Manifest(spec=of.manifest.spec, results={}, failures=(Failure("none", 2, "it <died>"),))
    texts = {"q:q1": "where is <it>?", "m:1:b": "In the attic & nowhere else.", "m:1:a": "In the yard."}
    return Outcome(manifest=manifest, results=of.results, texts=texts, gold={"q1": frozenset("b")})


@pytest.fixture
def page(whole: Outcome, tmp_path: Path) -> Path:
    (tmp_path / SPEC_FILE).write_text(SPEC)
    return write_report(whole, tmp_path)


class Links(HTMLParser):
    """All that a page would load, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data")]


def test_the_page_needs_nothing_beside_it(page: Path) -> None:
    text = page.read_text("utf-8")
    links = Links()
    links.feed(text)
    assert {one for one in links.loads if not one.startswith("#")} == set()
    assert "script" not in links.tags
    assert links.tags.count("svg") == 4
    assert "where is &lt;it&gt;?" in text
    assert "it &lt;died&gt;" in text
    assert "b: In the attic &amp; nowhere else." in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_the_same_run_gives_the_same_page(page: Path, whole: Outcome, tmp_path: Path) -> None:
    before = page.read_bytes()
    assert write_report(whole, tmp_path).read_bytes() == before


def test_json_and_csv_say_the_same(page: Path) -> None:
    told = json.loads(page.with_suffix(".json").read_text())
    rows = list(csv.DictReader(page.with_suffix(".csv").read_text().splitlines()))
    differences = [one for one in rows if one["what"] == "difference"]
    assert [float(one["difference"]) for one in differences] == [one["difference"] for one in told["differences"]]
    assert {one["arm"] for one in rows if one["what"] == "mean"} == {"ours", "none"}
    assert told["said"] == ["failed: none, seed 2: it <died>"]


def test_no_difference_is_told_without_its_interval(whole: Outcome) -> None:
    lines = list(report_lines(as_json(whole, make_report(whole))))
    told = [one for one in lines if re.search(r": [+-]\d", one)]
    assert len(told) == 2
    assert all(re.search(r"\[[+-]\d\.\d{4}, [+-]\d\.\d{4}\], p \d", one) for one in told)
    assert lines[-1] == "failed: none, seed 2: it <died>"


def test_two_runs_are_compared_arm_by_arm() -> None:
    one = outcome(result("ours", 1, *OURS), result("none", 1, *OURS))
    other = outcome(result("ours", 1, *OURS), result("none", 1, *NONE))
    found = compare_runs(one, other)
    assert [(each["arm"], each["measure"], each["difference"]) for each in found] == [
        ("ours", "mrr", 0.0),
        ("ours", "hit@1", 0.0),
        ("none", "mrr", 0.25),
        ("none", "hit@1", 1.0),
    ]
    assert list(comparison_lines({"differences": found}))[2].startswith("none mrr: 0.500 to 0.750, +0.2500 [+0.1")
    with pytest.raises(InvalidValue, match="in common"):
        compare_runs(outcome(), outcome(result("none", 1, Answered("q", 0, {}, ()))))


def test_without_what_draws_plots_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing) as caught:
        plot.check_plots()
    assert caught.value.remedy_text == "Run `pip install 'mnemic[research]'`."


@pytest.mark.system
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_browser_shows_the_page(page: Path, tmp_path: Path) -> None:
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'chromium'}"]
    command += ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=True).stdout
    assert shown.count("<svg") == 4
    assert "<td>where is &lt;it&gt;?</td>" in shown
    assert "Differences to the base arm" in shown
