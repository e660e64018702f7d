"""Cues that are told wrong are what they say they are, and what was meant is known by the memories' own fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mnemic
from mnemic.bench.harness.homes import actors_of
from mnemic.bench.quality.shape import partial_cues
from mnemic.bench.quality.shape.partial_cues import _FORMS, _Columns, _draw, _err, _meant, _read, _Table, cue_rows
from tests.paths import ROOT

EXAMPLE = ROOT / "mnemic" / "example"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("home")
    with mnemic.open(place) as mind:  # the command would end with 1, since one line of it is torn
        mind.capture(EXAMPLE)
    return place


@pytest.fixture(scope="module")
def table(home: Path) -> _Table:
    return _read(home)


def test_what_is_drawn_is_of_a_memory_and_few_others_have_it(table: _Table) -> None:
    drawn = _draw(table, np.random.default_rng(1))
    assert len(drawn) > 200
    for cues in drawn:
        assert len(cues) == 4
        assert 1 <= len(_meant(table, cues)) <= 3
        assert all(
            filler in table.fillers[place][role] for place in _meant(table, cues) for role, filler in cues.items()
        )


@pytest.mark.parametrize("form", _FORMS)
def test_each_form_errs_as_it_says(table: _Table, form: str) -> None:
    rng = np.random.default_rng(2)
    columns, errors = _Columns(table), {"all right": 0, "two wrong": 2, "one misspelt, one wrong": 2}
    asked = 0
    for truth in _draw(table, rng)[:60]:
        question = _err(table, columns, truth, form, rng)
        if question is None:
            continue
        asked += 1
        wrong = {role for role in truth if question.pattern.get(role) != truth[role]}
        assert len(wrong) == errors.get(form, 1)
        assert question.meant == {table.ids[place] for place in _meant(table, truth)}
        assert len(question.pattern) == 4 - (form == "one left out")
        for role in wrong & set(question.pattern):
            known = (role, question.pattern[role]) in table.having
            if form in ("one wrong", "two wrong"):
                assert known
            elif form == "one near":
                assert role in ("date", "hour")
    assert asked > 20


def test_columns_are_counted_and_the_newest_of_equals_comes_first(table: _Table) -> None:
    columns = _Columns(table)
    both = [place for place, own in enumerate(table.fillers) if {"pytest"} <= own.get("tool", set())]
    both = [place for place in both if "failed" in table.fillers[place].get("outcome", ())]
    best = columns.best({"tool": "pytest", "outcome": "failed"}, near=False)
    assert best[: len(both)] == sorted(both, reverse=True)
    assert len(best) == 10
    misspelt = {near: columns.best({"tool": "pytset", "date": "2026-10-26"}, near=near) for near in (True, False)}
    assert "pytest" in table.fillers[misspelt[True][0]]["tool"]
    assert "pytest" not in table.fillers[misspelt[False][0]].get("tool", ())


def test_the_rows_tell_each_form_by_each_way_and_a_cue_that_is_wrong_is_survived(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_cues, "_DRAWN", 25)
    with actors_of(home) as actors:
        rows = list(cue_rows(home, "example", actors, 0))
    assert {row["what"] for row in rows} == {f"cues: {form}" for form in _FORMS}
    by = {(row["what"], row["by"]): row for row in rows}
    assert by["cues: all right", "shape"]["any@10"] == 1.0
    wrong = by["cues: one wrong", "shape"]
    assert (wrong["goal_any@10"], wrong["met"]) == (0.95, wrong["any@10_of_these"] >= 0.95)
    assert wrong["any@10_of_these"] > 0.8
    plain = by["cues: one misspelt, one wrong", "count of columns, as typed"]
    assert plain["shape_minus_this"] > 0.2
