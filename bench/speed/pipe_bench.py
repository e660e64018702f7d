"""The pipe bench: what each hop between an assistant and a recall costs, `mnemic mcp` included.

One home of n memories, all of one folder's project, is copied for an actor system in this very process, which is the
baseline: the same recall without sockets, protocol or another process. All are asked the same questions in turn, in
drawn order, so that whatever else the machine does hits them alike; the differences of one question are what a hop
adds. What all processes that take part compute for a recall is told besides: other programs do not move that much.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil

from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.recall.messages import GetMemories, Recall
from mnemic.bench.harness.callers import McpPipe, McpSocketClient, SdkPipe, ToolCaller
from mnemic.bench.harness.homes import IDLE_SETTINGS, SyntheticCorpus, actors_of, fill_home, lexical_settings
from mnemic.bench.harness.measure import Row, goal, milliseconds, quantiles
from mnemic.bench.harness.processes import served
from mnemic.runtime.models.encoders import load_encoder

ADDED_GOAL_MS = 4.0
_SEED = 0
_REST_S = 0.02  # before each: what was given is kept beside the answer, and would hold up who comes at once
_ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()"
_ECHO_BYTES = 200
_HERE = "baseline: in this process"
_PIPE = "MCP, mnemic mcp"
_SDK = "MCP, mnemic mcp, the SDK's client"

Ask = Callable[[str], Any]


def run(*, memories: int = 3000, questions: int = 200, no_model: bool = False) -> Iterator[Row]:
    """Measure.

    Raises:
        ValueError: the home cannot be served.
    """
    encoder = None if no_model else load_encoder(None)
    with tempfile.TemporaryDirectory(prefix="mnemic-pipe-") as name, ExitStack() as stack:
        home, other, project = (Path(name) / part for part in ("home", "other", "project"))
        project.mkdir()
        place = ScopeRef(path=project.name, project=str(project.resolve()), found="folder")

        def of_project(memory: AddMemory, _: int) -> AddMemory:
            return msgspec.structs.replace(memory, place=place)

        settings = lexical_settings(home) if encoder is None else IDLE_SETTINGS
        texts = fill_home(home, memories, seed=_SEED, encoder=encoder, settings=settings, dress=of_project)
        shutil.copytree(home, other)
        asked = SyntheticCorpus(_SEED + 1).questions(texts, questions)
        yield {"what": "home", "memories": memories, "cores": os.cpu_count(), "load_before": os.getloadavg()[0]}
        info = stack.enter_context(served(home, "embedded"))
        actors = stack.enter_context(actors_of(other))
        stream = stack.enter_context(closing(McpSocketClient(info, project)))
        pipe = stack.enter_context(closing(McpPipe(home, project)))
        sdk = stack.enter_context(closing(SdkPipe(home, project)))
        recall = partial(Recall, scope=place.path, assistant="bench", asking_session="bench")
        ways: dict[str, Ask] = {
            _HERE: lambda question: actors.ask(recall(query=question)),
            "MCP, mcp.sock": partial(_recall, stream),
            _PIPE: partial(_recall, pipe),
            _SDK: partial(_recall, sdk),
        }
        for question in asked:  # what a recall keeps of words and texts that it met, both have from here on
            ways[_HERE](question)
            ways[_PIPE](question)
        times = _times(ways, asked)
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]  # the server and both pipes
        cpu_ms = {of: _cpu_ms(family, partial(_ask_all, way, asked)) / questions for of, way in ways.items()}
        yield from _recalls(times, cpu_ms, memories)
        yield _answer(pipe, asked)
        echo = stack.enter_context(_bare_process())
        hops: dict[str, Ask] = {
            "baseline: a line through a bare process": lambda _: echo(),
            "baseline: a message to an actor, in this process": lambda _: actors.ask(GetMemories(ids=())),
            "ping, mcp.sock": lambda _: stream.request("ping", {}),
            "ping, mnemic mcp": lambda _: pipe.request("ping", {}),
            "memory_get of nothing, mcp.sock": lambda _: stream.call("memory_get", ids=[]),
            "memory_get of nothing, mnemic mcp": lambda _: pipe.call("memory_get", ids=[]),
        }
        for of, taken_ms in _times(hops, asked).items():
            yield {"what": "hop", "of": of, **quantiles(taken_ms)}


def _recall(client: ToolCaller, question: str) -> dict[str, Any]:
    found = client.call("memory_recall", query=question)
    if not found["hits"]:
        raise ValueError("a recall found nothing")
    return found


def _ask_all(way: Ask, questions: Sequence[str]) -> None:
    for question in questions:
        way(question)


def _cpu_ms(processes: Sequence[psutil.Process], act: Callable[[], None]) -> float:
    """What processes compute meanwhile, all their threads."""

    def total_s() -> float:
        return sum(float(times.user + times.system) for times in (one.cpu_times() for one in processes))

    began = total_s()
    act()
    return 1e3 * (total_s() - began)


def _times(ways: Mapping[str, Ask], questions: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds of each way for each question, taken in drawn order."""
    order, names = random.Random(_SEED), list(ways)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for question in questions:
        order.shuffle(names)
        for name in names:
            time.sleep(_REST_S)
            times[name].append(milliseconds(ways[name], question))
    return times


def _recalls(times: Mapping[str, Sequence[float]], cpu_ms: Mapping[str, float], memories: int) -> Iterator[Row]:
    here = np.array(times[_HERE])
    for of, taken_ms in times.items():
        row: Row = {"what": "recall", "of": of, "memories": memories, **quantiles(taken_ms)}
        row |= {"best_ms": float(np.quantile(taken_ms, 0.05)), "cpu_ms": cpu_ms[of]}
        if of != _HERE:
            row["added_p50_ms"] = float(np.median(np.array(taken_ms) - here))
            row["added_best_ms"] = row["best_ms"] - float(np.quantile(here, 0.05))
        if of == _PIPE:
            row |= goal("p95_ms", row["p95_ms"], float(np.quantile(here, 0.95)) + ADDED_GOAL_MS)
        yield row


def _answer(pipe: McpPipe, questions: Sequence[str]) -> Row:
    """How long an answer is: the whole line, and what of it a model is shown, the text."""
    lines, texts, hits = [], [], []
    for question in questions:
        result = pipe.request("tools/call", {"name": "memory_recall", "arguments": {"query": question}})
        lines.append(len(json.dumps(result, separators=(",", ":"))))
        texts.append(len(result["content"][0]["text"].encode()))
        hits.append(len(result["structuredContent"]["hits"]))
    line, text, most = (int(np.median(one)) for one in (lines, texts, hits))
    return {"what": "answer", "hits": most, "line_bytes": line, "text_bytes": text}


@contextmanager
def _bare_process() -> Iterator[Callable[[], bytes]]:
    """A process that repeats each line, and nothing else; gives what says one and hears it again."""
    line = b"x" * _ECHO_BYTES + b"\n"
    process = subprocess.Popen([sys.executable, "-c", _ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process as started:
        said, heard = started.stdin, started.stdout
        assert said is not None
        assert heard is not None

        def echo() -> bytes:
            said.write(line)
            said.flush()
            return heard.readline()

        yield echo
        said.close()
