"""Finds near-duplicates of a text by embedding cosine and word overlap (resemblance, Broder 1997).

Two measures, each absolute and symmetric, since the score of a recall is relative: the cosine of the two texts'
meaning, and the share of their words that both have (the resemblance of Broder 1997, of stems without stop words).
Either alone is enough, because each misses what the other sees: a note whose one number changed keeps its words, and
one in other words keeps its meaning. Words are found in what has no vector yet, and answer alone where no model is.

Both limits were read off LoCoMo's five development conversations (docs/correct.md has the table).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.brief.relevance import rarity
from mnemic.actors.index.hits import excerpt, make_hit
from mnemic.actors.index.query import MOST_CHARS, asked_scope_numbers, query_vector
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.events import to_bytes
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.recall.messages import FindSimilar, Memory, SimilarFound
from mnemic.algorithms.text.terms import index_terms, stem_of, telling_terms

LEAST_COSINE = 0.88
"""The cosine of two texts from which they say nearly the same."""
LEAST_RESEMBLANCE = 0.6
"""The share of their words from which they do."""
_KINDS = ("turn", "decision", "note")
"""What somebody said or kept; what a tool was given or answered repeats itself by its nature."""
_FEWEST_WORDS = 2  # "yes" is no near-duplicate of "yes"
_MOST_LOOKED_UP = 24  # words, the longest, which are the rarest as a rule: each costs a look into the index
_CANDIDATES = 16
_MAX_LENGTH_RATIO = 4  # two texts of which one has four times as many words do not share most of them
_SHOWN_BYTES = 400
_EMBED_TIMEOUT_S = 5.0  # who keeps a text waits for this


def find_similar(asked: FindSimilar, memory: RecallIndex, source: SnapshotSource, context: Context) -> SimilarFound:
    """Name the memories that say nearly the same as a text, the nearest first.

    Raises:
        UnknownScope: no memory is in the scope.
        InvalidValue: the limit is less than 1.
    """
    if asked.limit < 1:
        raise InvalidValue(name="the limit", value=asked.limit, why="it is less than 1", expected="a number from 1")
    if not asked.text.strip():
        return SimilarFound(similar=())
    degraded: list[str] = []
    without = "What is similar was found by its words alone."
    embedded = query_vector(asked.text, context, degraded, without, timeout_s=_EMBED_TIMEOUT_S, is_question=False)
    with source.snapshot() as snapshot:
        memory.sync(snapshot, embedded.encoder if embedded else None)
        terms = telling_terms(asked.text[:MOST_CHARS])
        if len(terms) < _FEWEST_WORDS:
            return SimilarFound(similar=(), degraded=tuple(degraded))
        within = asked_scope_numbers(asked.scope, snapshot)
        visible = memory.visible(snapshot, asked.scope, kinds=_KINDS).copy()
        visible[np.searchsorted(memory.columns.row, snapshot.rows_of(asked.exclude))] = False
        near = _by_words(asked.text, terms, visible, memory, snapshot)
        cosines, matched = None, None
        if embedded is not None:
            matched = memory.cosines(embedded.vector, visible, 4 * _CANDIDATES)
            cosines = matched.best
            close = np.flatnonzero(visible & (np.nan_to_num(cosines, nan=-1.0) >= LEAST_COSINE))
            near = [*near, *close[np.argsort(-cosines[close], kind="stable")][:_CANDIDATES].tolist()]
        found = []
        for index in dict.fromkeys(near):
            (record,) = snapshot.load_memories([int(memory.columns.row[index])])
            why = {} if cosines is None or np.isnan(cosines[index]) else {"meaning": float(cosines[index])}
            if len(record.data) <= _MAX_LENGTH_RATIO * len(to_bytes(asked.text)) + _SHOWN_BYTES:
                others = telling_terms(record.text[:MOST_CHARS])
                why["words"] = resemblance(set(map(stem_of, terms)), set(map(stem_of, others)))
            if why.get("meaning", 0.0) < LEAST_COSINE and why.get("words", 0.0) < LEAST_RESEMBLANCE:
                continue
            if not _is_superseded_by(record, asked.exclude, snapshot):
                start = -1 if matched is None else matched.start_of_best(index)
                part, offset = excerpt(record.data, _SHOWN_BYTES, start, [stem_of(term) for term in terms])
                (links,) = memory.links([int(memory.columns.row[index])], snapshot, within=within)
                found.append(make_hit(record, part, offset, why, links, max(why.values())))
    found.sort(key=lambda one: (-one.score, -(one.said_at or 0), one.id))
    return SimilarFound(similar=tuple(found[: asked.limit]), degraded=tuple(degraded))


def resemblance(one: set[str], other: set[str]) -> float:
    """How many of the words that either text has both have, 0 to 1; 0 where neither has any."""
    either = len(one | other)
    return len(one & other) / either if either else 0.0


def _by_words(
    text: str, terms: list[str], visible: NDArray[np.bool_], memory: RecallIndex, snapshot: Snapshot
) -> list[int]:
    """Positions of the memories of a like length that share the rarest words, at most `_CANDIDATES`."""
    read = text[:MOST_CHARS]
    length = len(index_terms(read)) * len(text) // len(read)
    shared = np.zeros(len(visible))
    for term in sorted(terms, key=lambda term: (-len(term), term))[:_MOST_LOOKED_UP]:
        place, _ = memory.words.postings([term])
        shared[place] += rarity(len(visible), len(place))
    words = memory.columns.words
    shared[~visible | (words * _MAX_LENGTH_RATIO < length) | (words > length * _MAX_LENGTH_RATIO)] = 0.0
    best = np.argsort(-shared, kind="stable")[:_CANDIDATES]
    return [int(index) for index in best if shared[index] > 0]


def _is_superseded_by(record: Memory, ids: tuple[bytes, ...], snapshot: Snapshot) -> bool:
    """Whether one of the ids stands for a memory by now."""
    while record.superseded_by is not None:
        if record.superseded_by in ids:
            return True
        (record,) = snapshot.load_memories(snapshot.rows_of([record.superseded_by]))
    return False
