"""A few kills: no acknowledged write is lost, none is doubled, and nothing of a dead session runs on.

On Ray an actor, the head and the parent are killed once each. Its other processes are killed without load in
`tests.mnemic.test_serve` and `tests.runtime.engine.ray.test_parent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mnemic.bench.faults.kill_bench import KINDS, kill_repeatedly
from mnemic.bench.harness.homes import lexical_settings


@pytest.mark.system
@pytest.mark.parametrize(
    ("engine", "killed"),
    [("embedded", ("process",) * 3), ("ray", ("actor", "gcs_server", "parent"))],
    ids=["embedded", "ray"],
)
def test_no_kill_loses_or_doubles_what_was_acknowledged(tmp_path: Path, engine: str, killed: Sequence[str]) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    *back, kept = kill_repeatedly(home, engine, len(killed), seed=0, settings=lexical_settings(home), killed=killed)
    assert (kept["lost"], kept["doubled"], kept["left"], kept["check"]) == (0, 0, [], "ok"), kept
    assert kept["broken"] == []
    assert kept["state"] == "ok"
    assert {row["killed"]: row["kills"] for row in back} == {kind: killed.count(kind) for kind in killed}
    assert kept["acknowledged"] > len(killed)
    assert set(killed) <= KINDS[engine].keys()
