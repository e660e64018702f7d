"""The recall bench: unlike sets of labelled questions, captured into one home by the real command and asked there.

Rows: of each set the quality of the production rule and of its competitors (meaning alone, words alone), in the set's
own part of the mind and among all memories of all sets, unscoped; by kind of question and by part; and ``nothing
fits``: how well a recall tells a question that the memories answer from one that they don't, which is the same question
asked in a scope that is about something else, and whether its scores are the share of answers that they say.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.measure import Row, goal
from mnemic.bench.harness.metrics import any_at, distinct, reciprocal_rank
from mnemic.bench.harness.palace import STRATEGIES, MemPalace, check_installed, conversation_name
from mnemic.bench.harness.palace import mempalace as mined_palace
from mnemic.bench.harness.plot import draw_lines
from mnemic.bench.harness.processes import name_models, run_mnemic
from mnemic.bench.quality.asking import RULES, Score, ask, ask_each, mean, rule_rows
from mnemic.bench.quality.question_sets import (
    LabelledQuestion,
    QuestionSet,
    changes_set,
    developers_set,
    languages_set,
    locomo_set,
)
from mnemic.bench.quality.recall_sizes import size_lines, size_rows
from mnemic.bench.quality.worlds import record_rows, world_rows
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.models.models import default_model_folder

_BINS = 10
_MOST_BEHIND = 0.02  # the goal: no mind is answered first by so much less than by the cosine
_POOLED = ("locomo", "developers")  # the chatter of the third one is a copy

Floats = NDArray[np.float64]


def run(
    *,
    locomo: Path | None = None,
    changes: Path | None = None,
    developers: Path | None = None,
    languages: Path | None = None,
    worlds: Path | None = None,
    held: bool = False,
    questions: int | None = None,
    model: Path | None = None,
    reranker: Path | None = None,
    mempalace: Path | None = None,
    sizes: tuple[int, ...] = (),
    plot: Path | None = None,
) -> Iterator[Row]:
    """Capture the sets that are named into one home, and ask.

    Args:
        locomo: a file of LoCoMo's.
        changes: a file of quiet changes; their chatter comes from LoCoMo's file, which has to be named, too.
        developers: a folder of developers' conversations.
        languages: a folder of conversations in other languages, which get a home of their own.
        worlds: a folder of months of changing talk, and of notes that are nearly alike (`mnemic.bench.quality.worlds`).
        held: whether of these those are asked that no rule is chosen by, in place of the others.
        questions: at most about so many of each set.
        model: a folder of another model than the default one; sizes are measured with that alone.
        reranker: a folder of a cross-encoder, which orders the best 20 of each rule; of sizes there is none.
        mempalace: the interpreter of an environment with MemPalace in it, which is asked LoCoMo's questions as well.
        sizes: in place of all that, LoCoMo's questions are asked in minds of one conversation, two and so on, and of
            all with chatter up to so many memories each.
        plot: a file to draw the sizes into.

    Raises:
        ValueError: nothing is named, or a file is none of these.
        OSError: MemPalace could not be started, or ended; or the plot cannot be written.
    """
    if plot is not None and not sizes:
        raise ValueError("a plot is of sizes: name some")
    if sizes:
        if model is not None or reranker is not None:
            raise ValueError("sizes are measured with the default model: name no other, no reranker, or no sizes")
        yield from _sizes(locomo, sizes, questions, plot)
        return
    if worlds is not None:
        yield from world_rows(worlds, held, model, reranker)
        yield from record_rows(worlds / "records.json", model, reranker)
    if mempalace is not None:
        check_installed()
    sets = []
    if locomo is not None:
        sets.append(locomo_set(locomo))
    if developers is not None:
        sets.append(developers_set(developers, held))
    if changes is not None:
        if locomo is None:
            raise ValueError("quiet changes are mixed with chatter: name a file of LoCoMo's as well")
        sets.append(changes_set(changes, locomo))
    if languages is not None:
        sets.append(languages_set(languages))
    if worlds is None and not any(one.questions for one in sets):
        raise ValueError("nothing that can be asked is named: name one or more sets of questions")
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        pooled = [one for one in sets if one.name in _POOLED]
        for group in ([pooled] if pooled else []) + [[one] for one in sets if one.name not in _POOLED]:
            home, corpus = Path(folder) / group[0].name, Path(folder) / "corpus.jsonl"
            corpus.write_text("".join(json.dumps(turn) + "\n" for one in group for turn in one.turns), "utf-8")
            name_models(home, model, reranker)
            run_mnemic(home, "capture", corpus)
            with actors_of(home) as actors:
                for one in group:
                    asked = _some(one.questions, questions)
                    with _palace(mempalace, one, Path(folder) / "mempalace") as palace:
                        yield from _quality(actors, one, asked, len(group) > 1, palace)
                        yield from _nothing_fits(actors, one, asked, palace)


def _sizes(locomo: Path | None, sizes: Sequence[int], questions: int | None, plot: Path | None) -> Iterator[Row]:
    if locomo is None:
        raise ValueError("sizes are measured with LoCoMo's conversations: name a file of them")
    of, rows = locomo_set(locomo), []
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        for row in size_rows(of, _some(of.questions, questions), sizes, Path(folder)):
            rows.append(row)
            yield row
    if plot is not None:
        draw_lines(plot, "share, mean reciprocal rank", "memories", size_lines(rows), share=True)


def _some(questions: Sequence[LabelledQuestion], most: int | None) -> Sequence[LabelledQuestion]:
    """Every so many-th, about so many in all."""
    return questions[:: max(1, len(questions) // most) if most else 1]


@contextmanager
def _palace(python: Path | None, of: QuestionSet, into: Path) -> Iterator[MemPalace | None]:
    """MemPalace with the memories of a set; none where it is not asked for, or answers are turns, which it cuts up."""
    if python is None or not any(one.sessions for one in of.questions):
        yield None
        return
    with mined_palace(python, default_model_folder(), of.turns, into, padded=False) as palace:
        yield palace


def _quality(
    actors: Supervisor, of: QuestionSet, asked: Sequence[LabelledQuestion], pooled: bool, palace: MemPalace | None
) -> Iterator[Row]:
    places = {"own scope": None, **({of.name: of.name} if of.name in _POOLED else {}), **({"*": "*"} if pooled else {})}
    for where, scope in places.items():
        scores = ask_each(actors, asked, scope)
        if palace is not None and where != "*":  # the palace holds this set alone
            scores |= {
                f"competitor: MemPalace, {strategy}": [
                    _palace_score(palace, one, None if scope else one.scope, strategy) for one in asked
                ]
                for strategy in STRATEGIES
            }
        about = {"what": "quality", "set": of.name, "where": where}
        yield from rule_rows(about, scores)
        for name in ("kind", "part"):
            for value in sorted({getattr(one, name) for one in asked}):
                of_it = [
                    score for score, one in zip(scores["fused"], asked, strict=True) if getattr(one, name) == value
                ]
                yield {**about, "rule": "fused", name: value, "questions": len(of_it), **mean(of_it)}
        if of.name == "changes":
            yield from mind_rows(about, asked, scores)


def mind_rows(about: Row, asked: Sequence[LabelledQuestion], scores: dict[str, list[Score]]) -> Iterator[Row]:
    """How many questions of each mind are answered first, beside the cosine's, and how far the worst lies behind.

    ``won`` counts those that the rule answers first and the cosine does not, ``lost`` the other way round.
    """
    first = {rule: np.array([one["any@1"] for one in scores[rule]]) for rule in ("fused", "meaning alone")}
    minds = np.array([one.scope for one in asked])
    behind: dict[str, float] = {}
    for mind in dict.fromkeys(minds.tolist()):
        fused, cosine = (each[minds == mind] for each in first.values())
        behind[mind] = float((cosine - fused).mean())
        row = {
            "mind": mind,
            "questions": len(fused),
            "any@1": float(fused.mean()),
            "meaning_any@1": float(cosine.mean()),
        }
        row |= {"won": int((fused > cosine).sum()), "lost": int((fused < cosine).sum()), "behind_any@1": behind[mind]}
        yield {**about, "rule": "fused", **row}
    worst = max(behind, key=lambda mind: behind[mind])
    row = {"minds": len(behind), "worst": worst, "behind_any@1": behind[worst]}
    yield {**about, "rule": "fused", **row} | goal("behind_any@1", round(behind[worst], 9), _MOST_BEHIND)


def _nothing_fits(
    actors: Supervisor, of: QuestionSet, asked: Sequence[LabelledQuestion], palace: MemPalace | None
) -> Iterator[Row]:
    """Whether a recall tells that it has no answer, and how true its scores are."""
    elsewhere = of.elsewhere()
    asked = [one for one in asked if one.kind != "adversarial" and one.scope in elsewhere]
    if not asked:
        return
    own, foreign = [], []
    answered: list[tuple[float, bool]] = []
    for one in asked:
        hits = ask(actors, one.question, one.scope, RULES["fused"], 5).hits
        others = ask(actors, one.question, elsewhere[one.scope], RULES["fused"], 5).hits
        own.append(hits[0].score if hits else 0.0)
        foreign.append(others[0].score if others else 0.0)
        answered += [(hit.score, hit.source_id in one.answers) for hit in hits]
        answered += [(hit.score, False) for hit in others]
    told = np.array([score for score, _ in answered])
    right = np.array([is_right for _, is_right in answered], np.float64)
    row = {"what": "nothing fits", "set": of.name, "questions": len(asked), "auroc": auroc(own, foreign)}
    yield row | {
        "brier": float(((told - right) ** 2).mean()),
        "expected_calibration_error": calibration_error(told, right),
    }
    if palace is not None:
        similarities = [
            [_best_similarity(palace, one.question, scope) for scope in (one.scope, elsewhere[one.scope])]
            for one in asked
        ]
        told_of = auroc(*zip(*similarities, strict=True))
        about = {"rule": "competitor: MemPalace, vector", "questions": len(asked), "auroc": told_of}
        yield {"what": "nothing fits", "set": of.name} | about
    for low in np.arange(_BINS) / _BINS:
        inside = (told >= low) & ((told < low + 1 / _BINS) | (low + 1 / _BINS >= 1))
        if inside.any():
            about = {
                "hits": int(inside.sum()),
                "told": float(told[inside].mean()),
                "right": float(right[inside].mean()),
            }
            yield {"what": "reliability", "set": of.name, "from": float(low), **about}


def auroc(own: Iterable[float], foreign: Iterable[float]) -> float:
    """How often a score of the first kind is above one of the second; ties count half."""
    first, second = np.sort(np.fromiter(own, np.float64)), np.sort(np.fromiter(foreign, np.float64))
    below = np.searchsorted(second, first, "left") + np.searchsorted(second, first, "right")
    return float(below.mean() / 2 / len(second))


def calibration_error(told: Floats, right: Floats) -> float:
    """The expected calibration error: the mean distance of what is told from what is, over bins of equal width.

    Source: M. Naeini, G. Cooper and M. Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning"
    (2015).
    """
    bins = np.minimum((told * _BINS).astype(int), _BINS - 1)
    sums = [np.bincount(bins, weights, _BINS) for weights in (told, right)]
    return float(np.abs(sums[0] - sums[1]).sum() / len(told))


def _palace_score(palace: MemPalace, question: LabelledQuestion, scope: str | None, strategy: str) -> dict[str, float]:
    """By conversation; several hits may be of one, so five times as many are asked for as are measured."""
    hits = palace.search(question.question, scope, 5 * 10, strategy)["hits"]
    ranking, gold = distinct(name for name, _ in hits), {conversation_name(one) for one in question.sessions}
    return {"mrr": reciprocal_rank(ranking, gold)} | {f"any@{k}": any_at(ranking, gold, k) for k in (1, 5, 10)}


def _best_similarity(palace: MemPalace, question: str, scope: str) -> float:
    hits = palace.search(question, scope, 5, "vector")["hits"]
    return max((float(similarity) for _, similarity in hits), default=0.0)
