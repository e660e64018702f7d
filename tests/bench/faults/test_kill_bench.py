"""Ten kills: no acknowledged write is lost, none is doubled, and nothing of a dead session runs on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from mnemic.bench.faults.kill_bench import KINDS, Outcome, kill_repeatedly
from mnemic.bench.harness.homes import lexical_settings


@pytest.mark.system
@pytest.mark.parametrize(
    ("engine", "killed"),
    [("embedded", ("process",) * 6), ("ray", ("actor", "gcs_server", "process", "parent"))],
    ids=["embedded", "ray"],
)
def test_no_kill_loses_or_doubles_what_was_acknowledged(tmp_path: Path, engine: str, killed: Sequence[str]) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    outcome = kill_repeatedly(home, engine, len(killed), seed=0, settings=lexical_settings(home), killed=killed)
    assert (outcome.lost, outcome.doubled, outcome.left, outcome.check) == ([], [], [], "ok")
    assert outcome.broken == []
    assert outcome.whole
    assert {kind: len(taken) for kind, taken in outcome.back_s.items()} == {kind: killed.count(kind) for kind in killed}
    assert outcome.acknowledged > len(killed)
    assert set(killed) <= KINDS[engine].keys()


@pytest.mark.parametrize(
    "flaw",
    [{"lost": ["a text"]}, {"doubled": ["a text"]}, {"left": ["raylet 7"]}, {"check": "page 3"}, {"broken": ["x"]}],
)
def test_one_flaw_is_enough_to_fail(flaw: dict[str, object]) -> None:
    whole = Outcome(
        engine="embedded",
        back_s={},
        acknowledged=1,
        lost=[],
        doubled=[],
        left=[],
        check="ok",
        refused={},
        recalls=1,
        released=0,
        restarted=0,
        broken=[],
    )
    assert whole.whole
    assert not msgspec.structs.replace(whole, **flaw).whole
