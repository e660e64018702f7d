"""Costs of structural search on a large mind: time to bind, bytes a memory, query latency.

The mind is a drawn one of people and assistants at work (`mnemic.bench.harness.workday`). The Binder binds it on the
ordinary path, and what is asked goes through the Retriever, as every question does. Below
`mnemic.bench.speed.hd_bench`.
"""

from __future__ import annotations

import gc
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import psutil

from mnemic.actors.protocol.messages import Count, Counts, Recall
from mnemic.actors.protocol.ports import Source
from mnemic.actors.protocol.shape_messages import BindPending, BindProgress, Shape, Shaped
from mnemic.bench.harness.homes import IDLE_SETTINGS, MIND_NAME, SyntheticCorpus, fill_home, lexical_settings
from mnemic.bench.harness.workday import BRANCHES, make_work_memory, work_patterns
from mnemic.hd.space import DIMENSIONS
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.store.schema import connect

__all__ = ["measure_shape_queries"]

GOAL_P95_MS = 15.0
GOAL_BYTES = 1331.0  # 1.3 KB
_QUESTIONS = 100
_K = 10
_BIND_TIMEOUT_S = 60.0
_PROJECTS = 10
_WARM = 20
_FIRST = {"kind": "turn", "who": "?"}


def measure_shape_queries(memories: int, seed: int, *, model: bool) -> Iterator[dict[str, Any]]:
    """Rows: binding a mind of so many memories, its bytes, and questions of each kind.

    Args:
        model: whether they have a meaning, which questions ask for.

    Raises:
        MnemicError: the model is there and cannot be used, or the home cannot be made.
        ValueError: a memory was not bound, or a question was not answered.
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-hd-") as folder:
        home = Path(folder)
        settings = IDLE_SETTINGS if model else lexical_settings(home)
        encoder = load_encoder(None) if model else None
        texts = fill_home(
            home,
            memories,
            seed=seed,
            encoder=encoder,
            settings=settings,
            projects=min(_PROJECTS, memories),
            dress=make_work_memory,
        )
        before = _store_bytes(home)
        with closing(_ActorSession(home)) as asked:
            yield from _bound(asked, memories)
        records, after = _records(home), _store_bytes(home)
        yield _bytes("disk", sum(records.values()), after - before)
        words = SyntheticCorpus(seed + 1).questions(texts, _QUESTIONS)
        with closing(_ActorSession(home)) as asked:
            yield _bytes("memory", sum(records.values()), _loaded_bytes(asked, words[0]))
        with closing(_ActorSession(home)) as asked:
            yield from _questions(asked, home, records, words, model=model)


class _ActorSession:
    """The actors of a home, in this process."""

    def __init__(self, home: Path) -> None:
        folder, keys = open_mind(home, MIND_NAME)
        settings = load_settings(home / "mnemic.toml")
        self._actor_system: Supervisor = start_actor_system(
            folder, keys, settings, SystemClock(), opener=_no_transcripts, code="bench"
        )

    def ask(self, message: Any) -> Any:
        """Ask whoever takes it."""
        return self._actor_system.ask(message, _BIND_TIMEOUT_S)

    def shape(self, pattern: dict[str, str]) -> Shaped:
        """Ask by shape."""
        answer = self.ask(Shape(pattern=pattern, k=_K))
        assert isinstance(answer, Shaped)
        return answer

    def close(self) -> None:
        """Let go of it."""
        self._actor_system.stop()


def _loaded_bytes(asked: _ActorSession, words: str) -> int:
    """Bytes that the records take in memory once they are loaded, of what Python and NumPy hold."""
    asked.ask(Recall(query=words, k=1))  # what is loaded for any question is none of it
    tracemalloc.start()
    try:
        asked.shape(_FIRST)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def _bound(asked: _ActorSession, memories: int) -> Iterator[dict[str, Any]]:
    began, steps = time.perf_counter(), []
    while True:
        step = time.perf_counter()
        done = asked.ask(BindPending())
        steps.append(1e3 * (time.perf_counter() - step))
        assert isinstance(done, BindProgress)
        if not done.pending:
            break
    took = time.perf_counter() - began
    counts = asked.ask(Count())
    assert isinstance(counts, Counts)
    row = {"what": "binding, with all that is written", "memories": memories, "s": took, "per_s": memories / took}
    row |= {"asked": len(steps), "step_p95_ms": float(np.quantile(steps, 0.95))}
    if counts.bound != memories:
        why = f"{counts.bound} of {memories} memories were bound"
        yield row | {"state": "failed", "why": why}
        raise ValueError(why)
    yield row


def _questions(
    asked: _ActorSession, home: Path, records: dict[str, int], words: list[str], *, model: bool
) -> Iterator[dict[str, Any]]:
    asked.ask(Recall(query=words[0], k=1))
    before, began = _resident(), time.perf_counter()
    first = asked.shape(_FIRST)
    loading = time.perf_counter() - began
    yield {"what": "the first question by shape, which loads", "s": loading, "searched": first.searched}
    every: list[tuple[float, float]] = []
    for kind, pattern in work_patterns(words, model=model).items():
        for number in range(_WARM):
            asked.shape(pattern(_QUESTIONS + number))
        took, found, searched = [], 0, 0
        for number in range(_QUESTIONS):
            began, busy = time.perf_counter(), time.process_time()
            answer = asked.shape(pattern(number))
            took.append((1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - busy)))
            found += bool(answer.hits)
            searched = answer.searched
        every += took
        yield _times(f"shape: {kind}", took) | {"searched": searched, "answered": found / _QUESTIONS}
    row = _times("shape: all of these", every) | {"records": sum(records.values())}
    yield row | {"goal_p95_ms": GOAL_P95_MS, "met": row["p95_ms"] <= GOAL_P95_MS}
    yield {"what": "memory, with the names that were asked for", "resident_mib": (_resident() - before) / 2**20}
    yield _times("competitor: SQL, exact roles alone", _by_sql(home))


def _by_sql(home: Path) -> list[tuple[float, float]]:
    """Milliseconds of exact roles as columns, counted by file, without an index of them."""
    folder, keys = open_mind(home, MIND_NAME)
    query = "SELECT files, count(*) FROM memories WHERE tool = ? AND outcome = ? AND branch = ? GROUP BY files LIMIT 10"
    took = []
    with closing(connect(folder.store, keys)) as connection:
        for number in range(_QUESTIONS):
            began, busy = time.perf_counter(), time.process_time()
            of = ("Edit", ("ok", "failed")[number % 2], f"branch-{number % BRANCHES}")
            connection.execute(query, of).fetchall()
            took.append((1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - busy)))
    return took


def _times(what: str, took: list[tuple[float, float]]) -> dict[str, Any]:
    """Milliseconds that passed, and those of this process's own threads, which other programs have no part in."""
    (p50, cpu_p50), (p95, cpu_p95) = np.quantile(took, (0.5, 0.95), axis=0).tolist()
    return {"what": what, "p50_ms": p50, "p95_ms": p95, "cpu_p50_ms": cpu_p50, "cpu_p95_ms": cpu_p95, "n": len(took)}


def _bytes(where: str, records: int, size: int) -> dict[str, Any]:
    row = {"what": f"bytes a record, {where}", "records": records, "bytes": size / records}
    row["of_them_bits"] = DIMENSIONS // 8
    return row | ({"goal_bytes": GOAL_BYTES, "met": size / records <= GOAL_BYTES} if where == "memory" else {})


def _records(home: Path) -> dict[str, int]:
    folder, keys = open_mind(home, MIND_NAME)
    with closing(connect(folder.store, keys)) as connection:
        found: list[Any] = connection.execute("SELECT tier, count(*) FROM codes GROUP BY tier").fetchall()
    return {str(tier): int(count) for tier, count in found}


def _store_bytes(home: Path) -> int:
    folder, keys = open_mind(home, MIND_NAME)
    with closing(connect(folder.store, keys)) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return folder.store.stat().st_size


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


def _no_transcripts(path: str, format: str) -> Source:
    raise ValueError("this bench reads no transcripts")
