"""How long nights take, and what they cost those who recall meanwhile.

A night over a synthetic mind, another one with nothing new, memory above idle, and how long a recall takes that finds a
night on in the same process, which it wakes. Part of `mnemic.bench.quality.sleep_bench`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import psutil

from mnemic.actors.recall.messages import Recall
from mnemic.bench.harness.homes import IDLE_SETTINGS, SyntheticCorpus, actors_of, bind_all, fill_home
from mnemic.bench.harness.measure import Row, goal, milliseconds, skipped
from mnemic.bench.quality.sleep.nights import have_night
from mnemic.runtime.engine.engine import SWITCH_S
from mnemic.runtime.models.encoders import load_encoder

GOAL_NIGHT_S = 60.0
"""Of 10,000 memories."""
GOAL_NOTHING_S = 1.0
GOAL_RATIO = 1.5
"""Of the p95 of recalls that find a night on to that of recalls awake."""
GOAL_RSS_MIB = 300.0
"""Above idle."""
_ASKED, _NAP_AFTER_S, _APART_S = 60, 0.1, 0.16
_FEWEST = 20
"""Recalls that a 95th percentile is told of."""


class _Turns(SyntheticCorpus):
    """Turns that were given, again and again, each time with another number in it."""

    def __init__(self, seed: int, texts: Sequence[str]) -> None:
        super().__init__(seed)
        self._given = texts

    def texts(self, count: int) -> list[str]:
        """So many of them."""
        given = self._given
        return (
            [f"{given[n % len(given)]} Number {n // len(given)}." for n in range(count)]
            if given
            else super().texts(count)
        )


def cost_rows(memories: int, texts: Sequence[str], seed: int) -> Iterator[Row]:
    """How long a first night takes, stage by stage, and one with nothing new."""
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home = Path(folder) / "home"
        encoder = load_encoder(None)
        fill_home(home, memories, seed=seed, encoder=encoder, projects=5, corpus=_Turns(seed, texts))
        with actors_of(home) as actors:
            bind_all(actors)  # as in a home that was captured into; else this goes on beside what is timed
            process = psutil.Process()
            idle = process.memory_info().rss
            began_s = time.perf_counter()
            report = have_night(actors, "first")
            took_s = time.perf_counter() - began_s
            above = (process.memory_info().rss - idle) / (1 << 20)
            about: Row = {"what": "cost", "memories": memories}
            for one in report.stages:
                yield {**about, "of": one.stage, "took_s": one.took_us / 1e6, "changes": one.changes, "note": one.note}
            row: Row = {**about, "of": "a first night", "took_s": took_s, "above_idle_mib": above}
            if memories == 10_000:
                row |= goal("s", took_s, GOAL_NIGHT_S) | {"rss_met": above <= GOAL_RSS_MIB}
            yield row
            began_s = time.perf_counter()
            again = have_night(actors, "second")
            took_s = time.perf_counter() - began_s
            assert not again.changes, again
            yield {**about, "of": "nothing new", "took_s": took_s, **goal("s", took_s, GOAL_NOTHING_S)}
    interval = sys.getswitchinterval()
    for switch_s in (interval, SWITCH_S):  # as Python has it, and as a home's process does
        sys.setswitchinterval(switch_s)
        try:
            yield from _beside(memories, texts, seed)
        finally:
            sys.setswitchinterval(interval)


def _beside(memories: int, texts: Sequence[str], seed: int) -> Iterator[Row]:
    """How long recalls take awake, and as those that wake a night: each finds one that has just gone on."""
    corpus, encoder = _Turns(seed, texts), load_encoder(None)
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home = Path(folder) / "home"
        settings = IDLE_SETTINGS.replace("sleep_after_s = 86400.0", f"sleep_after_s = {_NAP_AFTER_S}")
        filled = fill_home(home, memories, seed=seed, encoder=encoder, projects=5, corpus=corpus, settings=settings)
        asked = corpus.questions(filled, _ASKED)
        with actors_of(home) as actors:
            bind_all(actors)

            def recall(question: str) -> float:
                return milliseconds(actors.ask, Recall(query=question, k=10, observe=False))

            for question in asked[:20]:  # what is loaded once
                recall(question)
            # what others do for a night they do awake as well, and go on with it when it is woken
            have_night(actors, "before", ("meaning", "facts", "communities"))
            awake = [recall(question) for question in asked]
            actors.start_ticking(0.01)
            waking = []
            for question in asked:
                time.sleep(_APART_S)
                night = actors.report().night
                waking.append((recall(question), night is not None and not night.finished))
        asleep = [took for took, was_on in waking if was_on]
        row: Row = {"what": "recall", "memories": memories, "switch_ms": 1e3 * sys.getswitchinterval()}
        if len(asleep) < _FEWEST:
            why = f"{len(asleep)} of {len(waking)} recalls found one on: more memories make longer ones"
            yield row | skipped(f"a night for {_FEWEST} recalls", why)
            return
        p95 = [float(np.quantile(one, 0.95)) for one in (awake, asleep)]
        ratio = p95[1] / p95[0]
        row |= {"awake_p95_ms": p95[0], "waking_p95_ms": p95[1]}
        yield {**row, "n": len(asleep), "ratio": ratio, **goal("ratio", ratio, GOAL_RATIO)}
