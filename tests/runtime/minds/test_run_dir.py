"""The run folder: one lock, an info file for any version, sockets of nobody else, nothing stale in the way."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import DiskFull, StoreReadOnly
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo, process_start_time
from tests.waiting import until


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def held(home: Path) -> RunDir:
    """A run folder whose lock is held."""
    run_dir = RunDir(home)
    assert run_dir.acquire_server_lock()
    return run_dir


def opened(run_dir: RunDir) -> ServerInfo:
    """Sockets and info file, as a process leaves them that is killed: the sockets refuse."""
    folder, *sockets = run_dir.bind_sockets()
    for one in sockets:
        assert isinstance(one, socket.socket)
        one.close()
    info = ServerInfo(protocol=PROTOCOL, pid=2**22 + 1, started="1", folder=folder, mode="foreground", state="ready")
    run_dir.publish(info)
    return info


def deep(folder: Path) -> Path:
    """A folder that is too deep for a socket's path."""
    home = folder.joinpath(*["a folder of some length"] * 5)
    home.mkdir(parents=True)
    return home


def test_only_one_has_the_lock_and_its_end_frees_it(tmp_path: Path) -> None:
    first, second = held(tmp_path), RunDir(tmp_path)
    assert not second.acquire_server_lock()
    first.release_server_lock()
    assert second.acquire_server_lock()
    second.release_server_lock()


def test_folder_info_file_locks_and_sockets_are_nobody_elses(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run_dir = held(tmp_path / "a new home")
        info = opened(run_dir)
    finally:
        os.umask(before)
    assert mode(run_dir.folder) == 0o700
    assert {
        mode(path) for path in (run_dir.info_path, run_dir.folder / "serve.lock", info.http_socket, info.mcp_socket)
    } == {0o600}


def test_a_folder_that_others_may_enter_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    (tmp_path / "run").chmod(0o777)
    RunDir(tmp_path).prepare()
    assert mode(tmp_path / "run") == 0o700


@pytest.mark.parametrize(
    "make",
    [
        lambda run: run.write_text("a file"),
        lambda run: run.symlink_to(run.parent),
        lambda run: run.symlink_to("/nowhere"),
    ],
)
def test_what_is_no_folder_of_ones_own_is_refused_in_one_sentence(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "run")
    with pytest.raises(StoreReadOnly, match=r"run cannot be written"):
        RunDir(tmp_path).prepare()


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 12345)  # only root could give the folder away
    with pytest.raises(StoreReadOnly, match="it is not a folder of yours"):
        RunDir(tmp_path).prepare()


def test_files_that_cannot_be_written_are_told_in_one_sentence(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    run_dir.prepare()
    (run_dir.folder / "serve.lock").mkdir()
    with pytest.raises(StoreReadOnly, match=r"serve\.lock cannot be written: Is a directory"):
        run_dir.acquire_server_lock()
    (run_dir.folder / "serve.lock").rmdir()
    (run_dir.folder / "serve.json").mkdir()
    with pytest.raises(StoreReadOnly, match=r"serve\.json cannot be written"):
        opened(run_dir)


def test_a_full_disk_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"{path}.new")

    run_dir = RunDir(tmp_path)
    run_dir.prepare()
    monkeypatch.setattr("mnemic.runtime.minds.run_dir.replace_private", full)
    with pytest.raises(DiskFull, match=r"The disk that holds .*serve\.json is full"):
        opened(run_dir)


def test_what_a_dead_process_left_is_cleared(tmp_path: Path) -> None:
    first = held(tmp_path)
    info = opened(first)
    first.release_server_lock()
    assert os.path.exists(info.http_socket)
    second = held(tmp_path)
    assert second.read_info() is None
    assert not os.path.exists(info.http_socket)
    opened(second)


def test_a_home_too_deep_for_a_socket_has_a_short_folder_that_goes_with_its_process(tmp_path: Path) -> None:
    run_dir = held(deep(tmp_path))
    info = opened(run_dir)
    assert not info.folder.startswith(str(tmp_path))
    assert mode(info.folder) == 0o700
    assert {mode(info.http_socket), mode(info.mcp_socket)} == {0o600}
    run_dir.unpublish()
    assert not os.path.exists(info.folder)
    left = opened(run_dir)
    run_dir.release_server_lock()
    held(run_dir.home)
    assert not os.path.exists(left.folder)


@pytest.mark.parametrize("place", [lambda folder: folder / "home", lambda folder: deep(folder)])
def test_the_copy_of_a_home_leaves_the_sockets_of_the_first_one_alone(
    tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    run_dir = held(place(tmp_path))
    info = opened(run_dir)
    (tmp_path / "copy" / "run").mkdir(parents=True)
    shutil.copy(run_dir.info_path, tmp_path / "copy" / "run")
    copy = held(tmp_path / "copy")
    assert copy.read_info() is None
    assert os.path.exists(info.http_socket)
    assert run_dir.read_info() == info
    run_dir.unpublish()


def test_a_relative_home_is_the_same_one_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RunDir(Path("home")).folder == tmp_path / "home" / "run"


@pytest.mark.parametrize(
    "written",
    [
        {"protocol": 9, "pid": 7, "folder": "/f", "version": "9", "colour": "blue"},
        {"protocol": 9, "pid": 7, "folder": "/f", "engine": ["many"], "restarts": "often", "mode": None},
    ],
)
def test_a_info_file_of_another_version_says_who_it_is_all_the_same(tmp_path: Path, written: dict[str, object]) -> None:
    run_dir = held(tmp_path)
    run_dir.info_path.write_text(json.dumps(written), "utf-8")
    info = run_dir.read_info()
    assert info is not None
    assert (info.protocol, info.pid, info.http_socket) == (9, 7, "/f/http.sock")
    assert not info.is_alive()


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b"\xff", b"null", b'{"pid": 7}', b'{"protocol": 1, "pid": "x"}'])
def test_what_is_no_info_file_is_none_and_hinders_nobody(tmp_path: Path, written: bytes) -> None:
    run_dir = RunDir(tmp_path)
    run_dir.prepare()
    run_dir.info_path.write_bytes(written)
    assert run_dir.read_info() is None
    assert run_dir.acquire_server_lock()


def test_a_process_is_known_by_its_start_and_not_by_its_number_alone() -> None:
    info = ServerInfo(protocol=PROTOCOL, pid=os.getpid(), started=process_start_time(os.getpid()), folder="/")
    assert info.is_alive()
    assert not ServerInfo(protocol=PROTOCOL, pid=os.getpid(), started="1", folder="/").is_alive()
    assert not ServerInfo(protocol=PROTOCOL, pid=os.getpid(), folder="/").is_alive()


def test_a_process_of_which_only_the_exit_code_is_left_is_gone() -> None:
    with subprocess.Popen(["true"]) as child:
        until(lambda: process_start_time(child.pid) == "")
    assert process_start_time(child.pid) == ""
