"""The engine bench: what a recall, a start and a resident process cost on each engine, measured side by side.

One home of n memories is copied for every engine and for an actor system in this very process, which is the baseline:
the same recall without sockets, protocol or another process. All are asked the same questions in turn, in drawn order,
so that whatever else the machine does hits them alike. Ray less embedded is what Ray adds.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import apsw
import numpy as np

from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.ports import Encoder, Ports
from mnemic.actors.recall.messages import Recall
from mnemic.actors.sleep.messages import NightReport, Preempt, Sleep
from mnemic.bench.harness.callers import McpHttpClient, McpPipe, McpSocketClient, ToolCaller
from mnemic.bench.harness.homes import (
    IDLE_SETTINGS,
    MIND_NAME,
    SyntheticCorpus,
    actors_of,
    fill_home,
    lexical_settings,
    store_of,
)
from mnemic.bench.harness.measure import BARE_PYTHON, Row, goal, milliseconds, quantiles
from mnemic.bench.harness.processes import COMMAND, END_S, process_family, pss_bytes, role_of, served, wait_until
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.store.texts import load_text, to_index_text

ADDED_GOAL_MS = 2.0
BUSY_GOAL = 1.5
PIPE_GOAL_MS = 300.0
MEMORY_GOAL_MIB = 250.0
QUESTIONS = 300
_CALLERS: dict[str, Callable[[ServerInfo], ToolCaller]] = {
    "MCP, raw stream": McpSocketClient,
    "MCP, HTTP": McpHttpClient,
}
_SEED = 0
_BLOCKS = 4
_STARTS = 5
_MATRIX = 192
_ADDITIONS = 20_000

Ask = Callable[[str], Any]


def run(
    *,
    engine: Literal["both", "embedded", "ray"] = "both",
    memories: int = 10_000,
    seconds: float = 60.0,
    no_model: bool = False,
) -> Iterator[Row]:
    """Measure.

    Raises:
        ValueError: an engine does not start.
    """
    engines = ("embedded", "ray") if engine == "both" else (engine,)
    encoder = None if no_model else load_encoder(None)
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        yield from _rows(Path(folder), engines, memories, seconds, encoder)


class BusyConsolidator:
    """The heavy job beside which recalls are measured: it computes nothing of use, as long as the night's budget is.

    Half of its time is in Python, which holds the interpreter's lock, and half in NumPy, which lets go of it now and
    then.
    """

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Sleep, Preempt)
    settings: ClassVar[tuple[Setting, ...]] = ()

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Take nothing."""
        return cls()

    def handle(self, message: Any, context: Context) -> NightReport | None:
        """Burn until the budget is used up."""
        if isinstance(message, Preempt):
            return None
        assert isinstance(message, Sleep)
        matrix = np.ones((_MATRIX, _MATRIX), np.float32)
        until_s = context.clock.monotonic_s() + message.budget_s
        while (left_s := until_s - context.clock.monotonic_s()) > 0 and not context.cancelled():
            context.progress(round(message.budget_s - left_s), round(message.budget_s))
            total = 0
            for number in range(_ADDITIONS):
                total += number * number % 7
            matrix = np.tanh(matrix @ matrix / np.float32(_MATRIX * (1 + total % 2)))
        return NightReport(run=message.run, steps=("burn",), changes=0, finished=True)


def _rows(
    folder: Path, engines: Sequence[str], memories: int, seconds: float, encoder: Encoder | None
) -> Iterator[Row]:
    first = folder / "first"
    settings = lexical_settings(first) if encoder is None else IDLE_SETTINGS
    settings += f'[actors]\nconsolidator = "{__name__}:BusyConsolidator"\n'
    texts = fill_home(first, memories, seed=_SEED, encoder=encoder, settings=settings)
    vectors = "none" if encoder is None else f"drawn unit vectors under the name {encoder.implementation}; words real"
    machine = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0]}
    yield {"what": "home", "memories": memories, "vectors": vectors, "seed": _SEED, **machine}
    homes = {name: Path(shutil.copytree(first, folder / name)) for name in (*engines, "direct", "on-demand")}
    questions = SyntheticCorpus(_SEED + 1).questions(texts, QUESTIONS)

    yield _cold_start(homes["on-demand"], questions[0])
    with ExitStack() as stack:
        infos: dict[str, ServerInfo] = {}
        callers: dict[str, Ask] = {}
        for engine in engines:
            started = time.perf_counter()
            infos[engine] = stack.enter_context(served(homes[engine], engine))
            ready_s = time.perf_counter() - started
            for way, make in _CALLERS.items():
                caller = make(infos[engine])
                stack.callback(caller.close)
                callers[f"{engine}: {way}"] = partial(_recall, caller)
            callers[f"{engine}: MCP, raw stream"](questions[0])
            answered_s = time.perf_counter() - started
            yield {"what": "start", "of": "mnemic serve", "engine": engine, "ready_s": ready_s, "answer_s": answered_s}
        actors = stack.enter_context(actors_of(homes["direct"]))
        callers["baseline: mind.recall in this process"] = lambda question: actors.ask(Recall(query=question))
        connection = stack.enter_context(store_of(homes["direct"]))
        index_full_text(connection)
        callers["competitor: FTS5"] = lambda question: full_text_search(connection, question)
        yield from _recalls(callers, questions, engines, memories)
        yield from _pipe_starts(homes[engines[0]])
        for engine in engines:
            yield _memory(engine, infos[engine], memories)
        for engine in engines:
            yield _beside_heavy(homes[engine], engine, infos[engine], questions, seconds)


# --- recalls ---------------------------------------------------------------------------------------------------------


def index_full_text(connection: apsw.Connection) -> None:
    """Make the competitor's index in the same sealed file: SQLite's own, of all texts and of who spoke."""
    connection.execute("CREATE VIRTUAL TABLE competitor USING fts5(text, content='', tokenize='porter unicode61')")
    rows: list[Any] = connection.execute("SELECT id, text, coalesce(speaker, '') FROM memories").fetchall()
    with connection:
        for row, text, speaker in rows:
            said = f"{speaker} {to_index_text(load_text(connection, text))}"
            connection.execute("INSERT INTO competitor(rowid, text) VALUES(?, ?)", (row, said))


def full_text_search(connection: apsw.Connection, question: str) -> None:
    """The competitor of a recall: one full-text query on the same sealed file, which knows no meaning."""
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question)) or '"x"'
    found = "SELECT rowid FROM competitor WHERE competitor MATCH ? ORDER BY rank LIMIT 10"
    connection.execute(found, (words,)).fetchall()


def _recall(caller: ToolCaller, question: str) -> None:
    found = caller.call("memory_recall", query=question, scope="*")
    if not found["hits"]:
        raise ValueError("a recall found nothing")


def _recalls(callers: dict[str, Ask], questions: Sequence[str], engines: Sequence[str], memories: int) -> Iterator[Row]:
    """Every caller is asked every question, in drawn order."""
    order, names = random.Random(_SEED), list(callers)
    for name in names:
        callers[name](questions[0])  # the first one loads
    times: dict[str, list[float]] = {name: [] for name in names}
    for question in questions:
        order.shuffle(names)
        for name in names:
            times[name].append(milliseconds(callers[name], question))
    for name, taken_ms in times.items():
        yield {"what": "recall", "of": name, "memories": memories, **quantiles(taken_ms)}
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
        } | goal("ms", added_ms, ADDED_GOAL_MS)


def _beside_heavy(home: Path, engine: str, info: ServerInfo, questions: Sequence[str], seconds: float) -> Row:
    """Recalls while another actor computes, beside recalls while nothing does, in blocks that take turns."""
    caller = McpSocketClient(info)
    block_s = seconds / 2 / _BLOCKS
    idle: list[float] = []
    busy: list[float] = []

    def ask_while(more: Callable[[], bool], taken_ms: list[float]) -> None:
        while more() or not taken_ms:
            question = questions[len(taken_ms) % len(questions)]
            taken_ms.append(milliseconds(_recall, caller, question))

    try:
        for block in range(_BLOCKS):
            until = time.perf_counter() + block_s
            ask_while(lambda until=until: time.perf_counter() < until, idle)  # type: ignore[misc]
            with _heavy_job(home, f"bench-{block}", block_s) as burns:
                ask_while(burns, busy)
    finally:
        caller.close()
    row: Row = {"what": "recall beside a heavy job", "engine": engine}
    for name, taken_ms in (("idle", idle), ("busy", busy)):
        row |= {f"{name}_{of}": value for of, value in quantiles(taken_ms).items()}
    ratio = row["p95_ratio"] = row["busy_p95_ms"] / row["idle_p95_ms"]
    return row | (goal("ratio", ratio, BUSY_GOAL) if engine == "ray" else {})


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


# --- starts and memory -----------------------------------------------------------------------------------------------


def _cold_start(home: Path, question: str) -> Row:
    """From nothing to an answer, by way of `mnemic mcp` alone."""
    started = time.perf_counter()
    with closing(McpPipe(home)) as pipe:
        greeted_s = time.perf_counter() - started
        _recall(pipe, question)
        answered_s = time.perf_counter() - started
    info = RunDir(home).read_info()
    if info is None:
        raise ValueError("the process that was started on demand has left already")
    left = process_family(info.pid)
    left[0].terminate()
    wait_until(lambda: not left[0].is_running(), "the process's end", END_S)
    return {"what": "start", "of": "mnemic mcp, on demand", "ready_s": greeted_s, "answer_s": answered_s}


def _pipe_starts(home: Path) -> Iterator[Row]:
    """`mnemic mcp` from its start to its answer to the handshake, where the home is served; beside a bare Python."""
    pipes: list[float] = []
    bare: list[float] = []
    for _ in range(_STARTS):
        started = time.perf_counter()
        with closing(McpPipe(home)):
            pipes.append(1e3 * (time.perf_counter() - started))
        bare.append(milliseconds(lambda: subprocess.run(BARE_PYTHON, check=True)))
    named = f"{' '.join(COMMAND[1:])} mcp, to its first answer, where the home is served"
    times = quantiles(pipes)
    yield {"what": "start", "of": named, **times} | goal("ms", times["p50_ms"], PIPE_GOAL_MS)
    yield {"what": "start", "of": "competitor: python -c pass", **quantiles(bare)}


def _memory(engine: str, info: ServerInfo, memories: int) -> Row:
    parts: dict[str, float] = defaultdict(float)
    for process in process_family(info.pid):
        parts[role_of(process)] += pss_bytes([process]) / (1 << 20)
    total = sum(parts.values())
    row = {"what": "resident memory (PSS)", "engine": engine, "memories": memories, "mib": total}
    if engine == "embedded":
        return row | goal("mib", total, MEMORY_GOAL_MIB)
    return row | {f"{role}_mib": size for role, size in sorted(parts.items())}
