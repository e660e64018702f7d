"""The ingest bench: how fast conversations are taken in, by an empty mind and by a large one, beside what bounds that.

LoCoMo's turns are captured by the real command, with meaning and binding, and for their words alone. Beside it, in
turns: the encoder by itself, and one loop that puts the same texts into a plain full-text index of SQLite's, without
a key, a log, identities or hypervectors, with the same encoder and without. The large mind's earlier memories are
drawn, and bound as any others.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from mnemic.actors.communities.messages import UpdateCommunities
from mnemic.actors.kernel.ports import Encoder, Window
from mnemic.actors.knowledge.messages import UpdateFacts
from mnemic.bench.harness.homes import IDLE_SETTINGS, actors_of, bind_all, fill_home
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.locomo import convert
from mnemic.runtime.models.encoders import load_encoder

GOAL_TURNS_PER_S = 500.0
_WORDS, _WHOLE = "words", "words, meaning and binding"
_ENCODER = "baseline: the encoder alone"
_PLAIN, _PLAIN_WHOLE = "competitor: plain FTS5", "competitor: plain FTS5 and the encoder, one loop"
_STEP_S = 600.0
_MOST_WINDOWS = 16
_TURNS_A_COMMIT = 256
_TABLES = """
CREATE TABLE turns(id INTEGER PRIMARY KEY, speaker TEXT NOT NULL, text TEXT NOT NULL, vectors BLOB);
CREATE VIRTUAL TABLE words USING fts5(speaker, text, content='', tokenize='porter unicode61 remove_diacritics 2');
"""

Line = dict[str, Any]


def run(*, data: Path, memories: int = 100_000, rounds: int = 3, seed: int = 0) -> Iterator[Row]:
    """Capture LoCoMo's turns into an empty mind and into one of so many memories, by turns with what bounds that.

    Raises:
        ValueError: it is none of LoCoMo's, or not all of it was kept.
        KeyError: it is none of LoCoMo's.
        ModelError: the model cannot be used.
    """
    lines = list(convert(data))
    if not lines:
        raise ValueError(f"{data} has no turns")
    encoder = load_encoder()
    taken: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="mnemic-ingest-") as folder:
        large = Path(folder) / "large"
        _fill(large, memories, seed, encoder)
        for number in range(rounds):
            place = Path(folder) / f"round-{number}"
            place.mkdir()
            fill_home(place / "empty", 0, seed=seed, encoder=encoder, settings=IDLE_SETTINGS)
            for home, before in ((place / "empty", 0), (large, memories)):
                for what, options in ((_WHOLE, ()), (_WORDS, ("--no-meaning",))):
                    corpus = place / f"{before}-{what}.jsonl"
                    _write(corpus, lines, f"{number}-{what}")
                    taken[what, before].append(_capture(home, corpus, options, len(lines)))
                    if options:  # what waits for its meaning is no part of the next round
                        run_mnemic(home, "capture", corpus)
            taken[_ENCODER, 0].append(_timed(_embed, encoder, lines))
            for what, by in ((_PLAIN, None), (_PLAIN_WHOLE, encoder)):
                taken[what, 0].append(_timed(_insert, place / f"{what}.db", lines, by))
    yield from _rows(taken, len(lines))


def _rows(taken: dict[tuple[str, int], list[tuple[float, float]]], turns: int) -> Iterator[Row]:
    rates = {name: turns / float(np.median([wall for wall, _ in each])) for name, each in taken.items()}
    for (what, before), each in taken.items():
        row: Row = {"what": what, "mind": before, "turns": turns, "turns_per_s": rates[what, before]}
        row["cpu_ms_a_turn"] = 1e3 * float(np.median([cpu for _, cpu in each])) / turns
        if before:
            row["of_empty"] = rates[what, before] / rates[what, 0]
        if what == _WHOLE:
            row["of_encoder"] = rates[what, before] / rates[_ENCODER, 0]
            row["of_competitor"] = rates[what, before] / rates[_PLAIN_WHOLE, 0]
            row |= {"goal_turns_per_s": GOAL_TURNS_PER_S, "met": rates[what, before] >= GOAL_TURNS_PER_S}
        yield row | {"rounds": len(each)}


# --- mnemic ----------------------------------------------------------------------------------------------------------


def _fill(home: Path, memories: int, seed: int, encoder: Encoder) -> None:
    fill_home(home, memories, seed=seed, encoder=encoder)
    with actors_of(home) as actors:  # all that a mind does with what it has; else it goes on beside what is timed
        bind_all(actors)
        while actors.ask(UpdateFacts(), _STEP_S).pending:
            pass
        progress = actors.ask(UpdateCommunities(mark="asked"), _STEP_S)
        while progress.pending:
            progress = actors.ask(UpdateCommunities(), _STEP_S)


def _write(to: Path, lines: Sequence[Line], tag: str) -> None:
    """The same conversations under other names, so that they are new."""
    renamed = (line | {name: f"{line[name]} {tag}" for name in ("session", "id")} for line in lines)
    to.write_text("".join(json.dumps(line) + "\n" for line in renamed), "utf-8")


def _capture(home: Path, corpus: Path, options: Sequence[str], turns: int) -> tuple[float, float]:
    """Seconds by the command's own clock, which starts before it opens the mind; and of the processors, all in all.

    Raises:
        ValueError: not all of it was kept, found by its meaning, and bound, as far as that was asked for.
    """
    before = os.times()
    report = run_mnemic(home, "capture", corpus, *options)[0]
    after = os.times()
    left = 0 if options else report["pending"] + report["unbound"]
    if report["new"] != turns or left:
        raise ValueError(f"{report['new']} of {turns} turns were kept, and {left} wait for meaning or shape")
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return float(report["took_s"]), busy


# --- beside it -------------------------------------------------------------------------------------------------------


def _timed(act: Callable[..., Any], *given: Any) -> tuple[float, float]:
    """Seconds that passed, and those of the processors."""
    began, busy = time.perf_counter(), time.process_time()
    act(*given)
    return time.perf_counter() - began, time.process_time() - busy


def _embed(encoder: Encoder, lines: Sequence[Line]) -> list[bytes]:
    """The vectors of each turn, as many windows at once as `Encoder.bulk_tokens` says."""
    windows = [encoder.windows(f"{line['speaker']}: {line['text']}", _MOST_WINDOWS)[0] for line in lines]
    vectors = [encoder.encode(step) for step in _steps([one for each in windows for one in each], encoder.bulk_tokens)]
    rows = iter(np.concatenate(vectors))
    return [b"".join(next(rows).tobytes() for _ in each) for each in windows]


def _steps(windows: Sequence[Window], most: int) -> Iterator[list[Window]]:
    step: list[Window] = []
    for window in windows:
        if step and sum(len(one.token_ids) for one in step) + len(window.token_ids) > most:
            yield step
            step = []
        step.append(window)
    yield step


def _insert(path: Path, lines: Sequence[Line], encoder: Encoder | None) -> None:
    """What anybody would write first: a table and its full-text index, a transaction for as many turns as ours."""
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        db.execute(_TABLES)
        for start in range(0, len(lines), _TURNS_A_COMMIT):
            part = lines[start : start + _TURNS_A_COMMIT]
            vectors = [None] * len(part) if encoder is None else _embed(encoder, part)
            with db:
                for row, (line, vector) in enumerate(zip(part, vectors, strict=True), start):
                    said = (row, line["speaker"], line["text"])
                    db.execute("INSERT INTO turns(id, speaker, text, vectors) VALUES(?, ?, ?, ?)", (*said, vector))
                    db.execute("INSERT INTO words(rowid, speaker, text) VALUES(?, ?, ?)", said)
