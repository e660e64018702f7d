"""What every bench measures with: rows, quantiles, turns taken, goals, and a process for each instruction set.

A bench is a function that declares its parameters and yields rows; above stand all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

Row = dict[str, Any]
"""One figure: what was measured, of what, and the numbers with their units."""
BARE_PYTHON = (sys.executable, "-c", "pass")
"""An interpreter that does nothing: what every command of ours needs at least."""
Given = TypeVar("Given")
_FLAW_CHARS = 300


def quantiles(taken_ms: Sequence[float]) -> Row:
    """The part of a row that tells times, in milliseconds."""
    p50, p95 = np.quantile(taken_ms, (0.5, 0.95)).tolist()
    return {"p50_ms": p50, "p95_ms": p95, "n": len(taken_ms)}


def goal(unit: str, measured: float, most: float) -> Row:
    """The part of a row that holds a figure to its goal, which is not to be passed."""
    return {f"goal_{unit}": most, "met": measured <= most}


def skipped(of: str, why: str) -> Row:
    """The part of a row that says what was left out; a module that is missing comes with an extra of ours."""
    return {"of": of, "state": "skipped", "why": why}


def verdict(**flaws: object) -> Row:
    """The part of a row that says whether a promise was kept: it was not where any of the flaws is there."""
    found = "; ".join(f"{name}: {str(flaw)[:_FLAW_CHARS]}" for name, flaw in flaws.items() if flaw)
    return {"state": "failed", "why": found} if found else {"state": "ok"}


def milliseconds(act: Callable[..., Any], *given: Any, clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a call takes."""
    began = clock()
    act(*given)
    return 1e3 * (clock() - began)


def time_each(act: Callable[[Given], Any], given: Iterable[Given]) -> list[float]:
    """Milliseconds of one call for each; the first is made once more before, since it loads."""
    given = list(given)
    act(given[0])
    return [milliseconds(act, one) for one in given]


def take_turns(
    tasks: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    in_a_row: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    slow_ms: float = float("inf"),
) -> dict[str, list[float]]:
    """Milliseconds of each task, done by turns, so that whatever else the machine does hits all alike.

    Args:
        in_a_row: calls in each turn; of more than one the first is not counted, since it finds in the caches what
            somebody else left there.
        clock: seconds, of what is to be counted.
        slow_ms: what takes longer has no further turn.
    """
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, act in tasks.items():
            if max(taken[name], default=0.0) > slow_ms:
                continue
            if in_a_row > 1:
                act()
            for _ in range(max(1, in_a_row - 1)):
                taken[name].append(milliseconds(act, clock=clock))
                if taken[name][-1] > slow_ms:
                    break
    return taken


def in_each_instruction_set(module: str, native: bool, *arguments: int) -> Iterator[tuple[str, list[Row]]]:
    """Run a module as a process for each instruction set, which is chosen once a process; it prints its rows as JSON.

    Yields:
        The set, and its rows, or one row that says why there are none.
    """
    for instructions in ("avx512", "avxvnni", "avx2", "portable"):
        about = {"what": "all"} | skipped(f"mnemic, native-{instructions}", "native code is not built")
        if not native:
            yield instructions, [about]
            continue
        environment = {**os.environ, "MNEMIC_INSTRUCTIONS": instructions, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", module, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            why = done.stderr.strip().splitlines()[-1]
            state = "skipped" if "is not what this processor has" in why else "failed"
            yield instructions, [about | {"state": state, "why": why}]
        else:
            yield instructions, json.loads(done.stdout)
