"""Requests that are cut off or garbled: the owner is answered, and nothing of them is left."""

from __future__ import annotations

import random
import socket
import sys
import threading
from pathlib import Path

import pytest

from mnemic.bench.faults import half_requests
from mnemic.bench.faults.audit import Flaw, attack_row
from mnemic.bench.harness import processes

IMPATIENT = (
    sys.executable,
    "-c",
    "from mnemic.runtime.serve.http import http_server as server\n"
    "server.HEADERS_TIMEOUT_S, server.BODY_TIMEOUT_S, server.ANSWER_TIMEOUT_S = 1.0, 2.0, 2.0\n"
    "from mnemic.cli.main import main\n"
    "main()",
)
"""The command, with deadlines of seconds where the real ones are a minute."""


@pytest.mark.system
def test_half_a_request_over_the_socket_costs_the_owner_nothing(attacked_home: Path, tmp_path: Path) -> None:
    unix, _ = half_requests.attacks(lambda: attacked_home, tmp_path, 18, 0)
    row = attack_row(unix)
    assert (row["what"], row["state"], row["tried"]) == ("requests/unix", "ok", 18), row


@pytest.mark.system
def test_over_tcp_every_connection_is_closed_at_its_deadline(
    attacked_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "COMMAND", IMPATIENT)
    _, tcp = half_requests.attacks(lambda: attacked_home, tmp_path, 18, 0)
    row = attack_row(tcp)
    assert (row["what"], row["state"]) == ("requests/tcp", "ok"), row


def test_the_request_of_a_number_is_always_the_same_and_none_is_whole() -> None:
    whole = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(half_requests._QUESTION) + half_requests._QUESTION
    for garble in half_requests._GARBLERS:
        made = [garble(random.Random("seed 1"), whole) for _ in range(2)]
        assert made[0] == made[1] != whole


@pytest.mark.parametrize(
    ("answer", "waits", "flaws"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", True, []),
        (b"", True, []),
        (b"HTTP/1.1 500 Internal Server Error\r\n\r\n", False, ["crashed"]),
        (b"mnemic: oops", False, ["silent"]),
    ],
)
def test_what_is_answered_is_looked_at(answer: bytes, waits: bool, flaws: list[str]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        answering = threading.Thread(target=lambda: (theirs.sendall(answer), theirs.shutdown(socket.SHUT_WR)))
        answering.start()
        found = half_requests._end(ours, waits=waits)
        answering.join()
    assert [flaw.kind for flaw in found] == flaws


def test_a_connection_that_is_never_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_requests, "_DEADLINES_S", 0.01)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert half_requests._end(ours, waits=True) == [Flaw("crashed", "the connection was still open after 0.01 s")]
