"""The soak bench: very many mixed requests to one process, to prove that memory and files don't leak.

What is captured comes from a fixed set of texts, all of them kept before the first sample: a memory that is kept anew
takes room for good, and that is no leak. So everything a request leaves behind would show in the slope.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import psutil

from mnemic.bench.harness.callers import McpHttpClient, McpSocketClient, UnixHttp
from mnemic.bench.harness.homes import BENCH_SCOPE, SyntheticCorpus, fill_home
from mnemic.bench.harness.measure import Row, milliseconds, quantiles
from mnemic.bench.harness.processes import pss_bytes, role_of, served
from mnemic.runtime.minds.run_dir import ServerInfo
from mnemic.runtime.models.encoders import load_encoder

_MEMORIES = 1000
_CAPTURED = 200
_SAMPLES = 40
_RECONNECT_EVERY = 50
_FLAT_SLOPE_MIB = 1.0
"""A slope of less, per 10,000 requests, counts as flat: 100,000 would add ten."""
_REQUEST_MIX = {"recall": 4, "capture": 2, "get": 2, "status": 1, "count": 1}


def run(
    *, engine: Literal["embedded", "ray"] = "embedded", requests: int = 100_000, seed: int = 0, no_model: bool = False
) -> Iterator[Row]:
    """Send the requests.

    Raises:
        ValueError: the engine does not start.
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-soak-") as folder:
        home = Path(folder) / "home"
        texts = fill_home(home, _MEMORIES, seed=seed, encoder=None if no_model else load_encoder(None))
        with served(home, engine) as info:
            yield from _rows(info, texts, requests, seed, meaning=not no_model)


def slope(requests: Sequence[int], rss_mib: Sequence[float]) -> float:
    """MiB of resident memory that 10,000 requests add: least squares over the second half of the samples."""
    half = len(requests) // 2
    if len(requests) - half < 2:
        return 0.0
    return float(np.polyfit(np.array(requests[half:], np.float64) / 10_000, rss_mib[half:], 1)[0])


def _rows(info: ServerInfo, texts: Sequence[str], requests: int, seed: int, *, meaning: bool) -> Iterator[Row]:
    client = _Client(info, texts, seed, meaning=meaning)
    client.warm_up()
    process = _worker(info)
    chance = random.Random(seed)
    kinds, shares = list(_REQUEST_MIX), list(_REQUEST_MIX.values())
    samples = [_sample(process, 0)]
    taken: dict[str, list[float]] = defaultdict(list)
    started = time.perf_counter()
    for number in range(1, requests + 1):
        (kind,) = chance.choices(kinds, shares)
        taken[kind].append(milliseconds(client.verbs[kind]))
        if number % max(1, requests // _SAMPLES) == 0:
            samples.append(_sample(process, number))
        if number % _RECONNECT_EVERY == 0:
            client.reconnect()
    took_s = time.perf_counter() - started
    client.close()
    first, last = samples[0], samples[-1]
    grows = slope([one["requests"] for one in samples], [one["rss_mib"] for one in samples])
    yield {
        "what": "soak",
        "engine": info.engine,
        "requests": requests,
        "requests_per_s": requests / took_s,
        "rss_mib_per_10000_requests": grows,
        "flat": grows < _FLAT_SLOPE_MIB,
        "rss_start_mib": first["rss_mib"],
        "rss_end_mib": last["rss_mib"],
        "pss_end_mib": last["pss_mib"],
        "files_start": first["files"],
        "files_end": last["files"],
        "memories": len(texts) + _CAPTURED,
    }
    for kind, times in sorted(taken.items()):
        yield {"what": "request", "of": kind, **quantiles(times)}
    yield from samples


def _worker(info: ServerInfo) -> psutil.Process:
    """The process that answers: the one of the info file, or, on Ray, the one it keeps alive."""
    parent = psutil.Process(info.pid)
    return next((one for one in parent.children() if role_of(one) == "process"), parent)


def _sample(process: psutil.Process, requests: int) -> Row:
    """Its resident memory after so many requests, whole and with what it shares counted in part; its descriptors."""
    return {
        "what": "sample",
        "requests": requests,
        "rss_mib": process.memory_info().rss / (1 << 20),
        "pss_mib": pss_bytes([process]) / (1 << 20),
        "files": process.num_fds(),
    }


class _Client:
    """Asks by turns over MCP's stream, MCP over HTTP and the JSON API, on connections that come and go."""

    def __init__(self, info: ServerInfo, texts: Sequence[str], seed: int, *, meaning: bool) -> None:
        self._info = info
        self._meaning = meaning
        self._random = random.Random(seed)
        corpus = SyntheticCorpus(seed + 1)
        self._questions = corpus.questions(list(texts), 500)
        self._texts = corpus.texts(_CAPTURED)
        self._ids: list[str] = []
        self.verbs: dict[str, Callable[[], Any]] = {
            "recall": self._recall,
            "capture": self._capture,
            "get": lambda: self._any().call("memory_get", ids=self._random.sample(self._ids, 2)),
            "status": lambda: self._any().call("memory_status"),
            "count": lambda: self._http.ask("POST", "/api/count", {}),
        }
        self._connect()

    def warm_up(self) -> None:
        """Have every text captured once, everything embedded, and each verb asked: what is to be loaded is loaded."""
        for text in self._texts:
            self._ids.append(self._wire.call("memory_capture", text=text, scope=BENCH_SCOPE.path, session="soak")["id"])
        for verb in self.verbs.values():
            verb()
        while self._meaning and self._pending():
            continue

    def reconnect(self) -> None:
        """Hang up, and come back."""
        self.close()
        self._connect()

    def close(self) -> None:
        """Hang up."""
        self._wire.close()
        self._mcp_http.close()
        self._http.close()

    def _connect(self) -> None:
        self._wire, self._mcp_http, self._http = (
            McpSocketClient(self._info),
            McpHttpClient(self._info),
            UnixHttp(self._info.http_socket),
        )

    def _any(self) -> McpSocketClient | McpHttpClient:
        return self._random.choice((self._wire, self._mcp_http))

    def _recall(self) -> None:
        question = self._random.choice(self._questions)
        if self._random.random() < 0.5:
            self._any().call("memory_recall", query=question, scope="*")
        else:
            self._http.ask("POST", "/api/recall", {"query": question})

    def _capture(self) -> None:
        text = self._random.choice(self._texts)
        answer = self._any().call("memory_capture", text=text, scope=BENCH_SCOPE.path, session="soak")
        if answer["created"]:
            raise ValueError("a text that was known was kept again")

    def _pending(self) -> int:
        """How many memories wait for their meaning, after one more step."""
        answer = self._http.ask("POST", "/api/embed-pending", {})
        return int(msgspec.json.decode(answer)["pending"])
