"""Costs of structural search on a large mind: time to bind, bytes a memory, query latency.

The mind is a drawn one of people and assistants at work: turns, tool calls and their results. The Binder binds it on
the ordinary path, and what is asked goes through the Retriever, as every question does. Below
`mnemic.bench.speed.hd_bench`.
"""

from __future__ import annotations

import gc
import hashlib
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import numpy as np
import psutil

from mnemic.actors.kernel.events import Outcome
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.recall.messages import Recall
from mnemic.actors.shape.bind import BOUND_DIMENSIONS
from mnemic.actors.shape.messages import BindPending, BindProgress, Shape, Shaped
from mnemic.actors.store.messages import Count, Counts
from mnemic.bench.harness.homes import MIND_NAME, SyntheticCorpus, actors_of, fill_home, store_of
from mnemic.bench.harness.measure import Row, goal, milliseconds
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.models.encoders import load_encoder

GOAL_P95_MS = 15.0
GOAL_BYTES = 256.0  # of what fills their roles; their hypervectors are not read for it
PatternMaker = Callable[[int], dict[str, str]]
"""The question of a number."""
BRANCHES = 5
_PEOPLE, _FILES, _TOOLS = 7, 60, 30
_APART_US = 300_000_000
_TURN = 8  # user, assistant, an edit, what came of it, a test, what came of it, something read, what came of it
_CALLS = {2: ("Edit", "file_path: {}"), 4: ("Bash", "command: pytest tests/test_{}"), 6: ("Read", "file_path: {}")}
_FAILED = 60  # of 256
_QUESTIONS = 100
_K = 10
_BIND_TIMEOUT_S = 60.0
_PROJECTS = 10
_WARM = 20
_FIRST = {"kind": "turn", "who": "?"}


def measure_shape_queries(memories: int, seed: int, *, model: bool) -> Iterator[Row]:
    """Rows: binding a mind of so many memories, its bytes, and questions of each kind.

    Args:
        model: whether they have a meaning, which questions ask for.

    Raises:
        MnemicError: the model is there and cannot be used, or the home cannot be made.
        ValueError: a memory was not bound.
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-hd-") as folder:
        home = Path(folder)
        encoder = load_encoder(None) if model else None
        projects = min(_PROJECTS, memories)
        texts = fill_home(home, memories, seed=seed, encoder=encoder, projects=projects, dress=make_work_memory)
        before = _store_bytes(home)
        with actors_of(home) as actors:
            yield from _bound(actors, memories)
        after = _store_bytes(home)
        with store_of(home) as connection:
            records = int(connection.execute("SELECT count(*) FROM codes").get)
        yield _bytes("disk", records, after - before)
        words = SyntheticCorpus(seed + 1).questions(texts, _QUESTIONS)
        with actors_of(home) as actors:
            yield _bytes("memory", records, _loaded_bytes(actors, words[0]))
        with actors_of(home) as actors:
            yield from _questions(actors, home, records, words, model=model)


# --- the mind, and what is asked of it -------------------------------------------------------------------------------


def make_work_memory(memory: AddMemory, number: int) -> AddMemory:
    """One of a session in which something is made and tested, with its tool, its file, and how it ended."""
    drawn = hashlib.sha256(b"at work %d" % (number // 2)).digest()  # a call and its result have it in common
    if memory.said_at is not None:
        apart = (_APART_US - 1_000_000) * (1_000_000 - number)  # they are said a second apart
        memory = msgspec.structs.replace(memory, said_at=memory.said_at - apart)
    memory = msgspec.structs.replace(memory, branch=f"branch-{drawn[3] % BRANCHES}")
    place = number % _TURN
    if place == 0:
        said = memory.text + b". I use tool %d." % (drawn[5] % _TOOLS)
        return msgspec.structs.replace(memory, role="user", speaker=f"person {drawn[4] % _PEOPLE}", text=said)
    if place == 1:
        return msgspec.structs.replace(memory, role="assistant")
    tool, call = _CALLS[place // 2 * 2]
    name = f"part_{int.from_bytes(drawn[:2], 'little') % _FILES}.py"
    path = name if tool == "Bash" else f"src/{name}"
    files = () if tool == "Bash" else (path,)
    if place % 2:
        outcome: Outcome = "failed" if drawn[2] < _FAILED else "ok"
        return msgspec.structs.replace(memory, kind="tool_result", role="tool", tool=tool, outcome=outcome, files=files)
    text = f"{tool}\n{call.format(path)}".encode()
    return msgspec.structs.replace(memory, kind="tool_call", role="assistant", tool=tool, text=text, files=files)


def work_patterns(words: list[str], *, model: bool) -> dict[str, PatternMaker]:
    """Questions by their kind: a number gives one, whose fillers some of these memories have.

    Args:
        words: what is asked for by meaning.
        model: whether anything is.
    """

    def words_of(number: int) -> str:
        return words[number % len(words)]

    def file(number: int) -> str:
        return f"src/part_{number * 7 % _FILES}.py"

    kinds: dict[str, PatternMaker] = {
        "exact roles": lambda n: {
            "tool": "pytest",
            "outcome": ("ok", "failed")[n % 2],
            "branch": f"branch-{n % BRANCHES}",
        },
        "exact roles, one unknown": lambda n: {"tool": "edit", "file": file(n), "outcome": "?"},
        "nearness and an unknown": lambda n: {"hour": str(n % 24), "who": f"person {n % _PEOPLE}", "topic": "?"},
        "facts, one unknown": lambda n: {"subject": f"person {n % _PEOPLE}", "relation": "use", "object": "?"},
        "steps, what followed": lambda n: {"after": ("edit, test failed", "read, edit", "test ok")[n % 3], "then": "?"},
    }
    if model:
        kinds["meaning and exact roles"] = lambda n: {"about": words_of(n), "who": f"person {n % _PEOPLE}"}
        kinds["meaning, one unknown"] = lambda n: {"about": words_of(n), "kind": "turn", "branch": "?"}
    return kinds


# --- figures ---------------------------------------------------------------------------------------------------------


def _shape(actors: Supervisor, pattern: dict[str, str]) -> Shaped:
    answer = actors.ask(Shape(pattern=pattern, k=_K))
    assert isinstance(answer, Shaped)
    return answer


def _loaded_bytes(actors: Supervisor, words: str) -> int:
    """Bytes that the records take in memory once they are loaded, of what Python and NumPy hold."""
    actors.ask(Recall(query=words, k=1))  # what is loaded for any question is none of it
    tracemalloc.start()
    try:
        _shape(actors, _FIRST)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def _bound(actors: Supervisor, memories: int) -> Iterator[Row]:
    began, steps = time.perf_counter(), list[float]()
    while True:
        step = time.perf_counter()
        done = actors.ask(BindPending(), _BIND_TIMEOUT_S)
        steps.append(1e3 * (time.perf_counter() - step))
        assert isinstance(done, BindProgress)
        if not done.pending:
            break
    took = time.perf_counter() - began
    counts = actors.ask(Count())
    assert isinstance(counts, Counts)
    row = {"what": "binding, with all that is written", "memories": memories, "s": took, "per_s": memories / took}
    row |= {"asked": len(steps), "step_p95_ms": float(np.quantile(steps, 0.95))}
    if counts.bound != memories:
        row |= {"state": "failed", "why": f"{counts.bound} of {memories} memories were bound"}
    yield row


def _questions(actors: Supervisor, home: Path, records: int, words: list[str], *, model: bool) -> Iterator[Row]:
    actors.ask(Recall(query=words[0], k=1))
    before, found = _resident(), list[Shaped]()
    loading_ms = milliseconds(lambda: found.append(_shape(actors, _FIRST)))
    yield {"what": "the first question by shape, which loads", "s": loading_ms / 1e3, "searched": found[0].searched}
    every: list[tuple[float, float]] = []
    for kind, pattern in work_patterns(words, model=model).items():
        for number in range(_WARM):
            _shape(actors, pattern(_QUESTIONS + number))
        took, answers = _elapsed(lambda asked: _shape(actors, asked), map(pattern, range(_QUESTIONS)))
        every += took
        answered = sum(bool(answer.hits) for answer in answers) / _QUESTIONS
        yield _times(f"shape: {kind}", took) | {"searched": answers[-1].searched, "answered": answered}
    row = _times("shape: all of these", every) | {"records": records}
    yield row | goal("p95_ms", row["p95_ms"], GOAL_P95_MS)
    yield {"what": "memory, with the names that were asked for", "resident_mib": (_resident() - before) / 2**20}
    # exact roles as columns, counted by file, without an index of them
    query = "SELECT files, count(*) FROM memories WHERE tool = ? AND outcome = ? AND branch = ? GROUP BY files LIMIT 10"
    with store_of(home) as connection:
        roles = [("Edit", ("ok", "failed")[number % 2], f"branch-{number % BRANCHES}") for number in range(_QUESTIONS)]
        took, _ = _elapsed(lambda of: connection.execute(query, of).fetchall(), roles)
    yield _times("competitor: SQL, exact roles alone", took)


def _elapsed(act: Callable[[Any], Any], given: Iterable[Any]) -> tuple[list[tuple[float, float]], list[Any]]:
    """For each call milliseconds that passed, and those of this process's own threads, which other programs have no
    part in; and the answers.
    """
    took, answers = list[tuple[float, float]](), list[Any]()
    for one in given:
        began, busy = time.perf_counter(), time.process_time()
        answers.append(act(one))
        took.append((1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - busy)))
    return took, answers


def _times(what: str, took: list[tuple[float, float]]) -> Row:
    (p50, cpu_p50), (p95, cpu_p95) = np.quantile(took, (0.5, 0.95), axis=0).tolist()
    return {"what": what, "p50_ms": p50, "p95_ms": p95, "cpu_p50_ms": cpu_p50, "cpu_p95_ms": cpu_p95, "n": len(took)}


def _bytes(where: str, records: int, size: int) -> Row:
    each = size / records
    row = {"what": f"bytes a record, {where}", "records": records, "bytes": each, "of_them_bits": BOUND_DIMENSIONS // 8}
    return row | (goal("bytes", each, GOAL_BYTES) if where == "memory" else {})


def _store_bytes(home: Path) -> int:
    with store_of(home) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return (home / "minds" / MIND_NAME / "store.db").stat().st_size


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)
