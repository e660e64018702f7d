"""Measures are found by name, and say nothing where they have nothing to say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.experiment.lives import Question
from mnemic.experiment.measures import load_measures
from tests.mnemic.experiment.made import spec

ASKED = Question(id="q", text="?", gold=frozenset("b"), stale=frozenset("a"))


def answer(*ids: str) -> Any:
    """Hits of these ids."""
    return SimpleNamespace(hits=[SimpleNamespace(source_id=id, score=0.25) for id in ids])


def measured(name: str, question: Question, given: Any) -> float | None:
    """One measure by its name."""
    file = spec(("seeds = [1]", f'seeds = [1]\nmeasures = ["{name}"]'))
    return load_measures(file)[name](question, given, {})


def test_built_in_measures_are_worked_out() -> None:
    found = answer("a", "b", "c")
    assert measured("mrr", ASKED, found) == 0.5
    assert (measured("hit@1", ASKED, found), measured("hit@2", ASKED, found)) == (0.0, 1.0)
    assert measured("ndcg@2", ASKED, found) == pytest.approx(0.6309, abs=1e-4)
    assert (measured("poison@1", ASKED, found), measured("poison@1", ASKED, answer("b"))) == (1.0, 0.0)
    assert measured("probability", ASKED, found) == 0.25
    assert measured("probability", ASKED, answer()) == 0.0


def test_where_nothing_is_stale_poison_says_nothing() -> None:
    assert measured("poison@1", Question(id="q", text="?", gold=frozenset("b")), answer("b")) is None


def test_a_measure_of_ones_own_is_found_by_its_name() -> None:
    name = "tests.mnemic.experiment.made:matches"
    assert measured(name, Question(id="who", text="?", gold=frozenset()), answer("a", "b")) == 2.0


@pytest.mark.parametrize(
    "name", ["hit", "hit@0", "hit@51", "recall", "tests.mnemic.experiment.made:START_US", "none:such"]
)
def test_what_is_no_measure_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="measures in"):
        measured(name, ASKED, answer())
