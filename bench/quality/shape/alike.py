"""Memories that are like others in what happened: are events of one kind found by each other, beside other ways?

The labels (``tests/fixtures/alike``) name events of one kind that happened to other things or other people, in other
words. Each is a probe, and the others of its kind are what is to be found; of LoCoMo's only those of other speakers.
Beside it the cosine of the texts, and a count of the fillers that both have, as a table tells it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.messages import Shape, Shaped
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.bench.harness.homes import MIND_NAME
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.metrics import any_at, reciprocal_rank
from mnemic.bench.harness.statistics import mean_interval, paired_test
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

_DEPTH = 1_000
_SHAPE, _COSINE, _COUNT = "shape --like", "cosine of the texts", "count of shared fillers"


def read_labels(path: Path, memories: Sequence[Memory]) -> list[tuple[str, list[int]]]:
    """Kinds of events, and the places of their memories.

    Raises:
        OSError: it cannot be read.
        ValueError: a label names no memory.
    """
    found = []
    for event in json.loads(path.read_text("utf-8")):
        places = set[int]()
        for member in event["members"]:
            named = {place for place, one in enumerate(memories) if _is_meant(member, one)}
            if not named:
                raise ValueError(f"{path}: no memory is {member}")
            places |= named
        found.append((str(event["event"]), sorted(places)))
    return found


def _is_meant(member: dict[str, str], memory: Memory) -> bool:
    if "id" in member:
        return memory.source_id == member["id"]
    said = memory.data.decode("utf-8", "replace")
    return (memory.session, memory.kind) == (member["session"], member["kind"]) and member["contains"] in said


def alike_rows(home: Path, labels: Path, of: str, actors: Supervisor, *, others: bool) -> Iterator[Row]:
    """How early events of the same kind come, by each way.

    Args:
        home: the folder of the home that the actors serve.
        of: what the mind is made of.
        others: whether only those of other speakers are to be found.

    Raises:
        OSError, ValueError: the labels cannot be read, or are of other memories.
    """
    memories, cosine, count = _plain_ways(home)

    def shaped(place: int) -> list[int]:
        answer = actors.ask(Shape(like=(memories[place].id,), k=_DEPTH, observe=False))
        assert isinstance(answer, Shaped)
        return [at[hit.id] for hit in answer.hits]

    at = {one.id: place for place, one in enumerate(memories)}
    ways: dict[str, Callable[[int], list[int]]] = {
        _SHAPE: shaped,
        _COSINE: lambda place: _ranked(cosine(place), place),
        _COUNT: lambda place: _ranked(count(place), place),
    }
    scores: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    for _, places in read_labels(labels, memories):
        for place in places:
            rest = {one for one in places if one != place}
            wanted = {one for one in rest if not others or memories[one].speaker != memories[place].speaker}
            if not wanted:
                continue
            for name, way in ways.items():
                given = way(place)
                hits = sum(one in wanted for one in given[:10]) / min(10, len(wanted))
                scores[name].append((reciprocal_rank(given, wanted), any_at(given, wanted, 10), hits))
    for name, each in scores.items():
        mrr, any10, hit10 = np.array(each).T
        low, high = mean_interval(mrr)
        row: Row = {"what": "alike", "of": of, "by": name, "questions": len(each), "mrr": float(mrr.mean())}
        row |= {"mrr_low": low, "mrr_high": high, "any@10": float(any10.mean()), "share@10": float(hit10.mean())}
        if name != _SHAPE:
            row["shape_minus_this_mrr"], row["p"] = paired_test(
                np.array(scores[_SHAPE])[:, 0], mrr, seed=1, rounds=4_000
            )
        yield row


def _ranked(scores: NDArray[np.float64], without: int) -> list[int]:
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return [place for place in order if place != without][:_DEPTH]


def _plain_ways(
    home: Path,
) -> tuple[list[Memory], Callable[[int], NDArray[np.float64]], Callable[[int], NDArray[np.float64]]]:
    """All memories, and of one the cosines of all texts to it, and how many fillers all share with it."""
    folder, keys = open_mind(home, MIND_NAME)
    reader = open_reader(folder.store, keys)
    try:
        with reader.snapshot() as snapshot:
            recall, shapes = RecallIndex(), ShapeIndex(keys.seed)
            recall.sync(snapshot, next(reversed(snapshot.encoders()), None))
            shapes.sync(snapshot, recall.columns)
            memories = snapshot.load_memories(recall.columns.row.tolist())
    finally:
        reader.close()
    vectors = np.nan_to_num(recall.first_vectors(np.arange(len(memories)))).astype(np.float64)
    records = shapes.records["episode"]
    places = records.visible(np.ones(len(memories), np.bool_))
    which, terms = records.terms_of(places)
    owner = records.position[places][which]

    def count(place: int) -> NDArray[np.float64]:
        shared = np.isin(terms, terms[owner == place])
        return np.bincount(owner[shared], minlength=len(memories)).astype(np.float64)

    return memories, lambda place: np.asarray(vectors @ vectors[place]), count
