"""The client of a home's process: one process for all, and an answer, or one sentence why there is none."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.errors import (
    InvalidValue,
    MindMissing,
    MnemicError,
    NewerProcess,
    NoSuchMemory,
    NotServed,
    StoreReadOnly,
    UnknownScope,
)
from mnemic.actors.store.messages import Count
from mnemic.open_mind import mind_over, open_here, open_served
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.client.launcher import ensure_running, request_drain
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo
from tests.processes.faces import COMMAND, lines, turn
from tests.processes.hosted import together
from tests.processes.serving import end, gone, info_of, ready, serving
from tests.waiting import BOUND_S, until

CLOCK = SystemClock()


def served(home: Path, *, create: bool = True) -> Mind:
    """The home's mind, in a process that is started where there is none."""
    actor_system = RemoteActorSystem(home, "default", create, CLOCK)
    return mind_over(actor_system, home, "default", actor_system.server_info)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose process stays for the tests that do it no harm."""
    home = tmp_path_factory.mktemp("shared") / "home"
    home.mkdir()
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n', "utf-8")
    served(home).remember("an otter on the pier", session="first", scope="pier")
    yield home
    end(home)


# --- one process -----------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_twenty_who_start_it_at_once_meet_in_one_process(home: Path) -> None:
    infos = together([lambda: ensure_running(home, CLOCK)] * 20)
    assert len({info.pid for info in infos}) == 1
    assert infos[0].is_alive()


@pytest.mark.system
def test_of_many_processes_that_start_at_once_one_serves_and_the_others_leave_it_to_it(home: Path) -> None:
    started = [
        subprocess.Popen([*COMMAND, "serve", "--on-demand", "--home", str(home)], stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    info = ready(home)
    for process in started:
        if process.pid != info.pid:
            assert process.communicate(timeout=BOUND_S) == (None, b"")
            assert process.returncode == 0
    os.kill(info.pid, signal.SIGTERM)
    (serving,) = (process for process in started if process.pid == info.pid)
    assert serving.communicate(timeout=BOUND_S)[1] == b""
    assert serving.returncode == 0


def test_a_process_is_only_started_where_that_is_wanted(home: Path) -> None:
    with pytest.raises(NotServed, match="none is running"):
        ensure_running(home, CLOCK, start=False)
    assert open_served(home, "default", CLOCK, create=False) is None
    assert not (home / "run").exists()


def test_a_stale_info_file_whose_number_another_process_has_hinders_nobody(home: Path) -> None:
    run_dir = RunDir(home)
    run_dir.acquire_server_lock()
    folder, *sockets = run_dir.bind_sockets()
    run_dir.publish(ServerInfo(protocol=PROTOCOL, pid=os.getpid(), started="1", folder=folder, mode="foreground"))
    for one in sockets:
        assert isinstance(one, socket.socket)
        one.close()
    run_dir.release_server_lock()
    with pytest.raises(NotServed):
        ensure_running(home, CLOCK, start=False)
    assert ensure_running(home, CLOCK).pid != os.getpid()


@pytest.mark.system
def test_a_relative_home_is_meant_from_here_also_by_the_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.parent)
    served(Path("home")).remember("from here")
    assert ready(home).folder == str(home / "run")


@pytest.mark.system
def test_a_home_too_deep_for_a_socket_is_served(home: Path, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a folder of some length"] * 5, "home")
    shutil.copytree(home, deep)
    served(deep).remember("an otter")
    info = ready(deep)
    assert len(info.http_socket) < 100
    os.kill(info.pid, signal.SIGTERM)
    until(lambda: gone(info.pid))
    assert not os.path.exists(info.folder)


# --- the same answers ------------------------------------------------------------------------------------------------


def test_a_mind_in_the_process_answers_as_one_that_is_opened_here(home: Path, tmp_path: Path) -> None:
    half = "half of a pair: \ud83d"
    source = lines(tmp_path / "a.jsonl", *(turn(f"turn {n} about the otter, {half}", scope="pier") for n in range(300)))
    shown: list[Any] = []
    with served(home) as mind:
        report = mind.capture(source, progress=lambda *news: shown.append(news))
        assert (report.new, report.files, report.scopes) == (300, 1, ["pier"])
        assert report.meaning_error.startswith("The embedding model is not at")
        # Facts are told of where the process has not read them meanwhile.
        assert list(dict.fromkeys(what for what, *_ in shown if what != "facts")) == ["words", "shape"]
        kept = mind.remember(half, scope="pier/deep", session="s", role="assistant")
        assert mind.rebuild(progress=lambda done, total: shown.append((done, total))) <= mind.counts().seq
        until(lambda: not mind.counts().unbound)
        with open_here(home, create=False) as here:
            asked: list[Callable[[Mind], Any]] = [
                lambda one: one.recall("otter", 50, scope="pier", observe=False, trace=True),
                lambda one: one.recall(half, observe=False),
                lambda one: one.shape({"project": "pier", "size": "5", "who": "?"}, 30, scope="pier", observe=False),
                lambda one: one.roles(),
                lambda one: one.get([kept.id]),
                lambda one: one.counts(),
                lambda one: one.folder_scope(str(tmp_path)),
                lambda one: one.remember(half, scope="pier/deep", session="s", role="assistant"),
            ]
            for ask in asked:
                assert ask(mind) == ask(here)
            wrong: list[Callable[[Mind], Any]] = [
                lambda one: one.recall("otter", scope="nowhere"),
                lambda one: one.recall("otter", 0),
                lambda one: one.get([b"\0" * 16]),
                lambda one: one.remember(" "),
                lambda one: one.capture(tmp_path / "gone.jsonl"),
                lambda one: one.embed(),
            ]
            for ask in wrong:
                assert refusal(ask, mind) == refusal(ask, here)
            there, alone = mind.status(), here.status()
        assert msgspec.structs.replace(there, actor_system=alone.actor_system, process=None, store_bytes=0) == (
            msgspec.structs.replace(alone, store_bytes=0)
        )
        assert there.process is not None
        assert there.process["mode"] == "on-demand"
        mind.fork(tmp_path / "fork")
    with open_here(tmp_path / "fork", create=False) as fork:
        assert fork.counts().memories == 301


def refusal(ask: Callable[[Mind], Any], mind: Mind) -> tuple[type[MnemicError], str, str]:
    with pytest.raises(MnemicError) as raised:
        ask(mind)
    return type(raised.value), str(raised.value), raised.value.remedy_text


def test_errors_are_the_classes_they_are_here(shared: Path) -> None:
    for kind, ask in (
        (UnknownScope, lambda mind: mind.recall("otter", scope="nowhere")),
        (NoSuchMemory, lambda mind: mind.get([b"\0" * 16])),
        (InvalidValue, lambda mind: mind.remember("")),
    ):
        with pytest.raises(kind):
            ask(served(shared))
    other = RemoteActorSystem(shared, "other", False, CLOCK)
    with pytest.raises(MindMissing):
        mind_over(other, shared, "other").counts()


def test_folders_and_paths_from_here_are_captured_there(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    lines(tmp_path / "folder" / "a.jsonl", turn("a heron on the roof"))
    odd = lines(tmp_path / "folder" / os.fsdecode(b"b\xff.jsonl"), turn("two herons on the roof"))
    monkeypatch.chdir(tmp_path)
    report = served(shared).capture("folder", embed=False)
    assert (report.new, report.files, report.failed) == (2, 2, [])
    assert served(shared).capture(odd.name and f"folder/{odd.name}", embed=False).known == 1


def test_one_client_serves_many_threads(shared: Path) -> None:
    mind = served(shared)
    kept = together([lambda n=n: mind.remember(f"heron {n}", session=f"s{n}") for n in range(24)])  # type: ignore[misc]
    assert len({one.id for one in kept}) == 24
    found = together([lambda: mind.recall("otter", observe=False).hits[0].data] * 24)
    assert set(found) == {b"an otter on the pier"}


def test_a_command_finds_the_process_and_loads_neither_numpy_nor_the_sdk(shared: Path) -> None:
    for arguments in (["status"], ["recall", "otter", "--scope", "*"]):
        loaded = imported(*arguments, "--home", shared)
        assert "mnemic.runtime.client.client" in loaded
        assert not {"numpy", "mcp", "apsw", "ray", "cryptography", "asyncio", "psutil"} & loaded


def test_the_pipe_loads_neither_numpy_nor_the_sdk(shared: Path) -> None:
    loaded = imported("mcp", "--home", shared)
    assert "mnemic.runtime.client.mcp_pipe" in loaded
    assert not {"numpy", "mcp", "apsw", "ray", "cryptography", "asyncio", "psutil"} & loaded


def imported(*arguments: object) -> set[str]:
    """What a command loads."""
    command = [sys.executable, "-X", "importtime", "-m", "mnemic", *map(str, arguments)]
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=BOUND_S
    )
    return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if line.startswith("import time:")}


def test_standard_input_is_captured_here_while_a_process_serves(shared: Path) -> None:
    given = b'{"session": "stdin", "role": "user", "text": "a stork"}\n'
    command = [*COMMAND, "capture", "-", "--format", "jsonl", "--no-meaning", "--home", str(shared)]
    ended = subprocess.run(command, input=given, capture_output=True, check=True, timeout=BOUND_S)
    assert b"1 new memory" in ended.stdout
    assert served(shared).recall("stork", observe=False).hits[0].data == b"a stork"


# --- lost and found --------------------------------------------------------------------------------------------------


@contextmanager
def losing(home: Path, answers: int) -> Iterator[ServerInfo]:
    """Stand between the clients of a home and its process, and lose so many answers after they were given."""
    real, run_dir = ready(home), RunDir(home)
    folder = Path(tempfile.mkdtemp(prefix="mnemic-", dir="/tmp"))
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(folder / "http.sock"))
    listening.listen(64)
    left = [answers]

    def relay() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as process:
                asked = client.recv(1 << 20)
                if not asked:  # somebody looked whether anybody is here
                    continue
                process.connect(real.http_socket)
                head, _, body = asked.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
                process.sendall(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + b"\r\n\r\n" + body)
                while len(body) < length:
                    part = client.recv(1 << 20)
                    body += part
                    process.sendall(part)
                answer = b""
                while part := process.recv(1 << 20):
                    answer += part
                if left[0]:
                    left[0] -= 1
                else:
                    client.sendall(answer)

    thread = threading.Thread(target=relay)
    thread.start()
    run_dir.publish(msgspec.structs.replace(real, folder=str(folder)))
    try:
        yield real
    finally:
        run_dir.publish(real)
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        shutil.rmtree(folder)


def test_a_write_whose_answer_was_lost_is_asked_for_again_and_not_doubled(shared: Path, tmp_path: Path) -> None:
    mind = served(shared)
    before = mind.counts().memories
    with losing(shared, 2):
        kept = mind.remember("a kingfisher", session="lost")
    assert kept.created  # the first answer, word for word: the request is the same one
    with losing(shared, 1):
        source = lines(tmp_path / "a.jsonl", *(turn(f"kingfisher {n}", session="lines") for n in range(20)))
        assert mind.capture(source, embed=False).new == 20
    assert mind.counts().memories == before + 21


def test_five_answers_lost_in_a_row_are_one_sentence(shared: Path) -> None:
    mind = served(shared)
    with losing(shared, 5), pytest.raises(NotServed, match="5 of them went before they answered"):
        mind.counts()
    assert mind.counts().memories


@pytest.mark.system
def test_a_killed_process_is_replaced_for_whoever_asks_next(home: Path) -> None:
    mind = served(home)
    mind.remember("an otter")
    first = ready(home)
    os.kill(first.pid, signal.SIGKILL)
    assert mind.recall("otter").hits[0].data == b"an otter"
    assert ready(home).pid != first.pid
    until(lambda: gone(first.pid))


# --- one sentence ----------------------------------------------------------------------------------------------------


def test_bad_settings_are_told_by_whoever_wanted_to_start_it(home: Path) -> None:
    good = (home / "mnemic.toml").read_bytes()
    (home / "mnemic.toml").write_text("[recall\n", "utf-8")
    with pytest.raises(NotServed, match=r"does not start: The settings .*mnemic\.toml.*[^.]\.$") as caught:
        served(home).counts()
    assert caught.value.remedy_text.startswith("Try again; ")
    (home / "mnemic.toml").write_bytes(good)
    assert served(home).counts().memories == 0


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(StoreReadOnly, match="cannot be written"):
        served(tmp_path / "file" / "home").counts()


@pytest.mark.system
def test_a_newer_process_is_one_sentence_and_stays(home: Path) -> None:
    with serving(home, protocol=PROTOCOL + 1) as process:
        with pytest.raises(NewerProcess, match=rf"is newer \(protocol {PROTOCOL + 1}\)") as raised:
            served(home).counts()
        assert f"kill {process.pid}" in raised.value.remedy_text
        assert process.poll() is None


@pytest.mark.system
def test_an_older_process_is_drained_and_replaced_once(home: Path) -> None:
    with serving(home, protocol=PROTOCOL - 1) as older:
        kept = together([lambda n=n: served(home).remember(f"otter {n}", session=f"s{n}") for n in range(6)])  # type: ignore[misc]
        assert older.wait(BOUND_S) == 0
    assert all(one.created for one in kept)
    info = ready(home)
    assert (info.protocol, info.mode) == (PROTOCOL, "on-demand")
    assert served(home).counts().memories == 6
    assert ready(home).pid == info.pid


@pytest.mark.parametrize("said", [b"[]", b'{"type": "Counts"}', b'{"type": "Rumour"}', b"\xff", b"[" * 9999])
def test_what_no_process_answers_is_one_sentence(tmp_path: Path, said: bytes) -> None:
    run_dir = RunDir(tmp_path)
    run_dir.acquire_server_lock()
    folder, listening, other = run_dir.bind_sockets()
    run_dir.publish(ServerInfo(protocol=PROTOCOL, pid=os.getpid(), started="1", folder=folder, state="ready"))

    def answer() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client:
                if asked := client.recv(1 << 16):
                    kind = b"application/x-ndjson" if b"ndjson" in asked else b"application/json"
                    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind, len(said))
                    client.sendall(head + said)
                    while client.recv(1 << 16):  # until it has said all, and has gone
                        pass

    thread = threading.Thread(target=answer)
    thread.start()
    actor_system = RemoteActorSystem(tmp_path, "default", True, CLOCK)
    asked: list[Callable[[], Any]] = [
        lambda: actor_system.ask(Count()),
        actor_system.report,
        actor_system.replay_dead_letters,
        actor_system.release_quarantined,
    ]
    try:
        for ask in asked:
            with pytest.raises(NotServed, match="what it answers cannot be read"):
                ask()
        if not said.startswith(b"{"):
            with pytest.raises(NotServed, match="what it answers cannot be read"):
                actor_system.ask(Count(), progress=lambda done, total: None)
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        listening.close()
        other.close()
        run_dir.unpublish()
        run_dir.release_server_lock()


@pytest.mark.system
def test_one_that_has_gone_need_not_be_asked_to_leave(home: Path) -> None:
    ensure_running(home, CLOCK)
    info = ready(home)
    end(home)
    request_drain(info, "a test")
    assert info_of(home) is None
