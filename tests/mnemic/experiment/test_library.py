"""The lives that ship hold what they promise, and Pavlik and Anderson's model is theirs."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.sleep.effects import decode_weights
from mnemic.experiment import library
from mnemic.experiment.library import PRACTICE_NIGHTS, PavlikAnderson, interference, practice, records
from mnemic.experiment.lives import Life, Question, load_life
from mnemic.experiment.run import check_arms
from mnemic.experiment.shipped import shipped_specs
from mnemic.experiment.spec import load_spec

DAY_US = 86_400_000_000


def weight(days: list[float], at: float) -> float:
    """What uses on these days gain."""
    times = [round(one * DAY_US) for one in days]
    derived = PavlikAnderson().plan(({1: times}, round(at * DAY_US)))
    (found,) = decode_weights(derived.value, derived.sources)
    return found.weight


def test_practice_massed_is_worth_more_at_once_and_less_later() -> None:
    spaced, massed = [0.0, 7.0, 14.0], [14.0, 14.0, 14.0]
    assert weight(massed, 15.0) > weight(spaced, 15.0)
    assert weight(massed, 44.0) < weight(spaced, 44.0)


def test_a_use_alone_decays_by_the_intercept() -> None:
    odds = weight([0.0], 30.0) / (0.25 - weight([0.0], 30.0))
    assert math.log(odds) == pytest.approx(-0.177 * math.log(30) + 0.5 * math.log(30), abs=1e-9)


@given(st.lists(st.floats(0, 60), min_size=1, max_size=12), st.floats(60, 90))
def test_a_gain_stays_in_bounds_and_falls_with_time(days: list[float], at: float) -> None:
    assert 0.0 < weight(sorted(days), at + 5) <= weight(sorted(days), at) < 0.25


@pytest.mark.parametrize("life", [records, practice, interference])
def test_a_life_follows_from_its_seed_and_can_be_asked(life: Any) -> None:
    one, same, other = life({}, 1), life({}, 1), life({}, 2)
    assert isinstance(one, Life)
    assert one == same != other
    ids = [each.source_id for each in one.events]
    assert len(set(ids)) == len(ids)
    assert all(each.gold <= set(ids) and each.stale <= set(ids) for each in one.questions)
    assert len({each.id for each in one.questions}) == len(one.questions)


def test_practice_is_planned_as_its_kinds_say() -> None:
    planned = {one.kind: one.used_at for one in practice({}, 1).questions}
    assert planned["spaced"] == PRACTICE_NIGHTS
    assert planned["massed"] == (PRACTICE_NIGHTS[-1],) * 3
    assert planned["once"] == (PRACTICE_NIGHTS[-1],)
    assert planned["restudied"] == planned["never"] == ()


def test_a_name_with_letters_wrong_is_found_the_surer_the_longer_hypervectors_are() -> None:
    life = records({"records": 30}, 1)
    asked = [one.text.split()[:2] for one in life.questions]
    assert all(sum(a != b for a, b in zip(wrong, name, strict=True)) == 2 for wrong, name in asked)
    assert {wrong for wrong, _ in asked}.isdisjoint(name for _, name in asked)
    expected = [
        [library.record_expected(one, None, {"binder.dimensions": bits}) for one in life.questions]
        for bits in (64, 256, 1024, 10_240)
    ]
    means = [sum(one) / len(one) for one in expected]
    assert means == sorted(means)
    assert means[0] < 0.6 < 0.99 < means[-1] <= 1.0


def test_measures_say_what_they_are_of() -> None:
    hit = SimpleNamespace(source_id="a", why={"use": 0.2})
    of = SimpleNamespace(hits=[hit], answers=[SimpleNamespace(filler="tool3")], searched=600)
    asked = {kind: Question(id="q", text="f Tool3", gold=frozenset("a"), kind=kind) for kind in library._KINDS}
    for kind in ("spaced", "massed", "once", "restudied"):
        measure = getattr(library, f"gain_{kind}")
        assert [measure(asked[other], of, {}) for other in (kind, "never")] == [0.2, None]
    record = records({"records": 3}, 1).questions[0]
    assert library.record_found(record, of, {}) == 0.0
    assert library.record_found(record, SimpleNamespace(hits=[SimpleNamespace(source_id=record.id)]), {}) == 1.0
    alone = Question(id="i", text="?", gold=frozenset("a"), kind="alone")
    assert (library.rank_alone(alone, of, {}), library.rank_interfered(alone, of, {})) == (1.0, None)
    assert library.no_statements("The crane is red.", None, None) == []


@pytest.mark.parametrize("name", sorted(shipped_specs()))
def test_a_spec_that_ships_has_arms_a_life_and_questions(name: str, tmp_path: Path) -> None:
    file = load_spec(shipped_specs()[name])
    assert set(check_arms(file)) == {arm.name for arm in file.spec.arms}
    assert load_life(file, file.spec.seeds[0], tmp_path).questions
