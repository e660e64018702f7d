"""The pipe: whatever becomes of the process, every request is answered, once, and the assistant notices nothing."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.errors import NewerProcess
from mnemic.runtime.client import launcher, mcp_pipe
from mnemic.runtime.client.mcp_pipe import Pipe
from mnemic.runtime.client.wire import encode_error
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.settings import settings_table
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo
from tests.processes.hosted import HELLO, message, note
from tests.waiting import BOUND_S, until

Life = Callable[["Connection"], None]
"""What the process does with one connection, until it closes it."""


class Connection:
    """A connection as the process sees it, its preface read."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(BOUND_S)
        self.socket = connected
        self._file = connected.makefile("rb")
        self.preface = json.loads(self._file.readline() or b"{}")

    def greet(self, **greeting: Any) -> None:
        self.say({"session": self.preface["session"] or "first", **greeting})

    def say(self, value: Any) -> None:
        self.socket.sendall(json.dumps(value).encode() + b"\n")

    def hear(self) -> Any:
        """The next message; ``None`` at the end."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def answer(self, request: Any, **result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def close(self) -> None:
        self._file.close()
        self.socket.close()


class Process:
    """A home's process that lives as a test says, one connection after the other."""

    def __init__(self, home: Path, lives: list[Life]) -> None:
        self.run_dir = RunDir(home)
        assert self.run_dir.acquire_server_lock()
        folder, self._http, self._mcp = self.run_dir.bind_sockets()
        self.run_dir.publish(ServerInfo(protocol=PROTOCOL, pid=os.getpid(), started="-", folder=folder, state="ready"))
        self.prefaces: list[Any] = []
        self.failed: list[BaseException] = []
        self._lives = lives
        self._thread = threading.Thread(target=self._live)
        self._thread.start()

    def _live(self) -> None:
        try:
            for life in self._lives:
                try:
                    connected, _ = self._mcp.accept()
                except OSError:  # the test is over, and nobody came
                    return
                connection = Connection(connected)
                self.prefaces.append(connection.preface)
                try:
                    life(connection)
                finally:
                    connection.close()
        except BaseException as error:  # raised again by the test
            self.failed.append(error)

    def end(self) -> None:
        self._mcp.shutdown(socket.SHUT_RDWR)
        self._thread.join(BOUND_S)
        for one in (self._http, self._mcp):
            one.close()
        self.run_dir.unpublish()
        self.run_dir.release_server_lock()
        assert not self._thread.is_alive()
        if self.failed:
            raise self.failed[0]


class Host:
    """An assistant at its end of a pipe that runs in a thread."""

    def __init__(self, home: Path) -> None:
        said, self._says = os.pipe()
        self._hears, heard = os.pipe()
        self.said = os.fdopen(said, "rb")
        self.heard = os.fdopen(heard, "wb", buffering=0)
        self.ears = os.fdopen(self._hears, "rb")
        self.pipe = Pipe(home, "default", "/a/folder", SystemClock(), self.heard)
        self.thread = threading.Thread(target=self.pipe.run, args=(self.said,))
        self.thread.start()

    def send(self, *lines: bytes) -> None:
        rest = memoryview(b"".join(lines))
        while rest:
            rest = rest[os.write(self._says, rest) :]

    def hear(self) -> Any:
        return json.loads(self.ears.readline())

    def hush(self) -> None:
        """Say no more."""
        if self._says >= 0:
            os.close(self._says)
            self._says = -1

    def end(self) -> list[Any]:
        """Say no more; what is still heard."""
        self.hush()
        self.thread.join(BOUND_S)
        assert not self.thread.is_alive()
        self.said.close()
        self.heard.close()
        with self.ears:
            return [json.loads(line) for line in self.ears]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., tuple[Host, Process]]]:
    """Start a process that lives so, and an assistant with its pipe."""
    started: list[Host | Process] = []

    def both(*lives: Life) -> tuple[Host, Process]:
        process = Process(tmp_path, list(lives))
        host = Host(tmp_path)
        started.extend((process, host))
        return host, process

    yield both
    for one in reversed(started):
        if isinstance(one, Process) or one.thread.is_alive():
            one.end()


def echo(connection: Connection) -> None:
    """Answer everything, until the pipe has nothing more."""
    connection.greet()
    while (request := connection.hear()) is not None:
        if "id" in request and "method" in request:
            connection.answer(request, method=request["method"])


def test_what_is_said_is_passed_on_and_answered_with_its_own_id(begin: Any) -> None:
    host, process = begin(echo)
    host.send(HELLO, message("a", "ping"), message(2, "tools/list"))
    assert [host.hear() for _ in range(3)] == [
        {"jsonrpc": "2.0", "id": number, "result": {"method": method}}
        for number, method in ((1, "initialize"), ("a", "ping"), (2, "tools/list"))
    ]
    assert host.end() == []
    assert process.prefaces == [{"protocol": PROTOCOL, "mind": "default", "folder": "/a/folder", "session": None}]


def test_what_the_next_process_has_to_answer_is_answered_by_it_and_the_handshake_once(begin: Any) -> None:
    heard: list[Any] = []

    def dies(connection: Connection) -> None:
        connection.greet()
        connection.answer(connection.hear(), method="initialize")
        for _ in range(3):
            connection.hear()

    def lives(connection: Connection) -> None:
        connection.greet()
        heard.extend(connection.hear() for _ in range(4))
        for request in heard:
            if "id" in request:
                connection.answer(request, again=True)
        echo_on(connection)

    host, process = begin(dies, lives)
    host.send(HELLO)
    host.hear()
    host.send(message(7, "tools/call", name="one"), message("7", "tools/call", name="two"))
    answers = [host.hear() for _ in range(2)]
    assert [(one["id"], one["result"]) for one in answers] == [(7, {"again": True}), ("7", {"again": True})]
    assert [request["method"] for request in heard] == [
        *("initialize", "notifications/initialized", "tools/call", "tools/call")
    ]
    assert heard[0]["id"] != 1  # what the assistant has asked for meanwhile may have that number
    assert heard[2]["params"] == {"name": "one"}
    assert host.end() == []
    assert process.prefaces[1]["session"] == "first"


def echo_on(connection: Connection) -> None:
    while (request := connection.hear()) is not None:
        connection.answer(request)


def test_a_handshake_that_was_not_answered_is_answered_by_the_next_process(begin: Any) -> None:
    def dies(connection: Connection) -> None:
        connection.greet()
        connection.hear()

    host, _ = begin(dies, echo)
    host.send(HELLO)
    assert host.hear() == {"jsonrpc": "2.0", "id": 1, "result": {"method": "initialize"}}
    assert host.end() == []


def test_a_process_that_leaves_by_itself_is_followed_when_something_is_wanted(begin: Any) -> None:
    def leaves(connection: Connection) -> None:
        connection.greet()
        connection.answer(connection.hear())

    host, process = begin(leaves, echo)
    host.send(message(1, "ping"))
    host.hear()
    until(lambda: host.pipe._socket is None)
    assert len(process.prefaces) == 1
    host.send(message(2, "ping"))
    assert host.hear()["id"] == 2


def test_ten_deaths_in_a_row_are_an_answer(begin: Any) -> None:
    def dies(connection: Connection) -> None:
        connection.greet()
        connection.hear()

    host, _ = begin(*[dies] * 10, echo)
    host.send(message(3, "ping"))
    answer = host.hear()
    assert answer["id"] == 3
    assert answer["error"]["code"] == -32603
    assert answer["error"]["message"].startswith("not_served: The process of")
    host.send(message(4, "ping"))  # the last one stays, and the request that was given up is not asked of it
    assert host.hear() == {"jsonrpc": "2.0", "id": 4, "result": {"method": "ping"}}
    assert host.end() == []


def test_one_who_dies_before_it_greets_counts_as_well(begin: Any) -> None:
    host, _ = begin(*[lambda connection: None] * 11, echo)
    host.send(message(3, "ping"))
    assert host.hear()["error"]["message"].startswith("not_served")


def test_a_process_that_is_leaving_is_waited_out(begin: Any, tmp_path: Path) -> None:
    def leaving(connection: Connection) -> None:
        run_dir = RunDir(tmp_path)
        info = run_dir.read_info()
        assert info is not None
        run_dir.publish(msgspec.structs.replace(info, pid=1))  # the next one's
        connection.say({"error": {"code": "draining", "error": "It is leaving.", "remedy": "Wait."}})

    host, _ = begin(leaving, echo)
    host.send(message(1, "ping"))
    assert host.hear() == {"jsonrpc": "2.0", "id": 1, "result": {"method": "ping"}}


def test_a_newer_process_is_one_sentence_for_every_request(begin: Any) -> None:
    def newer(connection: Connection) -> None:
        connection.say(
            {
                "error": encode_error(
                    NewerProcess(home="/home", version="9", theirs=2, command="Mnemic 1", ours=1, pid=7)
                )
            }
        )

    host, _ = begin(newer, newer, newer)
    host.send(message(1, "initialize"))
    said = host.hear()["error"]["message"]
    assert "is newer (protocol 2)" in said
    assert said.count(". ") == 1
    host.send(message(2, "ping"))
    assert host.hear() == {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": said}}


def test_where_no_process_can_be_had_every_request_is_told_so_until_one_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").write_text("in the way", "utf-8")
    host = Host(tmp_path)
    host.send(HELLO, message(2, "ping"))
    said = [host.hear() for _ in range(2)]
    assert [one["id"] for one in said] == [1, 2]
    assert all("run cannot be written" in one["error"]["message"] for one in said)
    (tmp_path / "run").unlink()
    process = Process(tmp_path, [echo])
    host.send(message(3, "ping"))
    assert host.hear() == {"jsonrpc": "2.0", "id": 3, "result": {"method": "ping"}}
    assert host.end() == []
    process.end()


def test_answers_that_are_on_their_way_when_the_assistant_has_finished_still_come(begin: Any) -> None:
    asked = threading.Event()

    def late(connection: Connection) -> None:
        connection.greet()
        requests = [connection.hear() for _ in range(2)]
        assert asked.wait(BOUND_S)
        for request in requests:
            connection.answer(request)
        assert connection.hear() is None

    host, _ = begin(late)
    host.send(message(1, "ping"), message(2, "ping").rstrip())
    host.hush()
    asked.set()
    assert [answer["id"] for answer in host.end()] == [1, 2]


NO_JSON, NO_MESSAGE = (-32700, "this is no JSON"), (-32600, "this is no single JSON-RPC message")


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        *((line, NO_JSON) for line in (b"{nothing\n", b"\xff\xfe\n", b'"half\n', b"{} {}\n")),
        *((line, NO_MESSAGE) for line in (b"[]\n", b"7\n", b'{"id": true}\n', b"[" * 100_000 + b"]" * 100_000 + b"\n")),
    ],
)
def test_what_is_no_message_is_answered_whether_a_process_is_there_or_not(
    tmp_path: Path, broken: bytes, told: tuple[int, str]
) -> None:
    (tmp_path / "run").write_text("in the way", "utf-8")
    host = Host(tmp_path)
    host.send(b"\n", broken, b"   \n")
    assert host.hear() == {"jsonrpc": "2.0", "id": None, "error": {"code": told[0], "message": told[1]}}
    assert host.end() == []


def test_a_line_that_is_too_long_is_refused_here(begin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_pipe, "LINE_BYTES", 1 << 20)
    host, _ = begin(echo)
    host.send(message(1, "tools/call", text="x" * (1 << 20)), message(2, "ping"))
    answers = {answer["id"]: answer for answer in (host.hear(), host.hear())}
    assert answers[1]["error"] == {"code": -32600, "message": "a message is at most 1 MiB long"}
    assert answers[2]["result"] == {"method": "ping"}


def test_a_cancelled_request_is_not_said_again_and_nobody_waits_for_it(begin: Any) -> None:
    heard: list[Any] = []

    def dies(connection: Connection) -> None:
        connection.greet()
        connection.answer(connection.hear())
        for _ in range(3):
            connection.hear()

    def lives(connection: Connection) -> None:
        connection.greet()
        heard.append(connection.hear())
        connection.answer(heard[0])
        connection.say({"jsonrpc": "2.0", "id": 1, "result": {}})
        assert connection.hear() is None

    host, _ = begin(dies, lives)
    host.send(message(0, "ping"))
    host.hear()
    odd = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}\n'
    host.send(message(1, "tools/call"), note("notifications/cancelled", requestId=1), odd)
    host.send(message(2, "ping"))
    assert [answer["id"] for answer in host.end()] == [2]
    assert [request["id"] for request in heard] == [2]


def test_what_the_process_says_unasked_passes_in_both_directions(begin: Any) -> None:
    heard: list[Any] = []

    def asks(connection: Connection) -> None:
        connection.greet()
        request = connection.hear()
        connection.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}})
        connection.say({"jsonrpc": "2.0", "id": 1, "method": "ping"})  # its own numbers
        heard.append(connection.hear())
        connection.answer(request)
        assert connection.hear() is None

    host, _ = begin(asks)
    host.send(message(1, "tools/call"))
    assert [host.hear()["method"] for _ in range(2)] == ["notifications/progress", "ping"]
    host.send(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert host.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert heard == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


def test_an_assistant_that_does_not_read_for_a_while_loses_nothing(begin: Any) -> None:
    text = "x" * 10_000

    def talks(connection: Connection) -> None:
        connection.greet()
        while (request := connection.hear()) is not None:
            connection.answer(request, text=text)

    host, _ = begin(talks)
    sending = threading.Thread(target=lambda: host.send(*(message(n, "ping", text=text) for n in range(300))))
    sending.start()
    # All buffers on the way are full by now, or will be: nobody reads before the first answers are there.
    assert host.hear()["id"] == 0
    assert [host.hear()["id"] for _ in range(299)] == list(range(1, 300))
    sending.join(BOUND_S)
    assert host.end() == []


def test_what_is_said_again_is_more_than_any_buffer_holds(begin: Any) -> None:
    text = "x" * 100_000

    def dies(connection: Connection) -> None:
        connection.greet()
        for _ in range(20):
            connection.hear()

    def talks(connection: Connection) -> None:
        connection.greet()
        while (request := connection.hear()) is not None:
            connection.answer(request, text=text)

    host, _ = begin(dies, talks)
    host.send(*(message(n, "ping", text=text) for n in range(20)))
    assert sorted(host.hear()["id"] for _ in range(20)) == list(range(20))


@pytest.fixture
def soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings by which a process hangs that has answered nothing for 0.3 s."""
    (tmp_path / "mnemic.toml").write_text("[runtime]\nask_timeout_s = 0.2\n", "utf-8")
    monkeypatch.setattr(mcp_pipe, "_ANSWER_GRACE_S", 0.1)
    monkeypatch.setattr(mcp_pipe, "_FLUSH_TIMEOUT_S", 0.1)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("answers", [0, 2])
def test_a_process_that_hangs_is_given_up_once_the_assistant_has_finished(begin: Any, answers: int) -> None:
    over = threading.Event()

    def hangs(connection: Connection) -> None:
        connection.greet()
        for _ in range(answers):
            connection.answer(connection.hear())
        assert over.wait(BOUND_S)

    host, _ = begin(hangs)
    host.send(*(message(number, "ping") for number in range(3)))
    said = {one["id"]: one for one in host.end()}
    over.set()
    assert sorted(said) == [0, 1, 2]
    assert ["result" in said[number] for number in range(3)] == [number < answers for number in range(3)]
    assert "has answered nothing for 0.3 s" in said[2]["error"]["message"]


@pytest.mark.usefixtures("soon")
def test_one_that_does_not_even_greet_is_given_up_as_well(begin: Any) -> None:
    over = threading.Event()
    host, _ = begin(lambda connection: over.wait(BOUND_S) and None)
    host.send(message(1, "ping"))
    (said,) = host.end()
    over.set()
    assert said["error"]["code"] == -32603


@pytest.mark.usefixtures("soon")
def test_one_that_reads_nothing_any_more_does_not_keep_the_assistants_last_words(begin: Any) -> None:
    over = threading.Event()

    def deaf(connection: Connection) -> None:
        connection.greet()
        assert over.wait(BOUND_S)

    host, _ = begin(deaf, deaf)
    host.send(*(message(number, "ping", text="x" * 100_000) for number in range(20)))  # more than buffers hold
    said = host.end()
    over.set()
    assert sorted(one["id"] for one in said) == list(range(20))
    assert {one["error"]["code"] for one in said} == {-32603}


def test_so_long_a_pipe_waits_as_the_settings_have_a_face_wait(tmp_path: Path) -> None:
    (default,) = (setting.default for setting in settings_table() if setting.name == "runtime.ask_timeout_s")
    assert mcp_pipe._ask_timeout_s(tmp_path) == default
    for text, expected in (("[runtime]\nask_timeout_s = 7", 7.0), ("[runtime", default), ("runtime = 3", default)):
        (tmp_path / "mnemic.toml").write_text(text, "utf-8")
        assert mcp_pipe._ask_timeout_s(tmp_path) == expected


def test_an_assistant_that_has_gone_ends_the_pipe(begin: Any) -> None:
    def late(connection: Connection) -> None:
        connection.greet()
        connection.answer(connection.hear())
        assert connection.hear() is None

    host, _ = begin(late)
    host.ears.close()
    host.send(message(1, "ping"))
    host.hush()
    host.thread.join(BOUND_S)
    assert not host.thread.is_alive()
    host.said.close()
    host.heard.close()


def test_nothing_waits_longer_than_the_process_takes_to_leave() -> None:
    assert launcher._DRAIN_TIMEOUT_S < BOUND_S
