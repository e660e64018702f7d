"""What happens to a Ray: nodes and heads are killed, files are searched, and nothing is left behind.

Each test has a Ray of its own, in a process of its own (`tests.runtime.ray_alone`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.open_mind import open_served
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor import process as doctor_process
from mnemic.runtime.engine.ray.local import (
    LocalRay,
    clean_up_home,
    connect,
    leftover_rays,
    ray_folder,
)
from mnemic.runtime.keys.keys import write_private
from mnemic.runtime.minds.run_dir import RunDir
from tests.paths import ROOT
from tests.processes.faces import run, start
from tests.processes.serving import ready, serving
from tests.runtime.ray_alone import CONTROL, MARK
from tests.runtime.targets import target_of
from tests.waiting import BOUND_S, until


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
            clean_up_home(place)


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


@pytest.mark.system
def test_no_memory_is_in_what_ray_wrote_or_shared_and_a_sweep_leaves_nothing_of_it(
    alone: Callable[..., Alone], tmp_path: Path
) -> None:
    folder = tmp_path / "home"
    one = alone("leak", folder)
    said = one.hear("head")
    (record,) = (folder / "run").iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    place = Path(record.read_text())
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "ray-token").stat().st_mode) == 0o600
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
    one.process.wait()
    clean_up_home(folder)
    assert ray_processes(place) == []
    assert not place.exists()
    assert list((folder / "run").iterdir()) == []


@pytest.mark.system
@pytest.mark.parametrize(("which", "name"), [(1, "home"), (0, "d" * 60)], ids=["raylet", "gcs, of a deep home"])
def test_a_local_ray_that_lost_its_head_says_so_and_stops_without_a_trace(
    alone: Callable[..., Alone], tmp_path: Path, which: int, name: str
) -> None:
    folder = tmp_path / name
    one = alone("lost", folder)
    said = one.hear("head")
    assert said["lost"] is None
    (record,) = (folder / "run").iterdir()
    place = Path(record.read_text())
    assert place == ray_folder(record)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    os.kill(said["head"][which], signal.SIGKILL)
    until(lambda: psutil.Process(said["head"][which]).status() == psutil.STATUS_ZOMBIE)
    one.go_on()
    assert one.hear("lost")["lost"] == f"process {said['head'][which]} of Ray died"
    assert one.hear("answered")["answered"] == "actor_failed"
    assert one.hear("stopped")["token"] is None
    assert one.process.wait(BOUND_S) == 0
    assert ray_processes(place) == []
    assert list((folder / "run").iterdir()) == []


@pytest.mark.system
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
    assert {(actor, kind.partition(":")[0]) for actor, kind in moved["failures"]} == {("free", "InstanceDied")}
    assert one.hear("left")["left"] == []
    assert one.process.wait(BOUND_S) == 0


@pytest.mark.system
def test_an_actor_that_cannot_use_the_homes_files_where_it_was_put_is_kept_on_the_homes_machine(
    short_folder: Path, alone: Callable[..., Alone], tmp_path: Path
) -> None:
    write_private(tmp_path / "token", b"t" * 64)
    one = alone("elsewhere", short_folder, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(tmp_path / "token"))

    def moved(name: str, why: str) -> list[str]:
        return [f"{name} runs on the home's machine: where it was put first, {why}"]

    for name, why in (("seal", "key_missing"), ("ports", "mind_missing")):
        assert one.hear("here") == {"name": name, "here": [True, True], "warned": moved(name, why)}
    assert one.hear("here") == {"name": "free", "here": [False, False], "warned": []}
    said = one.hear("raised")
    assert (said["raised"], said["warned"]) == ("mind_missing", moved("nowhere", "mind_missing"))
    assert one.process.wait(BOUND_S) == 0


# --- what is left behind ---------------------------------------------------------------------------------------------


@pytest.mark.system
def test_a_ray_of_a_killed_process_is_seen_and_swept_and_that_of_a_living_one_is_neither(
    alone: Callable[..., Alone], home: Path
) -> None:
    dying, living = alone("opened", home), alone("opened", home)
    killed = dying.hear("pid")["pid"]
    (left,) = [folder for folder in (home / "run").iterdir() if folder.name.startswith(f"ray-{killed}-")]
    place = Path(left.read_text())
    living.hear("pid")
    assert leftover_rays(home) == []
    dying.process.kill()
    dying.process.wait()
    assert leftover_rays(home) == [left]
    (check,) = doctor_process.check_engine(target_of(home))
    assert (check.state, check.repairable) == ("wrong", True)
    assert str(left) in check.detail
    clean_up_home(home)
    assert leftover_rays(home) == []
    assert not left.exists()
    assert not place.exists()
    assert ray_processes(place) == []
    living.go_on()
    assert living.hear("closed") == {"closed": True}
    assert living.process.wait(BOUND_S) == 0
    assert list((home / "run").glob("ray*")) == []


def dead_record(home: Path, place: str | Path | None = None) -> Path:
    """What a process that is gone left in a home: the file that names a folder, and no Ray any more."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.communicate()
    if place is None:
        place = Path(tempfile.mkdtemp(prefix="mnemic-ray-", dir="/tmp"))
        (place / "left").touch()
    record = home / "run" / f"ray-{gone.pid}-1-abc"
    record.parent.mkdir(exist_ok=True, mode=0o700)
    record.write_text(str(place))
    return record


def test_what_a_dead_process_left_is_mended_while_a_process_serves_the_home(home: Path) -> None:
    record = dead_record(home)
    place = ray_folder(record)
    assert place is not None
    run_dir = RunDir(home)
    assert run_dir.acquire_server_lock()
    try:
        assert [check.state for check in doctor_process.check_engine(target_of(home))] == ["wrong"]
        doctor_process.end_ray(target_of(home))
        assert [check.state for check in doctor_process.check_engine(target_of(home))] == ["ok"]
    finally:
        run_dir.release_server_lock()
    assert not record.exists()
    assert not place.exists()


def test_taking_a_home_sweeps_what_a_dead_process_left(home: Path) -> None:
    record = dead_record(home)
    with serving(home):
        assert not record.exists()


def test_a_sweep_follows_no_link_removes_nothing_that_was_not_rays_and_goes_on(tmp_path: Path) -> None:
    elsewhere, link = tmp_path / "elsewhere", Path(tempfile.mkdtemp(prefix="mnemic-ray-", dir="/tmp"))
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    link.rmdir()
    link.symlink_to(elsewhere)
    try:
        for odd in (link, elsewhere, "/tmp/mnemic-ray-x/..", "a\0b", ""):
            record = dead_record(tmp_path, odd)
            clean_up_home(tmp_path)
            assert not record.exists()
    finally:
        link.unlink()
    assert (elsewhere / "kept").exists()


def test_a_sweep_of_a_home_where_no_ray_was_does_nothing(tmp_path: Path) -> None:
    clean_up_home(tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- what Ray does unasked -------------------------------------------------------------------------------------------


def shows(process: psutil.Process) -> bool:
    """Whether it is one of the two processes that would serve a dashboard."""
    line = " ".join(process.cmdline())
    return "/dashboard/dashboard.py --host" in line or line.startswith("ray::DashboardAgent")


@pytest.mark.system
def test_ray_reports_nothing_and_shows_nothing(local_ray: LocalRay) -> None:
    place = Path(local_ray.record.read_text())
    family = [one for one in psutil.Process().children(recursive=True) if str(place) in " ".join(one.cmdline())]
    assert len(family) > 3
    told = {one.environ().get("RAY_USAGE_STATS_ENABLED") for one in family if one.environ()}  # some overwrite theirs
    assert told == {"0"}
    assert list(place.rglob("usage_stats.json")) == []
    faces = [one for one in psutil.Process().children(recursive=True) if shows(one)]
    assert len(faces) == 2, "they are not called what they were"
    assert [one.name() for one in faces if any(c.status == "LISTEN" for c in one.net_connections("tcp"))] == []


def first_bytes(address: tuple[str, int]) -> bytes:
    """What is answered to whoever asks for figures by HTTP, and has no token."""
    with socket.create_connection(address, timeout=BOUND_S) as caller:
        caller.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return caller.recv(64)


@pytest.mark.system
def test_no_port_of_ray_answers_who_has_no_token(local_ray: LocalRay) -> None:
    place = Path(local_ray.record.read_text())
    (log,) = place.glob("r/session_2*/logs/monitor.log")
    until(lambda: "Monitor: Started" in log.read_text())
    told = {}
    for one in psutil.Process().children(recursive=True):
        for connection in one.net_connections("tcp"):
            if connection.status == "LISTEN":
                address = connection.laddr.ip.replace("::", "127.0.0.1").replace("0.0.0.0", "127.0.0.1")
                told[one.pid, connection.laddr.port] = first_bytes((address, connection.laddr.port))
    assert len(told) > 3
    assert not any(line.split()[1:2] == [b"200"] for line in told.values()), told


# --- a cluster of somebody else's ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "disabled"])
def test_a_cluster_that_nothing_says_demands_a_token_is_refused(
    monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with pytest.raises(InvalidValue) as caught:
        connect("127.0.0.1:1")
    assert "RAY_AUTH_MODE=token" in caught.value.remedy_text


@pytest.fixture
def somebodys_ray(short_folder: Path, tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A head that `ray start` has started, with a token: its address, and the environment that lets one in."""
    write_private(tmp_path / "token", b"t" * 64)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    inside = {**clean, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--num-cpus=1", f"--object-store-memory={80 << 20}", "--include-dashboard=false"]
    options += [f"--port={port}", f"--temp-dir={short_folder}", "--min-worker-port=0", "--max-worker-port=0"]
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", *options]
    begun = subprocess.run(command, env=inside, stdin=subprocess.DEVNULL, capture_output=True)
    try:
        assert begun.returncode == 0, begun.stderr
        yield f"127.0.0.1:{port}", inside
    finally:
        for process in psutil.process_iter():
            try:
                if str(short_folder) in " ".join(process.cmdline()):
                    process.kill()
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue


@pytest.mark.system
@pytest.mark.system
def test_a_home_is_served_on_somebodys_ray_that_demands_a_token(
    home: Path, somebodys_ray: tuple[str, dict[str, str]]
) -> None:
    address, inside = somebodys_ray
    open_to_all = {name: value for name, value in inside.items() if not name.startswith("RAY_")}
    refused = run("serve", "--address", address, "--home", home, env=open_to_all)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "RAY_AUTH_MODE=token" in refused.err
    process = start("serve", "--address", address, "--home", home, env=inside)
    try:
        assert ready(home).pid == process.pid
        mind = open_served(home, "default", SystemClock(), create=True)
        assert mind is not None
        assert mind.remember("an otter").created
        assert [hit.data for hit in mind.recall("otter").hits] == [b"an otter"]
        assert mind.status().actor_system.engine == "ray"
        process.terminate()
        assert process.wait(BOUND_S) == 0
    finally:
        process.kill()
        process.communicate()
    assert list((home / "run").glob("ray*")) == []
