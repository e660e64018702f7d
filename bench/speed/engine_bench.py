"""The engine bench: what a recall, a start and a resident process cost on each engine, measured side by side.

One home of n memories is copied for every engine and for an actor system in this very process, which is the baseline:
the same recall without sockets, protocol or another process. All are asked the same questions in turn, in drawn order,
so that whatever else the machine does hits them alike. Ray less embedded is what Ray adds.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.actors.protocol.errors import MnemicError
from mnemic.actors.protocol.messages import Recall, Sleep
from mnemic.actors.protocol.ports import Encoder, Source
from mnemic.bench.harness.callers import McpHttpClient, McpPipe, McpSocketClient, ToolCaller
from mnemic.bench.harness.homes import IDLE_SETTINGS, MIND_NAME, SyntheticCorpus, fill_home, lexical_settings
from mnemic.bench.harness.processes import COMMAND, END_S, process_family, pss_bytes, role_of, served, wait_until
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.store.schema import connect

__all__ = ["ENGINES", "chosen_engines", "run"]

ENGINES = ("embedded", "ray")
ADDED_GOAL_MS = 2.0
BUSY_GOAL = 1.5
PIPE_GOAL_MS = 300.0
MEMORY_GOAL_MIB = 250.0
QUESTIONS = 300
_CALLERS: dict[str, Callable[[ServerInfo], ToolCaller]] = {
    "MCP, raw stream": McpSocketClient,
    "MCP, HTTP": McpHttpClient,
}
_BUSY = f'{IDLE_SETTINGS}[actors]\nconsolidator = "mnemic.bench.harness.load:BusyConsolidator"\n'
_SEED = 0
_BLOCKS = 4
_STARTS = 5

Times = Mapping[str, Sequence[float]]


def chosen_engines(named: str) -> tuple[str, ...]:
    """The engines that ``--engine`` names; ``both`` is each.

    Raises:
        ValueError: there is none of that name.
    """
    if named != "both" and named not in ENGINES:
        raise ValueError(f"there is no engine {named!r}, but {', '.join(ENGINES)} and both")
    return ENGINES if named == "both" else (named,)


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure.

    Raises:
        ValueError: an engine is not there, or does not start.
    """
    engines = chosen_engines(arguments.engine)
    encoder = None if arguments.no_model else load_encoder(None)
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        return list(_rows(Path(folder), engines, arguments.memories, arguments.seconds, encoder))


def _rows(
    folder: Path, engines: Sequence[str], memories: int, seconds: float, encoder: Encoder | None
) -> Iterator[dict[str, Any]]:
    first = folder / "first"
    first.mkdir(mode=0o700)
    settings = _BUSY if encoder is not None else _BUSY + lexical_settings(folder).removeprefix(IDLE_SETTINGS)
    texts = fill_home(first, memories, seed=_SEED, encoder=encoder, settings=settings)
    vectors = "none" if encoder is None else f"drawn unit vectors under the name {encoder.implementation}; words real"
    machine = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0]}
    yield {"what": "home", "memories": memories, "vectors": vectors, "seed": _SEED, **machine}
    homes = {name: Path(shutil.copytree(first, folder / name)) for name in (*engines, "direct", "on-demand")}
    questions = SyntheticCorpus(_SEED + 1).questions(texts, QUESTIONS)

    yield from _cold_start(homes["on-demand"], questions[0])
    with ExitStack() as stack:
        cards: dict[str, ServerInfo] = {}
        for engine in engines:
            started = time.perf_counter()
            cards[engine] = stack.enter_context(served(homes[engine], engine))
            ready_s = time.perf_counter() - started
            first_caller = McpSocketClient(cards[engine])
            _recall(first_caller, questions[0])
            answered_s = time.perf_counter() - started
            first_caller.close()
            yield {"what": "start", "of": "mnemic serve", "engine": engine, "ready_s": ready_s, "answer_s": answered_s}
        callers: dict[str, Callable[[str], Any]] = {}
        for engine, card in cards.items():
            for way, make in _CALLERS.items():
                caller = make(card)
                stack.callback(caller.close)
                callers[f"{engine}: {way}"] = _asking(caller)
        callers |= stack.enter_context(_baselines(homes["direct"]))
        times = _time_interleaved(callers, questions)
        yield from _recalls(times, engines, memories)
        yield from _pipe_starts(homes[engines[0]])
        for engine in engines:
            yield _memory(engine, cards[engine], memories)
        for engine in engines:
            yield _beside_heavy(homes[engine], engine, cards[engine], questions, seconds)


# --- recalls ---------------------------------------------------------------------------------------------------------


def _recall(caller: ToolCaller, question: str) -> None:
    found = caller.call("memory_recall", query=question, scope="*")
    if not found["hits"]:
        raise ValueError("a recall found nothing")


def _asking(caller: ToolCaller) -> Callable[[str], None]:
    return lambda question: _recall(caller, question)


@contextmanager
def _baselines(home: Path) -> Iterator[dict[str, Callable[[str], Any]]]:
    """The same recall in this process, and one full-text query on the same sealed file."""
    settings = load_settings(home / "mnemic.toml")
    folder, keys = open_mind(home, MIND_NAME)
    actor_system = start_actor_system(folder, keys, settings, SystemClock(), opener=_no_transcripts, code="bench")
    connection = connect(folder.store, keys)
    match = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"

    def words(question: str) -> None:
        connection.execute(match, (" OR ".join(f'"{word}"' for word in re.findall(r"\w+", question)),)).fetchall()

    try:
        yield {
            "baseline: mind.recall in this process": lambda q: actor_system.ask(Recall(query=q)),
            "competitor: FTS5": words,
        }
    finally:
        connection.close()
        actor_system.stop()


def _time_interleaved(callers: Mapping[str, Callable[[str], Any]], questions: Sequence[str]) -> Times:
    """Milliseconds of every caller for every question, asked in turn."""
    order, names = random.Random(_SEED), list(callers)
    for name in names:
        callers[name](questions[0])  # the first one loads
    times: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        order.shuffle(names)
        for name in names:
            started = time.perf_counter()
            callers[name](question)
            times[name].append(1e3 * (time.perf_counter() - started))
    return times


def _recalls(times: Times, engines: Sequence[str], memories: int) -> Iterator[dict[str, Any]]:
    for name, taken in times.items():
        yield {"what": "recall", "of": name, "memories": memories, **_quantiles(taken)}
    if len(engines) < 2:
        return
    for way in _CALLERS:
        ray, embedded = (np.array(times[f"{engine}: {way}"]) for engine in ("ray", "embedded"))
        added_ms = float(np.median(ray) - np.median(embedded))
        yield {
            "what": "recall, what Ray adds",
            "of": way,
            "p50_ms": added_ms,
            "paired_p50_ms": float(np.median(ray - embedded)),
            "p95_ms": float(np.quantile(ray, 0.95) - np.quantile(embedded, 0.95)),
            "goal_ms": ADDED_GOAL_MS,
            "met": added_ms <= ADDED_GOAL_MS,
        }


def _beside_heavy(
    home: Path, engine: str, card: ServerInfo, questions: Sequence[str], seconds: float
) -> dict[str, Any]:
    """Recalls while another actor computes, beside recalls while nothing does, in blocks that take turns."""
    caller = McpSocketClient(card)
    idle: list[float] = []
    busy: list[float] = []
    try:
        for block in range(_BLOCKS):
            limit = time.perf_counter() + seconds / 2 / _BLOCKS
            idle += _timed(caller, questions, lambda limit=limit: time.perf_counter() < limit)  # type: ignore[misc]
            with _heavy_job(home, f"bench-{block}", seconds / 2 / _BLOCKS) as burns:
                busy += _timed(caller, questions, burns)
    finally:
        caller.close()
    ratio = float(np.quantile(busy, 0.95) / np.quantile(idle, 0.95))
    return {
        "what": "recall beside a heavy job",
        "engine": engine,
        **{f"idle_{name}": value for name, value in _quantiles(idle).items()},
        **{f"busy_{name}": value for name, value in _quantiles(busy).items()},
        "p95_ratio": ratio,
    } | ({"goal_ratio": BUSY_GOAL, "met": ratio <= BUSY_GOAL} if engine == "ray" else {})


@contextmanager
def _heavy_job(home: Path, run: str, seconds: float) -> Iterator[Callable[[], bool]]:
    """Have the consolidator burn; gives what tells whether it still does."""
    actor_system = RemoteActorSystem(home, MIND_NAME, False, SystemClock())
    begun = threading.Event()
    failed: list[MnemicError] = []

    def sleep() -> None:
        try:
            actor_system.ask(
                Sleep(run=run, seed=bytes(32), budget_s=seconds),
                timeout_s=seconds + 60,
                progress=lambda done, total: begun.set(),
            )
        except MnemicError as error:
            failed.append(error)
        finally:
            begun.set()

    thread = threading.Thread(target=sleep, name="bench-sleep")
    thread.start()
    begun.wait()
    try:
        yield thread.is_alive
    finally:
        thread.join()
    if failed:
        raise failed[0]


def _timed(caller: ToolCaller, questions: Sequence[str], more: Callable[[], bool]) -> list[float]:
    taken: list[float] = []
    while more() or not taken:
        started = time.perf_counter()
        _recall(caller, questions[len(taken) % len(questions)])
        taken.append(1e3 * (time.perf_counter() - started))
    return taken


# --- starts and memory -----------------------------------------------------------------------------------------------


def _cold_start(home: Path, question: str) -> Iterator[dict[str, Any]]:
    """From nothing to an answer, by way of `mnemic mcp` alone."""
    started = time.perf_counter()
    with McpPipe(home) as pipe:
        greeted_s = time.perf_counter() - started
        _recall(pipe, question)
        answered_s = time.perf_counter() - started
    card = RunDir(home).read_info()
    if card is None:
        raise ValueError("the process that was started on demand has left already")
    left = process_family(card.pid)
    left[0].terminate()
    wait_until(lambda: not left[0].is_running(), "the process's end", END_S)
    yield {"what": "start", "of": "mnemic mcp, on demand", "ready_s": greeted_s, "answer_s": answered_s}


def _pipe_starts(home: Path) -> Iterator[dict[str, Any]]:
    """`mnemic mcp` from its start to its answer to the handshake, where the home is served; beside a bare Python."""
    pipes: list[float] = []
    bare: list[float] = []
    for _ in range(_STARTS):
        started = time.perf_counter()
        pipe = McpPipe(home)
        pipes.append(1e3 * (time.perf_counter() - started))
        pipe.close()
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append(1e3 * (time.perf_counter() - started))
    met = float(np.median(pipes)) < PIPE_GOAL_MS
    named = f"{' '.join(COMMAND[1:])} mcp, to its first answer, where the home is served"
    yield {"what": "start", "of": named, **_quantiles(pipes), "goal_ms": PIPE_GOAL_MS, "met": met}
    yield {"what": "start", "of": "competitor: python -c pass", **_quantiles(bare)}


def _memory(engine: str, card: ServerInfo, memories: int) -> dict[str, Any]:
    parts: dict[str, float] = defaultdict(float)
    for process in process_family(card.pid):
        parts[role_of(process)] += pss_bytes([process]) / (1 << 20)
    total = sum(parts.values())
    row = {"what": "resident memory (PSS)", "engine": engine, "memories": memories, "mib": total}
    if engine == "embedded":
        return row | {"goal_mib": MEMORY_GOAL_MIB, "met": total <= MEMORY_GOAL_MIB}
    return row | {f"{role}_mib": size for role, size in sorted(parts.items())}


def _quantiles(taken_ms: Sequence[float]) -> dict[str, Any]:
    return {
        "p50_ms": float(np.quantile(taken_ms, 0.5)),
        "p95_ms": float(np.quantile(taken_ms, 0.95)),
        "n": len(taken_ms),
    }


def _no_transcripts(path: str, format: str) -> Source:
    raise ValueError("this bench reads no transcripts")
