"""A stage that makes answers worse is not taken up: it is tried on what assistants asked, and used, before."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import pytest

from mnemic.actors.kernel.errors import BadInput
from mnemic.actors.recall.messages import Recall
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.scopes.messages import ChangeScopes
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.effects import MemoryWeight, encode_effect
from mnemic.actors.sleep.exam import LEAST_QUESTIONS, Exam, ExamQuestion
from mnemic.actors.sleep.messages import ListNights, NightReport, Preempt, Sleep, UndoNights
from mnemic.actors.sleep.queries import PastQuestion
from mnemic.actors.sleep.stages import Derivation
from tests.actors.sleep.sleeping import SHELF, ask_as, open_as, whole_night
from tests.clocks import ManualClock
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


class Kept(NamedTuple):
    """A home that is not to be written to, and the time it was left at."""

    home: Path
    at_us: int

    def copy(self, home: Path) -> ActorHarness:
        return ActorHarness(Path(shutil.copytree(self.home, home)), clock=ManualClock(self.at_us))


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Each thing in each place, with its meaning."""
    home = tmp_path_factory.mktemp("things")
    with ActorHarness(home) as mind:
        for place in PLACES:
            for thing in THINGS:
                mind.keep(f"the {thing} is in the {place}", place=SHELF, session=f"{thing} {place}")
        mind.embed()
    return Kept(home, mind.clock.now_us())


@pytest.fixture(scope="module")
def asked_things(things: Kept, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The same, and an assistant has asked for each."""
    home = tmp_path_factory.mktemp("asked") / "home"
    with things.copy(home) as mind:
        ask_all(mind)
    return Kept(home, mind.clock.now_us())


@pytest.fixture
def mind(things: Kept, tmp_path: Path) -> Iterator[ActorHarness]:
    with things.copy(tmp_path / "home") as mind:
        yield mind


@pytest.fixture
def asked(asked_things: Kept, tmp_path: Path) -> Iterator[ActorHarness]:
    with asked_things.copy(tmp_path / "home") as mind:
        yield mind


@pytest.fixture
def _slow_questions(mind: ActorHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question of an exam takes a second."""
    ask_one = Exam.ask_one

    def ask_slowly(exam: Exam, context: Any) -> None:
        mind.clock.advance(1)
        ask_one(exam, context)

    monkeypatch.setattr(Exam, "ask_one", ask_slowly)


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


def test_a_stage_that_harms_is_not_taken_up_and_says_by_how_much(
    asked: ActorHarness, weights: dict[int, float]
) -> None:
    mind = asked
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


def test_one_that_helps_is_taken_up_until_it_harms_or_is_taken_back(
    asked: ActorHarness, weights: dict[int, float]
) -> None:
    mind = asked
    before = ranking(mind)
    weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
    assert "0 worse" in told(whole_night(mind, stages=(WEIGHING,)))
    after = ranking(mind)
    assert after != before
    weights |= dict.fromkeys(rows(mind, "attic"), 1.0)
    weights |= dict.fromkeys(rows(mind, "harbour"), -1.0)
    assert "go on without it" in told(whole_night(mind, stages=(WEIGHING,)))
    assert ranking(mind) == before
    mind.ask(UndoNights())
    assert ranking(mind) == after
    mind.ask(UndoNights())
    assert ranking(mind) == before


def test_one_that_is_left_out_changes_nothing_any_more(tmp_path: Path, weights: dict[int, float]) -> None:
    before: Any = None
    for stages in (f"uses {WEIGHING}", "uses"):
        with ActorHarness(tmp_path, **{"sleep.stages": stages}) as mind:
            if "weighing" not in stages.casefold():
                report = whole_night(mind)
                assert [(one.stage, one.note) for one in report.stages if one.stage == "weighing"] == [
                    ("weighing", "it is no stage of nights any more: recalls go on without it")
                ]
                assert ranking(mind) == before
                assert whole_night(mind).number is None
                told(whole_night(mind, stages=(WEIGHING,)))
                assert ranking(mind) != before, "it is one again"
                continue
            for place in PLACES:
                mind.keep(f"the crane is in the {place}", place=SHELF, session=place)
            mind.embed()
            before = ranking(mind)
            weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
            whole_night(mind)
            assert ranking(mind) != before


def test_what_passed_for_want_of_questions_is_examined_once_there_are_enough(
    mind: ActorHarness, weights: dict[int, float]
) -> None:
    weights |= dict.fromkeys(rows(mind, "attic"), 1.0) | dict.fromkeys(rows(mind, "harbour"), -1.0)
    before = ranking(mind)
    assert told(whole_night(mind, stages=(WEIGHING,))) == "0 past questions, fewer than 20: not examined"
    assert ranking(mind) != before
    ask_all(mind)
    assert "go on without it" in told(whole_night(mind, stages=(WEIGHING,)))
    assert ranking(mind) == before


class Folding(Weighing):
    """A stage that has all memories say the same."""

    name: ClassVar[str] = "folding"
    effect: ClassVar[str] = "fold"

    def plan(self, state: Any) -> Derivation:
        return Derivation(encode_effect((len(state),)), tuple(SourceSpan(row, 0, 0) for row, _ in state))


def test_folding_what_says_something_else_is_no_answer(asked: ActorHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    mind = asked
    before = ranking(mind)
    monkeypatch.setattr(Weighing, "weights", dict.fromkeys(range(1, 23), 0.0))
    assert "go on without it" in told(whole_night(mind, stages=(f"{__name__}:Folding",)))
    assert ranking(mind) == before


def test_where_most_cannot_be_asked_any_more_there_is_no_exam(mind: ActorHarness, weights: dict[int, float]) -> None:
    for number in range(22):
        found = ask_as(mind, f"session {number}", f"is the {THINGS[number % 11]} in the harbour", scope="shelf", k=50)
        open_as(mind, f"session {number}", found.hits[0].id)
    whole_night(mind, stages=("uses",))
    mind.ask(ChangeScopes(changes=(RenameScope(path="shelf", to="attic"),)))
    weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
    assert told(whole_night(mind, stages=(WEIGHING,))).endswith("fewer than 20: not examined")


def test_a_question_is_asked_as_of_its_time_without_a_trace_and_the_newest_first() -> None:
    asked: list[Recall] = []

    def ask(message: Any, timeout_s: float) -> Any:
        asked.append(message)
        raise BadInput

    context: Any = SimpleNamespace(ask=lambda message: ask(message, 1.0))
    questions = [ExamQuestion(PastQuestion(at, ("boat", "pier"), f"question {at}"), {}) for at in range(30)]
    exam = Exam("some", "weigh", 7, questions)
    exam.ask_one(context)
    assert exam.left == 29
    (first,) = asked
    assert (first.query, first.as_of, first.scope, first.observe) == ("question 29", 29, ("boat", "pier"), False)
    assert first.trial is not None
    assert first.trial.night == 0
    assert not exam.has_told


def test_a_few_questions_tell_nothing(mind: ActorHarness, weights: dict[int, float]) -> None:
    ask_all(mind, LEAST_QUESTIONS - 1)
    weights |= dict.fromkeys(rows(mind, "harbour"), -1.0)
    before = ranking(mind)
    assert told(whole_night(mind, stages=(WEIGHING,))) == "19 past questions, fewer than 20: not examined"
    assert ranking(mind) != before


@pytest.mark.usefixtures("_slow_questions")
def test_an_exam_that_is_broken_off_is_had_by_the_next_night(mind: ActorHarness, weights: dict[int, float]) -> None:
    ask_all(mind)
    before = ranking(mind)
    weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
    for _ in range(2):
        report = mind.ask(Sleep(run="broken off", budget_s=60.0, stages=(WEIGHING,)))
    assert (report.changes, report.behind, report.finished) == (1, 21, False)
    mind.ask(Preempt(run="broken off"))
    assert ranking(mind) == before, "what was not examined changes nothing"
    assert "22 past questions" in told(whole_night(mind, stages=(WEIGHING,)))
    assert ranking(mind) != before


def test_an_exam_that_cannot_be_had_is_told_and_changes_nothing(
    asked: ActorHarness, weights: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = asked
    before = ranking(mind)
    weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
    with monkeypatch.context() as patch:
        patch.setattr(Exam, "ask_one", lambda exam, context: 1 // 0)
        (stage,) = whole_night(mind, stages=(WEIGHING,)).stages
    assert (stage.state, stage.changes) == ("failed", 1)
    assert stage.note.startswith("its exam failed: ZeroDivisionError in ")
    assert ranking(mind) == before
    assert mind.look(lambda now: now.stage_failures())["weighing"][0] == 1, "the doctor tells it"
    assert "22 past questions" in told(whole_night(mind, stages=(WEIGHING,))), "and the next night has it"
    assert mind.look(lambda now: now.stage_failures()) == {}
    assert ranking(mind) != before


@pytest.mark.usefixtures("_slow_questions")
def test_an_exam_whose_time_is_used_up_says_what_it_knows_by_then(
    mind: ActorHarness, weights: dict[int, float]
) -> None:
    ask_all(mind)
    weights |= dict.fromkeys(rows(mind, "attic"), -0.5)
    while not (report := mind.ask(Sleep(run="short", budget_s=21.0, stages=(WEIGHING,)))).ended:
        pass
    assert told(report).startswith("21 past questions"), report


@pytest.mark.parametrize(
    "weight",
    [
        MemoryWeight(weight=2.0),
        MemoryWeight(weight=float("nan")),
        MemoryWeight(uses=1, recent=(5, 4)),
        MemoryWeight(uses=1 << 63),
        MemoryWeight(uses=1, first_at=1 << 63),
        MemoryWeight(uses=1, recent=(1 << 63,)),
        MemoryWeight(uses=1, recent=(-1,)),
    ],
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
