"""Asks labelled questions of a home's actors and scores the answers: what the rows of the recall bench share.

Above stand `mnemic.bench.quality.recall_bench` and `mnemic.bench.quality.recall_sizes`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemic.actors.recall.messages import Hit, Recall, Recalled, SignalName
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.metrics import any_at, distinct, reciprocal_rank
from mnemic.bench.harness.statistics import paired_test
from mnemic.bench.quality.question_sets import LabelledQuestion
from mnemic.runtime.engine.supervisor import Supervisor

DEPTH = 100
"""Hits asked for; what comes later counts 0."""
RULES: dict[str, tuple[SignalName, ...]] = {
    "fused": ("dense", "lexical", "session", "structural", "answer", "validity", "use"),
    "fused without answer": ("dense", "lexical", "session", "structural", "validity", "use"),
    "fused without validity": ("dense", "lexical", "session", "structural", "answer"),
    "meaning alone": ("dense",),
    "words alone": ("lexical",),
}
"""The production rule, and what it has to beat."""

Score = dict[str, float]
"""What one answer is worth, by metric."""


def ask(actors: Supervisor, query: str, scope: str, signals: tuple[SignalName, ...], k: int = DEPTH) -> Recalled:
    """Recall, leaving no trace of it."""
    answer = actors.ask(Recall(query=query, k=k, scope=scope, signals=signals, observe=False))
    assert isinstance(answer, Recalled)
    return answer


def ask_each(actors: Supervisor, asked: Sequence[LabelledQuestion], scope: str | None) -> dict[str, list[Score]]:
    """Ask each question by each rule.

    Args:
        scope: where; ``None`` is where each one's answer is.
    """
    return {
        rule: [score(ask(actors, one.question, scope or one.scope, signals).hits, one) for one in asked]
        for rule, signals in RULES.items()
    }


def score(hits: Sequence[Hit], question: LabelledQuestion) -> Score:
    """By conversation where these count, else by turn; and ``turn_any@10``."""
    turns = [hit.source_id or "" for hit in hits]
    ranking, gold = (
        (distinct(hit.session for hit in hits), question.sessions) if question.sessions else (turns, question.answers)
    )
    measured = {"mrr": reciprocal_rank(ranking, gold)} | {f"any@{k}": any_at(ranking, gold, k) for k in (1, 5, 10)}
    return measured | {"turn_any@10": any_at(turns, question.answers, 10)}


def mean(scores: Sequence[Score]) -> Score:
    """The averages, by metric."""
    return {name: float(np.mean([one[name] for one in scores])) for name in scores[0]}


def rule_rows(about: Row, scores: dict[str, list[Score]]) -> list[Row]:
    """A row for each rule; of all but the production rule with how far it lies behind, and a paired test of that."""
    rows = []
    for rule, each in scores.items():
        row: Row = {**about, "rule": rule, "questions": len(each), **mean(each)}
        if rule != "fused":
            fused, this = (np.array([one["mrr"] for one in scores[name]]) for name in ("fused", rule))
            row["fused_minus_this_mrr"], row["p"] = paired_test(fused, this, seed=1)
        rows.append(row)
    return rows
