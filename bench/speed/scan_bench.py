"""The scan bench: the best ten of very many vectors, by the native scan and by what else one would take for it.

Vectors are drawn, 384 dimensions, a hundred around each centre, as memories about one subject crowd; so are the
questions. Rows: how long each instruction set takes, with all rows allowed and with a tenth and a hundredth of them,
and how many of the exact best ten it finds; the same of NumPy, sqlite-vec and usearch; and how long it takes to read as
many bytes and do next to nothing with them, which no scan of all rows beats. Of the native scan what a recall does is
timed, a score for each row, and the choice of the ten best. Everything on one thread. Each is asked many questions in
turn, so that what fits a cache lies in it.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from mnemic.algorithms.retrieval.scan import NATIVE, QuantisedVectors, backend, inner_products, pack_mask
from mnemic.bench.harness.measure import Row, in_each_instruction_set, milliseconds, skipped

DIMENSIONS = 384
K = 10
QUERIES = 100
GOAL_MS = {100_000: 3.0, 1_000_000: 30.0}
BEST_RECALL = 0.999
MOST_INDEXED = 100_000
"""Rows that usearch indexes: a million would take it the better part of an hour on one thread."""
_BUDGET_S = 5.0  # for the questions of one row of the table; at least three are asked
_AT_ONCE = 65_536

Floats = NDArray[np.float32]
Search = Callable[[Floats], Any]


class ScanData(NamedTuple):
    """What is searched, drawn from a seed, the same in every process."""

    vectors: Floats
    """``(n, 384)``, of unit length."""
    queries: Floats
    """``(100, 384)``."""
    allowed: dict[str, NDArray[np.bool_] | None]
    """Which rows may be found: all, a tenth, a hundredth of them."""


def run(*, vectors: tuple[int, ...] = (100_000, 1_000_000)) -> Iterator[Row]:
    """Run everything for each number of vectors."""
    for count in vectors:
        for instructions, rows in in_each_instruction_set(__name__, NATIVE, count):
            if instructions != "portable" and "p50_ms" in rows[0]:
                _judge(rows[0], count)
            yield from (row | {"vectors": count} for row in rows)
            gc.collect()
        drawn = draw(count)
        truth = {name: _exact(drawn, allowed) for name, allowed in drawn.allowed.items()}
        yield from _numpy(drawn, truth)
        yield from _sqlite_vec(drawn, truth)
        yield from _usearch(drawn, truth)


def draw(count: int) -> ScanData:
    """Draw that many vectors and the questions."""
    random = np.random.default_rng(count)
    centres = _unit(random.standard_normal((max(1, count // 100), DIMENSIONS), dtype=np.float32))
    vectors = np.empty((count, DIMENSIONS), np.float32)
    for start in range(0, count, _AT_ONCE):
        part = vectors[start : start + _AT_ONCE]
        part[:] = 0.8 * centres[random.integers(0, len(centres), len(part))]
        part += 0.6 * _unit(random.standard_normal(part.shape, dtype=np.float32))
        part[:] = _unit(part)
    around = centres[random.integers(0, len(centres), QUERIES)]
    queries = _unit(around + 0.75 * _unit(random.standard_normal((QUERIES, DIMENSIONS), dtype=np.float32)))
    allowed = {"all": None, "10 %": random.random(count) < 0.1, "1 %": random.random(count) < 0.01}
    return ScanData(vectors, queries, allowed)


def native_rows(count: int) -> list[Row]:
    """The rows of the native scan, with the instruction set of this process."""
    drawn = draw(count)
    began = time.perf_counter()
    coded = QuantisedVectors.from_vectors(drawn.vectors)
    quantise_s = time.perf_counter() - began
    rows = []
    for name, allowed in drawn.allowed.items():
        mask = None if allowed is None else pack_mask(allowed)
        chosen = None if allowed is None else np.flatnonzero(allowed)

        def look(
            query: Floats, mask: NDArray[np.uint64] | None = mask, chosen: NDArray[np.int64] | None = chosen
        ) -> NDArray[np.int64]:
            return _best_of(inner_products(coded, query, allowed=mask), chosen)

        row = _row(f"mnemic, {backend()}", drawn, name, look, _exact(drawn, allowed))
        if allowed is None:
            row["quantise_s"] = quantise_s
        rows.append(row)
    words = coded.codes.reshape(-1).view(np.uint64)
    read = _timed(drawn.queries, lambda _: np.bitwise_xor.reduce(words))[0]
    return [*rows, {"what": "read", "of": "baseline: as many bytes as the codes", "vectors": count, **read}]


def _judge(row: Row, count: int) -> None:
    if count in GOAL_MS:
        row["goal_ms"] = GOAL_MS[count]
        row["met"] = row["p50_ms"] <= GOAL_MS[count] and row["recall_at_10"] >= BEST_RECALL


def _numpy(drawn: ScanData, truth: dict[str, list[set[int]]]) -> Iterator[Row]:
    for name, allowed in drawn.allowed.items():
        rows = None if allowed is None else np.flatnonzero(allowed)

        def look(query: Floats, rows: NDArray[np.int64] | None = rows) -> NDArray[np.int64]:
            best = _best((drawn.vectors if rows is None else drawn.vectors[rows]) @ query)
            return best if rows is None else rows[best]

        yield _row("competitor: NumPy, float32", drawn, name, look, truth[name])


def _sqlite_vec(drawn: ScanData, truth: dict[str, list[set[int]]]) -> Iterator[Row]:
    began = time.perf_counter()
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.execute(
        f"create virtual table v using vec0(of float[{DIMENSIONS}] distance_metric=cosine, tenth int, hundredth int)"
    )
    columns = zip(*(drawn.allowed[name].tolist() for name in ("10 %", "1 %")), strict=True)  # type: ignore[union-attr]
    with connection:
        connection.executemany(
            "insert into v(rowid, of, tenth, hundredth) values (?, ?, ?, ?)",
            (
                (row, vector.tobytes(), int(tenth), int(hundredth))
                for row, (vector, (tenth, hundredth)) in enumerate(zip(drawn.vectors, columns, strict=True))
            ),
        )
    build_s = time.perf_counter() - began
    for name, condition in (("all", ""), ("10 %", " and tenth = 1"), ("1 %", " and hundredth = 1")):
        question = f"select rowid from v where of match ? and k = {K}{condition}"

        def look(query: Floats, question: str = question) -> list[int]:
            return [int(row) for (row,) in connection.execute(question, (query.tobytes(),))]

        yield {**_row("competitor: sqlite-vec", drawn, name, look, truth[name]), "build_s": build_s}
    connection.close()


def _usearch(drawn: ScanData, truth: dict[str, list[set[int]]]) -> Iterator[Row]:
    name = "competitor: usearch, HNSW"
    about = {"what": "scan", "vectors": len(drawn.vectors)}
    try:
        from usearch.index import Index
    except ModuleNotFoundError:
        yield about | skipped(name, "usearch is not installed: it comes with the extra `bench`")
        return
    if len(drawn.vectors) > MOST_INDEXED:
        yield about | skipped(name, f"on one thread it would index more than {MOST_INDEXED} vectors for very long")
        return
    began = time.perf_counter()
    index = Index(ndim=DIMENSIONS, metric="ip", dtype="f32")
    index.add(np.arange(len(drawn.vectors)), drawn.vectors, threads=1)
    build_s = time.perf_counter() - began

    def look(query: Floats) -> NDArray[Any]:
        return np.asarray(index.search(query, K, threads=1).keys)

    yield {**_row(name, drawn, "all", look, truth["all"]), "build_s": build_s}
    yield about | {"allowed": "10 %, 1 %"} | skipped(name, "its Python binding takes no filter")


def _row(of: str, drawn: ScanData, allowed: str, look: Search, truth: Sequence[set[int]]) -> Row:
    took, answers = _timed(drawn.queries, look)
    found = [
        len(right.intersection(np.asarray(answer).tolist())) for right, answer in zip(truth, answers, strict=False)
    ]
    wanted = sum(len(right) for right in truth[: len(found)])
    recall = sum(found) / wanted if wanted else 1.0
    return {"what": "scan", "of": of, "vectors": len(drawn.vectors), "allowed": allowed, **took, "recall_at_10": recall}


def _timed(queries: Floats, look: Search) -> tuple[Row, list[Any]]:
    look(queries[-1])
    took: list[float] = []
    answers: list[Any] = []

    def keep(query: Floats) -> None:
        answers.append(look(query))

    for query in queries:
        took.append(milliseconds(keep, query))
        if sum(took) > _BUDGET_S * 1000 and len(took) >= 3:
            break
    return {"p50_ms": float(np.median(took)), "best_ms": min(took), "n": len(took)}, answers


def _exact(drawn: ScanData, allowed: NDArray[np.bool_] | None) -> list[set[int]]:
    """The best ten of each question."""
    rows = np.arange(len(drawn.vectors)) if allowed is None else np.flatnonzero(allowed)
    chosen = np.empty((QUERIES, 0), np.int64)
    products = np.empty((QUERIES, 0), np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        chosen = np.hstack([chosen, np.broadcast_to(part, (QUERIES, len(part)))])
        products = np.hstack([products, drawn.queries @ drawn.vectors[part].T])
        best = np.argsort(-products, axis=1, kind="stable")[:, :K]
        chosen, products = np.take_along_axis(chosen, best, axis=1), np.take_along_axis(products, best, axis=1)
    return [set(row.tolist()) for row in chosen]


def _best_of(scores: Floats, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return _best(scores) if rows is None else rows[_best(scores[rows])]


def _best(products: Floats) -> NDArray[np.int64]:
    if len(products) > K:
        some = np.argpartition(-products, K)[:K]
        return some[np.argsort(-products[some])]
    return np.argsort(-products)


def _unit(vectors: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / lengths


if __name__ == "__main__":
    print(json.dumps(native_rows(int(sys.argv[1]))))
