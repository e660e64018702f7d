"""One flipped bit in every kind of file of a home, and in a backup and an export.

Each is harmless, which means that everything reads word for word, or it is named: by an error's sentence, by `status`,
or by the doctor. Never is there a wrong answer that nobody mentions, nor a traceback. What was refused for a flipped
bit is whole once the bit is put back.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from mnemic.actors.capture.messages import CaptureText
from mnemic.bench.faults.audit import (
    Attack,
    Audit,
    Case,
    Flaw,
    audit,
    crash_of,
    error_of,
    in_parallel,
    memory_texts,
    mnemic,
    run_command,
)
from mnemic.bench.faults.scenarios import SPOOLED, TEXTS, Base, copy_key, fill_spool
from mnemic.bench.harness.homes import BENCH_SCOPE, MIND_NAME, actors_of
from mnemic.bench.harness.processes import run_mnemic

COMMITTED = ("The write-ahead log holds this.", "And this.")
"""What is committed, and stands in the write-ahead log alone."""
_ALL = Counter((*TEXTS, *SPOOLED, *COMMITTED))
_MIND = f"minds/{MIND_NAME}"
HOME_FILES = (
    *(f"{_MIND}/store.db", f"{_MIND}/store.db-wal", f"{_MIND}/store.db-shm", f"{_MIND}/store.db-mark"),
    *(f"{_MIND}/key", f"{_MIND}/mind.json", f"{_MIND}/mind.json.copy", f"{_MIND}/pauses"),
    *(f"{_MIND}/spool.json", f"{_MIND}/spool/losses", f"{_MIND}/spool/*.spool", "mnemic.toml", "mnemic.log"),
)
"""Files of a home by their names, each a kind of its own."""


class Template:
    """A home with memories in the store, in its write-ahead log and in the spool; a backup and an export of it."""

    def __init__(self, base: Base, work: Path) -> None:
        """Name the folder; `make` fills it."""
        self._base = base
        self._work = work
        self.path = work / "template"
        self._usual: frozenset[str] | None = None

    def usual(self) -> frozenset[str]:
        """What is said of a home without any flipped bit.

        Raises:
            ValueError: not everything in it can be read.
        """
        if self._usual is None:
            with self.copy() as folder:
                found = audit(folder / "home")
            if found.refused or found.flaws or found.texts != _ALL:
                raise ValueError(f"a home that nobody attacked does not hold what it should: {found.told}")
            self._usual = _said(found)
        return self._usual

    def make(self) -> Path:
        """Make it, once; returns the folder.

        Raises:
            ValueError: it cannot be made.
        """
        if not self.path.exists():
            source = Path(shutil.copytree(self._base(), self._work / "source"))
            copy_key(source)
            home = source / "home"
            run_mnemic(home, "pause")
            run_mnemic(home, "resume")
            run_mnemic(home, "backup", source / "backup.mnemic")
            run_mnemic(home, "export", source / "export")
            fill_spool(source)
            with actors_of(home) as actors:  # as a kill leaves it: not closed, and so not checkpointed
                for text in COMMITTED:
                    actors.ask(CaptureText(text=text.encode(), role="user", session="flips", place=BENCH_SCOPE))
                shutil.copytree(source, self.path)
        return self.path

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """A copy of it, for one case."""
        folder = self.make()
        with tempfile.TemporaryDirectory(dir=self._work) as beside:
            yield Path(shutil.copytree(folder, Path(beside) / "case"))


def flip(path: Path, bit: int) -> None:
    """Turn one bit of a file over; they are counted from 1, in a byte from its lowest."""
    place, within = divmod(bit - 1, 8)
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes((byte ^ 1 << within,)))


def attacks(base: Base, work: Path, flips: int, seed: int) -> Iterator[Attack]:
    """A bit of each kind of file, so many times.

    Args:
        base: makes the home.
        work: an empty folder.
        flips: how many bits of each, drawn.
    """
    template = Template(base, work)

    def look_at_home(folder: Path, path: Path, bit: int) -> Case:
        return _look_at_home(folder, path, bit, template.usual())

    def runner(
        pattern: str, look: Callable[[Path, Path, int], Case], *, opened: bool = False
    ) -> Callable[[int | None], Iterator[Case]]:
        def run(at: int | None) -> Iterator[Case]:
            template.usual()
            size_bits = 8 * _file(template.make(), pattern).stat().st_size
            if at is not None and at > size_bits:
                raise ValueError(f"{pattern} has {size_bits} bits, and none of the number {at}")
            drawn = random.Random(f"{seed} {pattern}").sample(range(1, size_bits + 1), min(flips, size_bits))
            yield from in_parallel(one, drawn if at is None else [at])

        def one(bit: int) -> Case:
            with template.copy() as folder:
                path = _file(folder, pattern)
                with actors_of(folder / "home") if opened else nullcontext():
                    flip(path, bit)
                return look(folder, path, bit)

        return run

    for pattern in HOME_FILES:
        name = pattern.removeprefix(f"{_MIND}/").removeprefix("spool/").replace("*.spool", "spool")
        yield Attack(name=f"flip/{name}", run=runner(f"home/{pattern}", look_at_home))
    log = f"home/{_MIND}/store.db-wal"
    yield Attack(name="flip/open/store.db-wal", run=runner(log, look_at_home, opened=True))
    yield Attack(name="flip/backup", run=runner("backup.mnemic", _look_at_backup))
    for name in ("manifest.json", "memories*.jsonl"):
        yield Attack(name=f"flip/export/{name.replace('*', '')}", run=runner(f"export/{name}", _look_at_export))


def _file(folder: Path, pattern: str) -> Path:
    """The file of a kind; of several the first."""
    found = sorted(folder.glob(pattern))
    if not found:
        raise ValueError(f"a home has no {pattern} any more: the bench has to be told what took its place")
    return found[0]


def _said(found: Audit) -> frozenset[str]:
    return frozenset((*found.told, *found.wrong))


def _look_at_home(folder: Path, path: Path, bit: int, usual: frozenset[str]) -> Case:
    found = audit(folder / "home")
    flaws, named = list(found.flaws), bool(_said(found) - usual)
    if found.refused and not flaws:
        flip(path, bit)
        mended = audit(folder / "home")
        if mended.refused or mended.texts != _ALL:
            flaws.append(Flaw("lost", f"with the bit put back: {mended.told or 'not all is there'}"))
    elif found.texts != _ALL and not named:
        flaws.append(Flaw("silent", _difference(found.texts)))
    elif found.texts - _ALL:
        flaws.append(Flaw("silent", f"never said, whatever is named: {_difference(found.texts)}"))
    return Case(at=bit, flaws=flaws, named=named)


def _look_at_backup(folder: Path, path: Path, bit: int) -> Case:
    return _take_in(folder, bit, "restore", str(path), "--key-file", str(folder / "key"))


def _look_at_export(folder: Path, path: Path, bit: int) -> Case:
    return _take_in(folder, bit, "import", str(path.parent), "--no-meaning")


def _take_in(folder: Path, bit: int, *command: str) -> Case:
    """Make a mind of a file in another home: whole, or not at all."""
    beside = folder / "beside"
    ended = run_command(mnemic(beside, *command))
    crash = crash_of(ended)
    if crash is not None:
        return Case(at=bit, flaws=[Flaw("crashed", crash)])
    if ended.code == 0 and memory_texts(beside) != Counter(TEXTS):
        return Case(at=bit, flaws=[Flaw("silent", _difference(memory_texts(beside)))])
    return Case(at=bit, flaws=[], named=error_of(ended) is not None)


def _difference(found: Counter[str]) -> str:
    missing, more = sum((_ALL - found).values()), sum((found - _ALL).values())
    return f"{missing} of {sum(_ALL.values())} texts are not there word for word, and {more} were never said"
