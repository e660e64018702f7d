"""The quick gate: ratios that tell in two minutes whether a change made something slower, larger or worse.

Recall beside SQLite FTS5, a capture beside the encoder alone, bytes a turn, and the quality of a small set. Times are
of the processor, and of what stands beside it in the same minute, so that another machine or other programs weigh on
both alike. What earlier runs gave is kept in a file of the repository; above stands `mnemic.bench.report.gate_bench`.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from mnemic.actors.recall.messages import Recall
from mnemic.bench.harness.homes import SyntheticCorpus, actors_of, fill_home, store_of
from mnemic.bench.harness.machine import commit, machine
from mnemic.bench.harness.measure import Row, milliseconds
from mnemic.bench.harness.processes import run_mnemic, wait_until
from mnemic.bench.quality.asking import RULES, ask, mean, score
from mnemic.bench.quality.question_sets import developers_set
from mnemic.bench.speed.latency_bench import Fts5
from mnemic.runtime.models.encoders import load_encoder

MEMORIES = 3_000
QUESTIONS, WARM = 80, 20
_MOST_RUNS = 5
_BATCH = 16  # windows that the encoder alone is given at once


class _Kind(NamedTuple):
    unit: str
    better: str
    least_loss: float
    """A share of what was: less is none, however alike the runs are that are kept."""


KINDS = {
    "recall by FTS5": _Kind("processor time, median by median", "less", 0.25),
    "capture by the encoder alone": _Kind("processor time", "less", 0.25),
    "on disk": _Kind("bytes a turn", "less", 0.03),
    "quality": _Kind("MRR", "more", 0.01),
}
"""What is measured."""


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What earlier runs gave."""

    machine: str
    """The machine that they ran on."""
    commit: str
    """The code that they measured."""
    runs: dict[str, tuple[float, ...]]
    """The figure of each run, by its name in `KINDS`."""


def measure(developers: Path) -> dict[str, float]:
    """Measure each of `KINDS` once.

    Args:
        developers: a folder of developers' conversations.

    Raises:
        MnemicError: there is no model, or a home cannot be made.
        ValueError, OSError: the conversations cannot be read, or not captured.
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-gate-") as folder:
        return {"recall by FTS5": _recall_by_fts5(Path(folder) / "drawn"), **_of_capture(developers, Path(folder))}


def read_reference(path: Path) -> Reference:
    """Read what earlier runs gave. Raises ValueError or OSError where there is nothing of the kind."""
    if not path.exists():
        raise ValueError(f"{path} is missing: `python -m mnemic.bench gate --quick --write` writes it")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Reference)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path} is no reference of the quick gate: {error}") from error


def write_reference(path: Path, measured: Mapping[str, float]) -> None:
    """Keep a run beside those of this machine and code, the last five; those of others make room for it."""
    before = read_reference(path) if path.exists() else None
    here = (machine(), commit())
    runs = before.runs if before is not None and (before.machine, before.commit) == here else {}
    kept = {name: (*runs.get(name, ()), round(value, 4))[-_MOST_RUNS:] for name, value in measured.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = msgspec.json.encode(Reference(*here, kept))
    path.write_bytes(msgspec.json.format(whole, indent=1) + b"\n")


def limit(name: str, runs: tuple[float, ...]) -> float:
    """The worst that is no loss: beyond the worst of the runs by as much as they are apart, or by the least loss."""
    kind, apart = KINDS[name], max(runs) - min(runs)
    margin = max(apart, kind.least_loss * float(np.median(runs)))
    return max(runs) + margin if kind.better == "less" else min(runs) - margin


def compare(reference: Reference, measured: Mapping[str, float]) -> list[Row]:
    """A row for each figure: ``ok``, ``failed`` where it is lost, or ``not compared``."""
    rows: list[Row] = []
    for name, value in measured.items():
        kind, runs = KINDS[name], reference.runs.get(name, ())
        row: Row = {"part": "gate", "what": name, "unit": kind.unit, "now": round(value, 4)}
        if not runs:
            rows.append(row | {"state": "not compared", "why": "it was not measured then"})
            continue
        worst, sign = limit(name, runs), 1 if kind.better == "less" else -1
        row |= {"then": float(np.median(runs)), "limit": round(worst, 4), "runs": len(runs)}
        rows.append(row | {"state": "failed" if sign * (value - worst) > 0 else "ok"})
    return rows


def run(developers: Path, path: Path, *, write: bool) -> Iterator[Row]:
    """Compare a run with those that are kept, once more where something seems lost; or keep it.

    Raises:
        MnemicError, ValueError, OSError: as `measure` and `read_reference`.
    """
    if write:
        measured = measure(developers)
        write_reference(path, measured)
        for name, value in measured.items():
            yield {"part": "gate", "what": name, "unit": KINDS[name].unit, "now": round(value, 4)}
        return
    reference = read_reference(path)
    rows = compare(reference, measure(developers))
    if any(row["state"] == "failed" for row in rows):
        again = {row["what"]: row for row in compare(reference, measure(developers))}
        rows = [again[row["what"]] if row["state"] == "failed" else row for row in rows]
    yield {"part": "gate", "what": "reference", "machine": reference.machine, "commit": reference.commit}
    yield from rows


def _recall_by_fts5(home: Path) -> float:
    """Ask both the same questions by turns."""
    texts = fill_home(home, MEMORIES, seed=0, encoder=load_encoder(None))
    questions = SyntheticCorpus(0).questions(texts, QUESTIONS)
    ours, other = list[float](), list[float]()
    with actors_of(home) as actors, closing(Fts5(texts)) as fts5:
        for question in questions:
            asked = Recall(query=question)
            ours.append(milliseconds(actors.ask, asked, clock=time.process_time))
            wait_until(lambda: not actors.is_busy(), "to keep what was asked")
            other.append(milliseconds(fts5.find, question, clock=time.process_time))
    return float(np.median(ours[WARM:]) / np.median(other[WARM:]))


def _of_capture(developers: Path, folder: Path) -> dict[str, float]:
    """Capture conversations by the command, embed the same texts beside it, and ask what they answer."""
    of, home, corpus = developers_set(developers, False), folder / "home", folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(turn) + "\n" for turn in of.turns), "utf-8")
    began = _of_children_s()
    run_mnemic(home, "capture", corpus)
    captured_s = _of_children_s() - began
    encoder = load_encoder(None)
    windows = [window for turn in of.turns for window in encoder.windows(str(turn["text"]), 16)[0]]
    batches = [windows[at : at + _BATCH] for at in range(0, len(windows), _BATCH)]
    alone_s = sum(milliseconds(encoder.encode, one, clock=time.process_time) for one in batches) / 1e3
    with store_of(home) as connection:
        connection.wal_checkpoint()
        pages = int(connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").get)
    with actors_of(home) as actors:
        scores = [score(ask(actors, one.question, one.scope, RULES["fused"]).hits, one) for one in of.questions]
    return {
        "capture by the encoder alone": captured_s / alone_s,
        "on disk": pages / len(of.turns),
        "quality": mean(scores)["mrr"],
    }


def _of_children_s() -> float:
    """Processor time of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
