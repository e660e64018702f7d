"""Who comes by TCP and dawdles is given up: at any step, with a sentence where there is somebody to read one."""

from __future__ import annotations

import asyncio.constants
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemic.runtime.serve.http import http_server
from mnemic.runtime.serve.http.tcp import bind_tcp
from tests.processes.hosted import Hosted, hosted
from tests.waiting import BOUND_S, until

HEAD = b"POST /api/count HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMnemic-Create: 1\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\n{}"


@contextmanager
def listening(home: Path, token: Path | None = None) -> Iterator[Hosted]:
    with hosted(home, bind_tcp("127.0.0.1:0", token=token, certificate=None, key=None)) as faces:
        yield faces


@contextmanager
def connected(faces: Hosted) -> Iterator[socket.socket]:
    with closing(socket.create_connection(faces.tcp[:2], BOUND_S)) as connection:
        yield connection


def heard(connection: socket.socket) -> bytes:
    """All that is said until the connection is closed."""
    with connection.makefile("rb") as answer:
        return answer.read()


@pytest.mark.parametrize(
    ("said", "slow"),
    [
        (HEAD, "HEADERS_TIMEOUT_S"),
        (HEAD + b"Content-Length: 2\r\n\r\n{", "BODY_TIMEOUT_S"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "BODY_TIMEOUT_S"),
    ],
    ids=["headers", "body", "chunked"],
)
def test_half_a_request_is_given_up_and_told_why(
    home: Path, monkeypatch: pytest.MonkeyPatch, said: bytes, slow: str
) -> None:
    monkeypatch.setattr(http_server, slow, 0.05)
    with listening(home) as faces, connected(faces) as connection:
        connection.sendall(said)
        head, _, body = heard(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["error"] == "The body cannot be taken: the request was not whole within 0.05 s."
        assert faces.post("/api/count", Mnemic_Create="1").status == 200


@pytest.mark.parametrize("said", [b"", WHOLE], ids=["nothing", "nothing more"])
def test_who_says_nothing_or_nothing_more_is_let_go_without_a_word(
    home: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(http_server, "HEADERS_TIMEOUT_S", 1.0)
    monkeypatch.setattr(http_server, "_KEEP_ALIVE_S", 1_000_000)
    with listening(home) as faces, connected(faces) as connection:
        connection.sendall(said)
        assert heard(connection).count(b"HTTP/1.1 ") == bool(said)


@pytest.mark.parametrize(
    ("said", "status"),
    [(HEAD, b"401"), (HEAD.replace(b"/api/count", b"/healthz"), b"405"), (HEAD.replace(b"POST", b"GET"), b"401")],
    ids=["no token", "not that method", "a body of a GET"],
)
@pytest.mark.parametrize("begun", [b"", b"{"], ids=["no body", "some of it"])
def test_who_is_answered_before_the_body_is_whole_is_let_go_at_once(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes, status: bytes, begun: bytes
) -> None:
    for name in ("HEADERS_TIMEOUT_S", "BODY_TIMEOUT_S", "ANSWER_TIMEOUT_S", "_KEEP_ALIVE_S"):
        monkeypatch.setattr(http_server, name, 1_000_000)
    with listening(home, tmp_path / "none") as faces, connected(faces) as connection:
        connection.sendall(said + b"Content-Length: 60000000\r\n\r\n" + begun)
        answer = heard(connection)
        assert answer.startswith(b"HTTP/1.1 %b " % status)
        assert answer.count(b"HTTP/1.1 ") == 1


def test_headers_that_come_in_drops_gain_no_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEADERS_TIMEOUT_S", 0.2)
    with listening(home) as faces, connected(faces) as connection:
        connection.sendall(HEAD)

        def refused() -> bool:
            try:
                connection.sendall(b"X: y\r\n")
            except ConnectionError:
                return True
            return False

        until(refused, pause_s=0.02)


def test_a_request_whose_answer_takes_longer_is_answered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADERS_TIMEOUT_S", "BODY_TIMEOUT_S", "ANSWER_TIMEOUT_S"):
        monkeypatch.setattr(http_server, name, 1.0)
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

    tcp = bind_tcp("127.0.0.1:0", token=None, certificate=None, key=None)
    with hosted(home, tcp, minds=Slow()) as faces, connected(faces) as asking:
        asking.sendall(WHOLE)
        assert entered.wait(BOUND_S)
        with connected(faces) as later:
            assert heard(later) == b""
        go.set()
        assert asking.recv(12) == b"HTTP/1.1 200"


@pytest.mark.system
def test_an_answer_that_is_not_read_is_given_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "ANSWER_TIMEOUT_S", 0.05)
    with listening(home) as faces, connected(faces) as connection:
        connection.setblocking(False)
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100

        def given_up() -> bool:
            try:
                connection.send(request)
            except BlockingIOError:
                return False
            except ConnectionError:
                return True
            return False

        until(given_up)


def test_who_does_not_shake_hands_over_tls_is_let_go(
    home: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEADERS_TIMEOUT_S", 1.0)
    monkeypatch.setattr(asyncio.constants, "SSL_HANDSHAKE_TIMEOUT", 1e6)
    tcp = bind_tcp("127.0.0.1:0", token=None, certificate=certificate[0], key=certificate[1])
    with hosted(home, tcp) as faces, connected(faces) as connection:
        assert heard(connection) == b""
