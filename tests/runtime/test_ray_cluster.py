"""What happens to a Ray: nodes and heads are killed, files are searched, and nothing is left behind.

Each test has a Ray of its own, in a process of its own (`tests.runtime.ray_alone`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mnemic.runtime.keys import write_private
from mnemic.runtime.ray_local import sweep
from tests.runtime.engine_contract import BOUND_S, until
from tests.runtime.ray_alone import CONTROL, MARK

ROOT = Path(__file__).parents[2]


class Alone:
    """The process, and what it says."""

    def __init__(self, what: str, folder: Path, **variables: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.runtime.ray_alone", what, str(folder)],
            cwd=ROOT,
            env={**clean, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def hear(self, word: str) -> dict[str, Any]:
        """Wait for the line that has this word."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            heard: dict[str, Any] = json.loads(line)
            if word in heard:
                return heard
        raise AssertionError(f"it ended and never said {word}")

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Callable[..., Alone]]:
    started: list[Alone] = []

    def start(what: str, folder: Path, **variables: str) -> Alone:
        started.append(Alone(what, folder, **variables))
        return started[-1]

    yield start
    for one in started:
        one.end()
    for place in tmp_path.iterdir():
        if place.is_dir():
            sweep(place)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """One in which a socket's path fits."""
    folder = tempfile.mkdtemp(dir="/tmp")
    yield Path(folder)
    shutil.rmtree(folder)


def searched(folder: Path, needle: bytes) -> list[str]:
    """Files below a folder that hold these bytes."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def held(pid: int, *needles: bytes) -> set[bytes]:
    """Which of these bytes are in a file, deleted or not, or shared memory, that a process has open."""
    links = [link for link in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(link).startswith("/")]
    files = {link.stat().st_ino: link for link in links if stat.S_ISREG(link.stat().st_mode)}
    return {needle for link in files.values() for data in [link.read_bytes()] for needle in needles if needle in data}


def ray_processes(place: Path) -> list[str]:
    """Command lines of the processes that have a file of this folder open, or name it."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            if str(place) in line or any(file.path.startswith(str(place)) for file in process.open_files()):
                found.append(line)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_no_memory_is_in_what_ray_wrote_or_shared_and_a_sweep_leaves_nothing_of_it(
    alone: Callable[..., Alone], tmp_path: Path
) -> None:
    folder = tmp_path / "ray"
    one = alone("leak", folder)
    said = one.hear("head")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "ray-token").stat().st_mode) == 0o600
    place = Path((folder / "ray-place").read_text())
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    raylet = said["head"][1]
    open_to_it = held(raylet, CONTROL, MARK)
    seen = CONTROL in open_to_it or searched(place, CONTROL) != []
    shared = [str(path) for path in Path("/dev/shm").iterdir() if path.is_file() and MARK in path.read_bytes()]
    for pid in (one.process.pid, *said["head"], said["worker"]):
        os.kill(pid, signal.SIGKILL)
    assert seen, "the search finds nothing, not even what was put there in clear"
    assert MARK not in open_to_it
    assert shared == []
    assert any((place / "r").rglob("worker-*.out")), "the files of those who print are not where they were"
    assert searched(place, MARK) == []
    assert searched(folder, MARK) == []
    sweep(folder)
    assert ray_processes(place) == []
    assert not place.exists()
    assert [path.name for path in folder.iterdir()] == ["lines"]


@pytest.mark.parametrize(("which", "name"), [(1, "ray"), (0, "d" * 60)], ids=["raylet", "gcs, in a deep folder"])
def test_a_local_ray_that_lost_its_head_says_so_and_stops_without_a_trace(
    alone: Callable[..., Alone], tmp_path: Path, which: int, name: str
) -> None:
    folder = tmp_path / name
    one = alone("lost", folder)
    said = one.hear("head")
    assert said["lost"] is None
    place = Path((folder / "ray-place").read_text())
    assert place.name.startswith("mnemic-ray-") or len(str(place)) < 40
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    os.kill(said["head"][which], signal.SIGKILL)
    until(lambda: psutil.Process(said["head"][which]).status() == psutil.STATUS_ZOMBIE)
    one.go_on()
    assert one.hear("lost")["lost"] == f"process {said['head'][which]} of Ray died"
    assert one.hear("answered")["answered"] == "actor_failed"
    assert one.hear("stopped")["token"] is None
    assert one.process.wait(BOUND_S) == 0
    assert ray_processes(place) == []
    assert list(folder.iterdir()) == []


def test_a_node_is_lost_and_work_goes_on_where_the_pinned_actor_never_moved(
    short_folder: Path, alone: Callable[..., Alone], tmp_path: Path
) -> None:
    write_private(tmp_path / "token", b"t" * 64)
    one = alone("nodes", short_folder, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(tmp_path / "token"))
    before = one.hear("here")
    assert before["here"] == {"pinned": True, "free": False}
    assert before["said"] == [[1], [1]]
    after = one.hear("free")
    assert after == {"free": [2], "pinned": [1, 2]}  # the free one is another instance
    moved = one.hear("here")
    assert moved["here"] == {"pinned": True, "free": True}
    assert {tuple(failure) for failure in moved["failures"]} == {("free", "InstanceDied")}
    assert one.hear("left")["left"] == []
    assert one.process.wait(BOUND_S) == 0


def test_a_sweep_of_a_folder_where_no_ray_was_does_nothing(tmp_path: Path) -> None:
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_removes_no_folder_that_was_not_rays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / "ray-place").write_text(str(elsewhere))
    sweep(home)
    assert elsewhere.is_dir()
    assert list(home.iterdir()) == []
