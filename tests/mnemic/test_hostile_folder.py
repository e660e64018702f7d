"""Who serves a home from a folder of somebody else's runs nothing of it and leaves nothing in it, on both engines."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from mnemic.open_mind import mind_over
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.clock import SystemClock
from tests.processes.serving import end, gone, ready
from tests.runtime.keys.test_keys_core_dumps import allow_cores
from tests.waiting import BOUND_S, until

NAMES = ("tomllib", "json", "msgspec", "psutil", "numpy", "cryptography", "ray", "grpc", "apsw", "uvicorn", "mcp")
COMMAND = (sys.executable, "-P", "-m", "mnemic")
"""The command as its script starts it: without the folder one is in."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with modules of names that are imported, each of which says that it was run."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text("open(__file__ + '.ran', 'w').close()\nraise ImportError('hostile')\n")
    (folder / "mnemic").mkdir()
    (folder / "mnemic" / "__init__.py").write_text("open(__file__ + '.ran', 'w').close()\n")
    return folder


@contextmanager
def command(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command, in a folder, allowed to leave cores."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        preexec_fn=allow_cores,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def untouched(folder: Path) -> None:
    """Nothing of the folder was run, and nothing was left there."""
    assert {path.name for path in folder.iterdir()} == {*(f"{name}.py" for name in NAMES), "mnemic"}
    assert [path.name for path in (folder / "mnemic").iterdir()] == ["__init__.py"]


def test_the_process_that_an_assistant_starts_there_runs_nothing_of_it(home: Path, hostile: Path) -> None:
    with command(hostile, "mcp", "--home", str(home)):
        info = ready(home)
        assert psutil.Process(info.pid).cwd() == "/"
        assert "-P" in psutil.Process(info.pid).cmdline()
        assert remembered(home)
    untouched(hostile)


@pytest.mark.system
def test_served_there_on_threads_nothing_of_it_is_run(home: Path, hostile: Path) -> None:
    with command(hostile, "serve", "--engine", "embedded", "--home", str(home)):
        assert ready(home).engine == "embedded"
        assert remembered(home)
    untouched(hostile)


@pytest.mark.system
def test_served_there_on_ray_nothing_of_it_is_run_and_no_process_works_there_or_leaves_a_core(
    home: Path, hostile: Path
) -> None:
    cores = set(Path("/").glob("core*"))
    with command(hostile, "serve", "--engine", "ray", "--home", f"../{home.name}") as process:
        until(lambda: process.poll() is not None or (home / "run" / "serve.json").exists())
        assert process.poll() is None
        assert ready(home).pid == process.pid
        assert remembered(home)
        family = psutil.Process(process.pid).children(recursive=True)
        actors = [one for one in family if one.name().startswith("ray::")]
        assert actors
        assert {one.cwd() for one in actors} == {"/"}
        assert [one for one in family if one.cwd().startswith(str(hostile))] == []
        assert {one.rlimit(psutil.RLIMIT_CORE)[0] for one in family} <= {0, 1}
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        assert {one.rlimit(psutil.RLIMIT_CORE)[1] for one in family} == {hard}
        child = psutil.Process(process.pid).children()[0]
        for one in (*actors, child):
            with suppress(psutil.NoSuchProcess):  # some went with those before them
                one.send_signal(signal.SIGABRT)
        until(lambda: gone(child.pid))
        process.terminate()
        process.wait(BOUND_S)
    untouched(hostile)
    assert set(Path("/").glob("core*")) == cores
    end(home)


def remembered(home: Path) -> bool:
    """Whether all that a memory passes works."""
    actor_system = RemoteActorSystem(home, "default", True, SystemClock())
    mind = mind_over(actor_system, home, "default", actor_system.server_info)
    return mind.remember("the tea is in the blue tin").created and bool(mind.recall("blue tin").hits)
