"""The exam of a stage whose items change recalls: the mind's own past questions, with and without them.

A question is a recall of an assistant's whose hits were of use: taken up in its reply, opened, or corrected
(`mnemic.actors.sleep.uses`). It is asked again as of its time, so neither it nor what came of it counts, once by what
passed before and once by what stands now. Where the first hit that was of use comes later, beyond chance, recalls go on
as before. Too few questions tell nothing: then what stands passes, and the report says so.
"""

from __future__ import annotations

from collections import defaultdict

from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import BadInput
from mnemic.actors.protocol.messages import Recall
from mnemic.actors.protocol.sleep.changes import KeepVerdict
from mnemic.actors.protocol.sleep.effects import RecallEffect, Trial
from mnemic.actors.protocol.sleep.snapshot import PastQuestion
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.sleep.uses import Uses, uses_of
from mnemic.algorithms.sleep.exam import probability_by_chance

LEAST_QUESTIONS = 20
"""Fewer tell nothing."""
MOST_QUESTIONS = 200
"""The newest are asked."""
UNLIKELY = 0.05
"""What is worse, and so by chance less often than this, is not taken up."""
_HITS = 20


class Exam:
    """One stage's exam, as far as it is."""

    def __init__(self, stage: str, effect: RecallEffect, night: int, snapshot: Snapshot) -> None:
        """Choose the questions.

        Args:
            night: number of the newest night that the stage derived anything in.
        """
        self._stage, self._effect, self._night = stage, effect, night
        useful: dict[int, set[int]] = defaultdict(set)
        for row, use in uses_of(snapshot.derived(Uses.name)):
            useful[use.giving].add(row)
        asked = sorted(snapshot.past_questions(list(useful)).items())[-MOST_QUESTIONS:]
        self._todo: list[tuple[PastQuestion, frozenset[bytes]]] = [
            (question, frozenset(snapshot.ids_of(sorted(useful[giving])))) for giving, question in asked
        ]
        if len(self._todo) < LEAST_QUESTIONS:
            self._note = f"{len(self._todo)} past questions, fewer than {LEAST_QUESTIONS}: not examined"
            self._todo = []
        else:
            self._note = ""
        self._differences: list[float] = []

    @property
    def left(self) -> int:
        """How many questions are left."""
        return len(self._todo)

    def ask_one(self, context: Context) -> None:
        """Ask the next question, both ways."""
        question, useful = self._todo.pop()
        try:
            before, after = (
                _reciprocal_rank(question, useful, trial, context) for trial in (None, Trial(self._stage, self._effect))
            )
        except BadInput:  # what it was asked of is there no more
            return
        self._differences.append(after - before)

    def verdict(self) -> KeepVerdict:
        """What came of it, once no question is left."""
        note, passed = self._note, True
        if not note:
            asked, worse = self._differences, sum(one < 0 for one in self._differences)
            mean = sum(asked) / max(1, len(asked))
            probability = probability_by_chance(asked)
            passed = mean >= 0 or probability >= UNLIKELY
            note = (
                f"{len(asked)} past questions: {sum(one > 0 for one in asked)} answered better, {worse} worse,"
                f" mean reciprocal rank {mean:+.3f} (p {probability:.3f})"
            )
            note += "" if passed else ": recalls go on without it"
        return KeepVerdict(stage=self._stage, effect=self._effect, night=self._night, passed=passed, why=note)


def _reciprocal_rank(question: PastQuestion, useful: frozenset[bytes], trial: Trial | None, context: Context) -> float:
    scope = "*" if question.scopes == ("*",) else question.scopes
    asked = Recall(query=question.query, k=_HITS, scope=scope, as_of=question.at, observe=False, trial=trial)
    for rank, hit in enumerate(context.ask(asked).hits, 1):
        if hit.id in useful or not useful.isdisjoint(one.id for one in hit.same):
            return 1.0 / rank
    return 0.0
