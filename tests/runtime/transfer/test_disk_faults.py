"""A disk that fails at any one read or write of a backup, restore, export or import is said in one sentence.

Each kind of call of the operating system that touches a file of theirs is made to fail once, in a process of its own
(`tests/fixtures/disk_faults.c`). What was there is there then, or what was to be there, whole. The files of an export
are read and written by one loop and count as one file.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import mnemic
from mnemic.actors.kernel.errors import MnemicError
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.restore import restore
from mnemic.runtime.transfer.export_source import ExportSource
from tests.paths import ROOT
from tests.runtime.building import child, finish
from tests.waiting import BOUND_S

SOURCE = ROOT / "tests" / "fixtures" / "disk_faults.c"
THERE, ELSEWHERE = "the kettle is on the stove", "the otter sleeps by the pier"
NEED_ROOM = {"write", "mkdir", "create"}
SAME_FILE = r"[0-9a-f]{16}|(?<=\.new-)\w+|\w+(?=\.jsonl)"
"""Parts of names by which files differ that are treated alike."""


class Fault(NamedTuple):
    """One call that is to fail."""

    call: str
    pattern: str
    """Of its file, as `fnmatch` has it."""
    time: int
    """At which of its times, from 1; 0 for never."""
    error: int
    """With which errno."""


COMMANDS: dict[str, list[str]] = {
    "backup": ["backup", "{work}/out", "--home", "{work}/there"],
    "backup-replace": ["backup", "{work}/made", "--replace", "--home", "{work}/there"],
    "restore": ["restore", "{work}/made", "--key-file", "{work}/key", "--home", "{work}/new"],
    "restore-replace": ["restore", "{work}/made", "--replace", "--home", "{work}/changed"],
    "export": ["export", "{work}/out", "--home", "{work}/there"],
    "import": ["import", "{work}/exported", "--no-meaning", "--home", "{work}/other"],
}


def prepare(folder: Path) -> None:
    """Make what the commands work on: minds, a backup of one, and its export."""
    with opened(folder / "there") as mind:
        mind.remember(THERE, scope="home")
        mind.backup(folder / "made")
        mind.export(folder / "exported")
    shutil.copy(folder / "there" / "minds" / "default" / "key", folder / "key")
    shutil.copytree(folder / "there", folder / "changed")
    for home in ("changed", "other"):
        with opened(folder / home) as mind:
            mind.remember(ELSEWHERE, scope="home")


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Mind]:
    """A mind without a model, which is quick to open."""
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
    with mnemic.open(home) as mind:
        yield mind


def state(name: str, work: Path) -> object:
    """What a command has made or changed, as far as it counts; raises where that is half of something."""
    if name.startswith("backup"):
        path = work / ("made" if name == "backup-replace" else "out")
        if not path.exists():
            return None
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(work / "proof")
        restore(path, work / "proof", key_file=work / "key")
        return texts(work / "proof")
    if name == "export":
        return None if not (work / "out").exists() else ExportSource.open(work / "out").line_count("memories.jsonl")
    home = work / {"restore": "new", "restore-replace": "changed", "import": "other"}[name]
    return texts(home) if (home / "minds" / "default").exists() else None


def texts(home: Path) -> list[str]:
    """What a home's mind holds."""
    with opened(home) as mind:
        return sorted(one.text for one in mind.log().memories)


# --- in a process of their own ---------------------------------------------------------------------------------------


def sweep(name: str, prepared: str, room: str) -> None:
    """In a process with the faults preloaded: make each call fail in turn; print what was wrong then, as JSON."""
    from mnemic.compose import open_actor_system  # noqa: F401 - each attempt is a fork, and finds it loaded

    attempt = Attempts(name, Path(prepared), Path(room))
    untouched, whole, calls = attempt.state_before(), *attempt.recorded()
    wrong = []
    faults = list(chosen_faults(calls))
    for fault in faults:
        code, said, found = attempt.run(fault)
        lines = [line for line in said.splitlines() if not line.startswith("mnemic: The log ")]
        if found not in (untouched, whole) or (code == 0 and found != whole):
            wrong.append([*fault, f"exit {code}", f"{found!r} is there", said])
        elif code != 0 and not (len(lines) == 1 and is_told(lines[0], room, fault)):
            wrong.append([*fault, f"exit {code}", said])
    print(json.dumps({"faults": len(faults), "wrong": wrong}))


def is_told(line: str, room: str, fault: Fault) -> bool:
    """Whether a sentence names a file and what is the matter; of its own files SQLite does not always say that."""
    cause = "disk I/O error|" + ("is full|No space left" if fault.error == errno.ENOSPC else "Input/output error")
    if "/store.db" in fault.pattern:
        cause += "|unable to open database file|attempt to write a readonly database|database disk image is malformed"
    return line.startswith("mnemic: ") and room in line and bool(re.search(cause, line))


def chosen_faults(calls: list[str]) -> Iterator[Fault]:
    """The first of the calls that do the same to the same file; the last as well, for which there is no room then."""
    for line, times in Counter(re.sub(SAME_FILE, "*", line) for line in calls).items():
        call, _, pattern = line.partition(" ")
        yield Fault(call, pattern, 1, errno.EIO)
        if call in NEED_ROOM:
            yield Fault(call, pattern, times, errno.ENOSPC)


class Attempts:
    """Runs of one command on fresh copies of what was prepared, each in a fork of this process."""

    def __init__(self, name: str, prepared: Path, room: Path) -> None:
        self._name, self._prepared, self._room = name, prepared, room
        self._work = room / "work"
        self._faults = ctypes.CDLL(None)

    def state_before(self) -> object:
        return self._forked(lambda: state(self._name, self._work))

    def recorded(self) -> tuple[object, list[str]]:
        """What the command does where nothing fails, and its calls."""
        calls = self._room / "calls"
        with calls.open("wb") as file:
            self._faults.faults_log(file.fileno())
            code, said, found = self.run(Fault("", "", 0, 0))
            self._faults.faults_log(-1)
        assert code == 0, said
        return found, calls.read_text().splitlines()

    def run(self, fault: Fault) -> tuple[int, str, object]:
        """The command's exit code, what it said of an error, and what is there afterwards."""
        code, said, found = self._forked(lambda: self._command(fault))
        return code, said, found

    def _command(self, fault: Fault) -> list[object]:
        from mnemic.cli.main import main

        said = io.StringIO()
        code: object = 0
        call, pattern = fault.call.encode(), os.fsencode(fault.pattern)
        self._faults.faults_arm(os.fsencode(self._work), call, pattern, fault.time, fault.error)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            try:
                main([part.format(work=self._work) for part in COMMANDS[self._name]])
            except SystemExit as error:
                code = error.code
            except Exception as error:
                code = 1
                print(f"not translated: {error!r}", file=sys.stderr)
        self._faults.faults_arm(b"", b"", b"", 0, 0)
        try:
            return [code, said.getvalue(), state(self._name, self._work)]
        except (MnemicError, OSError) as error:
            return [code, said.getvalue(), f"half: {error!r}"]

    def _forked(self, call: Callable[[], object]) -> Any:
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._prepared, self._work)
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            try:
                os.write(writing, json.dumps(call()).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        return json.loads(answer)


# --- the tests -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What makes calls fail, built."""
    built = tmp_path_factory.mktemp("faults") / "disk_faults.so"
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("calls are made to fail by a library in C, on Linux, and no compiler is here")
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", built, SOURCE, "-ldl"], check=True)
    return built


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder


@pytest.mark.system
@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_fails_once_is_one_sentence_and_leaves_nothing_half(
    name: str, library: Path, prepared: Path, tmp_path: Path
) -> None:
    environment = os.environ | {"LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
    here = "runtime.transfer.test_disk_faults:sweep"
    said = json.loads(finish(child(here, name, prepared, tmp_path, env=environment), 8 * BOUND_S))
    assert said["faults"] > 10
    assert not said["wrong"], "\n".join(map(str, said["wrong"]))
