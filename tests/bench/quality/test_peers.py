"""What stands beside Mnemic is asked the same questions, and what is not there is told of, with the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mnemic.bench.harness.figures import OURS, Figure
from mnemic.bench.quality.longmemeval import longmemeval_sets
from mnemic.bench.quality.peers import WORTH, peer_figures
from mnemic.runtime.models.encoders import load_encoder
from tests.bench.quality.test_longmemeval import entry, write_longmemeval

PLAIN = {"BM25 over whole conversations", "cosine of each turn", "sum of both, as z-scores"}


@pytest.mark.system
def test_all_are_asked_over_several_minds_and_what_fails_is_told_of(tmp_path: Path) -> None:
    path = write_longmemeval(tmp_path / "m.json", entry("boat"), entry("violin"))
    figures = list(
        peer_figures(
            "LongMemEval m",
            longmemeval_sets(path, 4),
            load_encoder(None),
            {"mem0": Path(sys.executable)},
            {"MemPalace": "it is not here"},
            part="quality",
            parameters={"from": "m.json"},
        )
    )
    by_name = {(one.what.removeprefix("LongMemEval m: "), one.of): one for one in figures}
    worth = {of: one for (what, of), one in by_name.items() if what == WORTH}
    assert worth.keys() == {OURS} | PLAIN
    assert all(one.values == (1.0,) and one.groups == ("boat", "violin") for one in worth.values())
    assert [worth[of].p is None for of in (OURS, *PLAIN)] == [True, False, False, False]
    assert by_name["turn any@10", OURS].scores == (1.0, 1.0)
    assert ("turn any@10", "BM25 over whole conversations") not in by_name, "it knows no turns"
    assert by_name["taken in", OURS].values[0] > 0
    assert by_name["on disk", OURS].better == "less"
    told = by_name["told at a session's start", "baseline: all that was said"]
    assert (len(told.scores), told.better) == (2, "less")
    skipped = {one.of: one.why for one in figures if one.state == "skipped"}
    assert skipped.keys() == {"mem0, as it ships", "MemPalace", "mem0"}
    assert skipped["mem0"].startswith("it could not be asked: mem0 ended with 1")
    assert all(isinstance(one, Figure) and one.parameters["from"] == "m.json" for one in figures)
