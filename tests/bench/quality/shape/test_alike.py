"""Labels are of the memories that they name, and each way is asked for the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.shape.alike import alike_rows
from tests.paths import ROOT

LABELS = ROOT / "tests" / "fixtures" / "alike"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("home")
    run_mnemic(place, "capture", ROOT / "mnemic" / "example")
    return place


def test_events_of_one_kind_find_each_other_by_their_structure_sooner_than_by_what_fillers_they_share(
    home: Path,
) -> None:
    with actors_of(home) as actors:
        rows = {row["by"]: row for row in alike_rows(home, LABELS / "example.json", "example", actors, others=False)}
    assert {row["questions"] for row in rows.values()} == {56}
    assert rows["shape --like"]["mrr"] > rows["count of shared fillers"]["mrr"] + 0.1
    assert all(0 <= row[name] <= 1 for row in rows.values() for name in ("mrr", "any@10", "share@10"))


def test_a_label_of_another_mind_is_refused(home: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps([{"event": "tea", "members": [{"id": "conv-1/D1:1"}]}]))
    with actors_of(home) as actors, pytest.raises(ValueError, match="no memory is"):
        list(alike_rows(home, labels, "example", actors, others=False))
