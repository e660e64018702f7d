"""The parts of a whole run: which benches are run at which sizes, and what of their rows is told.

A part is run once for each round. What is deterministic, or is a mean over questions, is measured in the first round
alone; what takes time is measured in each, so that its spread is known. A part that breaks leaves the others alone and
is told as failed; what cannot be measured here is told as skipped, with the reason.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from mnemic.actors.kernel.errors import MnemicError
from mnemic.bench.harness.figures import OURS, Figure, finished
from mnemic.bench.harness.machine import commit, machine, version_there
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.palace import check_installed
from mnemic.bench.quality import communities_bench, sleep_bench
from mnemic.bench.quality.longmemeval import longmemeval_sets
from mnemic.bench.quality.peers import peer_figures
from mnemic.bench.quality.question_sets import QuestionSet, developers_set, locomo_set
from mnemic.bench.speed import ingest_bench, latency_bench
from mnemic.runtime.models.encoders import load_encoder

PartName = Literal["quality", "latency", "ingest", "communities", "sleep"]
PARTS: tuple[PartName, ...] = get_args(PartName)
PEERS = {"MemPalace": "mempalace", "mem0": "mem0ai"}
"""What stands beside Mnemic in an environment of its own: its title, and its package."""
_SET_TURNS = 20_000  # of LongMemEval's in one mind
_COLUMNS = {
    "p50_ms": ("ms, median", "less"),
    "p95_ms": ("ms, 95th percentile", "less"),
    "s": ("s", "less"),
    "took_s": ("s", "less"),
    "mib": ("MiB", "less"),
    "bytes": ("bytes a memory, its text taken off", "less"),
    "tokens": ("tokens of 4 bytes", "less"),
    "turns_per_s": ("turns/s", "more"),
    "nmi": ("normalised mutual information", "more"),
    "mrr": ("MRR", "more"),
    "words": ("share of the next session's words", "more"),
}
"""What is told of a bench's row: the unit of each column, and what is better."""
_COUNTS = ("n", "questions", "sessions", "turns")
_LATENCY = {
    "recall": ("find", OURS),
    "recall, a day named": ("find, a day named", OURS),
    "baseline: the question's vector alone": ("find", "baseline: the question's vector alone"),
    "open": ("open, to the first answer", OURS),
    "resident memory": ("footprint: resident memory", OURS),
    "disk": ("footprint: on disk", OURS),
}
_INGEST = {
    "words, meaning and binding": ("taken in, words, meaning and binding", OURS),
    "competitor: plain FTS5 and the encoder, one loop": (
        "taken in, words, meaning and binding",
        "plain FTS5 and the encoder, one loop",
    ),
    "baseline: the encoder alone": ("taken in, words, meaning and binding", "baseline: the encoder alone"),
    "words": ("taken in, words alone", OURS),
    "competitor: plain FTS5": ("taken in, words alone", "plain FTS5"),
}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole run is given."""

    quick: bool
    """Whether sizes are small."""
    locomo: Path | None = None
    """A file of LoCoMo's."""
    longmemeval: tuple[Path, ...] = ()
    """Files of LongMemEval's."""
    developers: Path | None = None
    """A folder of developers' conversations."""
    questions: int | None = None
    """At most about so many of each set."""
    memories: tuple[int, ...] = ()
    """Sizes of minds whose latency is measured, in place of those of the run."""
    peers: Mapping[str, Path] = {}
    """The interpreter of the environment of each, by its title in `PEERS`."""
    missing: Mapping[str, str] = {}
    """Why others of them are not asked."""
    seed: int = 0
    """Of what is drawn."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of minds whose latency is measured."""
        return self.memories or ((1_000,) if self.quick else (1_000, 10_000, 100_000))


def peers_there(named: Mapping[str, Path | None]) -> tuple[dict[str, Path], dict[str, str], dict[str, str]]:
    """Find out which peers can be asked: their interpreters, why the others cannot, and versions."""
    peers, missing, versions = {}, {}, {}
    for title, package in PEERS.items():
        python = named.get(title)
        try:
            if python is None:
                option = title.lower()
                raise ValueError(f"no environment with it is named: --{option} PYTHON, or MNEMIC_{option.upper()}")
            versions[title] = version_there(python, package)
            if title == "MemPalace":
                check_installed()
        except ValueError as error:
            missing[title] = str(error)
        else:
            peers[title] = python
    return peers, missing, versions


def measure(plan: Plan, parts: Sequence[PartName], rounds: int) -> list[Figure]:
    """Run parts so many times; what is going on is told on standard error."""
    found: list[Figure] = []
    broken: set[PartName] = set()
    for number in range(rounds):
        for part in parts:
            if part in broken:
                continue
            print(f"bench: {part}, {number + 1} of {rounds}", file=sys.stderr)
            try:
                found += _RUN[part](plan, number == 0)
            except Exception as error:  # of a bench that has a flaw, the others' hours are not lost
                broken.add(part)
                if not isinstance(error, OSError | ValueError | MnemicError):
                    traceback.print_exc()
                why = str(error) or type(error).__name__
                found.append(Figure(part=part, what="all", of=OURS, unit="", state="failed", why=why))
    drawn = {"seed": plan.seed}
    given = [msgspec.structs.replace(one, parameters=one.parameters | drawn) for one in found]
    return finished(given, commit(), machine())


# --- the parts -------------------------------------------------------------------------------------------------------


def _quality(plan: Plan, first: bool) -> Iterator[Figure]:
    if not first:
        return
    encoder = load_encoder(None)
    for name, path, sets in _sets(plan):
        if path is None:
            yield _skipped("quality", name, OURS, f"nothing is named: --{name.lower()} PATH")
            continue
        parameters = {"from": path.name, "digest": _digest(path)}
        yield from peer_figures(name, sets(), encoder, plan.peers, plan.missing, part="quality", parameters=parameters)


def _sets(plan: Plan) -> Iterator[tuple[str, Path | None, Callable[[], Iterator[QuestionSet]]]]:
    def one(read: Callable[[Path], QuestionSet], path: Path | None) -> Iterator[QuestionSet]:
        assert path is not None
        of = read(path)
        step = max(1, len(of.questions) // plan.questions) if plan.questions else 1
        yield msgspec.structs.replace(of, questions=of.questions[::step])

    yield "LoCoMo", plan.locomo, lambda: one(locomo_set, plan.locomo)
    yield "Developers", plan.developers, lambda: one(lambda path: developers_set(path, held=False), plan.developers)
    if not plan.longmemeval:
        yield "LongMemEval", None, lambda: iter(())
    for path in plan.longmemeval:
        yield f"LongMemEval {path.stem}", path, partial(longmemeval_sets, path, _SET_TURNS, plan.questions)


def _latency(plan: Plan, first: bool) -> Iterator[Figure]:
    palace, store = plan.peers.get("MemPalace"), plan.peers.get("mem0")
    for row in latency_bench.run(memories=plan.sizes, data=plan.locomo, seed=plan.seed, mempalace=palace, mem0=store):
        what, of = _LATENCY.get(row["what"]) or (row["what"], _plainly(row["of"]))
        texts = plan.locomo.name if plan.locomo else "drawn"
        yield from _figures("latency", f"{what}, {row['memories']:,} memories", of, row, texts=texts)
    for title, why in plan.missing.items():
        yield _skipped("latency", "find", title, why)


def _ingest(plan: Plan, first: bool) -> Iterator[Figure]:
    if plan.locomo is None:
        yield _skipped("ingest", "taken in", OURS, "it takes in LoCoMo's turns, and no file is named: --locomo FILE")
        return
    memories = 500 if plan.quick else 100_000
    for row in ingest_bench.run(data=plan.locomo, memories=memories, rounds=1, seed=plan.seed):
        what, of = _INGEST[row["what"]]
        into = f"a mind of {row['mind']:,}" if row["mind"] else "an empty mind"
        yield from _figures("ingest", f"{what}, {into}", of, row, turns=row["turns"])


def _communities(plan: Plan, first: bool) -> Iterator[Figure]:
    parts: tuple[communities_bench.Part, ...] = ("karate", "cold")
    if first and not plan.quick:
        parts += ("lfr",)
    for row in communities_bench.run(parts=parts, quick=plan.quick, seed=plan.seed):
        if row["what"] == "LFR" and "nmi" in row:
            continue  # each size and mixing is in the mean over all
        of = _plainly(row["of"]).replace("mosaic", OURS)
        what = row["what"] + (f", {row['nodes']:,} nodes and {row['edges']:,} edges" if "edges" in row else "")
        yield from _figures("communities", what, of, row)


def _sleep(plan: Plan, first: bool) -> Iterator[Figure]:
    sets = {} if plan.quick or not first else {"locomo": plan.locomo, "developers": plan.developers}
    sizes = (1_000,) if plan.quick else (1_000, 10_000)
    for row in sleep_bench.run(sizes=sizes, seed=plan.seed, **sets):
        of, data = row.get("of", OURS), row.get("set")
        if row["what"] == "brief":
            ours = OURS if of == "with the night" else of
            yield from _figures("sleep", f"{data}: what a briefing holds", ours, row)
        elif row["what"] == "recall" and data is not None and "mrr" in row:
            yield from _figures("sleep", f"{data}: recall after {row['nights']} nights", of, row)
        elif row["what"] == "cost":
            yield from _figures("sleep", f"{of}, {row['memories']:,} memories", OURS, row)
        elif row["what"] == "recall" and data is None:
            what = f"recall that wakes a night, {row['memories']:,} memories, switching every {row['switch_ms']:g} ms"
            for whose, column in ((OURS, "waking_p95_ms"), ("baseline: the same, awake", "awake_p95_ms")):
                yield from _figures("sleep", what, whose, row | {"p95_ms": row.get(column)})


_RUN: dict[PartName, Callable[[Plan, bool], Iterator[Figure]]] = {
    "quality": _quality,
    "latency": _latency,
    "ingest": _ingest,
    "communities": _communities,
    "sleep": _sleep,
}


def _figures(part: str, what: str, of: str, row: Row, **parameters: Any) -> Iterator[Figure]:
    """One for each column that is told, or why there is none."""
    if row.get("state") == "skipped":
        yield _skipped(part, what, of, row["why"])
        return
    for column, (unit, better) in _COLUMNS.items():
        if column in row:
            about: dict[str, Any] = {"part": part, "what": what, "of": of, "unit": unit, "better": better}
            count = next((int(row[name]) for name in _COUNTS if name in row), 1)
            if f"{column}_low" in row:
                about["interval"] = (row[f"{column}_low"], row[f"{column}_high"])
            yield Figure(values=(float(row[column]),), n=count, parameters=parameters, **about)


def _skipped(part: str, what: str, of: str, why: str) -> Figure:
    return Figure(part=part, what=what, of=of, unit="", state="skipped", why=why)


def _plainly(of: str) -> str:
    return of.removeprefix("competitor: ")


def _digest(path: Path) -> str:
    """Of what a file says, or the JSON files of a folder: two runs that have it in common asked the same."""
    digest = hashlib.sha256()
    for one in sorted(path.glob("*.json")) if path.is_dir() else [path]:
        with one.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
