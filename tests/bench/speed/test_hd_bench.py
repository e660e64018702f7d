"""The hd bench on next to nothing: what it counts agrees with theory, and it says so where it does not."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from mnemic.bench.speed import hd_bench
from mnemic.bench.speed.hd import mind as hd_mind
from mnemic.bench.speed.hd import speed as hd_speed
from mnemic.bench.speed.hd.speed import EMBEDDING


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, sizes in (
        (hd_bench, {"_SIZES": (512, 10_240), "_CODEBOOKS": (16, 200), "_PAIRS": (2, 25), "_DECODES": 100}),
        (hd_bench, {"_OF_EACH_ANGLE": 40}),
        (hd_speed, {"EPISODES": 24, "_BATCHES": 2, "_ITEMS": 240}),
        (hd_mind, {"_QUESTIONS": 4, "_WARM": 1}),
    ):
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)


def run(*parts: Any, **changed: Any) -> list[dict[str, Any]]:
    given: dict[str, Any] = {"rounds": 1, "memories": 96, "hypervectors": 300, "no_model": True}
    return list(hd_bench.run(parts=parts, **{**given, **changed}))


def test_all_that_is_decoded_is_beside_both_theories_and_agrees_with_them() -> None:
    rows = run("capacity")
    decoded = [row for row in rows if row["what"] == "decode"]
    assert {row["by"] for row in decoded} == {"roles", "places"}
    assert len(decoded) == (2 + 4) * 2
    for row in decoded:
        assert "state" not in row
        assert row["accuracy"] == pytest.approx(row["binomial"], abs=0.2)
        assert row["frady_2018"] == pytest.approx(row["binomial"], abs=0.01)
    room = {(row["dimensions"], row["codebook"]): row["pairs"] for row in rows if row["what"] == "room"}
    assert room[512, 200] < room[512, 16] < room[10_240, 200] < room[10_240, 16]


def test_what_theory_does_not_allow_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hd_bench, "exact_accuracy", lambda *_: 0.5)
    row = next(iter(run("capacity")))
    assert row["state"] == "failed"
    assert row["why"].startswith("100 of 100 came out right where 0.5000 were to")


def test_codes_are_as_similar_as_the_angle_says() -> None:
    rows = run("projection")
    assert [round(row["cosine"], 3) for row in rows[::6]] == [1.0, 0.0, -1.0]
    for row in rows:
        assert row["similarity"] == pytest.approx(row["expected"], abs=0.01)
        assert row["lowest"] <= row["similarity"] <= row["highest"]


@pytest.mark.system
def test_texts_stay_near_each_other() -> None:
    (row,) = [row for row in run("projection", no_model=False) if row["what"] == "projection of texts"]
    assert row["mean_off"] < 0.02
    assert row["ten_nearest_kept"] > 0.85


@pytest.mark.system
def test_each_backend_is_timed_or_named_as_left_out() -> None:
    rows = run("speed")
    binding = [row for row in rows if row["what"] == "bind 1,000 episodes"]
    assert all(row["p50_ms"] >= row["best_ms"] > 0 for row in binding)
    skipped = {row["of"]: row["why"] for row in rows if row.get("state") == "skipped"}
    assert "mnemic, numpy" in {row["of"] for row in binding}
    if not (find_spec("torch") and find_spec("torchhd")):
        assert skipped.keys() >= {"mnemic, torch", "competitor: torchhd"}
        assert all(skipped.values())
    else:
        assert "competitor: torchhd" in {row["of"] for row in binding}


@pytest.mark.system
def test_a_mind_is_bound_and_every_kind_of_question_is_answered() -> None:
    rows = {row["what"]: row for row in run("mind", memories=240)}
    assert rows["binding, with all that is written"]["memories"] == 240
    shapes = {what: row for what, row in rows.items() if what.startswith("shape: ")}
    assert "met" in shapes.pop("shape: all of these")
    assert len(shapes) >= 4
    assert all(row["searched"] > 0 for row in shapes.values())
    assert all(row["answered"] > 0 for row in shapes.values()), shapes
    assert rows["bytes a record, disk"]["bytes"] > 640
    assert rows["bytes a record, memory"]["bytes"] > 0


def test_episodes_are_records_of_twelve_pairs_and_the_same_for_a_seed() -> None:
    import numpy as np

    one, same = (hd_speed.draw_episodes(np.random.default_rng(3), 50) for _ in range(2))
    assert all(len(record) == 12 for record in one)
    assert [[pair.role for pair in record] for record in one] == [[pair.role for pair in record] for record in same]
    assert all(len(pair.filler) == EMBEDDING for pair in one[7] if not isinstance(pair.filler, str))
    assert np.array_equal(np.asarray(one[7][10].filler), np.asarray(one[8][9].filler)), "about and previous"
