"""Differences are paired by question, adjusted for their number, and told with what moved."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.experiment.analysis import costs_of, differences_of, moved_questions, paired_difference, points_of
from mnemic.experiment.jobs import Answered, ArmResult, NightTaken
from mnemic.experiment.run import Manifest, Outcome
from tests.mnemic.experiment.made import spec


def result(arm: str, seed: int, *answers: Answered) -> ArmResult:
    """What came of an arm."""
    about: dict[str, Any] = {
        "degraded": (),
        "notes": (),
        "stage_failures": (),
        "used": 0,
        "opened": 0,
        "took_s": 2.0,
        "peak_mib": 100.0,
        "store_bytes": 2**20,
    }
    return ArmResult(arm=arm, seed=seed, answers=answers, nights=(NightTaken(1, 0.5),), **about)


def outcome(*results: ArmResult) -> Outcome:
    """A run of these."""
    file = spec(("seeds = [1]", 'seeds = [1, 2]\nmeasures = ["mrr", "hit@1"]'))
    return Outcome(manifest=Manifest(spec=file.spec, results={}), results=results)


OURS = [Answered(f"q{n}", 3, {"mrr": 0.5, "hit@1": 0.0}, ("a", "b")) for n in range(30)]
NONE = [Answered(f"q{n}", 3, {"mrr": 1.0 if n % 2 else 0.5, "hit@1": 1.0}, ("b", "a")) for n in range(30)]


def test_the_difference_of_an_arm_is_over_the_questions_that_both_were_asked() -> None:
    of = outcome(result("ours", 1, *OURS), result("none", 1, *NONE[:20], Answered("other", 3, {"mrr": 0.0}, ())))
    mrr, hit = differences_of(of)
    assert (mrr.arm, mrr.base, mrr.measure, mrr.questions, mrr.nights) == ("none", "ours", "mrr", 20, 3)
    assert (mrr.base_mean, mrr.mean, mrr.difference) == pytest.approx((0.5, 0.75, 0.25))
    assert 0.1 < mrr.low < 0.25 < mrr.high < 0.4
    assert mrr.p <= mrr.p_adjusted
    assert (hit.difference, hit.low, hit.high) == (1.0, 1.0, 1.0)


def test_of_a_question_that_several_seeds_ask_the_mean_counts_once() -> None:
    again = [Answered(one.question, 3, {"mrr": 0.0, "hit@1": 0.0}, one.hits) for one in NONE]
    of = outcome(*(result("ours", seed, *OURS) for seed in (1, 2)), result("none", 1, *NONE), result("none", 2, *again))
    mrr = differences_of(of)[0]
    assert (mrr.questions, mrr.mean) == (30, pytest.approx(0.375))


def test_means_are_told_for_each_number_of_nights() -> None:
    early = [Answered("q1", 0, {"mrr": 0.25}, ())]
    found = points_of(outcome(result("ours", 1, *early, *OURS)))
    assert [(one.arm, one.measure, one.nights, one.questions, one.mean) for one in found] == [
        ("ours", "mrr", 0, 1, 0.25),
        ("ours", "mrr", 3, 30, 0.5),
        ("ours", "hit@1", 3, 30, 0.0),
    ]
    assert all(one.low <= one.mean <= one.high for one in found)
    always = points_of(outcome(result("ours", 1, *early, *OURS)), always=True)
    assert [(one.nights, one.questions, one.mean) for one in always if one.measure == "mrr"] == [
        (0, 1, 0.25),
        (3, 1, 0.5),
    ]


def test_what_moved_is_told_with_the_ranks_of_what_answers() -> None:
    of = outcome(result("ours", 1, *OURS[:3]), result("none", 1, OURS[0], *NONE[1:3]))
    moved = moved_questions(of, {f"q{n}": frozenset("b") for n in range(3)})
    assert [(one.question, one.change, one.base_rank, one.rank) for one in moved] == [
        ("q1", 0.5, 2, 1),
        ("q2", 0.0, 2, 1),
    ]
    assert (moved[0].first, moved[0].base_first, moved[0].rose, moved[0].fell) == ("b", "a", ("b",), ("a",))


def test_costs_are_means_over_seeds() -> None:
    (cost, _) = costs_of(outcome(result("ours", 1), result("ours", 2), result("none", 1)))
    assert (cost.runs, cost.night_s, cost.took_s, cost.peak_mib, cost.store_mib) == (2, 0.5, 2.0, 100.0, 1.0)


def test_where_nothing_was_asked_of_both_there_is_no_difference() -> None:
    assert paired_difference({("a", 1): 1.0}, {("b", 1): 1.0, ("a", 2): 1.0}) is None
    assert differences_of(outcome(result("ours", 1), result("none", 1))) == []


def test_of_an_arm_that_failed_in_a_seed_the_others_count_alone_on_both_sides() -> None:
    worse = [Answered(one.question, 3, {"mrr": 0.0, "hit@1": 0.0}, one.hits) for one in OURS]
    of = outcome(result("ours", 1, *OURS), result("ours", 2, *worse), result("none", 1, *OURS))
    assert [one.difference for one in differences_of(of)] == [0.0, 0.0]


@settings(max_examples=20)  # each draws its interval from thousands of samples
@given(st.dictionaries(st.tuples(st.text("abc", min_size=1), st.integers(1, 3)), st.floats(0, 1), min_size=1))
def test_an_arm_that_answers_alike_differs_by_nothing(measured: dict[tuple[str, int], float]) -> None:
    found = paired_difference(measured, measured)
    assert found is not None
    assert (found[0], found[3:]) == (len({question for question, _ in measured}), (0.0, 0.0, 0.0, 1.0))
