"""Doctor: checks that can fail, each with what to do about it, and the repairs that are safe."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import msgspec

from mnemic.actors.errors import KeyMismatch, KeyMissing, MnemicError, ModelError
from mnemic.actors.ports import Encoder
from mnemic.algorithms.scan import NATIVE, backend
from mnemic.runtime.homes import MindFolder, open_mind
from mnemic.runtime.keys import Keys
from mnemic.runtime.schema import MIGRATIONS, check_schema, connect, translated

__all__ = ["Check", "accelerator", "examine", "repair_permissions"]

_LOW_DISK_BYTES = 200 << 20


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    """What."""
    state: str
    """``ok``, ``advice`` (it works, and could work better) or ``wrong``."""
    detail: str
    """What was seen."""
    remedy: str = ""
    """What to do."""
    repairable: bool = False
    """Whether ``--repair`` mends it."""


def examine(home: Path, mind: str, load_encoder: Callable[[], Encoder]) -> list[Check]:
    """Look at everything; no check hides another, and nothing is changed."""
    checks: list[Check] = []
    try:
        folder, keys = open_mind(home, mind)
    except MnemicError as error:
        name = "key" if isinstance(error, KeyMissing | KeyMismatch) else "mind"
        return [_wrong(name, error), *_surroundings(home, load_encoder)]
    checks.append(Check("key", "ok", "it is this mind's"))
    checks += _permissions(folder)
    checks += _store(folder, keys)
    return [*checks, *_surroundings(home, load_encoder)]


def accelerator(devices: Path = Path("/dev")) -> str | None:
    """A device on which torch would pay, if one is seen."""
    if any(devices.glob("nvidia[0-9]*")):
        return "an NVIDIA GPU"
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return "Apple silicon"
    return None


def _surroundings(home: Path, load_encoder: Callable[[], Encoder]) -> Iterator[Check]:
    try:
        encoder = load_encoder()
        yield Check("model", "ok", f"{encoder.implementation}, weights {encoder.model[:12]}")
    except ModelError as error:
        yield _wrong("model", error)
    if NATIVE:
        yield Check("native", "ok", backend())
    else:
        yield Check("native", "advice", "not built: NumPy scans", "Install cargo and then Mnemic again.")
    seen = accelerator()
    if seen and importlib.util.find_spec("torch") is None:
        yield Check("device", "advice", f"{seen} is there, torch is not", "pip install 'mnemic[torch]'")
    existing = next(place for place in (home, *home.absolute().parents) if place.exists())
    free = shutil.disk_usage(existing).free
    low = free < _LOW_DISK_BYTES
    yield Check("disk", "wrong" if low else "ok", f"{free / 1e9:.1f} GB free", "Free some space." if low else "")


def _permissions(folder: MindFolder) -> Iterator[Check]:
    for path, mode in _modes(folder):
        if mode & 0o077:
            yield Check(
                "permissions", "wrong", f"{path} has mode {mode:04o}", "--repair takes the others' rights away.", True
            )
            return
    yield Check("permissions", "ok", "only you can read the mind's files")


def repair_permissions(folder: MindFolder) -> None:
    """Take from others what they may do with the mind's files."""
    for path, mode in _modes(folder):
        if mode & 0o077:
            path.chmod(mode & 0o700)


def _modes(folder: MindFolder) -> Iterator[tuple[Path, int]]:
    for path in (folder.path, *sorted(folder.path.iterdir())):
        with suppress(FileNotFoundError):  # SQLite removes a store's companions when the last one closes it
            yield path, stat.S_IMODE(path.stat().st_mode)


def _store(folder: MindFolder, keys: Keys) -> Iterator[Check]:
    try:
        with translated(folder.store), closing(connect(folder.store, keys)) as connection:
            schema = check_schema(connection, folder.store)
            if schema < len(MIGRATIONS):
                advice = "The next command that opens the mind does it, after a copy."
                yield Check("store", "advice", f"schema {schema} is to become {len(MIGRATIONS)}", advice)
                return
            verdict = [str(row) for (row,) in connection.execute("PRAGMA quick_check(20)")]
            words = [row for row in verdict if "fts5" in row.lower()]
            pages = [row for row in verdict if row not in words and row != "ok"]
            if pages:
                remedy = "Put back a copy of the mind's folder."
                yield Check("store", "wrong", "; ".join(pages).replace("\n", " ")[:300], remedy)
                return
            yield Check("store", "ok", "every page is whole")
            yield _words(connection, words)
            yield _meaning(connection)
    except MnemicError as error:
        yield _wrong("store", error)


def _words(connection: apsw.Connection, found: list[str]) -> Check:
    """Whether the index has as many words of each memory as were counted when it was kept, and nothing else."""
    remedy = "--repair makes the index again from the log."
    if found:
        return Check("words", "wrong", f"the word index is damaged ({found[0]})", remedy, True)
    kept = dict(connection.execute("SELECT id, words FROM memories"))
    indexed = {row for (row,) in connection.execute("SELECT id FROM words_docsize")}
    counted = dict(connection.execute("SELECT doc, count(*) FROM word_instances GROUP BY doc"))
    differing = sum(row not in indexed or words != counted.get(row, 0) for row, words in kept.items())
    differing += len((indexed | counted.keys()) - kept.keys())
    if differing:
        return Check("words", "wrong", f"{differing} memories are not in the word index as they are", remedy, True)
    return Check("words", "ok", "every memory is in the word index")


def _meaning(connection: apsw.Connection) -> Check:
    waiting = int(
        connection.execute(
            "SELECT count(*) FROM memories WHERE id NOT IN"
            " (SELECT memory FROM meanings WHERE encoder = (SELECT max(id) FROM encoders))"
        ).get
    )
    if waiting:
        remedy = "The next `mnemic capture` finishes it, or an assistant's session does."
        return Check("meaning", "advice", f"{waiting} memories wait to be embedded", remedy)
    return Check("meaning", "ok", "every memory is embedded")


def _wrong(name: str, error: MnemicError) -> Check:
    return Check(name, "wrong", str(error), error.remedy_text)
