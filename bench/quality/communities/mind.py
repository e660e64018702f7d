"""Communities of real conversations: do they hold what belongs together, and is a new memory placed where it belongs?

The communities bench yields these rows where it is given a file of LoCoMo's. A mind is filled by the real command, its
communities are found by the real actors; beside them stand k-means on the same vectors, with as many clusters of
memories as there are topics, and the sessions themselves. Once each conversation is a scope of its own, as assistants'
projects are, and once all are one scope, where conversations are there to be told apart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.communities.changes import BoundaryReason
from mnemic.actors.communities.messages import UpdateCommunities
from mnemic.actors.communities.queries import MemberCodes, Members
from mnemic.actors.meaning.messages import EmbedPending
from mnemic.bench.harness.homes import MIND_NAME, actors_of, bind_all
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.communities.partitions import Ints, normalised_mutual_information
from mnemic.bench.quality.communities.placement import placement_agreement
from mnemic.bench.quality.locomo import Question, convert, read_questions
from mnemic.hd.algebra import default_algebra
from mnemic.hd.space import Space
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import StoreSnapshot, open_reader

_STARTS = 5  # of k-means; the best counts
_ROUNDS = 50
_FIRST_SHARE = 0.6  # of each conversation's sessions are there at the first boundary

Floats = NDArray[np.float32]


class _Found(NamedTuple):
    """What is in a mind after a boundary, memory by memory, of those that have a vector."""

    ids: list[str | None]
    sessions: Ints
    conversations: Ints
    topics: Ints
    """Number of the topic; of a memory alone one of its own."""
    vectors: Floats


def memory_rows(data: Path, folder: Path, seed: int) -> Iterator[Row]:
    """Purity and agreement of topics, each conversation in its scope and all in one; then how new memories are placed.

    Raises:
        OSError, ValueError, KeyError: the file is none of LoCoMo's.
    """
    lines, asked = list(convert(data)), read_questions(data)
    for of, pooled in (("own scopes", False), ("one scope", True)):
        home = folder / of.replace(" ", "-")
        _capture(home, [line | ({"scope": "pooled"} if pooled else {}) for line in lines])
        with actors_of(home) as actors:
            took_s = bring_up_to_date(actors, "asked")
        with closing(_reader(home)) as reader, reader.snapshot() as snapshot:
            found = _found(snapshot)
        yield {"what": "the last boundary", "of": of, "memories": len(found.ids), "s": took_s}
        yield from _agreement_rows(of, found, asked, seed)
    yield from placement_rows(lines, folder / "placed")


def placement_rows(lines: Sequence[dict[str, Any]], home: Path) -> Iterator[Row]:
    """How often a new memory's nearest mean vector, and its nearest prototype, are of the topic that the next boundary
    puts it in: the last sessions of each conversation are new, the first are known.
    """
    sessions: dict[str, list[str]] = {}
    for line in lines:
        known = sessions.setdefault(line["scope"], [])
        if line["session"] not in known:
            known.append(line["session"])
    first = {one for known in sessions.values() for one in known[: int(_FIRST_SHARE * len(known))]}
    _capture(home, [line for line in lines if line["session"] in first])
    with actors_of(home) as actors:
        bring_up_to_date(actors, "asked")
    with closing(_reader(home)) as reader, reader.snapshot() as snapshot:
        before = snapshot.kept_members()
    _capture(home, [line for line in lines if line["session"] not in first])
    with actors_of(home) as actors:
        took_s = bring_up_to_date(actors, "asked")
    _, keys = open_mind(home, MIND_NAME)
    with closing(_reader(home)) as reader, reader.snapshot() as snapshot:
        kept, rows = snapshot.space(), snapshot.memory_columns(0).row
        assert kept is not None
        space = Space(seed=keys.seed, dimensions=kept.dimensions, roles=kept.roles)
        vectors = snapshot.mean_vectors(snapshot.encoders()[-1], rows)
        found = placement_agreement(
            before, snapshot.kept_members(), _codes(snapshot), vectors, space, default_algebra()
        )
    about: Row = {"what": "new memories placed", "known": len(before.row), "compared": found.compared}
    yield about | {"of": "nearest mean vector", "agrees": found.by_mean_vector, "born": found.born}
    yield about | {"of": "nearest prototype, without a model", "agrees": found.by_prototype, "boundary_s": took_s}


def bring_up_to_date(actors: Supervisor, mark: BoundaryReason) -> float:
    """Have all embedded, bound and grouped; returns how long the communities took, seconds."""
    while actors.ask(EmbedPending()).pending:
        pass
    began = time.perf_counter()
    progress = actors.ask(UpdateCommunities(mark=mark))
    while progress.pending:
        progress = actors.ask(UpdateCommunities(), timeout_s=600.0)
    took_s = time.perf_counter() - began
    if progress.why_not:
        raise ValueError(progress.why_not)
    bind_all(actors)
    return took_s


def _agreement_rows(of: str, found: _Found, asked: Sequence[Question], seed: int) -> Iterator[Row]:
    """Topics, k-means and sessions, each with what it holds together."""
    sizes = np.unique(found.topics, return_counts=True)[1]
    grouped = np.isin(found.topics, np.unique(found.topics)[sizes > 1])
    about: Row = {"what": "what belongs together", "of": of}
    yield about | {
        "topics": int((sizes > 1).sum()),
        "memories_in_one": float(grouped.mean()),
        "largest": int(sizes.max()),
        "median_size": float(np.median(sizes[sizes > 1])) if (sizes > 1).any() else 0.0,
    }
    clusters = k_means(found.vectors, len(sizes), np.random.default_rng(seed))
    at = {id: place for place, id in enumerate(found.ids)}
    pairs = [
        (at[one], at[other])
        for question in asked
        for turns in [sorted(turn for turn in question.turns if turn in at)]
        for number, one in enumerate(turns)
        for other in turns[number + 1 :]
    ]
    for by, labels in (
        ("topics", found.topics),
        ("baseline: k-means, as many", clusters),
        ("baseline: sessions", found.sessions),
    ):
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
        yield about | {
            "by": by,
            "session_purity": purity(labels, found.sessions),
            "session_nmi": normalised_mutual_information(labels, found.sessions),
            "conversation_purity": purity(labels, found.conversations),
            "evidence_together": float(np.mean([labels[one] == labels[other] for one, other in pairs])),
            "by_chance": float(shares @ shares),
            "pairs": len(pairs),
        }


def purity(labels: Ints, classes: Ints) -> float:
    """In which part of all, 0 to 1, something is of the class that most of its group are of; ``(n,)`` each."""
    pairs, counts = np.unique(np.stack([labels, classes]), axis=1, return_counts=True)
    most: dict[int, int] = {}
    for label, count in zip(pairs[0].tolist(), counts.tolist(), strict=True):
        most[label] = max(most.get(label, 0), count)
    return sum(most.values()) / len(labels)


def k_means(vectors: Floats, clusters: int, random: np.random.Generator) -> Ints:
    """Clusters of unit vectors by Lloyd's algorithm (1982), begun as by k-means++ (Arthur, Vassilvitskii 2007).

    The best of several starts.

    Args:
        vectors: ``(n, d) float32`` of unit length.
        clusters: at most so many, from 1 to n.

    Returns:
        ``(n,) int64`` labels.
    """
    best, labels = np.inf, np.zeros(len(vectors), np.int64)
    for _ in range(_STARTS):
        centres = vectors[[int(random.integers(len(vectors)))]]
        nearest = 2 - 2 * vectors @ centres[0]
        while len(centres) < clusters:
            share = np.maximum(nearest, 0).astype(np.float64)
            drawn = int(random.choice(len(vectors), p=share / share.sum())) if share.any() else 0
            centres = np.vstack([centres, vectors[drawn]])
            nearest = np.minimum(nearest, 2 - 2 * vectors @ vectors[drawn])
        for _ in range(_ROUNDS):
            found = np.argmax(vectors @ centres.T - (centres * centres).sum(axis=1) / 2, axis=1)
            sums = np.zeros_like(centres)
            np.add.at(sums, found, vectors)
            counts = np.bincount(found, minlength=len(centres))
            moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
            if np.allclose(moved, centres):
                break
            centres = moved
        spread = float(((vectors - centres[found]) ** 2).sum())
        if spread < best:
            best, labels = spread, found.astype(np.int64)
    return labels


def _capture(home: Path, lines: Sequence[dict[str, Any]]) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    corpus = home.with_suffix(".jsonl")
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    run_mnemic(home, "capture", corpus)


def _reader(home: Path) -> Any:
    folder, keys = open_mind(home, MIND_NAME)
    return open_reader(folder.store, keys)


def _found(snapshot: StoreSnapshot) -> _Found:
    rows = snapshot.memory_columns(0).row
    rows, vectors = snapshot.mean_vectors(snapshot.encoders()[-1], rows)
    memories = snapshot.load_memories(rows.tolist())
    members: Members = snapshot.members()
    topic = dict(zip(members.row.tolist(), members.topic.tolist(), strict=True))
    sessions = [memory.session for memory in memories]
    return _Found(
        ids=[memory.source_id for memory in memories],
        sessions=_numbered(sessions),
        conversations=_numbered([session.partition("/")[0] for session in sessions]),
        topics=np.array([topic.get(row, -row) for row in rows.tolist()], np.int64),
        vectors=vectors,
    )


def _codes(snapshot: StoreSnapshot) -> MemberCodes:
    """Hypervectors of all episodes."""
    block = snapshot.codes("episode", 0)
    columns = snapshot.memory_columns(0)
    order = np.argsort(block.row)
    rows = block.row[order]
    return MemberCodes(rows, columns.scope[np.searchsorted(columns.row, rows)], block.codes[order])


def _numbered(names: Sequence[str]) -> Ints:
    return np.unique(names, return_inverse=True)[1].astype(np.int64)
