"""What is measured of an answer: the names that specs know, each a function of a question and what was answered.

A measure of somebody's own is named ``package:object``: a function of a `Question`, of the answer to it (a `Recalled`,
or what its own message is answered with) and of the arm's settings, which gives a number, or ``None`` where it says
nothing of that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnemic.bench.harness.metrics import any_at, ndcg_at, reciprocal_rank
from mnemic.experiment.lives import Question, load_object
from mnemic.experiment.spec import SpecFile

Measure = Callable[[Question, Any, Mapping[str, Any]], float | None]
"""Gives a number for one answer."""
NAMES = ("mrr", "hit@K", "ndcg@K", "poison@K", "probability")
"""The built-in ones; K is a number."""
_AT = re.compile(r"(hit|ndcg|poison)@([1-9][0-9]{0,2})")


def ranking_of(answer: Any) -> list[str]:
    """The ids of an answer's hits, the best first, as the life has them; none where it has no hits."""
    return [hit.source_id or "" for hit in getattr(answer, "hits", ())]


def short_name(measure: str) -> str:
    """What a measure is called where its package says nothing."""
    return measure.rpartition(":")[2]


def load_measures(file: SpecFile) -> dict[str, Measure]:
    """The measures of a spec, by name.

    Raises:
        InvalidValue: there is none of that name; the key of the spec is named.
    """
    return {name: _load(file, name) for name in file.spec.measures}


def _load(file: SpecFile, name: str) -> Measure:
    if name == "mrr":
        return lambda question, answer, settings: reciprocal_rank(ranking_of(answer), question.gold)
    if name == "probability":
        return _probability
    if (found := _AT.fullmatch(name)) is not None:
        if int(found[2]) > (depth := file.spec.probes.depth):
            raise file.wrong("measures", name, f"{depth} hits are asked for", "a smaller number, or more probes.depth")
        return _at(found[1], int(found[2]))
    if ":" not in name:
        expected = f"one of {', '.join(NAMES)}, or package:object"
        raise file.wrong("measures", name, "there is no such measure", expected)
    measure = load_object(file, "measures", name)
    if not callable(measure):
        raise file.wrong("measures", name, "it is no function", "a function of a question, an answer and settings")
    found_measure: Measure = measure
    return found_measure


def _at(kind: str, k: int) -> Measure:
    def hit(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
        return any_at(ranking_of(answer), question.gold, k)

    def poison(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
        return any_at(ranking_of(answer), question.stale, k) if question.stale else None

    def ndcg(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
        return ndcg_at(ranking_of(answer), question.gold, k)

    kinds: dict[str, Measure] = {"hit": hit, "poison": poison, "ndcg": ndcg}
    return kinds[kind]


def _probability(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """How probably the first hit answers, by the recall itself."""
    hits: Sequence[Any] = getattr(answer, "hits", ())
    return float(hits[0].score) if hits else 0.0
