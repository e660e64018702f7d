"""Minimal HTTP client over the server's Unix socket.

Above stand `mnemic.runtime.client.client`, whose requests are messages, and `mnemic.runtime.client.launcher`.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from mnemic.runtime.client.wire import decode_error

CONNECTION_LOST = (ConnectionError, http.client.HTTPException, FileNotFoundError)
"""What `call` raises where there is no answer, or half of one."""

MAX_SILENCE_S = 600.0
"""How long an answer may take where only the process knows."""

T = TypeVar("T")


def call(
    path: str,
    method: str,
    target: str,
    body: bytes,
    headers: dict[str, str],
    progress: Callable[[int, int | None], None] | None = None,
    limit_s: float = MAX_SILENCE_S,
) -> Any:
    """One request over a Unix socket; returns the JSON of the answer.

    Args:
        limit_s: how long it may say nothing.

    Raises:
        TimeoutError: it said nothing for so long.
        MnemicError: what the process answers with.
        ConnectionError, http.client.HTTPException, FileNotFoundError: there is no answer, or half of one.
        Unreadable: the answer is none of a home's process.
    """
    with closing(_UnixConnection(path, limit_s)) as connection:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        if response.getheader("Content-Type", "").startswith("application/x-ndjson"):
            return _read_stream(response, progress)
        value = parse_answer(json.loads, response.read() or b"null")
        if response.status == 503 and isinstance(value, dict) and value.get("code") == "draining":
            raise ServerDraining("it is leaving")
        if response.status >= 400:
            raise decode_error(value)
        return value


def _read_stream(response: http.client.HTTPResponse, progress: Callable[[int, int | None], None] | None) -> Any:
    for line in response:
        value = parse_answer(_object, line)
        if "progress" in value:
            if progress is not None:
                progress(*value["progress"])
        elif "error" in value:
            raise decode_error(value["error"])
        elif "answer" in value:
            return value["answer"]
    raise http.client.IncompleteRead(b"")


def parse_answer(read: Callable[[Any], T], answer: Any) -> T:
    """What an answer stands for.

    Raises:
        Unreadable: whoever reads it expects something else.
    """
    try:
        return read(answer)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise MalformedAnswer(type(error).__name__) from None


def _object(line: bytes) -> dict[str, Any]:
    return {**json.loads(line)}


class MalformedAnswer(ValueError):
    """What was answered is nothing that a home's process says."""


class ServerDraining(ConnectionError):
    """The process has been told to leave, and takes nothing more."""


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("mnemic", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.connect(self._path)  # without a timeout: with one, a full queue would be an error and no wait
        except BaseException:
            self.sock.close()
            raise
        self.sock.settimeout(self.timeout)


@contextmanager
def held_request(path: str, target: str, headers: dict[str, str], limit_s: float = MAX_SILENCE_S) -> Iterator[None]:
    """A request whose answer lasts: what it stands for holds until the context ends, or the process does.

    Raises: as `call`.
    """
    with closing(_UnixConnection(path, limit_s)) as connection:
        connection.request("POST", target, b"", headers)
        response = connection.getresponse()
        if response.status == 503:
            raise ServerDraining("it is leaving")
        said = parse_answer(_object, response.readline() or b"{}")
        if "error" in said:
            raise decode_error(said["error"])
        if response.status >= 400:
            raise decode_error(said)
        if "free" not in said:
            raise http.client.IncompleteRead(b"")
        yield
