"""The raw stream: every line has its answer, one client's nonsense is nobody else's trouble, and leaving is orderly."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.errors import ActorStopped, InvalidValue, NewerProcess, OlderProcess
from mnemic.runtime.client.wire import decode_error
from mnemic.runtime.minds.run_dir import OLDEST_PIPE, PROTOCOL
from mnemic.runtime.serve.mcp import stream as mcp_stream
from mnemic.runtime.serve.server_control import MAX_CONCURRENT_VERBS
from tests.processes.hosted import HELLO, Hosted, Wire, bound, hosted, message, note, together, tool_call
from tests.waiting import BOUND_S, until


@pytest.fixture
def faces(home: Path) -> Iterator[Hosted]:
    """Faces of a home without a model."""
    with hosted(home) as faces:
        yield faces


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """Faces of a home without a model, for tests that keep nothing there."""
    home = tmp_path_factory.mktemp("stream") / "home"
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n', "utf-8")
    with hosted(home) as faces:
        yield faces


def structured(answer: Any) -> Any:
    """What a tool gave."""
    assert not answer["result"]["isError"], answer
    return answer["result"]["structuredContent"]


# --- who calls -------------------------------------------------------------------------------------------------------


def test_a_caller_is_greeted_and_named(faces: Hosted) -> None:
    with Wire(faces.mcp) as one, Wire(faces.mcp) as other, Wire(faces.mcp, {"session": "mcp-mine"}) as again:
        assert one.greeting["protocol"] == PROTOCOL
        assert one.greeting["version"] == mnemic.__version__
        assert one.greeting["session"].startswith("mcp-")
        assert one.greeting["session"] != other.greeting["session"]
        assert again.greeting["session"] == "mcp-mine"
        again.send(HELLO, tool_call(2, "memory_capture", text="an otter"))
        assert again.hear()["id"] == 1
        kept = structured(again.hear())
        again.send(tool_call(3, "memory_get", ids=[kept["id"]]))
        assert structured(again.hear())["memories"][0]["session"] == "mcp-mine"


@pytest.mark.parametrize(
    "preface",
    [
        b"",
        b"not json",
        b"[]",
        b"[" * 50_000,
        b"\xff\xfe",
        b"x" * (1 << 17),
        b'{"protocol": %d, "mind": 7}' % PROTOCOL,
        b'{"protocol": %d, "folder": []}' % PROTOCOL,
        b'{"protocol": "one"}',
    ],
)
def test_a_first_line_that_does_not_say_who_calls_is_refused(shared: Hosted, preface: bytes) -> None:
    with Wire(shared.mcp, preface) as wire:
        error = decode_error(wire.greeting["error"])
        assert isinstance(error, InvalidValue)
        assert f'{{"protocol": {PROTOCOL}, ' in error.remedy_text or "it is no number" in str(error)
        assert wire.hear() is None


def test_a_caller_of_another_protocol_is_told_so(shared: Hosted) -> None:
    for theirs, kind in ((PROTOCOL + 1, OlderProcess), (OLDEST_PIPE - 1, NewerProcess)):
        with Wire(shared.mcp, {"protocol": theirs}) as wire:
            assert isinstance(decode_error(wire.greeting["error"]), kind)
            assert wire.hear() is None


def test_a_process_that_is_leaving_takes_no_new_caller(faces: Hosted) -> None:
    faces.server_control.state = "draining"
    with Wire(faces.mcp) as wire:
        assert wire.greeting["error"]["code"] == "draining"


def test_minds_are_told_apart(faces: Hosted) -> None:
    faces.call(HELLO, tool_call(2, "memory_capture", text="an otter"), preface={"mind": "one"}, until=2)
    for mind, count in (("one", 1), ("two", 0)):
        answers = faces.call(
            HELLO, tool_call(2, "memory_recall", query="otter", scope="*"), preface={"mind": mind}, until=2
        )
        assert len(structured(answers[1])["hits"]) == count
    wrong = faces.call(HELLO, tool_call(2, "memory_status"), preface={"mind": "../etc"}, until=2)
    assert wrong[1]["result"]["content"][0]["text"].startswith("invalid_value: ")


# --- nonsense --------------------------------------------------------------------------------------------------------

NONSENSE: list[tuple[bytes, Any]] = [
    (b"not json\n", (None, -32700)),
    (b"\xff\xfe\x00\n", (None, -32700)),
    (b'{"half":\n', (None, -32700)),
    (b"[" * 100_000 + b"\n", (None, -32700)),
    (b"[]\n", (None, -32600)),
    (b'"text"\n', (None, -32600)),
    (b"[" + message(5, "ping").strip() + b"]\n", (None, -32600)),
    (b'{"jsonrpc":"1.0","id":6,"method":"ping"}\n', (6, -32600)),
    (b'{"jsonrpc":"2.0","id":[6],"method":"ping"}\n', (None, -32600)),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', (None, -32600)),
    (b'{"id":"seven"}\n', ("seven", -32600)),
    (b'{"jsonrpc":"2.0","id":8,"method":"no/such"}\n', (8, -32601)),
    (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":7}}\n', (9, -32602)),
    (message(10, "prompts/get", name="none"), (10, None)),
    (b'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":[]}\n', (11, -32600)),
]


@pytest.mark.parametrize(("line", "expected"), NONSENSE)
def test_a_line_that_is_no_request_is_answered_and_the_next_one_too(shared: Hosted, line: bytes, expected: Any) -> None:
    with Wire(shared.mcp) as wire:
        wire.send(HELLO, b"\n", b"  \n")
        assert wire.hear()["id"] == 1
        wire.send(line)
        answer = wire.hear()
        assert answer["id"] == expected[0]
        if expected[1] is not None:
            assert answer["error"]["code"] == expected[1]
        wire.send(message(99, "ping"))
        assert wire.hear() == {"jsonrpc": "2.0", "id": 99, "result": {}}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "-1", "0", "9" * 30, "9" * 5000, "1.5", '"1"', "true"])
@pytest.mark.parametrize("name", ["k", "budget_tokens"])
def test_a_number_that_cannot_be_is_refused_and_never_an_actors_failure(shared: Hosted, number: str, name: str) -> None:
    call = tool_call(2, "memory_recall", query="otter", scope="*", **{name: 12345}).replace(b"12345", number.encode())
    answers = shared.call(HELLO, call, message(3, "ping"), until=3)
    by_id = {answer["id"]: answer for answer in answers}
    assert {1, 3} < set(by_id)
    if 2 in by_id:
        text = by_id[2]["result"]["content"][0]["text"]
        assert not by_id[2]["result"]["isError"] or text.startswith("invalid_value: "), text
    else:
        assert by_id[None]["error"]["code"] == -32700
    with shared.minds.use("default", True) as mind:
        assert all(actor.failures == 0 for actor in mind.actor_system.report().actors)


def test_a_line_of_ten_megabytes_is_taken_and_one_beyond_the_longest_ends_that_connection(faces: Hosted) -> None:
    text = "otter " * (10 << 20 >> 2)
    with Wire(faces.mcp) as wire:
        wire.send(HELLO, tool_call(2, "memory_capture", text=text))
        assert wire.hear()["id"] == 1
        assert structured(wire.hear())["created"]
        with suppress(ConnectionError):  # it may be closed before all is said
            wire.send(b'"' + b"x" * (65 << 20) + b'"\n')
            assert wire.hear() is None
    assert faces.call(HELLO)[0]["id"] == 1


def test_half_a_surrogate_pair_is_answered_and_kept_written_out(faces: Hosted) -> None:
    with Wire(faces.mcp) as wire:
        wire.send(HELLO, tool_call(2, "memory_capture", text="half an otter \ud83d", scope="s"))
        assert wire.hear()["id"] == 1
        assert structured(wire.hear())["created"]
        wire.send(tool_call("\ud83d", "memory_recall", query="otter \ud83d", scope="s"))
        answer = wire.hear()
        assert (answer["id"], structured(answer)["hits"][0]["text"]) == (r"\ud83d", r"half an otter \ud83d")


# --- crowds and cancelling -------------------------------------------------------------------------------------------


@pytest.mark.system
def test_a_hundred_clients_at_once_are_all_answered(faces: Hosted) -> None:
    def client(number: int) -> Any:
        with Wire(faces.mcp) as wire:
            wire.send(HELLO, tool_call(2, "memory_capture", text=f"otter number {number}", scope="s"))
            assert wire.hear()["id"] == 1
            kept = structured(wire.hear())["id"]
            wire.send(tool_call(3, "memory_recall", query=f"number {number}", scope="s", k=1))
            return kept, structured(wire.hear())["hits"][0]["id"]

    found = together([lambda number=number: client(number) for number in range(100)])  # type: ignore[misc]
    assert len({kept for kept, _ in found}) == 100
    assert all(kept == hit for kept, hit in found)


class Held:
    """Minds that are not to be had until they are let go."""

    def __init__(self) -> None:
        self.entered, self.go, self.left = threading.Semaphore(0), threading.Event(), threading.Semaphore(0)

    @contextmanager
    def use(self, name: str, create: bool) -> Iterator[Any]:
        self.entered.release()
        assert self.go.wait(BOUND_S)
        yield self
        self.left.release()

    def status_view(self) -> dict[str, Any]:
        return {"otters": 1, "counts": {"scopes": []}, "use": {"projects": []}}


@pytest.fixture
def held(home: Path) -> Iterator[tuple[Hosted, Held]]:
    """Faces whose minds wait."""
    minds = Held()
    with hosted(home, minds=minds) as faces:
        try:
            yield faces, minds
        finally:
            minds.go.set()


def begin(wire: Wire, minds: Held, *numbers: int) -> None:
    """Begin calls that wait."""
    wire.send(HELLO, *(tool_call(number, "memory_status") for number in numbers))
    assert wire.hear()["id"] == 1
    for _ in numbers:
        assert minds.entered.acquire(timeout=BOUND_S)


def test_cancelled_calls_free_their_places(held: tuple[Hosted, Held]) -> None:
    faces, minds = held
    with Wire(faces.mcp) as wire:
        begin(wire, minds, *range(2, 2 + MAX_CONCURRENT_VERBS))
        wire.send(tool_call(1000, "memory_status"), message(1001, "ping"))
        assert wire.hear()["id"] == 1001
        assert not minds.entered.acquire(blocking=False)
        wire.send(note("notifications/cancelled", requestId=2))
        assert minds.entered.acquire(timeout=BOUND_S)


def test_a_cancelled_call_gets_no_answer_and_the_others_do(held: tuple[Hosted, Held]) -> None:
    faces, minds = held
    with Wire(faces.mcp) as wire:
        begin(wire, minds, 2, 3)
        wire.send(note("notifications/cancelled", requestId=2), message(4, "ping"))
        assert wire.hear()["id"] == 4
        minds.go.set()
        assert wire.hear()["id"] == 3
        wire.send(message(5, "ping"))
        assert wire.hear()["id"] == 5


def test_a_client_that_is_gone_leaves_nothing_behind(held: tuple[Hosted, Held]) -> None:
    faces, minds = held
    for _ in range(3):
        with Wire(faces.mcp) as wire:
            begin(wire, minds, 2)
    connections = faces.stream._connections
    until(lambda: not connections)
    minds.go.set()
    for _ in range(3):
        assert minds.left.acquire(timeout=BOUND_S), "what was begun runs to its end"


def test_a_client_that_reads_nothing_is_read_no_further(faces: Hosted) -> None:
    with Wire(faces.mcp) as wire:
        wire.socket.settimeout(1.0)
        lists = b"".join(message(number, "tools/list") for number in range(2000))
        with pytest.raises(TimeoutError):
            wire.socket.sendall(HELLO + 2000 * lists)
        assert faces.request("GET", "/healthz").status == 200
        assert faces.call(HELLO, until=1)[0]["id"] == 1


# --- leaving ---------------------------------------------------------------------------------------------------------


def test_who_leaves_answers_what_is_begun_and_reads_no_more(held: tuple[Hosted, Held]) -> None:
    faces, minds = held
    with Wire(faces.mcp) as wire, Wire(faces.mcp) as idle:
        begin(wire, minds, 2)
        faces.faces.stop(BOUND_S)
        assert idle.hear() is None
        wire.send(tool_call(3, "memory_status"))
        minds.go.set()
        assert structured(wire.hear())["otters"] == 1
        assert wire.hear() is None
        faces.thread.join(BOUND_S)
        assert not faces.thread.is_alive()


def test_who_leaves_gives_up_what_takes_too_long(held: tuple[Hosted, Held]) -> None:
    faces, minds = held
    with Wire(faces.mcp) as wire:
        begin(wire, minds, 2)
        faces.faces.stop(0.1)
        faces.thread.join(BOUND_S)
        assert not faces.thread.is_alive()
        assert wire.hear() is None, "no refusal: whoever comes next answers it"


class Leaving(Held):
    """Minds that are closed while they are wanted."""

    @contextmanager
    def use(self, name: str, create: bool) -> Iterator[Any]:
        with super().use(name, create):
            raise ActorStopped(actor="store", message="Apply")
        yield


def test_a_call_that_fails_because_the_process_leaves_is_not_refused(home: Path) -> None:
    minds = Leaving()
    with hosted(home, minds=minds) as faces, Wire(faces.mcp) as wire:
        begin(wire, minds, 2)
        faces.faces.stop(BOUND_S)
        minds.go.set()
        assert wire.hear() is None
        faces.thread.join(BOUND_S)
        assert not faces.thread.is_alive()


def test_where_the_process_stays_after_all_such_a_call_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_stream, "_SHUTDOWN_TIMEOUT_S", 0.05)
    minds = Leaving()
    with hosted(home, minds=minds) as faces, Wire(faces.mcp) as wire:
        begin(wire, minds, 2)
        minds.go.set()
        assert wire.hear()["result"]["content"][0]["text"].startswith("actor_stopped: store is stopping")


@pytest.mark.parametrize("left", [b"", b"{", HELLO + tool_call(2, "memory_status")[:20]])
def test_half_a_word_holds_nobody_up(shared: Hosted, left: bytes) -> None:
    for said in (left, json.dumps({"protocol": PROTOCOL}).encode() + b"\n" + left):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(shared.mcp))
            client.sendall(said)
    until(lambda: not shared.stream._connections)


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_that_came_as_the_server_left_is_closed(tmp_path: Path, turns: int) -> None:
    async def leave(client: socket.socket) -> None:
        server = mcp_stream.McpSocketServer(None, None, "0")  # type: ignore[arg-type]
        await server.start(bound(tmp_path / "mcp.sock"))
        client.connect(str(tmp_path / "mcp.sock"))
        client.shutdown(socket.SHUT_WR)
        for _ in range(turns):  # of the loop: before it is accepted, before it is handled, and after
            await asyncio.sleep(0)
        await server.stop(BOUND_S)

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, suppress(ConnectionResetError):
        client.settimeout(BOUND_S)
        asyncio.run(leave(client))
        gc.collect()  # what the server forgot to close warns, which is an error here
        assert client.recv(1) == b""
