"""A stage that makes answers worse is not taken up: it is tried on what assistants asked, and used, before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from mnemic.actors.protocol.sleep.changes import SourceSpan
from mnemic.actors.protocol.sleep.effects import MemoryWeight, encode_effect
from mnemic.actors.protocol.sleep.messages import ListNights, NightReport, Preempt, Sleep, UndoNights
from mnemic.actors.sleep.exam import LEAST_QUESTIONS, Exam
from mnemic.actors.sleep.stages import Derivation
from tests.actors.sleep.sleeping import SHELF, ask_as, open_as, whole_night
from tests.harness import ActorHarness

THINGS = ("crane", "kettle", "ledger", "buoy", "lamp", "rope", "anchor", "tiller", "winch", "chart", "radio")
PLACES = ("harbour", "attic")


class Weighing:
    """A stage of a stranger's, which weighs every memory of some by a number."""

    name: ClassVar[str] = "weighing"
    version: ClassVar[int] = 1
    effect: ClassVar[str] = "weigh"
    weights: ClassVar[dict[int, float]] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        return cls()

    def sources(self, snapshot: Any) -> Mapping[bytes, bytes]:
        return {b"all:1": repr(sorted(self.weights.items())).encode()} if self.weights else {}

    def read(self, key: bytes, snapshot: Any) -> Any:
        return sorted(self.weights.items())

    def plan(self, state: Any) -> Derivation:
        weights = tuple(MemoryWeight(weight=weight) for _, weight in state)
        return Derivation(encode_effect(weights), tuple(SourceSpan(row, 0, 0) for row, _ in state))


WEIGHING = f"{__name__}:Weighing"


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """What the stage makes of rows."""
    given: dict[int, float] = {}
    monkeypatch.setattr(Weighing, "weights", given)
    return given


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as mind:
        for place in PLACES:
            for thing in THINGS:
                mind.keep(f"the {thing} is in the {place}", place=SHELF, session=f"{thing} {place}")
        mind.embed()
        yield mind


def ask_all(mind: ActorHarness, asked: int = 2 * len(THINGS)) -> None:
    """Have an assistant ask for each thing in the harbour, and open what answers."""
    for number in range(asked):
        thing = THINGS[number % len(THINGS)]
        found = ask_as(mind, f"session {number}", f"is the {thing} in the harbour", k=50)
        (answer,) = (hit.id for hit in found.hits if hit.text == f"the {thing} is in the harbour")
        open_as(mind, f"session {number}", answer)
    whole_night(mind, stages=("uses",))


def rows(mind: ActorHarness, place: str) -> list[int]:
    return [row for row, text in enumerate(mind.texts(), 1) if text.decode().endswith(place)]


def told(report: NightReport) -> str:
    (stage,) = report.stages
    assert stage.state == "done"
    return stage.note


def ranking(mind: ActorHarness) -> list[tuple[str, float]]:
    return [(hit.text, hit.score) for hit in mind.recall("is the crane in the harbour").hits]


def test_a_stage_that_harms_is_not_taken_up_and_says_by_how_much(mind: ActorHarness, weights: dict[int, float]) -> None:
    ask_all(mind)
    before = ranking(mind)
    weights |= dict.fromkeys(rows(mind, "attic"), 1.0) | dict.fromkeys(rows(mind, "harbour"), -1.0)
    report = whole_night(mind, stages=(WEIGHING,))
    note = told(report)
    form = (
        r"22 past questions: 0 answered better, 22 worse, mean reciprocal rank -0\.\d{3} \(p 0\.000\): recalls go on .*"
    )
    assert re.fullmatch(form, note), note
    assert ranking(mind) == before
    (newest, *_) = mind.ask(ListNights()).nights
    assert [one.note for one in newest.stages] == [note]
    seq = mind.look(lambda now: now.seq)
    assert told(whole_night(mind, stages=(WEIGHING,))) == "", "it is not examined again"
    assert mind.look(lambda now: now.seq) == seq


def test_one_that_helps_is_taken_up_until_it_is_taken_back(mind: ActorHarness, weights: dict[int, float]) -> None:
    ask_all(mind)
    before = ranking(mind)
    weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
    assert "0 worse" in told(whole_night(mind, stages=(WEIGHING,)))
    after = ranking(mind)
    assert after != before
    weights |= dict.fromkeys(rows(mind, "attic"), 1.0)  # and harms from now on: recalls go by what passed
    weights |= dict.fromkeys(rows(mind, "harbour"), -1.0)
    assert "go on without it" in told(whole_night(mind, stages=(WEIGHING,)))
    assert ranking(mind) == after
    mind.ask(UndoNights())
    assert ranking(mind) == after
    mind.ask(UndoNights())
    assert ranking(mind) == before


def test_a_few_questions_tell_nothing(mind: ActorHarness, weights: dict[int, float]) -> None:
    ask_all(mind, LEAST_QUESTIONS - 1)
    weights |= dict.fromkeys(rows(mind, "harbour"), -1.0)
    before = ranking(mind)
    assert told(whole_night(mind, stages=(WEIGHING,))) == "19 past questions, fewer than 20: not examined"
    assert ranking(mind) != before


def test_an_exam_that_is_broken_off_is_had_by_the_next_night(
    mind: ActorHarness, weights: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_all(mind)
    ask_one = Exam.ask_one

    def ask_slowly(exam: Exam, context: Any) -> None:
        mind.clock.advance(1)
        ask_one(exam, context)

    monkeypatch.setattr(Exam, "ask_one", ask_slowly)
    before = ranking(mind)
    weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
    report = mind.ask(Sleep(run="broken off", budget_s=60.0, stages=(WEIGHING,)))
    assert (report.changes, report.behind, report.finished) == (1, 21, False)
    mind.ask(Preempt(run="broken off"))
    assert ranking(mind) == before, "what was not examined changes nothing"
    assert "22 past questions" in told(whole_night(mind, stages=(WEIGHING,)))
    assert ranking(mind) != before


@pytest.mark.parametrize(
    "weight", [MemoryWeight(weight=2.0), MemoryWeight(weight=float("nan")), MemoryWeight(uses=1, recent=(5, 4))]
)
def test_a_weight_that_is_none_fails_its_stage_alone(
    mind: ActorHarness, weights: dict[int, float], monkeypatch: pytest.MonkeyPatch, weight: MemoryWeight
) -> None:
    weights[1] = 0.0
    derived = Derivation(encode_effect((weight,)), (SourceSpan(1, 0, 0),))
    monkeypatch.setattr(Weighing, "plan", lambda self, state: derived)
    before = ranking(mind)
    (stage,) = whole_night(mind, stages=(WEIGHING,)).stages
    assert (stage.state, stage.changes) == ("failed", 0)
    assert stage.note.startswith("ValueError")
    assert ranking(mind) == before
