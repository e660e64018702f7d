"""Whether recalls are worse or better after 1, 2 and 30 nights, while an assistant asks and uses what it finds.

Half of a set's questions, drawn by chance, are asked over thirty days by an assistant that opens what answers, where
that is among the first ten; the others are asked before any night and after some, leaving no trace, and compared with
themselves; then the halves change places. So are questions about facts that change, of which what held once may come
first (poison), and LoCoMo's in a mind where one turn in twenty is said again, set otherwise. Beside the production rule
stand the cosine, folded as the production rule is, and BM25. Intervals are bootstrapped over questions. Part of
`mnemic.bench.quality.sleep_bench`.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.messages import NoteDelivery
from mnemic.actors.recall.messages import Hit, Recall, Recalled
from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.metrics import any_at, reciprocal_rank
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.harness.statistics import mean_interval, paired_test
from mnemic.bench.quality.asking import RULES
from mnemic.bench.quality.facts.change_sets import ChangeSet
from mnemic.bench.quality.question_sets import QuestionSet
from mnemic.bench.quality.sleep.nights import have_night
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.supervisor import Supervisor

DAYS = 30
_TOLD_AFTER = (0, 1, 2, DAYS)  # nights
_DAY_US = 86_400_000_000
_OPENED, _DEPTH = 10, 50
_COPIED = 20  # every so many-th turn is said again
_EACH_CHANGING = 3
_ARMS = {"fused": "mnemic", "meaning alone": "cosine, folded", "words alone": "BM25"}
_NO_NIGHTS = "[runtime]\nsleep_after_s = 86400.0\nidle_exit_s = 86400.0\n"


class _Asked(NamedTuple):
    """A question, and what becomes of an answer to it; memories are known by the ids of their turns."""

    question: str
    scope: str
    gold: frozenset[str]
    stale: frozenset[str]


class _Days(SystemClock):
    """The system's clock, some days later."""

    days = 0

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC."""
        return super().now_us() + self.days * _DAY_US


def recall_rows(sets: Sequence[QuestionSet], changing: Mapping[str, ChangeSet], seed: int) -> Iterator[Row]:
    """Rows for each set, for LoCoMo's with copies, and for those whose facts change, of which every third question."""
    for one in sets:
        asked = [_Asked(each.question, each.scope, each.answers, frozenset()) for each in one.questions]
        yield from _rows(one.name, list(one.turns), asked, seed)
        if one.name == "locomo":
            yield from _rows("locomo with copies", *_with_copies(one, asked), seed)
    for name, of in changing.items():
        asked = [_Asked(each.question, each.slot[0], each.gold, each.stale) for each in of.questions[::_EACH_CHANGING]]
        yield from _rows(name, of.turns, asked, seed)


def _with_copies(of: QuestionSet, asked: Sequence[_Asked]) -> tuple[list[dict[str, Any]], list[_Asked]]:
    """A twentieth of the turns once more, in a conversation of their own; a copy of an answer answers."""
    copies = {}
    for turn in of.turns[::_COPIED]:
        again = f" {turn['text'].rstrip('.')}"
        copies[turn["id"]] = turn | {"id": f"{turn['id']}/again", "session": f"{turn['scope']}/again", "text": again}
    found = [each._replace(gold=each.gold | {copies[id]["id"] for id in each.gold if id in copies}) for each in asked]
    return [*of.turns, *copies.values()], found


def _rows(name: str, turns: Sequence[dict[str, Any]], asked: Sequence[_Asked], seed: int) -> Iterator[Row]:
    order = np.random.default_rng(seed).permutation(len(asked))
    halves = [[asked[place] for place in order[first::2]] for first in (0, 1)]
    scores: dict[tuple[int, str], list[Row]] = defaultdict(list)
    changes = 0
    for used, held in (halves, halves[::-1]):
        changes += _live(turns, used, held, scores)
    for (nights, arm), each in scores.items():
        row: Row = {"what": "recall", "set": name, "of": arm, "nights": nights, "questions": len(each)}
        for metric in [one for one in each[0] if one != "poison@1" or any(asked.stale for asked in halves[1])]:
            values = np.array([one[metric] for one in each], np.float64)
            row[metric] = float(values.mean())
            if metric == "mrr":
                row["mrr_low"], row["mrr_high"] = mean_interval(values)
            if nights:
                before = np.array([one[metric] for one in scores[0, arm]], np.float64)
                row[f"{metric}_minus_before"], row[f"p_{metric}"] = paired_test(values, before, seed=1)
        yield row
    yield {"what": "recall", "set": name, "of": f"changes in {DAYS} nights", "changes": changes}


def _live(
    turns: Sequence[dict[str, Any]],
    used: Sequence[_Asked],
    held: Sequence[_Asked],
    scores: dict[tuple[int, str], list[Row]],
) -> int:
    """Live through the days, in which some questions are asked, and score the others; returns how many changes nights
    made.
    """
    changes = 0
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(turn) + "\n" for turn in turns), "utf-8")
        run_mnemic(home, "capture", corpus)
        (home / "mnemic.toml").write_text(_NO_NIGHTS, "utf-8")
        clock = _Days()
        with actors_of(home, clock) as actors:
            # what others do for a night they do awake as well: it is done before anything is measured
            have_night(actors, "before", ("meaning", "facts", "communities"))
            for nights in range(DAYS + 1):
                if nights:
                    for number, one in enumerate(used[nights - 1 :: DAYS]):
                        _use(actors, one, f"day {nights} {number}")
                    changes += have_night(actors, f"night {nights}").changes
                    clock.days += 1
                if nights in _TOLD_AFTER:
                    for rule, arm in _ARMS.items():
                        scores[nights, arm] += [_score(_ask(actors, one, rule), one) for one in held]
    return changes


def _ask(actors: Supervisor, one: _Asked, rule: str, **fields: Any) -> tuple[Hit, ...]:
    asked = Recall(query=one.question, k=_DEPTH, scope=one.scope, signals=RULES[rule], **({"observe": False} | fields))
    answer = actors.ask(asked, 600.0)
    assert isinstance(answer, Recalled)
    return answer.hits


def _use(actors: Supervisor, one: _Asked, session: str) -> None:
    """An assistant asks, and opens what answers, where that is among the first."""
    hits = _ask(actors, one, "fused", observe=True, assistant="bench", asking_session=session)
    found = next((hit for hit in hits[:_OPENED] if hit.source_id in one.gold), None)
    if found is not None:
        part = DeliveredSpan(memory=found.id, start=0, stop=found.size_bytes, why="")
        actors.tell(NoteDelivery(assistant="bench", session=session, parts=(part,)))


def _score(hits: Sequence[Hit], one: _Asked) -> Row:
    ranking = [hit.source_id or "" for hit in hits]
    measured: Row = {f"hit@{k}": any_at(ranking, one.gold, k) for k in (1, 10)}
    measured["mrr"] = reciprocal_rank(ranking, one.gold)
    measured["poison@1"] = float(bool(ranking) and ranking[0] in one.stale)
    return measured
