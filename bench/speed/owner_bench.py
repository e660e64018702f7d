"""The owner bench: time and bytes written by backup, erase, rekey, export and the like on a large mind.

Each works alone, with no process serving the home. Beside them a bare interpreter, which every command needs at least,
and a plain copy of the store, which everything that rewrites it needs at least. What a verb says it did is looked at:
a row whose memories are not the ones expected is failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.bench.harness.homes import BENCH_SCOPE, MIND_NAME, fill_home, lexical_settings, store_of
from mnemic.bench.harness.measure import BARE_PYTHON, Row, milliseconds
from mnemic.bench.harness.processes import run_mnemic
from mnemic.runtime.models.encoders import load_encoder

_PROJECTS = 10
_LOOKS = 10  # of what takes a moment; what rewrites a mind is done once


def run(*, memories: int = 100_000, seed: int = 0, no_model: bool = False) -> Iterator[Row]:
    """Fill a home, and do everything to it once.

    Raises:
        ValueError: there are fewer memories than projects.
        OSError: there is no room for it.
    """
    if memories < _PROJECTS:
        raise ValueError(f"the owner bench needs {_PROJECTS} memories or more, not {memories}")
    with tempfile.TemporaryDirectory(prefix="mnemic-owner-") as folder:
        place = Path(folder)
        home, other = place / "home", place / "other"
        other.mkdir(mode=0o700)
        settings = lexical_settings(home)
        (other / "mnemic.toml").write_text(settings, "utf-8")
        encoder = None if no_model else load_encoder(None)
        fill_home(home, memories, seed=seed, encoder=encoder, settings=settings, projects=_PROJECTS)
        for row in _rows(place, home, other, memories):
            yield {"what": row.pop("what"), "memories": memories, **row}


def _rows(place: Path, home: Path, other: Path, memories: int) -> Iterator[Row]:
    store, left = home / "minds" / MIND_NAME / "store.db", memories - memories // _PROJECTS
    kept, exported = place / "kept", place / "exported"

    def done(what: str, act: Callable[[], Any], times: int = 1, wrote: Path | None = None) -> Row:
        taken_ms = [milliseconds(act) for _ in range(times)]
        row = {"what": what, "s": float(np.median(taken_ms)) / 1e3, "n": times}
        return row | ({} if wrote is None else {"written_bytes": _size(wrote)})

    def counted(expected: int, of: Path = home) -> Row:
        with store_of(of) as connection:
            there = int(connection.execute("SELECT count(*) FROM memories").get)
        return {"there": there, "state": "ok" if there == expected else "failed"}

    yield done("competitor: python -c pass", lambda: subprocess.run(BARE_PYTHON, check=True), _LOOKS)
    yield done("competitor: a copy of the store, on the disk", lambda: _copy(store, place / "copy"), 3, store)
    yield done("log, the first page", lambda: run_mnemic(home, "log"), _LOOKS)
    session = f"session-{memories // 80}"
    yield done("log, the first page of a session", lambda: run_mnemic(home, "log", "--session", session), _LOOKS)
    yield done("status", lambda: run_mnemic(home, "status"), _LOOKS)
    yield done("backup", lambda: run_mnemic(home, "backup", kept), wrote=kept)
    yield done("export", lambda: run_mnemic(home, "export", exported), wrote=exported)
    yield done("import", lambda: run_mnemic(other, "import", exported), wrote=other) | counted(memories, other)
    erase = ("forget", "--scope", f"{BENCH_SCOPE.path}/3", "--erase", "--yes")
    what = f"erase of one project of {_PROJECTS}"
    yield done(what, lambda: run_mnemic(home, *erase), wrote=store) | counted(left)
    yield done("restore", lambda: run_mnemic(home, "restore", kept, "--replace"), wrote=store) | counted(memories)
    yield done("rekey", lambda: run_mnemic(home, "rekey", "--yes"), wrote=store) | counted(memories)


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    with target.open("rb+") as written:
        os.fsync(written.fileno())


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
