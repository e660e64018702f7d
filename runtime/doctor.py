"""Doctor: checks that can fail, each with what to do about it, and the repairs that are safe."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import msgspec

from mnemic.actors.errors import MnemicError, ModelError
from mnemic.actors.ports import Encoder
from mnemic.algorithms.scan import NATIVE, backend
from mnemic.runtime.homes import MindFolder, open_mind
from mnemic.runtime.keys import Keys
from mnemic.runtime.schema import connect, migrate, translated

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
        return [_wrong("key", error), *_surroundings(home, load_encoder)]
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
    for path in (folder.path, *sorted(folder.path.iterdir())):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            yield Check(
                "permissions", "wrong", f"{path} has mode {mode:04o}", "--repair takes the others' rights away.", True
            )
            return
    yield Check("permissions", "ok", "only you can read the mind's files")


def repair_permissions(folder: MindFolder) -> None:
    """Take from others what they may do with the mind's files."""
    for path in (folder.path, *folder.path.iterdir()):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def _store(folder: MindFolder, keys: Keys) -> Iterator[Check]:
    try:
        connection = connect(folder.store, keys)
    except MnemicError as error:
        yield _wrong("store", error)
        return
    try:
        migrate(connection, folder.store, keys)
        with translated(folder.store):
            verdict = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
        if verdict == ["ok"]:
            yield Check("store", "ok", "every page is whole")
        else:
            remedy = "Put back a copy of the mind's folder."
            yield Check("store", "wrong", "; ".join(map(str, verdict)).replace("\n", " ")[:300], remedy)
            return
        yield _index(connection)
        waiting = int(
            connection.execute(
                "SELECT count(*) FROM memories WHERE id NOT IN"
                " (SELECT memory FROM meanings WHERE encoder = (SELECT max(id) FROM encoders))"
            ).get
        )
        if waiting:
            yield Check("meaning", "advice", f"{waiting} memories wait to be embedded", "mnemic capture finishes it.")
        else:
            yield Check("meaning", "ok", "every memory is embedded")
    except MnemicError as error:
        yield _wrong("store", error)
    finally:
        connection.close()


def _index(connection: apsw.Connection) -> Check:
    """Whether every memory is in the word index, and the index agrees with itself."""
    remedy = "--repair makes the index again from the log."
    try:
        connection.execute("INSERT INTO words(words) VALUES('integrity-check')")
    except apsw.CorruptError as error:
        return Check("words", "wrong", f"the word index is damaged ({error})", remedy, True)
    missing = int(
        connection.execute("SELECT count(*) FROM memories WHERE id NOT IN (SELECT id FROM words_docsize)").get
    )
    if missing:
        return Check("words", "wrong", f"{missing} memories are not in the word index", remedy, True)
    return Check("words", "ok", "every memory is in the word index")


def _wrong(name: str, error: MnemicError) -> Check:
    return Check(name, "wrong", str(error), error.remedy_text)
