"""What an attack left of a home: what its memory holds, whether it works on, and what the doctor finds.

A flaw is told apart by its kind, and the row of an attack counts each. Above stand the attacks, which
`mnemic.bench.faults.faults_bench` runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Literal, TypeVar, get_args

import msgspec

from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.bench.harness.homes import BENCH_SCOPE, MIND_NAME, actors_of
from mnemic.bench.harness.measure import Row, verdict
from mnemic.bench.harness.processes import COMMAND
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor.checks import Target
from mnemic.runtime.doctor.doctor import examine
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

FlawKind = Literal["lost", "doubled", "crashed", "silent", "damaged"]
"""Kinds of flaws: acknowledged and gone; there more often than kept; a traceback, a signal, no answer or an unexplained
exit; wrong and named by nobody; found wrong by the doctor after what should have left nothing wrong."""
TIMEOUT_S = 180.0
"""A command that takes longer hangs."""
_PROBE = "the probe after the fault"
_EXAMPLES = 3
_MOST_DRAINS = 20
_ERROR_EXITS = range(1, 6)  # docs/cli.md
_CRASHES = ("Traceback (most recent call last)", "panicked at", "Fatal Python error")
_TOLD_CHARS = 300
T = TypeVar("T")
R = TypeVar("R")


class Flaw(msgspec.Struct, frozen=True):
    """One thing that went wrong."""

    kind: FlawKind
    """Which."""
    why: str
    """What was seen."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One attack that was carried out."""

    at: int
    """Its number, which repeats it."""
    flaws: Sequence[Flaw]
    """What it broke."""
    named: bool = False
    """Whether what it did was named: an error's sentence, or something that `status` or the doctor says."""


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of attack, to be carried out often."""

    name: str
    """What it is called: its kind, and what it is aimed at."""
    run: Callable[[int | None], Iterable[Case]]
    """Carries it out, all of it or the case of a number alone."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A command that ended."""

    code: int
    """Its exit status; minus a signal's number where one killed it."""
    out: str
    """What it printed."""
    err: str
    """And on standard error."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What a home holds, and how it is."""

    texts: Counter[str]
    """What its memory holds, each text as often as there is a memory of it."""
    wrong: Mapping[str, str]
    """What the doctor finds wrong, by the name of the check."""
    told: Sequence[str]
    """What a command or `status` says is wrong or lost."""
    refused: bool = False
    """Whether the mind cannot be opened, which an error said; no texts are known then."""
    flaws: Sequence[Flaw] = ()
    """What broke while it was looked at."""


def run_command(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command to its end, out of reach of the user's own home; one that hangs is killed, and says so."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("MNEMIC_HOME", "MNEMIC_OFF")}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # what it starts may hold them open
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=cwd, env={**inherited, **(environment or {})}
        )
        try:
            process.communicate(stdin, TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return Ended(code=process.returncode, out="", err=f"it took longer than {TIMEOUT_S:g} s")
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return Ended(code=process.returncode, out=texts[0], err=texts[1])


def mnemic(home: Path, *arguments: str) -> list[str]:
    """The command line of `mnemic`, with ``--json``."""
    return [*COMMAND, *arguments, "--home", str(home), "--json"]


def crash_of(ended: Ended) -> str | None:
    """What is wrong with how a command ended; ``None`` where it is done, or refused with an error of one sentence."""
    if any(crash in text for crash in _CRASHES for text in (ended.out, ended.err)):
        return f"crashed: {_tail(ended)}"
    if ended.code == 0 or (ended.code in _ERROR_EXITS and error_of(ended) is not None):
        return None
    return f"ended with {ended.code} and no error: {_tail(ended)}"


def error_of(ended: Ended) -> str | None:
    """The sentence by which a command refused, in JSON or for a person; ``None`` where it said none."""
    try:
        said = json.loads(ended.out.splitlines()[-1])
        return f"{said['error']}" if said["error"] and "\n" not in said["error"] else None
    except (ValueError, KeyError, TypeError, IndexError):
        lines = ended.err.splitlines()
        return lines[-1].removeprefix("mnemic: ") if ended.code and lines and lines[-1].startswith("mnemic: ") else None


def audit(home: Path) -> Audit:
    """Use a home again, as its user would, and look at what it holds.

    `mnemic status` finishes what was begun and takes in what hooks kept; then something is kept and recalled, all
    texts are read, and the doctor looks.
    """
    told: list[str] = []
    for _ in range(_MOST_DRAINS):
        ended = run_command(mnemic(home, "status"))
        crash = crash_of(ended)
        if crash is not None:
            return _unusable(f"mnemic status: {crash}", told)
        if ended.code:
            return Audit(texts=Counter(), wrong={}, told=[*told, error_of(ended) or ""], refused=True)
        status = json.loads(ended.out)
        backlog = status["capture"]["backlog"]
        if not backlog["files"] or backlog["unreadable"]:
            break
    told += _said_by_status(status)
    try:
        with actors_of(home) as actors:
            actors.ask(CaptureText(text=_PROBE.encode(), role="user", session="probe", place=BENCH_SCOPE))
            found = actors.ask(Recall(query=_PROBE, k=50, observe=True))
        assert isinstance(found, Recalled)
        texts = memory_texts(home)
        clock = SystemClock()
        checks = examine(Target(home=home, mind=MIND_NAME, clock=clock, open_mind=_nobody, progress=_silent))
    except MnemicError as error:
        return Audit(texts=Counter(), wrong={}, told=[*told, str(error)], refused=True)
    kept = texts.pop(_PROBE, 0)
    works = kept == 1 and any(hit.data == _PROBE.encode() for hit in found.hits)
    flaws = [] if works else [Flaw("crashed", "what is kept next is not found")]
    wrong = {check.name: check.detail for check in checks if check.state == "wrong"}
    return Audit(texts=texts, wrong=wrong, told=told, flaws=flaws)


def memory_texts(home: Path) -> Counter[str]:
    """The text of every memory of a home that nobody serves; what is forgotten is marked so."""
    folder, keys = open_mind(home, MIND_NAME)
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as snapshot:
        rows = [int(row) for row in snapshot.memory_columns(0).row]
        retired = {int(row) for row in snapshot.retired().row}
        texts = [memory.data.decode("utf-8", "surrogatepass") for memory in snapshot.load_memories(rows)]
    return Counter(f"(forgotten) {text}" if row in retired else text for row, text in zip(rows, texts, strict=True))


def compare_texts(found: Counter[str], *, due: Counter[str], allowed: Counter[str]) -> list[Flaw]:
    """What is wrong with texts of which some have to be there, and none that is not allowed, nor more often."""
    flaws = [Flaw("lost", f"{count} of {_short(text)!r}") for text, count in (due - found).items()]
    for text, count in (found - allowed).items():
        kind: FlawKind = "doubled" if allowed[text] else "silent"
        flaws.append(Flaw(kind, f"{count} of {_short(text)!r} too many"))
    return flaws


def attack_row(attack: Attack, at: int | None = None) -> Row:
    """Carry out an attack, and count what it broke."""
    cases = list(attack.run(at))
    counts = Counter(flaw.kind for case in cases for flaw in case.flaws)
    bad = [(case, flaw) for case in cases for flaw in case.flaws]
    again = f"--only {attack.name} --at"
    examples = [f"{again} {case.at}: {flaw.kind}: {flaw.why[:_TOLD_CHARS]}" for case, flaw in bad[:_EXAMPLES]]
    row: Row = {
        "what": attack.name,
        **verdict(flaws="; ".join(examples), tried="" if cases else "no case was carried out"),
        "tried": len(cases),
    }
    row |= {kind: counts[kind] for kind in get_args(FlawKind)}
    row |= {"named": sum(case.named for case in cases)}
    return row | ({"examples": examples} if examples else {})


def in_parallel(act: Callable[[T], R], given: Iterable[T]) -> Iterator[R]:
    """Do something for each, on all cores; what it does are mostly processes."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(act, given)


def _unusable(why: str, told: Sequence[str]) -> Audit:
    return Audit(texts=Counter(), wrong={}, told=told, refused=True, flaws=[Flaw("crashed", why)])


def _said_by_status(status: dict[str, object]) -> list[str]:
    """What `mnemic status` says is wrong, besides that meaning and shape of memories are still to come."""
    degraded = status["degraded"]
    assert isinstance(degraded, list)
    said = [line for line in degraded if not line.startswith(("meaning:", "shape:"))]
    capture = status["capture"]
    assert isinstance(capture, dict)
    said += [f"{capture[name]} {name}" for name in ("torn", "quarantined") if capture[name]]
    losses = capture["losses"]
    return said + [f"{name}: {losses[name]}" for name in ("lost", "foreign", "aside") if losses[name]]


def _nobody() -> AbstractContextManager[Mind]:
    raise ValueError("an audit repairs nothing")


def _silent(what: str, done: int, total: int | None) -> None:
    """Progress that nobody sees."""


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}… ({len(text)} characters)"


def _tail(ended: Ended) -> str:
    lines = (ended.err.strip() or ended.out.strip()).splitlines()
    return lines[-1][:_TOLD_CHARS] if lines else "it said nothing"
