"""Bundles at work: a scan of very many records that is routed by bundles, beside the whole one; and which conversation
had all of these, told by bundles and by a table.

Records are drawn: conversations of forty with a project, a day, topics and a direction of meaning in common, and what
each record has for itself. Bundles of conversations, days and files lead to the records that are compared. What is
asked is a whole record, half of one, one pair, or a meaning that a record holds in a role. Below
`mnemic.bench.speed.hd_bench`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.shape.questions.conversations import often_evidence
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.statistics import mean_interval, paired_test
from mnemic.bench.speed.hd.bundles import MOST_BUNDLES, Bundles, bundle_groups_of
from mnemic.hd.algebra import Algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.encoders import Projection
from mnemic.hd.space import Space

Codes = NDArray[np.uint64]
Rows = NDArray[np.int64]

_SESSION, _DAY, _PAIRS, _TOPICS = 40, 400, 12, 8
_PROJECTS, _FILES, _COMMON, _NAMES = 20, 4_000, 1_000, 6_000
_SIDE, _SIDE_SHARE = 32, 0.6  # components of a meaning, and how much of it a conversation has in common
_ASKED, _DEPTH, _CUES = 40, 10, 4
_AT_ONCE = 20_000
_ALL = 1e6  # what has all comes first


class _Drawn(NamedTuple):
    """Records, `n` of them."""

    codes: Codes
    terms: Rows
    """``(n, p) int64``: which names each has."""
    book: Codes
    """The hypervectors of names bound to their roles."""
    meanings: NDArray[np.float32]
    """``(n, d)``: what each holds in a role of meaning."""
    planes: Projection
    role: Codes
    """``(w,)``: that role."""
    tie: Codes

    def meaning_of(self, meanings: NDArray[np.float32], algebra: Algebra) -> Codes:
        """Meanings bound to their role."""
        return np.asarray(self.planes.project(meanings, algebra) ^ self.role, np.uint64)


def measure_routing(space: Space, records: int, seed: int, algebra: Algebra) -> Iterator[Row]:
    """Rows: of each kind of probe and of bundle how much of the whole scan's best is found, and both times."""
    drawn = _draw(space, records, seed, algebra)
    order = np.arange(records)
    groups = {"conversations": order // _SESSION, "days": order // _DAY, "files": drawn.terms[:, 3]}
    visible, generator = np.ones(records, np.bool_), np.random.default_rng(seed + 1)
    asked = generator.integers(0, records, _ASKED)
    probes = {name: [make(place) for place in asked.tolist()] for name, make in _probes(drawn, algebra, seed).items()}
    for kind, by in groups.items():
        bundles = bundle_groups_of(drawn.codes, by, drawn.tie, algebra)
        for name, queries in probes.items():
            yield _routed(kind, name, bundles, drawn.codes, queries, visible, algebra)
        if kind == "conversations":
            yield from _conversations(drawn, bundles, algebra, generator)


def _draw(space: Space, records: int, seed: int, algebra: Algebra) -> _Drawn:
    generator = np.random.default_rng(seed)
    order = np.arange(records)
    session, day = order // _SESSION, order // _DAY
    sessions = int(session[-1]) + 1
    terms = np.empty((records, _PAIRS), np.int64)
    terms[:, 0] = generator.integers(0, _PROJECTS, sessions)[session]
    terms[:, 1] = _PROJECTS + day % (_COMMON - 2 * _PROJECTS)
    terms[:, 2] = _COMMON - _PROJECTS + generator.integers(0, _PROJECTS, records)
    files = generator.integers(0, _FILES, (sessions, _TOPICS))
    topics = generator.integers(_COMMON + _FILES, _NAMES, (sessions, _TOPICS))
    terms[:, 3] = _COMMON + files[session, generator.integers(0, _TOPICS, records)]
    for column in range(4, 8):
        terms[:, column] = topics[session, generator.integers(0, _TOPICS, records)]
    terms[:, 8:] = generator.integers(_COMMON + _FILES, _NAMES, (records, _PAIRS - 8))
    book = generator.integers(0, 2**64, (_NAMES, space.words), np.uint64)
    own = generator.standard_normal((records, _SIDE)).astype(np.float32)
    shared = generator.standard_normal((sessions, _SIDE)).astype(np.float32)[session]
    meanings = np.float32(_SIDE_SHARE**0.5) * shared + np.float32((1 - _SIDE_SHARE) ** 0.5) * own
    planes = Projection(Space(seed=space.seed, roles=("about",), model="drawn", embedding_dimensions=_SIDE))
    tie, role = draw_hypervector(space, "tie", "session"), draw_hypervector(space, "role", "next")
    drawn = _Drawn(np.empty((records, space.words), np.uint64), terms, book, meanings, planes, role, tie)
    for first in range(0, records, _AT_ONCE):
        part = terms[first : first + _AT_ONCE]
        held = drawn.meaning_of(meanings[first : first + _AT_ONCE], algebra)
        both = np.concatenate([book, held])
        rows = np.column_stack([part, _NAMES + np.arange(len(part))]).reshape(-1)
        offsets = np.arange(0, len(rows) + 1, _PAIRS + 1)
        drawn.codes[first : first + len(part)] = algebra.bundle_groups(
            both, offsets, np.tile(tie, (len(part), 1)), rows
        )
    return drawn


def _probes(drawn: _Drawn, algebra: Algebra, seed: int) -> dict[str, Callable[[int], Codes]]:
    generator = np.random.default_rng(seed + 2)

    def meaning(place: int) -> Codes:
        near = drawn.meanings[place] + np.float32(0.3) * generator.standard_normal(_SIDE).astype(np.float32)
        return np.asarray(drawn.meaning_of(near[None], algebra)[0], np.uint64)

    return {
        "a whole record": lambda place: drawn.codes[place],
        "half of one": lambda place: algebra.bundle(drawn.book[drawn.terms[place, ::2]], drawn.tie),
        "one pair": lambda place: drawn.book[drawn.terms[place, 5]],
        "a meaning in a role": meaning,
    }


def _routed(
    kind: str,
    name: str,
    bundles: Bundles,
    codes: Codes,
    queries: list[Codes],
    visible: NDArray[np.bool_],
    algebra: Algebra,
) -> Row:
    whole_ms, routed_ms, found, best_found, compared = [], [], [], [], []
    for query in queries:
        began = perf_counter()
        best = _nearest(codes, np.arange(len(codes)), query, algebra)
        between = perf_counter()
        led = bundles.route(query, visible, algebra)
        near = _nearest(codes[led], led, query, algebra)
        whole_ms.append(1e3 * (between - began))
        routed_ms.append(1e3 * (perf_counter() - between))
        compared.append(len(led))
        found.append(float(np.isin(best, near).mean()))
        best_found.append(float(best[0] in near))
    low, high = mean_interval(found)
    row: Row = {"what": "routed scan", "bundles of": kind, "probe": name, "records": len(codes), "n": len(queries)}
    row |= {"whole_p50_ms": float(np.median(whole_ms)), "routed_p50_ms": float(np.median(routed_ms))}
    row |= {"recall@10": float(np.mean(found)), "low": low, "high": high, "best_found": float(np.mean(best_found))}
    row |= {"bundles": len(bundles.codes), "opened": min(MOST_BUNDLES, len(bundles.codes))}
    return row | {"compared": int(np.median(compared)), "bundle_bytes": bundles.codes.nbytes}


def _nearest(codes: Codes, places: Rows, query: Codes, algebra: Algebra) -> Rows:
    """The nearest of some records, the best first; of equals the one kept first."""
    alike = algebra.similarity(codes, query)
    few = np.argpartition(-alike, min(4 * _DEPTH, len(alike) - 1))[: 4 * _DEPTH]
    order = np.lexsort((places[few], -alike[few]))[:_DEPTH]
    return np.asarray(places[few][order], np.int64)


def _conversations(drawn: _Drawn, bundles: Bundles, algebra: Algebra, generator: np.random.Generator) -> Iterator[Row]:
    """Which conversation had all of these names? By the nearest bundle, and by how rare what it had is."""
    session = np.arange(len(drawn.terms)) // _SESSION
    sessions = int(session[-1]) + 1
    held = np.unique(np.column_stack([np.arange(len(session)).repeat(_PAIRS), drawn.terms.reshape(-1)]), axis=0)
    by_name, times = np.unique(np.column_stack([held[:, 1], session[held[:, 0]]]), axis=0, return_counts=True)
    ends = np.searchsorted(by_name[:, 0], np.arange(_NAMES + 1))
    for wrong in (0, 1):
        right: dict[str, list[float]] = {"hypervectors": [], "a table": []}
        for _ in range(5 * _ASKED):
            wanted = int(generator.integers(0, sessions))
            own = np.flatnonzero(session == wanted)
            cues = [int(drawn.terms[one, generator.integers(3, _PAIRS)]) for one in generator.choice(own, _CUES)]
            cues[:wrong] = generator.integers(_COMMON, _NAMES, wrong).tolist()
            alike = algebra.similarity(bundles.codes, algebra.bundle(drawn.book[cues], drawn.tie))
            right["hypervectors"].append(
                float(session[bundles.members[bundles.ends[int(np.argmax(alike))] - 1]] == wanted)
            )
            scores, had = np.zeros(sessions), np.zeros(sessions)
            for cue in dict.fromkeys(cues):
                those = slice(ends[cue], ends[cue + 1])
                having, often = by_name[those, 1], times[those]
                scores[having] += often_evidence(often / _SESSION, often.sum() / len(session))
                had[having] += 1
            scores[had == len(set(cues))] += _ALL
            right["a table"].append(float(int(np.argmax(scores)) == wanted))
        scored = {name: np.array(one) for name, one in right.items()}
        for name, one in scored.items():
            row: Row = {"what": "which conversation had all of these", "by": name, "cues": _CUES, "wrong": wrong}
            row |= {"conversations": sessions, "n": len(one), "right": float(one.mean())}
            if name != "a table":
                row["minus_table"], row["p"] = paired_test(one, scored["a table"], seed=1, rounds=4_000)
            yield row
