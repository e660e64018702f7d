"""Speed of binding, bundling and search for each hypervector backend, beside torchhd.

Records are episodes of 12 pairs: nine names and three embeddings of 384 values, which are projected. Everything on one
thread, whose own time is counted; of what works on a GPU, the time that passes. Below `mnemic.bench.speed.hd_bench`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.bench.harness.measure import Row, goal, skipped
from mnemic.bench.speed.bits_bench import Tasks, compare_tasks
from mnemic.hd.algebra import BACKENDS, Algebra, algebra_named
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.records import Pair, Record
from mnemic.hd.space import Space

EMBEDDING = 384
EPISODES = 1000
GOAL_MS = 50.0
_BATCHES = 5
_ITEMS = 10_000
_ASKED = 12
_NEAREST = 5
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_BIND = "bind 1,000 episodes"
_FIRST = "bind 1,000 episodes, no name known yet"


def measure_speeds(space: Space, rounds: int, hypervectors: int) -> Iterator[Row]:
    """Rows: each task by each backend that is there, and by torchhd.

    Args:
        space: one with embeddings of `EMBEDDING` values.
        hypervectors: how many are searched where many are.
    """
    chance = np.random.default_rng(hypervectors)
    batches = [draw_episodes(chance, EPISODES) for _ in range(_BATCHES)]
    vectors = chance.integers(0, 2**64, (hypervectors, space.words), np.uint64)
    backends: dict[str, Tasks] = {}
    for name in BACKENDS:
        try:
            algebra = algebra_named(name)
        except ValueError as missing:
            yield {"what": "all"} | skipped(f"mnemic, {name}", str(missing))
        else:
            backends[f"mnemic, {algebra.name}"] = _tasks(space, algebra, batches, vectors)
    try:
        backends["competitor: torchhd"] = _torchhd(space, batches, vectors)
    except ModuleNotFoundError as missing:
        why = f"{missing.name} is not installed: it comes with the extra `torch`"
        yield {"what": "all"} | skipped("competitor: torchhd", why)
    clock = time.perf_counter if any("cuda" in name or "mps" in name for name in backends) else time.thread_time
    for task in next(iter(backends.values())):
        for row in compare_tasks({"what": task}, task, rounds, backends, clock):
            if task.endswith("of all"):
                row["vectors"] = hypervectors
            if task == _BIND and row["of"] == "mnemic, native":
                row |= goal("ms", row["p50_ms"], GOAL_MS)
            yield row


def draw_episodes(chance: np.random.Generator, count: int) -> list[Record]:
    """Drawn episodes, one after the other, names as often as they come in real ones: some always, topics seldom."""
    meanings = chance.standard_normal((count + 2, EMBEDDING)).astype(np.float32)
    meanings /= np.linalg.norm(meanings, axis=1, keepdims=True)
    topics = np.minimum(chance.zipf(1.3, count), 5000)
    who, project, size = (chance.integers(0, most, count) for most in (4, 12, 600))
    start = int(chance.integers(0, 300))
    return [
        (
            Pair("who", f"person {who[number]}"),
            Pair("to", f"person {who[number - 1]}"),
            Pair("date", str(np.datetime64("2026-01-01") + start + number // 200)),
            Pair("hour", str(number // 10 % 24)),
            Pair("weekday", _DAYS[number // 200 % 7]),
            Pair("project", f"work/project {project[number]}"),
            Pair("kind", "turn" if number % 3 else "note"),
            Pair("topic", f"topic {topics[number]}"),
            Pair("size", str(size[number] + 1)),
            Pair("previous", meanings[number]),
            Pair("about", meanings[number + 1]),
            Pair("next", meanings[number + 2]),
        )
        for number in range(count)
    ]


def _tasks(space: Space, algebra: Algebra, batches: list[list[Record]], vectors: NDArray[np.uint64]) -> Tasks:
    encoders, following = RecordEncoder(space, algebra), cycle(batches)
    for batch in batches:
        encoders.encode_records(batch)  # names are drawn once, as in a mind that has seen them
    items, asked = vectors[:_ITEMS], vectors[:_ASKED]
    offsets = np.arange(0, len(items) // _ASKED + 1, dtype=np.int64) * _ASKED
    groups, ties = items[: offsets[-1]], items[: len(offsets) - 1]
    tasks: Tasks = {
        _BIND: lambda: encoders.encode_records(next(following)),
        _FIRST: lambda: RecordEncoder(space, algebra).encode_records(batches[0]),
        f"bundle {len(ties)} of {_ASKED}": lambda: algebra.bundle_groups(groups, offsets, ties),
        f"clean up {_ASKED} among {len(items)}": lambda: algebra.cleanup(items, asked, _NEAREST),
    }
    if algebra.name == "torch":  # on a CPU: a minute a call
        return tasks
    return tasks | {
        f"distances from {_ASKED} of all": lambda: algebra.distances(vectors, asked),
        f"distances from {_ASKED}, one by one, of all": lambda: [algebra.similarity(vectors, one) for one in asked],
    }


def _torchhd(space: Space, batches: list[list[Record]], vectors: NDArray[np.uint64]) -> Tasks:
    """The same with torchhd's own verbs, where a bit takes a byte; ties are drawn, and 100,000 have no room."""
    import torch  # type: ignore[import-not-found, unused-ignore]
    import torchhd

    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def drawn(count: int) -> Any:
        return torchhd.random(count, space.dimensions, "BSC", device=device)

    names = {(pair.role, pair.filler) for batch in batches for record in batch for pair in record if _named(pair)}
    numbers = {name: number for number, name in enumerate(sorted(names))}
    roles, fillers = drawn(len(batches[0][0])), drawn(len(names))
    planes = torch.from_numpy(np.random.default_rng(0).standard_normal((EMBEDDING, space.dimensions), np.float32))
    planes = planes.to(device)
    items = torch.from_numpy(np.unpackbits(vectors[:_ITEMS].view(np.uint8), axis=1, bitorder="little")).bool()
    items = items.to(device).as_subclass(torchhd.BSCTensor)
    groups = items[: len(items) // _ASKED * _ASKED].reshape(-1, _ASKED, space.dimensions)

    def bind(batch: list[Record]) -> Any:
        named = torch.tensor([[numbers[one.role, one.filler] for one in record if _named(one)] for record in batch])
        meant = np.array([[one.filler for one in record if not _named(one)] for record in batch], np.float32)
        projected = (torch.from_numpy(meant).to(device) @ planes > 0).as_subclass(torchhd.BSCTensor)
        return torchhd.multibundle(torchhd.bind(torch.cat([fillers[named.to(device)], projected], dim=1), roles)).cpu()

    def clean_up() -> list[Any]:
        return [torch.topk(torchhd.hamming_similarity(one, items), _NEAREST).indices.cpu() for one in items[:_ASKED]]

    following = cycle(batches)
    return {
        _BIND: lambda: bind(next(following)),
        f"bundle {len(groups)} of {_ASKED}": lambda: torchhd.multibundle(groups).cpu(),
        f"clean up {_ASKED} among {len(items)}": clean_up,
    }


def _named(pair: Pair) -> bool:
    return isinstance(pair.filler, str)
