"""A service manager's socket, and what is started for it: whoever needs the process gets one, and never waits in vain.

The manager is played by a few lines of Python: they hand the socket over as sd_listen_fds(3) says, to a real process.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.runtime.client.service_socket import SERVICE_SOCKET, release_waiting, wake_service
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.version import __version__
from tests.processes.another import AnotherMnemic
from tests.processes.faces import COMMAND, Outcome, finish, start
from tests.processes.serving import OTHER, end, ready
from tests.waiting import BOUND_S

_HANDS_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture
def listening(home: Path) -> Iterator[socket.socket]:
    """The manager's socket of the home."""
    (home / "run").mkdir(mode=0o700)
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as made:
        made.bind(str(home / "run" / SERVICE_SOCKET))
        made.listen()
        yield made
    end(home)


Activate = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def activate(home: Path, listening: socket.socket) -> Iterator[Activate]:
    """Does what a manager does once somebody has connected: starts the service, and hands the socket over."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(program: tuple[str, ...] = COMMAND, *options: str) -> subprocess.Popen[bytes]:
        assert select.select([listening], [], [], BOUND_S)[0], "nobody has connected"
        number = listening.fileno()
        words = [sys.executable, "-c", _HANDS_OVER, str(number), *program]
        words += ["serve", "--engine", "embedded", "--home", str(home), *options]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(words, pass_fds=[number], stdin=pipe, stdout=pipe, stderr=pipe))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wanted(home: Path) -> subprocess.Popen[bytes]:
    """What a client or a hook starts where it finds no process."""
    return start("serve", "--on-demand", "--home", home)


@pytest.mark.system
def test_whoever_needs_a_process_has_the_service_started_and_comes_to_it(home: Path, activate: Activate) -> None:
    clients = [wanted(home), wanted(home)]
    service = activate()
    assert [finish(one) for one in clients] == [Outcome(0, "", "")] * 2
    info = ready(home)
    assert (info.pid, info.mode) == (service.pid, "foreground")  # the service's own, which does not leave when idle


@pytest.mark.system
def test_a_service_lets_late_callers_go_and_leaves_none_for_whom_it_would_be_started_again(
    home: Path, activate: Activate, listening: socket.socket
) -> None:
    client = wanted(home)
    service = activate()
    finish(client)
    ready(home)
    with closing(late_caller(home)) as late:
        assert late.recv(1) == b""
    with closing(late_caller(home)) as later:
        service.send_signal(signal.SIGTERM)  # before it looks again
        assert later.recv(1) == b""
        assert service.wait(BOUND_S) == 0
    assert not select.select([listening], [], [], 0)[0]


def late_caller(home: Path) -> socket.socket:
    """Connects to the manager's socket as `wake_service` does."""
    caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    caller.settimeout(20.0)  # within which a service that serves is to look
    caller.connect(str(home / "run" / SERVICE_SOCKET))
    return caller


@pytest.mark.system
def test_where_the_service_cannot_serve_the_process_that_was_wanted_does(home: Path, activate: Activate) -> None:
    client = wanted(home)
    try:
        service = finish(activate(COMMAND, "--http", "no-such-host.invalid:0"))
        assert service.code == 2  # of which systemd is told not to try again
        info = ready(home)
        assert (info.pid, info.mode) == (client.pid, "on-demand")
    finally:
        client.kill()
        client.communicate()


@pytest.mark.system
def test_a_service_of_an_older_version_makes_room_for_the_process_that_was_wanted(
    home: Path, activate: Activate
) -> None:
    client = wanted(home)
    try:
        service = activate((sys.executable, "-c", OTHER.format(PROTOCOL - 1)))
        info = ready(home)
        while info.pid == service.pid:
            info = ready(home, but=service.pid)
        assert (info.pid, info.protocol, info.mode) == (client.pid, PROTOCOL, "on-demand")
    finally:
        client.kill()
        client.communicate()


def test_where_nobody_listens_nobody_waits(home: Path) -> None:
    assert not wake_service(home / "run")
    (home / "run").mkdir()
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(home / "run" / SERVICE_SOCKET))
    left.close()  # its file stays, as where a unit was removed by hand
    assert not wake_service(home / "run")
    assert not wake_service(home / ("deep/" * 60))


def test_a_socket_that_was_passed_to_another_process_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTEN_PID", str(os.getppid()))
    monkeypatch.setenv("LISTEN_FDS", "1")
    with release_waiting() as release:
        release()
        assert "LISTEN_FDS" not in os.environ  # nor does a process that this one starts take it for its own


@pytest.mark.parametrize("passed", ["nothing", "a file", "a socket that does not listen", "a port"])
def test_what_is_no_socket_of_a_managers_is_refused_in_a_sentence(home: Path, passed: str) -> None:
    making = {
        "nothing": "os.closerange(3, 4)",
        "a file": "os.dup2(os.open(sys.executable, os.O_RDONLY), 3)",
        "a socket that does not listen": "one = socket.socket(socket.AF_UNIX); os.dup2(one.fileno(), 3)",
        "a port": "one = socket.create_server(('127.0.0.1', 0)); os.dup2(one.fileno(), 3)",
    }[passed]
    line = (
        f"import os, socket, sys; {making}; os.set_inheritable(3, True) if {passed != 'nothing'} else None;"
        " os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = [sys.executable, "-c", line, *COMMAND, "serve", "--engine", "embedded", "--home", str(home)]
    refused = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=BOUND_S, check=False)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"LISTEN_FDS cannot be '1': descriptor 3 is no Unix socket that listens" in refused.stderr
    assert b"Traceback" not in refused.stderr


@pytest.mark.system
def test_a_service_whose_installation_was_replaced_leaves_and_the_manager_starts_the_next_one(
    home: Path, activate: Activate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = AnotherMnemic(tmp_path / "installed", __version__)
    monkeypatch.setenv("PYTHONPATH", installed.environment["PYTHONPATH"])
    program = (sys.executable, "-P", "-m", "mnemic")  # the code of this folder would come first
    client = wanted(home)
    service = activate(program)
    assert ready(home).pid == service.pid
    installed.change("runtime/version.py", r'__version__ = ".*"', '__version__ = "0.2.9"')
    assert service.wait(BOUND_S) == 0, "started again by itself, it would not have the socket"
    finish(client)
    again = wanted(home)
    following = activate(program)
    seen = ready(home, but=service.pid)
    assert (seen.pid, seen.version) == (following.pid, "0.2.9")
    finish(again)
