"""What communities cost a mind of growing size, through the actor: found from nothing, then brought up to date.

The communities bench yields these rows. A mind is filled with memories whose vectors lie around centres: what is
around one is of one subject. Its communities are found by the real actors, each time in a process of its own.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from mnemic.actors.communities.messages import ListCommunities, UpdateCommunities
from mnemic.bench.harness.homes import SyntheticCorpus, actors_of, bench_scopes, extend_home, fill_home
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.plot import Line
from mnemic.runtime.models.encoders import load_encoder

NEW_MEMORIES = 50
"""One session's worth."""
_OF_ONE_SUBJECT = 25  # memories, in the mean
_NOISE = 0.8  # of a memory's vector, beside its subject's of length 1


class _SubjectCorpus(SyntheticCorpus):
    """Texts that mean nothing, and vectors that lie around as many centres as there are subjects."""

    def __init__(self, seed: int, memories: int) -> None:
        super().__init__(seed)
        self._drawn, self._subjects = np.random.default_rng(seed + 1), max(1, memories // _OF_ONE_SUBJECT)

    def vectors(self, count: int, dimensions: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        centres = np.random.default_rng(self._subjects).standard_normal((self._subjects, dimensions))
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        noise = self._drawn.standard_normal((count, dimensions)) * (_NOISE / np.sqrt(dimensions))
        found = centres[self._drawn.integers(self._subjects, size=count)] + noise
        unit: np.ndarray[Any, np.dtype[np.float32]] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit.astype("<f4")


def mind_rows(sizes: Sequence[int], projects: Sequence[int], seed: int) -> Iterator[Row]:
    """For each size and number of projects: from nothing, then one boundary with a session's worth of new memories."""
    encoder = load_encoder(None)
    for size in sizes:
        for among in projects:
            with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
                home, corpus = Path(folder) / "home", _SubjectCorpus(seed, size)
                fill_home(home, size, seed=seed, encoder=encoder, projects=among, corpus=corpus)
                about: Row = {"what": "mind", "memories": size, "projects": among}
                yield about | {"of": "from nothing"} | _in_a_process(home)
                last = bench_scopes(among)[-1]
                extend_home(home, [last] * NEW_MEMORIES, size, encoder=encoder, corpus=corpus)
                yield about | {"of": f"{NEW_MEMORIES} new memories"} | _in_a_process(home)


def mind_lines(rows: Sequence[Row]) -> list[Line]:
    """What is drawn of these rows: seconds by size, a colour for what was done, a dash for the number of projects."""
    kinds = sorted({row["of"] for row in rows}, reverse=True)
    among = sorted({row["projects"] for row in rows})
    return [
        Line(
            f"{of}, {count} project{'s' * (count > 1)}",
            [(row["memories"], row["s"]) for row in rows if (row["of"], row["projects"]) == (of, count)],
            colour=number,
            style="-" if count == among[0] else "--",
        )
        for number, of in enumerate(kinds)
        for count in among
    ]


def _in_a_process(home: Path) -> Row:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:
        return fresh.submit(_brought_up_to_date, home).result()


def _brought_up_to_date(home: Path) -> Row:
    """Seconds by the clock and of the processor, the longest step, and how much memory it took at most."""
    with actors_of(home) as actors:
        process, most, steps = psutil.Process(), 0, []
        before, worked, began = process.memory_info().rss, time.process_time(), time.perf_counter()
        progress = actors.ask(UpdateCommunities(mark="asked"), timeout_s=600.0)
        while progress.pending:
            step = time.perf_counter()
            progress = actors.ask(UpdateCommunities(), timeout_s=600.0)
            steps.append(time.perf_counter() - step)
            most = max(most, process.memory_info().rss - before)
        taken, worked = time.perf_counter() - began, time.process_time() - worked
        if progress.why_not:
            raise ValueError(progress.why_not)
        topics = actors.ask(ListCommunities(k=1)).total
    return {"s": taken, "processor_s": worked, "longest_step_s": max(steps), "rss_mb": most / 1e6, "topics": topics}
