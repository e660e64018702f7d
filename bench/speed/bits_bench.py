"""The bits bench: the algebra of packed hypervectors, natively by each instruction set, by NumPy and by torchhd.

Hypervectors are drawn, 10,240 bits each. Rows: how long it takes to find the ten nearest of very many and of 1,000, to
bundle 15 and 1,000, and to bind and to rotate 1,000. NumPy takes turns with each instruction set; torchhd, where a bit
takes a byte, searches 1,000. As the baseline the same memory is read by NumPy and next to nothing done with it.
Everything on one thread, whose own time is counted: other programs' turns are not in it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.bench.harness.measure import Row, goal, in_each_instruction_set, skipped, take_turns
from mnemic.hd.algebra import NATIVE, PackedAlgebra
from mnemic.hd.packing import pack, unpack

WORDS = 160
K = 10
SMALL_COUNT = 1000
SHIFT = 777
GOAL_MS = {100_000: 6.0}
_OF_ALL = "nearest 10"
_IN_A_ROW = 4
_SLOW_MS = 500.0
"""What takes longer than this is timed that once."""

Words = NDArray[np.uint64]
Tasks = dict[str, Callable[[], Any]]
"""What is done, by its name."""


def run(*, hypervectors: int = 100_000, rounds: int = 15) -> Iterator[Row]:
    """Run everything.

    Raises:
        ValueError: there are fewer than 1,000 hypervectors.
    """
    if hypervectors < SMALL_COUNT:
        raise ValueError(f"there must be {SMALL_COUNT} hypervectors or more")
    for instructions, rows in in_each_instruction_set(__name__, NATIVE, hypervectors, rounds):
        if instructions != "portable" and hypervectors in GOAL_MS and "p50_ms" in rows[0]:
            rows[0] |= goal("ms", rows[0]["p50_ms"], GOAL_MS[hypervectors])
        yield from rows
    yield from _torchhd(rounds)


def compare_with_numpy(count: int, rounds: int) -> Iterator[Row]:
    """The rows of the instruction set of this process, of NumPy beside it and of reading alone."""
    vectors, query = _draw(count)
    few, algebra = vectors[:SMALL_COUNT], PackedAlgebra(True)
    ours: Tasks = {
        "nearest 10": lambda: algebra.cleanup(vectors, query[None], K),
        "nearest 10 of 1,000": lambda: algebra.cleanup(few, query[None], K),
        "bundle 15": lambda: algebra.bundle(few[:15], query),
        "bundle 1,000": lambda: algebra.bundle(few, query),
        "bind 1,000": lambda: algebra.bind(few, query),
        "rotate 1,000": lambda: algebra.permute(few, SHIFT),
    }
    theirs: Tasks = {
        "nearest 10": lambda: _nearest(vectors, query),
        "nearest 10 of 1,000": lambda: _nearest(few, query),
        "bundle 15": lambda: _bundle(few[:15]),
        "bundle 1,000": lambda: _bundle(few),
        "bind 1,000": lambda: few ^ query,
        "rotate 1,000": lambda: _rotate(few),
    }
    flat = vectors.reshape(-1)
    beside: dict[str, Tasks] = {
        f"mnemic, native-{os.environ['MNEMIC_INSTRUCTIONS']}": ours,
        "competitor: NumPy": theirs,
        "baseline: reading alone": {"nearest 10": lambda: np.bitwise_xor.reduce(flat)},
    }
    for task in ours:
        yield from compare_tasks(_of_task(task, count), task, rounds, beside)


def _torchhd(rounds: int) -> Iterator[Row]:
    name = "competitor: torchhd"
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
        import torchhd
    except ModuleNotFoundError as missing:
        yield {"what": "all"} | skipped(name, f"{missing.name} is not installed: it comes with the extra `torch`")
        return
    torch.set_num_threads(1)
    vectors, query = _draw(SMALL_COUNT)
    few, one = (torch.from_numpy(unpack(words)).as_subclass(torchhd.BSCTensor) for words in (vectors, query))
    tasks: Tasks = {
        "nearest 10 of 1,000": lambda: torch.topk(torchhd.hamming_similarity(one, few), K),
        "bundle 15": lambda: few[:15].multibundle(),
        "bundle 1,000": lambda: few.multibundle(),
        "bind 1,000": lambda: few.bind(one),
        "rotate 1,000": lambda: few.permute(SHIFT),
    }
    for task in tasks:
        yield from compare_tasks(_of_task(task, SMALL_COUNT), task, rounds, {name: tasks})


def compare_tasks(
    about: Row, task: str, rounds: int, beside: dict[str, Tasks], clock: Callable[[], float] = time.thread_time
) -> Iterator[Row]:
    """Rows of one task, done by turns. Who is very slow has fewer turns, and who has no such task none.

    Args:
        about: what begins each row.
        beside: who does it, by name.
        clock: seconds, of what is to be counted.
    """
    doing = {name: tasks[task] for name, tasks in beside.items() if task in tasks}
    taken = take_turns(doing, rounds, in_a_row=_IN_A_ROW, clock=clock, slow_ms=_SLOW_MS)
    for name, each in taken.items():
        yield {**about, "of": name, "p50_ms": float(np.median(each)), "best_ms": min(each), "n": len(each)}


def _of_task(task: str, count: int) -> Row:
    return {"what": task, "vectors": count} if task == _OF_ALL else {"what": task}


def _draw(count: int) -> tuple[Words, Words]:
    """Hypervectors ``(n, 160)``, and a query near one of them."""
    random = np.random.default_rng(count)
    vectors = random.integers(0, 2**64, (count, WORDS), np.uint64)
    noise = pack(random.random(64 * WORDS) < 0.3)
    return vectors, vectors[count // 2] ^ noise


def _nearest(vectors: Words, query: Words) -> NDArray[np.int64]:
    distances = np.bitwise_count(vectors ^ query).sum(axis=1, dtype=np.int64)
    some = np.argpartition(distances, K)[:K]
    return some[np.argsort(distances[some], kind="stable")]


def _bundle(vectors: Words) -> NDArray[np.uint8]:
    """Of an odd number, or of an even one with its ties unset."""
    taken_apart = np.unpackbits(vectors.view(np.uint8), axis=1)
    return np.packbits(taken_apart.sum(axis=0, dtype=np.int32) > len(vectors) // 2)


def _rotate(vectors: Words) -> Words:
    turned, by = np.roll(vectors, SHIFT // 64, axis=1), np.uint64(SHIFT % 64)
    return turned << by | np.roll(turned, 1, axis=1) >> (np.uint64(64) - by)


if __name__ == "__main__":
    print(json.dumps(list(compare_with_numpy(int(sys.argv[1]), int(sys.argv[2])))))
