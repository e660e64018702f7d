"""The process of the latency bench that opens one mind and asks it; below `mnemic.bench.speed.latency_bench`.

It reads what it is to do as JSON from its standard input, and prints rows as JSON. Only the memory of a process that
has done nothing else is that of the mind.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does; before NumPy is loaded

import numpy as np
import psutil

from mnemic.actors.meaning.messages import EmbedQuery
from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.bench.harness.homes import actors_of, store_of
from mnemic.bench.harness.measure import Row
from mnemic.runtime.engine.supervisor import Supervisor

_STORE_WAIT_S = 60.0
_LOOK_S = 0.001


def measure(home: Path, questions: Sequence[str], warm: int, *, kept: bool) -> list[Row]:
    """Rows: opening the mind, recalls, recalls whose question names a day, the vector alone, and the memory it takes.

    Args:
        warm: so many questions of each kind come first and are not counted.
        kept: whether it is kept what was given, after each answer, as where an assistant asks; that is waited for and
            not counted.

    Raises:
        ValueError: a question was not answered, or not by all signals.
    """
    days = _days(home, len(questions))
    bare_mib = _resident_mib()
    began, busy = time.perf_counter(), time.process_time()
    with actors_of(home) as actors:
        _recall(actors, questions[0], kept=False)
        opened = {"what": "open", "s": time.perf_counter() - began, "cpu_s": time.process_time() - busy}
        asked = {
            "recall": lambda number: _recall(actors, questions[number], kept=kept),
            "recall, a day named": lambda number: _recall(actors, f"{questions[number]} on {days[number]}", kept=kept),
            "baseline: the question's vector alone": lambda number: actors.ask(EmbedQuery(text=questions[number])),
        }
        rows: list[Row] = [opened]
        for what, ask in asked.items():
            rows.append({"what": what} | _times(actors, ask, len(questions), warm))
            if what == "recall":
                rows.append({"what": "resident memory", "mib": _resident_mib(), "before_mib": bare_mib})
    return rows


def _recall(actors: Supervisor, question: str, *, kept: bool) -> None:
    found = actors.ask(Recall(query=question, observe=kept))
    assert isinstance(found, Recalled)
    if found.degraded or not found.hits:
        raise ValueError(f"{len(found.hits)} hits; {'; '.join(found.degraded)}")


def _times(actors: Supervisor, ask: Callable[[int], Any], count: int, warm: int) -> Row:
    """Milliseconds that passed, and those that all threads of this process had of the processor meanwhile."""
    took: list[tuple[float, float]] = []
    for number in range(count):
        began, busy = time.perf_counter(), time.process_time()
        ask(number)
        took.append((1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - busy)))
        _await_idle(actors)
    (p50, cpu_p50), (p95, cpu_p95) = np.quantile(took[warm:], (0.5, 0.95), axis=0).tolist()
    return {"p50_ms": p50, "p95_ms": p95, "cpu_p50_ms": cpu_p50, "cpu_p95_ms": cpu_p95, "n": len(took) - warm}


def _await_idle(actors: Supervisor) -> None:
    """Wait until what an answer has left to do is done."""
    until = time.monotonic() + _STORE_WAIT_S
    while actors.is_busy():
        if time.monotonic() > until:
            raise ValueError("the actors do not come to rest")
        time.sleep(_LOOK_S)


def _days(home: Path, count: int) -> list[str]:
    """Days on which something was said, evenly over all."""
    with store_of(home) as connection:
        said: list[Any] = connection.execute("SELECT said_at FROM memories ORDER BY said_at").fetchall()
    places = np.linspace(0, len(said) - 1, count).astype(int)
    return [f"{datetime.fromtimestamp(said[place][0] / 1e6, UTC):%d %B %Y}" for place in places]


def _resident_mib() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


if __name__ == "__main__":
    given = json.loads(sys.stdin.read())
    rows = measure(Path(given["home"]), given["questions"], given["warm"], kept=given["kept"])
    print(json.dumps(rows))
