"""Does structure improve ordinary recall? LoCoMo with and without each structural signal.

Below `mnemic.bench.quality.shape_bench`. All signals of all questions are computed as the Retriever computes them, and
fused with many weights. Each weight is chosen on one half of the questions and judged on the other, both ways round, so
that no question has a say in its own weight. Beside what hypervectors say stands what the store's own columns or
vectors say of the same thing, without noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.changes import EncoderName
from mnemic.actors.protocol.messages import Memory
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.recall.day_signal import day_nearness, days_in_question
from mnemic.actors.recall.query import search_terms
from mnemic.actors.recall.recall_index import RecallIndex
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.algorithms.retrieval.bm25 import bm25, bm25_grouped
from mnemic.algorithms.retrieval.fusion import min_max_scale, rank
from mnemic.algorithms.text.days import DateRange
from mnemic.bench.harness.metrics import paired_test
from mnemic.bench.quality.locomo import Question, RankedHit, read_questions, score
from mnemic.hd.evidence import estimate_similarity
from mnemic.runtime.models.encoders import load_encoder

__all__ = ["WEIGHTS", "embed_texts", "measure_ablation"]

WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
"""Among which one is chosen; 0 is to leave the signal out."""
_DEPTH = 300
_METRICS = ("mrr", "any@5", "turn_any@10")
_DECAY_DAYS = 3.0
_DAY_US = 86_400_000_000

Floats = NDArray[np.float64]
Signals = list[Floats]


class _Corpus(NamedTuple):
    """A mind and questions about it."""

    memory: RecallIndex
    shapes: ShapeIndex
    records: list[Memory]
    asked: Sequence[Question]
    vectors: NDArray[np.float32]
    """The questions' embeddings."""


class _RuleScores(NamedTuple):
    """A ranking rule with its weight chosen on the other half."""

    weights: tuple[float, float]
    """Chosen for the even questions, and for the odd ones."""
    each: Mapping[str, Floats]
    """By metric, of each question."""


def measure_ablation(snapshot: Snapshot, seed: bytes, data: Path, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """A row for each signal.

    Args:
        snapshot: of a mind that LoCoMo's file was captured into, embedded and bound.
        seed: the mind's.
        data: that file.
        limit: ask so many questions, evenly spaced.
    """
    asked = read_questions(data).kept
    asked = asked[:: max(1, len(asked) // limit)] if limit else asked
    corpus = _corpus(snapshot, seed, asked)
    fused = [_fused(corpus, place, snapshot) for place in range(len(asked))]
    cued = [days_in_question(one.text, 0, corpus.memory.columns.said_at) for one in asked]
    plain = _judge(corpus, fused, _no_signal(fused))
    yield {"what": "recall", "with": "meaning, words", "questions": len(asked), **_means(plain)}
    days = _days(corpus, cued)
    best = _judge(corpus, fused, days)
    yield _row("and days named, by shape", best, plain, asked, cued)
    yield _row("and days named, by the time column", _judge(corpus, fused, _columns(corpus, cued)), plain, asked, cued)
    # what else might help has to help beside the days
    base = [one + best.weights[place % 2] * more for place, (one, more) in enumerate(zip(fused, days, strict=True))]
    beside = _judge(corpus, base, _no_signal(fused))
    for name, made in (
        ("and days, turns beside it, by shape", _neighbours),
        ("and days, turns beside it, by vectors", _neighbour_vectors),
        ("and days, who is named, by shape", _named),
        ("and days, about, by shape", _about),
    ):
        yield _row(name, _judge(corpus, base, made(corpus)), beside, asked, None)


def embed_texts(texts: Sequence[str]) -> tuple[EncoderName, NDArray[np.float32]]:
    """The default model's name, and the embeddings of texts, each alone, ``(n, dimensions)``."""
    encoder = load_encoder(None)
    vectors = [encoder.encode([encoder.windows(text, 1)[0][0]])[0] for text in texts]
    return EncoderName(encoder.implementation, encoder.model), np.array(vectors, np.float32)


def _corpus(snapshot: Snapshot, seed: bytes, asked: Sequence[Question]) -> _Corpus:
    name, vectors = embed_texts([one.text for one in asked])
    memory, shapes = RecallIndex(), ShapeIndex(seed)
    memory.sync(snapshot, name)
    shapes.sync(snapshot, memory.columns)
    return _Corpus(memory, shapes, snapshot.load_memories([int(row) for row in memory.columns.row]), asked, vectors)


def _fused(corpus: _Corpus, place: int, snapshot: Snapshot) -> Floats:
    """Meaning, words of the turn and of the session, as the Retriever fuses them."""
    columns = corpus.memory.columns
    visible = np.ones(len(columns.row), np.bool_)
    dense, _ = corpus.memory.cosines(corpus.vectors[place].tobytes(), visible, len(visible))
    postings = [
        corpus.memory.to_positions(snapshot.postings(term))
        for term in search_terms(corpus.asked[place].text, snapshot, [])
    ]
    return np.asarray(
        min_max_scale(dense, visible)
        + min_max_scale(bm25(postings, columns.words, visible), visible, floor=0.0)
        + min_max_scale(bm25_grouped(postings, columns.words, visible, columns.session), visible, floor=0.0)
    )


def _days(corpus: _Corpus, cued: Sequence[list[DateRange]]) -> Signals:
    """What the Retriever does."""
    columns = corpus.memory.columns
    visible = np.ones(len(columns.row), np.bool_)
    none = np.zeros(len(visible))
    return [np.nan_to_num(day_nearness(days, corpus.shapes, columns, visible)) if days else none for days in cued]


def _columns(corpus: _Corpus, cued: Sequence[list[DateRange]]) -> Signals:
    """The same by the times themselves: falling with the distance in days."""
    said = corpus.memory.columns.said_at // _DAY_US
    epoch = datetime(1970, 1, 1, tzinfo=UTC).toordinal()
    signals = []
    for days in cued:
        near = np.zeros(len(said))
        for span in days:
            first, last = span.first.toordinal() - epoch, span.last.toordinal() - epoch
            away = np.maximum(0, np.maximum(first - said, said - last))
            near = np.maximum(near, np.exp(-away / _DECAY_DAYS))
        signals.append(near)
    return signals


def _neighbours(corpus: _Corpus) -> Signals:
    """How like the question the turns before and after are, read off the hypervector of the turn itself."""
    return [
        before + after
        for before, after in zip(*(_likeness(corpus, role) for role in ("previous", "next")), strict=True)
    ]


def _about(corpus: _Corpus) -> Signals:
    """What meaning says, read off the hypervector."""
    return _likeness(corpus, "about")


def _likeness(corpus: _Corpus, role: str) -> Signals:
    encoders = corpus.shapes.encoders
    assert encoders is not None
    return _read(corpus, encoders.project_embeddings(corpus.vectors) ^ encoders.role_vector(role))


def _named(corpus: _Corpus) -> Signals:
    """Whether a speaker whom the question names said it."""
    encoders = corpus.shapes.encoders
    assert encoders is not None
    names = sorted({(one.speaker or "").lower() for one in corpus.records} - {""})
    said = np.array(_read(corpus, encoders.encode_fillers("who", names) ^ encoders.role_vector("who")))
    words = [set(one.text.lower().replace("'", " ").replace("?", " ").split()) for one in corpus.asked]
    return [
        np.max([said[place] * (name in spoken) for place, name in enumerate(names)], axis=0, initial=0.0)
        for spoken in words
    ]


def _read(corpus: _Corpus, pairs: NDArray[np.uint64]) -> Signals:
    """The likeness of every memory to each of some bound pairs."""
    columns, codes = corpus.memory.columns, corpus.shapes.codes("episode")
    places = corpus.shapes.visible("episode", np.ones(len(columns.row), np.bool_))
    distances = corpus.shapes.algebra.distances(codes.join(places), pairs)
    alike, _ = estimate_similarity(distances, codes.pairs[places], codes.dimensions)
    read = np.zeros((len(pairs), len(columns.row)))
    read[:, np.searchsorted(columns.row, corpus.shapes.rows("episode")[places])] = alike.T
    return list(read)


def _neighbour_vectors(corpus: _Corpus) -> Signals:
    """How like the question the turns before and after are, by their own embeddings."""
    coded, memory, _ = corpus.memory.windows()
    columns = corpus.memory.columns
    mean = np.zeros((len(columns.row), coded.vectors.shape[1]), np.float32)
    np.add.at(mean, memory, coded.vectors)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)
    cosines = corpus.vectors @ mean.T
    order = np.lexsort((columns.row, columns.said_at, columns.session))
    beside = np.zeros_like(cosines)
    together = columns.session[order[:-1]] == columns.session[order[1:]]
    first, second = order[:-1][together], order[1:][together]
    beside[:, second] += cosines[:, first]
    beside[:, first] += cosines[:, second]
    return list(beside.astype(np.float64))


def _no_signal(signals: Signals) -> Signals:
    return [np.zeros_like(one) for one in signals]


def _judge(corpus: _Corpus, base: Signals, more: Signals) -> _RuleScores:
    """Rank with each weight, choose one by MRR on each half, and keep what it gives on the other half."""
    standard = [
        one if one.max() <= 1 and one.min() >= 0 else min_max_scale(one, np.ones(len(one), np.bool_)) for one in more
    ]
    tried = {
        weight: _scores(corpus, [one + weight * other for one, other in zip(base, standard, strict=True)])
        for weight in (WEIGHTS if any(one.any() for one in more) else (0.0,))
    }
    even = np.arange(len(base)) % 2 == 0

    def chosen(half: NDArray[np.bool_]) -> float:
        return max(tried, key=lambda weight: float(tried[weight]["mrr"][half].mean()) if half.any() else 0.0)

    weights = chosen(~even), chosen(even)
    each = {metric: np.where(even, tried[weights[0]][metric], tried[weights[1]][metric]) for metric in _METRICS}
    return _RuleScores(weights, each)


def _scores(corpus: _Corpus, scores: Signals) -> dict[str, Floats]:
    columns = corpus.memory.columns
    visible = np.ones(len(columns.row), np.bool_)
    found = []
    for total, question in zip(scores, corpus.asked, strict=True):
        hits = [corpus.records[index] for index in rank(total, visible, columns.said_at, _DEPTH)]
        found.append(score([RankedHit(hit.session, hit.source_id) for hit in hits], question))
    return {metric: np.array([one[metric] for one in found]) for metric in _METRICS}


def _means(judged: _RuleScores) -> dict[str, float]:
    return {metric: float(values.mean()) for metric, values in judged.each.items()}


def _row(
    name: str,
    judged: _RuleScores,
    without: _RuleScores,
    asked: Sequence[Question],
    cued: Sequence[list[DateRange]] | None,
) -> dict[str, Any]:
    row: dict[str, Any] = {"what": "recall", "with": name, "questions": len(asked), **_means(judged)}
    row["weights"] = "/".join(f"{weight:g}" for weight in judged.weights)
    for metric in _METRICS:
        paired = paired_test(judged.each[metric], without.each[metric], seed=1, rounds=4000)
        row |= {f"gain_{metric}": paired.difference, f"p_{metric}": paired.p}
    gain = judged.each["mrr"] - without.each["mrr"]
    talks = np.array([one.conversation for one in asked])
    row["gain_by_conversation"] = " ".join(f"{gain[talks == talk].mean():+.3f}" for talk in sorted(set(talks)))
    if cued is not None:
        named = np.array([bool(days) for days in cued])
        row["naming_a_day"] = int(named.sum())
        if named.any():
            row |= {
                "their_mrr_without": float(without.each["mrr"][named].mean()),
                "their_mrr": float(judged.each["mrr"][named].mean()),
            }
    return row
