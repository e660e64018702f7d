"""Rows of the facts bench: what a first hit is counted as, what an oracle makes of it, and how sure a mean is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.harness.statistics import mean_interval
from mnemic.bench.quality.facts.change_sets import ChangeQuestion, ChangeSet, by_slot, made_lives
from mnemic.bench.quality.facts_bench import _newer_first, _Ranked, _rows, run

PORT, OTHER, NEAR = ("s", "port", "atlas"), ("s", "owner", "atlas"), ("s", "port", "atlas-eu")
SLOTS = {"old": PORT, "new": PORT, "plan": PORT, "owner": OTHER, "near": NEAR}
ASKED = ChangeQuestion(
    "which socket?", "now", frozenset({"new"}), frozenset({"old"}), frozenset({"plan"}), PORT, "lives"
)


def row_of(*rankings: list[str]) -> dict[str, Any]:
    of = ChangeSet([], SLOTS, [ASKED] * len(rankings))
    (row,) = _rows({"set": "lives"}, of, {"mnemic": list(rankings)})
    return row


@pytest.mark.parametrize(
    ("first", "counted"),
    [
        ("new", {"any@1": 1, "slot@1": 1}),
        ("old", {"poison@1": 1, "slot@1": 1}),
        ("plan", {"trap@1": 1, "slot@1": 1}),
        ("owner", {"other_attribute@1": 1}),
        ("near", {"other_subject@1": 1}),
        ("chatter", {}),
    ],
)
def test_each_first_hit_is_counted_as_what_it_is(first: str, counted: dict[str, int]) -> None:
    row = row_of([first])
    assert {name: row[name] for name in row if name.endswith("@1") and row[name] and "missed" not in name} == counted


def test_a_pair_counts_only_with_the_answer_first() -> None:
    assert row_of(["new", "chatter", "old"])["pair@5"] == 1
    assert row_of(["old", "new"])["pair@5"] == 0
    assert row_of(["new", *["chatter"] * 5, "old"])["pair@5"] == 0
    row = row_of(["new"], ["old"], [])
    assert (row["any@1"], row["poison@1"], row["mrr"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert (row["met"], row["poison_met"]) == (False, False)


def test_recency_turns_what_is_nearly_as_near() -> None:
    day = 86_400_000_000
    hits = [_Ranked("older", 0, 0.50), _Ranked("newer", 90 * day, 0.47), _Ranked("far", 91 * day, 0.10)]
    assert _newer_first(hits, 0.1) == ["newer", "older", "far"]
    assert _newer_first(hits, 0.0) == ["older", "newer", "far"]
    assert _newer_first([], 0.1) == []


def test_questions_of_one_attribute_stand_or_fall_together() -> None:
    low, high = mean_interval([1.0] * 50 + [0.0] * 50, ["port"] * 50 + ["owner"] * 50)
    assert (low, high) == (0.0, 1.0)
    low, high = mean_interval([1.0, 0.0] * 50, [str(number // 2) for number in range(100)])
    assert (low, high) == (0.5, 0.5)


def test_a_made_life_is_asked_in_its_own_scope() -> None:
    of = made_lives((1, 2))
    assert {turn["scope"] for turn in of.turns} == {"lives/1", "lives/2"}
    slots = by_slot(of)
    for asked in of.questions:
        assert asked.gold | asked.stale | asked.trap <= slots[asked.slot]
    assert len({turn["id"] for turn in of.turns}) == len(of.turns)


def test_quiet_changes_without_chatter_are_refused() -> None:
    with pytest.raises(ValueError, match="name a file of LoCoMo's"):
        list(run(changes=Path("changes.json"), lives=(1,)))


@pytest.mark.system
def test_each_arm_answers_each_kind_of_question() -> None:
    every = list(run(lives=(1,)))
    assert {row["what"] for row in every if "what" in row} == {"replaced", "conflict"}
    asked = [row for row in every if "kind" in row]
    assert {row["kind"] for row in asked if row["set"] == "talk"} == {"now", "before", "since"}
    rows = [row for row in asked if row["set"] == "lives"]
    assert {row["kind"] for row in rows} == {"now", "before", "at", "since"}
    assert {row["of"] for row in rows} == {
        "mnemic",
        "mnemic, without answer",
        "mnemic, without validity",
        "baseline: meaning alone",
        "baseline: meaning alone, and recency",
        "baseline: words alone",
        "baseline: words alone, and recency",
        "oracle: newest of the slot of the cosine's first hit",
    }
    now = {row["of"]: row for row in rows if row["kind"] == "now"}
    assert now["oracle: newest of the slot of the cosine's first hit"]["poison@1"] == 0
    assert now["mnemic"]["any@10"] > 0.3
    assert now["mnemic"]["any@1"] > now["mnemic, without validity"]["any@1"]
    assert now["mnemic"]["poison@1"] < now["mnemic, without validity"]["poison@1"]
    assert all(row["any@1_low"] <= row["any@1"] <= row["any@1_high"] for row in rows)
