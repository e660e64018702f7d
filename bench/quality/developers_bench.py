"""The developers bench: conversations of four projects in one home, asked questions whose answers are labelled turns.

The data is a folder of JSON files, one a project: ``sessions`` with their ``turns``, and ``questions``, each with the
ids of the turns that answer it (``tests/fixtures/developers``). It was written and labelled before any ranking was
seen, by authors who had not seen the code that ranks. Every third question is ``held``: those are for the end, and no
rule is chosen by them.

Rows: quality over turns of the production rule and of each competitor (meaning alone, words alone), pooled (everything
in one mind, unscoped) and in each project's own scope; and of the production rule by kind of question.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mnemic.actors.protocol.messages import Recall, Recalled, SignalName
from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.locomo import any_at, paired_test, reciprocal_rank
from mnemic.runtime.engine.supervisor import Supervisor

DEPTH = 100
"""Hits asked for; a turn that answers and comes later counts 0."""
RULES: dict[str, tuple[SignalName, ...]] = {
    "fused": ("dense", "lexical", "session", "structural"),
    "dense only": ("dense",),
    "words only": ("lexical", "session"),
    "turn words only": ("lexical",),
}
"""The production rule, and what it has to beat."""


class LabelledQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question, and the turns that answer it."""

    question: str
    """As it is asked."""
    kind: str
    """``meaning``, ``words``, ``path``, ``day``, ``negation``, ``change`` or ``two-hop``."""
    answers: tuple[str, ...]
    """Ids of the turns that answer it."""
    held: bool
    """Whether it is for the end."""
    project: str = ""
    """Of which project."""


def run(*, data: Path, held: bool = False) -> Iterator[Row]:
    """Capture a folder's projects into one home, and ask their questions.

    Args:
        held: whether those are asked that no rule is chosen by, in place of the others.

    Raises:
        ValueError: the folder holds no such data.
    """
    lines: list[dict[str, Any]] = []
    asked: list[LabelledQuestion] = []
    for path in sorted(data.glob("*.json")):
        turns, questions = read_project(path)
        lines += turns
        asked += [one for one in questions if one.held == held]
    if not asked:
        raise ValueError(f"{data} asks nothing that can be measured: it holds no conversations of developers")
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        run_mnemic(home, "capture", corpus)
        with actors_of(home) as actors:
            yield from _quality(actors, asked)


def read_project(path: Path) -> tuple[list[dict[str, Any]], list[LabelledQuestion]]:
    """A project's turns as generic JSON Lines in the scope ``developers/PROJECT``, and its questions.

    Raises:
        ValueError: the file is none of these, or a question names a turn that is not there.
    """
    try:
        whole = json.loads(path.read_bytes())
        project = whole["project"]
        turns = [
            {
                "session": session["id"],
                "scope": f"developers/{project}",
                "said_at": turn["at"],
                **{name: turn[name] for name in ("id", "role", "kind", "text", "tool") if name in turn},
            }
            for session in whole["sessions"]
            for turn in session["turns"]
        ]
        questions = msgspec.convert([one | {"project": project} for one in whole["questions"]], list[LabelledQuestion])
    except (KeyError, TypeError, ValueError) as error:  # msgspec's errors are ValueErrors
        raise ValueError(f"{path} holds no conversations of developers: {error}") from error
    known = {turn["id"] for turn in turns}
    for one in questions:
        if not one.answers or not known.issuperset(one.answers):
            raise ValueError(f"{path}: the question {one.question!r} names no turn that is there")
    return turns, questions


def _quality(actors: Supervisor, asked: Sequence[LabelledQuestion]) -> Iterator[Row]:
    def evaluate(rule: str, scope: Callable[[LabelledQuestion], str]) -> list[dict[str, float]]:
        return [_score(_ask(actors, one.question, scope(one), RULES[rule]), one.answers) for one in asked]

    for what, scope in (("pooled", lambda one: "*"), ("own scope", lambda one: f"developers/{one.project}")):
        scores = {rule: evaluate(rule, scope) for rule in RULES}
        for rule, each in scores.items():
            row = {"what": f"quality, {what}", "rule": rule, "questions": len(each), **_mean(each)}
            if rule != "fused":
                fused, this = (np.array([one["mrr"] for one in scores[name]]) for name in ("fused", rule))
                row["fused_minus_this_mrr"], row["p"] = paired_test(fused, this, seed=1)
            yield row
        for kind in sorted({one.kind for one in asked}):
            of_it = {
                rule: _mean([one for one, question in zip(each, asked, strict=True) if question.kind == kind])
                for rule, each in scores.items()
            }
            count = sum(question.kind == kind for question in asked)
            best = max(RULES, key=lambda rule: of_it[rule]["mrr"])
            about = {"questions": count, **of_it["fused"], "best_rule": best, "best_mrr": of_it[best]["mrr"]}
            yield {"what": f"quality, {what}, by kind", "kind": kind, **about}


def _ask(actors: Supervisor, query: str, scope: str, signals: tuple[SignalName, ...]) -> list[str]:
    answer = actors.ask(Recall(query=query, k=DEPTH, scope=scope, signals=signals, observe=False))
    assert isinstance(answer, Recalled)
    return [hit.source_id or "" for hit in answer.hits]


def _score(ranking: Sequence[str], answers: Sequence[str]) -> dict[str, float]:
    return {"mrr": reciprocal_rank(ranking, answers)} | {f"any@{k}": any_at(ranking, answers, k) for k in (1, 5, 10)}


def _mean(scores: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([one[name] for one in scores])) for name in scores[0]}
