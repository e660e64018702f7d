"""Commands and hooks that work on one home at the same moment: with a process that serves it, and without.

Each says that it is done, or refuses with an error; what was acknowledged is there once, and what two said at once, in
the same conversation, is one memory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import msgspec

from mnemic.bench.faults.audit import Attack, Case, Flaw, audit, compare_texts, crash_of, mnemic, run_command
from mnemic.bench.faults.scenarios import TEXTS, Base, hook_command, hook_event
from mnemic.bench.harness.homes import MIND_NAME
from mnemic.bench.harness.processes import served
from mnemic.runtime.minds.homes import mind_folder
from mnemic.runtime.spool.files import read_losses

_TOGETHER = "Two commands say this at once."


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One of the commands of a round."""

    command: Sequence[str]
    """Its command line."""
    text: str | None = None
    """What it keeps, if it keeps anything."""
    stdin: bytes = b""
    """What it is given."""
    looks: bool = False
    """Whether it is the doctor, whose exit status tells what it found."""


def attacks(base: Base, work: Path, rounds: int) -> Iterator[Attack]:
    """Rounds of commands, all at once, on a home that is served or not.

    Args:
        base: makes the home.
        work: an empty folder.
    """

    def runner(serve: bool) -> Callable[[int | None], Iterator[Case]]:
        def run(at: int | None) -> Iterator[Case]:
            for number in range(1, rounds + 1) if at is None else [at]:
                yield from _round(base(), work, number, serve)

        return run

    yield Attack(name="parallel/alone", run=runner(serve=False))
    yield Attack(name="parallel/served", run=runner(serve=True))


def _round(base: Path, work: Path, number: int, serve: bool) -> Iterator[Case]:
    """Run all at once; yields a case for each command, the flaws of the home with the last."""
    with tempfile.TemporaryDirectory(dir=work) as beside, ExitStack() as stack:
        folder = Path(shutil.copytree(base, Path(beside) / "case"))
        home = folder / "home"
        if serve:
            stack.enter_context(served(home, "embedded"))
        runs = list(_runs(folder, number))
        with ThreadPoolExecutor(len(runs)) as pool:
            ended = list(pool.map(lambda run: run_command(run.command, stdin=run.stdin), runs))
        lost = read_losses(mind_folder(home, MIND_NAME).spool).lost
        stack.close()  # whoever serves it leaves
        found = audit(home)
    flaws = list(found.flaws)
    kept = {run.text for run, end in zip(runs, ended, strict=True) if run.text and end.code == 0}
    if found.refused:
        flaws.append(Flaw("lost", f"the mind cannot be opened: {'; '.join(found.told)}"))
    elif lost:
        flaws.append(Flaw("lost", f"hooks counted {lost} events that they could not keep"))
    else:
        said = {run.text for run in runs if run.text}
        flaws += compare_texts(found.texts, due=Counter({*TEXTS, *kept}), allowed=Counter({*TEXTS, *said}))
    for place, (run, end) in enumerate(zip(runs, ended, strict=True), 1):
        crash = None if run.looks and '"checks"' in end.out else crash_of(end)
        broken = [] if crash is None else [Flaw("crashed", f"{' '.join(run.command[2:5])}: {crash}")]
        yield Case(at=number, flaws=[*broken, *(flaws if place == len(runs) else [])], named=end.code != 0)


def _runs(folder: Path, number: int) -> Iterator[Run]:
    """The commands of a round: two say the same, some keep, hooks of one session and of two, and others read."""
    home = folder / "home"
    for text in (_TOGETHER, _TOGETHER, *(f"Command {place} of round {number}." for place in range(3))):
        yield Run(command=mnemic(home, "remember", text, "--scope", "bench"), text=text)
    for place in range(4):
        text = f"Hook {place} of round {number}."
        event = hook_event(f"session-{place % 2}", text, folder)
        yield Run(command=hook_command(folder), text=text, stdin=event)
    for words in ("recall", "kiln"), ("log",), ("status",):
        yield Run(command=mnemic(home, *words))
    yield Run(command=mnemic(home, "doctor"), looks=True)
