"""The owner bench: a short run, whose counts are the ones expected."""

from __future__ import annotations

import pytest

from mnemic.bench.speed import owner_bench
from mnemic.bench.speed.owner_bench import run


@pytest.mark.system
def test_a_short_run_does_everything_to_a_mind_and_counts_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_bench, "_LOOKS", 1)
    rows = {row["what"]: row for row in run(memories=100, no_model=True)}
    assert {what: row["there"] for what, row in rows.items() if "there" in row} == {
        "import": 100,
        "rekey": 100,
        "erase of one project of 10": 90,
        "restore": 100,
    }
    assert {row["state"] for row in rows.values() if "state" in row} == {"ok"}
    assert all(row["s"] > 0 for row in rows.values())
    assert rows["backup"]["written_bytes"] > 100_000


def test_a_mind_too_small_to_have_ten_projects_is_refused() -> None:
    with pytest.raises(ValueError, match="needs 10 memories or more, not 9"):
        list(run(memories=9, no_model=True))
