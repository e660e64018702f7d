"""The owner bench: time and bytes written by backup, erase, rekey, export and the like on a large mind.

Each works alone, with no process serving the home. Beside them a bare interpreter, which every command needs at least,
and a plain copy of the store, which everything that rewrites it needs at least. What a verb says it did is looked at:
a row whose memories are not the ones expected is failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from mnemic.bench.harness.homes import BENCH_SCOPE, MIND_NAME, fill_home, lexical_settings
from mnemic.bench.harness.processes import COMMAND
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.store.schema import connect

__all__ = ["run"]

_PROJECTS = 10
_LOOKS = 10  # of what takes a moment; what rewrites a mind is done once


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Fill a home, and do everything to it once.

    Raises:
        ValueError: there are fewer memories than projects.
        OSError: there is no room for it.
    """
    if arguments.memories < _PROJECTS:
        raise ValueError(f"the owner bench needs {_PROJECTS} memories or more, not {arguments.memories}")
    with tempfile.TemporaryDirectory(prefix="mnemic-owner-") as folder:
        place = Path(folder)
        home, other = place / "home", place / "other"
        for one in (home, other):
            one.mkdir(mode=0o700)
            (one / "mnemic.toml").write_text(lexical_settings(one), "utf-8")
        encoder = None if arguments.no_model else load_encoder(None)
        fill_home(
            home,
            arguments.memories,
            seed=arguments.seed,
            encoder=encoder,
            settings=lexical_settings(home),
            projects=_PROJECTS,
        )
        return list(_rows(place, home, other, arguments.memories))


def _rows(place: Path, home: Path, other: Path, memories: int) -> Iterator[dict[str, Any]]:
    store, left = home / "minds" / MIND_NAME / "store.db", memories - memories // _PROJECTS
    session = f"session-{memories // 80}"

    def row(what: str, act: Callable[[], Any], where: Path | None, expected: int | None, times: int = 1) -> Any:
        took = []
        for _ in range(times):
            started = time.perf_counter()
            act()
            took.append(time.perf_counter() - started)
        found: dict[str, Any] = {"what": what, "memories": memories, "s": sorted(took)[len(took) // 2], "n": times}
        if where is not None:
            found["written_bytes"] = _size(where)
        if expected is not None:
            there = _count(other if what == "import" else home)
            found |= {"there": there, "state": "ok" if there == expected else "failed"}
        return found

    yield row("competitor: python -c pass", lambda: _do([sys.executable, "-c", "pass"]), None, None, _LOOKS)
    yield row("competitor: a copy of the store, on the disk", lambda: _copy(store, place / "copy"), store, None, 3)
    yield row("log, the first page", lambda: _command(home, "log"), None, None, _LOOKS)
    yield row(
        "log, the first page of a session", lambda: _command(home, "log", "--session", session), None, None, _LOOKS
    )
    yield row("status", lambda: _command(home, "status"), None, None, _LOOKS)
    yield row("backup", lambda: _command(home, "backup", place / "kept"), place / "kept", None)
    yield row("export", lambda: _command(home, "export", place / "exported"), place / "exported", None)
    yield row("import", lambda: _command(other, "import", place / "exported"), other, memories)
    erase = ("forget", "--scope", f"{BENCH_SCOPE.path}/3", "--erase", "--yes")
    yield row(f"erase of one project of {_PROJECTS}", lambda: _command(home, *erase), store, left)
    yield row("restore", lambda: _command(home, "restore", place / "kept", "--replace"), store, memories)
    yield row("rekey", lambda: _command(home, "rekey"), store, memories)


def _command(home: Path, *arguments: object) -> Any:
    said = _do([*COMMAND, *map(str, arguments), "--home", str(home), "--json"])
    return [json.loads(line) for line in said.splitlines()]


def _do(command: list[str]) -> bytes:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MNEMIC_")}
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, env=environment)
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise ValueError(f"{' '.join(command[2:5])} ended with {done.returncode}: {said}")
    return done.stdout


def _count(home: Path) -> int:
    """How many memories a home's mind holds."""
    folder, keys = open_mind(home, MIND_NAME)
    with closing(connect(folder.store, keys)) as connection:
        return int(connection.execute("SELECT count(*) FROM memories").get)


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    with target.open("rb+") as written:
        os.fsync(written.fileno())


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
