"""The scrub bench runs whole, judges what has a goal, and names the competitor it left out."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from mnemic.bench.speed import scrub_bench
from mnemic.bench.speed.scrub_bench import run


def test_ordinary_and_hostile_text_have_a_row_and_the_competitor_one_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrub_bench, "OUTPUT_BYTES", 100_000)
    monkeypatch.setattr(scrub_bench, "HOSTILE_BYTES", 100_000)
    rows = list(run(rounds=1))
    ours = {row["what"]: row for row in rows if row["of"] == "mnemic"}
    assert {"a turn of 2048 bytes", "tool output", "one letter", "base64", "marks alone"} <= ours.keys()
    assert ours["a turn of 2048 bytes"]["goal_us"] == 50
    assert ours["tool output"]["goal_mb_s"] == 10
    assert ours["tool output"]["taken_for_secrets"] == ours["marks alone"]["taken_for_secrets"] == 0
    theirs = [row for row in rows if row["of"] == "competitor: detect-secrets"]
    if find_spec("detect_secrets"):
        assert [row["what"] for row in theirs] == ["a turn of 2048 bytes", "tool output"]
    else:
        assert [(row["state"], row["why"]) for row in theirs] == [
            ("skipped", "detect_secrets is not installed: it comes with the extra `bench`")
        ]


def test_what_is_gone_through_is_the_same_again() -> None:
    assert scrub_bench._turns() == scrub_bench._turns()
    assert {len(turn) for turn in scrub_bench._turns()} == {2048}
    assert len(scrub_bench._output()) == 1_000_000
    assert dict(scrub_bench._hostile()) == dict(scrub_bench._hostile())
