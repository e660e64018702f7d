"""All faces on one loop: they start in any thread, leave signals and the sockets' paths alone, and tell no secrets."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemic.runtime.clock import SystemClock
from tests.paths import ROOT
from tests.processes.hosted import HELLO, Hosted, UnixConnection, hosted, tool_call
from tests.waiting import BOUND_S

MAIN = """
import signal, socket, sys, tempfile, threading
from pathlib import Path
from tests.processes.hosted import Hosted, RecordingServerControl, OpenMinds
from mnemic.runtime.clock import SystemClock

home, folder = Path(sys.argv[1]), Path(tempfile.mkdtemp(dir="/tmp"))
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: None)
before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
minds = OpenMinds(home)
faces = Hosted(home, minds, RecordingServerControl(home), folder, None, SystemClock())

def use():
    faces.faces.ready.wait()
    print(faces.request("GET", "/healthz").json["state"])
    print(before == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)])
    faces.faces.stop(1.0)

threading.Thread(target=use).start()
faces.faces.run()
print(sorted(path.name for path in folder.iterdir()))
"""


def test_the_main_thread_serves_too_and_its_signals_stay_its_own(home: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", MAIN, str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert (ended.stdout.splitlines(), ended.stderr) == (["ready", "True", "['http.sock', 'mcp.sock']"], "")


def test_who_is_stopped_before_it_began_ends_at_once(home: Path) -> None:
    with hosted(home) as faces:
        faces.faces.stop(1.0)
        faces.thread.join(BOUND_S)
        again = Hosted(home, faces.minds, faces.server_control, _below(faces.http.parent), None, SystemClock())
        again.faces.stop(0.0)
        again.faces.run()


def _below(folder: Path) -> Path:
    (folder / "again").mkdir()
    return folder / "again"


class Failing:
    """Minds that are not to be had, and say why in words that nobody should read."""

    @contextmanager
    def use(self, name: str, create: bool) -> Iterator[Any]:
        raise ZeroDivisionError("a secret otter")
        yield


def test_no_log_repeats_what_was_said(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with hosted(home, minds=Failing()) as faces:
        answers = faces.call(
            HELLO,
            tool_call(2, "memory_capture", text="a secret otter"),
            tool_call(3, "a_secret_otter", text="a secret otter"),
            tool_call(4, "memory_recall", query=["a secret otter"]),
            b'{"a secret otter"\n',
            b'{"jsonrpc":"2.0","id":5,"method":"a secret otter"}\n',
            b'{"jsonrpc":"2.0","method":"notifications/a secret otter"}\n',
            until=6,
        )
        assert "otter" not in str(next(one for one in answers if one["id"] == 2))
        faces.post("/api/recall", {"query": "a secret otter"})
        faces.post("/api/a-secret-otter")
        faces.post("/mcp", {"a secret otter": 1}, Content_Type="application/json", Accept="application/json")
    assert "ZeroDivisionError" in caplog.text
    assert "otter" not in caplog.text


def test_an_idle_connection_does_not_hold_up_the_end(home: Path) -> None:
    with hosted(home) as faces:
        connection = UnixConnection(faces.http)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        faces.faces.stop(BOUND_S)
        faces.thread.join(BOUND_S / 2)
        assert not faces.thread.is_alive()
        connection.close()


def test_what_is_begun_over_http_is_answered_before_the_end(home: Path) -> None:
    entered, go = threading.Event(), threading.Event()

    class Slow:
        @contextmanager
        def use(self, name: str, create: bool) -> Iterator[Any]:
            entered.set()
            assert go.wait(BOUND_S)
            yield self

        actor_system = property(lambda self: self)

        def ask(self, *_: Any, **__: Any) -> None:
            """Answer with nothing."""

    with hosted(home, minds=Slow()) as faces:
        answers: list[Any] = []
        caller = threading.Thread(target=lambda: answers.append(faces.post("/api/count")))
        caller.start()
        assert entered.wait(BOUND_S)
        faces.faces.stop(BOUND_S)
        go.set()
        caller.join(BOUND_S)
        assert [answer.status for answer in answers] == [200]


def test_no_handler_of_a_library_stays_behind(home: Path) -> None:
    before = {name: list(logging.getLogger(name).handlers) for name in ("mcp", "uvicorn", "asyncio")}
    with hosted(home):
        pass
    assert {name: list(logging.getLogger(name).handlers) for name in before} == before
