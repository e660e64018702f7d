"""Requests that are cut off, garbled or never end, to the process of a home: over its Unix socket and over TCP.

Meanwhile the owner's own calls are answered, no request is answered by an error of the server's, over TCP every
connection is closed at its deadline, and in the end the process has as many descriptors as before.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil

from mnemic.actors.kernel.errors import MnemicError
from mnemic.bench.faults.audit import Attack, Case, Flaw, audit
from mnemic.bench.faults.scenarios import TEXTS, Base
from mnemic.bench.harness.processes import served, wait_until
from mnemic.runtime.client.unix_http import CONNECTION_LOST, call
from mnemic.runtime.minds.run_dir import ServerInfo

WAVE = 96
"""So many are open at once; a process takes 128 over TCP."""
_QUESTION = json.dumps({"query": "the kiln"}).encode()
_OWNER_S = 30.0
_DEADLINES_S = 200.0
"""A request's headers have 10 s, its body 60, and who reads no answer 60 more (docs/http.md); and a slow machine."""
_RESET = struct.pack("ii", 1, 0)
_DESCRIPTORS = 4
"""So many more a process may have than it had before: it keeps a few for what comes next."""


def _cut(random: random.Random, whole: bytes) -> bytes:
    return whole[: random.randrange(len(whole))]


def _flipped(random: random.Random, whole: bytes) -> bytes:
    garbled = bytearray(whole)
    for _ in range(random.randint(1, 8)):
        garbled[random.randrange(len(garbled))] ^= 1 << random.randrange(8)
    return bytes(garbled)


def _too_long(random: random.Random, whole: bytes) -> bytes:
    said = random.choice((b"999999999999", b"-1", b"1e3", b"65", b"0x10", b"18446744073709551616"))
    return whole.replace(b"Content-Length: %d" % len(_QUESTION), b"Content-Length: " + said)


def _chunked(random: random.Random, whole: bytes) -> bytes:
    head = whole.partition(b"\r\n\r\n")[0].replace(
        b"Content-Length: %d" % len(_QUESTION), b"Transfer-Encoding: chunked"
    )
    return head + b"\r\n\r\n" + random.choice((b"1\r\n{\r\n", b"ffffffffffffffff\r\n{", b"zz\r\n", b"5\r\n{}\r\n"))


def _long_header(random: random.Random, whole: bytes) -> bytes:
    return whole.replace(b"\r\n", b"\r\nX: " + b"a" * random.randint(10_000, 300_000) + b"\r\n", 1)


def _nested(random: random.Random, whole: bytes) -> bytes:
    body = random.choice((b"[", b'{"query":')) * random.randint(1_000, 50_000)
    head = whole.partition(b"\r\n\r\n")[0].replace(b"Length: %d" % len(_QUESTION), b"Length: %d" % len(body))
    return head + b"\r\n\r\n" + body


def _noise(random: random.Random, whole: bytes) -> bytes:
    return random.choice((b"", b"\x16\x03\x01\x02\x00\x01", b"\r\n" * 500, random.randbytes(random.randint(1, 2_000))))


_GARBLERS = (_cut, _cut, _flipped, _flipped, _too_long, _chunked, _long_header, _nested, _noise)


def attacks(base: Base, work: Path, requests: int, seed: int) -> Iterator[Attack]:
    """So many requests over each socket; half of those by TCP wait until the process closes them, 70 s at most.

    Args:
        base: makes the home.
        work: an empty folder.
    """

    def runner(kind: str) -> Callable[[int | None], Iterator[Case]]:
        def run(at: int | None) -> Iterator[Case]:
            with tempfile.TemporaryDirectory(dir=work) as beside:
                folder = shutil.copytree(base(), Path(beside) / "case")
                numbers = range(1, requests + 1) if at is None else [at]
                yield from _attack(folder / "home", kind, list(numbers), seed)

        return run

    for kind in ("unix", "tcp"):
        yield Attack(name=f"requests/{kind}", run=runner(kind))


def _attack(home: Path, kind: str, numbers: list[int], seed: int) -> Iterator[Case]:
    """Send them; yields a case for each, the flaws of process and home with the last."""
    found: dict[int, list[Flaw]] = {number: [] for number in numbers}
    last = found[numbers[-1]]
    with served(home, "embedded", options=("--http", "127.0.0.1:0")) as info:
        token = (home / "http-token").read_text("ascii").strip()
        process = psutil.Process(info.pid)
        _ask_as_owner(info)
        before = process.num_fds()
        for start in range(0, len(numbers), WAVE):
            wave = numbers[start : start + WAVE]
            with ExitStack() as stack:
                opened = {}
                for number in wave:
                    connection = stack.enter_context(_connect(info, kind))
                    opened[number] = connection
                    _send(connection, _request(number, seed, token, info))
                try:
                    _ask_as_owner(info)
                except (MnemicError, OSError, *CONNECTION_LOST) as error:
                    found[wave[-1]].append(Flaw("crashed", f"the owner's call was not answered: {error}"))
                for number, connection in opened.items():
                    waits = kind == "tcp" and number % 2 == 0
                    found[number] += _end(connection, waits=waits)
        try:
            wait_until(lambda: process.num_fds() <= before + _DESCRIPTORS, "the end of all connections")
        except TimeoutError:
            last.append(Flaw("crashed", f"{process.num_fds()} descriptors are open, {before} were before"))
        except psutil.Error:
            last.append(Flaw("crashed", "the process is gone"))
    if "Traceback" in (home / "bench.err").read_text("utf-8", "replace"):
        last.append(Flaw("crashed", "the process printed a traceback"))
    left = audit(home)
    last += left.flaws
    if left.refused or left.texts != Counter(TEXTS):
        last.append(Flaw("lost", "the memory does not hold what it held"))
    for number, flaws in found.items():
        yield Case(at=number, flaws=flaws)


def _request(number: int, seed: int, token: str, info: ServerInfo) -> bytes:
    """The request of a number: a question, and what became of it."""
    drawn = random.Random(f"{seed} {number}")
    whole = (
        f"POST /api/recall HTTP/1.1\r\nHost: {info.tcp}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(_QUESTION)}\r\n\r\n"
    ).encode() + _QUESTION
    return _GARBLERS[number % len(_GARBLERS)](drawn, whole)


def _connect(info: ServerInfo, kind: str) -> socket.socket:
    if kind == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(info.http_socket)
        return connection
    host, _, port = str(info.tcp).rpartition(":")
    return socket.create_connection((host, int(port)))


def _send(connection: socket.socket, request: bytes) -> None:
    """Send a request as far as it is taken: who was refused before the end may have been let go of."""
    connection.settimeout(_OWNER_S)
    try:
        connection.sendall(request)
    except (ConnectionError, TimeoutError):
        return


def _end(connection: socket.socket, *, waits: bool) -> list[Flaw]:
    """Look at what is answered, to the connection's end where it waits for that; then break it off."""
    connection.settimeout(_DEADLINES_S if waits else 0.05)
    heard = bytearray()
    flaws = []
    try:
        while part := connection.recv(1 << 16):
            heard += part
    except TimeoutError:
        if waits:
            flaws.append(Flaw("crashed", f"the connection was still open after {_DEADLINES_S:g} s"))
    except ConnectionError:
        pass  # it was let go of before all was read
    status = heard[9:12].decode("ascii", "replace") if heard.startswith(b"HTTP/1.1 ") else ""
    if status.startswith("5"):
        flaws.append(Flaw("crashed", f"answered with {bytes(heard[:200])!r}"))
    if heard and not status:
        flaws.append(Flaw("silent", f"answered with what is no HTTP: {bytes(heard[:60])!r}"))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    return flaws


def _ask_as_owner(info: ServerInfo) -> None:
    """Recall over the home's own socket."""
    call(info.http_socket, "POST", "/api/recall", _QUESTION, {"Content-Type": "application/json"}, limit_s=_OWNER_S)
