"""The exam of a stage whose items change recalls: the mind's own past questions, with and without them.

A question is a recall of an assistant's whose hits were of use: taken up in its reply, opened, or corrected
(`mnemic.actors.sleep.uses`). It is asked again as of its time, so neither it nor what came of it counts, once by
nothing that the stage derived and once by what stands of it. Where the first hit that was of use comes later, beyond
chance, recalls go by nothing of the stage. Too few questions tell nothing: then what stands passes, the report says so,
and it is examined once there are enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import BadInput
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.kernel.times import day_of
from mnemic.actors.recall.messages import Hit, Memory, Recall
from mnemic.actors.sleep.changes import KeepVerdict
from mnemic.actors.sleep.effects import RecallEffect, Trial
from mnemic.actors.sleep.queries import PastQuestion, Verdict
from mnemic.actors.sleep.uses import Uses, uses_of
from mnemic.algorithms.sleep.exam import probability_by_chance
from mnemic.algorithms.text.near_duplicates import fingerprint

LEAST_QUESTIONS = 20
"""Fewer tell nothing."""
MOST_QUESTIONS = 100
"""The newest are asked."""
UNLIKELY = 0.05
"""What is worse, and so by chance less often than this, is not taken up."""
_HITS = 20


class ExamQuestion(NamedTuple):
    """One of the mind's past questions."""

    question: PastQuestion
    """What was asked."""
    useful: Mapping[bytes, bytes]
    """Ids of the memories that were of use, each with the fingerprint of its text."""


def past_exam_questions(snapshot: Snapshot) -> list[ExamQuestion]:
    """The newest questions whose hits were of use, the oldest first."""
    useful: dict[int, set[int]] = defaultdict(set)
    for row, use in uses_of(snapshot.derived(Uses.name)):
        useful[use.delivery].add(row)
    asked = sorted(snapshot.past_questions(list(useful)).items())[-MOST_QUESTIONS:]
    found = []
    for delivery, question in asked:
        memories = snapshot.load_memories(sorted(useful[delivery]))
        found.append(ExamQuestion(question, {one.id: _said(one) for one in memories}))
    return found


def _said(memory: Memory) -> bytes:
    """What it says, by its day in UTC: of a hit, no other is known."""
    return fingerprint(memory.text, day_of(memory.recorded_at if memory.said_at is None else memory.said_at, 0))


class Exam:
    """One stage's exam, as far as it is."""

    def __init__(self, stage: str, effect: RecallEffect, night: int, questions: list[ExamQuestion]) -> None:
        """Begin.

        Args:
            night: number of the newest night that the stage derived anything in.
        """
        self.stage = stage
        self._effect, self._night = effect, night
        self._found = len(questions)
        self._todo = list(questions) if len(questions) >= LEAST_QUESTIONS else []
        self._differences: list[float] = []

    @property
    def left(self) -> int:
        """How many questions are left."""
        return len(self._todo)

    @property
    def has_told(self) -> bool:
        """Whether enough were asked."""
        return len(self._differences) >= LEAST_QUESTIONS

    def ask_one(self, context: Context) -> None:
        """Ask the next question, both ways; the newest come first."""
        asked = self._todo.pop()
        try:
            without, by_it = (
                _reciprocal_rank(asked, Trial(self.stage, self._effect, night), context) for night in (0, self._night)
            )
        except BadInput:  # what it was asked of is there no more: `has_told` counts those that were asked
            return
        self._differences.append(by_it - without)

    def verdict(self, run: str) -> KeepVerdict:
        """What came of it, as far as it was had."""
        asked = self._differences
        passed = True
        if not self.has_told:
            found = min(self._found, len(asked) or self._found)
            note = f"{found} past question{'' if found == 1 else 's'}, fewer than {LEAST_QUESTIONS}: not examined"
        else:
            mean, probability = sum(asked) / len(asked), probability_by_chance(asked)
            passed = mean >= 0 or probability >= UNLIKELY
            note = (
                f"{len(asked)} past questions: {sum(one > 0 for one in asked)} answered better,"
                f" {sum(one < 0 for one in asked)} worse, mean reciprocal rank {mean:+.3f} (p {probability:.3f})"
            )
            note += "" if passed else ": recalls go on without it"
        return KeepVerdict(
            run=run,
            stage=self.stage,
            effect=self._effect,
            night=self._night,
            questions=len(asked),
            passed=passed,
            why=note,
        )


def due_exams(
    had: Iterable[tuple[str, RecallEffect | None]], verdicts: Mapping[str, Verdict], snapshot: Snapshot
) -> list[Exam]:
    """The exams of stages whose items changed since their last one, or that had none for want of questions.

    Args:
        had: stages of this night and what their items do to recalls, in order; the exam of the first is the last.
        verdicts: what the last exams said.
    """
    due = []
    for name, effect in had:
        night, last = snapshot.newest_change(name), verdicts.get(name)
        if effect is None or not night:
            continue
        if last is None or last.night != night or last.questions < LEAST_QUESTIONS:
            due.append((name, effect, night))
    questions = past_exam_questions(snapshot) if due else []
    few = len(questions) < LEAST_QUESTIONS
    return [
        Exam(name, effect, night, questions)
        for name, effect, night in reversed(due)
        if not few or name not in verdicts or verdicts[name].night != night or not verdicts[name].passed
    ]


def _reciprocal_rank(asked: ExamQuestion, trial: Trial, context: Context) -> float:
    question = asked.question
    scope = "*" if question.scopes == ("*",) else question.scopes
    recall = Recall(query=question.query, k=_HITS, scope=scope, as_of=question.at, observe=False, trial=trial)
    for rank, hit in enumerate(context.ask(recall).hits, 1):
        if hit.id in asked.useful or _says_the_same(hit, asked.useful):
            return 1.0 / rank
    return 0.0


def _says_the_same(hit: Hit, useful: Mapping[bytes, bytes]) -> bool:
    """Whether a hit stands for a memory that was of use, and says what that says: a stage may fold unlike things."""
    folded = [useful[one.id] for one in hit.same if one.id in useful]
    return bool(folded) and fingerprint(hit.text, day_of(hit.said_at or 0, 0)) in folded
