"""Faults at the calls by which commands change files: kills, torn writes, errors of the disk, a full disk.

A command is run once to count its calls, and then once for every so many-th of them with a fault there. Afterwards,
with no fault, what it acknowledged has to be there once, word for word, and what it did not acknowledge wholly or not
at all; the doctor finds nothing wrong that it did not find before, and a command that failed said so in a sentence.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mnemic.bench.faults.audit import (
    Attack,
    Audit,
    Case,
    Ended,
    Flaw,
    audit,
    compare_texts,
    crash_of,
    error_of,
    in_parallel,
    run_command,
)
from mnemic.bench.faults.scenarios import Base, Scenario, Texts, scenarios, state_of
from mnemic.bench.faults.shim import FAULTS, Shim, read_record
from mnemic.bench.harness.homes import MIND_NAME
from mnemic.runtime.minds.homes import mind_folder
from mnemic.runtime.spool.files import read_losses

LEAST_CASES = 4
"""So many cases at least, of a command that makes as many calls."""
_KILLED = -9


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a command finds, and leaves behind where nothing goes wrong."""

    calls: int
    """How many calls change files."""
    before: Counter[str]
    """What the memory holds before."""
    after: Counter[str]
    """And after."""
    made_before: Texts
    """What stands where the command makes a file or folder, before."""
    made_after: Texts
    """And after."""
    wrong: frozenset[str]
    """What the doctor finds wrong all the same."""


class AttackedCommand:
    """A scenario, prepared once: each case works on a copy."""

    def __init__(self, scenario: Scenario, shim: Shim, work: Path, base: Path) -> None:
        """Prepare a scenario and run it without a fault.

        Args:
            work: an empty folder for it.
            base: a folder with the home that it begins with.

        Raises:
            ValueError: it does not succeed though there is no fault.
        """
        self._scenario = scenario
        self._shim = shim
        self._work = work
        self._template = Path(shutil.copytree(base, work / "template", symlinks=True))
        scenario.prepare(self._template)
        self.expected = self._count()

    def places(self, every: int, fault: str) -> list[int]:
        """The numbers of the calls that a fault is injected at; other ones for each fault."""
        step = min(every, max(1, self.expected.calls // LEAST_CASES))
        first = 1 + list(FAULTS).index(fault) * step // len(FAULTS)
        return list(range(first, self.expected.calls + 1, step))

    def attack(self, fault: str, at: int) -> Case | None:
        """One case; ``None`` where the command made no call of that number, or none that the fault can hit."""
        with self._copy() as folder:
            ended, hit = self._run(folder, fault, at)
            if hit is None:
                return None
            acknowledged = self._acknowledged(ended, folder)
            flaws = self._flaws_of_end(ended, fault)
            found = self._audit(folder)
            expected = self.expected
            flaws += found.flaws
            if found.refused:
                flaws.append(Flaw("lost", f"the mind cannot be opened: {'; '.join(found.told)}"))
            else:
                flaws += _before_or_after(found.texts, expected.before, expected.after, acknowledged)
                wrong = {name: why for name, why in found.wrong.items() if name not in expected.wrong}
                flaws += [Flaw("damaged", f"{name}: {why}") for name, why in wrong.items()]
            try:
                made = state_of(self._scenario, folder)
                flaws += _before_or_after(made, expected.made_before, expected.made_after, acknowledged)
            except ValueError as error:
                flaws.append(Flaw("silent", str(error)))
            flaws = [Flaw(flaw.kind, f"{fault} at {hit}: {flaw.why}") for flaw in flaws]
            return Case(at=at, flaws=flaws, named=error_of(ended) is not None)

    def _count(self) -> Expected:
        with self._copy() as folder:
            before, made_before = self._audit(folder), state_of(self._scenario, folder)
        with self._copy() as folder:
            record = folder.with_suffix(".record")
            ended = self._start(folder, self._shim.environment(record, folder))
            if not self._acknowledged(ended, folder):
                raise ValueError(f"{self._scenario.name} failed without a fault: {ended.out}{ended.err}")
            calls = read_record(record).calls
            after, made_after = self._audit(folder), state_of(self._scenario, folder)
        for seen in (before, after):
            if seen.refused or seen.flaws:
                raise ValueError(f"{self._scenario.name}: its home does not work without a fault: {seen.told}")
        return Expected(
            calls=calls,
            before=before.texts,
            after=after.texts,
            made_before=made_before,
            made_after=made_after,
            wrong=frozenset((*before.wrong, *after.wrong, *self._scenario.leaves)),
        )

    def _run(self, folder: Path, fault: str, at: int) -> tuple[Ended, str | None]:
        record = folder.with_suffix(".record")
        ended = self._start(folder, self._shim.environment(record, folder, fault, at))
        hit = read_record(record).hit
        record.unlink()
        return ended, hit

    def _start(self, folder: Path, environment: dict[str, str]) -> Ended:
        command = self._scenario.command(folder)
        return run_command(command, stdin=self._scenario.stdin, environment=environment, cwd=self._work)

    def _acknowledged(self, ended: Ended, folder: Path) -> bool:
        """Whether a command said that it is done; a hook did where it ended by itself and counted no loss."""
        if ended.code or not self._scenario.hook:
            return ended.code == 0
        return read_losses(mind_folder(folder / "home", MIND_NAME).spool).lost == 0

    def _flaws_of_end(self, ended: Ended, fault: str) -> list[Flaw]:
        if fault in ("kill", "torn") and ended.code == _KILLED:
            return []
        crash = crash_of(ended)
        if self._scenario.hook and (ended.code or ended.out or ended.err):
            crash = crash or f"a hook ended with {ended.code} and said {(ended.err or ended.out)!r}"
        return [] if crash is None else [Flaw("crashed", crash)]

    def _audit(self, folder: Path) -> Audit:
        if self._scenario.again:
            crash = crash_of(run_command(self._scenario.command(folder)))
            if crash is not None:
                return Audit(texts=Counter(), wrong={}, told=[], refused=True, flaws=[Flaw("crashed", crash)])
        return audit(folder / "home")

    @contextmanager
    def _copy(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._work) as folder:
            yield Path(shutil.copytree(self._template, Path(folder) / "case", symlinks=True))


def _before_or_after(found: Texts, before: Texts, after: Texts, acknowledged: bool) -> list[Flaw]:
    """What is wrong with what has to be as after a command, or, where that acknowledged nothing, as before it."""
    if found == after or (not acknowledged and found == before):
        return []
    has, was, becomes = found or Counter(), before or Counter(), after or Counter()
    flaws = compare_texts(has, due=becomes if acknowledged else becomes & was, allowed=becomes | was)
    return flaws or [Flaw("silent", "it is neither as before nor as after")]


def attacks(shim: Shim, base: Base, work: Path, every: int) -> Iterator[Attack]:
    """Every fault on every command.

    Args:
        base: makes the home.
        work: an empty folder.
        every: a fault at every so many-th call, and at `LEAST_CASES` calls at least.
    """
    ready: dict[str, AttackedCommand] = {}

    def prepared(scenario: Scenario) -> AttackedCommand:
        if scenario.name not in ready:
            (work / scenario.name).mkdir()
            ready[scenario.name] = AttackedCommand(scenario, shim, work / scenario.name, base())
        return ready[scenario.name]

    def runner(scenario: Scenario, fault: str) -> Callable[[int | None], Iterator[Case]]:
        def run(at: int | None) -> Iterator[Case]:
            command = prepared(scenario)
            places = command.places(every, fault) if at is None else [at]
            for case in in_parallel(lambda place: command.attack(fault, place), places):
                if case is not None:
                    yield case

        return run

    for scenario in scenarios():
        for fault in FAULTS:
            yield Attack(name=f"{fault}/{scenario.name}", run=runner(scenario, fault))
